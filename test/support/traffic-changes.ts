/** What happens behind a load balancer while requests go through it: deployments, changes of size, and deaths. */
import assert from 'node:assert/strict'
import type { JsonObject } from '../../packages/base/json/values.ts'
import { type Deployments, sized, startDeployments } from './deployments.ts'
import { type RunningLoad, startLoad } from './steady-load.ts'
import type { TestEnd } from './test-end.ts'
import { waitFor, waitUntil } from './wait-until.ts'

export interface TrafficOptions {
  /** Instances of a server group. */
  readonly size: number
  /** Requests a second, as far as the machine can: one fifth each PUT and POST. Half of the clients keep their connection. */
  readonly rate: number
}

export interface Traffic {
  readonly fleet: Deployments
  readonly size: number
  /** Of GET, PUT and POST, in this order. */
  readonly loads: readonly [RunningLoad, RunningLoad, RunningLoad]
  /** Deploys with a strategy. @returns the name of the new server group */
  deploy(version: string, more?: JsonObject): Promise<string>
  /** The only server group that takes traffic. */
  live(): Promise<string>
}

const balancerName = 'shop-front'

/** Fairlead in a process of its own, a load balancer, a first server group behind it, and clients. */
export async function startTraffic(t: TestEnd, { size, rate }: TrafficOptions): Promise<Traffic> {
  const fleet = await startDeployments(t, { isProcess: true })
  const port = await fleet.balance(balancerName)
  const deploy = (version: string, more: JsonObject = {}) =>
    fleet.deploy('main', {
      imageId: `shop:${version}`,
      loadBalancers: [balancerName],
      capacity: sized(size),
      ...more,
    })
  await deploy('1.0.0')
  const start = (method: 'GET' | 'PUT' | 'POST', share: number) =>
    startLoad({ port, method, clients: Math.ceil(rate / 50), rate: rate * share })
  const loads = [start('GET', 0.6), start('PUT', 0.2), start('POST', 0.2)] as const
  t.after(() => Promise.all(loads.map((load) => load.stop())))
  const live = async () => {
    const [group, ...others] = (await fleet.groups()).filter(({ isDisabled }) => !isDisabled)
    assert.ok(group !== undefined && others.length === 0)
    return group.name
  }
  return { fleet, size, loads, deploy, live }
}

export const trafficChanges: readonly (readonly [
  name: string,
  change: (traffic: Traffic) => Promise<unknown>,
])[] = [
  ['a red/black deployment', ({ deploy }) => deploy('1.1.0', { strategy: 'redblack' })],
  ['a rollback', rollBack],
  [
    'a rolling red/black deployment',
    ({ deploy }) => deploy('1.1.0', { strategy: 'rollingredblack', targetPercentages: [50, 100] }),
  ],
  ['a resize up and down', resize],
  ['the death of one instance after the other', killInstances],
  ['the death of Fairlead during a resize', killFairlead],
  ['a server group that is disabled and enabled beside another', disableAndEnable],
  ['a highlander deployment', ({ deploy }) => deploy('1.0.0', { strategy: 'highlander' })],
]

async function rollBack({ fleet, live }: Traffic): Promise<void> {
  const rolledBack = await live()
  const restored = (await fleet.groups()).find(({ name }) => name !== rolledBack)
  await fleet.run({
    type: 'rollbackServerGroup',
    rollbackType: 'EXPLICIT',
    rollbackContext: {
      rollbackServerGroupName: rolledBack,
      restoreServerGroupName: restored?.name,
    },
  })
  assert.equal(await live(), restored?.name)
}

async function resize({ fleet, live, size }: Traffic): Promise<void> {
  const serverGroupName = await live()
  for (const desired of [size + 2, 1, size]) {
    await fleet.run({ type: 'resizeServerGroup', serverGroupName, capacity: sized(desired) })
  }
}

/** The next only when the one before is back. */
async function killInstances({ fleet, live, size }: Traffic): Promise<void> {
  const name = await live()
  for (let count = 0; count < size; count++) {
    const { instances } = await fleet.until(name, (group) =>
      group.instances.every(({ healthState }) => healthState === 'Up'),
    )
    const ids = new Set(instances.map(({ id }) => id))
    const victim = (await fleet.observed()).instances.filter(({ id }) => ids.has(id))[count]
    process.kill(victim?.pid as number, 'SIGKILL')
    await waitUntil(async () => {
      const found = (await fleet.observed()).instances.find(({ id }) => id === victim?.id)
      return found !== undefined && found.pid !== victim?.pid && found.phase === 'ready'
    }, 'another process')
  }
}

/** All processes of the server group at the same moment. */
export async function killAllInstances({ fleet, live }: Traffic): Promise<void> {
  const name = await live()
  const ids = new Set((await fleet.group(name))?.instances.map(({ id }) => id))
  const victims = (await fleet.observed()).instances.filter(({ id }) => ids.has(id))
  for (const { pid } of victims) process.kill(pid as number, 'SIGKILL')
  await waitUntil(async () => {
    const { instances } = await fleet.observed()
    return victims.every(({ id, pid }) =>
      instances.some((found) => found.id === id && found.pid !== pid && found.phase === 'ready'),
    )
  }, 'other processes')
}

async function killFairlead({ fleet, live, size }: Traffic): Promise<void> {
  const serverGroupName = await live()
  const task = await fleet.submit({
    type: 'resizeServerGroup',
    serverGroupName,
    capacity: sized(size + 1),
  })
  await fleet.restart()
  await fleet.ends(task)
  const group = await fleet.group(serverGroupName)
  assert.equal(group?.instances.length, size + 1)
}

async function disableAndEnable({ fleet, live, deploy }: Traffic): Promise<void> {
  const first = await live()
  const second = await deploy('1.1.0')
  for (const type of ['disableServerGroup', 'enableServerGroup'])
    await fleet.run({ type, serverGroupName: first })
  await fleet.run({ type: 'destroyServerGroup', serverGroupName: second })
}

/** Waits until every client has sent further requests: what a change may have lost is counted then. */
export async function untilSettled({ loads }: Traffic): Promise<void> {
  const before = loads.map(({ counts }) => counts.sent)
  await waitFor(async () => {
    return loads.every(({ counts }, index) => counts.sent > (before[index] ?? 0) + 20) || undefined
  }, 'more requests')
}
