/** Requests, errors, latency and memory of instances in the last minutes; kept in memory alone. */

import {
  samplePeriodMs,
  type TrafficCounts,
  type TrafficSample,
  type TrafficSamples,
} from '@fairlead/base/net/agent-protocol.ts'

export type InstanceTraffic = readonly [instanceId: string, counts: TrafficCounts]

/** A quarter of an hour. */
const keptSamples = 90

const nothing: TrafficCounts = { requests: 0, errors: 0, latencyUs: 0 }

export class TrafficHistory {
  readonly #samples = new Map<string, TrafficSample[]>()
  /** Counts of the current period. */
  #open = new Map<string, TrafficCounts>()

  count(counts: Iterable<InstanceTraffic>): void {
    for (const [id, { requests, errors, latencyUs }] of counts) {
      const before = this.#open.get(id) ?? nothing
      this.#open.set(id, {
        requests: before.requests + requests,
        errors: before.errors + errors,
        latencyUs: before.latencyUs + latencyUs,
      })
    }
  }

  /** Ends a period. Instances that are named in neither have ended: their samples go with time. */
  record(
    atMs: number,
    counts: Iterable<InstanceTraffic>,
    memory: ReadonlyMap<string, number>,
  ): void {
    this.count(counts)
    for (const id of new Set([...this.#open.keys(), ...memory.keys()])) {
      const samples = this.#samples.get(id) ?? []
      samples.push({ atMs, ...(this.#open.get(id) ?? nothing), memoryBytes: memory.get(id) })
      this.#samples.set(id, samples)
    }
    this.#open = new Map()
    const oldestMs = atMs - keptSamples * samplePeriodMs
    for (const [id, samples] of this.#samples) {
      // The clock may have been set back: then the number of samples is the bound.
      while (
        samples[0] !== undefined &&
        (samples[0].atMs <= oldestMs || samples.length > keptSamples)
      )
        samples.shift()
      if (samples.length === 0) this.#samples.delete(id)
    }
  }

  /** Includes what was counted since the last period ended. */
  samples(nowMs: number): TrafficSamples {
    const all: Record<string, readonly TrafficSample[]> = Object.fromEntries(this.#samples)
    for (const [id, counts] of this.#open) {
      all[id] = [
        ...(all[id] ?? []),
        { atMs: nowMs, ...counts, memoryBytes: undefined, isOpen: true },
      ]
    }
    return all
  }
}
