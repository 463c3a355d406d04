/**
 * Drives executions: hands out tasks whose time has come, records their results, and wakes up when the next is due. Between
 * two steps there is nothing in memory that is not in the store, so a restart goes on where the last step ended.
 */
import { BackendError } from '../backend.ts'
import { inTransaction } from '../database.ts'
import { DueQueue } from './due-queue.ts'
import type { EngineOptions, EngineParts } from './engine-parts.ts'
import { runFollowUp } from './follow-ups.ts'
import { applyFailure, applyResult, nextDue, redeliver, stepOf, type TaskRun, takeDueTasks } from './machine/run-task.ts'
import type { Turn } from './machine/turn.ts'
import type { Execution, ExecutionType, FollowUp } from './model.ts'
import type { TaskResult } from './stages/stage-type.ts'
import { isComplete } from './statuses.ts'
import { createTaskContext } from './task-context.ts'
import { UnitOfWork } from './unit-of-work.ts'

/** Longest time that one go may keep the thread from answering requests. */
const sliceMs = 20
/** Pause after the store refused a step: locked, or its disk is full. */
const storeRetryMs = 1000
/** A clock that is set forward, or a machine that slept, is noticed after this time. */
const longestTimerMs = 60_000

export class Engine implements EngineParts {
  readonly options: EngineOptions
  readonly #queue = new DueQueue()
  readonly #inFlight = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #isRunning = false

  constructor(options: EngineOptions) {
    this.options = options
  }

  /** Reads what has to be done from the store and begins. */
  start(): void {
    this.#isRunning = true
    const now = this.options.now()
    for (const { id, due } of this.options.store.due()) {
      if (due <= now) this.#guard(id, () => this.transact((unit) => redeliver(unit.require(id), unit.turn)))
      this.#queue.set(id, due)
    }
    this.#arm()
  }

  /** No new step begins; what is in flight is forgotten and repeated at the next start. */
  stop(): void {
    this.#isRunning = false
    clearTimeout(this.#timer)
    this.#queue.clear()
  }

  /** One atomic step. `work` must not wait, and must not begin another step. */
  transact<T>(work: (unit: UnitOfWork) => T): T {
    const turn = this.#createTurn()
    const unit = new UnitOfWork(turn, this.options.store, this.isInFlight)
    const { result, touched } = inTransaction(this.options.db, () => {
      const result = work(unit)
      return { result, touched: unit.finish() }
    })
    for (const { id, due } of touched) this.#queue.set(id, due)
    if (turn.events.length > 0) this.options.publish(turn.events)
    this.#arm()
    return result
  }

  /** @throws {BackendError} 404 when there is none, or it is of the other type. */
  read(id: string, type: ExecutionType): Execution {
    const found = this.options.store.load(id)
    if (found?.type === type) return found
    throw new BackendError(404, `There is no ${type === 'PIPELINE' ? 'execution' : 'task'} with the id ${id}.`)
  }

  /** Whether a task or follow-up has been handed out and has not come back. */
  readonly isInFlight = (run: string): boolean => this.#inFlight.has(run)

  #createTurn(): Turn {
    const { now, nextId, stageTypes } = this.options
    return { now: now(), nextId, stageTypes, completed: [], events: [] }
  }

  /** Does what is due. Called by the timer, and by requests so that they see the state of their moment. */
  drain(): void {
    if (!this.#isRunning) return
    const until = performance.now() + sliceMs
    while (performance.now() < until) {
      const id = this.#queue.take(this.options.now())
      if (id === undefined) break
      this.#guard(id, () => this.#run(id))
    }
    this.#arm()
  }

  /** A step that the store refuses is tried again later; nothing is lost, since nothing was changed. */
  #guard(id: string, step: () => void): void {
    try {
      step()
    } catch (error) {
      this.options.log.error({ err: error, execution: id }, 'a step of an execution failed and is tried again')
      this.#queue.set(id, this.options.now() + storeRetryMs)
    }
  }

