/** Rate limits: responses report the quota; requests beyond it are rejected. */

import { hash } from 'node:crypto'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { networkOf } from '../http/forwarded.ts'
import type { PresentedToken, RequestStep } from '../http/request-state.ts'
import { type ChargeResult, type Count, type Counters, costIn, MemoryCounters } from './counters.ts'
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
    this.#counters =
      redis === undefined ? own : new RedisCounters({ redis, log, fallback, onUncounted })
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

  #count(
    request: FastifyRequest,
    identified: CallerIdentity,
    runTime: RunTimeLimits,
    cost: number,
  ): Promise<void> | undefined {
    const caller = this.#callerOf(identified, request.state.token, runTime)
    if (caller === undefined) return undefined
    const { key, periodMs, counts } = caller
    const result = this.#counters.charge({ key, periodMs, cost, counts })
    if (result instanceof Promise)
      return result.then((known) => known && this.#applyCharge(request, caller, cost, known))
    this.#applyCharge(request, caller, cost, result)
    return undefined
  }

  #applyCharge(
    request: FastifyRequest,
    caller: LimitedCaller,
    cost: number,
    { used, fits, remainingMs }: ChargeResult,
  ): void {
    const left = caller.counts.map(({ capacity }, index) =>
      Math.max(0, capacity - (used[index] ?? 0)),
    )
    const decisive = fits
      ? left.indexOf(Math.min(...left))
      : caller.counts.findIndex((count, index) => (left[index] ?? 0) < costIn(count, cost))
    const count = caller.counts[decisive]
    if (count === undefined) return
    const { now, onLimited } = this.#surroundings
    const untilMs = now() + remainingMs
    Object.assign(
      request.state.answerHeaders,
      toHeaders(count.capacity, left[decisive] ?? 0, untilMs, caller.learning),
    )
    if (fits) return
    onLimited({ kind: count.kind, enforced: !caller.learning })
    this.#tell(request, caller, count, untilMs)
    if (!caller.learning) throw tooMany(caller, count, remainingMs)
  }

  #tell(
    { state }: FastifyRequest,
    { key, name, learning, periodMs }: LimitedCaller,
    count: Limit,
    untilMs: number,
  ): void {
    const { log, now } = this.#surroundings
    if ((this.#toldUntilMs.get(key) ?? 0) > now()) return
    this.#toldUntilMs.set(key, untilMs)
    const { kind, capacity } = count
    log.warn(
      { kind, caller: name, token: state.token?.id, capacity, periodMs, learning },
      learning
        ? 'requests beyond the limit would be refused'
        : 'requests beyond the limit are refused',
    )
  }
}

function tooMany(
  { name, periodMs }: LimitedCaller,
  { kind, capacity }: Limit,
  remainingMs: number,
): GatewayError {
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
function toHeaders(
  capacity: number,
  remaining: number,
  resetMs: number,
  learning: boolean,
): Record<string, string> {
  return {
    'X-RateLimit-Capacity': String(capacity),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': new Date(Math.ceil(resetMs / 1000) * 1000).toUTCString(),
    'X-RateLimit-Learning': String(learning),
  }
}

type LimitKind = 'user' | 'app' | 'address' | 'token'

interface LimitedCaller {
  /** User, client program, or `anonymous-` and an address. */
  readonly name: string
  readonly key: string
  readonly periodMs: number
  /** The caller's own count first, then that of the API token, if it has one. */
  readonly counts: readonly (Count & { readonly kind: LimitKind })[]
  readonly learning: boolean
}

/** The web UI; it sends many requests for one person. */
const ui = 'deck'
const maxNameLength = 200

function createCallerIndex(
  settings: RateLimitSettings,
): (
  identified: CallerIdentity,
  token: PresentedToken | undefined,
  runTime: RunTimeLimits,
) => LimitedCaller | undefined {
  const capacities = byName(settings.capacities)
  const periodsMs = byName(settings.periodsMs)
  const tokenCapacities = new Map(Object.entries(settings.tokenCapacities))
  const enforcing = new Set(settings.enforcing.flatMap(toListed))
  const ignoring = new Set(settings.ignoring.flatMap(toListed))

  function countToken(token: PresentedToken | undefined): LimitedCaller['counts'] {
    const capacity = token && (tokenCapacities.get(token.id) ?? settings.tokenCapacity)
    return capacity === undefined ? [] : [{ kind: 'token', field: `token:${token?.id}`, capacity }]
  }

  /** Callers listed in Redis are not looked up in the configuration. */
  function isLearning(names: readonly string[], runTime: RunTimeLimits): boolean {
    const isListed = names.some((name) => runTime.enforcing.has(name) || runTime.ignoring.has(name))
    const lists = isListed ? runTime : { enforcing, ignoring }
    if (names.some((name) => lists.enforcing.has(name))) return false
    return (runTime.learning ?? settings.learning) || names.some((name) => lists.ignoring.has(name))
  }

  /** What is said about the user counts before what is said about the program, wherever it stands. */
  function capacityOf(names: readonly string[], runTime: RunTimeLimits): number {
    const own = names.map((name) => runTime.capacities.get(name) ?? capacities.get(name))
    return own.find((capacity) => capacity !== undefined) ?? settings.capacity
  }

  return function callerOf({ kind, name, key, names, isUi }, token, runTime) {
    if (isUi && !enforcing.has(`app:${ui}`) && !runTime.enforcing.has(`app:${ui}`)) return undefined
    return {
      name,
      key: `${kind}:${shorten(key)}`,
      periodMs: firstOf(names, runTime.periodsMs) ?? firstOf(names, periodsMs) ?? settings.periodMs,
      counts: [{ kind, field: 'all', capacity: capacityOf(names, runTime) }, ...countToken(token)],
      learning: isLearning(names, runTime),
    }
  }
}

interface CallerIdentity {
  readonly kind: LimitKind
  readonly name: string
  readonly key: string
  readonly names: readonly string[]
  readonly isUi: boolean
}

/** Kinds are part of the key, so a program or address named like a user cannot use up the requests of that user. */
function identifyCaller(request: FastifyRequest): CallerIdentity {
  const { user, clientAddress } = request.state
  const app = appOf(request)
  const isUi = app?.toLowerCase() === ui
  const programs = app === undefined ? [] : [...new Set([`app:${app}`, `app:${app.toLowerCase()}`])]
  if (user !== undefined && user.method !== 'anonymous') {
    const { username } = user
    const key = toUserKey(username)
    const names = key === username ? [username] : [username, key]
    return { kind: 'user', name: username, key, names: [...names, ...programs], isUi }
  }
  if (user !== undefined && app !== undefined) {
    return { kind: 'app', name: app, key: app, names: [app, user.username, ...programs], isUi }
  }
  const key = `anonymous-${networkOf(clientAddress)}`
  return {
    kind: 'address',
    name: `anonymous-${clientAddress}`,
    key,
    names: ['anonymous', ...programs],
    isUi,
  }
}

/** Names under which settings are found: of a program without regard to case, as Gate does, of a user in every spelling. */
function toListed(name: string): string[] {
  return name.startsWith('app:') ? [name.toLowerCase()] : [name, toUserKey(name)]
}

/** What is said about a user in the very spelling counts before what is said in another. */
function byName(values: Readonly<Record<string, number>>): Map<string, number> {
  const found = new Map<string, number>()
  for (const [name, value] of Object.entries(values))
    for (const listed of toListed(name)) found.getOrInsert(listed, value)
  for (const [name, value] of Object.entries(values)) if (found.has(name)) found.set(name, value)
  return found
}

function appOf({ headers }: FastifyRequest): string | undefined {
  const app = headers['x-ratelimit-app']
  return typeof app === 'string' && app !== '' ? app : undefined
}

function firstOf(names: readonly string[], table: ReadonlyMap<string, number>): number | undefined {
  return names.map((name) => table.get(name)).find((value) => value !== undefined)
}

/** Clients choose the name of their program, and a long one would cost memory. */
function shorten(name: string): string {
  return name.length <= maxNameLength ? name : hash('sha256', name, 'hex')
}
