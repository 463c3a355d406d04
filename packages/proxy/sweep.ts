/** One timer for all connections: finds the stalled ones at intervals. */

export interface Expiring {
  /** @param nowMs The clock as it was until now: what has moved since then has moved at this time, too. */
  check(nowMs: number): void
}

export class TimeoutSweep {
  /** A clock that costs nothing to read; as coarse as the interval. */
  nowMs = performance.now()
  readonly #items = new Set<Expiring>()
  readonly #timer: NodeJS.Timeout

  constructor(intervalMs: number) {
    this.#timer = setInterval(() => {
      const before = this.nowMs
      this.nowMs = performance.now()
      for (const item of this.#items) item.check(before)
    }, intervalMs).unref()
  }

  add(item: Expiring): void {
    this.#items.add(item)
  }

  delete(item: Expiring): void {
    this.#items.delete(item)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#items.clear()
  }
}