  #run(id: string): void {
    const due = this.transact((unit) => {
      const execution = unit.load(id)
      if (execution === undefined) return undefined
      const runs = isComplete(execution.status) ? [] : takeDueTasks(execution, unit.turn, this.isInFlight)
      const followUps = execution.engine.followUps.filter((each) => each.dueAt <= unit.turn.now && !this.#inFlight.has(each.id))
      return { execution, runs, followUps }
    })
    if (due === undefined) return
    for (const run of due.runs) this.#launch(run)
    for (const followUp of due.followUps) this.#launchFollowUp(due.execution, followUp)
    if (this.#inFlight.size > 0) this.#requeue(id)
  }

  /** Work in flight is not due again until it has come back. */
  #requeue(id: string): void {
    const execution = this.options.store.load(id)
    this.#queue.set(id, execution === undefined ? undefined : nextDue(execution, this.isInFlight))
  }

  #launch(run: TaskRun): void {
    const id = run.task.engine.run as string
    let outcome: TaskResult | Promise<TaskResult>
    try {
      outcome = run.step.execute(createTaskContext(this, run.execution, run.stage))
    } catch (error) {
      this.#record(run, (fresh, unit) => applyFailure(fresh, error, unit.turn))
      return
    }
    if (!(outcome instanceof Promise)) {
      const result = outcome
      this.#record(run, (fresh, unit) => applyResult(fresh, started(unit, result), unit.turn))
      return
    }
    this.#inFlight.add(id)
    outcome.then(
      (result) => this.#land(id, run, (fresh, unit) => applyResult(fresh, started(unit, result), unit.turn)),
      (error: unknown) => this.#land(id, run, (fresh, unit) => applyFailure(fresh, error, unit.turn)),
    )
  }

  /** The result of a call has come back; it is kept until the store takes it. */
  #land(id: string, run: TaskRun, apply: (fresh: TaskRun, unit: UnitOfWork) => void): void {
    if (!this.#isRunning) return
    this.#inFlight.delete(id)
    try {
      this.#record(run, apply)
    } catch (error) {
      this.options.log.error({ err: error, execution: run.execution.id }, 'a result could not be recorded and is kept')
      this.#inFlight.add(id)
      setTimeout(() => this.#land(id, run, apply), storeRetryMs).unref()
    }
  }

  /** Applies an outcome to the execution as it is now, unless that start of the task was abandoned meanwhile. */
  #record(run: TaskRun, apply: (fresh: TaskRun, unit: UnitOfWork) => void): void {
    this.transact((unit) => {
      const execution = unit.load(run.execution.id)
      const stage = execution?.stages.find((each) => each.id === run.stage.id)
      const task = stage?.tasks.find((each) => each.engine.run === run.task.engine.run)
      if (execution === undefined || stage === undefined || task === undefined) return
      const step = stepOf(stage, task, unit.turn) ?? run.step
      apply({ execution, stage, task, step }, unit)
    })
  }

  #launchFollowUp(execution: Execution, followUp: FollowUp): void {
    this.#inFlight.add(followUp.id)
    runFollowUp(this, execution, followUp)
      .catch((error: unknown) => this.options.log.error({ err: error, execution: execution.id }, 'a follow-up failed'))
      .finally(() => {
        this.#inFlight.delete(followUp.id)
        if (!this.#isRunning) return
        this.#guard(execution.id, () => this.#requeue(execution.id))
        this.#arm()
      })
  }

  #arm(): void {
    clearTimeout(this.#timer)
    const next = this.#queue.next()
    if (!this.#isRunning || next === undefined) return
    const pause = Math.min(Math.max(next - this.options.now(), 0), longestTimerMs)
    this.#timer = setTimeout(() => this.drain(), pause)
  }
}

/** A child execution begins in the transaction that records that it was started, so there is never one without the other. */
function started(unit: UnitOfWork, result: TaskResult): TaskResult {
  if (result.start === undefined) return result
  const child = unit.submit(result.start)
  return { ...result, context: { ...result.context, executionId: child.id, executionName: child.name } }
}
