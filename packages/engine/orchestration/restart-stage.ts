/**
 * Restart of a stage in one transaction, with its concurrency limit and parent execution.
 *
 * @see docs/contracts/orchestration.md#operations-on-a-run
 */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { type Access, describeMissing } from '@fairlead/ports/access.ts'
import { startOrPark } from './concurrency.ts'
import { steer } from './identity.ts'
import { advance } from './machine/advance.ts'
import { graphOf } from './machine/graph.ts'
import { replacePreconditions, resetForRestart } from './machine/restart.ts'
import type { StageRun } from './machine/turn.ts'
import { type Execution, type Identity, notify, originOf, type Stage } from './model.ts'
import { isComplete } from './statuses.ts'
import type { UnitOfWork } from './unit-of-work.ts'

interface RestartRequest {
  execution: Execution
  /** Its top-level ancestor is what restarts. */
  stage: Stage
  by: Identity
  /** What that user may do. */
  access: Access
  /** The definition as it is stored now. */
  definition?: JsonObject
}

export function restartStage(unit: UnitOfWork, request: RestartRequest): void {
  const { execution, by } = request
  const stage = graphOf(execution).topLevelOf(request.stage)
  if (!isComplete(stage.status) && stage.status !== 'NOT_STARTED') return
  if (request.definition !== undefined) replacePreconditions(execution, request.definition)
  reset({ execution, stage, turn: unit.turn }, by)
  execution.engine.followUps = execution.engine.followUps.filter(
    (each) => each.stageId !== stage.id,
  )
  if (execution.status === 'RUNNING' || execution.status === 'PAUSED') {
    execution.startTime = unit.turn.now
    advance(execution, unit.turn)
  } else {
    reopen(unit, execution, stage)
  }
  restartParent(unit, execution, request)
}

function reset(run: StageRun, by: Identity): void {
  steer(run.execution, by, `restarted the stage ${run.stage.name}`, run.turn.now)
  resetForRestart(run, by.user)
}

/**
 * A parent that has ended restarts the stage that started this child, and watches this child instead of starting a new one. It stays
 * as it is where the user may not EXECUTE it.
 */
function restartParent(
  unit: UnitOfWork,
  child: Execution,
  { by, access }: Pick<RestartRequest, 'by' | 'access'>,
): void {
  const { run, stageId } = originOf(child.trigger)
  if (run.id === undefined || stageId === undefined) return
  const parent = unit.load(run.id)
  const stage = parent && graphOf(parent).find(stageId)
  // A trigger may be made up: only a stage that watches this very run is meant.
  if (stage?.context['executionId'] !== child.id) return
  if (
    parent === undefined ||
    stage === undefined ||
    !isComplete(parent.status) ||
    !isComplete(stage.status)
  )
    return
  if (!access.mayOnApplication(parent.application, 'EXECUTE')) {
    const missing = describeMissing(access, 'EXECUTE', parent.application)
    notify(
      child,
      `The execution ${parent.id}, which has started this one, is not restarted. ${missing}`,
      unit.turn.now,
    )
    return
  }
  const { executionId, executionName } = stage.context
  reset({ execution: parent, stage, turn: unit.turn }, by)
  stage.context = { ...stage.context, executionId, executionName }
  reopen(unit, parent, stage)
  restartParent(unit, parent, { by, access })
}

/** The time by which it was to start is that of its first start. */
function reopen(unit: UnitOfWork, execution: Execution, stage: Stage): void {
  execution.engine.restartStageId = stage.id
  execution.engine.cancelFor = undefined
  execution.canceled = false
  execution.canceledBy = undefined
  execution.endTime = undefined
  execution.startTimeExpiry = undefined
  startOrPark(unit, execution)
}
