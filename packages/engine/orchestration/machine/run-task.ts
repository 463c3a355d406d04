/** Tasks whose time has come: their steps, and the results that these record (docs/contracts/orchestration.md#task-states). */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { evaluateStageContext } from '../expressions/stage-evaluation.ts'
import { inheritSteerers } from '../identity.ts'
import {
  type Execution,
  noteAuthors,
  optionsOf,
  repeatedKey,
  type Stage,
  waitingKey,
} from '../model.ts'
import { noteSecrets } from '../secrets.ts'
import { type Step, stageTypeOf, type TaskResult, typeNameOf } from '../stages/stage-type.ts'
import { isComplete } from '../statuses.ts'
import { formatStored } from '../store.ts'
import { advance, skipStage } from './advance.ts'
import { completeExecution, endTask, undoLater } from './completion.ts'
import {
  errorRecord,
  failureStatus,
  RetryableError,
  StageError,
  toFailure,
  UnansweredError,
} from './failure.ts'
import { graphOf } from './graph.ts'
import { remainingMs, timeoutOf } from './timeout.ts'
import { isSpent, type StepRun, type TaskRun, type Turn } from './turn.ts'

const defaultPollMs = 1000
const longestPollMs = 120_000
/** Some steps poll rarely because a change wakes them; nothing wakes them when a service is back. */
const longestRetryMs = 15_000

export function stepOf({ stage, task, turn }: TaskRun): Step | undefined {
  return stageTypeOf(turn.stageTypes, stage)?.steps.find((step) => step.name === task.name)
}

/**
 * Tasks that have to be handed out now, as far as this step has not spent what is its due. Those that end without being handed
 * out, such as by a timeout, are dealt with here.
 *
 * @param isTaken Whether a start of a task has been handed out already.
 */
export function takeDueTasks(
  execution: Execution,
  turn: Turn,
  isTaken: (run: string) => boolean,
): StepRun[] {
  const runs: StepRun[] = []
  for (const stage of [...execution.stages]) {
    for (const task of stage.tasks) {
      const { run, dueAt } = task.engine
      if (task.status !== 'RUNNING' || run === undefined || isTaken(run) || (dueAt ?? 0) > turn.now)
        continue
      if (isSpent(turn)) return runs
      const taken = takeTask({ execution, stage, task, turn }, run)
      if (taken !== undefined) runs.push(taken)
      else advance(execution, turn, stage)
    }
  }
  return runs
}

/** Whether the task still runs as it did when it was taken: another one may have ended the execution. */
export function isWanted({ task, run }: StepRun): boolean {
  return task.status === 'RUNNING' && task.engine.run === run
}

function takeTask(taskRun: TaskRun, run: string): StepRun | undefined {
  const { execution, stage, task } = taskRun
  if (execution.status === 'PAUSED') {
    pauseTask(taskRun)
    return undefined
  }
  const step = stepOf(taskRun)
  if (step === undefined) {
    failTask(
      taskRun,
      new StageError([
        `This version does not know the step "${task.name}" of "${typeNameOf(stage)}".`,
      ]),
    )
    return undefined
  }
  const taken = { ...taskRun, run, step }
  if (remainingMs(taken) < 0) {
    timeOut(taken)
    return undefined
  }
  evaluateStageContext(taken)
  if ('execute' in step && step.isUnrecognized) noteCall(taken)
  return taken
}

/** A call whose result was never recorded may have arrived. */
function noteCall({ stage, task, turn }: TaskRun): void {
  const { calledAt } = task.engine
  if (calledAt !== undefined) {
    const at = new Date(calledAt).toISOString()
    stage.context[repeatedKey] =
      `The engine ended during the call of ${at}. It was repeated, and may have had its effect twice.`
  }
  task.engine.calledAt = turn.now
}

/** The stage and those above it show that nothing moves. */
export function pauseTask({ execution, stage, task }: TaskRun): void {
  task.status = 'PAUSED'
  task.engine.dueAt = undefined
  for (const each of graphOf(execution).upwardsFrom(stage)) each.status = 'PAUSED'
}

function timeOut(run: StepRun): void {
  const { [waitingKey]: missing, ...context } = run.stage.context
  run.stage.context = context
  if (optionsOf(run.stage.context).markSuccessfulOnTimeout) {
    endTask(run, 'SUCCEEDED')
    return
  }
  const seconds = Math.round((timeoutOf(run).limitMs ?? 0) / 1000)
  const why = typeof missing === 'string' ? `: ${missing.replace(/\.$/, '')}` : ''
  const text = `The step "${run.task.name}" did not end within ${seconds} s${why}.`
  const isUnanswered = 'recover' in run.step && run.step.recover !== undefined
  const error = isUnanswered ? new UnansweredError([text]) : new StageError([text])
  error.name = 'TimeoutException'
  failTask(run, error)
}

