/**
 * Driver of executions: runs due tasks, records their results, sleeps until the next is due. Between two steps the
 * store has everything that memory has, so a restart continues where the last step ended.
 */
import { within } from '@fairlead/base/concurrency/within.ts'
import { fieldOf } from '@fairlead/base/json/values.ts'
import { timeOfUlid } from '@fairlead/base/storage/ulid.ts'
import type { BackendState, EndedCount } from '@fairlead/base/telemetry/metrics.ts'
import { summarizeExecution } from '@fairlead/ports/run-summary.ts'
import { ExecutionChanges, summaryOf } from './changes.ts'
import { CrashGuard } from './crash-guard.ts'
import type { EngineOptions, EngineParts } from './engine-parts.ts'
import { ExpressionAnswers } from './expressions/answers.ts'
import { askElsewhere } from './expressions/ask-elsewhere.ts'
import { runFollowUp } from './follow-ups.ts'
import { ClockWatch, heedSetBack } from './machine/clock-shifts.ts'
import {
  applyOutcome,
  drive,
  findAgain,
  heedSteering,
  noteBegun,
  type Outcome,
} from './machine/drive.ts'
import { UnansweredError } from './machine/failure.ts'
import { giveUp, nextDue } from './machine/run-task.ts'
import { createTurn, type LifeCycleEvent, type StepRun } from './machine/turn.ts'
import type { Execution, ExecutionType, FollowUp } from './model.ts'
import { endOfTurn, Pacer, restMs } from './pacer.ts'
import { stageTypeOf } from './stages/stage-type.ts'
import type { AbandonedExecution } from './store.ts'
import { createTaskContext } from './task-context.ts'
import { checkFound, UnitOfWork } from './unit-of-work.ts'

/** Pause after the store refused a step: locked, or its disk is full. */
const storeRetryMs = 1000
/** Pause of a step that waits for what its expressions read. */
const answerPollMs = 250
/** An undoing waits so long for what its stage does. */
const longestEndMs = 5000
const restoredMessage =
  'The engine was lost with its machine and goes on from a copy. What this execution did in the last second before may be missing ' +
  'here, and may be done a second time: look at its latest stages.'

interface Attempt {
  readonly stageId: string
  /** Its effect might come twice if it were repeated. */
  readonly isUnrecognized: boolean
  readonly settled: Promise<void>
  /** Ends what only waits. */
  readonly ended: AbortController
}

export class Engine implements EngineParts {
  readonly options: EngineOptions
  readonly changes = new ExecutionChanges()
  readonly answers: ExpressionAnswers
  readonly #pacer: Pacer
  readonly #clock: ClockWatch
  readonly #inFlight = new Set<string>()
  /** Steps that act elsewhere, until their results are recorded. */
  readonly #attempts = new Set<Attempt>()
  readonly #crashes: CrashGuard
  /** Executions whose moments are from before the clock was set back. */
  readonly #ahead = new Set<string>()
  /** Since the start, by level, type and status. */
  readonly #ended = new Map<string, EndedCount>()

