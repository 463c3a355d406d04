/** Rate limits: responses report the quota; requests beyond it are rejected. */
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { BoundedMap } from '../caches/bounded-map.ts'
import { GatewayError } from '../errors.ts'
import type { RequestStep } from '../http/request-state.ts'
import type { Redis } from '../redis/redis.ts'
import { type ChargeResult, type Counters, costIn, MemoryCounters } from './counters.ts'
import { type CallerIdentity, createCallerIndex, identifyCaller, type LimitedCaller, type LimitKind } from './limited-caller.ts'
import { RedisCounters } from './redis-counters.ts'
import { noRunTimeLimits, type RunTimeLimits, RunTimeLimitsReader } from './run-time-limits.ts'
import type { RateLimitSettings } from './settings.ts'

interface LimitSurroundings {
  readonly redis: Redis | undefined
  readonly log: FastifyBaseLogger
  readonly now: () => number
  readonly onLimited: (limited: { kind: LimitKind; enforced: boolean }) => void
  readonly onUncounted: () => void
}

const maxNotices = 10_000
/** A service that rejects requests for a while does not report for how long. */
const upstreamResetMs = 5000

/**
 * For after the login. Adds the headers `X-RateLimit-*` to the answer of every request that is counted.
 *
 * @see docs/contracts/http.md#rate-limits
 */
export class RequestLimit implements RequestStep {
  readonly name = 'limitRequests'
  readonly #surroundings: LimitSurroundings
  readonly #callerOf: ReturnType<typeof createCallerIndex>
  readonly #counters: Counters
  readonly #runTimeLimits: RunTimeLimitsReader | undefined
  readonly #toldUntilMs = new BoundedMap<string, number>(maxNotices)

  constructor(settings: RateLimitSettings, surroundings: LimitSurroundings) {
    this.#surroundings = surroundings
    this.#callerOf = createCallerIndex(settings)
    const { log, now, onUncounted } = surroundings
    const redis = settings.shared ? surroundings.redis : undefined
    const own = new MemoryCounters(now)
    const fallback = settings.countsAlone ? own : undefined
    this.#counters = redis === undefined ? own : new RedisCounters({ redis, log, fallback, onUncounted })
    this.#runTimeLimits = redis && new RunTimeLimitsReader({ redis, log, now })
  }

  run(request: FastifyRequest): Promise<void> | undefined {
    const cost = request.state.route?.cost ?? 0
    if (cost === 0) return undefined
    const identified = identifyCaller(request)
    const runTime = this.#runTimeLimits?.of(identified.names) ?? noRunTimeLimits
    if (!(runTime instanceof Promise)) return this.#count(request, identified, runTime, cost)
    return runTime.then((known) => this.#count(request, identified, known, cost))
  }

  #count(request: FastifyRequest, identified: CallerIdentity, runTime: RunTimeLimits, cost: number): Promise<void> | undefined {
    const caller = this.#callerOf(identified, request.state.token, runTime)
    if (caller === undefined) return undefined
    const { key, periodMs, counts } = caller
    const result = this.#counters.charge({ key, periodMs, cost, counts })
    if (result instanceof Promise) return result.then((known) => known && this.#judge(request, caller, cost, known))
    this.#judge(request, caller, cost, result)
    return undefined
  }

  #judge(request: FastifyRequest, caller: LimitedCaller, cost: number, { used, fits, remainingMs }: ChargeResult): void {
    const left = caller.counts.map(({ capacity }, index) => Math.max(0, capacity - (used[index] ?? 0)))
    const decisive = fits
      ? left.indexOf(Math.min(...left))
      : caller.counts.findIndex((count, index) => (left[index] ?? 0) < costIn(count, cost))
    const count = caller.counts[decisive]
    if (count === undefined) return
    const { now, onLimited } = this.#surroundings
    const untilMs = now() + remainingMs
    Object.assign(request.state.answerHeaders, toHeaders(count.capacity, left[decisive] ?? 0, untilMs, caller.learning))
    if (fits) return
    onLimited({ kind: count.kind, enforced: !caller.learning })
    this.#tell(request, caller, count, untilMs)
    if (!caller.learning) throw tooMany(caller, count, remainingMs)
  }

  #tell({ state }: FastifyRequest, { key, name, learning, periodMs }: LimitedCaller, count: Limit, untilMs: number): void {
    const { log, now } = this.#surroundings
    if ((this.#toldUntilMs.get(key) ?? 0) > now()) return
    this.#toldUntilMs.set(key, untilMs)
    const { kind, capacity } = count
    log.warn(
      { kind, caller: name, token: state.token?.id, capacity, periodMs, learning },
      learning ? 'requests beyond the limit would be refused' : 'requests beyond the limit are refused',
    )
  }
}

function tooMany({ name, periodMs }: LimitedCaller, { kind, capacity }: Limit, remainingMs: number): GatewayError {
  const seconds = Math.ceil(remainingMs / 1000)
  return new GatewayError(
    'RATE_LIMITED',
    `Too many requests: ${kind === 'token' ? 'this API token' : name} may send ${capacity} in ` +
      `${periodMs / 1000} seconds, of which an expensive one uses several. Try again in ${seconds} seconds.`,
    { headers: { 'retry-after': String(seconds) } },
  )
}

/**
 * Labels what a service refuses because there are too many requests, so that clients wait there, too.
 *
 * @param now Milliseconds since the epoch
 */
export function labelUpstreamLimits(server: FastifyInstance, now: () => number): void {
  server.addHook('onSend', (request, reply, _payload, done) => {
    // Without an operation, it was the gateway itself that refused.
    if (reply.statusCode === 429 && request.state.operation !== undefined) {
      reply.headers(toHeaders(-1, 0, now() + upstreamResetMs, false))
    }
    done()
  })
}

type Limit = LimitedCaller['counts'][number]

/** A date has no milliseconds: rounded up, so that clients do not retry too early. */
function toHeaders(capacity: number, remaining: number, resetMs: number, learning: boolean): Record<string, string> {
  return {
    'X-RateLimit-Capacity': String(capacity),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': new Date(Math.ceil(resetMs / 1000) * 1000).toUTCString(),
    'X-RateLimit-Learning': String(learning),
  }
}
