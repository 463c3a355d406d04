/** Versions of executions, for validators, and the feed of changes for event streams. */
import { hash, randomUUID } from 'node:crypto'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { summarizeExecution, summarizeTask } from '@fairlead/ports/run-summary.ts'
import type { Execution, ExecutionType } from './model.ts'

interface ExecutionChange {
  /** Counts all changes of this engine. */
  readonly sequence: number
  readonly id: string
  readonly type: ExecutionType
  readonly application: string
  /** Undefined once it was removed. Only while the listener is called. */
  readonly summary: (() => string) | undefined
}

/** A change as it is kept: which execution, and when. */
export type ExecutionVersion = Omit<ExecutionChange, 'summary'>

const maxKept = 20_000

/** Versions count from the start of the process: together with `epoch` they name a state for good. */
export class ExecutionChanges {
  /** Another text after each start. */
  readonly epoch = randomUUID().slice(0, 8)
  /** Newest last. */
  readonly #executions = new BoundedMap<string, ExecutionVersion>(maxKept)
  readonly #listeners = new Set<(change: ExecutionChange) => void>()
  #sequence = 0

  /** Called after the transaction that has changed or removed it. */
  note(
    { id, type, application }: Pick<Execution, 'id' | 'type' | 'application'>,
    summary: ExecutionChange['summary'],
  ): void {
    const version = { sequence: ++this.#sequence, id, type, application }
    this.#executions.set(id, version)
    for (const listen of this.#listeners) listen({ ...version, summary })
  }

  /** What was not changed for long shares a version with all that is as old: it is never lower than that of its last change. */
  versionOf(id: string): string {
    return this.#format(this.#executions.get(id)?.sequence ?? this.#floor())
  }

  /** Changes with each of a list, and with their order. */
  versionOfAll(ids: readonly string[], form = ''): string {
    const versions = ids.map((id) => `${id} ${this.#executions.get(id)?.sequence ?? this.#floor()}`)
    return `${this.epoch}.${hash('sha1', [form, ...versions].join('\n'), 'base64url')}`
  }

  /** Changes with every execution and task. */
  version(): string {
    return this.#format(this.#sequence)
  }

  /** The last change of each execution after a version, oldest first; undefined when they are not known any more. */
  since(version: string): ExecutionVersion[] | undefined {
    const [epoch, digits = ''] = version.split('.')
    const sequence = /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
    if (
      epoch !== this.epoch ||
      sequence === undefined ||
      sequence > this.#sequence ||
      sequence < this.#floor()
    )
      return undefined
    return [...this.#executions.values()].filter((change) => change.sequence > sequence)
  }

  /** @returns a function that ends it */
  listen(listener: (change: ExecutionChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #floor(): number {
    return this.#executions.size < maxKept
      ? 0
      : (this.#executions.values().next().value?.sequence ?? 0) - 1
  }

  #format(sequence: number): string {
    return `${this.epoch}.${sequence}`
  }
}

export function summaryOf(execution: Execution): string {
  return execution.type === 'PIPELINE'
    ? summarizeExecution({ ...execution })
    : summarizeTask({ ...execution })
}
