/**
 * Restart of a stage in one transaction, with its concurrency limit and parent execution.
 *
 * @see docs/contracts/orchestration.md#operations-on-a-run
 */
import { isObject, type JsonObject } from '../../json/values.ts'
import { startOrPark } from './concurrency.ts'
import { advance } from './machine/advance.ts'
import { graphOf } from './machine/graph.ts'
import { replacePreconditions, resetForRestart } from './machine/restart.ts'
import type { Execution, Stage } from './model.ts'
import { isComplete } from './statuses.ts'
import type { UnitOfWork } from './unit-of-work.ts'

interface RestartRequest {
  execution: Execution
  /** Its top-level ancestor is what restarts. */
  stage: Stage
  restartedBy: string
  /** The definition as it is stored now. */
  definition?: JsonObject
}

export function restartStage(unit: UnitOfWork, request: RestartRequest): void {
  const { execution } = request
  const stage = graphOf(execution).topLevelOf(request.stage)
  if (!isComplete(stage.status) && stage.status !== 'NOT_STARTED') return
  if (request.definition !== undefined) replacePreconditions(execution, request.definition)
  resetForRestart({ execution, stage, turn: unit.turn }, request.restartedBy)
  execution.engine.followUps = execution.engine.followUps.filter((each) => each.stageId !== stage.id)
  if (execution.status === 'RUNNING' || execution.status === 'PAUSED') {
    execution.startTime = unit.turn.now
    advance(execution, unit.turn)
  } else {
    reopen(unit, execution, stage)
  }
  restartParent(unit, execution, request.restartedBy)
}

/** A parent that has ended restarts the stage that started this child, and watches this child instead of starting a new one. */
function restartParent(unit: UnitOfWork, child: Execution, restartedBy: string): void {
  const { parentExecution, parentPipelineStageId } = child.trigger
  if (!isObject(parentExecution) || typeof parentPipelineStageId !== 'string') return
  const parent = unit.load(String(parentExecution['id']))
  const stage = parent === undefined ? undefined : graphOf(parent).find(parentPipelineStageId)
  // A trigger may be made up: only a stage that watches this very run is meant.
  if (stage?.context['executionId'] !== child.id) return
  if (parent === undefined || stage === undefined || !isComplete(parent.status) || !isComplete(stage.status)) return
  const { executionId, executionName } = stage.context
  resetForRestart({ execution: parent, stage, turn: unit.turn }, restartedBy)
  stage.context = { ...stage.context, executionId, executionName }
  reopen(unit, parent, stage)
  restartParent(unit, parent, restartedBy)
}

/** The time by which it was to start is that of its first start. */
function reopen(unit: UnitOfWork, execution: Execution, stage: Stage): void {
  execution.engine.restartStageId = stage.id
  execution.canceled = false
  execution.canceledBy = undefined
  execution.endTime = undefined
  execution.startTimeExpiry = undefined
  startOrPark(unit, execution)
}
