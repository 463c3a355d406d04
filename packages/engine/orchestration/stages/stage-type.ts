/**
 * Stage types as data and small functions: their steps, their synthetic stages and their peculiarities.
 *
 * To add a type, export a `StageType` from a file of this folder (`wait.ts` decides, `projects.ts` calls a capability,
 * `pipeline.ts` polls, restarts and cancels), list it in `registry.ts`, describe its fields in `packages/model/stage-types/`, and delete its name
 * from `unknown-types.ts`. A step reads the stage by its `TaskContext`, acts by the ports in it, and returns a `TaskResult`: `RUNNING` runs it
 * again after its pause, an error fails the task, `RetryableError` repeats it. `StageError` gives the texts that users see.
 */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { CallOutside } from '@fairlead/base/outside/call-outside.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import type { CommitAuthor } from '@fairlead/model/environments/commit-authors.ts'
import type { StageDescription } from '@fairlead/model/stage-types/description.ts'
import type { ApplicationRight } from '@fairlead/ports/access.ts'
import type { Bakery } from '@fairlead/ports/bakery.ts'
import type { Builds } from '@fairlead/ports/builds.ts'
import type { Canaries } from '@fairlead/ports/canaries.ts'
import type { StoredDefinitions } from '@fairlead/ports/definitions.ts'
import type { Infrastructure, Operations } from '@fairlead/ports/infrastructure.ts'
import type { Rights } from '@fairlead/ports/rights.ts'
import type { Revealed } from '@fairlead/ports/secrets.ts'
import type { RevisionOrder } from '../app-revisions.ts'
import type { AnswerSource } from '../expressions/answers.ts'
import type { PortOfStage } from '../for-stage.ts'
import { conditionKey, type Execution, type Stage, type StagePlace } from '../model.ts'
import type { Status } from '../statuses.ts'

export interface StageType {
  readonly type: string
  /** Provider of its stages that name none. */
  readonly provider?: string
  /** Its fields, for checks and forms; the registry adds it. */
  readonly description?: StageDescription
  /** The stage's own tasks, in order. */
  readonly steps: readonly Step[]
  /** Picks among `steps`; all by default. */
  chooseSteps?(stage: Stage, execution: Execution): readonly Step[]
  /** Injected ahead of the tasks. Those that require none of their siblings run in parallel. */
  beforeStages?(stage: Stage, execution: Execution): NewStage[]
  /** Injected once the tasks are done. */
  afterStages?(stage: Stage, execution: Execution): NewStage[]
  /** Injected, one after another, when the stage has failed; it then ends with its failure. */
  onFailureStages?(stage: Stage, execution: Execution): NewStage[]
  /** What its inner stages wait for at the moment, in words: its context has them as `waiting.for`. */
  describeWait?(stage: Stage, execution: Execution): string | undefined
  /** Says in a sentence which part ended the stage, and why; undefined: the error of the part says enough. */
  describeFailure?(place: StagePlace): string | undefined
  /** Context keys that a restart deletes. */
  readonly forgets?: readonly string[]
  /** Deletes what else must not outlive a restart; tasks, times, status and errors are already reset. */
  prepareRestart?(stage: Stage): void
  /** Called after the stage was cancelled, or has ended before a call was answered; repeated until it succeeds, so it must be idempotent. */
  onCancel?(context: TaskContext): Promise<void>
  /** Whether `onCancel` is called too when a user has skipped the running stage. */
  readonly undoesSkip?: true
  /** Whether users may skip the stage while it runs. */
  isSkippable?(stage: Stage): boolean
  /** Context keys that must not change once the stage is complete, because they tell how it ended. */
  readonly finalKeys?: readonly string[]
  /** Context keys that expressions leave alone. */
  unevaluatedKeys?(stage: Stage, execution: Execution): readonly string[]
}

/** One task of a stage. It runs at least once, again after a crash. */
export type Step = (StepOptions & DecidingStep) | CallStep

export type CallStep = StepOptions & CallingStep

/** A step without calls: it is decided in the transaction that moves the execution on. */
interface DecidingStep {
  decide(context: TaskContext): TaskResult
}

