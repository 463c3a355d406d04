/** Ends what is active in a stage without a result of its own. */
import type { Execution, Stage } from '../model.ts'
import { stageTypeOf } from '../stages/stage-type.ts'
import { isActive } from '../statuses.ts'
import { noteEnd } from './graph.ts'
import { recordEvent, type Turn } from './turn.ts'

/** Ends an active stage and its tasks as CANCELED; what it started elsewhere is undone by its type afterwards. */
export function cancelStage(execution: Execution, stage: Stage, turn: Turn): void {
  if (!isActive(stage.status)) return
  stage.status = 'CANCELED'
  stage.endTime = turn.now
  noteEnd(execution, stage)
  for (const task of stage.tasks) {
    if (!isActive(task.status)) continue
    task.status = 'CANCELED'
    task.endTime = turn.now
    task.engine = {}
  }
  recordEvent(turn, { phase: 'failed', execution, stage })
  if (stageTypeOf(turn.stageTypes, stage)?.onCancel === undefined) return
  execution.engine.followUps.push({ id: turn.nextId(), kind: 'cancel-stage', stageId: stage.id, dueAt: turn.now, attempts: 0 })
}
