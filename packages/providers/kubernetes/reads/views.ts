/** Views of kept objects: fields that all have, and those of resources, managers, firewalls and search results. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Owned, OwnHit, OwnResource, SecurityGroup } from '../../infrastructure/model.ts'
import { formatFullName, type SpinnakerKind } from '../kinds.ts'
import type { KeptFirewall, KeptManager, KeptObject, KeptWorkload } from './kept-object.ts'

export function fullNameOf({ kind, name }: Pick<KeptObject, 'kind' | 'name'>): string {
  return formatFullName(kind, name)
}

/** What the views of this service do not add themselves. */
export function ownFields(object: KeptObject): JsonObject {
  return {
    displayName: object.name,
    kind: object.kind.name,
    apiVersion: object.apiVersion,
    namespace: object.namespace,
  }
}

function resourceFields(object: KeptObject, account: string): JsonObject {
  return {
    name: fullNameOf(object),
    ...ownFields(object),
    region: object.namespace,
    account,
    cloudProvider: 'kubernetes',
    labels: object.labels,
    moniker: object.moniker,
    createdTime: object.createdMs,
  }
}

function ownedOf({ moniker, coOwners = [] }: KeptObject, account: string): Owned {
  return { account, moniker, coOwners }
}

export function toRawResource(object: KeptObject, account: string): OwnResource {
  return { ...ownedOf(object, account), view: resourceFields(object, account) }
}

/** A deployment with its replica sets. */
export function toManager(
  account: string,
  manager: KeptManager,
  owned: readonly KeptWorkload[],
): OwnResource {
  const serverGroups = owned.map((workload) => ({
    name: fullNameOf(workload),
    account,
    region: workload.namespace,
    namespace: workload.namespace,
    moniker: workload.moniker,
  }))
  return {
    ...ownedOf(manager, account),
    view: { ...resourceFields(manager, account), serverGroups },
  }
}

/** A network policy as a security group. */
export function toSecurityGroup(account: string, firewall: KeptFirewall): SecurityGroup {
  const { namespace: region, moniker, labels, createdMs: createdTime } = firewall
  const name = fullNameOf(firewall)
  return {
    provider: 'kubernetes',
    account,
    region,
    id: name,
    name,
    moniker,
    coOwners: firewall.coOwners ?? [],
    vpcId: undefined,
    description: '',
    inboundRules: firewall.inbound,
    outboundRules: firewall.outbound,
    details: { ...ownFields(firewall), account, labels, createdTime },
  }
}

/** Names of the full name, by what the object is to Spinnaker. */
const hitFields: Partial<Record<SpinnakerKind, string>> = {
  serverGroups: 'serverGroup',
  loadBalancers: 'loadBalancer',
  instances: 'instanceId',
}

export function toHit(object: KeptObject, account: string): OwnHit {
  const { kind, namespace, moniker } = object
  const name = fullNameOf(object)
  return {
    ...ownedOf(object, account),
    keys: [name, kind.name, account, namespace, moniker.app ?? '', moniker.cluster ?? ''],
    get view() {
      return {
        provider: 'kubernetes',
        account,
        namespace,
        region: namespace,
        kubernetesKind: kind.name,
        group: kind.name,
        name,
        type: kind.spinnakerKind,
        [hitFields[kind.spinnakerKind] ?? 'id']: name,
        application: moniker.app,
        cluster: moniker.cluster,
      }
    },
  }
}
