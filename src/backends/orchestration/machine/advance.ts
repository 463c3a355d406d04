/**
 * Moves an execution as far as it goes without waiting: starts what may start, completes what is done
 * (orchestration contract, 4.2 and 4.3). It looks at state only, so it may be called at any time and as often as one likes.
 */
import { isTrue } from '../../../json/values.ts'
import { evaluateStageContext, isStageEnabled } from '../expressions/stage-evaluation.ts'
import type { Execution, Stage, Task } from '../model.ts'
import { isTopLevel } from '../model.ts'
import { stageTypeOf, typeNameOf } from '../stages/stage-type.ts'
import { describeMissingType } from '../stages/unknown-types.ts'
import { isActive, isComplete, isFine, isHalt } from '../statuses.ts'
import { checkCompletion } from './completion.ts'
import { errorRecord, failureStatus, StageError } from './failure.ts'
import { areRequisitesFine, childrenOf, parentOf, successorsOf } from './graph.ts'
import { createTasks, injectStages } from './new-stage.ts'
import { plannedBeforeStages } from './planning.ts'
import { completeStage } from './stage-completion.ts'
import { isSpent, recordEvent, type Turn } from './turn.ts'

/** @param changed The only stage that has changed since the last time; without it all are looked at. */
export function advance(execution: Execution, turn: Turn, changed?: Stage): void {
  const isWhole = changed === undefined || execution.engine.unfinishedAt !== undefined
  const open = new Set(isWhole ? execution.stages : affectedBy(execution, changed))
  execution.engine.unfinishedAt = undefined
  // A set is walked in the order of insertion; what is added on the way has its turn too.
  for (const stage of open) {
    if (!isActive(execution.status)) return
    open.delete(stage)
    if (!advanceStage(execution, stage, turn)) continue
    for (const each of affectedBy(execution, stage)) open.add(each)
    if (!isSpent(turn) || open.size === 0) continue
    execution.engine.unfinishedAt = turn.now
    return
  }
}

/** Stages that may be able to move because this one has. */
function affectedBy(execution: Execution, stage: Stage): Stage[] {
  const parent = parentOf(execution, stage)
  const near = [stage, ...childrenOf(execution, stage), ...(parent === undefined ? [] : [parent])]
  return isComplete(stage.status) ? [...near, ...successorsOf(execution, stage)] : near
}

function advanceStage(execution: Execution, stage: Stage, turn: Turn): boolean {
  if (stage.status === 'NOT_STARTED') {
    if (!mayStart(execution, stage)) return false
    startStage(execution, stage, turn)
    return true
  }
  return stage.status === 'RUNNING' && progressStage(execution, stage, turn)
}

function mayStart(execution: Execution, stage: Stage): boolean {
  if (execution.canceled || !areRequisitesFine(execution, stage)) return false
  const parent = parentOf(execution, stage)
  if (parent === undefined) return true
  if (parent.status !== 'RUNNING') return false
  return stage.syntheticStageOwner === 'STAGE_BEFORE' || parent.tasks.every((task) => isComplete(task.status))
}

function startStage(execution: Execution, stage: Stage, turn: Turn): void {
  const isTooLate = stage.startTimeExpiry !== undefined && turn.now > stage.startTimeExpiry
  if (isTooLate || !isStageEnabled(execution, stage, turn)) {
    skipStage(execution, stage, turn)
    return
  }
  stage.status = 'RUNNING'
  stage.startTime = turn.now
  planStage(execution, stage, turn)
  recordEvent(turn, { phase: 'starting', execution, stage })
}

function skipStage(execution: Execution, stage: Stage, turn: Turn): void {
  stage.status = 'SKIPPED'
  stage.endTime = turn.now
  recordEvent(turn, { phase: 'skipped', execution, stage })
  checkCompletion(execution, stage, turn)
}

/** A plan that fails gives the stage its failure status; an unknown type is terminal whatever the failure options say. */
function planStage(execution: Execution, stage: Stage, turn: Turn): void {
  const name = typeNameOf(stage)
  const type = stageTypeOf(turn.stageTypes, stage)
  try {
    evaluateStageContext(execution, stage, turn)
    if (type === undefined) throw new StageError([describeMissingType(name, turn.stageTypes)])
    const steps = type.chooseSteps?.(stage, execution) ?? type.steps
    const before = plannedBeforeStages(execution, stage, type)
    stage.tasks = createTasks(name, steps)
    if (type.isSkippable?.(stage)) stage.context['canManuallySkip'] = true
    injectStages(execution, stage, 'STAGE_BEFORE', before.stages, turn, before.firstNumber)
  } catch (error) {
    stage.context['exception'] = errorRecord(error, stage.name, turn.now)
    stage.context['beforeStagePlanningFailed'] = true
    stage.engine.planningFailed = true
    completeStage(execution, stage, type === undefined ? 'TERMINAL' : failureStatus(stage), turn)
  }
}

function progressStage(execution: Execution, stage: Stage, turn: Turn): boolean {
  const before = childrenOf(execution, stage, 'STAGE_BEFORE')
  if (endsPlan(before)) return finish(execution, stage, turn)
  if (!before.every((child) => isFine(child.status))) return false

  if (stage.tasks.some((task) => isHalt(task.status))) return finish(execution, stage, turn)
  if (stage.tasks.some((task) => isActive(task.status))) return false
  const next = stage.tasks.find((task) => task.status === 'NOT_STARTED')
  if (next !== undefined) return startTask(next, turn)

  if (!stage.engine.afterStagesPlanned) return planAfterStages(execution, stage, turn)
  const after = childrenOf(execution, stage, 'STAGE_AFTER')
  if (endsPlan(after) || after.every((child) => isFine(child.status))) return finish(execution, stage, turn)
  return false
}

/** A halted child completes its parent; so does one that failed and goes on, unless its siblings may too (section 4.3). */
function endsPlan(children: readonly Stage[]): boolean {
  return children.some(
    (child) =>
      isHalt(child.status) ||
      (child.status === 'FAILED_CONTINUE' && !isTrue(child.context['allowSiblingStagesToContinueOnFailure'])),
  )
}

function startTask(task: Task, turn: Turn): true {
  task.status = 'RUNNING'
  task.startTime = turn.now
  task.engine = { run: turn.nextId(), dueAt: turn.now }
  return true
}

function planAfterStages(execution: Execution, stage: Stage, turn: Turn): true {
  stage.engine.afterStagesPlanned = true
  try {
    const after = stageTypeOf(turn.stageTypes, stage)?.afterStages?.(stage, execution) ?? []
    injectStages(execution, stage, 'STAGE_AFTER', after, turn)
  } catch (error) {
    stage.context['exception'] = errorRecord(error, stage.name, turn.now)
    stage.context['afterStagePlanningFailed'] = true
    stage.engine.planningFailed = true
    completeStage(execution, stage, failureStatus(stage), turn)
  }
  return true
}

function finish(execution: Execution, stage: Stage, turn: Turn): true {
  completeStage(execution, stage, undefined, turn)
  return true
}

/** Starts an execution that has not begun; a restart has its own way. */
export function startExecution(execution: Execution, turn: Turn): void {
  execution.status = 'RUNNING'
  execution.canceled = false
  execution.startTime = turn.now
  execution.engine.parkedAt = undefined
  recordEvent(turn, { phase: 'starting', execution })
  advance(execution, turn)
}

/** Whether any stage could be the first. */
export function hasInitialStage(execution: Execution): boolean {
  return execution.stages.some((stage) => isTopLevel(stage) && stage.requisiteStageRefIds.length === 0)
}
