/** Load balancers: services with the server groups that they select, and ingresses with those of their services. */
import {
  healthStateOf,
  type LoadBalancer,
  type LoadBalancerServerGroup,
  type ServerGroup,
} from '../../infrastructure/model.ts'
import type { KeptIngress, KeptService } from './kept-object.ts'
import { fullNameOf, ownFields } from './views.ts'

export function toLoadBalancer(
  account: string,
  balancer: KeptService | KeptIngress,
  groups: readonly ServerGroup[],
): LoadBalancer {
  const { namespace: region, moniker, labels, addresses, createdMs: createdTime } = balancer
  return {
    provider: 'kubernetes',
    account,
    region,
    name: fullNameOf(balancer),
    moniker,
    coOwners: balancer.coOwners ?? none,
    vpcId: undefined,
    loadBalancerType: balancer.kind.name,
    securityGroups: [],
    serverGroups: groups.map(toPart),
    details: {
      ...ownFields(balancer),
      labels,
      createdTime,
      ...(addresses.length > 0 && { addresses }),
    },
  }
}

const none: readonly string[] = []
const parts = new WeakMap<ServerGroup, LoadBalancerServerGroup>()

/** Several load balancers may have it. */
function toPart(group: ServerGroup): LoadBalancerServerGroup {
  return parts.getOrInsertComputed(
    group,
    ({ name, account, moniker, coOwners = none, isDisabled, instances }) => ({
      name,
      owned: { account, moniker, coOwners },
      isDisabled,
      detachedInstances: [],
      instances: instances.map((instance) => ({
        id: instance.id,
        name: instance.humanName,
        zone: instance.zone,
        // Without an age, the time does not count.
        health: { type: 'kubernetes/pod', state: healthStateOf(instance, 0) },
      })),
    }),
  )
}
