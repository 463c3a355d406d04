/** Shares of traffic: their notes on server groups and routes, weights of routes, numbers of replicas. */
import {
  definedOf,
  fieldAt,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
} from '../../../../../json/values.ts'
import { annotationOf } from './annotations.ts'

/** What a server group has of the traffic, and how. */
export const shareAnnotation = 'fairlead/traffic-share'
/** Of a route: the weights that it had, and the shares that its services have now. */
export const routeAnnotation = 'fairlead/traffic-shares'
/** Of the pods of a server group that has a service of its own. */
export const shareLabel = 'fairlead/traffic-share'

export interface GroupShare {
  /** Undefined: its number of replicas makes room for the share of another one. */
  readonly percent?: number
  /** With weights of routes: its own service by the service that it is behind. */
  readonly services?: Readonly<Record<string, string>>
  /** With numbers of replicas: how many it had, and how many it was given. */
  readonly before?: number
  readonly given?: number
  /** It was created with its share: its replicas take the places of others. */
  readonly isNew?: boolean
}

export function shareOf(object: JsonObject): GroupShare | undefined {
  const noted = parsed(annotationOf(object, shareAnnotation))
  return isObject(noted) ? (noted as GroupShare) : undefined
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The most that a route may give. */
const mostWeight = 1_000_000

export interface RouteShare {
  /** The service that the server group is behind, and that of its own. */
  readonly service: string
  readonly own: string
  /** Undefined: the share ends. */
  readonly percent: number | undefined
}

interface RouteNotes {
  /** Weights of the backends before the first share, by the positions of rule and backend. */
  readonly weights: Readonly<Record<string, number>>
  /** Percentages of own services, by the service whose requests they take. */
  readonly shares: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export interface SharedRoute {
  readonly rules: readonly JsonObject[]
  /** Text of the annotation; undefined: there is no share any more. */
  readonly notes: string | undefined
}

/** Whether a route of the namespace sends requests to the service. */
export function routesTo(route: JsonObject, service: string): boolean {
  return objectsOf(fieldAt(route, 'spec', 'rules')).some(({ backendRefs }) =>
    objectsOf(backendRefs).some((ref) => isService(ref, service)),
  )
}

function isService({ name, kind, group, namespace }: JsonObject, service: string): boolean {
  return name === service && (kind ?? 'Service') === 'Service' && !group && namespace === undefined
}

/** A route in which the own service takes its percentage of what the service got. */
export function withShare(route: JsonObject, { service, own, percent }: RouteShare): SharedRoute {
  const before = notesOf(route)
  const { [own]: _former, ...others } = before.shares[service] ?? {}
  const shares = { ...before.shares, [service]: { ...others, ...(percent !== undefined && { [own]: percent }) } }
  const owned = new Set(Object.values(before.shares).flatMap((each) => Object.keys(each)))
  const hasShares = Object.values(shares).some((each) => Object.keys(each).length > 0)
  const weights: Record<string, number> = {}
  const rules = objectsOf(fieldAt(route, 'spec', 'rules')).map((rule, index) => {
    const originals = objectsOf(rule['backendRefs']).filter(({ name }) => !owned.has(String(name)))
    if (!originals.some((ref) => isService(ref, String(ref['name'])) && Object.hasOwn(shares, String(ref['name'])))) return rule
    const weighed = originals.map((ref, position) => {
      const key = `${index}/${position}`
      const weight = before.weights[key] ?? numberOf(ref['weight']) ?? 1
      weights[key] = weight
      return { ref, weight }
    })
    const backendRefs = hasShares ? sharedRefs(weighed, shares) : weighed.map(({ ref, weight }) => ({ ...ref, weight }))
    return { ...rule, backendRefs }
  })
  return { rules, notes: hasShares ? JSON.stringify({ weights, shares }) : undefined }
}

function notesOf(route: JsonObject): RouteNotes {
  const noted = parsed(annotationOf(route, routeAnnotation))
  return { weights: objectOf(fieldAt(noted, 'weights')), shares: objectOf(fieldAt(noted, 'shares')) } as unknown as RouteNotes
}

function sharedRefs(
  weighed: readonly { readonly ref: JsonObject; readonly weight: number }[],
  shares: RouteNotes['shares'],
): JsonObject[] {
  const refs = weighed.flatMap(({ ref, weight }) => {
    const name = textOf(ref['name']) ?? ''
    const taken = isService(ref, name) ? Object.entries(shares[name] ?? {}) : []
    const left = taken.reduce((rest, [, percent]) => rest - percent, 100)
    return [
      { ref, weight: weight * Math.max(0, left) },
      ...taken.map(([own, percent]) => ({ ref: { ...ref, name: own }, weight: weight * percent })),
    ]
  })
  const scale = Math.min(1, mostWeight / Math.max(...refs.map(({ weight }) => weight), 1))
  return refs.map(({ ref, weight }) => ({ ...ref, weight: Math.round(weight * scale) }))
}

export interface SharingGroup {
  readonly replicas: number
  readonly share: GroupShare | undefined
}

export interface SizedGroup {
  readonly replicas: number
  /** Undefined: it is as it was. */
  readonly share: GroupShare | undefined
}

/**
 * Numbers of replicas that come near the shares; their sum stays what it was without new ones. One that has a share has at least one
 * replica, and so have the others unless the shares are all there is.
 */
export function sizedByShares(groups: readonly SharingGroup[]): SizedGroup[] {
  const befores = groups.map(beforeOf)
  const sumOf = (counts: (group: SharingGroup) => boolean) =>
    groups.reduce((sum, group, index) => sum + (counts(group) ? (befores[index] ?? 0) : 0), 0)
  const total = sumOf(({ share }) => share?.isNew !== true) || sumOf(() => true)
  const isOver = groups.every(({ share }) => share?.percent === undefined)
  if (isOver) return befores.map((replicas) => ({ replicas, share: undefined }))
  const fixed = groups.map(({ share }) => {
    const percent = share?.percent
    return percent === undefined || percent === 0 ? percent : Math.max(1, Math.round((total * percent) / 100))
  })
  const left = total - fixed.reduce<number>((sum, each) => sum + (each ?? 0), 0)
  const isAll = groups.reduce((sum, { share }) => sum + (share?.percent ?? 0), 0) >= 100
  const rest = divided(
    befores.map((before, index) => (fixed[index] === undefined ? before : 0)),
    isAll ? 0 : Math.max(0, left),
    isAll ? 0 : 1,
  )
  return groups.map(({ share }, index) => {
    const replicas = fixed[index] ?? rest[index] ?? 0
    const { percent, isNew } = share ?? {}
    return { replicas, share: { ...definedOf({ percent, isNew }), before: befores[index] ?? 0, given: replicas } }
  })
}

/** Where a user has scaled it since, that counts. */
function beforeOf({ replicas, share }: SharingGroup): number {
  return share?.before !== undefined && share.given === replicas ? share.before : replicas
}

/** In proportion to the weights, each that has one at least `least`. */
function divided(weights: readonly number[], amount: number, least: number): number[] {
  const sum = weights.reduce((all, each) => all + each, 0)
  const exact = weights.map((weight) => (sum === 0 ? 0 : (amount * weight) / sum))
  const whole = exact.map((each, index) => (weights[index] === 0 ? 0 : Math.max(least, Math.floor(each))))
  let open = amount - whole.reduce((all, each) => all + each, 0)
  const byRemainder = exact
    .map((each, index) => ({ index, rest: each - Math.floor(each) }))
    .sort((one, other) => other.rest - one.rest)
  for (const { index } of byRemainder) {
    if (open <= 0) break
    if (weights[index] === 0) continue
    whole[index] = (whole[index] ?? 0) + 1
    open--
  }
  return whole
}
