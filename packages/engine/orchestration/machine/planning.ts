/** Plan of a stage: stages before its tasks, the tasks, and stages after them. */
import { evaluateStageContext } from '../expressions/stage-evaluation.ts'
import { isTopLevel, optionsOf } from '../model.ts'
import { type NewStage, type StageType, stageTypeOf, typeNameOf } from '../stages/stage-type.ts'
import { describeMissingType } from '../stages/unknown-types.ts'
import type { Status } from '../statuses.ts'
import { completeStage } from './completion.ts'
import { errorRecord, failureStatus, StageError } from './failure.ts'
import { graphOf } from './graph.ts'
import { createTasks, injectStages } from './new-stage.ts'
import type { StageRun } from './turn.ts'

/** A plan that fails gives the stage its failure status; an unknown type is terminal whatever the failure options say. */
export function planStage(run: StageRun): void {
  const { stage, turn } = run
  stage.engine.isDry = undefined
  stage.engine.isDry = isDry(run) || undefined
  const type = stageTypeOf(turn.stageTypes, stage)
  try {
    layOutStage(run, type)
  } catch (error) {
    failPlan(
      run,
      'beforeStagePlanningFailed',
      error,
      type === undefined ? 'TERMINAL' : failureStatus(stage),
    )
  }
}

/** Types that a dry run does not replace: they decide, look up or start other dry runs, and change nothing. */
const dryRunTypes = new Set([
  'manualJudgment',
  'pipeline',
  'evaluateVariables',
  'findImage',
  'findImageFromTags',
  'determineTargetServerGroup',
])

/** @see docs/contracts/orchestration.md#dry-runs */
function isDry({ execution, stage, turn }: StageRun): boolean {
  const type = stageTypeOf(turn.stageTypes, stage)?.type
  if (!execution.trigger.dryRun || type === undefined || dryRunTypes.has(type)) return false
  const { preconditionType = 'expression' } = stage.context
  return type !== 'checkPreconditions' || preconditionType !== 'expression'
}

/** Gives the stage its evaluated context, its tasks and the stages before them. @throws {StageError} */
export function layOutStage(run: StageRun, type: StageType | undefined): void {
  const { execution, stage, turn } = run
  const name = typeNameOf(stage)
  evaluateStageContext(run)
  if (type === undefined) throw new StageError([describeMissingType(name, turn.stageTypes)])
  const steps = type.chooseSteps?.(stage, execution) ?? type.steps
  const before = plannedBeforeStages(run, type)
  stage.tasks = createTasks(name, steps)
  if (type.isSkippable?.(stage)) stage.context['canManuallySkip'] = true
  injectStages(run, 'STAGE_BEFORE', before.stages, before.firstNumber)
}

export function planAfterStages(run: StageRun): void {
  const { stage, turn } = run
  stage.engine.afterStagesPlanned = true
  try {
    injectAfterStages(run, stageTypeOf(turn.stageTypes, stage))
  } catch (error) {
    failPlan(run, 'afterStagePlanningFailed', error, failureStatus(stage))
  }
}

/** @throws {StageError} */
export function injectAfterStages(run: StageRun, type: StageType | undefined): void {
  const { execution, stage } = run
  injectStages(run, 'STAGE_AFTER', type?.afterStages?.(stage, execution) ?? [])
}

/** Whether the stage's type has something to do before the stage ends in its failure. */
export function planFailureStages(run: StageRun): void {
  const { execution, stage, turn } = run
  const graph = graphOf(execution)
  stage.engine.failureStages = []
  stage.engine.afterStagesPlanned = true
  graph.remove(new Set(graph.descendantsOf(stage).filter(({ status }) => status === 'NOT_STARTED')))
  try {
    const added = stageTypeOf(turn.stageTypes, stage)?.onFailureStages?.(stage, execution) ?? []
    const number = graph.childrenOf(stage, 'STAGE_AFTER').length + 1
    stage.engine.failureStages = injectStages(run, 'STAGE_AFTER', added, number).map(({ id }) => id)
  } catch (error) {
    failPlan(run, 'onFailureStagePlanningFailed', error, failureStatus(stage))
  }
}

function failPlan(run: StageRun, key: string, error: unknown, status: Status): void {
  const { stage, turn } = run
  stage.context['exception'] = errorRecord(error, stage.name, turn.now)
  stage.context[key] = true
  completeStage(run, status)
}

/** Stages to inject, and the number of the first one in references: 0 when it is the execution window. */
function plannedBeforeStages(
  { execution, stage }: StageRun,
  type: StageType,
): { stages: NewStage[]; firstNumber: number } {
  const own = type.beforeStages?.(stage, execution) ?? []
  if (!isTopLevel(stage) || !optionsOf(stage.context).restrictExecutionDuringTimeWindow)
    return { stages: own, firstNumber: 1 }
  const window: NewStage = {
    type: 'restrictExecutionDuringTimeWindow',
    name: 'restrictExecutionDuringTimeWindow',
    context: {
      restrictedExecutionWindow: stage.context['restrictedExecutionWindow'],
      skipRemainingWait: stage.context['skipRemainingWait'],
    },
  }
  const behindWindow = own.map((each) => ({
    ...each,
    requires: [0, ...(each.requires ?? []).map((position) => position + 1)],
  }))
  return { stages: [window, ...behindWindow], firstNumber: 0 }
}
