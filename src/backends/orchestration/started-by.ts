/** Whether a run was started by a stage of another one, as the engine has noted it with the run. */
import { isObject } from '../../json/values.ts'
import type { Execution, StagePlace } from './model.ts'

export function isStartedBy(child: Execution, { execution: parent, stage }: StagePlace): boolean {
  const { parentExecution, parentPipelineStageId } = child.trigger
  return parentPipelineStageId === stage.id && isObject(parentExecution) && parentExecution['id'] === parent.id
}
