/** Answers to clients, made of the resources that providers report. */

import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import {
  type Account,
  type Capacity,
  countStates,
  type HealthRecord,
  healthStateOf,
  type Instance,
  type InstanceCounts,
  isAgeing,
  type Job,
  type LoadBalancer,
  type SecurityGroup,
  type ServerGroup,
} from './model.ts'
import type { InfrastructureSettings } from './settings.ts'

/** Accounts whose environment or type is listed are marked for users. */
export type AccountMarks = Omit<InfrastructureSettings, 'providers'>

export function toAccountView(account: Account, marks: AccountMarks): JsonObject {
  return {
    name: account.name,
    environment: account.environment,
    accountType: account.accountType,
    cloudProvider: account.provider,
    requiredGroupMembership: [],
    permissions: account.permissions,
    accountId: account.accountId,
    type: account.provider,
    challengeDestructiveActions: marks.challengedEnvironments.includes(account.environment),
    primaryAccount: marks.primaryAccountTypes.includes(account.accountType),
    ...account.details,
  }
}

function toCapacityView({ min, max, desired }: Capacity): JsonObject {
  return { min, max, desired, pinned: min === max && max === desired }
}

export function instanceCountsOf({ instances }: ServerGroup, nowMs: number): InstanceCounts {
  return countStates(instances.map((instance) => healthStateOf(instance, nowMs)))
}

function toCommonView(group: ServerGroup, nowMs: number): JsonObject {
  return {
    name: group.name,
    account: group.account,
    region: group.region,
    type: group.provider,
    cloudProvider: group.provider,
    cluster: group.moniker.cluster,
    application: group.moniker.app,
    moniker: group.moniker,
    createdTime: group.createdMs,
    isDisabled: group.isDisabled,
    disabled: group.isDisabled,
    capacity: toCapacityView(group.capacity),
    instanceCounts: instanceCountsOf(group, nowMs),
    loadBalancers: group.loadBalancers,
    securityGroups: group.securityGroups,
    targetGroups: [],
    instanceType: group.instanceType,
    vpcId: group.vpcId,
    buildInfo: group.buildInfo,
    serverGroupManagers: group.managers ?? [],
    ...(Object.keys(group.tags).length > 0 && { tags: group.tags }),
    ...(Object.keys(group.labels).length > 0 && { labels: group.labels }),
    ...group.summary,
  }
}

const written = new WeakMap<
  ServerGroup,
  { readonly instances: readonly Instance[]; readonly json: string }
>()

/** JSON for lists of an application. It is written again only for another server group or list of instances. */
export function writeServerGroupSummary(group: ServerGroup, nowMs: number): string {
  const { instances } = group
  const before = written.get(group)
  if (before?.instances === instances) return before.json
  const json = formatJson({
    ...toCommonView(group, nowMs),
    instances: instances.map((instance) => toInstanceSummary(instance, nowMs)),
  })
  if (!instances.some(isAgeing)) written.set(group, { instances, json })
  return json
}

export function toServerGroupView(
  group: ServerGroup,
  nowMs: number,
  hasInstances = true,
): JsonObject {
  return {
    ...toCommonView(group, nowMs),
    accountName: group.account,
    stack: group.moniker.stack,
    freeFormDetail: group.moniker.detail,
    zones: group.zones,
    image: group.image && toImageView(group),
    launchConfig: group.launchConfig,
    ...group.details,
    instances: hasInstances
      ? group.instances.map((instance) => toInstanceView(instance, group, nowMs))
      : [],
  }
}

function toImageView({ image }: ServerGroup): JsonObject | undefined {
  return image && { ...image.details, imageId: image.id, name: image.name }
}

function toInstanceSummary(instance: Instance, nowMs: number): JsonObject {
  return {
    id: instance.id,
    name: instance.humanName,
    healthState: healthStateOf(instance, nowMs),
    launchTime: instance.launchMs,
    zone: instance.zone,
    availabilityZone: instance.zone,
    health: instance.health.map(toHealthSummary),
    ...instance.summary,
  }
}

function toHealthSummary(record: HealthRecord): JsonObject {
  const { loadBalancers } = record
  if (!Array.isArray(loadBalancers)) return record
  const entries = loadBalancers.map(
    ({ loadBalancerName: name, state, description, healthState }: JsonObject) => ({
      name,
      state,
      description,
      healthState,
    }),
  )
  return { ...record, loadBalancers: entries }
}

/** @param group Undefined for an instance that belongs to none */
export function toInstanceView(
  instance: Instance,
  group: ServerGroup | undefined,
  nowMs: number,
): JsonObject {
  return {
    id: instance.id,
    name: instance.id,
    humanReadableName: instance.humanName,
    account: instance.account,
    region: instance.region,
    zone: instance.zone,
    availabilityZone: instance.zone,
    healthState: healthStateOf(instance, nowMs),
    launchTime: instance.launchMs,
    health: instance.health,
    serverGroup: instance.serverGroup,
    cluster: instance.moniker.cluster ?? undefined,
    application: instance.moniker.app ?? undefined,
    loadBalancers: instance.loadBalancers,
    ...(group && {
      cloudProvider: group.provider,
      providerType: group.provider,
      instanceType: group.instanceType,
    }),
    ...instance.summary,
    ...instance.details,
  }
}

