/** Overload: requests wait for their turn, and what waits too long is rejected, low priority first. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface OverloadSettings {
  enabled: boolean
  /** Wait for a turn from which requests of low priority are rejected; from twice this, all. */
  maxDelayMs: number
  maxRequests: number
}

interface OverloadSurroundings {
  /**
   * Paths below the context path whose requests are served always: probes, metrics, logins. They have at least two characters after the first
   * slash, and may have parameters.
   */
  keptPaths: readonly string[]
  contextPath: string
  onShed?: (reason: 'delay' | 'concurrency') => void
  onChange?: (isOverloaded: boolean) => void
  now?: () => number
  iteration?: () => number
  later?: (run: () => void) => void
  soon?: (run: () => void) => void
}

/** Requests are started for so long in one iteration of the event loop; the answers of services have their turn in between. */
const maxSliceMs = 2
const minSliceMs = 0.5
/** A longer iteration means that fewer requests should be started in one. */
const longIterationMs = 8
const calmMs = 5000
/** One turn in four belongs to connections on which no login has counted yet, if there are any. */
const turnsPerStranger = 4
const maxStrangerShare = 0.5
/** A client beyond the bound hears of it after this time, so that it does not ask again at once. */
const holdMs = 1000
const heldShare = 4
const soonMs = 20
/**
 * Share of the time that rejections may take. A rejection costs about half of an answer, and the client asks again: without a bound, most of
 * the processor would go to rejections at three times the capacity. Requests that are not rejected wait on, and are served late.
 */
const rejectionShare = 0.05
/** Iterations of the event loop after which it is known how fast requests get their turn: a single pause says nothing. */
const minIterations = 20
const maxIterations = 200
const maxRejectionMs = 5
const message =
  'Fairlead is overloaded. Try again in a moment; requests with a header X-Spinnaker-Priority other than low go first.'
const body = JSON.stringify({ message })
const head = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }

/** Seconds. Clients shall stay away for longer while they come faster than they can be rejected. */
const maxRetryAfter = 10
const retryAfterStepMs = 1000

interface Waiting {
  readonly queue: Waiting[]
  readonly sinceMs: number
  readonly response: ServerResponse
  readonly start: () => void
}

const proven = Symbol('a login has counted on this connection')

/** Notes that a request with a login came on the connection: later ones do not wait behind those of strangers. */
export function noteProven(socket: Socket & { [proven]?: true }): void {
  socket[proven] = true
}

/**
 * A busy process reads requests and lets them wait before any work is done for them, so that it holds no more of them at once
 * than it can carry on with, and clients that wait for an answer slow down by themselves. While nothing waits, a request costs a
 * comparison of times.
 */
export class Overload {
  readonly #settings: OverloadSettings
  readonly #surroundings: OverloadSurroundings
  readonly #kept: readonly string[]
  readonly #now: () => number
  readonly #iteration: () => number
  readonly #later: (run: () => void) => void
  readonly #soon: (run: () => void) => void
  readonly #high: Waiting[] = []
  readonly #low: Waiting[] = []
  readonly #strangers: Waiting[] = []
  readonly #held: Waiting[] = []
  #running = 0
  #turns = 0
  #rejectionMs = maxRejectionMs
  #rejectionsAtMs: number
  #isLookingAtHeld = false
  #retryAfter = 1
  #retryAfterSinceMs: number
  #rejections = 0
  #hasPutOff = false
  /** Since requests wait, the older ones counting less: iterations, their length, and turns given. */
  #iterations = 0
  #iterationsMs = 0
  #given = 0
  #sliceMs = maxSliceMs
  #sliceBeganMs = Number.NEGATIVE_INFINITY
  #sliceIteration = -1
  /** When the last turns were given; undefined while nothing waits. */
  #turnsGivenMs: number | undefined
  #calm: NodeJS.Timeout | undefined

  constructor(settings: OverloadSettings, surroundings: OverloadSurroundings) {
    this.#settings = settings
    this.#surroundings = surroundings
    this.#kept = surroundings.keptPaths.map((path) => path.replace(/\{.*/s, ''))
    this.#now = surroundings.now ?? (() => performance.now())
    this.#iteration =
      surroundings.iteration ?? (() => performance.nodeTiming.uvMetricsInfo.loopCount)
    this.#later = surroundings.later ?? ((run) => void setImmediate(run))
    this.#soon = surroundings.soon ?? ((run) => void setTimeout(run, soonMs).unref())
    this.#rejectionsAtMs = this.#now()
    this.#retryAfterSinceMs = this.#rejectionsAtMs
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#high.length + this.#low.length + this.#strangers.length
  }

