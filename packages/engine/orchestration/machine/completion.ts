/**
 * Ends of tasks, stages and executions: when they are over, and with which result.
 * @see docs/contracts/orchestration.md#execution-states, #stage-states
 */
import { list, shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textOf } from '@fairlead/base/json/values.ts'
import {
  type Execution,
  isTopLevel,
  optionsOf,
  type Stage,
  type StagePlace,
  type Task,
} from '../model.ts'
import { stageTypeOf } from '../stages/stage-type.ts'
import { isActive, isComplete, isFine, isHalt, type Status } from '../statuses.ts'
import { appendErrors, errorTexts, failureRecord, failureStatus } from './failure.ts'
import { graphOf } from './graph.ts'
import type { StageRun, TaskRun, Turn } from './turn.ts'

export function endTask({ execution, stage, task, turn }: TaskRun, status: Status): void {
  task.status = status
  task.endTime = isComplete(status) ? turn.now : undefined
  task.engine = {}
  if (isComplete(status))
    turn.events.push({ phase: isHalt(status) ? 'failed' : 'complete', execution, stage, task })
}

/** @param status Given when the result does not follow from children and tasks. */
export function completeStage(run: StageRun, status?: Status): void {
  const { execution, stage, turn } = run
  const graph = graphOf(execution)
  keepErrors(stage)
  const isRefused =
    optionsOf(stage.context).failOnFailedExpressions && failedExpressions(stage).length > 0
  stage.status = isRefused ? 'TERMINAL' : (status ?? stageResult(run))
  stage.endTime = turn.now
  if (isHalt(stage.status)) inheritError(run)
  graph.noteEnd(stage)
  for (const child of graph.descendantsOf(stage)) cancelStage({ execution, stage: child, turn })
  turn.events.push({ phase: isHalt(stage.status) ? 'failed' : 'complete', execution, stage })
  checkCompletion(run)
}

/** Result of a stage: the worst of its parts. @see docs/contracts/orchestration.md#stage-states */
function stageResult({ execution, stage }: StagePlace): Status {
  const found = [...graphOf(execution).childrenOf(stage), ...stage.tasks].map((each) => each.status)
  if (found.length === 0) return 'SKIPPED'
  if (found.includes('TERMINAL')) return failureStatus(stage)
  for (const status of ['STOPPED', 'CANCELED', 'FAILED_CONTINUE'] as const)
    if (found.includes(status)) return status
  return 'SUCCEEDED'
}

/** A stage that failed because of a part says why, also to who does not look at its parts. */
function inheritError(run: StageRun): void {
  const { execution, stage } = run
  if (stage.context['exception'] !== undefined || explainEnd(run)) return
  const failed = graphOf(execution)
    .childrenOf(stage)
    .find((child) => isHalt(child.status) && errorTexts(child.context['exception']).length > 0)
  if (failed !== undefined) stage.context['exception'] = failed.context['exception']
}

/** Whether its type has put the reason in words. */
function explainEnd({ execution, stage, turn }: StageRun): boolean {
  const text = stageTypeOf(turn.stageTypes, stage)?.describeFailure?.({ execution, stage })
  if (text !== undefined) stage.context['exception'] = failureRecord('StageStopped', [text])
  return text !== undefined
}

/** Whether the stage would end in a failure that is its own, and not in a cancellation. */
export function hasFailed(place: StagePlace): boolean {
  return ['TERMINAL', 'STOPPED', 'FAILED_CONTINUE'].includes(stageResult(place))
}

/** Failed expressions are in the error record even of a success: docs/contracts/orchestration.md#failed-expressions */
function keepErrors(stage: Stage): void {
  const texts = stage.tasks
    .filter((task) => task.status === 'FAILED_CONTINUE')
    .flatMap((task) => errorTexts(task.taskExceptionDetails['exception']))
  texts.push(...failedExpressions(stage))
  if (texts.length > 0) appendErrors(stage, texts)
}

const toFailed = shape({
  expressionEvaluationSummary: (value) =>
    list(shape({ description: textOf }))(Object.values(objectOf(value)).flat()),
})

function failedExpressions(stage: Stage): string[] {
  const { expressionEvaluationSummary: entries } = toFailed(stage.context)
  return entries.flatMap(({ description }) => description ?? [])
}

/** Ends an active stage and its tasks as CANCELED; its type undoes afterwards what it started elsewhere. */
function cancelStage({ execution, stage, turn }: StageRun): void {
  if (!isActive(stage.status)) return
  stage.status = 'CANCELED'
  stage.endTime = turn.now
  explainEnd({ execution, stage, turn })
  graphOf(execution).noteEnd(stage)
  const out = stage.tasks.find(({ status }) => status === 'RUNNING')
  for (const task of stage.tasks) {
    if (isActive(task.status)) endTask({ execution, stage, task, turn }, 'CANCELED')
  }
  turn.events.push({ phase: 'failed', execution, stage })
  undoLater({ execution, stage, turn }, out)
}

/** Has the type of the stage undo what the stage has started elsewhere. @param out The step whose call has no answer yet */
export function undoLater({ execution, stage, turn }: StageRun, out?: Task): void {
  if (stageTypeOf(turn.stageTypes, stage)?.onCancel === undefined) return
  execution.engine.followUps.push({
    id: turn.nextId(),
    kind: 'cancel-stage',
    stageId: stage.id,
    ...(out && { open: out.name }),
    dueAt: turn.now,
    attempts: 0,
  })
}

/**
 * Looks whether the execution is over now that its stage is complete. Only the end of a branch is a reason to look: after a
 * restart, another branch that was left CANCELED must not end the execution while the restarted one still has stages to run.
 */
export function checkCompletion({ execution, stage, turn }: StageRun): void {
  if (!isTopLevel(stage)) return
  const graph = graphOf(execution)
  const successors = graph.successorsOf(stage)
  const isEndOfBranch =
    isHalt(stage.status) || successors.length === 0 || graph.hasHaltedUpstream(successors)
  const result = isEndOfBranch ? executionResult(execution) : undefined
  if (result !== undefined) completeExecution(execution, result, turn)
}

function executionResult(execution: Execution): Status | undefined {
  const stages = execution.stages.filter(isTopLevel)
  if (stages.every((stage) => isFine(stage.status))) return 'SUCCEEDED'
  if (stages.some((stage) => stage.status === 'TERMINAL')) return 'TERMINAL'
  if (stages.some((stage) => stage.status === 'CANCELED')) return 'CANCELED'
  const stopped = stages.filter((stage) => stage.status === 'STOPPED')
  const graph = graphOf(execution)
  const canStillMove = stages.some(
    (stage) =>
      isActive(stage.status) || (stage.status === 'NOT_STARTED' && graph.areRequisitesFine(stage)),
  )
  if (stopped.length === 0 || canStillMove) return undefined
  return stopped.some((stage) => optionsOf(stage.context).completeOtherBranchesThenFail)
    ? 'TERMINAL'
    : 'SUCCEEDED'
}

/** Ends the execution and what is still active in it; stages that have not started stay as they are. */
export function completeExecution(execution: Execution, result: Status, turn: Turn): void {
  execution.status = result
  execution.endTime = turn.now
  for (const stage of execution.stages) cancelStage({ execution, stage, turn })
  announceCompletion(execution, turn)
}

export function announceCompletion(execution: Execution, turn: Turn): void {
  execution.engine.parkedAt = undefined
  turn.events.push({ phase: execution.status === 'SUCCEEDED' ? 'complete' : 'failed', execution })
  turn.completed.push(execution)
}
