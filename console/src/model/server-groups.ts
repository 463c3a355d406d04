/** Server groups as the overview of an application shows them. */
import type { components } from '../api/schema.d.ts'
import { isFullName } from '../manifests/names.ts'
import { numberOf, objectOf, objectsOf, textOf, textsOf } from './read.ts'
import { instanceStatus, type Status } from './status.ts'

type Schemas = components['schemas']
export type ServerGroup = Schemas['ServerGroup']
export type Instance = Schemas['Instance']

export interface Cluster {
  readonly account: string
  readonly name: string
  /** By region, newest first. */
  readonly groups: readonly ServerGroup[]
  readonly up: number
  readonly down: number
}

export interface Counts {
  readonly total: number
  readonly up: number
  readonly down: number
  readonly other: number
}

export function isEnabled(group: ServerGroup): boolean {
  return !(group.isDisabled ?? group.disabled ?? false)
}

export function accountOf(group: ServerGroup): string {
  return group.account ?? textOf(group['accountName']) ?? ''
}

/** Where its address leads. */
export function groupPlace(group: ServerGroup): { readonly account: string; readonly region: string; readonly name: string } {
  return { account: accountOf(group), region: group.region, name: group.name }
}

export function instancesOf(group: ServerGroup): readonly Instance[] {
  return group.instances ?? []
}

/** Where names have a kind, addresses take them instead of ids. */
export function instanceId({ id, name, humanReadableName }: Instance): string {
  return [name, humanReadableName].find((text) => text != null && isFullName(text)) ?? id ?? name
}

export function countsOf(group: ServerGroup): Counts {
  const counts = group.instanceCounts ?? {}
  const states = instancesOf(group).map(({ healthState }) => healthState)
  const total = numberOf(counts.total) ?? states.length
  const up = numberOf(counts.up) ?? states.filter((state) => state === 'Up').length
  const down = numberOf(counts.down) ?? states.filter((state) => state === 'Down').length
  return { total, up, down, other: Math.max(0, total - up - down) }
}

/** What runs in it: image and version. */
export function versionOf(group: ServerGroup): string | undefined {
  const build = objectOf(group.buildInfo)
  const image = textsOf(build['images'])[0]
  const [name, version] = [textOf(build['package_name']), textOf(build['version'])]
  if (name !== undefined && version !== undefined) return `${name}:${version}`
  return image ?? textOf(objectOf(group.launchConfig)['imageId']) ?? textOf(objectOf(group.image)['name'])
}

/** `v007` where the name has a number. */
export function shortName(group: ServerGroup): string {
  return /v\d{3,}$/.exec(group.name)?.[0] ?? group.name
}