  close(): void {
    clearTimeout(this.#calm)
  }

  enter(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    const nowMs = this.#now()
    if (
      (this.#turnsGivenMs === undefined && this.#hasTime(nowMs) && this.#hasRoom()) ||
      this.#isServedAlways(request)
    ) {
      this.#start(start)
      return
    }
    const queue = this.#queueOf(request)
    const waiting = { queue, sinceMs: nowMs, response, start }
    if (!this.#hasRoom() || !this.#hasRoomIn(queue) || this.#held[0]?.queue === queue)
      this.#hold(waiting)
    else if (this.#isTooLate(queue, nowMs) && this.#mayReject(nowMs))
      this.#reject(response, 'delay')
    else this.#wait(waiting)
  }

  #wait(waiting: Waiting): void {
    waiting.queue.push(waiting)
    if (this.#turnsGivenMs === undefined) this.#giveTurnsLater(this.#now())
  }

  leave(): void {
    this.#running--
  }

  #start(start: () => void): void {
    this.#running++
    start()
  }

  #hasRoom(): boolean {
    return this.#running + this.waiting < this.#settings.maxRequests
  }

  /** Requests of strangers leave room for users, however long they wait. */
  #hasRoomIn(queue: Waiting[]): boolean {
    return queue !== this.#strangers || queue.length < this.#settings.maxRequests * maxStrangerShare
  }

  #hasTime(nowMs: number): boolean {
    if (nowMs - this.#sliceBeganMs < this.#sliceMs) return true
    const iteration = this.#iteration()
    if (iteration === this.#sliceIteration) return false
    this.#sliceIteration = iteration
    this.#sliceBeganMs = nowMs
    return true
  }

  #queueOf({ socket, headers }: IncomingMessage): Waiting[] {
    if (!(proven in socket)) return this.#strangers
    return (headers['x-spinnaker-priority'] ?? 'low') === 'low' ? this.#low : this.#high
  }

  /** Whether its turn would come after the bound: a client that hears so at once has lost no time. */
  #isTooLate(queue: Waiting[], nowMs: number): boolean {
    if (this.#iterations < minIterations || this.#held.length > 0) return false
    const expectedMs = Math.max(
      (this.waiting * this.#iterationsMs) / this.#given,
      nowMs - (queue[0]?.sinceMs ?? nowMs),
    )
    return expectedMs > this.#settings.maxDelayMs * (queue === this.#high ? 2 : 1)
  }

  #mayReject(nowMs: number): boolean {
    this.#earnRejections(nowMs)
    if (this.#rejectionMs > 0) return true
    this.#hasPutOff = true
    return false
  }

  #reject(response: ServerResponse, reason: 'delay' | 'concurrency'): void {
    const beganMs = this.#now()
    this.#surroundings.onShed?.(reason)
    if (reason === 'delay') this.#noteOverload()
    const seconds = this.#retryAfter + (++this.#rejections % (1 + Math.floor(this.#retryAfter / 2)))
    response.writeHead(503, { ...head, 'retry-after': String(seconds) }).end(body)
    this.#rejectionMs -= this.#now() - beganMs
  }

  #giveTurnsLater(nowMs: number): void {
    this.#turnsGivenMs = nowMs
    this.#later(() => this.#giveTurns())
  }

