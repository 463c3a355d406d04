/** The rate limit as it is configured: counted in this process, or by all replicas in Redis. */
import type { RequestStep } from '../http/request-state.ts'
import type { Redis } from '../redis/redis.ts'
import { type Counters, MemoryCounters } from './counters.ts'
import { type LimitSurroundings, RequestLimit } from './limit-requests.ts'
import { RedisCounters } from './redis-counters.ts'
import { RunTimeLimitsReader } from './run-time-limits.ts'
import type { RateLimitSettings } from './settings.ts'

interface RateLimitParts extends Omit<LimitSurroundings, 'counters' | 'runTimeLimits'> {
  /** Counters that the processes of a data directory share; those of this process unless given. */
  readonly own: Counters | undefined
  readonly redis: Redis | undefined
  /** Told about each request that Redis did not count. */
  readonly onUncounted: () => void
}

/** No step where it is switched off. */
export function createRateLimit(settings: RateLimitSettings, parts: RateLimitParts): RequestStep[] {
  if (!settings.enabled) return []
  const { log, now, onUncounted } = parts
  const redis = settings.shared ? parts.redis : undefined
  const own = parts.own ?? new MemoryCounters(now)
  if (redis === undefined) return [new RequestLimit(settings, { ...parts, counters: own })]
  const counters = new RedisCounters({ redis, log, fallback: settings.countsAlone ? own : undefined, onUncounted })
  return [new RequestLimit(settings, { ...parts, counters, runTimeLimits: new RunTimeLimitsReader({ redis, log, now }) })]
}
