/**
 * Concurrency limits per stored pipeline: starts, waiting runs and their order.
 *
 * @see docs/contracts/orchestration.md#concurrency-limits
 */
import { hasInitialStage, startExecution } from './machine/advance.ts'
import { completeExecution } from './machine/completion.ts'
import { cancelExecution } from './machine/operations.ts'
import { resume } from './machine/restart.ts'
import type { Turn } from './machine/turn.ts'
import type { Execution } from './model.ts'

/** The transaction in which it is decided. */
interface Transaction {
  readonly turn: Turn
  /** Executions of a pipeline that hold a place: those that have begun and not ended, paused ones too, without the given one. */
  countBegun(configId: string, except: string): number
  /** Ids of waiting executions of a pipeline, oldest first. */
  parked(configId: string): string[]
  require(id: string): Execution
}

const engineName = 'spinnaker'
/** A further one that would have to wait is cancelled at once. */
const mostWaiting = 50

/**
 * Starts an execution that is stored and not started, or restarts one that was reset. It waits when its limit is reached, and behind
 * those that wait already.
 */
export function startOrPark(unit: Transaction, execution: Execution): void {
  const { pipelineConfigId: configId, id } = execution
  const isLimited = limitOf(execution) !== undefined && !isExpired(execution, unit.turn)
  if (configId === undefined || !isLimited) {
    begin(unit, execution)
    return
  }
  const isQueued = unit.parked(configId).some((each) => each !== id)
  if (isQueued || isFull(unit, execution)) park(unit, execution, configId)
  else begin(unit, execution)
  // Where only the newest waits, it may have been given more room than those that it supersedes.
  if (isQueued) releaseWaiting(unit, configId, execution.keepWaitingPipelines)
}

function isExpired({ startTimeExpiry }: Execution, { now }: Turn): boolean {
  return startTimeExpiry !== undefined && now > startTimeExpiry
}

function begin({ turn }: Transaction, execution: Execution): void {
  if (isExpired(execution, turn)) {
    cancelExecution(
      execution,
      { canceledBy: engineName },
      'It could not start before its start time expired.',
      turn,
    )
  } else if (execution.engine.restartStageId !== undefined) {
    resume(execution, turn)
  } else if (!hasInitialStage(execution)) {
    execution.cancellationReason = `There is nothing to run: ${execution.type === 'PIPELINE' ? 'the pipeline has no "stages"' : 'the task has no "job"'}.`
    completeExecution(execution, 'TERMINAL', turn)
  } else {
    startExecution(execution, turn)
  }
}

/** Undefined: it never waits. */
function limitOf({ limitConcurrent, maxConcurrentExecutions }: Execution): number | undefined {
  return limitConcurrent ? 1 : maxConcurrentExecutions || undefined
}

function isFull(unit: Transaction, execution: Execution): boolean {
  const limit = limitOf(execution)
  return (
    limit !== undefined &&
    unit.countBegun(String(execution.pipelineConfigId), execution.id) >= limit
  )
}

function park(unit: Transaction, execution: Execution, configId: string): void {
  const waiting = unit.parked(configId).filter((id) => id !== execution.id)
  execution.status = 'NOT_STARTED'
  if (execution.trigger['onOverlap'] === 'skip') {
    const reason = 'The run before goes on, and the trigger skips times that overlap.'
    cancelExecution(execution, { canceledBy: engineName }, reason, unit.turn)
    return
  }
  if (waiting.length >= mostWaiting) {
    cancelExecution(
      execution,
      { canceledBy: engineName },
      `${mostWaiting} executions of this pipeline are waiting already.`,
      unit.turn,
    )
    return
  }
  execution.startTime = undefined
  execution.engine.parkedAt ??= unit.turn.nextId()
}

/**
 * Lets waiting executions of a pipeline start as far as their limits permit: the oldest first when waiting ones are kept, else the
 * newest, and the others are cancelled.
 */
export function releaseWaiting(unit: Transaction, configId: string, keepsWaiting: boolean): void {
  const waiting = unit.parked(configId).map((id) => unit.require(id))
  const next = keepsWaiting ? waiting : waiting.slice(-1)
  if (next[0] === undefined || isFull(unit, next[0])) return
  for (const superseded of keepsWaiting ? [] : waiting.slice(0, -1)) {
    const reason = 'A newer execution of the same pipeline superseded it while it was waiting.'
    cancelExecution(superseded, { canceledBy: engineName }, reason, unit.turn)
  }
  for (const execution of next) {
    if (isFull(unit, execution)) return
    begin(unit, execution)
  }
}
