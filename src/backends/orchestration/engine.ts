/**
 * Driver of executions: runs due tasks, records their results, sleeps until the next is due. Between two steps the
 * store has everything that memory has, so a restart continues where the last step ended.
 */
import { isDeepStrictEqual } from 'node:util'
import { within } from '../../concurrency/within.ts'
import { fieldOf } from '../../json/values.ts'
import { PortError } from '../../ports/port-error.ts'
import { summarizeExecution } from '../../ports/run-summary.ts'
import { inTransaction } from '../../storage/database.ts'
import { timeOfUlid } from '../../storage/ulid.ts'
import type { BackendState, EndedCount } from '../../telemetry/metrics.ts'
import { ExecutionChanges, summaryOf } from './changes.ts'
import { DueQueue } from './due-queue.ts'
import type { EngineOptions, EngineParts } from './engine-parts.ts'
import { ExpressionAnswers } from './expressions/answers.ts'
import { askElsewhere } from './expressions/ask-elsewhere.ts'
import { runFollowUp } from './follow-ups.ts'
import { advance } from './machine/advance.ts'
import { ClockWatch, heedSetBack } from './machine/clock-shifts.ts'
import { StageError } from './machine/failure.ts'
import { graphOf } from './machine/graph.ts'
import { steeringKeys } from './machine/operations.ts'
import { applyFailure, applyResult, giveUp, isWanted, nextDue, stepOf, takeDueTasks } from './machine/run-task.ts'
import { createTurn, isSpent, type LifeCycleEvent, type StepRun } from './machine/turn.ts'
import type { Execution, ExecutionType, FollowUp, Stage } from './model.ts'
import { stageTypeOf, type TaskResult } from './stages/stage-type.ts'
import { isComplete } from './statuses.ts'
import type { AbandonedExecution } from './store.ts'
import { createTaskContext } from './task-context.ts'
import { Trials } from './trials.ts'
import { checkFound, UnitOfWork } from './unit-of-work.ts'

/** An execution moves on for this time before others do, and executions for a request that looks at them; the present step is finished. */
const sliceMs = 20
/** Executions move on for this time before requests have turns of the event loop: so many, each of which accepts a connection, or as much time. */
const portionMs = 5
const turnsBetween = 10
/** Requests that have waited for the start come first; each needs twenty turns. */
export const firstRestMs = 250
/** Work that an execution may do in one turn without a rest: steps of expressions, and one for so many characters of its record. */
const effortWithoutRest = 250_000
const charactersPerEffort = 16
/** Beyond it, an execution rests, so that others keep most of the thread. */
const effortPerRestMs = 1000
/** Pause after the store refused a step: locked, or its disk is full. */
const storeRetryMs = 1000
/** Pause of a step that waits for what its expressions read. */
const answerPollMs = 250
/** An undoing waits so long for what its stage does. */
const longestEndMs = 5000
/** A clock that is set forward, or a machine that slept, is noticed after this time. */
const longestTimerMs = 60_000
const restoredMessage =
  'The engine was lost with its machine and goes on from a copy. What this execution did in the last second before may be missing ' +
  'here, and may be done a second time: look at its latest stages.'

interface Attempt {
  readonly stageId: string
  /** Its effect might come twice if it were repeated. */
  readonly isUnrecognized: boolean
  readonly landed: Promise<void>
  /** Ends what only waits. */
  readonly ended: AbortController
}

export class Engine implements EngineParts {
  readonly options: EngineOptions
  readonly changes = new ExecutionChanges()
  readonly answers: ExpressionAnswers
  readonly #queue = new DueQueue()
  readonly #clock: ClockWatch
  readonly #inFlight = new Set<string>()
  /** Steps that act elsewhere, until their results are recorded. */
  readonly #attempts = new Set<Attempt>()
  /** Records results of calls that have come back, oldest first. */
  readonly #landed: (() => void)[] = []
  /** More is due than there was time for. */
  #isBehind = false
  /** Requests have their turns of the event loop. */
  #isResting = false
  readonly #trials: Trials
  /** Executions whose moments are from before the clock was set back. */
  readonly #ahead = new Set<string>()
  /** Since the start, by level, type and status. */
  readonly #ended = new Map<string, EndedCount>()
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  #isSettling = false

