/** Server groups as the overview of an application shows them. */

import { asGiven, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { byAge } from '@fairlead/model/environments/running.ts'
import type { Schemas } from '../api/schema.d.ts'
import { isFullName } from '../manifests/object.ts'
import { instanceStatus, type Status } from './execution.ts'
import { toWords } from './names.ts'

export type ServerGroup = Schemas['ServerGroup']
export type Instance = Schemas['Instance']

export function isEnabled(group: ServerGroup): boolean {
  return !(group.isDisabled ?? group.disabled ?? false)
}

export function accountOf({
  account,
  accountName,
}: {
  account?: string | null
  accountName?: unknown
}): string {
  return account ?? scalarOf(accountName) ?? ''
}

/** Where its address leads. */
export function groupPlace(group: ServerGroup) {
  return { account: accountOf(group), region: group.region, name: group.name }
}

export function instancesOf(group: ServerGroup): readonly Instance[] {
  return group.instances ?? []
}

/** Where names have a kind, addresses take them instead of ids. */
export function instanceId({ id, name, humanReadableName }: Instance): string {
  return [name, humanReadableName].find((text) => text != null && isFullName(text)) ?? id ?? name
}

export function countsOf(group: ServerGroup): { readonly total: number; readonly up: number } {
  const instances = instancesOf(group)
  return {
    total: numberOf(group.instanceCounts?.total) ?? instances.length,
    up:
      numberOf(group.instanceCounts?.up) ??
      instances.filter(({ healthState }) => healthState === 'Up').length,
  }
}

const readContent = shape({
  buildInfo: shape({ images: textsOf, package_name: scalarOf, version: scalarOf }),
  launchConfig: shape({ imageId: scalarOf }),
  image: shape({ name: scalarOf }),
})

/** What runs in it: image and version. */
export function versionOf(group: ServerGroup): string | undefined {
  const { buildInfo, launchConfig, image } = readContent(group)
  const { images, package_name: name, version } = buildInfo
  return name !== undefined && version !== undefined
    ? `${name}:${version}`
    : (images[0] ?? launchConfig.imageId ?? image.name)
}

/** `v007` where the name has a number. */
export function versionIn(name: string): string {
  return /v\d{3,}$/.exec(name)?.[0] ?? name
}

const toNamed = shape({ name: scalarOf })

export function loadBalancersOf(group: ServerGroup): readonly string[] {
  return (group.loadBalancers ?? []).flatMap(
    (balancer) => scalarOf(balancer) ?? toNamed(balancer).name ?? [],
  )
}

/** Details of a server group may lack what the list has. */
export function clusterOf(group: ServerGroup): string {
  return group.cluster ?? group.moniker?.cluster ?? group.name.replace(/-v\d{3,}$/, '')
}

/** What server groups are put together by. */
export type Grouping = 'cluster' | 'region' | 'image'

const groupings: Readonly<Record<Grouping, (group: ServerGroup) => string>> = {
  cluster: clusterOf,
  region: ({ region }) => region,
  image: (group) => versionOf(group) ?? '',
}

export type Cluster = ReturnType<typeof toClusters>[number]

/** Groups of a cluster by region, newest first. */
export function toClusters(groups: readonly ServerGroup[], by: Grouping = 'cluster') {
  const byCluster = Map.groupBy(groups, (group) => `${accountOf(group)}\n${groupings[by](group)}`)
  const clusters = [...byCluster].map(([key, members]) => {
    const [account = '', name = ''] = key.split('\n')
    const sorted = members.toSorted((a, b) => a.region.localeCompare(b.region) || byAge(a, b))
    return { account, name, groups: sorted as readonly ServerGroup[] }
  })
  return clusters.toSorted(byName)
}

type Named = Readonly<Record<'account' | 'name', string>>

function byName(a: Named, b: Named) {
  return a.name.localeCompare(b.name) || a.account.localeCompare(b.account)
}

/** `batch` names a cluster and its neighbours in the list, which are read in one call: `account:cluster`, comma-separated. */
export type ClusterName = ReturnType<typeof toClusterNames>[number]

const clustersPerCall = 10

/** @param byAccount Names of clusters by account, as `GET /applications/{application}/clusters` has them. */
export function toClusterNames(byAccount: Readonly<Record<string, readonly string[]>>) {
  const all = Object.entries(byAccount).flatMap(([account, names]) =>
    names.map((name) => ({ account, name })),
  )
  const sorted = all.toSorted(byName)
  return sorted.map(({ account, name }, at) => {
    const first = at - (at % clustersPerCall)
    const batch = sorted
      .slice(first, first + clustersPerCall)
      .map((each) => `${each.account}:${each.name}`)
    return { account, name, batch: batch.join() }
  })
}

type Query = Readonly<Record<string, string>>

/** What filters of the overview compare, by their name in its address. */
export const filterValues = {
  account: accountOf,
  region: ({ region }: ServerGroup) => region,
  stack: ({ moniker }: ServerGroup) => moniker?.stack ?? '',
  health: (group: ServerGroup) => (countsOf(group).up === countsOf(group).total ? 'up' : 'down'),
  disabled: (group: ServerGroup) => String(!isEnabled(group)),
}

/** Whether the address of the overview leaves the group in its list. */
export function matches(group: ServerGroup, query: Query): boolean {
  const texts = [group.name, accountOf(group), group.region, versionOf(group) ?? '']
  return (
    texts.some((text) => text.toLowerCase().includes((query['q'] ?? '').toLowerCase())) &&
    Object.entries(filterValues).every(
      ([name, toValue]) => query[name] === undefined || toValue(group) === query[name],
    )
  )
}

/** For clusters whose server groups are not read; the text may also name one of those. */
export function matchesCluster(
  { account, name }: Named,
  { q = '', account: chosen = account }: Query,
): boolean {
  const wanted = q.toLowerCase()
  const cluster = name.toLowerCase()
  // Kubernetes puts a kind before the name, another one for the server group.
  const base = cluster.slice(cluster.lastIndexOf(' ') + 1)
  const version = wanted.slice(wanted.lastIndexOf(base) + base.length)
  const isGroup = wanted.includes(base) && /^-v\d*$/.test(version)
  return (
    account === chosen &&
    (cluster.includes(wanted) || account.toLowerCase().includes(wanted) || isGroup)
  )
}

/** Groups of the same cluster in the same account and region. */
export function siblingsOf(
  group: ServerGroup,
  all: readonly ServerGroup[],
): readonly ServerGroup[] {
  const key = (one: ServerGroup) => [accountOf(one), one.region, clusterOf(one)].join('\n')
  return all.filter((other) => other.name !== group.name && key(other) === key(group))
}

/**
 * Server groups that serve beside one to go back to; objects with manifests have revisions instead.
 *
 * @param clusters Only of these: environments and runs share accounts. All unless given
 */
export function toRollBack(
  groups: readonly ServerGroup[],
  clusters?: readonly { account: string; region: string; cluster: string }[],
): readonly ServerGroup[] {
  return groups.filter(
    (group) =>
      (clusters?.some(
        ({ account, region, cluster }) =>
          account === accountOf(group) && region === group.region && cluster === clusterOf(group),
      ) ??
        true) &&
      !isFullName(group.name) &&
      isEnabled(group) &&
      countsOf(group).total > 0 &&
      siblingsOf(group, groups).length > 0,
  )
}

/** Server groups that share a load balancer with it, whatever their cluster, and itself. */
export function sharersOf(group: ServerGroup, all: readonly ServerGroup[]): readonly ServerGroup[] {
  const key = (one: ServerGroup) => [accountOf(one), one.region].join('\n')
  const fronts = new Set(loadBalancersOf(group))
  return all.filter(
    (other) => key(other) === key(group) && loadBalancersOf(other).some((name) => fronts.has(name)),
  )
}

const toChecks = objectList(
  shape({
    type: or(scalarOf, ''),
    state: asGiven,
    description: scalarOf,
    message: scalarOf,
    failedStarts: or(numberOf, 0),
    loadBalancers: objectList(shape({ healthState: asGiven, description: scalarOf })),
  }),
)

/** One that ends again and again before it is ready is no starting one, and a pod that has done its work is not down. */
export function statusOfInstance({ health, healthState }: Instance): Status {
  const checks = healthState === 'Up' ? [] : toChecks(health)
  const down = checks.filter(({ state }) => state === 'Down')
  if (checks.some(({ failedStarts }) => failedStarts > 0))
    return { kind: 'failed', word: 'failing to start' }
  const isDone = down.length > 0 && down.every(({ description }) => description === 'Completed')
  return instanceStatus(isDone ? 'Succeeded' : healthState)
}

/** Why an instance is not up, in the words of its checks. */
export function healthReason(instance: Instance): string | undefined {
  const checks = toChecks(instance.health).filter(
    ({ state }) => state !== 'Up' && state !== 'Unknown',
  )
  for (const { type, description, message, loadBalancers } of checks) {
    const balancer = loadBalancers.find(({ healthState }) => healthState !== 'Up')
    const text = balancer?.description ?? description ?? message
    if (text !== undefined) return `${toWords(type)}: ${text}`
  }
  return undefined
}

const toEvent = shape({
  /** Providers write milliseconds, or a date. */
  atMs: [
    (value) => (numberOf(value) ?? numberOf(Date.parse(scalarOf(value) ?? ''))) || undefined,
    'startTime',
    'createdAt',
    'lastTimestamp',
    'firstTimestamp',
    'timestamp',
    'at',
  ],
  text: [or(scalarOf, ''), 'description', 'message', 'text', 'reason'],
  cause: scalarOf,
  state: [scalarOf, 'statusCode', 'status', 'type'],
})
const toEventList = objectList(toEvent)

/** What happened to a server group and its instances, as providers write it in different words; newest first. */
export function toEvents(events: unknown, instances: readonly Instance[] = []) {
  const ofInstances = instances.flatMap((one) =>
    toEventList(one['events']).map((event) => ({ ...event, instance: instanceId(one) })),
  )
  const ofGroup = toEventList(events).map((event) => ({ ...event, instance: undefined }))
  return [...ofGroup, ...ofInstances].toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0))
}
