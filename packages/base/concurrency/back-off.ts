/** Back-off: what fails is started again after pauses that double. */

export interface BackOffLimits {
  readonly firstMs: number
  readonly longestMs: number
}

/** @param failures In a row, before the one that this pause follows */
export function backOffMs({ firstMs, longestMs }: BackOffLimits, failures: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.max(0, failures))
}

export class BackOff {
  readonly #limits: BackOffLimits
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: BackOffLimits) {
    this.#limits = limits
  }

  /** Notes a failure. @returns the pause after it */
  nextMs(): number {
    return backOffMs(this.#limits, this.#failures++)
  }

  /** Notes a failure, and calls `start` after the pause. The process does not stay for it. @returns the pause */
  startLater(start: () => void): number {
    const pauseMs = this.nextMs()
    this.cancel()
    this.#timer = setTimeout(start, pauseMs).unref()
    return pauseMs
  }

  /** What has succeeded may fail anew. */
  reset(): void {
    this.#failures = 0
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }
}
