/** Pace of the engine: which execution has its turn, when, and for how long. Knows no store. */
import { DueQueue } from './due-queue.ts'

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
/** Effort after which an execution rests, so that others keep most of the thread. */
const effortPerRestMs = 1000
/** A clock that is set forward, or a machine that slept, is noticed after this time. */
const longestTimerMs = 60_000

interface Due {
  readonly id: string
  /** Milliseconds since the epoch; undefined: nothing has to be done. */
  readonly due: number | undefined
}

interface PacerOptions {
  readonly now: () => number
  /** Called before turns are given. */
  readonly begin: () => void
  /** A turn of an execution. */
  readonly run: (id: string) => void
}

export class Pacer {
  readonly #options: PacerOptions
  readonly #queue = new DueQueue()
  /** Results of calls that have come back, oldest first. */
  readonly #arrived: (() => void)[] = []
  /** More is due than there was time for. */
  #isBehind = false
  /** Requests have their turns of the event loop. */
  #isResting = false
  #isSettling = false
  #isRunning = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: PacerOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Executions have turns, and none waits for its turn. */
  get isUpToDate(): boolean {
    return this.#isRunning && !this.#isSettling && !this.#isBehind
  }

  /** When the first is due. */
  get firstDue(): number | undefined {
    return this.#queue.next()
  }

  /** @param restsFirst Requests come before the first turn */
  start(entries: Iterable<Due>, restsFirst: boolean): void {
    this.#isRunning = true
    this.#isResting = this.#isBehind = restsFirst
    if (restsFirst) this.#timer = setTimeout(() => this.#rest(1, 0), firstRestMs)
    this.schedule(entries)
  }

  /** Gives turns to results only, from now on. */
  settle(): void {
    this.#isSettling = true
    this.#arm()
  }

  stop(): void {
    this.#isRunning = false
    clearTimeout(this.#timer)
    this.#queue.clear()
    this.#arrived.length = 0
  }

  /** @param now What is due earlier counts as due now */
  schedule(entries: Iterable<Due>, now?: number): void {
    for (const { id, due } of entries) this.#queue.set(id, due, now)
    this.#arm()
  }

  /** Records a result that has come back: now, or in its turn while more is due than there was time for. */
  land(record: () => void): Promise<void> | undefined {
    if (!this.#isBehind) return void record()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#arrived.push(() => resolve(record()))
    this.#arm()
    return promise
  }

  /** Called by requests, so that they see the state of their moment, if it does not take longer. */
  catchUp(): void {
    if (!this.#isBehind) this.#drain(sliceMs)
  }

  /** Does what is due. */
  #drain(ms: number): void {
    if (!this.#isRunning) return
    this.#options.begin()
    const until = performance.now() + ms
    while (this.#doNext() && performance.now() < until);
    this.#isBehind = this.#next() <= this.#options.now()
    this.#arm()
  }

  /** When there is something to do, milliseconds since the epoch. */
  #next(): number {
    if (this.#arrived.length > 0) return -Infinity
    return (this.#isSettling ? undefined : this.#queue.next()) ?? Infinity
  }

  /** Results come first, so that not ever more calls are out. @returns whether there was anything to do */
  #doNext(): boolean {
    const record = this.#arrived.shift()
    if (record !== undefined) {
      record()
      return true
    }
    const id = this.#isSettling ? undefined : this.#queue.take(this.#options.now())
    if (id !== undefined) this.#options.run(id)
    return id !== undefined
  }

  #arm(): void {
    if (this.#isResting) return
    clearTimeout(this.#timer)
    const pause = this.#next() - this.#options.now()
    if (!this.#isRunning || pause === Infinity) return
    if (pause <= 0) this.#rest(turnsBetween, performance.now() + portionMs)
    else this.#timer = setTimeout(() => this.#drain(portionMs), Math.min(pause, longestTimerMs))
  }

  /**
   * Costs no time where no request is there. Never drains at once: who schedules an execution hands its steps out afterwards, and they would be
   * handed out twice.
   */
  #rest(turns: number, until: number): void {
    this.#isResting = true
    setImmediate(() => {
      if (turns > 1 && performance.now() < until) return this.#rest(turns - 1, until)
      this.#isResting = false
      this.#drain(portionMs)
    })
  }
}

/** When its turn ends, by `performance.now()`: as much work as its record took to read is worth it. */
export function endOfTurn(begunMs: number): number {
  const readMs = performance.now()
  return readMs + Math.max(sliceMs, readMs - begunMs)
}

/** How long an execution rests after its turn. @param characters Of its record */
export function restMs(expressionSteps: number, characters: number): number {
  const effort = expressionSteps + characters / charactersPerEffort
  return effort > effortWithoutRest ? effort / effortPerRestMs : 0
}
