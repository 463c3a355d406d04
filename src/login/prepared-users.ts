/** Cache of users whose credentials come with every request. */
import { createCache, loadOnce } from '../caches/expiring-cache.ts'
import type { User } from '../http/request-state.ts'

const cacheMs = 20_000
const maxCached = 1000

/**
 * The user under a key: prepared once for requests that come together, and again when that was a while ago. A failure reaches the
 * waiting requests and is not cached.
 */
export type PrepareOnce = (key: string, prepare: () => Promise<User>, untilMs?: number) => Promise<User>

/** @param now Milliseconds since the epoch. */
export function createPreparedUsers(now: () => number): PrepareOnce {
  const users = createCache<Promise<User>>({ maxSize: maxCached, ttlMs: cacheMs, now })
  return (key, prepare, untilMs = now() + cacheMs) => loadOnce(users, key, prepare, untilMs - now())
}
