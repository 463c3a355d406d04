/** Which stages are injected ahead of a stage: the execution window first, then what its type asks for. */
import { isTrue } from '../../../json/values.ts'
import type { Execution, Stage } from '../model.ts'
import { isTopLevel } from '../model.ts'
import type { NewStage, StageType } from '../stages/stage-type.ts'

export interface PlannedStages {
  stages: NewStage[]
  /** Number of the first one in references: 0 when it is the execution window. */
  firstNumber: number
}

export function plannedBeforeStages(execution: Execution, stage: Stage, type: StageType): PlannedStages {
  const own = type.beforeStages?.(stage, execution) ?? []
  if (!isTopLevel(stage) || !isTrue(stage.context['restrictExecutionDuringTimeWindow'])) return { stages: own, firstNumber: 1 }
  const window: NewStage = {
    type: 'restrictExecutionDuringTimeWindow',
    name: 'restrictExecutionDuringTimeWindow',
    context: {
      restrictedExecutionWindow: stage.context['restrictedExecutionWindow'],
      skipRemainingWait: stage.context['skipRemainingWait'],
    },
  }
  const behindWindow = own.map((each) => ({ ...each, requires: [0, ...(each.requires ?? []).map((position) => position + 1)] }))
  return { stages: [window, ...behindWindow], firstNumber: 0 }
}
