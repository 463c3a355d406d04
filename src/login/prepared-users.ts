/** Cache of users whose credentials come with every request. */
import { BoundedMap } from '../bounded-map.ts'
import type { User } from '../http/request-state.ts'
import { isRunning } from '../time-span.ts'

const cacheMs = 20_000
const maxCached = 1000

interface CacheEntry {
  readonly user: Promise<User>
  readonly untilMs: number
  /** From when it was prepared until then. */
  readonly lengthMs: number
}

export class PreparedUsers {
  readonly #now: () => number
  readonly #users = new BoundedMap<string, CacheEntry>(maxCached)

  /** @param now Milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * The user under the key; prepared once for requests that come together, and again when that was a while ago. A failure
   * reaches the waiting requests and is not cached.
   */
  get(key: string, prepare: () => Promise<User>, untilMs = this.#now() + cacheMs): Promise<User> {
    const known = this.#users.get(key)
    if (known !== undefined && isRunning(this.#now(), known.untilMs, known.lengthMs)) return known.user
    const entry: CacheEntry = { user: prepare(), untilMs, lengthMs: untilMs - this.#now() }
    entry.user.catch(() => {
      if (this.#users.get(key) === entry) this.#users.delete(key)
    })
    this.#users.set(key, entry)
    return entry.user
  }
}
