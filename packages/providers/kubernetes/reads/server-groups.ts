/** Server groups: replica sets, stateful sets, daemon sets, jobs, cron jobs and custom kinds, with their pods. */
import { definedOf } from '@fairlead/base/json/values.ts'
import type { Instance, ServerGroup } from '../../infrastructure/model.ts'
import type { KeptPod, KeptService, KeptWorkload } from './kept-object.ts'
import { fullNameOf, ownFields } from './views.ts'

interface GroupParts {
  readonly account: string
  readonly workload: KeptWorkload
  readonly loadBalancers: readonly string[]
  readonly isSelected: boolean
  readonly instances: readonly Instance[]
}

/** Full names: services that select its pods, and load balancers that its annotation names. */
export function balancersOf(
  { annotated }: KeptWorkload,
  services: readonly KeptService[],
): string[] {
  return [...new Set([...services.map(fullNameOf), ...annotated])].sort()
}

export function toServerGroup({
  account,
  workload,
  loadBalancers,
  isSelected,
  instances,
}: GroupParts): ServerGroup {
  const { desired, images, labels, moniker, namespace, createdMs, trafficPercent } = workload
  return {
    provider: 'kubernetes',
    account,
    region: namespace,
    name: fullNameOf(workload),
    moniker,
    coOwners: workload.coOwners ?? none,
    zones: [],
    createdMs,
    isDisabled: workload.annotated.length > 0 && !isSelected,
    capacity: { min: null, max: null, desired },
    instances,
    loadBalancers,
    securityGroups: [],
    instanceType: undefined,
    vpcId: undefined,
    buildInfo: { images },
    image: undefined,
    launchConfig: {},
    tags: {},
    labels,
    managers: managersOf(account, workload),
    // Clients compare min and max; a workload has neither.
    summary: { ...ownFields(workload), capacity: { desired }, ...definedOf({ trafficPercent }) },
    details: {},
  }
}

/** The owning deployment, by its bare name. */
function managersOf(
  account: string,
  { owner, namespace }: KeptWorkload,
): NonNullable<ServerGroup['managers']> {
  return owner?.kind === 'Deployment' ? [{ account, location: namespace, name: owner.name }] : []
}

const none: readonly string[] = []

/** @param group Undefined where it belongs to none */
export function toInstance(
  account: string,
  pod: KeptPod,
  group: Pick<ServerGroup, 'name' | 'loadBalancers'> | undefined,
): Instance {
  return {
    id: pod.uid,
    humanName: fullNameOf(pod),
    account,
    moniker: pod.moniker,
    coOwners: pod.coOwners ?? none,
    region: pod.namespace,
    zone: pod.namespace,
    launchMs: null,
    serverGroup: group?.name,
    health: pod.health,
    loadBalancers: group?.loadBalancers ?? none,
    details: {
      ...ownFields(pod),
      cloudProvider: 'kubernetes',
      labels: pod.labels,
      moniker: pod.moniker,
      createdTime: pod.createdMs,
    },
  }
}