/** A step with calls: it is started once the store has recorded that it runs. */
interface CallingStep {
  execute(context: TaskContext): Promise<TaskResult>
  /**
   * What it would submit now, found out without doing it: previews of tasks ask for it. Undefined: it submits nothing, and is fine.
   *
   * @throws {StageError} as `execute`
   */
  preview?(context: TaskContext): Promise<Submission | undefined>
  /**
   * Finds out what a call has begun whose answer is lost, and keeps it from beginning anything later.
   *
   * @returns what is merged into the stage's context before `onCancel`
   */
  recover?(context: TaskContext): Promise<JsonObject>
  /** It changes nothing: previews of tasks run it. */
  readonly readsOnly?: true
  /** Nothing recognizes its call when it is repeated: the stage says so if the engine ended before the result was recorded. */
  readonly isUnrecognized?: true
}

/** Operations for the infrastructure service. */
export interface Submission {
  readonly operations: Operations
  /** Merged into the stage's context. */
  readonly context?: JsonObject
}

interface StepOptions {
  readonly name: string
  /** Pause before the next look while the result is RUNNING; 1 s by default. */
  readonly pollMs?: number
  /** Longest time from the task's start; none by default. */
  readonly timeoutMs?: number
  /** What a stage sets in place of `timeoutMs`. */
  timeoutOf?(stage: Stage): number | undefined
  /** The stage's `stageTimeoutMs` replaces `timeoutMs`. */
  readonly timeoutFollowsStage?: boolean
}

/** The state of the moment, calls in the name of the stage's user, and other executions. */
export interface TaskContext {
  /** Snapshots: changing them changes nothing. */
  readonly execution: Execution
  readonly stage: Stage
  /** Milliseconds since the epoch. */
  readonly now: number
  /** What expressions read from elsewhere. A step that decides is repeated once all of it is there. */
  readonly answers: AnswerSource
  /** A context key, or else the output of the nearest ancestor that has it. */
  read(key: string): unknown
  /** Counts what the expressions take that the step evaluates. */
  readonly meter: Meter
  /** Evaluates text with `${}` as the stage sees it. */
  evaluate(text: string): unknown
  /**
   * Capabilities, in the name of all for whom the stage runs.
   *
   * @throws {RetryableError} when the step should run again after its pause: docs/contracts/orchestration.md#retries-of-calls
   * @throws {StageError} for every other refusal
   */
  readonly bakery: PortOfStage<Bakery>
  readonly builds: PortOfStage<Builds>
  readonly canaries: PortOfStage<Canaries>
  readonly definitions: PortOfStage<StoredDefinitions>
  readonly infrastructure: PortOfStage<Infrastructure>
  /** Aborted when what the step waits for is of no interest any more. */
  readonly signal: AbortSignal
  /**
   * A copy with values in place of references to secrets, for a call that the step makes itself. Mask them in all that it records.
   *
   * @throws {StageError} naming the reference and the remedy
   */
  reveal<T>(value: T): Promise<Revealed<T>>
  /** Calls an address that the author of the pipeline chose. */
  readonly callOutside: CallOutside
  /**
   * Makes sure that all for whom the stage runs have a right on an application, at this moment.
   *
   * @throws {StageError} naming user, right and application
   * @throws {RetryableError} while the permission service cannot be asked
   */
  require(authorization: ApplicationRight, application: string): Promise<void>
  /** What a user may do; undefined for one who is not known. @throws {RetryableError} while the permission service cannot be asked */
  readonly viewOf: Rights['viewOf']
  /** The users whose rights count at this moment: each of them needs what the step does. */
  actors(): Promise<readonly string[]>
  /** Another execution of this engine. Whether the stage may know of it is for the step to find out. */
  findExecution(id: string): Execution | undefined
  /** The newest run of a stored pipeline that is not this one. Whether the stage may know of it is for the step to find out. */
  newestRunOf(configId: string, statuses?: readonly Status[]): Execution | undefined
  /** Other executions of the application that have begun and not ended. */
  activeRuns(): readonly Execution[]
  /** Builds a run of a stored pipeline, not yet started: hand it to `TaskResult.start`. */
  prepareExecution(definition: JsonObject): Promise<Execution>
  /** @returns the execution that deploys it; undefined: nothing is to be done @throws {StageError} */
  deployRevision(order: RevisionOrder): Promise<string | undefined>
  /** Leaves it alone where a user who cancelled or steered this execution may not control that one. */
  cancelExecution(id: string, canceledBy: string): Promise<void>
  /** Zone of execution windows, an IANA name. */
  readonly timeZone: string
}

