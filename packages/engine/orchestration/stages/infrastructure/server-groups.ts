import { maybeTexts, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { byAge } from '@fairlead/model/environments/running.ts'
import {
  type CloudCapacity,
  type CloudHealth,
  type CloudInstance,
  type CloudServerGroup,
  toCapacity,
  toMoniker,
} from '@fairlead/ports/cloud-values.ts'
import type { ClusterPlace } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import type { TaskContext } from '../stage-type.ts'
import {
  createdClustersOf,
  kubernetes,
  requireAccount,
  requireCluster,
  type ServerGroupTarget,
  stageProviderOf,
} from './cloud-context.ts'

/** Instances take traffic as long as their server group does: their health does not tell. */
export function servesAsGroup({ provider }: CloudServerGroup): boolean {
  return provider === kubernetes
}

/** No service sends traffic to it, so that disabling it changes nothing. */
export function isWithoutTraffic(group: CloudServerGroup): boolean {
  return servesAsGroup(group) && group.loadBalancers?.length === 0
}

/** @throws {StageError} when the service does not have it */
export async function requireServerGroup(
  context: TaskContext,
  target: ServerGroupTarget,
): Promise<CloudServerGroup> {
  const group = await context.infrastructure.serverGroup(target)
  if (group !== undefined) return group
  throw new StageError([
    `The server group ${target.name} was not found in ${target.account}/${target.region}.`,
  ])
}

/** Server groups of one region or zone. */
export function inPlace(groups: readonly CloudServerGroup[], place: string): CloudServerGroup[] {
  return groups.filter(({ region, zones }) => region === place || zones.includes(place))
}

export async function groupsIn(
  context: TaskContext,
  place: ClusterPlace,
  region: string,
): Promise<CloudServerGroup[]> {
  return inPlace((await context.infrastructure.cluster(place)) ?? [], region)
}

export function newestFirst(groups: readonly CloudServerGroup[]): CloudServerGroup[] {
  return groups.toSorted(byAge)
}

const toNamed = shape({ moniker: toMoniker, application: textOf })

/** The cluster that a stage names. @throws {StageError} when it names none, or no account */
export function requireClusterPlace(
  settings: JsonObject,
  { execution }: TaskContext,
): ClusterPlace {
  const cluster = requireCluster(settings)
  const provider = stageProviderOf(settings)
  const { moniker, application } = toNamed(settings)
  const { trigger } = execution
  // In a strategy, that of the deployment.
  const ofStrategy = () => (trigger.strategy ? toNamed(trigger.parameters).application : undefined)
  const named =
    provider === kubernetes
      ? (moniker.app ?? ofStrategy() ?? application)
      : parseMoniker(cluster).app
  return {
    application: named ?? execution.application,
    provider,
    account: requireAccount(settings),
    cluster,
  }
}

/** Where the server group may be that the stage creates. */
export function createdPlaces(settings: JsonObject, application: string): ClusterPlace[] {
  const place = {
    application,
    provider: stageProviderOf(settings),
    account: requireAccount(settings),
  }
  return createdClustersOf(settings, application).map((cluster) => ({ ...place, cluster }))
}

export interface ServerGroupPlace extends ClusterPlace {
  readonly stack: string | null
  readonly detail: string | null
}

/** The cluster that a server group belongs to, and its application; undefined when there is no such server group. */
export async function findServerGroupPlace(
  context: TaskContext,
  target: ServerGroupTarget,
): Promise<ServerGroupPlace | undefined> {
  const { provider, account, name } = target
  if (provider !== kubernetes) {
    const { app, cluster, stack, detail } = parseMoniker(name)
    return { application: app ?? name, provider, account, cluster: cluster ?? name, stack, detail }
  }
  const moniker = target.moniker ?? (await context.infrastructure.serverGroup(target))?.moniker
  if (moniker?.app === undefined || moniker.cluster === undefined) return undefined
  const { app: application, cluster, stack = null, detail = null } = moniker
  return { application, provider, account, cluster, stack, detail }
}

const toHealth = shape({ interestingHealthProviderNames: maybeTexts })

/** Health records that count: all, or those of the listed types; an empty list means that health is of no interest. */
export function healthTypesOf(context: JsonObject): readonly string[] | undefined {
  return toHealth(context).interestingHealthProviderNames
}

export function isInstanceUp(
  { health }: CloudInstance,
  types: readonly string[] | undefined,
): boolean {
  const relevant = relevantHealth(health, types)
  // A platform that a stage names as the only measure reports a running machine as Unknown.
  if (
    types !== undefined &&
    relevant.some((record) => isPlatform(record) && record.state !== 'Down')
  ) {
    return !relevant.some((record) => !isPlatform(record) && record.state !== 'Up')
  }
  return has(relevant, 'Up') && !has(relevant, 'Down', 'OutOfService', 'Starting', 'Draining')
}

export function isDown({ health }: CloudInstance, types: readonly string[] | undefined): boolean {
  const relevant = relevantHealth(health, types)
  const [only] = relevant
  if (only === undefined) return true
  if (relevant.length === 1 && isPlatform(only) && only.state === 'Unknown') return true
  return has(relevant, 'Down', 'OutOfService', 'Starting') && !has(relevant, 'Up', 'Draining')
}

function relevantHealth(
  health: readonly CloudHealth[],
  types: readonly string[] | undefined,
): CloudHealth[] {
  return health.filter(({ type }) => types === undefined || types.includes(type))
}

function isPlatform({ healthClass }: CloudHealth): boolean {
  return healthClass === 'platform'
}

function has(health: readonly CloudHealth[], ...states: string[]): boolean {
  return health.some(({ state }) => states.includes(state))
}

export const readShares = shape({
  capacity: shape({ min: numberOf, max: numberOf, desired: numberOf }),
  targetHealthyDeployPercentage: numberOf,
  desiredPercentage: numberOf,
  instanceIdsToDisable: textsOf,
})

/** Whether a stage takes away everything, and not a share of it: shares are not checked. */
export function isWhole(context: JsonObject): boolean {
  return (readShares(context).desiredPercentage ?? 100) >= 100
}

/** Instances that must be up before a stage goes on (docs/contracts/infrastructure.md#waiting). */
export function wantedInstances(stage: JsonObject, { capacity }: CloudServerGroup): number {
  const {
    capacity: asked,
    targetHealthyDeployPercentage: healthy,
    desiredPercentage: percentage,
  } = readShares(stage)
  const isPinned = ({ min, max, desired }: CloudCapacity) => min === max && max === desired
  const counts = isPinned(toCapacity(asked)) || isPinned(capacity)
  const desired = (counts ? asked.desired : undefined) ?? capacity.desired
  if (healthy !== undefined) {
    if (healthy === 0 || desired === 0) return 0
    return Math.max(1, Math.round((healthy * desired) / 100))
  }
  if (percentage === undefined || percentage >= 100) return desired
  return Math.max(0, Math.ceil((percentage / 100 - 1) * capacity.max + capacity.min))
}