/** Element of `GET /applications/{app}/clusters/{account}`: with names only. */
export function toClusterSummary(groups: readonly ServerGroup[]): JsonObject {
  const [first] = groups as readonly [ServerGroup]
  return {
    name: first.moniker.cluster,
    account: first.account,
    moniker: clusterMoniker(first),
    provider: first.provider,
    loadBalancers: loadBalancerNamesOf(groups),
    serverGroups: namesOf(groups),
  }
}

export function toClusterView(
  groups: readonly ServerGroup[],
  loadBalancers: readonly LoadBalancer[],
  nowMs: number,
): JsonObject {
  const [first] = groups as readonly [ServerGroup]
  return {
    name: first.moniker.cluster,
    accountName: first.account,
    type: first.provider,
    application: first.moniker.app,
    moniker: clusterMoniker(first),
    serverGroups: groups.map((group) => toServerGroupView(group, nowMs)),
    loadBalancers: loadBalancers.map(toLoadBalancerView),
    targetGroups: [],
  }
}

function clusterMoniker({ moniker }: ServerGroup): JsonObject {
  const { app, stack, detail, cluster } = moniker
  return { app, stack, detail, cluster, sequence: null }
}

export function namesOf(groups: readonly { readonly name: string }[]): string[] {
  return [...new Set(groups.map(({ name }) => name))].sort()
}

export function loadBalancerNamesOf(groups: readonly ServerGroup[]): string[] {
  return [...new Set(groups.flatMap(({ loadBalancers }) => loadBalancers))].sort()
}

export function toLoadBalancerView(balancer: LoadBalancer): JsonObject {
  const { account, region, provider } = balancer
  return {
    name: balancer.name,
    account,
    region,
    vpcId: balancer.vpcId,
    type: provider,
    cloudProvider: provider,
    moniker: balancer.moniker,
    loadBalancerType: balancer.loadBalancerType,
    labels: {},
    targetGroups: [],
    securityGroups: balancer.securityGroups,
    ...balancer.details,
    serverGroups: balancer.serverGroups.map(({ owned: _, ...group }) => ({
      ...group,
      account,
      region,
      cloudProvider: provider,
    })),
    instances: balancer.serverGroups.flatMap(({ instances }) => instances.map(({ id }) => id)),
  }
}

export function toLoadBalancerItems(balancers: readonly LoadBalancer[]): JsonObject[] {
  return groupInOrder(balancers, ({ name }) => name).map(([name, named]) => ({
    name,
    accounts: groupInOrder(named, ({ account }) => account).map(([account, ofAccount]) => ({
      name: account,
      regions: groupInOrder(ofAccount, ({ region }) => region).map(([region, ofRegion]) => ({
        name: region,
        loadBalancers: ofRegion.map((balancer) => ({
          account,
          region,
          name,
          vpcId: balancer.vpcId,
          type: balancer.provider,
          loadBalancerType: balancer.loadBalancerType,
          securityGroups: balancer.securityGroups,
          targetGroups: [],
        })),
      })),
    })),
  }))
}

function groupInOrder<T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] {
  return [...Map.groupBy(items, keyOf)].sort(([one], [other]) => compareText(one, other))
}

export function compareText(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

export function byName<T extends { readonly name?: unknown; readonly id?: unknown }>(
  one: T,
  other: T,
): number {
  return (
    compareText(String(one.name).toLowerCase(), String(other.name).toLowerCase()) ||
    compareText(String(one.id), String(other.id))
  )
}

export function toSecurityGroupSummary({
  id,
  name,
  vpcId,
  moniker,
}: SecurityGroup): JsonObject & { id: string; name: string } {
  return { id, name, vpcId, moniker }
}

export function toSecurityGroupView(group: SecurityGroup): JsonObject {
  return {
    id: group.id,
    name: group.name,
    type: group.provider,
    cloudProvider: group.provider,
    accountName: group.account,
    region: group.region,
    application: group.moniker.app,
    description: group.description,
    vpcId: group.vpcId,
    moniker: group.moniker,
    labels: {},
    inboundRules: group.inboundRules,
    outboundRules: group.outboundRules,
    summary: toSecurityGroupSummary(group),
    ...group.details,
  }
}

export function toJobView(job: Job): JsonObject {
  return {
    name: job.name,
    id: job.id,
    account: job.account,
    location: job.location,
    region: job.location,
    provider: job.provider,
    cloudProvider: job.provider,
    application: job.moniker.app,
    jobState: job.state,
    createdTime: job.createdMs,
    completedTime: job.completedMs,
    completionDetails: job.completionDetails,
    ...job.details,
  }
}
