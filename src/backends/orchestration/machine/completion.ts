/** When an execution is over, and with which result (orchestration contract, 4.2, "completion check"). */
import { isTrue } from '../../../json/values.ts'
import type { Execution, Stage } from '../model.ts'
import { isTopLevel } from '../model.ts'
import { isActive, isFine, isHalt, type Status } from '../statuses.ts'
import { cancelStage } from './cancel-stage.ts'
import { areRequisitesFine, hasHaltedUpstream, successorsOf, topLevelStages } from './graph.ts'
import { recordEvent, type Turn } from './turn.ts'

/**
 * Looks whether the execution is over now that `stage` is complete. Only the end of a branch is a reason to look: after a
 * restart, another branch that was left CANCELED must not end the execution while the restarted one still has stages to run.
 */
export function checkCompletion(execution: Execution, stage: Stage, turn: Turn): void {
  if (!isTopLevel(stage)) return
  const successors = successorsOf(execution, stage)
  const isEndOfBranch = isHalt(stage.status) || successors.length === 0 || hasHaltedUpstream(execution, successors)
  const result = isEndOfBranch ? executionResult(execution) : undefined
  if (result !== undefined) completeExecution(execution, result, turn)
}

function executionResult(execution: Execution): Status | undefined {
  const stages = topLevelStages(execution)
  if (stages.every((stage) => isFine(stage.status))) return 'SUCCEEDED'
  if (stages.some((stage) => stage.status === 'TERMINAL')) return 'TERMINAL'
  if (stages.some((stage) => stage.status === 'CANCELED')) return 'CANCELED'
  const stopped = stages.filter((stage) => stage.status === 'STOPPED')
  const canStillMove = stages.some(
    (stage) => isActive(stage.status) || (stage.status === 'NOT_STARTED' && areRequisitesFine(execution, stage)),
  )
  if (stopped.length === 0 || canStillMove) return undefined
  return stopped.some((stage) => isTrue(stage.context['completeOtherBranchesThenFail'])) ? 'TERMINAL' : 'SUCCEEDED'
}

/** Ends the execution and what is still active in it; stages that have not started stay as they are. */
export function completeExecution(execution: Execution, result: Status, turn: Turn): void {
  execution.status = result
  execution.endTime = turn.now
  for (const stage of execution.stages) cancelStage(execution, stage, turn)
  announceCompletion(execution, turn)
}

export function announceCompletion(execution: Execution, turn: Turn): void {
  recordEvent(turn, { phase: execution.status === 'SUCCEEDED' ? 'complete' : 'failed', execution })
  turn.completed.push(execution)
}
