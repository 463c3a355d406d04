/** Instances of a server group: as many as desired, spread over its zones. */
import type { Activity, LocalGroup, LocalInstance } from '../desired.ts'
import { loopback } from '../machine.ts'
import type { OperationParts } from './parts.ts'

const keptActivities = 100

/** Those that count for the capacity: all but the ones that leave. */
export function stayingInstances({ desired }: Pick<OperationParts, 'desired'>, group: LocalGroup): LocalInstance[] {
  return desired.instancesOf(group).filter(({ leaving }) => leaving === undefined)
}

/** How many instances are missing if so many leave. */
export function missingCount(parts: OperationParts, group: LocalGroup, leaving = 0): number {
  return Math.max(0, group.capacity.desired - (stayingInstances(parts, group).length - leaving))
}

/** @throws {Error} when the account has too few free ports, or cannot run programs */
export async function findPorts(parts: OperationParts, account: string, needed: number): Promise<number[]> {
  const settings = parts.settings.accounts.find(({ name }) => name === account)
  if (settings === undefined) throw new Error(`The account "${account}" is no longer in the configuration.`)
  const problem = needed > 0 ? parts.users.problemOf(account) : undefined
  if (problem !== undefined) throw new Error(problem)
  return parts.ports.find(settings, needed)
}

/**
 * Stores the server group and adds or removes instances until there are as many as desired. Within a change.
 *
 * @param ports One for each instance that is missing
 * @param cause For the scaling activities
 */
export function fit(parts: OperationParts, group: LocalGroup, ports: readonly number[], cause: string): void {
  const { desired } = parts
  const staying = stayingInstances(parts, group)
  const activities: Activity[] = []
  const note = (description: string, zone: string) => {
    activities.unshift({ id: parts.newId(), atMs: parts.context.now(), description, cause, zone })
  }
  for (const instance of chooseLeaving(staying, staying.length - group.capacity.desired)) {
    dismiss(parts, instance)
    note(`Terminating instance: ${instance.id}`, instance.zone)
  }
  const placed = [...staying]
  for (const port of ports.slice(0, Math.max(0, group.capacity.desired - staying.length))) {
    const instance = createInstance(parts, group, port, emptiestZone(group.zones, placed))
    placed.push(instance)
    desired.put('instances', instance)
    note(`Launching a new instance: ${instance.id}`, instance.zone)
  }
  desired.put('groups', { ...group, activities: [...activities, ...group.activities].slice(0, keptActivities) })
}

/** No new requests from now on; the reconciler does the rest. Within a change. */
export function dismiss({ desired, context }: Pick<OperationParts, 'desired' | 'context'>, instance: LocalInstance): void {
  if (instance.leaving !== undefined) return
  desired.put('instances', { ...instance, leaving: { stage: 'draining', sinceMs: context.now(), revision: undefined } })
}

/** Those out of service first, then the youngest, so that long-running ones stay. */
function chooseLeaving(staying: readonly LocalInstance[], excess: number): LocalInstance[] {
  if (excess <= 0) return []
  return [...staying]
    .sort(
      (one, other) => Number(other.isOut) - Number(one.isOut) || other.launchMs - one.launchMs || (one.id < other.id ? 1 : -1),
    )
    .slice(0, excess)
}

function emptiestZone(zones: readonly string[], instances: readonly LocalInstance[]): string {
  const inZone = (zone: string) => instances.filter((instance) => instance.zone === zone).length
  return zones.reduce((best, zone) => (inZone(zone) < inZone(best) ? zone : best), zones[0] ?? '')
}

function createInstance({ newId, context }: OperationParts, group: LocalGroup, port: number, zone: string): LocalInstance {
  const { account, region, name, program, image, instanceType } = group
  return {
    id: `i-${newId().toLowerCase()}`,
    account,
    region,
    zone,
    group: name,
    host: loopback,
    port,
    launchMs: context.now(),
    generation: 0,
    isOut: false,
    isOutOfDiscovery: false,
    deregistered: [],
    registered: [],
    program: { ...program, digest: image.digest, instanceType, startedFor: name },
    leaving: undefined,
  }
}

/** Server groups that share a name but for their sequence. */
export function clusterGroups(
  { desired }: Pick<OperationParts, 'desired'>,
  account: string,
  region: string,
  cluster: string,
): LocalGroup[] {
  const [application = ''] = cluster.split('-', 1)
  const isOfCluster = ({ name }: LocalGroup) => name.replace(/-v\d{3,6}$/, '') === cluster
  return [...desired.groupsOf(application)].filter(
    (group) => group.account === account && group.region === region && isOfCluster(group),
  )
}
