/** Roll-ups of health: from load balancers to instances to counts. */
import type { HealthState, Instance } from './model.ts'

export type InstanceCounts = Record<'total' | 'up' | 'down' | 'unknown' | 'starting' | 'outOfService', number>

const startingMs = 180_000

/** @see docs/contracts/infrastructure.md#waiting; the first rule that matches wins */
export function healthStateOf({ health, launchMs }: Pick<Instance, 'health' | 'launchMs'>, nowMs: number): HealthState {
  const known = health.filter(({ state }) => state !== 'Unknown')
  for (const state of ['Up', 'Succeeded'] as const) {
    if (known.length > 0 && known.every((record) => record.state === state)) return state
  }
  for (const state of ['Starting', 'Down', 'Failed', 'Draining', 'OutOfService'] as const) {
    if (known.some((record) => record.state === state)) return state
  }
  return launchMs !== null && nowMs - launchMs < startingMs ? 'Starting' : 'Unknown'
}

/** Whether its state may change with time alone. */
export function isAgeing({ health }: Pick<Instance, 'health'>): boolean {
  return health.every(({ state }) => state === 'Unknown')
}

/** The state of one record that covers several load balancers. */
export function rollUpLoadBalancers(states: readonly HealthState[]): HealthState {
  return (['Starting', 'Down', 'Draining', 'OutOfService'] as const).find((state) => states.includes(state)) ?? 'Up'
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

const noInstances: InstanceCounts = { total: 0, up: 0, down: 0, unknown: 0, starting: 0, outOfService: 0 }

export function countStates(states: readonly HealthState[]): InstanceCounts {
  const counts = { ...noInstances, total: states.length }
  for (const state of states) counts[countOf[state]]++
  return counts
}

export function addCounts(all: readonly InstanceCounts[]): InstanceCounts {
  const sum = { ...noInstances }
  for (const counts of all) for (const key of Object.keys(sum) as (keyof InstanceCounts)[]) sum[key] += counts[key]
  return sum
}
