/**
 * Progress of an execution without waiting: starts what may start, completes what is done. It looks at state only, so it may be called at any time and any number of times.
 *
 * @see docs/contracts/orchestration.md#execution-states, #stage-states
 */
import { asksElsewhere } from '../expressions/functions.ts'
import { isStageEnabled } from '../expressions/stage-condition.ts'
import { evaluateStageContext } from '../expressions/stage-evaluation.ts'
import { ownParts } from '../kept-stage.ts'
import { type Execution, isTopLevel, optionsOf, type Stage, type StagePlace } from '../model.ts'
import { stageTypeOf } from '../stages/stage-type.ts'
import { isActive, isComplete, isFine, isHalt } from '../statuses.ts'
import { checkCompletion, completeStage, hasFailed } from './completion.ts'
import { graphOf } from './graph.ts'
import { planAfterStages, planFailureStages, planStage } from './planning.ts'
import { isSpent, type StageRun, type TaskRun, type Turn } from './turn.ts'

/** @param changed The only stage that has changed since the last time; without it all are looked at. */
export function advance(execution: Execution, turn: Turn, changed?: Stage): void {
  const isWhole = changed === undefined || execution.engine.unfinishedAt !== undefined
  const open = new Set(isWhole ? execution.stages : affectedBy({ execution, stage: changed }))
  execution.engine.unfinishedAt = undefined
  // A set is walked in the order of insertion; what is added on the way has its turn too.
  for (const stage of open) {
    if (!isActive(execution.status)) return
    open.delete(stage)
    const run = { execution, stage, turn }
    if (!advanceStage(run)) continue
    for (const each of affectedBy(run)) open.add(each)
    if (!isSpent(turn) || open.size === 0) continue
    execution.engine.unfinishedAt = turn.now
    return
  }
}

/** Stages that may be able to move because this one has. */
function affectedBy({ execution, stage }: StagePlace): Stage[] {
  const graph = graphOf(execution)
  const parent = graph.parentOf(stage)
  const near = [stage, ...graph.childrenOf(stage), ...(parent === undefined ? [] : [parent])]
  return isComplete(stage.status) ? [...near, ...graph.successorsOf(stage)] : near
}

/** Whether it has moved. */
function advanceStage(run: StageRun): boolean {
  const { status } = run.stage
  if (status === 'RUNNING') {
    const action = nextAction(run)
    action?.(run)
    return action !== undefined
  }
  if (status !== 'NOT_STARTED' || !mayStart(run) || awaitsAnswers(run)) return false
  startStage(run)
  return true
}

function mayStart({ execution, stage }: StagePlace): boolean {
  const graph = graphOf(execution)
  if (execution.canceled || !graph.areRequisitesFine(stage)) return false
  const parent = graph.parentOf(stage)
  if (parent === undefined) return true
  if (parent.status !== 'RUNNING') return false
  const isFailed = parent.engine.failureStages !== undefined
  return (
    stage.syntheticStageOwner === 'STAGE_BEFORE' ||
    isFailed ||
    parent.tasks.every((task) => isComplete(task.status))
  )
}

/** A lost answer is asked for again after this time. */
const askAgainMs = 1000

/** Whether expressions of the stage read something from elsewhere that is not there yet; it is asked for, and the stage is looked at again. */
function awaitsAnswers(run: StageRun): boolean {
  const { execution, stage, turn } = run
  if (!asksElsewhere(stage.context)) return false
  const answers = turn.answers.at(run, true)
  const trial = { ...run, stage: { ...stage }, answers }
  if (isStageEnabled(trial)) evaluateStageContext(trial)
  if (answers.pending.length === 0) return false
  execution.engine.unfinishedAt = turn.now + askAgainMs
  return true
}

function startStage(run: StageRun): void {
  const { execution, stage, turn } = run
  ownParts(stage)
  const isTooLate = stage.startTimeExpiry !== undefined && turn.now > stage.startTimeExpiry
  if (isTooLate || !isStageEnabled(run)) {
    skipStage(run)
    return
  }
  stage.status = 'RUNNING'
  stage.startTime = turn.now
  planStage(run)
  turn.events.push({ phase: 'starting', execution, stage })
}

export function skipStage(run: StageRun): void {
  const { execution, stage, turn } = run
  stage.status = 'SKIPPED'
  stage.endTime = turn.now
  turn.events.push({ phase: 'skipped', execution, stage })
  checkCompletion(run)
}

/** The next thing to do for a running stage; undefined while it waits for its children or tasks. */
function nextAction(run: StageRun): ((run: StageRun) => void) | undefined {
  const { execution, stage, turn } = run
  const graph = graphOf(execution)
  const { failureStages } = stage.engine
  if (failureStages !== undefined) {
    const added = graph
      .childrenOf(stage, 'STAGE_AFTER')
      .filter(({ id }) => failureStages.includes(id))
    return endsPlan(added) || added.every((child) => isFine(child.status))
      ? completeStage
      : undefined
  }
  const action = plannedAction({ execution, stage })
  const hasFailureStages =
    action === completeStage && stageTypeOf(turn.stageTypes, stage)?.onFailureStages !== undefined
  return hasFailureStages && hasFailed(run) ? planFailureStages : action
}

function plannedAction({ execution, stage }: StagePlace): ((run: StageRun) => void) | undefined {
  const graph = graphOf(execution)
  const before = graph.childrenOf(stage, 'STAGE_BEFORE')
  if (endsPlan(before)) return completeStage
  if (!before.every((child) => isFine(child.status))) return undefined

  if (stage.tasks.some((task) => isHalt(task.status))) return completeStage
  if (stage.tasks.some((task) => isActive(task.status))) return undefined
  const next = stage.tasks.find((task) => task.status === 'NOT_STARTED')
  if (next !== undefined) return (run) => startTask({ ...run, task: next })

  if (!stage.engine.afterStagesPlanned) return planAfterStages
  const after = graph.childrenOf(stage, 'STAGE_AFTER')
  return endsPlan(after) || after.every((child) => isFine(child.status)) ? completeStage : undefined
}

/**
 * A halted child completes its parent; so does one that failed and goes on, unless its siblings may too.
 * @see docs/contracts/orchestration.md#stage-states
 */
function endsPlan(children: readonly Stage[]): boolean {
  return children.some(
    (child) =>
      isHalt(child.status) ||
      (child.status === 'FAILED_CONTINUE' &&
        !optionsOf(child.context).allowSiblingStagesToContinueOnFailure),
  )
}

function startTask({ execution, stage, task, turn }: TaskRun): void {
  task.status = 'RUNNING'
  task.startTime = turn.now
  task.engine = { run: turn.nextId(), dueAt: turn.now }
  turn.events.push({ phase: 'starting', execution, stage, task })
}

/** Starts an execution that has not begun; a restart has its own way. */
export function startExecution(execution: Execution, turn: Turn): void {
  execution.status = 'RUNNING'
  execution.canceled = false
  execution.startTime = turn.now
  execution.engine.parkedAt = undefined
  turn.events.push({ phase: 'starting', execution })
  advance(execution, turn)
}

/** Whether any stage could be the first. */
export function hasInitialStage(execution: Execution): boolean {
  return execution.stages.some(
    (stage) => isTopLevel(stage) && stage.requisiteStageRefIds.length === 0,
  )
}