export interface TaskResult {
  status: Status
  /** Merged into the stage's context, key by key; `undefined` removes a key. */
  context?: JsonObject
  /** Merged into the stage's outputs. */
  outputs?: JsonObject
  /** Secrets of another execution from which the result comes. */
  secrets?: readonly string[]
  /** Authors of the commits of a build. */
  authors?: readonly CommitAuthor[]
  /** Another execution from which the result comes: who steered that one has steered this one. */
  from?: Execution
  /** Who may deploy below the stage, from now on; a change of its context does not reach it. */
  promotesTo?: Stage['engine']['promotesTo']
  /** When the stage will be let through, milliseconds since the epoch. */
  scheduledTime?: number
  /** Pause before the next look; overrides the step's. */
  pollMs?: number
  /** Stages beside it that have not started are skipped: they could change nothing. */
  skipsRest?: boolean
  /** Started in the same transaction that records the result; its id and name reach `context` as executionId and executionName. */
  start?: Execution
}

/** A synthetic stage to inject; the engine gives it an id and a reference. */
export interface NewStage {
  type: string
  name: string
  context: JsonObject
  /** Positions, from 0, of the siblings that it requires. */
  requires?: readonly number[]
}

/** The context that synthetic stages take over from their parent: without what decides whether and when the parent runs. */
export function inheritedContext({ context }: Pick<Stage, 'context'>): JsonObject {
  const {
    stageEnabled: _enabled,
    [conditionKey]: _evaluated,
    restrictExecutionDuringTimeWindow: _window,
    ...inherited
  } = context
  return inherited
}

/** Stages that run one after another. */
export function inSequence(stages: readonly NewStage[]): NewStage[] {
  return stages.map((stage, position) =>
    position === 0 ? stage : { ...stage, requires: [position - 1] },
  )
}

/** A type whose only step has its name. */
export function job(
  type: string,
  execute: CallingStep['execute'],
  options: Omit<StepOptions, 'name'> & Pick<CallingStep, 'preview'> = {},
): StageType {
  return { type, steps: [{ name: type, execute, ...options }] }
}

export type StageTypes = ReadonlyMap<string, StageType>

/**
 * The name of the type that implements a stage: its `alias`, or else its `type`.
 * @see docs/contracts/orchestration.md#stage-types
 */
export function typeNameOf({ type, context }: Pick<Stage, 'type' | 'context'>): string {
  const { alias } = context
  return typeof alias === 'string' && !configuredKinds.has(alias) ? alias : type
}

/** Aliases that Deck writes into stages whose type an operator has configured: the type says what runs. */
const configuredKinds: ReadonlySet<string> = new Set(['preconfiguredWebhook', 'preconfiguredJob'])

/** Replaces the types whose stages act or call, in an execution whose trigger has `dryRun`. */
const dryRunStage: StageType = {
  type: 'dryRun',
  steps: [{ name: 'dryRun', decide: () => ({ status: 'SUCCEEDED' }) }],
}

/** The type that implements a stage; undefined when the engine does not know it. */
export function stageTypeOf(
  types: StageTypes,
  stage: Pick<Stage, 'type' | 'context'> & { engine?: Stage['engine'] },
): StageType | undefined {
  if (stage.engine?.isDry) return dryRunStage
  const name = typeNameOf(stage)
  const { cloudProvider = types.get(stage.type)?.provider } = stage.context
  // Stages of one cloud provider carry its name, `deploy_local`; some have a type of their own, `runJob_kubernetes`.
  return (
    types.get(`${name}_${String(cloudProvider)}`) ??
    types.get(name) ??
    types.get(withoutProvider(name))
  )
}

export function withoutProvider(name: string): string {
  return name.replace(/_[^_]*$/, '')
}
