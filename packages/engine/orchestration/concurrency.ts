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
export interface Transaction {
  readonly turn: Turn
  /** Running executions of a pipeline, without the given one. */
  countRunning(configId: string, except: string): number
  /** Ids of waiting executions of a pipeline, oldest first. */
  parked(configId: string): string[]
  require(id: string): Execution
}

const engineName = 'spinnaker'
/** A further one that would have to wait is cancelled at once. */
const mostWaiting = 50

/** Starts an execution that is stored and not started, or restarts one that was reset; parks it when its limit is reached. */
export function startOrPark(unit: Transaction, execution: Execution): void {
  const { turn } = unit
  if (execution.startTimeExpiry !== undefined && turn.now > execution.startTimeExpiry) {
    cancelExecution(
      execution,
      { canceledBy: engineName },
      'It could not start before its start time expired.',
      turn,
    )
  } else if (isLimitReached(unit, execution)) {
    park(unit, execution)
  } else if (execution.engine.restartStageId !== undefined) {
    resume(execution, turn)
  } else if (!hasInitialStage(execution)) {
    execution.cancellationReason = `There is nothing to run: ${execution.type === 'PIPELINE' ? 'the pipeline has no "stages"' : 'the task has no "job"'}.`
    completeExecution(execution, 'TERMINAL', turn)
  } else {
    startExecution(execution, turn)
  }
}

function isLimitReached(unit: Transaction, execution: Execution): boolean {
  const limit = execution.limitConcurrent ? 1 : execution.maxConcurrentExecutions
  if (limit <= 0 || execution.pipelineConfigId === undefined) return false
  return unit.countRunning(execution.pipelineConfigId, execution.id) >= limit
}

function park(unit: Transaction, execution: Execution): void {
  const waiting = unit
    .parked(execution.pipelineConfigId as string)
    .filter((id) => id !== execution.id)
  execution.status = 'NOT_STARTED'
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
 * Lets waiting executions of a pipeline start as far as its limit permits: the oldest first when waiting ones are kept,
 * else the newest, and the others are cancelled.
 */
export function releaseWaiting(unit: Transaction, configId: string, keepsWaiting: boolean): void {
  const waiting = unit.parked(configId)
  if (!keepsWaiting) {
    const newest = waiting.pop()
    for (const id of waiting.splice(0)) {
      const reason = 'A newer execution of the same pipeline superseded it while it was waiting.'
      cancelExecution(unit.require(id), { canceledBy: engineName }, reason, unit.turn)
    }
    if (newest !== undefined) waiting.push(newest)
  }
  for (const id of waiting) {
    const execution = unit.require(id)
    if (isLimitReached(unit, execution)) return
    startOrPark(unit, execution)
  }
}
