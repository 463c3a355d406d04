/** Logins at an identity provider, each completed once although the browser carries its state. */
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'

interface CompletedLoginsOptions {
  /** Shared by replicas; without it, this process knows what it has completed. */
  redis: Redis | undefined
  now: () => number
}

/** The cookie of a login counts as long. */
const completedMs = 60 * 60_000
/** Longer than a provider is waited for. */
const begunMs = 60_000
const maxEntries = 10_000
const redisPrefix = 'fairlead:login:completed:'

export class CompletedLogins {
  readonly #options: CompletedLoginsOptions
  readonly #begun = new BoundedMap<string, number>(maxEntries)
  /** Strangers cannot fill it. After a restart it is the provider that takes each code once. */
  readonly #completed = new BoundedMap<string, number>(maxEntries)

  constructor(options: CompletedLoginsOptions) {
    this.#options = options
  }

  /** False when the login has been completed, or is about to be: a browser may send its answer twice at once. @throws as Redis */
  async begin(id: string): Promise<boolean> {
    if (this.#holds(this.#begun, id)) return false
    this.#begun.set(id, this.#options.now() + begunMs)
    const { redis } = this.#options
    return redis === undefined
      ? !this.#holds(this.#completed, id)
      : (await redis.send('exists', redisPrefix + id)) === 0
  }

  /** In one step; false when it has been completed before. @throws as Redis; the login must fail then */
  async complete(id: string): Promise<boolean> {
    const { redis } = this.#options
    if (redis !== undefined)
      return (await redis.send('set', redisPrefix + id, '1', 'PX', completedMs, 'NX')) === 'OK'
    if (this.#holds(this.#completed, id)) return false
    this.#completed.set(id, this.#options.now() + completedMs)
    return true
  }

  #holds(known: ReadonlyMap<string, number>, id: string): boolean {
    return (known.get(id) ?? 0) > this.#options.now()
  }
}
