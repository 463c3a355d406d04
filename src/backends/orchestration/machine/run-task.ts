/** Decides what happens to a task whose time has come, and records what came out of it (orchestration contract, 4.6). */
import { isTrue, type JsonObject, objectOf } from '../../../json/values.ts'
import { evaluateStageContext } from '../expressions/stage-evaluation.ts'
import type { Execution, Stage, Task } from '../model.ts'
import { type Step, stageTypeOf, type TaskResult, typeNameOf } from '../stages/stage-type.ts'
import { isComplete, type Status } from '../statuses.ts'
import { formatStored } from '../store.ts'
import { advance } from './advance.ts'
import { completeExecution } from './completion.ts'
import { errorRecord, failureStatus, RetryableError, StageError } from './failure.ts'
import { parentOf } from './graph.ts'
import { remainingMs, timeoutOf } from './timeout.ts'
import { isSpent, type Turn } from './turn.ts'

const defaultPollMs = 1000
const longestPollMs = 120_000

export interface TaskRun {
  execution: Execution
  stage: Stage
  task: Task
  /** Names the start of the task. */
  run: string
  step: Step
}

export function stepOf(stage: Stage, task: Task, turn: Turn): Step | undefined {
  return stageTypeOf(turn.stageTypes, stage)?.steps.find((step) => step.name === task.name)
}

/**
 * Tasks that have to be handed out now, as far as this step has not spent what is its due. Those that end without being handed
 * out, such as by a timeout, are dealt with here.
 *
 * @param isTaken Whether a start of a task is in somebody's hands already.
 */
export function takeDueTasks(execution: Execution, turn: Turn, isTaken: (run: string) => boolean): TaskRun[] {
  const runs: TaskRun[] = []
  for (const [stage, task] of execution.stages.flatMap((stage) => stage.tasks.map((task) => [stage, task] as const))) {
    const { run, dueAt } = task.engine
    if (task.status !== 'RUNNING' || run === undefined || isTaken(run) || (dueAt ?? 0) > turn.now) continue
    if (isSpent(turn)) break
    const step = prepareRun(execution, stage, task, turn)
    if (step !== undefined) runs.push({ execution, stage, task, run, step })
    else advance(execution, turn, stage)
  }
  return runs
}

/** Whether the task still runs as it did when it was taken: another one may have ended the execution. */
export function isWanted({ task, run }: TaskRun): boolean {
  return task.status === 'RUNNING' && task.engine.run === run
}

function prepareRun(execution: Execution, stage: Stage, task: Task, turn: Turn): Step | undefined {
  if (execution.status === 'PAUSED') {
    pauseTask(execution, stage, task)
    return undefined
  }
  const step = stepOf(stage, task, turn)
  if (step === undefined) {
    failTask(stage, task, new StageError([`This version does not know the step "${task.name}" of "${typeNameOf(stage)}".`]), turn)
    return undefined
  }
  if (task.engine.begun) {
    const text = `The step "${task.name}" was interrupted and cannot be repeated safely; check its effect, then restart the stage.`
    failTask(stage, task, new StageError([text]), turn)
    return undefined
  }
  if (remainingMs(execution, stage, task, step, turn.now) < 0) {
    timeOut(execution, stage, task, step, turn)
    return undefined
  }
  evaluateStageContext(execution, stage, turn)
  if (step.runsOnce) task.engine.begun = true
  return step
}

/** The stage and those above it show that nothing moves. */
export function pauseTask(execution: Execution, stage: Stage, task: Task): void {
  task.status = 'PAUSED'
  task.engine.dueAt = undefined
  for (let above: Stage | undefined = stage; above !== undefined; above = parentOf(execution, above)) above.status = 'PAUSED'
}

function timeOut(execution: Execution, stage: Stage, task: Task, step: Step, turn: Turn): void {
  if (isTrue(stage.context['markSuccessfulOnTimeout'])) {
    endTask(task, 'SUCCEEDED', turn)
    return
  }
  const seconds = Math.round((timeoutOf(execution, stage, step).limitMs ?? 0) / 1000)
  const error = new StageError([`The step "${task.name}" did not end within ${seconds} s.`])
  error.name = 'TimeoutException'
  failTask(stage, task, error, turn)
}

