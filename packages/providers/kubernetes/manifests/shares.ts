/** Shares of traffic: their notes on server groups and routes, weights of routes, numbers of replicas. */
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  parseObject,
} from '@fairlead/base/json/values.ts'
import { toHead } from '../objects.ts'
import { annotationOf } from './annotations.ts'

/** What a server group has of the traffic, and how. */
export const shareAnnotation = 'fairlead/traffic-share'
/** On a route: its earlier weights, and the current shares of its services. */
export const routeAnnotation = 'fairlead/traffic-shares'
/** On the pods of a server group that has a service of its own. */
export const shareLabel = 'fairlead/traffic-share'

export interface GroupShare {
  /** Undefined: its number of replicas makes room for the share of another one. */
  readonly percent?: number
  /** For weights of routes: the service that takes its requests by the one that it is behind, which may be the same. */
  readonly services?: Readonly<Record<string, string>>
  /** For numbers of replicas: how many it had, and how many it was given. */
  readonly before?: number
  readonly given?: number
  /** It was created with its share: its replicas take the places of others. */
  readonly isNew?: boolean
}

export function shareOf(object: JsonObject): GroupShare | undefined {
  return parseObject(annotationOf(object, shareAnnotation) ?? '') as GroupShare | undefined
}

/** The most that a route may give. */
const mostWeight = 1_000_000

export interface RouteShare {
  readonly service: string
  /** Percentages of its requests, by the services that take them; undefined: that share ends. For itself: those of its route. */
  readonly percents: Readonly<Record<string, number | undefined>>
}

type RouteShares = Readonly<Record<string, Readonly<Record<string, number>>>>

interface RouteNotes {
  /** Weights of the backends before the first share, by the positions of rule and backend. */
  readonly weights: Readonly<Record<string, number>>
  /** Percentages of services that take requests, by the service whose requests they take. */
  readonly shares: RouteShares
}

interface SharedRoute {
  readonly rules: readonly JsonObject[]
  /** Text of the annotation; undefined: there is no share any more. */
  readonly notes: string | undefined
}

export function routesTo(route: JsonObject, service: string): boolean {
  return rulesOf(route).some(({ refs }) => refs.some((ref) => isService(ref, service, route)))
}

/** Whether all its rules with the service have other backends, which get the rest of the requests. */
export function hasOthersBeside(route: JsonObject, service: string): boolean {
  const rules = rulesOf(route).filter(({ refs }) =>
    refs.some((ref) => isService(ref, service, route)),
  )
  return rules.every(({ refs }) => refs.some((ref) => !isService(ref, service, route)))
}

const toRoute = shape({ spec: shape({ rules: objectsOf }) })
const toRule = shape({ backendRefs: objectsOf })

function rulesOf(
  route: JsonObject,
): { readonly rule: JsonObject; readonly refs: readonly JsonObject[] }[] {
  return toRoute(route).spec.rules.map((rule) => ({ rule, refs: toRule(rule).backendRefs }))
}

function isService(
  { name, kind, group, namespace }: JsonObject,
  service: string,
  route: JsonObject,
): boolean {
  const isHere = namespace === undefined || namespace === toHead(route).metadata.namespace
  return name === service && (kind ?? 'Service') === 'Service' && !group && isHere
}

/** A route in which services take their percentages of what the service got. */
export function withShare(route: JsonObject, { service, percents }: RouteShare): SharedRoute {
  const before = notesOf(route)
  const shares = {
    ...before.shares,
    [service]: definedOf({ ...before.shares[service], ...percents }) as Record<string, number>,
  }
  const added = new Set(
    Object.entries(before.shares).flatMap(([of, each]) =>
      Object.keys(each).filter((own) => own !== of),
    ),
  )
  const hasShares = Object.values(shares).some((each) => Object.keys(each).length > 0)
  const weights: Record<string, number> = {}
  const rules = rulesOf(route).map(({ rule, refs }, index) => {
    const originals = refs.filter(({ name }) => !added.has(String(name)))
    const isShared = (ref: JsonObject) =>
      Object.keys(shares).some((name) => isService(ref, name, route))
    if (!originals.some(isShared)) return rule
    const weighed = originals.map((ref, position) => {
      const key = `${index}/${position}`
      const weight = before.weights[key] ?? numberOf(ref['weight']) ?? 1
      weights[key] = weight
      return { ref, weight, taken: isShared(ref) ? (shares[String(ref['name'])] ?? {}) : {} }
    })
    const backendRefs = hasShares
      ? sharedRefs(weighed)
      : weighed.map(({ ref, weight }) => ({ ...ref, weight }))
    return { ...rule, backendRefs }
  })
  return { rules, notes: hasShares ? JSON.stringify({ weights, shares }) : undefined }
}