  constructor(options: EngineOptions) {
    this.options = options
    this.#clock = new ClockWatch(options)
    this.#crashes = new CrashGuard(options)
    this.#pacer = new Pacer({
      now: options.now,
      begin: () => this.#watchClock(),
      run: (id) => this.#guard(id, () => this.#run(id)),
    })
    this.answers = new ExpressionAnswers(askElsewhere(options), (id) => this.#wake(id))
  }

  /** Reads what has to be done from the store and begins. */
  start(): void {
    const now = this.options.now()
    const due = this.options.store.due()
    for (const each of due) if (each.due <= now) this.#crashes.markRunning(each.id)
    this.#pacer.start(due, this.#crashes.hasMarked)
  }

  /** The record may lack what was done in the last moments before, which is then done again: executions that run say so. */
  noteRestored(createdAt: number): void {
    const notice = { createdAt, group: 'restored', message: restoredMessage, closed: false }
    for (const { id } of this.options.store.due()) {
      this.transact((unit) => {
        const execution = unit.require(id)
        const isNoted = execution.systemNotifications.some(
          (noted) => fieldOf(noted, 'createdAt') === createdAt,
        )
        if (!isNoted) execution.systemNotifications = [...execution.systemNotifications, notice]
      })
    }
  }

  /** No new step begins; results of calls that are better not repeated are recorded if they come in time. */
  async settle(ms: number): Promise<void> {
    this.#pacer.settle()
    await this.#await(ms, ({ isUnrecognized }) => isUnrecognized)
  }

  /** No new step begins; what is in flight is forgotten and repeated at the next start. */
  stop(): void {
    this.#pacer.stop()
    for (const { ended } of this.#attempts) ended.abort()
  }

  /** For the metrics: how many executions there are, and for how long the first of each queue waits. */
  observe(): BackendState {
    const { store, now } = this.options
    const ageOf = (sinceMs: number | undefined) =>
      sinceMs === undefined ? 0 : Math.max(0, now() - sinceMs)
    const parked = store.firstParked()
    return {
      executions: store.countIncomplete(),
      ended: [...this.#ended.values()],
      queueAgesMs: {
        due: ageOf(this.#pacer.firstDue),
        parked: ageOf(parked === undefined ? undefined : timeOfUlid(parked)),
      },
    }
  }

  /** What readers of an execution see beside its record has changed. */
  noteChange(id: string): void {
    const execution = this.options.store.load(id)
    if (execution !== undefined) this.changes.note(execution, () => summaryOf(execution))
  }

  /** One atomic step, on disk a moment later. `work` must not wait, and must not begin another step. */
  transact<T>(work: (unit: UnitOfWork) => T): T {
    if (this.#pacer.isRunning) this.#watchClock()
    const turn = createTurn(this.options, this.answers)
    const unit = new UnitOfWork(turn, this.options, this.isInFlight)
    const { result, touched, told } = this.options.commits.transact(() => {
      const result = work(unit)
      const touched = unit.finish()
      const told = this.options.notices.note(turn.events)
      return { result, touched, told }
    })
    this.#pacer.schedule(touched, turn.now)
    unit.report((execution, isRemoved) =>
      this.changes.note(execution, isRemoved ? undefined : () => summaryOf(execution)),
    )
    for (const run of told) this.changes.note(run, () => summaryOf(run))
    this.#countEnds(turn.events)
    if (turn.events.length > 0)
      this.options.commits.whenStored(() => this.options.publish(turn.events))
    this.options.notices.send()
    return result
  }

  #countEnds(events: readonly LifeCycleEvent[]): void {
    for (const { execution, stage, task, phase } of events) {
      if (task !== undefined || phase === 'starting') continue
      const level = stage === undefined ? 'execution' : 'stage'
      // Names of authors, which are without bound, are no labels.
      const type =
        stage === undefined
          ? execution.type
          : (stageTypeOf(this.options.stageTypes, stage)?.type ?? 'unknown')
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

  async attemptsEnd(stageIds: ReadonlySet<string>): Promise<boolean> {
    const isMeant = ({ stageId }: Attempt) => stageIds.has(stageId)
    for (const { ended } of [...this.#attempts].filter(isMeant)) ended.abort()
    await this.#await(longestEndMs, isMeant)
    return ![...this.#attempts].some(isMeant)
  }

  async #await(ms: number, isMeant: (attempt: Attempt) => boolean): Promise<void> {
    const meant = [...this.#attempts].filter(isMeant)
    if (meant.length > 0) await within(ms, Promise.all(meant.map(({ settled }) => settled)))
  }

  /** Called by requests, so that they see the state of their moment. */
  catchUp(): void {
    this.#pacer.catchUp()
  }

  #watchClock(): void {
    const shift = this.#clock.look()
    if (shift === undefined) return
    const { now, log, store } = this.options
    const { kind, byMs } = shift
    if (kind === 'back')
      log.warn({ byMs }, 'the clock was set back; executions go on by the new time')
    else
      log.warn(
        { byMs },
        'the clock was set forward; what executions wait for takes as long as before',
      )
    const due = store.due()
    // The shift is recorded with each before it begins to wait anew.
    if (kind === 'back') for (const { id } of due) this.#ahead.add(id)
    this.#pacer.schedule(due.map(({ id }) => ({ id, due: now() })))
  }

  #wake(id: string, pauseMs = 0): void {
    if (this.#pacer.isRunning) this.#pacer.schedule([{ id, due: this.options.now() + pauseMs }])
  }

  /** A step that the store refuses is tried again later; nothing is lost, since nothing was changed. */
  #guard(id: string, step: () => void): void {
    try {
      step()
      this.#crashes.succeeds(id)
    } catch (error) {
      this.options.log.error(
        { err: error, execution: id },
        'a step of an execution failed and is tried again',
      )
      this.#wake(id, storeRetryMs)
      if (this.#crashes.failsForGood(id, error))
        this.#abandon(id, `The engine fails at it: ${(error as Error).message}`)
    }
  }

  /** Ends an execution that cannot go on: in order if that is possible, else by its record alone. */
  #abandon(id: string, reason: string): void {
    const { store, log, now } = this.options
    log.error({ execution: id, reason }, 'an execution was given up')
    try {
      if (this.#crashes.excessOf(id) !== undefined)
        throw new Error('The record is too large to be read.')
      this.transact((unit) => giveUp(unit.require(id), reason, unit.turn))
    } catch (error) {
      log.error({ err: error, execution: id }, 'an execution could only be marked as ended')
      try {
        const abandoned = store.abandon(id, reason, now())
        this.#pacer.schedule([{ id, due: undefined }])
        if (abandoned === undefined) return
        this.changes.note(abandoned, () => summarizeExecution({ ...abandoned, status: 'TERMINAL' }))
        this.#releaseAfter(abandoned)
      } catch (refusal) {
        log.error(
          { err: refusal, execution: id },
          'an execution could not be marked as ended and is tried again',
        )
      }
    }
  }

  #releaseAfter({ id, type, pipelineConfigId }: AbandonedExecution): void {
    if (type !== 'PIPELINE' || pipelineConfigId === undefined) return
    try {
      this.transact((unit) => unit.releaseAfterUnreadable(pipelineConfigId))
    } catch (error) {
      this.options.log.error(
        { err: error, execution: id },
        'executions that wait for an abandoned one could not be started',
      )
    }
  }

  /**
   * Stores an execution and moves it on in the same transaction; when that fails, or others are due, it has its turn later.
   *
   * @param stored Called in the transaction. What it notes would be repeated if the execution ended the engine: its turn comes later
   * @returns the one that goes on under its id or correlation id, if there is one
   * @throws {PortError} as `UnitOfWork.submit`
   */
  submit(execution: Execution, stored?: () => void): Execution {
    const begin = (one: Execution) =>
      this.transact((unit) => {
        stored?.()
        return unit.submit(one)
      })
    if (stored !== undefined || !this.#pacer.isUpToDate) return begin(execution)
    const again = this.options.store.asItIs(execution)
    if (again === undefined) return begin(execution)
    let submitted: Execution | undefined
    try {
      this.#drive((unit) => {
        submitted = unit.submit(execution)
        return submitted === execution ? execution : undefined
      })
      return submitted ?? execution
    } catch (error) {
      // A fault of the store, or of the submission itself.
      if (submitted !== execution || fieldOf(error, 'errcode') !== undefined) throw error
      this.options.log.error({ err: error, execution: execution.id }, 'a first step failed')
      return begin(again())
    }
  }

  #run(id: string): void {
    const reason = this.#crashes.reasonToAbandon(id)
    if (reason !== undefined) return void this.#abandon(id, reason)
    this.#drive((unit) => unit.loadForStep(id, this.#crashes.hasFailed(id)))
    this.#ahead.delete(id)
  }

  /** A turn of the execution that `find` gives. */
  #drive(find: (unit: UnitOfWork) => Execution | undefined): void {
    const begunMs = performance.now()
    const driven = this.transact((unit) => {
      const execution = find(unit)
      if (execution === undefined) return undefined
      const { turn } = unit
      if (this.#ahead.has(execution.id)) heedSetBack(execution, turn.now)
      this.#clock.noteJumps(execution)
      const untilMs = endOfTurn(begunMs)
      const launches = drive(execution, turn, {
        isInFlight: this.isInFlight,
        decide: (run) => this.#decide(run),
        submit: (child) => unit.submit(child),
        isLate: () => performance.now() > untilMs,
      })
      const followUps = execution.engine.followUps.filter(
        (each) => each.dueAt <= turn.now && !this.#inFlight.has(each.id),
      )
      return { execution, launches, followUps, steps: turn.expressionSteps }
    })
    if (driven === undefined) return
    const { execution, launches, followUps, steps } = driven
    const { id } = execution
    for (const run of launches) this.#launch(run)
    for (const followUp of followUps) void this.#launchFollowUp(execution, followUp)
    if (launches.length === 0) this.#crashes.clear(id)
    this.#requeue(id, execution, restMs(steps, this.options.store.sizeOf(execution)))
  }

  #decide(run: StepRun): Outcome {
    const { step, turn } = run
    if (!('decide' in step)) throw new TypeError(`The step "${step.name}" cannot be decided.`)
    const context = createTaskContext(this, run)
    try {
      const result = step.decide(context)
      return {
        result:
          context.answers.pending.length > 0 ? { status: 'RUNNING', pollMs: answerPollMs } : result,
      }
    } catch (error) {
      return { error }
    } finally {
      turn.expressionSteps += context.meter.spent
    }
  }

  #launch(run: StepRun): void {
    const { step } = run
    if (!('execute' in step)) return
    this.#inFlight.add(run.run)
    const { attemptMs } = this.options
    const text = `The step "${step.name}" gave no result within ${attemptMs / 1000} s; check its effect, then restart the stage.`
    let rest: Promise<unknown> | undefined
    const late = () => {
      rest = attempt.then(
        (result) => this.#land(run, { result }),
        () => undefined,
      )
      throw new UnansweredError([text])
    }
    const ended = new AbortController()
    const attempt = this.options.commits.stored().then(() => {
      ended.signal.throwIfAborted()
      return step.execute(createTaskContext(this, run, { signal: ended.signal }))
    })
    const settled = within(attemptMs, attempt, late, { unref: true })
      .then(
        (result) => this.#land(run, { result }),
        (error: unknown) => this.#land(run, { error }),
      )
      .then(async () => void (await rest))
    const own = {
      stageId: run.stage.id,
      isUnrecognized: step.isUnrecognized === true,
      settled,
      ended,
    }
    this.#attempts.add(own)
    void settled.finally(() => this.#attempts.delete(own))
  }

  #land(run: StepRun, outcome: Outcome): Promise<void> | undefined {
    return this.#pacer.land(() => this.#keep(run, outcome))
  }

  /** Records an outcome; it is kept until the store takes it. */
  #keep(run: StepRun, outcome: Outcome): void {
    if (!this.#pacer.isRunning) return
    const { id } = run.execution
    this.#inFlight.delete(run.run)
    try {
      this.#record(run, outcome)
      this.#crashes.clear(id)
      this.#crashes.succeeds(run.run)
    } catch (error) {
      this.options.log.error(
        { err: error, execution: id },
        'a result could not be recorded and is kept',
      )
      if (this.#crashes.failsForGood(run.run, error)) {
        return void this.#abandon(id, `A result cannot be recorded: ${(error as Error).message}`)
      }
      this.#inFlight.add(run.run)
      setTimeout(() => this.#keep(run, outcome), storeRetryMs).unref()
    }
  }

  #record(run: StepRun, outcome: Outcome): void {
    this.transact((unit) => {
      const execution = unit.loadForStep(run.execution.id, this.#crashes.hasFailed(run.run))
      if (execution === undefined) return
      const fresh = findAgain(run, execution, unit.turn)
      if (fresh === undefined) return noteBegun(run, outcome, execution)
      applyOutcome(fresh, heedSteering(outcome, fresh.stage, run.stage), (child) =>
        unit.submit(child),
      )
    })
  }

  async #launchFollowUp(execution: Execution, followUp: FollowUp): Promise<void> {
    const { store, log } = this.options
    const { id } = execution
    let pauseMs = 0
    this.#inFlight.add(followUp.id)
    try {
      await this.options.commits.stored()
      if (!this.#pacer.isRunning) return
      await runFollowUp(this, execution, followUp)
    } catch (error) {
      log.error(
        { err: error, execution: id },
        'a follow-up could not be recorded and is tried again',
      )
      pauseMs = storeRetryMs
    }
    this.#inFlight.delete(followUp.id)
    if (!this.#pacer.isRunning) return
    this.#guard(id, () => {
      this.#requeue(id, store.load(id), pauseMs)
      this.#crashes.clear(id)
    })
  }

  #requeue(id: string, execution: Execution | undefined, pauseMs: number): void {
    const now = this.options.now()
    const next = execution && nextDue(execution, this.isInFlight)
    this.#pacer.schedule(
      [{ id, due: next === undefined ? undefined : Math.max(next, now + pauseMs) }],
      now,
    )
  }
}
