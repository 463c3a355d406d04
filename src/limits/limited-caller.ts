/** The unit of a rate limit: user, program or token, with its capacity. */
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../http/network.ts'
import type { PresentedToken } from '../http/request-state.ts'
import { toUserKey } from '../names/user-name.ts'
import type { Count } from './counters.ts'
import type { RunTimeLimits } from './run-time-limits.ts'
import type { RateLimitSettings } from './settings.ts'

export type LimitKind = 'user' | 'app' | 'address' | 'token'

export interface LimitedCaller {
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

export function createCallerIndex(
  settings: RateLimitSettings,
): (identified: CallerIdentity, token: PresentedToken | undefined, runTime: RunTimeLimits) => LimitedCaller | undefined {
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

export interface CallerIdentity {
  readonly kind: LimitKind
  readonly name: string
  readonly key: string
  readonly names: readonly string[]
  readonly isUi: boolean
}

/** Kinds are part of the key, so a program or address named like a user cannot use up the requests of that user. */
export function identifyCaller(request: FastifyRequest): CallerIdentity {
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
  return { kind: 'address', name: `anonymous-${clientAddress}`, key, names: ['anonymous', ...programs], isUi }
}

/** Names under which settings are found: of a program without regard to case, as Gate does, of a user in every spelling. */
function toListed(name: string): string[] {
  return name.startsWith('app:') ? [name.toLowerCase()] : [name, toUserKey(name)]
}

/** What is said about a user in the very spelling counts before what is said in another. */
function byName(values: Readonly<Record<string, number>>): Map<string, number> {
  const found = new Map<string, number>()
  for (const [name, value] of Object.entries(values)) for (const listed of toListed(name)) found.getOrInsert(listed, value)
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
