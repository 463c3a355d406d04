/** Server groups as the overview of an application shows them. */
import type { Schemas } from '../api/client.ts'
import { numberOf, objectOf, objectsOf, textOf, textsOf } from './read.ts'

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

export function instancesOf(group: ServerGroup): readonly Instance[] {
  return group.instances ?? []
}

export function instanceId(instance: Instance): string {
  return instance.id ?? instance.name
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

export function toClusters(groups: readonly ServerGroup[]): readonly Cluster[] {
  const byCluster = Map.groupBy(
    groups,
    (group) => `${accountOf(group)}\n${group.cluster ?? group.moniker?.cluster ?? group.name}`,
  )
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

/** Groups of the same cluster in the same account and region. */
export function siblingsOf(group: ServerGroup, all: readonly ServerGroup[]): readonly ServerGroup[] {
  return all.filter(
    (other) =>
      other.name !== group.name &&
      other.region === group.region &&
      accountOf(other) === accountOf(group) &&
      other.cluster === group.cluster,
  )
}

/** Those that would take the traffic. */
export function servingSiblings(group: ServerGroup, all: readonly ServerGroup[]): readonly ServerGroup[] {
  return siblingsOf(group, all).filter((other) => isEnabled(other) && countsOf(other).up > 0)
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
