import { fieldOf, type JsonObject, numberOf, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { type CloudCapacity, type CloudInstance, type CloudServerGroup, toCapacity } from '@fairlead/ports/cloud-values.ts'
import type { ClusterPlace } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import type { Execution } from '../../model.ts'
import type { TaskContext } from '../stage-type.ts'
import { kubernetes, requireAccount, requireCluster, type ServerGroupTarget, stageProviderOf } from './cloud-context.ts'

/** Instances take traffic as long as their server group does: their health does not tell. */
export function servesAsGroup({ all }: CloudServerGroup): boolean {
  return all['cloudProvider'] === kubernetes || all['type'] === kubernetes
}

/** No service sends traffic to it, so that disabling it changes nothing. */
export function isWithoutTraffic(group: CloudServerGroup): boolean {
  const { loadBalancers } = group.all
  return servesAsGroup(group) && Array.isArray(loadBalancers) && loadBalancers.length === 0
}

/** @throws {StageError} when the service does not have it */
export async function requireServerGroup(context: TaskContext, target: ServerGroupTarget): Promise<CloudServerGroup> {
  const group = await context.infrastructure.serverGroup(target)
  if (group !== undefined) return group
  throw new StageError([`The server group ${target.name} was not found in ${target.account}/${target.region}.`])
}

/** Server groups of one region or zone. */
export function inPlace(groups: readonly CloudServerGroup[], place: string): CloudServerGroup[] {
  return groups.filter(({ region, all }) => region === place || textsOf(all['zones']).includes(place))
}

export function newestFirst(groups: readonly CloudServerGroup[]): CloudServerGroup[] {
  return groups.toSorted(compareAge)
}

/** Negative: the first is newer. Where times are whole seconds, the numbers of a cluster decide. */
export function compareAge(one: CloudServerGroup, other: CloudServerGroup): number {
  return other.createdTime - one.createdTime || sequenceOf(other) - sequenceOf(one)
}

function sequenceOf({ all }: CloudServerGroup): number {
  return numberOf(fieldOf(all['moniker'], 'sequence')) ?? 0
}

/** The cluster that a stage names. @throws {StageError} when it names none, or no account */
export function requireClusterPlace(settings: JsonObject, { execution }: TaskContext): ClusterPlace {
  const cluster = requireCluster(settings)
  const provider = stageProviderOf(settings)
  const named = provider === kubernetes ? applicationIn(settings, execution) : parseMoniker(cluster).app
  return { application: named ?? execution.application, provider, account: requireAccount(settings), cluster }
}

/** The application of a stage on clusters whose names do not begin with it; in a strategy, that of the deployment. */
function applicationIn(settings: JsonObject, { trigger }: Execution): string | undefined {
  const ofStrategy = trigger.strategy ? textOf(trigger.parameters['application']) : undefined
  return textOf(fieldOf(settings['moniker'], 'app')) ?? ofStrategy ?? textOf(settings['application'])
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
  const moniker = target.moniker ?? objectOf((await context.infrastructure.serverGroup(target))?.all['moniker'])
  const [application, cluster, stack, detail] = ['app', 'cluster', 'stack', 'detail'].map((part) => textOf(moniker[part]))
  if (application === undefined || cluster === undefined) return undefined
  return { application, provider, account, cluster, stack: stack ?? null, detail: detail ?? null }
}

/** Health records that count: all, or those of the listed types; an empty list means that health is of no interest. */
export function healthTypesOf(context: JsonObject): readonly string[] | undefined {
  const listed = context['interestingHealthProviderNames']
  return Array.isArray(listed) ? textsOf(listed) : undefined
}

export function isInstanceUp({ health }: CloudInstance, types: readonly string[] | undefined): boolean {
  const relevant = relevantHealth(health, types)
  // A platform that a stage names as the only measure reports a running machine as Unknown.
  if (types !== undefined && relevant.some((record) => isPlatform(record) && record['state'] !== 'Down')) {
    return !relevant.some((record) => !isPlatform(record) && record['state'] !== 'Up')
  }
  return has(relevant, 'Up') && !has(relevant, 'Down', 'OutOfService', 'Starting', 'Draining')
}

export function isDown({ health }: CloudInstance, types: readonly string[] | undefined): boolean {
  const relevant = relevantHealth(health, types)
  const [only] = relevant
  if (only === undefined) return true
  if (relevant.length === 1 && isPlatform(only) && only['state'] === 'Unknown') return true
  return has(relevant, 'Down', 'OutOfService', 'Starting') && !has(relevant, 'Up', 'Draining')
}

function relevantHealth(health: readonly JsonObject[], types: readonly string[] | undefined): JsonObject[] {
  return health.filter(({ type }) => types === undefined || types.includes(String(type)))
}

function isPlatform(record: JsonObject): boolean {
  return record['healthClass'] === 'platform'
}

function has(health: readonly JsonObject[], ...states: string[]): boolean {
  return health.some(({ state }) => states.includes(String(state)))
}

/** Instances that must be up before a stage goes on (docs/contracts/infrastructure.md#waiting). */
export function wantedInstances(stage: JsonObject, { capacity }: CloudServerGroup): number {
  const wished = objectOf(stage['capacity'])
  const isPinned = (each: CloudCapacity) => each.min === each.max && each.max === each.desired
  const asked = toCapacity(wished)
  const desired = wished['desired'] !== undefined && (isPinned(asked) || isPinned(capacity)) ? asked.desired : capacity.desired
  const healthy = numberOf(stage['targetHealthyDeployPercentage'])
  if (healthy !== undefined) {
    if (healthy === 0 || desired === 0) return 0
    return Math.max(1, Math.round((healthy * desired) / 100))
  }
  const percentage = numberOf(stage['desiredPercentage'])
  if (percentage === undefined || percentage >= 100) return desired
  return Math.max(0, Math.ceil((percentage / 100 - 1) * capacity.max + capacity.min))
}
