/**
 * Conditional reads of embedded services that were just answered with 304: as long as nothing has changed there, the same
 * question has the same answer, and no service is asked.
 */

import { BoundedMap } from '../bounded-map.ts'
import type { ServiceName } from '../upstreams/services.ts'
import { type StateCounts, statePartOf } from '../upstreams/state-counts.ts'

interface KnownRead {
  readonly tag: string
  readonly counts: StateCounts
  readonly ofExecutions: boolean
  readonly ofInfrastructure: boolean
  readonly untilMs: number
}

/** A read that is about to be made. */
export interface ConditionalRead {
  /** All that its answer depends on, besides the state of the services. */
  readonly key: string
  /** Before the services were asked. */
  readonly counts: StateCounts
}

interface UnchangedReadsOptions {
  /** Undefined: whether something has changed is not known at present. */
  readonly counts: () => StateCounts | undefined
  /** Told for each read that needed no call. */
  readonly onKnown: (service: ServiceName) => void
  /** Monotonic, milliseconds. */
  readonly now?: () => number
}

const maxKnown = 2000
const maxKeyLength = 1500
/** Time alone changes little, such as which runs are too old for a list, and that is shown later by this much at most. */
const keptMs = 30_000

export class UnchangedReads {
  readonly #counts: () => StateCounts | undefined
  readonly #onKnown: (service: ServiceName) => void
  readonly #now: () => number
  readonly #known = new BoundedMap<string, KnownRead>(maxKnown)

  constructor({ counts, onKnown, now = () => performance.now() }: UnchangedReadsOptions) {
    this.#counts = counts
    this.#onKnown = onKnown
    this.#now = now
  }

  /** Undefined where its answer must not be kept. */
  begin(key: string): ConditionalRead | undefined {
    const counts = this.#counts()
    return counts === undefined || key.length > maxKeyLength ? undefined : { key, counts }
  }

  /** The validator by which the answer is 304 again. */
  find({ key, counts }: ConditionalRead): string | undefined {
    const known = this.#known.get(key)
    if (known === undefined) return undefined
    const isSame =
      known.counts[0] === counts[0] &&
      (!known.ofExecutions || known.counts[1] === counts[1]) &&
      (!known.ofInfrastructure || known.counts[2] === counts[2])
    if (!isSame || known.untilMs < this.#now()) {
      this.#known.delete(key)
      return undefined
    }
    this.#onKnown(known.ofExecutions ? 'orca' : known.ofInfrastructure ? 'clouddriver' : 'front50')
    return known.tag
  }

  /** @param services Those that were asked; none: what they store otherwise has been read before */
  note({ key, counts }: ConditionalRead, tag: string, services: readonly string[]): void {
    const parts = services.map(statePartOf)
    const ofInfrastructure = parts.length === 0 || parts.includes('infrastructure')
    const untilMs = this.#now() + keptMs
    this.#known.set(key, { tag, counts, ofExecutions: parts.includes('executions'), ofInfrastructure, untilMs })
  }
}
