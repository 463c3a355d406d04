/** Bound on retries of one service: a share of its calls, so that retries never multiply the load of a service in trouble. */

/** Calls that pay for a retry. */
const price = 5
const maxSaved = 100 * price
const initial = 10 * price
const refillPerSecond = price

export class RetryBudget {
  /** Calls that may be repeated. */
  #saved = initial
  #refilledAtMs = 0

  count(): void {
    if (this.#saved < maxSaved) this.#saved++
  }

  take(nowMs: number): boolean {
    const refill = ((nowMs - this.#refilledAtMs) / 1000) * refillPerSecond
    if (this.#saved < initial) this.#saved = Math.min(initial, this.#saved + refill)
    this.#refilledAtMs = nowMs
    if (this.#saved < price) return false
    this.#saved -= price
    return true
  }
}
