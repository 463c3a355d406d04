/**
 * Requests through a load balancer while everything behind it changes and dies. `DEPLOYMENT_LOAD=500` sends as many a second, and
 * `DEPLOYMENT_SIZE=4` deploys larger server groups.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../src/json/values.ts'
import { freePort } from '../support/free-port.ts'
import { balancerOf, type Installation, place, receivedNumbers, startInstallation } from '../support/installation.ts'
import { type RunningLoad, startLoad } from '../support/steady-load.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const rate = Number(process.env['DEPLOYMENT_LOAD'] ?? 50)
const size = Number(process.env['DEPLOYMENT_SIZE'] ?? 2)
const capacityOf = (desired: number) => ({ min: desired, max: desired, desired })

interface Rig {
  readonly installation: Installation
  readonly loads: readonly RunningLoad[]
  /** Deploys with a strategy. @returns the name of the new server group */
  deploy(version: string, more?: JsonObject): Promise<string>
  /** The only server group that takes traffic. */
  live(): Promise<string>
}

const changes: [name: string, change: (rig: Rig) => Promise<unknown>][] = [
  ['a red/black deployment', ({ deploy }) => deploy('2.0.0', { strategy: 'redblack' })],
  ['a rollback', rollBack],
  [
    'a rolling red/black deployment',
    ({ deploy }) => deploy('2.0.0', { strategy: 'rollingredblack', targetPercentages: [50, 100] }),
  ],
  ['a resize up and down', resize],
  ['a killed instance', killInstances],
  ['a killed Fairlead during a resize', killFairlead],
  ['a server group that is disabled and enabled beside another', disableAndEnable],
  ['a highlander deployment', ({ deploy }) => deploy('1.0.0', { strategy: 'highlander' })],
]

test('no idempotent request is lost, and no other is done twice', async (t) => {
  const rig = await startTraffic(t)
  for (const [name, change] of changes) {
    await t.test(`${name} loses no request`, async () => {
      const before = rig.loads.map(({ counts }) => counts.sent)
      await change(rig)
      // The last requests of the change are over when every client has sent another.
      await waitUntil(() => rig.loads.every(({ counts }, index) => counts.sent > (before[index] ?? 0) + 20), 'more requests')
      const [gets, puts] = rig.loads
      assert.deepEqual([...gets!.counts.failures, ...puts!.counts.failures], [])
    })
  }
  const [gets, puts, posts] = await Promise.all(rig.loads.map((load) => load.stop()))
  assert.deepEqual([...gets!.failures, ...puts!.failures], [])
  const received = receivedNumbers(rig.installation.dataDir)
  const times = Map.groupBy(received, (number) => number)
  assert.deepEqual(
    [...posts!.succeeded].filter((number) => times.get(number)?.length !== 1),
    [],
  )
  assert.deepEqual(
    [...times].filter(([, { length }]) => length > 1).map(([number]) => number),
    [],
  )
  // Whoever sent a request that failed is told whether an instance may have seen it.
  const refused = posts!.failures.filter(({ status }) => status === 503)
  assert.deepEqual(
    refused.filter(({ number }) => times.has(number)),
    [],
  )
  t.diagnostic(
    `${gets!.sent} GET, ${puts!.sent} PUT, ${posts!.sent} POST of which failed: ${JSON.stringify(posts!.failures)}; ${[...gets!.groups].join(' ')}`,
  )
})

async function startTraffic(t: TestContext): Promise<Rig> {
  const installation = await startInstallation(t)
  await installation.putImage('1.0.0')
  await installation.putImage('2.0.0')
  const port = await freePort()
  await installation.run(balancerOf('shop-front', port))
  const rig = {
    installation,
    async deploy(version: string, more: JsonObject = {}) {
      const task = await installation.run({
        type: 'createServerGroup',
        ...place,
        stack: 'main',
        imageId: `shop:${version}`,
        loadBalancers: ['shop-front'],
        capacity: capacityOf(size),
        ...more,
      })
      const stage = task.execution.stages.find(({ type }) => type === 'createServerGroup')
      return String(stage?.context['serverGroupName'])
    },
    async live() {
      const [group, ...others] = (await installation.groups()).filter(({ isDisabled }) => !isDisabled)
      assert.ok(group !== undefined && others.length === 0)
      return group.name
    },
  }
  await rig.deploy('1.0.0')
  const loads = (['GET', 'PUT', 'POST'] as const).map((method, index) =>
    startLoad({ port, method, clients: Math.ceil(rate / 50), rate: rate * [0.6, 0.2, 0.2][index]! }),
  )
  t.after(() => Promise.all(loads.map((load) => load.stop())))
  return { ...rig, loads }
}

async function rollBack({ installation, live }: Rig): Promise<void> {
  const rolledBack = await live()
  const groups = await installation.groups()
  const restored = groups.find(({ name }) => name !== rolledBack)
  await installation.run({
    type: 'rollbackServerGroup',
    ...place,
    rollbackType: 'EXPLICIT',
    rollbackContext: { rollbackServerGroupName: rolledBack, restoreServerGroupName: restored?.name },
  })
  assert.equal(await live(), restored?.name)
}

async function resize({ installation, live }: Rig): Promise<void> {
  const serverGroupName = await live()
  for (const desired of [size + 2, 1, size]) {
    await installation.run({ type: 'resizeServerGroup', ...place, serverGroupName, capacity: capacityOf(desired) })
  }
}

/** One after the other, and the next only when the one before is back. */
async function killInstances({ installation, live }: Rig): Promise<void> {
  const name = await live()
  for (let count = 0; count < size; count++) {
    const instances = await waitFor(async () => {
      const group = (await installation.groups()).find((found) => found.name === name)
      return group?.instances.every(({ healthState }) => healthState === 'Up') ? group.instances : undefined
    }, 'instances that are up')
    const ids = new Set(instances.map(({ id }) => id))
    // Fairlead's view may be a moment old, and a load balancer without any instance has to refuse requests.
    await waitUntil(async () => {
      const { loadBalancers } = await installation.observed()
      return loadBalancers.every(({ members }) => members.every(({ inService, health }) => !inService || health === 'up'))
    }, 'members that are up')
    const running = (await installation.observed()).instances.filter(({ id }) => ids.has(id))
    process.kill(running[count]!.pid as number, 'SIGKILL')
    await waitUntil(async () => {
      const { instances: all } = await installation.observed()
      const found = all.find(({ id }) => id === running[count]!.id)
      return found !== undefined && found.pid !== running[count]!.pid && found.phase === 'ready'
    }, 'another process')
  }
}

async function killFairlead({ installation, live }: Rig): Promise<void> {
  const serverGroupName = await live()
  const task = await installation.submit({ type: 'resizeServerGroup', ...place, serverGroupName, capacity: capacityOf(size + 1) })
  await installation.kill()
  await installation.start()
  assert.equal((await installation.ended(task)).status, 'SUCCEEDED')
  const group = (await installation.groups()).find(({ name }) => name === serverGroupName)
  assert.equal(group?.instances.length, size + 1)
}

async function disableAndEnable({ installation, live, deploy }: Rig): Promise<void> {
  const first = await live()
  const second = await deploy('2.0.0')
  for (const type of ['disableServerGroup', 'enableServerGroup'])
    await installation.run({ type, ...place, serverGroupName: first })
  await installation.run({ type: 'destroyServerGroup', ...place, serverGroupName: second })
}