export function loadBalancersOf(group: ServerGroup): readonly string[] {
  return (group.loadBalancers ?? []).flatMap((balancer) => textOf(balancer) ?? textOf(objectOf(balancer)['name']) ?? [])
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

export function toClusters(groups: readonly ServerGroup[], by: Grouping = 'cluster'): readonly Cluster[] {
  const byCluster = Map.groupBy(groups, (group) => `${accountOf(group)}\n${groupings[by](group)}`)
  const clusters = [...byCluster].map(([key, members]): Cluster => {
    const [account = '', name = ''] = key.split('\n')
    const counts = members.filter(isEnabled).map(countsOf)
    return {
      account,
      name,
      groups: members.toSorted((a, b) => a.region.localeCompare(b.region) || (b.createdTime ?? 0) - (a.createdTime ?? 0)),
      up: counts.reduce((sum, { up }) => sum + up, 0),
      down: counts.reduce((sum, { down }) => sum + down, 0),
    }
  })
  return clusters.toSorted((a, b) => a.name.localeCompare(b.name) || a.account.localeCompare(b.account))
}

/** Names of clusters, in the order of the list, as they are read: so many in one call. */
export interface ClusterName {
  readonly account: string
  readonly name: string
  /** `account:cluster` of this one and of its neighbours, comma-separated. */
  readonly batch: string
}

const clustersPerCall = 10

/** @param byAccount Names of clusters by account, as `GET /applications/{application}/clusters` has them. */
export function toClusterNames(byAccount: Readonly<Record<string, readonly string[]>>): readonly ClusterName[] {
  const all = Object.entries(byAccount).flatMap(([account, names]) => names.map((name) => ({ account, name })))
  const sorted = all.toSorted((a, b) => a.name.localeCompare(b.name) || a.account.localeCompare(b.account))
  return sorted.map(({ account, name }, at) => {
    const first = at - (at % clustersPerCall)
    const batch = sorted.slice(first, first + clustersPerCall).map((each) => `${each.account}:${each.name}`)
    return { account, name, batch: batch.join() }
  })
}

/** What the address of the overview leaves of its server groups; empty values leave all. */
export interface GroupFilter {
  readonly q?: string
  readonly account?: string
  readonly region?: string
  readonly stack?: string
  readonly health?: string
  readonly disabled?: string
}

export function matches(group: ServerGroup, { q = '', account, region, stack, health, disabled }: GroupFilter): boolean {
  const wanted = q.toLowerCase()
  const texts = [group.name, accountOf(group), group.region, versionOf(group) ?? '']
  const { total, up } = countsOf(group)
  return (
    texts.some((text) => text.toLowerCase().includes(wanted)) &&
    (account === undefined || accountOf(group) === account) &&
    (region === undefined || group.region === region) &&
    (stack === undefined || stackOf(group) === stack) &&
    (health === undefined || (health === 'up') === (up === total)) &&
    (disabled === undefined || (disabled === 'true') !== isEnabled(group))
  )
}

export function stackOf({ moniker }: ServerGroup): string {
  return moniker?.stack ?? ''
}

/** For clusters whose server groups are not read; the text may also name one of those. */
export function matchesCluster({ account, name }: ClusterName, { q = '', account: chosen }: GroupFilter): boolean {
  const wanted = q.toLowerCase()
  const cluster = name.toLowerCase()
  // Kubernetes puts a kind before the name, another one for the server group.
  const base = cluster.slice(cluster.lastIndexOf(' ') + 1)
  const version = wanted.slice(wanted.lastIndexOf(base) + base.length)
  const isGroup = wanted.includes(base) && /^-v\d*$/.test(version)
  return (
    (chosen === undefined || account === chosen) &&
    (cluster.includes(wanted) || account.toLowerCase().includes(wanted) || isGroup)
  )
}

/** Groups of the same cluster in the same account and region. */
export function siblingsOf(group: ServerGroup, all: readonly ServerGroup[]): readonly ServerGroup[] {
  return all.filter(
    (other) =>
      other.name !== group.name &&
      other.region === group.region &&
      accountOf(other) === accountOf(group) &&
      clusterOf(other) === clusterOf(group),
  )
}

/** Those that would take the traffic. */
export function servingSiblings(group: ServerGroup, all: readonly ServerGroup[]): readonly ServerGroup[] {
  return siblingsOf(group, all).filter((other) => isEnabled(other) && countsOf(other).up > 0)
}

/** One that ends again and again before it is ready is no starting one. */
export function statusOfInstance({ health, healthState }: Instance): Status {
  const isFailing = healthState !== 'Up' && objectsOf(health).some(({ failedStarts }) => (numberOf(failedStarts) ?? 0) > 0)
  return isFailing ? { kind: 'failed', word: 'fails to start' } : instanceStatus(healthState)
}

/** Why an instance is not up, in the words of its checks. */
export function healthReason(instance: Instance): string | undefined {
  const checks = objectsOf(instance.health).filter(({ state }) => state !== 'Up' && state !== 'Unknown')
  for (const check of checks) {
    const balancer = objectsOf(check['loadBalancers']).find(({ healthState }) => healthState !== 'Up')
    const text = textOf(balancer?.['description']) ?? textOf(check['description']) ?? textOf(check['message'])
    if (text !== undefined) return `${textOf(check['type']) ?? ''}: ${text}`
  }
  return undefined
}
