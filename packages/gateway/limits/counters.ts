/** Counters of requests in periods of fixed length, in the memory of this process. */
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { isRunning } from '@fairlead/base/settings/time-span.ts'

/** What one request uses up: its cost in each count of one window. A window begins with the first request in it. */
export interface Charge {
  readonly key: string
  readonly periodMs: number
  readonly cost: number
  readonly counts: readonly Count[]
}

export interface Count {
  readonly field: string
  readonly capacity: number
}

export interface ChargeResult {
  /** Whether every count had room. If not, none has been charged, so cheaper requests may still fit. */
  readonly fits: boolean
  readonly used: readonly number[]
  readonly remainingMs: number
}

export interface Counters {
  /** Undefined when unknown; that is no reason to reject. */
  charge(charge: Charge): ChargeResult | Promise<ChargeResult | undefined>
}

/** What a count really loses: even the most expensive request fits into an unused window, unless that has no room at all. */
export function costIn(count: Count, cost: number): number {
  return Math.min(cost, Math.max(count.capacity, 1))
}

/** Beyond it the oldest windows are forgotten, so that many callers cost bounded memory. */
const maxWindows = 50_000

interface Window {
  readonly used: Map<string, number>
  readonly untilMs: number
}

export class MemoryCounters implements Counters {
  readonly #now: () => number
  readonly #windows = new BoundedMap<string, Window>(maxWindows)

  constructor(now: () => number) {
    this.#now = now
  }

  charge({ key, periodMs, cost, counts }: Charge): ChargeResult {
    const nowMs = this.#now()
    const { used, untilMs } = this.#windowOf(key, nowMs, periodMs)
    const before = counts.map(({ field }) => used.get(field) ?? 0)
    const after = counts.map((count, index) => (before[index] ?? 0) + costIn(count, cost))
    const fits = counts.every(({ capacity }, index) => (after[index] ?? 0) <= capacity)
    if (fits) for (const [index, { field }] of counts.entries()) used.set(field, after[index] ?? 0)
    return { fits, used: fits ? after : before, remainingMs: untilMs - nowMs }
  }

  #windowOf(key: string, nowMs: number, periodMs: number): Window {
    const known = this.#windows.get(key)
    if (known !== undefined && isRunning(nowMs, known.untilMs, periodMs)) return known
    const window = { used: new Map<string, number>(), untilMs: nowMs + periodMs }
    this.#windows.set(key, window)
    return window
  }
}
