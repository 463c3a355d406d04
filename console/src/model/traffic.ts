/** Server groups of a cluster as a picture: their instances, and how they share the traffic, now or when a run ended. */
import { asGiven, objectList, shape, withAll } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf } from '@fairlead/base/json/values.ts'
import { byAge } from '@fairlead/model/environments/running.ts'
import type { Deployment } from './deployment.ts'
import { instanceStatus, type Status } from './execution.ts'
import {
  countsOf,
  type Instance,
  instanceId,
  instancesOf,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  sharersOf,
  statusOfInstance,
  versionIn,
  versionOf,
} from './server-groups.ts'

export type PictureGroup = ReturnType<typeof picturesThen>[number]

/** `id` is unknown for an instance that is gone. */
type InstanceState = Status & { readonly id?: string }

function healthWords(states: readonly Status[]) {
  const counts = Map.groupBy(states, ({ word }) => word)
  return [...counts].map(([word, { length }]) => `${length} ${word}`).join(', ') || 'no instance'
}

function isFronted(...groups: readonly ServerGroup[]) {
  return groups.some((group) => loadBalancersOf(group).length > 0)
}

const maxGroups = 3

interface PictureParts {
  /** Names of the new ones; without any, the newest of several counts as new. */
  readonly fresh?: readonly string[]
  /** Only these of the server groups without traffic are shown, where given. */
  readonly old?: readonly string[]
  /** Server groups of other clusters among them may share the traffic. */
  readonly all?: readonly ServerGroup[]
}

/** The present: newest last. */
export function picturesOf(
  groups: readonly ServerGroup[],
  parts: PictureParts = {},
): readonly PictureGroup[] {
  const { fresh = [], old, all = groups } = parts
  const sorted = groups
    .filter(
      (group) =>
        isEnabled(group) || fresh.includes(group.name) || (old?.includes(group.name) ?? true),
    )
    .toSorted((a, b) => byAge(b, a) || a.name.localeCompare(b.name))
  const newest = sorted.length > 1 ? sorted.at(-1) : undefined
  const isNew = (group: ServerGroup) =>
    fresh.length > 0 ? fresh.includes(group.name) : group === newest
  // What neither serves nor is new is left out where two others have more to show.
  const quiet = sorted.filter(
    (group) => !isNew(group) && (!isEnabled(group) || countsOf(group).total === 0),
  )
  const dropped = new Set(quiet.slice(0, Math.max(0, sorted.length - 2)))
  const shown = sorted.filter((group) => !dropped.has(group)).slice(-maxGroups)
  return shown.map((group) => {
    const states = instancesOf(group).map((instance) => ({
      ...statusOfInstance(instance),
      id: instanceId(instance),
    }))
    const share = isFronted(...shown) ? shareOf(group, sharersOf(group, all)) : undefined
    const outcome = isEnabled(group) ? undefined : 'disabled'
    return {
      group,
      isNew: isNew(group),
      isGone: false,
      version: versionOf(group),
      states,
      health: healthWords(states),
      share,
      outcome,
    }
  })
}

/** Its own share of the traffic; what the shares leave goes to the others, by their instances. */
export function shareOf(group: ServerGroup, groups: readonly ServerGroup[]): number {
  const own = percentOf(group)
  if (own !== undefined) return isEnabled(group) ? own / 100 : 0
  const fixed = groups.reduce(
    (sum, other) => sum + (isEnabled(other) ? (percentOf(other) ?? 0) / 100 : 0),
    0,
  )
  const others = groups.reduce(
    (sum, other) => sum + (percentOf(other) === undefined ? inServiceOf(other) : 0),
    0,
  )
  return ((1 - fixed) * inServiceOf(group)) / Math.max(1, others)
}

const toSharers = objectList(
  withAll(
    shape({
      instances: objectList(
        shape({
          name: String,
          healthState: [
            (health) => (toRecord(health).state === 'InService' ? 'Up' : 'OutOfService'),
            'health',
          ],
        }),
      ),
    }),
  ),
)

const toRecord = shape({ state: asGiven, loadBalancers: objectList(shape({ state: asGiven })) })

