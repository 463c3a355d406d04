/** Limits that operators change in Redis while the gateway runs, under the keys of Gate. */

import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { createCache, type ExpiringCache } from '@fairlead/base/caches/expiring-cache.ts'
import { adviceFor, isWrongType, type Redis } from '@fairlead/base/redis/redis.ts'
import type { FastifyBaseLogger } from 'fastify'
import { withTimeout } from './redis-counters.ts'

export interface RunTimeLimits {
  /** Requests by user, client program (`app:name`) or `anonymous`. */
  readonly capacities: ReadonlyMap<string, number>
  readonly periodsMs: ReadonlyMap<string, number>
  /** Callers in one of these two lists are not looked up in those of the configuration. */
  readonly enforcing: ReadonlySet<string>
  readonly ignoring: ReadonlySet<string>
  readonly learning: boolean | undefined
}

export const noRunTimeLimits: RunTimeLimits = {
  capacities: new Map(),
  periodsMs: new Map(),
  enforcing: new Set(),
  ignoring: new Set(),
  learning: undefined,
}

export const runTimeLimitKeys = {
  capacity: 'rateLimit:capacity:',
  rateSeconds: 'rateLimit:rateSeconds:',
  enforcing: 'rateLimit:enforcing',
  ignoring: 'rateLimit:ignoring',
  learning: 'rateLimit:learning',
}

/** What was read counts so long. After a failure one request in this time asks again, and does not wait. */
const freshMs = 5000
/** Callers choose their names: beyond so many, all of them are read anew. */
const maxCached = 10_000
const maxNameLength = 200
const maxComplaints = 1000
const maxRateSeconds = 86_400
const forAll = 'all'

interface RunTimeLimitsOptions {
  redis: Redis
  log: FastifyBaseLogger
  now: () => number
}

interface OwnLimits {
  readonly capacity: number | undefined
  readonly periodMs: number | undefined
}

type Lists = Pick<RunTimeLimits, 'enforcing' | 'ignoring' | 'learning'>

export class RunTimeLimitsReader {
  readonly #options: RunTimeLimitsOptions
  readonly #ofNames: ExpiringCache<OwnLimits>
  readonly #lists: ExpiringCache<Lists>
  readonly #bad = new BoundedMap<string, true>(maxComplaints)
  #pausedUntilMs = -Infinity
  #failing = false

  constructor(options: RunTimeLimitsOptions) {
    this.#options = options
    const { now } = options
    this.#ofNames = createCache({ maxSize: maxCached, ttlMs: freshMs, now })
    this.#lists = createCache({ maxSize: 1, ttlMs: freshMs, now })
  }

  /**
   * At once when what is remembered is fresh, or Redis cannot be asked: what was read last counts then.
   *
   * @param names Under which limits may be set, such as `alice` and `app:batch`
   */
  of(names: readonly string[]): RunTimeLimits | Promise<RunTimeLimits> {
    const { redis, now } = this.#options
    const nowMs = now()
    const stale = names.filter(
      (name) => name.length <= maxNameLength && this.#ofNames.get(name) === undefined,
    )
    const isFresh = stale.length === 0 && this.#lists.get(forAll) !== undefined
    const isGone = redis.wasReached() && !redis.isReachable()
    const isPaused = nowMs < this.#pausedUntilMs && this.#pausedUntilMs <= nowMs + freshMs
    if (isGone || isPaused || isFresh) return this.#known(names)
    const read = this.#read(stale, nowMs)
    if (!this.#failing) return read.then(() => this.#known(names))
    this.#pausedUntilMs = nowMs + freshMs
    return this.#known(names)
  }

  #known(names: readonly string[]): RunTimeLimits {
    const capacities = new Map<string, number>()
    const periodsMs = new Map<string, number>()
    for (const name of names) {
      const own = this.#ofNames.peek(name, { allowStale: true })
      if (own?.capacity !== undefined) capacities.set(name, own.capacity)
      if (own?.periodMs !== undefined) periodsMs.set(name, own.periodMs)
    }
    return {
      ...(this.#lists.peek(forAll, { allowStale: true }) ?? noRunTimeLimits),
      capacities,
      periodsMs,
    }
  }

  async #read(names: readonly string[], nowMs: number): Promise<void> {
    try {
      const [lists, ...own] = await withTimeout(
        Promise.all([this.#readLists(), ...names.map((name) => this.#readOwn(name))] as const),
      )
      this.#lists.set(forAll, lists)
      for (const [index, name] of names.entries()) this.#ofNames.set(name, own[index] as OwnLimits)
      this.#failing = false
      this.#pausedUntilMs = -Infinity
    } catch (error) {
      this.#pausedUntilMs = nowMs + freshMs
      if (this.#failing) return
      this.#failing = true
      const advice = adviceFor(error as Error)
      const what =
        'limits that are set in Redis cannot be read; those that were read last count, else the configuration'
      this.#options.log.error({ err: error }, advice === undefined ? what : `${what}: ${advice}`)
    }
  }

  async #readLists(): Promise<Lists> {
    const [enforcing, ignoring, learning] = await Promise.all([
      this.#ask('smembers', runTimeLimitKeys.enforcing),
      this.#ask('smembers', runTimeLimitKeys.ignoring),
      this.#ask('get', runTimeLimitKeys.learning),
    ])
    return {
      enforcing: toSet(enforcing),
      ignoring: toSet(ignoring),
      learning: this.#toFlag(learning),
    }
  }

  async #readOwn(name: string): Promise<OwnLimits> {
    const [capacity, seconds] = await Promise.all([
      this.#ask('get', runTimeLimitKeys.capacity + name),
      this.#ask('get', runTimeLimitKeys.rateSeconds + name),
    ])
    const periodSeconds = this.#toNumber(
      runTimeLimitKeys.rateSeconds + name,
      seconds,
      1,
      maxRateSeconds,
    )
    return {
      capacity: this.#toNumber(
        runTimeLimitKeys.capacity + name,
        capacity,
        0,
        Number.MAX_SAFE_INTEGER,
      ),
      periodMs: periodSeconds === undefined ? undefined : periodSeconds * 1000,
    }
  }

  async #ask(command: 'get' | 'smembers', key: string): Promise<unknown> {
    try {
      return await this.#options.redis.send(command, key)
    } catch (error) {
      if (!isWrongType(error)) throw error
      this.#ignore(key, command === 'get' ? 'not a text' : 'not a set')
      return undefined
    }
  }

  #toNumber(key: string, value: unknown, least: number, most: number): number | undefined {
    if (typeof value !== 'string') return undefined
    const number = /^\d{1,15}$/.test(value.trim()) ? Number(value) : Number.NaN
    if (number >= least && number <= most) return number
    this.#ignore(key, value)
    return undefined
  }

  #toFlag(value: unknown): boolean | undefined {
    if (typeof value !== 'string') return undefined
    const word = value.trim().toLowerCase()
    if (word === 'true' || word === 'false') return word === 'true'
    this.#ignore(runTimeLimitKeys.learning, value)
    return undefined
  }

  #ignore(key: string, value: string): void {
    const complaint = `${key} ${value}`
    if (this.#bad.has(complaint)) return
    this.#bad.set(complaint, true)
    this.#options.log.warn(
      { key, value: value.slice(0, 100) },
      'a limit that is set in Redis is ignored, as it is not usable',
    )
  }
}

function toSet(members: unknown): ReadonlySet<string> {
  return new Set(Array.isArray(members) ? members.map(String) : [])
}
