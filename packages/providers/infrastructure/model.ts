/** Resources of the infrastructure as providers report them; views turn them into answers. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Moniker } from '@fairlead/base/names/moniker.ts'

export type InstanceCounts = Record<
  'total' | 'up' | 'down' | 'unknown' | 'starting' | 'outOfService',
  number
>

const startingMs = 180_000

/** @see docs/contracts/infrastructure.md#waiting; the first rule that matches wins */
export function healthStateOf(
  { health, launchMs }: Pick<Instance, 'health' | 'launchMs'>,
  nowMs: number,
): HealthState {
  const known = health.filter(({ state }) => state !== 'Unknown')
  for (const state of ['Up', 'Succeeded'] as const) {
    if (known.length > 0 && known.every((record) => record.state === state)) return state
  }
  for (const state of ['Starting', 'Down', 'Failed', 'Draining', 'OutOfService'] as const) {
    if (known.some((record) => record.state === state)) return state
  }
  return launchMs !== null && nowMs - launchMs < startingMs ? 'Starting' : 'Unknown'
}

export function isAgeing({ health }: Pick<Instance, 'health'>): boolean {
  return health.every(({ state }) => state === 'Unknown')
}

export function rollUpLoadBalancers(states: readonly HealthState[]): HealthState {
  return (
    (['Starting', 'Down', 'Draining', 'OutOfService'] as const).find((state) =>
      states.includes(state),
    ) ?? 'Up'
  )
}

const countOf: Readonly<Record<HealthState, keyof InstanceCounts>> = {
  Up: 'up',
  Down: 'down',
  Starting: 'starting',
  OutOfService: 'outOfService',
  Draining: 'outOfService',
  Unknown: 'unknown',
  Succeeded: 'unknown',
  Failed: 'down',
}

const noInstances: InstanceCounts = {
  total: 0,
  up: 0,
  down: 0,
  unknown: 0,
  starting: 0,
  outOfService: 0,
}

export function countStates(states: readonly HealthState[]): InstanceCounts {
  const counts = { ...noInstances, total: states.length }
  for (const state of states) counts[countOf[state]]++
  return counts
}

export function addCounts(all: readonly InstanceCounts[]): InstanceCounts {
  const sum = { ...noInstances }
  for (const counts of all)
    for (const key of Object.keys(sum) as (keyof InstanceCounts)[]) sum[key] += counts[key]
  return sum
}

export interface Account {
  readonly name: string
  readonly provider: string
  readonly accountId: string | null
  readonly environment: string
  readonly accountType: string
  /** Roles by authorization; empty: open. */
  readonly permissions: Readonly<Record<string, readonly string[]>>
  readonly details: JsonObject
}

export type HealthState =
  | 'Up'
  | 'Down'
  | 'Starting'
  | 'OutOfService'
  | 'Unknown'
  | 'Draining'
  | 'Succeeded'
  | 'Failed'

/** Owners of a resource: READ and WRITE on its account, and on each of its applications, decide. */
export interface Owned {
  readonly account: string
  /** Without an application, nothing claims the resource: no application shows or counts it. */
  readonly moniker: Moniker
  /** Applications that own it besides that of the moniker, such as those of its controllers. */
  readonly coOwners?: readonly string[]
  /** What would say whose it is, and cannot be found: only administrators read it. */
  readonly unknownController?: string
}

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
  readonly serverGroup: string | undefined
  readonly health: readonly HealthRecord[]
  readonly loadBalancers: readonly string[]
  /** Fields of the provider, in lists too. */
  readonly summary?: JsonObject
  /** Fields of the provider, in full forms only. */
  readonly details: JsonObject
}

interface Image {
  readonly id: string
  readonly name: string
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
  readonly summary?: JsonObject
  readonly details: JsonObject
}

interface ServerGroupManagerName {
  readonly account: string
  readonly location: string
  readonly name: string
}

/** A resource that only its provider knows how to show. */
export interface OwnResource extends Owned {
  readonly view: JsonObject
}

export interface OwnHit extends OwnResource {
  readonly keys: readonly string[]
}

export interface LoadBalancer extends Owned {
  readonly provider: string
  readonly region: string
  readonly name: string
  readonly vpcId: string | undefined
  readonly loadBalancerType: string
  readonly securityGroups: readonly string[]
  /** Server groups, with the instances that belong to this load balancer. */
  readonly serverGroups: readonly LoadBalancerServerGroup[]
  readonly details: JsonObject
}

export interface LoadBalancerServerGroup {
  readonly name: string
  /** Its own owners: there may be server groups of other applications behind it. */
  readonly owned: Owned
  readonly isDisabled: boolean
  /** Its share of the requests; undefined: the server groups without one divide the rest. */
  readonly trafficPercent?: number
  readonly instances: readonly LoadBalancerInstance[]
  readonly detachedInstances: readonly string[]
}

interface LoadBalancerInstance {
  readonly id: string
  readonly name: string
  readonly zone: string
  readonly health: {
    readonly type: string
    readonly state: string
    readonly reasonCode?: string
    readonly description?: string
  }
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
