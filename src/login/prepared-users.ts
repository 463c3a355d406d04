/** Cache of users whose credentials come with every request. */
import { createCache, type ExpiringCache, loadOnce } from '../caches/expiring-cache.ts'
import type { User } from '../http/request-state.ts'

const cacheMs = 20_000
const maxCached = 1000

export class PreparedUsers {
  readonly #now: () => number
  readonly #users: ExpiringCache<Promise<User>>

  /** @param now Milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
    this.#users = createCache({ maxSize: maxCached, ttlMs: cacheMs, now })
  }

  /**
   * The user under the key; prepared once for requests that come together, and again when that was a while ago. A failure
   * reaches the waiting requests and is not cached.
   */
  get(key: string, prepare: () => Promise<User>, untilMs = this.#now() + cacheMs): Promise<User> {
    return loadOnce(this.#users, key, prepare, untilMs - this.#now())
  }
}