/** Records what a task answered. `undefined` results of abandoned runs never get here: see the caller. */
export function applyResult(run: StepRun, result: TaskResult): void {
  const { execution, stage, task, turn } = run
  const size = formatStored([result.context, result.outputs]).length
  if (size > turn.limits.bytes) {
    const text = `The step "${task.name}" has ${size} characters to record; ${turn.limits.bytes} are allowed. Raise pipelines.max-size.`
    failTask(run, new StageError([text]))
    advance(execution, turn, stage)
    return
  }
  turn.recorded += size
  task.engine.calledAt = undefined
  if (result.secrets !== undefined) noteSecrets(execution, result.secrets)
  if (result.authors !== undefined) noteAuthors(execution, result.authors)
  if (result.promotesTo !== undefined) stage.engine.promotesTo = result.promotesTo
  if (result.from !== undefined) inheritSteerers(execution, result.from)
  mergeResult(stage, result)
  evaluateStageContext(run)
  const isFailure = result.status === 'TERMINAL' || result.status === 'CANCELED'
  const status = isFailure ? failureStatus(stage, result.status) : result.status
  if (status === 'RUNNING') {
    task.engine.dueAt = nextLook(run, result.pollMs ?? pauseOf(run))
  } else {
    endTask(run, status)
    if (result.skipsRest) skipRest(run)
  }
  advance(execution, turn, stage)
  noteWaits(run)
}

/** Stages above say what they wait for in this one. */
function noteWaits({ execution, stage, turn }: StepRun): void {
  for (const above of graphOf(execution).upwardsFrom(stage).slice(1)) {
    const type = stageTypeOf(turn.stageTypes, above)
    if (type?.describeWait === undefined) continue
    const words = isComplete(above.status) ? undefined : type.describeWait(above, execution)
    above.context = { ...above.context, [waitingKey]: words }
  }
}

function skipRest({ execution, stage, turn }: StepRun): void {
  const graph = graphOf(execution)
  const parent = graph.parentOf(stage)
  const beside = parent === undefined ? [] : graph.childrenOf(parent, stage.syntheticStageOwner)
  for (const each of beside)
    if (each.status === 'NOT_STARTED') skipStage({ execution, stage: each, turn })
}

/** Adds to context and outputs of the stage what a task has found. */
export function mergeResult(
  stage: Stage,
  result: Pick<TaskResult, 'context' | 'outputs' | 'scheduledTime'>,
): void {
  stage.context = { ...stage.context, ...result.context }
  stage.scheduledTime = result.scheduledTime ?? stage.scheduledTime
  const outputs: JsonObject = { ...stage.outputs, ...result.outputs }
  // A later stage must not inherit the time limit of this one.
  stage.outputs = { ...outputs, stageTimeoutMs: undefined }
}

export function applyFailure(run: StepRun, error: unknown): void {
  const { execution, stage, task, turn } = run
  if (error instanceof RetryableError) {
    task.engine.calledAt = undefined
    task.engine.dueAt = nextLook(run, pauseOf(run, longestRetryMs))
    return
  }
  failTask(run, error)
  advance(execution, turn, stage)
  noteWaits(run)
}

function failTask(run: TaskRun, error: unknown): void {
  const { stage, task, turn } = run
  const record = errorRecord(error, task.name, turn.now)
  const { exception: kept } = toFailure(stage.context)
  stage.context['exception'] = { ...kept, ...record }
  task.taskExceptionDetails = { ...task.taskExceptionDetails, exception: record }
  if (error instanceof UnansweredError) undoLater(run, task)
  endTask(run, failureStatus(stage))
}

/** The next look comes no later than the moment at which the task is out of time. */
function nextLook(run: StepRun, pauseMs: number): number {
  return run.turn.now + Math.min(pauseMs, remainingMs(run) + 1)
}

/** @param most Bound of the pause that the step asks for; the author's own pause counts in any case */
function pauseOf({ stage, step }: StepRun, most = Infinity): number {
  const backOff = Number(stage.context['backoffPeriodMs'] ?? 0) || 0
  return Math.max(Math.min(step.pollMs ?? defaultPollMs, most), Math.min(backOff, longestPollMs))
}

/** Ends an execution that the engine cannot go on with: its running stages say why, and so does the execution. */
export function giveUp(execution: Execution, reason: string, turn: Turn): void {
  if (isComplete(execution.status)) return
  for (const stage of execution.stages) {
    for (const task of stage.tasks) {
      if (task.status === 'RUNNING')
        failTask({ execution, stage, task, turn }, new StageError([reason]))
    }
  }
  execution.canceled = true
  execution.canceledBy = 'spinnaker'
  execution.cancellationReason = reason
  execution.engine.unfinishedAt = undefined
  completeExecution(execution, 'TERMINAL', turn)
}

/** Makes every running task be looked at now. */
export function wakeTasks(execution: Execution, now: number): void {
  for (const stage of execution.stages) {
    for (const task of stage.tasks) if (task.status === 'RUNNING') task.engine.dueAt = now
  }
}

/** No date is later; the store keeps moments as whole numbers. */
const lastMoment = 8.64e15

/** When the engine has to look at the execution next, in whole milliseconds; tasks in flight announce themselves. */
export function nextDue(
  execution: Execution,
  isInFlight: (run: string) => boolean,
): number | undefined {
  const { followUps, unfinishedAt } = execution.engine
  let next = Infinity
  for (const { id, dueAt } of followUps) if (!isInFlight(id)) next = Math.min(next, dueAt)
  if (!isComplete(execution.status)) {
    next = Math.min(next, unfinishedAt ?? Infinity)
    for (const { tasks } of execution.stages) {
      for (const { status, engine } of tasks) {
        if (status !== 'RUNNING' || engine.dueAt === undefined || isInFlight(engine.run ?? ''))
          continue
        next = Math.min(next, engine.dueAt)
      }
    }
  }
  return next === Infinity ? undefined : Math.min(Math.ceil(next), lastMoment)
}