/** Records what a task answered. `undefined` results of abandoned runs never get here: see the caller. */
export function applyResult(run: TaskRun, result: TaskResult, turn: Turn): void {
  const { execution, stage, task, step } = run
  task.engine.begun = undefined
  const size = formatStored([result.context, result.outputs]).length
  if (size > turn.limits.bytes) {
    const text = `The step "${task.name}" has ${size} characters to record; ${turn.limits.bytes} are allowed. Raise pipelines.max-size.`
    failTask(stage, task, new StageError([text]), turn)
    advance(execution, turn, stage)
    return
  }
  turn.recorded += size
  mergeResult(stage, result)
  evaluateStageContext(execution, stage, turn)
  const status = statusFor(stage, result.status)
  if (status === 'RUNNING') {
    task.engine.dueAt = nextLook(execution, stage, task, step, result.pollMs, turn.now)
  } else {
    endTask(task, status, turn)
  }
  advance(execution, turn, stage)
}

function mergeResult(stage: Stage, result: TaskResult): void {
  stage.context = { ...stage.context, ...result.context }
  stage.scheduledTime = result.scheduledTime ?? stage.scheduledTime
  const outputs: JsonObject = { ...stage.outputs, ...result.outputs }
  // A later stage must not inherit the time limit of this one.
  stage.outputs = { ...outputs, stageTimeoutMs: undefined }
}

function statusFor(stage: Stage, status: Status): Status {
  if (status === 'TERMINAL') return failureStatus(stage)
  return status === 'CANCELED' ? failureStatus(stage, 'CANCELED') : status
}

/** Records that a task threw. */
export function applyFailure(run: TaskRun, error: unknown, turn: Turn): void {
  const { execution, stage, task, step } = run
  task.engine.begun = undefined
  if (error instanceof RetryableError) {
    task.engine.dueAt = nextLook(execution, stage, task, step, undefined, turn.now)
    return
  }
  failTask(stage, task, error, turn)
  advance(execution, turn, stage)
}

function failTask(stage: Stage, task: Task, error: unknown, turn: Turn): void {
  const record = errorRecord(error, task.name, turn.now)
  const kept = objectOf(stage.context['exception'])
  stage.context['exception'] = { ...kept, ...record }
  task.taskExceptionDetails = { ...task.taskExceptionDetails, exception: record }
  endTask(task, failureStatus(stage), turn)
}

function endTask(task: Task, status: Status, turn: Turn): void {
  task.status = status
  task.endTime = isComplete(status) ? turn.now : undefined
  task.engine = {}
}

/** The next look comes no later than the moment at which the task is out of time. */
function nextLook(execution: Execution, stage: Stage, task: Task, step: Step, asked: number | undefined, now: number): number {
  const backOff = Number(stage.context['backoffPeriodMs'] ?? 0) || 0
  const pause = asked ?? Math.max(step.pollMs ?? defaultPollMs, Math.min(backOff, longestPollMs))
  return now + Math.min(pause, remainingMs(execution, stage, task, step, now) + 1)
}

/** Ends an execution that the engine cannot go on with: its running stages say why, and so does the execution. */
export function giveUp(execution: Execution, reason: string, turn: Turn): void {
  if (isComplete(execution.status)) return
  for (const stage of execution.stages) {
    for (const task of stage.tasks) if (task.status === 'RUNNING') failTask(stage, task, new StageError([reason]), turn)
  }
  execution.canceled = true
  execution.canceledBy = 'spinnaker'
  execution.cancellationReason = reason
  execution.engine.parkedAt = undefined
  execution.engine.unfinishedAt = undefined
  completeExecution(execution, 'TERMINAL', turn)
}

/** Makes every running task be looked at now. */
export function wakeTasks(execution: Execution, now: number): void {
  for (const stage of execution.stages) {
    for (const task of stage.tasks) if (task.status === 'RUNNING') task.engine.dueAt = now
  }
}

/** When the engine has to look at the execution next; tasks in flight announce themselves. */
export function nextDue(execution: Execution, isInFlight: (run: string) => boolean): number | undefined {
  const { followUps, unfinishedAt } = execution.engine
  let next = Infinity
  for (const { id, dueAt } of followUps) if (!isInFlight(id)) next = Math.min(next, dueAt)
  if (!isComplete(execution.status)) {
    next = Math.min(next, unfinishedAt ?? Infinity)
    for (const { tasks } of execution.stages) {
      for (const { status, engine } of tasks) {
        if (status !== 'RUNNING' || engine.dueAt === undefined || isInFlight(engine.run ?? '')) continue
        next = Math.min(next, engine.dueAt)
      }
    }
  }
  return next === Infinity ? undefined : next
}
