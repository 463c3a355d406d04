/** Guard against executions that crash the engine, and steps that fail repeatedly: after some times they are abandoned. */
import { executionFactor } from '../limits.ts'
import type { EngineOptions } from './engine-parts.ts'

/** How often the engine may end, or fail, with an execution in its hands before it is given up. */
const mostInterruptions = 5

export class CrashGuard {
  readonly #options: EngineOptions
  /** Executions that were due when the engine started: one of them may have ended it. */
  readonly #ran = new Set<string>()
  /** Those of `#ran` that count as interrupted until they get on. */
  readonly #counted = new Set<string>()
  /** How often in a row the step of an execution, or the record of a result, has failed. */
  readonly #failures = new Map<string, number>()

  constructor(options: EngineOptions) {
    this.#options = options
  }

  get hasMarked(): boolean {
    return this.#ran.size > 0
  }

  /** It ran when the engine ended. */
  markRunning(id: string): void {
    this.#ran.add(id)
  }

  /** It got on. */
  clear(id: string): void {
    if (this.#counted.delete(id)) this.#options.store.clearInterruptions(id)
  }

  /** Why an execution is abandoned before its turn: it has ended the engine repeatedly, or is too large to be read. */
  reasonToAbandon(id: string): string | undefined {
    const { store } = this.#options
    const bytes = this.excessOf(id)
    if (bytes !== undefined) {
      return `Its record has ${bytes} bytes, more than the engine reads. Raise pipelines.max-size to run such pipelines.`
    }
    if (!this.#ran.delete(id)) return undefined
    this.#counted.add(id)
    if (store.countInterruption(id) <= mostInterruptions) return undefined
    this.#counted.delete(id)
    return `It was abandoned: the engine ended ${mostInterruptions} times while it ran.`
  }

  /** The bytes of a record that is too large to be read: beyond its bounds, and what one step may have added. */
  excessOf(id: string): number | undefined {
    const bytes = this.#options.store.storedBytes(id)
    return bytes > 2 * executionFactor * this.#options.limits.bytes ? bytes : undefined
  }

  /** Whether it is the execution that fails, and not the store: a full disk ends nothing. */
  failsForGood(what: string, error: unknown): boolean {
    if ((error as { errcode?: unknown }).errcode !== undefined) return false
    const failures = (this.#failures.get(what) ?? 0) + 1
    this.#failures.set(what, failures)
    if (failures > mostInterruptions) this.#failures.delete(what)
    return failures > mostInterruptions
  }

  hasFailed(what: string): boolean {
    return this.#failures.has(what)
  }

  succeeds(what: string): void {
    this.#failures.delete(what)
  }
}
