/** Resources of the infrastructure as providers report them; views turn them into answers. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Moniker } from '@fairlead/base/names/moniker.ts'

export interface Account {
  readonly name: string
  readonly provider: string
  readonly accountId: string | null
  readonly environment: string
  readonly accountType: string
  /** Roles by authorization; empty: open. */
  readonly permissions: Readonly<Record<string, readonly string[]>>
  /** Fields of the provider, such as `regions`. */
  readonly details: JsonObject
}

export type HealthState = 'Up' | 'Down' | 'Starting' | 'OutOfService' | 'Unknown' | 'Draining' | 'Succeeded' | 'Failed'

/** Whose a resource is: READ and WRITE on its account, and on each of its applications, decide. */
export interface Owned {
  readonly account: string
  /** Without an application, nothing claims the resource: no application shows or counts it. */
  readonly moniker: Moniker
  /** Applications that own it besides that of the moniker, such as those of its controllers. */
  readonly coOwners?: readonly string[]
  /** What would say whose it is, and cannot be found: only administrators read it. */
  readonly unknownController?: string
}

/** One opinion about the health of an instance. */
export interface HealthRecord {
  readonly type: string
  readonly state: HealthState
  readonly [field: string]: unknown
}

export interface Capacity {
  /** Null where it scales on its own. */
  readonly min: number | null
  readonly max: number | null
  readonly desired: number
}

export interface Instance extends Owned {
  /** Unique among all providers. */
  readonly id: string
  readonly humanName: string
  readonly region: string
  readonly zone: string
  /** Milliseconds since the epoch; null before it was started. */
  readonly launchMs: number | null
  /** Undefined where it belongs to none. */
  readonly serverGroup: string | undefined
  readonly health: readonly HealthRecord[]
  readonly loadBalancers: readonly string[]
  /** Fields of the provider, in lists too. */
  readonly summary?: JsonObject
  /** Fields of the provider, in full forms only. */
  readonly details: JsonObject
}

export interface Image {
  readonly id: string
  readonly name: string
  /** Further fields, such as labels. */
  readonly details: JsonObject
}

/** Never changed in place. A provider that returns the same one, with the same list of instances, is read fastest. */
export interface ServerGroup extends Owned {
  readonly provider: string
  readonly region: string
  readonly name: string
  readonly zones: readonly string[]
  /** Milliseconds since the epoch; undefined hides it from targets. */
  readonly createdMs: number | undefined
  readonly isDisabled: boolean
  readonly capacity: Capacity
  readonly instances: readonly Instance[]
  readonly loadBalancers: readonly string[]
  readonly securityGroups: readonly string[]
  readonly instanceType: string | undefined
  readonly vpcId: string | undefined
  readonly buildInfo: JsonObject | undefined
  readonly image: Image | undefined
  readonly launchConfig: JsonObject
  readonly tags: JsonObject
  readonly labels: JsonObject
  /** What creates server groups like this one; none where users do. */
  readonly managers?: readonly ServerGroupManagerName[]
  /** Fields of the provider, in lists too. */
  readonly summary?: JsonObject
  /** Fields of the provider, in full forms only. */
  readonly details: JsonObject
}

export interface ServerGroupManagerName {
  readonly account: string
  readonly location: string
  readonly name: string
}

/** A resource that only its provider knows how to show. */
export interface OwnResource extends Owned {
  readonly view: JsonObject
}

/** A search result of a kind that only its provider has. */
export interface OwnHit extends OwnResource {
  /** Where the text of a query is looked for. */
  readonly keys: readonly string[]
}

export interface LoadBalancer extends Owned {
  readonly provider: string
  readonly region: string
  readonly name: string
  readonly vpcId: string | undefined
  readonly loadBalancerType: string
  readonly securityGroups: readonly string[]
  /** With the instances of them that belong to this load balancer. */
  readonly serverGroups: readonly LoadBalancerServerGroup[]
  /** Listeners, health check and other fields of the provider. */
  readonly details: JsonObject
}

export interface LoadBalancerServerGroup {
  readonly name: string
  /** Whose it is: a load balancer may have server groups of other applications behind it. */
  readonly owned: Owned
  readonly isDisabled: boolean
  /** Its share of the requests; undefined: the server groups without one divide the rest. */
  readonly trafficPercent?: number
  readonly instances: readonly LoadBalancerInstance[]
  /** Ids of instances that were deregistered. */
  readonly detachedInstances: readonly string[]
}

export interface LoadBalancerInstance {
  readonly id: string
  readonly name: string
  readonly zone: string
  readonly health: { readonly type: string; readonly state: string; readonly reasonCode?: string; readonly description?: string }
}

export interface SecurityGroup extends Owned {
  readonly provider: string
  readonly region: string
  readonly id: string
  readonly name: string
  readonly vpcId: string | undefined
  readonly description: string
  readonly inboundRules: readonly JsonObject[]
  readonly outboundRules: readonly JsonObject[]
  readonly details: JsonObject
}

export interface Job extends Owned {
  readonly provider: string
  readonly id: string
  readonly name: string
  readonly location: string
  readonly state: 'Starting' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  readonly createdMs: number
  readonly completedMs: number | undefined
  readonly completionDetails: JsonObject
  readonly details: JsonObject
}