  #giveTurns(): void {
    const nowMs = this.#now()
    const isLong = nowMs - (this.#turnsGivenMs ?? nowMs) > longIterationMs
    this.#sliceMs = isLong
      ? Math.max(minSliceMs, this.#sliceMs / 2)
      : Math.min(maxSliceMs, this.#sliceMs * 1.25)
    const { maxDelayMs } = this.#settings
    this.#earnRejections(nowMs)
    this.#expire(this.#strangers, nowMs - maxDelayMs)
    this.#expire(this.#low, nowMs - maxDelayMs)
    this.#expire(this.#high, nowMs - 2 * maxDelayMs)
    let given = 0
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) {
      if (!next.response.destroyed) this.#start(next.start)
      given++
      if (this.#now() - nowMs >= this.#sliceMs) break
    }
    this.#noteTurns(given, nowMs)
    if (this.waiting > 0) {
      this.#giveTurnsLater(nowMs)
    } else {
      this.#turnsGivenMs = undefined
      this.#iterations = 0
      this.#iterationsMs = 0
      this.#given = 0
    }
  }

  #noteTurns(given: number, nowMs: number): void {
    if (this.#iterations === maxIterations) {
      this.#iterations /= 2
      this.#iterationsMs /= 2
      this.#given /= 2
    }
    this.#iterations++
    this.#iterationsMs += nowMs - (this.#turnsGivenMs ?? nowMs)
    this.#given += given
  }

  #takeNext(): Waiting | undefined {
    const [high] = this.#high
    if (high !== undefined) return this.#high.shift()
    const first = ++this.#turns % turnsPerStranger === 0 ? this.#strangers : this.#low
    return first.shift() ?? this.#low.shift() ?? this.#strangers.shift()
  }

  #expire(queue: Waiting[], untilMs: number, reason: 'delay' | 'concurrency' = 'delay'): void {
    while ((queue[0]?.sinceMs ?? Number.POSITIVE_INFINITY) < untilMs) {
      if (queue[0]?.response.destroyed !== true && this.#rejectionMs <= 0) {
        this.#hasPutOff = true
        return
      }
      const { response } = queue.shift() as Waiting
      if (!response.destroyed) this.#reject(response, reason)
    }
  }

  #noteOverload(): void {
    if (this.#calm !== undefined) {
      this.#calm.refresh()
      return
    }
    this.#surroundings.onChange?.(true)
    this.#calm = setTimeout(() => {
      this.#calm = undefined
      this.#surroundings.onChange?.(false)
    }, calmMs).unref()
  }

  #isServedAlways({ method, url = '' }: IncomingMessage): boolean {
    return !this.#settings.enabled || method === 'OPTIONS' || this.isKept(url)
  }

  /** Whether a request for this address is served however busy the process is. Makes no copy: every request that has to wait is asked. */
  isKept(url: string): boolean {
    const { contextPath } = this.#surroundings
    const from =
      url.startsWith(contextPath) && url.charCodeAt(contextPath.length) === slash
        ? contextPath.length
        : 0
    const mark = url.indexOf('?', from)
    const end = mark === -1 ? url.length : mark
    return this.#kept.some(
      (kept) =>
        url.startsWith(kept, from) &&
        (kept.length === end - from || (kept.endsWith('/') && kept.length < end - from)),
    )
  }

  #hold(held: Waiting): void {
    if (this.#held.length >= this.#settings.maxRequests * heldShare) {
      this.#surroundings.onShed?.('concurrency')
      held.response
        .writeHead(503, { ...head, 'retry-after': String(this.#retryAfter), connection: 'close' })
        .end(body)
      return
    }
    this.#held.push(held)
    this.#lookAtHeldSoon()
  }

  #admitHeld(): void {
    while (this.#hasRoom()) {
      const [first] = this.#held
      if (first === undefined || !this.#hasRoomIn(first.queue)) return
      this.#held.shift()
      if (!first.response.destroyed) this.#wait(first)
    }
  }

  #lookAtHeldSoon(): void {
    if (this.#isLookingAtHeld || this.#held.length === 0) return
    this.#isLookingAtHeld = true
    this.#soon(() => {
      this.#isLookingAtHeld = false
      const nowMs = this.#now()
      this.#earnRejections(nowMs)
      this.#admitHeld()
      this.#expire(this.#held, nowMs - holdMs, 'concurrency')
      this.#lookAtHeldSoon()
    })
  }

  #earnRejections(nowMs: number): void {
    this.#rejectionMs = Math.min(
      maxRejectionMs,
      this.#rejectionMs + (nowMs - this.#rejectionsAtMs) * rejectionShare,
    )
    this.#rejectionsAtMs = nowMs
    if (nowMs - this.#retryAfterSinceMs < retryAfterStepMs) return
    this.#retryAfter = this.#hasPutOff
      ? Math.min(maxRetryAfter, this.#retryAfter * 2)
      : Math.max(1, this.#retryAfter >> 1)
    this.#retryAfterSinceMs = nowMs
    this.#hasPutOff = false
  }
}

const slash = 0x2f
