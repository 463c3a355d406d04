/** Dependencies of the engine, and the part of it that its helpers use. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { CallOutside } from '@fairlead/base/outside/call-outside.ts'
import type { GroupCommit } from '@fairlead/base/storage/group-commit.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { Ports } from '@fairlead/ports/ports.ts'
import type { SecretValues } from '@fairlead/ports/secrets.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { PipelineLimits } from '../limits.ts'
import type { EffectivePipelines } from '../pipelines/effective-pipelines.ts'
import type { AppRevisions } from './app-revisions.ts'
import type { ExpressionAnswers } from './expressions/answers.ts'
import type { LifeCycleEvent } from './machine/turn.ts'
import type { Execution } from './model.ts'
import type { StageTypes } from './stages/stage-type.ts'
import type { ExecutionStore } from './store.ts'
import type { UnitOfWork } from './unit-of-work.ts'

export interface EngineOptions {
  commits: GroupCommit
  store: ExecutionStore
  stageTypes: StageTypes
  limits: PipelineLimits
  /** Zone of execution windows, an IANA name. */
  timeZone: string
  now: () => number
  /** Milliseconds on a monotonic clock. */
  steady: () => number
  nextId: () => string
  ports: Ports
  /** Revisions of the apps that this engine deploys; undefined: none. */
  apps?: () => AppRevisions
  /** Calls addresses that authors of pipelines choose. */
  callOutside: CallOutside
  /** Longest time of one attempt of a task, whose calls may never come back. */
  attemptMs: number
  log: FastifyBaseLogger
  /** Pipelines with the triggers that they inherit. */
  pipelines: EffectivePipelines
  /** Whether a permission service decides what users may do. */
  judges: boolean
  /** What a user may do at this moment. @throws {PortError} 503 while the permission service cannot be asked */
  accessOf: (user: string | undefined) => Promise<Access>
  /** Who has to have the rights, too, for what a run starts that no user has started. @see automaticUserOfChild */
  vouchersOf: (definition: JsonObject) => Promise<string | undefined>
  /** Values of secrets for calls of stages. */
  secrets: SecretValues
  /** What notifications may follow from: `note` is called in the transaction in which events happen, `send` after it. */
  notices: { note(events: readonly LifeCycleEvent[]): readonly Execution[]; send(): void }
  /** Called once the transaction in which the events happened is on disk. */
  publish: (events: readonly LifeCycleEvent[]) => void
}

export interface EngineParts {
  readonly options: EngineOptions
  /** What expressions read from elsewhere. */
  readonly answers: ExpressionAnswers
  /** Resolves when no step of these stages does anything elsewhere any more, or after some seconds: with `false`. */
  attemptsEnd(stageIds: ReadonlySet<string>): Promise<boolean>
  /** Changes executions in one transaction, and wakes up for what follows from it. */
  transact<T>(work: (unit: UnitOfWork) => T): T
}
