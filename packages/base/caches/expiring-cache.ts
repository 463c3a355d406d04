/** Caches of bounded size whose entries expire. */
import { LRUCache } from 'lru-cache'

export type ExpiringCache<V extends {}> = LRUCache<string, V>

interface CacheOptions {
  maxSize: number
  /** 0: nothing is found again. */
  ttlMs: number
  /** Milliseconds since the epoch. */
  now: () => number
}

/** `peek` with `allowStale` also returns what has expired, until it is evicted. */
export function createCache<V extends {}>({ maxSize, ttlMs, now }: CacheOptions): ExpiringCache<V> {
  return new LRUCache<string, V>({
    max: maxSize,
    ttl: toLength(ttlMs),
    ttlResolution: 0,
    noDeleteOnStaleGet: true,
    perf: { now: toForwardClock(now, ttlMs) },
  })
}

/**
 * The cached promise, or that of `load`, which requests that come together share. A failure reaches them and is not cached.
 *
 * @param ttlMs The cache's own unless given
 */
export function loadOnce<T>(
  cache: ExpiringCache<Promise<T>>,
  key: string,
  load: () => Promise<T>,
  ttlMs?: number,
): Promise<T> {
  const known = cache.get(key)
  if (known !== undefined) return known
  const loading = load()
  if (ttlMs !== undefined && ttlMs <= 0) return loading
  cache.set(key, loading, ttlMs === undefined ? {} : { ttl: toLength(ttlMs) })
  loading.catch(() => forget(cache, key, loading))
  return loading
}

/** Removes an entry, unless another one has taken its place. */
export function forget<V extends {}>(cache: ExpiringCache<V>, key: string, value: V): void {
  if (cache.peek(key) === value) cache.delete(key)
}

/** An entry of exactly this age still counts for the library, and one of no length would never expire. */
function toLength(ttlMs: number): number {
  return Math.max(1, ttlMs - 1)
}

/** Entries from before the clock was set back have expired. It never shows 0, the library's word for no time. */
function toForwardClock(now: () => number, ttlMs: number): () => number {
  let latestMs = Number.NEGATIVE_INFINITY
  let aheadMs = 1
  return () => {
    const nowMs = now()
    // The library knows no length of 0: time passes with each look instead.
    if (ttlMs <= 0) aheadMs += 2
    if (nowMs < latestMs) aheadMs += latestMs - nowMs + ttlMs
    latestMs = nowMs
    return nowMs + aheadMs
  }
}
