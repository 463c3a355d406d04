/** Whose requests are counted together, how many there may be, and whether too many are refused. */
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../network.ts'
import type { PresentedToken } from '../request-state.ts'
import type { Count } from './counters.ts'
import type { RateLimitSettings } from './settings.ts'

/** What a count belongs to, as the metric calls it. */
export type LimitKind = 'user' | 'app' | 'address' | 'token'

export interface LimitedCaller {
  /** User, client program, or `anonymous-` and an address. */
  readonly name: string
  /** Names the window in which the requests of the caller are counted. */
  readonly key: string
  readonly periodMs: number
  /** The caller's own count first, then that of the API token, if it has one. */
  readonly counts: readonly (Count & { readonly kind: LimitKind })[]
  /** Too many requests are counted and labelled, and not refused. */
  readonly learning: boolean
}

/** The web UI; it sends many requests for one person. */
const ui = 'deck'
const maxNameLength = 200

/**
 * Prepares the settings. The result is undefined for requests that are not limited.
 *
 * @see HTTP conventions, section 5.1
 */
export function createCallerIndex(settings: RateLimitSettings): (request: FastifyRequest) => LimitedCaller | undefined {
  const capacities = new Map(Object.entries(settings.capacities))
  const periodsMs = new Map(Object.entries(settings.periodsMs))
  const tokenCapacities = new Map(Object.entries(settings.tokenCapacities))
  const enforcing = new Set(settings.enforcing)
  const ignoring = new Set(settings.ignoring)

  function countToken(token: PresentedToken | undefined): LimitedCaller['counts'] {
    const capacity = token && (tokenCapacities.get(token.id) ?? settings.tokenCapacity)
    return capacity === undefined ? [] : [{ kind: 'token', field: `token:${token?.id}`, capacity }]
  }

  return function callerOf(request) {
    const app = appOf(request)
    if (app?.toLowerCase() === ui && !enforcing.has(`app:${ui}`)) return undefined
    const { kind, name, key, aliases } = identify(request, app)
    const names = [name, ...aliases, ...(app === undefined ? [] : [`app:${app}`])]
    const capacity = firstOf(names, capacities) ?? settings.capacity
    return {
      name,
      key: `${kind}:${shorten(key)}`,
      periodMs: firstOf(names, periodsMs) ?? settings.periodMs,
      counts: [{ kind, field: 'all', capacity }, ...countToken(request.state.token)],
      learning: !names.some((one) => enforcing.has(one)) && (settings.learning || names.some((one) => ignoring.has(one))),
    }
  }
}

interface Identified {
  kind: LimitKind
  name: string
  key: string
  /** Other names under which settings may be found. */
  aliases: string[]
}

/** Kinds are part of the key, so nobody uses up the requests of a user by naming a program or an address like one. */
function identify({ state }: FastifyRequest, app: string | undefined): Identified {
  const { user, clientAddress } = state
  if (user !== undefined && user.method !== 'anonymous') {
    return { kind: 'user', name: user.username, key: user.username, aliases: [] }
  }
  if (user !== undefined && app !== undefined) return { kind: 'app', name: app, key: app, aliases: [user.username] }
  const name = `anonymous-${clientAddress}`
  return { kind: 'address', name, key: `anonymous-${networkOf(clientAddress)}`, aliases: ['anonymous'] }
}

function appOf({ headers }: FastifyRequest): string | undefined {
  const app = headers['x-ratelimit-app']
  return typeof app === 'string' && app !== '' ? app : undefined
}

function firstOf(names: readonly string[], table: ReadonlyMap<string, number>): number | undefined {
  if (table.size === 0) return undefined
  const name = names.find((one) => table.has(one))
  return name === undefined ? undefined : table.get(name)
}

/** Clients choose the name of their program, and a long one would cost memory. */
function shorten(name: string): string {
  return name.length <= maxNameLength ? name : hash('sha256', name, 'hex')
}
