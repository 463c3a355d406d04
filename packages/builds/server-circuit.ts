/** Circuit breaker and rate limit of one build server: calls that cannot succeed fail at once. */
import { BackOff } from '@fairlead/base/concurrency/back-off.ts'

const failuresToOpen = 3
const pauses = { firstMs: 1_000, longestMs: 30_000 }
const longestLimitMs = 60 * 60_000

export class ServerCircuit {
  readonly #steady: () => number
  readonly #backOff = new BackOff(pauses)
  #failures = 0
  /** Until then calls fail; afterwards one call tests the server. */
  #openUntilMs = Number.NEGATIVE_INFINITY
  #limitedUntilMs = Number.NEGATIVE_INFINITY
  #isTrying = false

  /** @param steady As `BackendContext.steady` */
  constructor(steady: () => number) {
    this.#steady = steady
  }

  /** Milliseconds for which the server accepts no calls, by its own word. */
  get limitedMs(): number {
    return Math.max(0, this.#limitedUntilMs - this.#steady())
  }

  /** Begins a call, unless the server has just failed several times. @returns whether it may be made */
  enter(): boolean {
    if (this.#failures < failuresToOpen) return true
    if (this.#isTrying || this.#steady() < this.#openUntilMs) return false
    this.#isTrying = true
    return true
  }

  /** It answered, with any status. */
  succeed(): void {
    this.#failures = 0
    this.#isTrying = false
    this.#backOff.reset()
  }

  /** It did not answer. */
  fail(): void {
    this.#failures++
    this.#isTrying = false
    // Calls that were under way when it opened say nothing new.
    const isOpen = this.#steady() < this.#openUntilMs
    if (this.#failures >= failuresToOpen && !isOpen)
      this.#openUntilMs = this.#steady() + this.#backOff.nextMs()
  }

  /** The caller gave up, which says nothing about the server. */
  abandon(): void {
    this.#isTrying = false
  }

  limit(ms: number): void {
    this.#limitedUntilMs = this.#steady() + Math.min(Math.max(0, ms), longestLimitMs)
  }
}