const toNotes = shape({ weights: objectOf, shares: objectOf })

export function notesOf(route: JsonObject): RouteNotes {
  const noted = parseIfJson(annotationOf(route, routeAnnotation) ?? '')
  return toNotes(noted) as unknown as RouteNotes
}

interface WeighedRef {
  readonly ref: JsonObject
  readonly weight: number
  readonly taken: Readonly<Record<string, number>>
}

function sharedRefs(weighed: readonly WeighedRef[]): JsonObject[] {
  const ownOf = ({ ref, taken }: WeighedRef) => taken[String(ref['name'])]
  const others = weighed.filter((each) => ownOf(each) === undefined)
  const rest = others.reduce((sum, { weight }) => sum + weight, 0) || 1
  const room = 100 - weighed.reduce((sum, each) => sum + (ownOf(each) ?? 0), 0)
  const refs = weighed.flatMap((each) => {
    const { ref, weight, taken } = each
    const own = ownOf(each)
    if (own !== undefined) return [{ ref, weight: rest * own * 100 }]
    const left = Object.values(taken).reduce((all, percent) => all - percent, 100)
    return [
      { ref, weight: weight * Math.max(0, left) * Math.max(0, room) },
      ...Object.entries(taken).map(([name, percent]) => ({
        ref: { ...ref, name },
        weight: weight * percent * Math.max(0, room),
      })),
    ]
  })
  const hundreds = refs.every(({ weight }) => weight % 10_000 === 0) ? 10_000 : 100
  const scale = Math.min(
    1 / hundreds,
    mostWeight / Math.max(...refs.map(({ weight }) => weight), 1),
  )
  return refs.map(({ ref, weight }) => ({ ...ref, weight: Math.round(weight * scale) }))
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
export function sizedByShares(groups: readonly SizedGroup[]): SizedGroup[] {
  const befores = groups.map(beforeOf)
  const sumOf = (counts: (group: SizedGroup) => boolean) =>
    groups.reduce((sum, group, index) => sum + (counts(group) ? (befores[index] ?? 0) : 0), 0)
  const total = sumOf(({ share }) => share?.isNew !== true) || sumOf(() => true)
  const isOver = groups.every(({ share }) => share?.percent === undefined)
  if (isOver) return befores.map((replicas) => ({ replicas, share: undefined }))
  const fixed = groups.map(({ share }) => {
    const percent = share?.percent
    return percent === undefined || percent === 0
      ? percent
      : Math.max(1, Math.round((total * percent) / 100))
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
    return {
      replicas,
      share: { ...definedOf({ percent, isNew }), before: befores[index] ?? 0, given: replicas },
    }
  })
}

/** Where a user has scaled it since, that counts. */
function beforeOf({ replicas, share }: SizedGroup): number {
  return share?.before !== undefined && share.given === replicas ? share.before : replicas
}

/** In proportion to the weights, each that has one at least `least`. */
function divided(weights: readonly number[], amount: number, least: number): number[] {
  const sum = weights.reduce((all, each) => all + each, 0)
  const exact = weights.map((weight) => (sum === 0 ? 0 : (amount * weight) / sum))
  const whole = exact.map((each, index) =>
    weights[index] === 0 ? 0 : Math.max(least, Math.floor(each)),
  )
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
