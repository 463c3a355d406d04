/**
 * Record of a run in the engine (docs/contracts/orchestration.md#record-of-an-execution).
 * The `engine` members are the engine's own notes; they are stored with the record and never shown.
 */
import { shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { type CommitAuthor, distinctAuthors } from '@fairlead/model/environments/commit-authors.ts'
import type { Status } from './statuses.ts'

export type ExecutionType = 'PIPELINE' | 'ORCHESTRATION'

export interface Trigger extends JsonObject {
  type: string
  user: string
  parameters: JsonObject
  artifacts: JsonObject[]
  notifications: JsonObject[]
  rebake: boolean
  dryRun: boolean
  strategy: boolean
  correlationId?: string
}

export interface Execution {
  type: ExecutionType
  id: string
  rootId: string
  application: string
  name?: string
  description?: string
  status: Status
  buildTime: number
  startTime?: number
  endTime?: number
  startTimeExpiry?: number
  canceled: boolean
  canceledBy?: string
  cancellationReason?: string
  paused?: PausedDetails
  limitConcurrent: boolean
  maxConcurrentExecutions: number
  keepWaitingPipelines: boolean
  pipelineConfigId?: string
  origin: string
  authentication: { user?: string; allowedAccounts: string[]; steeredBy?: Steerer[] }
  trigger: Trigger
  /** Changed by `insert` and `remove` of `machine/graph.ts` only, which keep an index of it. */
  stages: readonly Stage[]
  notifications: JsonObject[]
  initialConfig: JsonObject
  systemNotifications: unknown[]
  spelEvaluator: string
  templateVariables?: JsonObject
  source?: JsonObject
  additionalHeaders: JsonObject
  engine: ExecutionNotes
}

export interface Identity {
  user: string
  allowedAccounts: string[]
}

/** A user, not the starter, who decided what a run does, or when: it may do no more than this user may, too. */
interface Steerer extends Identity {
  /** Last time, in milliseconds since the epoch. */
  at: number
  /** In words, to follow the name: `restarted the stage Deploy`. */
  how: string
}

interface PausedDetails {
  pausedBy: string
  pauseTime: number
  resumedBy?: string
  resumeTime?: number
  paused: boolean
  pausedMs: number
}

export interface Stage {
  id: string
  refId: string
  type: string
  name: string
  status: Status
  startTime?: number
  endTime?: number
  startTimeExpiry?: number
  scheduledTime?: number
  context: JsonObject
  outputs: JsonObject
  tasks: Task[]
  requisiteStageRefIds: string[]
  parentStageId?: string
  syntheticStageOwner?: 'STAGE_BEFORE' | 'STAGE_AFTER'
  lastModified?: Identity & { lastModifiedTime: number }
  engine: StageNotes
}

/** Key of a stage's context: what its `stageEnabled` came to when the stage was last to start. */
export const conditionKey = 'stageEnabledEvaluation'

/** Key of a stage's context: what it waits for, in words; a timeout repeats it. */
export const waitingKey = 'waiting.for'

/** Key of a stage's context: that a call was repeated because the engine ended during it, in words. */
export const repeatedKey = 'repeated.call'

/** Keys of a stage's context with manifests; with `skipExpressionEvaluation`, their `${}` is their own. */
export const documentKeys = ['manifests', 'manifest', 'patchBody'] as const

export interface Task {
  id: string
  name: string
  implementingClass: string
  status: Status
  startTime?: number
  endTime?: number
  stageStart: boolean
  stageEnd: boolean
  loopStart: boolean
  loopEnd: boolean
  taskExceptionDetails: JsonObject
  engine: TaskNotes
}

/** An execution, or one of its stages: where expressions are evaluated and calls are made. */
export interface ExecutionPlace {
  readonly execution: Execution
  readonly stage?: Stage
}

export interface StagePlace extends ExecutionPlace {
  readonly stage: Stage
}

interface ExecutionNotes {
  /** X-SPINNAKER-* headers of the submission, passed on with every call made for this execution. */
  headers: Record<string, string>
  /** Its place among those that wait for their turn: a ULID made when it was parked. */
  parkedAt?: string
  /** The top-level stage that starts it again once its turn comes, when what was parked is a restart. */
  restartStageId?: string
  /** When to go on with what one step of the engine would have held up others with, milliseconds since the epoch. */
  unfinishedAt?: number
  /** Times at which the clock was set forward while it ran, by the new clock, and how far. */
  jumps?: Jump[]
  /** Secrets of its definition, and of executions from which it has received something: views mask them. */
  secrets?: readonly string[]
  /** What its definition refers to as `secret:…`; other texts refer to nothing. */
  references?: AuthoredReferences
  /** Who has written the commits that it began with, has built, or has rolled back. */
  authors?: readonly CommitAuthor[]
  /** The user who cancelled it, or what started it; it cancels only what this user may control. */
  cancelFor?: string
  /** Work that outlives the state change that caused it; done at least once. */
  followUps: FollowUp[]
}

/** References to secrets, without `secret:`. */
export interface AuthoredReferences {
  /** These count in each stage: of defaults, of variables of templates, of parameters of a user or of a run of the application. */
  readonly shared: readonly string[]
  /** These count in the stage with the refId, and in those that it adds. */
  readonly byRefId: Readonly<Record<string, readonly string[]>>
  /** What the event mentions, too: it is rejected, for its sender may have had it put elsewhere. */
  readonly received?: readonly string[]
}

/** In milliseconds; `at` since the epoch. */
export interface Jump {
  at: number
  ms: number
}

export interface FollowUp {
  id: string
  kind: 'start-dependents' | 'cancel-stage'
  stageId?: string
  /** Name of the step that was out when its stage ended, until it is known what its call has begun. */
  open?: string
  /** Dependents that are still to be started, when others of them were already. */
  dependents?: string[]
  /** Milliseconds since the epoch. */
  dueAt: number
  attempts: number
}

interface StageNotes {
  afterStagesPlanned?: boolean
  /** Ids of the stages that run because this one has failed. */
  failureStages?: string[]
  /** The execution is a dry run, and the stage only pretends to do its work. */
  isDry?: boolean
  /** The environment to which the stage and those below it deploy, for all of whom it needs one of the roles. */
  promotesTo?: { name: string; mayPromote: string[] }
  /** How often users have changed the stage: two changes of the same moment are two. */
  changes?: number
  /** Users whose rights the stage needs, too: its author could not be checked when it was saved. */
  heldFor?: Identity[]
  /** Who has changed what the stage does, of runs from before `steeredBy`. */
  changedBy?: Identity
}

interface TaskNotes {
  /** Names one start of the task, so that the result of an abandoned start is recognised. */
  run?: string
  /** When to look at it (again), milliseconds since the epoch. */
  dueAt?: number
  /** When a call was made that nothing recognizes if it is repeated, and whose result is not recorded. */
  calledAt?: number
}

/** Shows readers of an execution what they would not expect. */
export function notify(
  execution: Execution,
  message: string,
  createdAt: number,
  group = 'steering',
): void {
  execution.systemNotifications = [
    ...execution.systemNotifications,
    { createdAt, group, message, closed: false },
  ]
}

const mostAuthors = 200

export function noteAuthors({ engine }: Execution, authors: readonly CommitAuthor[]): void {
  if (authors.length === 0) return
  engine.authors = distinctAuthors([...(engine.authors ?? []), ...authors]).slice(-mostAuthors)
}

/** How an execution has ended that could not start. */
export const startFailure = { status: 'TERMINAL', canceled: true, canceledBy: 'system' } as const

export function hasFailedToStart({ status, canceledBy }: Execution): boolean {
  return status === startFailure.status && canceledBy === startFailure.canceledBy
}

export function isTopLevel(stage: Stage): boolean {
  return stage.parentStageId === undefined
}

export function isFalse(value: unknown): boolean {
  return value === false || (typeof value === 'string' && value.toLowerCase() === 'false')
}

/** Options that every stage has, as `stageFields` of the model describes them. */
export const optionsOf = shape({
  allowSiblingStagesToContinueOnFailure: isTrue,
  completeOtherBranchesThenFail: isTrue,
  continuePipeline: isTrue,
  failOnFailedExpressions: isTrue,
  markSuccessfulOnTimeout: isTrue,
  restrictExecutionDuringTimeWindow: isTrue,
})

/** The run, and its stage, that has started another one, as the trigger of that one says. A trigger may be made up. */
export const originOf = shape({
  pipelineId: [textOf, 'parentPipelineId'],
  run: [shape({ id: textOf }), 'parentExecution'],
  stageId: [textOf, 'parentPipelineStageId'],
})

export function isStartedBy(child: Execution, { execution: parent, stage }: StagePlace): boolean {
  const { run, stageId } = originOf(child.trigger)
  return stageId === stage.id && run.id === parent.id
}
