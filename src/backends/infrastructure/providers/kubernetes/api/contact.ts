/** What a watch that goes ahead after a loss tells the others, once. */
import type { Recovery } from './recovery.ts'

export class Contact {
  readonly #recovery: Recovery
  #isOpen: boolean
  #timer: NodeJS.Timeout | undefined

  constructor(recovery: Recovery, isScout: boolean) {
    this.#recovery = recovery
    this.#isOpen = isScout
  }

  reached(isExpired: boolean): void {
    if (this.#settle()) this.#recovery.reached(isExpired)
  }

  /** Unless something else is told before. */
  reachedSoon(ms: number): void {
    if (this.#isOpen) this.#timer = setTimeout(() => this.reached(false), ms).unref()
  }

  failed(): void {
    if (this.#settle()) this.#recovery.failed()
  }

  /** @returns whether this one had gone ahead */
  lost(): boolean {
    const wasScout = this.#settle()
    if (wasScout) this.#recovery.failed()
    else this.#recovery.lost()
    return wasScout
  }

  end(): void {
    this.failed()
  }

  #settle(): boolean {
    clearTimeout(this.#timer)
    const wasOpen = this.#isOpen
    this.#isOpen = false
    return wasOpen
  }
}
