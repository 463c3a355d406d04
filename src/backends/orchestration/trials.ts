/** Executions that may end the engine, and steps that fail time and again: after some times they are given up. */
import { executionFactor } from '../limits.ts'
import type { EngineOptions } from './engine-parts.ts'

/** How often the engine may end, or fail, with an execution in its hands before it is given up. */
const mostInterruptions = 5

export class Trials {
  readonly #options: EngineOptions
  /** Executions that were due when the engine started: one of them may have ended it. */
  readonly #suspects = new Set<string>()
  /** Suspects that are counted as interrupted until they get on. */
  readonly #onTrial = new Set<string>()
  /** How often in a row the step of an execution, or the record of a result, has failed. */
  readonly #failures = new Map<string, number>()

  constructor(options: EngineOptions) {
    this.#options = options
  }

  get hasSuspects(): boolean {
    return this.#suspects.size > 0
  }

  suspect(id: string): void {
    this.#suspects.add(id)
  }

  /** It got on, which ends its trial. */
  acquit(id: string): void {
    if (this.#onTrial.delete(id)) this.#options.store.clearInterruptions(id)
  }

  /** Why an execution is given up before its step: it has ended the engine time and again, or is too large to be read. */
  judge(id: string): string | undefined {
    const { store } = this.#options
    const bytes = this.excessOf(id)
    if (bytes !== undefined) {
      return `Its record has ${bytes} bytes, more than the engine reads. Raise pipelines.max-size to run such pipelines.`
    }
    if (!this.#suspects.delete(id)) return undefined
    this.#onTrial.add(id)
    if (store.countInterruption(id) <= mostInterruptions) return undefined
    this.#onTrial.delete(id)
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

  succeeds(what: string): void {
    this.#failures.delete(what)
  }
}