  constructor(options: EngineOptions) {
    this.options = options
    this.#clock = new ClockWatch(options)
    this.#trials = new Trials(options)
    this.answers = new ExpressionAnswers(askElsewhere(options), (id) => this.#lookAgain(id))
  }

  /** Reads what has to be done from the store and begins. */
  start(): void {
    this.#isRunning = true
    const now = this.options.now()
    for (const { id, due } of this.options.store.due()) {
      if (due <= now) this.#trials.suspect(id)
      this.#queue.set(id, due)
    }
    this.#isResting = this.#isBehind = this.#trials.hasSuspects
    if (this.#isBehind) this.#timer = setTimeout(() => this.#rest(0), firstRestMs)
    else this.#arm()
  }

  /** The record may lack what was done in the last moments before, which is then done again: executions that run say so. */
  noteRestored(createdAt: number): void {
    const notice = { createdAt, group: 'restored', message: restoredMessage, closed: false }
    for (const { id } of this.options.store.due()) {
      this.transact((unit) => {
        const execution = unit.require(id)
        const isNoted = execution.systemNotifications.some((noted) => fieldOf(noted, 'createdAt') === createdAt)
        if (!isNoted) execution.systemNotifications = [...execution.systemNotifications, notice]
      })
    }
  }

  /** No new step begins; results of calls that are better not repeated are recorded if they come in time. */
  async settle(ms: number): Promise<void> {
    this.#isSettling = true
    this.#arm()
    await this.#await(ms, ({ isUnrecognized }) => isUnrecognized)
  }

  /** No new step begins; what is in flight is forgotten and repeated at the next start. */
  stop(): void {
    this.#isRunning = false
    for (const { ended } of this.#attempts) ended.abort()
    clearTimeout(this.#timer)
    this.#queue.clear()
    this.#landed.length = 0
  }

  /** For the metrics: how many executions there are, and for how long the first of each queue waits. */
  observe(): BackendState {
    const { store, now } = this.options
    const ageOf = (sinceMs: number | undefined) => (sinceMs === undefined ? 0 : Math.max(0, now() - sinceMs))
    const parked = store.firstParked()
    return {
      executions: store.countIncomplete(),
      ended: [...this.#ended.values()],
      queueAgesMs: { due: ageOf(this.#queue.next()), parked: ageOf(parked === undefined ? undefined : timeOfUlid(parked)) },
    }
  }

  /** What readers of an execution see beside its record has changed. */
  noteChange(id: string): void {
    const execution = this.options.store.load(id)
    if (execution !== undefined) this.changes.note(execution, () => summaryOf(execution))
  }

  /** One atomic step. `work` must not wait, and must not begin another step. */
  transact<T>(work: (unit: UnitOfWork) => T): T {
    if (this.#isRunning) this.#watchClock()
    const turn = createTurn(this.options, this.answers)
    const unit = new UnitOfWork(turn, this.options.store, this.isInFlight)
    const { result, touched } = inTransaction(this.options.db, () => {
      const result = work(unit)
      const touched = unit.finish()
      this.options.notices.note(turn.events)
      return { result, touched }
    })
    for (const { id, due } of touched) this.#queue.set(id, due, turn.now)
    unit.report((execution, isRemoved) => this.changes.note(execution, isRemoved ? undefined : () => summaryOf(execution)))
    this.#countEnds(turn.events)
    if (turn.events.length > 0) this.options.publish(turn.events)
    this.options.notices.send()
    this.#arm()
    return result
  }

  #countEnds(events: readonly LifeCycleEvent[]): void {
    for (const { execution, stage, task, phase } of events) {
      if (task !== undefined || phase === 'starting') continue
      const level = stage === undefined ? 'execution' : 'stage'
      // Names of authors, which are without bound, are no labels.
      const type = stage === undefined ? execution.type : (stageTypeOf(this.options.stageTypes, stage)?.type ?? 'unknown')
      const { status } = stage ?? execution
      const key = `${level} ${type} ${status}`
      this.#ended.set(key, { level, type, status, count: (this.#ended.get(key)?.count ?? 0) + 1 })
    }
  }

  /** @throws {PortError} 404 when there is no such record, or it is of the other type. */
  read(id: string, type: ExecutionType): Execution {
    return checkFound(this.options.store.load(id), id, type)
  }

  /** Whether a task or follow-up has been handed out and has not come back. */
  readonly isInFlight = (run: string): boolean => this.#inFlight.has(run)

  async attemptsEnd(stageIds: ReadonlySet<string>): Promise<void> {
    const isMeant = ({ stageId }: Attempt) => stageIds.has(stageId)
    for (const { ended } of [...this.#attempts].filter(isMeant)) ended.abort()
    await this.#await(longestEndMs, isMeant)
  }

  async #await(ms: number, isMeant: (attempt: Attempt) => boolean): Promise<void> {
    const meant = [...this.#attempts].filter(isMeant)
    if (meant.length > 0) await within(ms, Promise.all(meant.map(({ landed }) => landed)))
  }

  /** Called by requests, so that they see the state of their moment, if it does not take longer. */
  catchUp(): void {
    if (!this.#isBehind) this.#drain(sliceMs)
  }

  /** Does what is due. */
  #drain(ms: number): void {
    if (!this.#isRunning) return
    this.#watchClock()
    const until = performance.now() + ms
    while (this.#doNext() && performance.now() < until);
    this.#isBehind = this.#next() <= this.options.now()
    this.#arm()
  }

  /** When there is something to do, milliseconds since the epoch. */
  #next(): number {
    if (this.#landed.length > 0) return -Infinity
    return (this.#isSettling ? undefined : this.#queue.next()) ?? Infinity
  }

  /** Results come first, so that not ever more calls are out. @returns whether there was anything to do */
  #doNext(): boolean {
    const record = this.#landed.shift()
    if (record !== undefined) {
      record()
      return true
    }
    const id = this.#isSettling ? undefined : this.#queue.take(this.options.now())
    if (id !== undefined) this.#guard(id, () => this.#run(id))
    return id !== undefined
  }

  #watchClock(): void {
    const shift = this.#clock.look()
    if (shift === undefined) return
    const { now, log, store } = this.options
    const { kind, byMs } = shift
    if (kind === 'back') log.warn({ byMs }, 'the clock was set back; executions go on by the new time')
    else log.warn({ byMs }, 'the clock was set forward; what executions wait for takes as long as before')
    // The shift is recorded with each before it begins to wait anew.
    for (const { id } of store.due()) {
      if (kind === 'back') this.#ahead.add(id)
      this.#queue.set(id, now())
    }
  }

  /** An answer for the expressions of an execution has come. */
  #lookAgain(id: string): void {
    if (!this.#isRunning) return
    this.#queue.set(id, this.options.now())
    this.#arm()
  }

  /** A step that the store refuses is tried again later; nothing is lost, since nothing was changed. */
  #guard(id: string, step: () => void): void {
    try {
      step()
      this.#trials.succeeds(id)
    } catch (error) {
      this.options.log.error({ err: error, execution: id }, 'a step of an execution failed and is tried again')
      this.#queue.set(id, this.options.now() + storeRetryMs)
      if (this.#trials.failsForGood(id, error)) this.#abandon(id, `The engine fails at it: ${(error as Error).message}`)
    }
  }

  /** Ends an execution that cannot go on: in order if that is possible, else by its record alone. */
  #abandon(id: string, reason: string): void {
    const { store, log, now } = this.options
    log.error({ execution: id, reason }, 'an execution was given up')
    try {
      if (this.#trials.excessOf(id) !== undefined) throw new Error('The record is too large to be read.')
      this.transact((unit) => giveUp(unit.require(id), reason, unit.turn))
    } catch (error) {
      log.error({ err: error, execution: id }, 'an execution could only be marked as ended')
      try {
        const abandoned = store.abandon(id, reason, now())
        this.#queue.set(id, undefined)
        if (abandoned === undefined) return
        this.changes.note(abandoned, () => summarizeExecution({ ...abandoned, status: 'TERMINAL' }))
        this.#releaseAfter(abandoned)
      } catch (refusal) {
        log.error({ err: refusal, execution: id }, 'an execution could not be marked as ended and is tried again')
      }
    }
  }

  #releaseAfter({ id, type, pipelineConfigId }: AbandonedExecution): void {
    if (type !== 'PIPELINE' || pipelineConfigId === undefined) return
    try {
      this.transact((unit) => unit.releaseAfterUnreadable(pipelineConfigId))
    } catch (error) {
      this.options.log.error({ err: error, execution: id }, 'executions that wait for an abandoned one could not be started')
    }
  }

  #run(id: string): void {
    const hopeless = this.#trials.judge(id)
    if (hopeless !== undefined) {
      this.#abandon(id, hopeless)
      return
    }
    const begun = performance.now()
    const due = this.transact((unit) => {
      const execution = unit.load(id)
      if (execution === undefined) return undefined
      if (this.#ahead.has(id)) heedSetBack(execution, unit.turn.now)
      this.#clock.noteJumps(execution)
      // What it took to read a large record is worth as much work on it.
      const read = performance.now()
      const launches = this.#drive(execution, unit, read + Math.max(sliceMs, read - begun))
      const followUps = execution.engine.followUps.filter((each) => each.dueAt <= unit.turn.now && !this.#inFlight.has(each.id))
      return { execution, launches, followUps, steps: unit.turn.expressionSteps }
    })
    this.#ahead.delete(id)
    if (due === undefined) return
    const { execution, launches, followUps } = due
    for (const run of launches) this.#launch(run)
    for (const followUp of followUps) void this.#launchFollowUp(execution, followUp)
    if (launches.length === 0) this.#trials.acquit(id)
    const effort = due.steps + this.options.store.sizeOf(execution) / charactersPerEffort
    this.#requeue(id, execution, effort > effortWithoutRest ? effort / effortPerRestMs : 0)
  }

  /** Moves the execution on until it waits for something, or others should have their turn. Returns what has to be handed out. */
  #drive(execution: Execution, unit: UnitOfWork, until: number): StepRun[] {
    const { turn } = unit
    const taken = new Set<string>()
    const isTaken = (run: string) => taken.has(run) || this.#inFlight.has(run)
    const calling: StepRun[] = []
    if (execution.engine.unfinishedAt !== undefined && !isComplete(execution.status)) advance(execution, turn)
    for (let isOver = false; !isOver; isOver = isSpent(turn) || performance.now() > until) {
      const runs = isComplete(execution.status) ? [] : takeDueTasks(execution, turn, isTaken)
      for (const run of runs) {
        const isDecided = 'decide' in run.step
        if (isDecided && taken.size > 0 && isSpent(turn)) continue
        taken.add(run.run)
        if (!isDecided) calling.push(run)
        else if (isWanted(run)) this.#decide(run, unit)
      }
      if (runs.length === 0) break
    }
    return calling.filter(isWanted)
  }

  #decide(run: StepRun, unit: UnitOfWork): void {
    const { step } = run
    if (!('decide' in step)) return
    const context = createTaskContext(this, run)
    let outcome: () => void
    try {
      const decided = step.decide(context)
      const isPending = context.answers.pending.length > 0
      const result: TaskResult = isPending ? { status: 'RUNNING', pollMs: answerPollMs } : decided
      outcome = () => this.#apply(run, result, unit)
    } catch (error) {
      outcome = () => applyFailure(run, error)
    }
    unit.turn.expressionSteps += context.meter.spent
    outcome()
  }

  #launch(run: StepRun): void {
    const { step } = run
    if (!('execute' in step)) return
    this.#inFlight.add(run.run)
    const { attemptMs } = this.options
    const text = `The step "${step.name}" gave no result within ${attemptMs / 1000} s; check its effect, then restart the stage.`
    const late = () => {
      throw new StageError([text])
    }
    const ended = new AbortController()
    const attempt = Promise.try(() => step.execute(createTaskContext(this, run, { signal: ended.signal })))
    const landed = within(attemptMs, attempt, late, { unref: true }).then(
      (result) => this.#landInTurn(run, (fresh, unit) => this.#apply(fresh, heeding(fresh.stage, run.stage, result), unit)),
      (error: unknown) => this.#landInTurn(run, (fresh) => applyFailure(fresh, error)),
    )
    const own = { stageId: run.stage.id, isUnrecognized: step.isUnrecognized === true, landed, ended }
    this.#attempts.add(own)
    void landed.finally(() => this.#attempts.delete(own))
  }

  /** Results that come back while more is due than there was time for wait for their turn. */
  #landInTurn(run: StepRun, apply: (fresh: StepRun, unit: UnitOfWork) => void): Promise<void> | undefined {
    if (!this.#isBehind) {
      this.#land(run, apply)
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#landed.push(() => resolve(this.#land(run, apply)))
    this.#arm()
    return promise
  }

  /** The result of a call has come back; it is kept until the store takes it. */
  #land(run: StepRun, apply: (fresh: StepRun, unit: UnitOfWork) => void): void {
    if (!this.#isRunning) return
    const { id } = run.execution
    this.#inFlight.delete(run.run)
    try {
      this.#record(run, apply)
      this.#trials.acquit(id)
      this.#trials.succeeds(run.run)
    } catch (error) {
      this.options.log.error({ err: error, execution: id }, 'a result could not be recorded and is kept')
      if (this.#trials.failsForGood(run.run, error)) {
        this.#abandon(id, `A result cannot be recorded: ${(error as Error).message}`)
        return
      }
      this.#inFlight.add(run.run)
      setTimeout(() => this.#land(run, apply), storeRetryMs).unref()
    }
  }

  /** Applies an outcome to the execution as it is now, unless that start of the task was abandoned meanwhile. */
  #record(run: StepRun, apply: (fresh: StepRun, unit: UnitOfWork) => void): void {
    this.transact((unit) => {
      const execution = unit.load(run.execution.id)
      const stage = execution === undefined ? undefined : graphOf(execution).find(run.stage.id)
      const task = stage?.tasks.find((each) => each.engine.run === run.run)
      if (execution === undefined || stage === undefined || task === undefined) return
      const fresh = { execution, stage, task, turn: unit.turn }
      apply({ ...fresh, run: run.run, step: stepOf(fresh) ?? run.step }, unit)
    })
  }

  /** A child execution begins in the transaction that records that it was started, so there is never one without the other. */
  #apply(run: StepRun, result: TaskResult, unit: UnitOfWork): void {
    if (result.start === undefined) {
      applyResult(run, result)
      return
    }
    let child: Execution
    try {
      child = unit.submit(result.start)
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      applyFailure(run, new StageError([error.message]))
      return
    }
    const context = { ...result.context, executionId: child.id, executionName: child.name }
    applyResult(run, { ...result, context })
  }

  async #launchFollowUp(execution: Execution, followUp: FollowUp): Promise<void> {
    const { store, log } = this.options
    const { id } = execution
    let pauseMs = 0
    this.#inFlight.add(followUp.id)
    try {
      await runFollowUp(this, execution, followUp)
    } catch (error) {
      log.error({ err: error, execution: id }, 'a follow-up could not be recorded and is tried again')
      pauseMs = storeRetryMs
    }
    this.#inFlight.delete(followUp.id)
    if (!this.#isRunning) return
    this.#guard(id, () => {
      this.#requeue(id, store.load(id), pauseMs)
      this.#trials.acquit(id)
    })
    this.#arm()
  }

  #requeue(id: string, execution: Execution | undefined, pauseMs: number): void {
    const now = this.options.now()
    const next = execution && nextDue(execution, this.isInFlight)
    this.#queue.set(id, next === undefined ? undefined : Math.max(next, now + pauseMs), now)
  }

  #arm(): void {
    if (this.#isResting) return
    clearTimeout(this.#timer)
    const pause = this.#next() - this.options.now()
    if (!this.#isRunning || pause === Infinity) return
    if (pause <= 0) this.#rest(turnsBetween)
    else this.#timer = setTimeout(() => this.#drain(portionMs), Math.min(pause, longestTimerMs))
  }

  /** Costs no time where no request is there. */
  #rest(turns: number, until = performance.now() + portionMs): void {
    this.#isResting = turns > 0 && performance.now() < until
    if (this.#isResting) setImmediate(() => this.#rest(turns - 1, until))
    else this.#drain(portionMs)
  }
}

/** A user who steers a stage while its step is out has the last word, and is heard at once. */
function heeding(stage: Stage, launched: Stage, result: TaskResult): TaskResult {
  if (result.status !== 'RUNNING' || isDeepStrictEqual(stage.lastModified, launched.lastModified)) return result
  const context = Object.fromEntries(Object.entries(result.context ?? {}).filter(([key]) => !steeringKeys.has(key)))
  return { ...result, context, pollMs: 0 }
}
