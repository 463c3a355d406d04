/** Overload: rejects requests before any work is done for them, those of low priority first. */
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface OverloadSettings {
  enabled: boolean
  /** Delay of the event loop from which requests of low priority are rejected; from twice this, all. */
  maxDelayMs: number
  /** Requests at once, however busy the process is. */
  maxRequests: number
}

interface OverloadSurroundings {
  /** Paths below the context path whose requests are served always: probes, metrics, logins. They may have parameters. */
  keptPaths: readonly string[]
  contextPath: string
  onShed?: (reason: 'delay' | 'concurrency') => void
  /** Overload begins and ends. */
  onChange?: (isOverloaded: boolean, delayMs: number) => void
}

const sampleMs = 100
/** A pause for garbage, or a busy machine, is no overload. */
const enoughSamples = 4
/** A larger share of the requests is rejected with each sample above the bound, a smaller one with each below. */
const stepUp = 0.1
const stepDown = 0.02
/** A rejected client hears of it after this time, so that it does not ask again at once. */
const holdMs = 1000
const maxHeld = 1000
const message =
  'Fairlead is overloaded. Try again in a moment; requests with a header X-Spinnaker-Priority other than low go first.'
const body = JSON.stringify({ message })
const head = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'retry-after': '1' }

/**
 * Shares of requests to reject follow the delay of the event loop, sampled ten times a second: what cannot be served in time
 * costs no more than its headers. While nothing is overloaded, a request costs a comparison.
 */
export class Overload {
  readonly #settings: OverloadSettings
  readonly #surroundings: OverloadSurroundings
  #running = 0
  #held = 0
  /** Shares that are rejected, from 0 to 1: of low priority, and of the others. */
  #low = 0
  #high = 0
  readonly #kept: readonly string[]
  /** Samples above the bound, one after the other. */
  #lateSamples = 0
  #timer: NodeJS.Timeout | undefined

  constructor(settings: OverloadSettings, surroundings: OverloadSurroundings) {
    this.#settings = settings
    this.#surroundings = surroundings
    this.#kept = surroundings.keptPaths.map((path) => path.replace(/\{.*/s, ''))
  }

  get running(): number {
    return this.#running
  }

  start(): void {
    if (!this.#settings.enabled) return
    let dueMs = performance.now() + sampleMs
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      this.sample(Math.max(0, nowMs - dueMs))
      dueMs = nowMs + sampleMs
    }, sampleMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** @param delayMs By which a timer of the event loop was late */
  sample(delayMs: number): void {
    const { maxDelayMs } = this.#settings
    const was = this.#low > 0
    this.#lateSamples = delayMs > maxDelayMs ? this.#lateSamples + 1 : 0
    const isOverloaded = this.#lateSamples >= enoughSamples
    this.#low = nextShare(this.#low, isOverloaded)
    this.#high = nextShare(this.#high, isOverloaded && delayMs > 2 * maxDelayMs && this.#low === 1)
    if (was !== this.#low > 0) this.#surroundings.onChange?.(this.#low > 0, delayMs)
  }

  /** Counts a request in, which `leave` counts out again, or rejects it. */
  enter(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#low === 0 && this.#running < this.#settings.maxRequests) {
      this.#running++
      return true
    }
    const reason = this.#reasonAgainst(request)
    if (reason === undefined) {
      this.#running++
      return true
    }
    this.#surroundings.onShed?.(reason)
    this.#reject(response)
    return false
  }

  leave(): void {
    this.#running--
  }

  #reasonAgainst(request: IncomingMessage): 'delay' | 'concurrency' | undefined {
    if (!this.#settings.enabled || request.method === 'OPTIONS' || this.#isKept(request.url ?? '')) return undefined
    if (this.#running >= this.#settings.maxRequests) return 'concurrency'
    const isLow = (request.headers['x-spinnaker-priority'] ?? 'low') === 'low'
    return Math.random() < (isLow ? this.#low : this.#high) ? 'delay' : undefined
  }

  #isKept(url: string): boolean {
    const { contextPath } = this.#surroundings
    const [address = ''] = url.split('?', 1)
    const path = address.startsWith(`${contextPath}/`) ? address.slice(contextPath.length) : address
    return this.#kept.some((kept) => path === kept || (kept.endsWith('/') && path.startsWith(kept)))
  }

  #reject(response: ServerResponse): void {
    if (this.#held >= maxHeld) {
      response.writeHead(503, head).end(body)
      return
    }
    this.#held++
    const answer = setTimeout(() => response.writeHead(503, head).end(body), holdMs)
    response.once('close', () => {
      clearTimeout(answer)
      this.#held--
    })
  }
}

function nextShare(share: number, rises: boolean): number {
  const next = rises ? share + stepUp : share - stepDown
  return Math.round(Math.min(1, Math.max(0, next)) * 100) / 100
}