/** What a load balancer reports of those that it sends requests to, as lists of server groups have it. */
export function sharersIn(balancer: JsonObject | undefined): readonly ServerGroup[] {
  const { name, account, region } = balancer ?? {}
  return toSharers(balancer?.['serverGroups']).map(
    ({ all, instances }) =>
      ({ account, region, ...all, loadBalancers: [name], instances }) as ServerGroup,
  )
}

const percentOf = (group: ServerGroup) => numberOf(group['trafficPercent'])

/** Instances that get requests of a load balancer. */
function inServiceOf(group: ServerGroup) {
  if (!isEnabled(group) || !isFronted(group)) return 0
  const instances = instancesOf(group)
  return instances.length === 0 ? countsOf(group).up : instances.filter(isInService).length
}

function isInService({ health, healthState }: Instance) {
  const records = (health ?? []).flatMap((record) => toRecord(record).loadBalancers)
  return records.length === 0
    ? healthState === 'Up'
    : records.some(({ state }) => state === 'InService')
}

/** The end of the run, whatever has happened since. @param others That share its load balancers now */
export function picturesThen(
  deployment: Deployment,
  groups: readonly ServerGroup[],
  others: readonly ServerGroup[] = [],
) {
  const { fresh, old, outcomes, shares, desired, version, account, region, hasFailed } = deployment
  const foundOf = (name: string): ServerGroup | undefined =>
    groups.find((group) => group.name === name)
  const outcomeOf = (name: string) =>
    outcomes.get(name) ?? (hasFailed && fresh.includes(name) ? 'failed' : undefined)
  const totalOf = (name: string, found = foundOf(name)) =>
    (fresh.includes(name) ? desired : undefined) ?? (found && countsOf(found).total)
  const serving = [...fresh, ...old].filter((name) => outcomeOf(name) === undefined)
  const rest = serving.filter((name) => shares.get(name) === undefined)
  const free = 1 - serving.reduce((sum, name) => sum + (shares.get(name) ?? 0), 0) / 100
  /** Undefined where the run does not say it: others had a part of it, or how many instances shared it is not known. */
  const shareThen = (name: string) => {
    const own = shares.get(name)
    if (own !== undefined) return own / 100
    if (others.some((other) => inServiceOf(other) > 0)) return undefined
    const all = rest.reduce((sum, each) => sum + (totalOf(each) ?? Number.NaN), 0)
    const share = rest.length === 1 ? free : (free * (totalOf(name) ?? 0)) / all
    return Number.isNaN(share) ? undefined : share
  }
  return [...old.slice(1 - maxGroups), ...fresh].map((name) => {
    const isNew = fresh.includes(name)
    const found = foundOf(name)
    const outcome = outcomeOf(name)
    const total = totalOf(name) ?? 0
    const state = instanceStatus(outcome === undefined ? 'Up' : 'OutOfService')
    const states = Array<InstanceState>(outcome === 'removed' ? 0 : total).fill(state)
    return {
      group: found ?? { name, account, region },
      isNew,
      /** The run tells of it, and it is gone. */
      isGone: found === undefined,
      version: (found && versionOf(found)) ?? (isNew ? version : undefined),
      /** States of its instances. */
      states,
      /** "2 up, 1 starting"; undefined where it is not known. */
      health: found === undefined && !isNew ? undefined : healthWords(states),
      /** From 0 to 1; undefined where no load balancer stands in front of any of them. */
      share: isFronted(...groups) ? (outcome === undefined ? shareThen(name) : 0) : undefined,
      /** Such as "disabled"; undefined where it serves. */
      outcome,
    }
  })
}

/** The picture in one sentence, for the head of it and for readers. */
export function sentenceOf(pictures: readonly PictureGroup[]): string {
  const parts = pictures.map(({ group, health, share, outcome }) => {
    const part =
      share === 1
        ? 'all traffic'
        : share === 0
          ? 'no traffic'
          : `${percent(share ?? 0)} of the traffic`
    const traffic = share === undefined ? 'runs' : `takes ${part}`
    return `${versionIn(group.name)} ${[outcome === undefined ? traffic : `is ${outcome}`, health].filter(Boolean).join(', ')}`
  })
  return `${parts.toReversed().join('; ')}.`
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
