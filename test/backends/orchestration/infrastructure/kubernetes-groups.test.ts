/** Stages of server groups whose names say nothing about their owners, and whose health shows no traffic. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Execution } from '../../../../packages/engine/orchestration/model.ts'
import { startEngine } from '../support.ts'
import { type CloudService, createCloudService } from './cloud-service.ts'

type Fields = Record<string, unknown>

const realClock = { now: Date.now, pass: () => {}, settled: async () => {} }
const place = {
  cloudProvider: 'kubernetes',
  credentials: 'dev',
  account: 'dev',
  region: 'east',
  application: 'shop',
}
const cluster = 'replicaSet shop-main'
const moniker = { app: 'shop', cluster }
const [v0, v1, v2] = [
  'replicaSet shop-main-v000',
  'replicaSet shop-main-v001',
  'replicaSet shop-main-v002',
] as const

interface Rig {
  readonly cloud: CloudService
  run(job: Fields, status?: string): Promise<Execution>
}

async function startRig(t: TestContext): Promise<Rig> {
  const cloud = createCloudService({ isKubernetes: true })
  const engine = await startEngine(t, { others: cloud.call, clock: realClock })
  return {
    cloud,
    run: async (job, status = 'SUCCEEDED') =>
      (await engine.taskEnds(await engine.task(job), status)).execution,
  }
}

const errorOf = ({ stages }: Execution) =>
  JSON.stringify(stages.map(({ context }) => context['exception']))
const shown = ({ groups }: CloudService) =>
  groups.map(({ name, isDisabled }) => `${name}${isDisabled ? ' off' : ''}`)

const create = {
  type: 'createServerGroup',
  ...place,
  stack: 'main',
  imageId: 'new',
  capacity: { min: 2, max: 2, desired: 2 },
}

const strategies: [strategy: string, fields: Fields, left: string[]][] = [
  ['redblack', { maxRemainingAsgs: 2 }, [`${v1} off`, v2]],
  ['highlander', {}, [v2]],
  [
    'rollingredblack',
    { targetPercentages: [50, 100] },
    [v0, `${v1} off`, v2].map((name) => (name === v0 ? `${v0} off` : name)),
  ],
  ['recreate', {}, [`${v1} off`, v2]],
  ['canary', { canary: { steps: [{ percent: 10 }] } }, [`${v1} off`, v2]],
  ['', {}, [`${v0} off`, v1, v2]],
]
for (const [strategy, fields, left] of strategies) {
  test(`the strategy "${strategy}" works with full names`, async (t) => {
    const { cloud, run } = await startRig(t)
    cloud.add(v0, { isDisabled: true })
    cloud.add(v1)
    await run({ ...create, strategy, ...fields })
    assert.deepEqual(shown(cloud), left)
  })
}

const operations: [type: string, left: string[], fields?: Fields][] = [
  ['disableServerGroup', [v0, `${v1} off`]],
  ['enableServerGroup', [v0, v1]],
  ['destroyServerGroup', [v0]],
  ['resizeServerGroup', [v0, v1], { capacity: { desired: 3 } }],
]
for (const [type, left, fields = {}] of operations) {
  test(`${type} works with a full name`, async (t) => {
    const { cloud, run } = await startRig(t)
    cloud.add(v0)
    cloud.add(v1, { isDisabled: type === 'enableServerGroup' })
    await run({ type, ...place, serverGroupName: v1, ...fields })
    assert.deepEqual(shown(cloud), left)
    if (type === 'resizeServerGroup') assert.equal(cloud.groups[1]?.capacity.desired, 3)
  })
}

test('a dynamic target is found by its cluster', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add(v0)
  cloud.add(v1)
  await run({
    type: 'disableServerGroup',
    ...place,
    regions: ['east'],
    cluster,
    moniker,
    target: 'current_asg_dynamic',
  })
  assert.deepEqual(shown(cloud), [v0, `${v1} off`])
})

test('a cluster is disabled and shrunk', async (t) => {
  const { cloud, run } = await startRig(t)
  for (const name of [v0, v1, v2]) cloud.add(name)
  await run({ type: 'disableCluster', ...place, cluster, moniker })
  assert.deepEqual(shown(cloud), [`${v0} off`, `${v1} off`, v2])
  await run({ type: 'shrinkCluster', ...place, cluster, moniker, shrinkToSize: 2 })
  assert.deepEqual(shown(cloud), [`${v1} off`, v2])
})

test('traffic guards count pods of enabled server groups only', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.guards = [{ account: 'dev', location: 'east', stack: 'main', detail: '*', enabled: true }]
  cloud.add(v0, { isDisabled: true })
  cloud.add(v1)
  const failed = await run(
    { type: 'disableServerGroup', ...place, serverGroupName: v1 },
    'TERMINAL',
  )
  assert.match(errorOf(failed), /traffic guard of the cluster replicaSet shop-main in dev\/east/)
  await run({
    type: 'destroyServerGroup',
    ...place,
    serverGroupName: v0,
    skipDisableBeforeDestroy: true,
  })
  assert.deepEqual(shown(cloud), [v1])
})

test('a cluster is rolled back to its earlier server group', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add(v0, { isDisabled: true })
  cloud.add(v1)
  await run({ type: 'rollbackCluster', ...place, regions: ['east'], cluster, moniker })
  assert.deepEqual(shown(cloud), [v0, `${v1} off`])
  assert.deepEqual(
    cloud.operations.map(([name]) => name),
    ['enableServerGroup', 'disableServerGroup'],
  )
})

test('a deployment rolls its server groups back itself', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.managers = [{ account: 'dev', location: 'east', name: 'shop-main' }]
  cloud.add(v0)
  cloud.add(v1)
  await run({ type: 'rollbackCluster', ...place, regions: ['east'], cluster, moniker })
  const [name, { manifestName, location, numRevisionsBack }] = cloud.operations.at(-1) as [
    string,
    Fields,
  ]
  assert.deepEqual(
    [name, manifestName, location, numRevisionsBack],
    ['undoRolloutManifest', 'deployment shop-main', 'east', 1],
  )
})
