import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { at, startEngine, type TaskView } from '../support.ts'
import { type CloudService, createCloudService } from './cloud-service.ts'

const realClock = { now: Date.now, pass: () => {}, settled: async () => {} }
const place = { cloudProvider: 'local', credentials: 'dev', account: 'dev', region: 'east' }
const create = {
  type: 'createServerGroup',
  ...place,
  application: 'shop',
  stack: 'main',
  imageId: 'new',
  capacity: { min: 2, max: 2, desired: 2 },
}

interface Rig {
  readonly cloud: CloudService
  /** Runs a job to its end. */
  run(job: Record<string, unknown>, status?: string): Promise<TaskView>
}

async function startRig(t: TestContext): Promise<Rig> {
  const cloud = createCloudService()
  const engine = await startEngine(t, { others: cloud.call, clock: realClock })
  return { cloud, run: async (job, status = 'SUCCEEDED') => engine.taskEnds(await engine.task(job), status) }
}

function errorOf(view: TaskView): string {
  return view.execution.stages.flatMap((stage) => at(stage, 'context', 'exception', 'details', 'errors') ?? []).join('\n')
}

test('deployments without a strategy touch nothing else', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000')
  const view = await run({ ...create, strategy: 'unheard-of' })
  assert.deepEqual(cloud.enabled(), ['shop-main-v000', 'shop-main-v001'])
  assert.deepEqual(at(view.execution.stages[0], 'context', 'deploy.server.groups'), { east: ['shop-main-v001'] })
  assert.equal(at(view.execution.stages[0], 'context', 'notification.type'), 'createdeploy')
})

test('highlander leaves the new server group alone', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000')
  cloud.add('shop-main-v001', { isDisabled: true })
  await run({ ...create, strategy: 'Highlander' })
  assert.deepEqual(
    cloud.groups.map(({ name, isDisabled }) => [name, isDisabled]),
    [['shop-main-v002', false]],
  )
})

test('red/black destroys surplus groups before it disables the live one', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { isDisabled: true })
  cloud.add('shop-main-v001')
  await run({ ...create, strategy: 'redblack', maxRemainingAsgs: 2 })
  assert.deepEqual(
    cloud.groups.map(({ name, isDisabled }) => [name, isDisabled]),
    [
      ['shop-main-v001', true],
      ['shop-main-v002', false],
    ],
  )
  assert.deepEqual(
    cloud.operations.map(([name]) => name),
    ['createServerGroup', 'destroyServerGroup', 'disableServerGroup'],
  )
})

test('red/black keeps the group that was live, however few may remain', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v001')
  await run({ ...create, strategy: 'redblack', maxRemainingAsgs: 1, scaleDown: true })
  assert.deepEqual(cloud.enabled(), ['shop-main-v002'])
  assert.deepEqual(cloud.groups[0]?.capacity, { min: 0, max: 0, desired: 0 })
})

test('rolling red/black moves traffic in steps', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: { min: 2, max: 10, desired: 4 } })
  await run({ ...create, capacity: undefined, strategy: 'rollingredblack', targetPercentages: [25, 50], useSourceCapacity: true })
  assert.deepEqual(cloud.seen, [
    'resizeServerGroup shop-main-v000: 4 wanted, 4 up',
    'resizeServerGroup shop-main-v001: 1 wanted, 1 up',
    'disableServerGroup shop-main-v000: 4 wanted, 3 up',
    'resizeServerGroup shop-main-v001: 2 wanted, 2 up',
    'disableServerGroup shop-main-v000: 4 wanted, 2 up',
    'resizeServerGroup shop-main-v001: 4 wanted, 4 up',
    'disableServerGroup shop-main-v000: 4 wanted, 0 up',
    'resizeServerGroup shop-main-v000: 4 wanted, 0 up',
  ])
  assert.deepEqual(
    cloud.groups.map(({ capacity }) => capacity),
    [
      { min: 2, max: 10, desired: 4 },
      { min: 2, max: 10, desired: 4 },
    ],
  )
})

test('rolling red/black begins without instances, however many are wanted', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: { min: 2, max: 2, desired: 2 } })
  await run({ ...create, capacity: { min: 3, max: 3, desired: 3 }, strategy: 'rollingredblack' })
  assert.deepEqual(cloud.enabled(), ['shop-main-v001'])
  assert.deepEqual(cloud.operations[0]?.[1]?.['capacity'], { min: 0, max: 0, desired: 0 })
})

test('a failed deployment is rolled back before its stage ends', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000')
  cloud.sick = true
  const job = { ...create, strategy: 'redblack', rollback: { onFailure: true, destroyLatest: true }, stageTimeoutMs: 5000 }
  const view = await run(job, 'TERMINAL')
  assert.match(
    errorOf(view),
    /waitForUpInstances" did not end within 5 s: 0 of 2 instances of shop-main-v001 are up; shop-main-v001-0: no answer\./,
  )
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])
  assert.equal(cloud.groups.length, 1)
})

test('capacity of a source is required for a first deployment', async (t) => {
  const { run } = await startRig(t)
  const view = await run({ ...create, capacity: undefined, useSourceCapacity: true }, 'TERMINAL')
  assert.match(errorOf(view), /first deployment/)
  await run({ ...create, preferSourceCapacity: true })
})

test('traffic guards keep the last live server group', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000')
  cloud.guards = [{ account: 'dev', location: 'east', stack: 'main', detail: '*', enabled: true }]
  const job = { type: 'disableServerGroup', ...place, serverGroupName: 'shop-main-v000' }
  assert.match(errorOf(await run(job, 'TERMINAL')), /shop-main in dev\/east .* no instance would remain/s)
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])
  cloud.add('shop-main-v001')
  await run(job)
  assert.deepEqual(cloud.enabled(), ['shop-main-v001'])
})

test('a share of the traffic is given, and taken away', async (t) => {
  const { cloud, run } = await startRig(t)
  const [old, young] = [cloud.add('shop-main-v000'), cloud.add('shop-main-v001')]
  const job = { type: 'shareTraffic', ...place, regions: ['east'], cluster: 'shop-main', target: 'current_asg_dynamic' }
  await run({ ...job, percent: '5' })
  assert.deepEqual([old.trafficPercent, young.trafficPercent], [undefined, 5])
  await run({ ...job, percent: null })
  assert.equal(young.trafficPercent, undefined)
  assert.match(
    errorOf(await run({ ...job, percent: 101 }, 'TERMINAL')),
    /"101" is no share: set "percent" to a whole number from 0 to 100/,
  )

  young.trafficPercent = 0
  cloud.guards = [{ account: 'dev', location: 'east', stack: 'main', detail: '*', enabled: true }]
  const last = { type: 'shareTraffic', ...place, serverGroupName: 'shop-main-v000', percent: 0 }
  assert.match(errorOf(await run(last, 'TERMINAL')), /forbids taking the traffic of shop-main-v000: no instance would remain/)
})

test("a rollback gives the older server group the newer's size", async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { isDisabled: true, capacity: { min: 1, max: 1, desired: 1 } })
  cloud.add('shop-main-v001', { capacity: { min: 3, max: 3, desired: 3 } })
  const rollbackContext = { rollbackServerGroupName: 'shop-main-v001', restoreServerGroupName: 'shop-main-v000' }
  await run({ type: 'rollbackServerGroup', ...place, rollbackType: 'EXPLICIT', rollbackContext })
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])
  assert.deepEqual(cloud.groups[0]?.capacity, { min: 1, max: 3, desired: 3 })
})

test('rolling a cluster back restores the next newest server group', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { isDisabled: true })
  cloud.add('shop-main-v001')
  await run({ type: 'rollbackCluster', ...place, regions: ['east'], cluster: 'shop-main', serverGroup: 'shop-main-v001' })
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])
})

test('dynamic targets are looked up when the stage runs', async (t) => {
  const { cloud, run } = await startRig(t)
  for (const name of ['shop-main-v000', 'shop-main-v001', 'shop-main-v002']) cloud.add(name)
  await run({ type: 'destroyServerGroup', ...place, regions: ['east'], cluster: 'shop-main', target: 'ancestor_asg_dynamic' })
  assert.deepEqual(cloud.enabled(), ['shop-main-v000', 'shop-main-v002'])
})

test('images that an earlier stage has found are deployed', async (t) => {
  const { cloud, run: _run } = await startRig(t)
  cloud.add('shop-main-v000', { imageId: 'found' })
  const engine = await startEngine(t, { others: cloud.call, clock: realClock })
  const { imageId: _image, type: _type, ...cluster } = create
  const id = await engine.run({
    application: 'shop',
    stages: [
      { refId: '1', type: 'findImage', ...place, regions: ['east'], cluster: 'shop-main', requisiteStageRefIds: [] },
      { refId: '2', type: 'deploy', clusters: [{ ...cluster, availabilityZones: { east: [] } }], requisiteStageRefIds: ['1'] },
    ],
  })
  const execution = await engine.ends(id, 'SUCCEEDED')
  assert.equal(cloud.groups[1]?.imageId, 'found')
  assert.ok(execution.stages.some(({ name }) => name === 'Deploy in east'))
})

test('the name of a job reaches its operation', async (t) => {
  const { cloud, run } = await startRig(t)
  const listeners = [{ externalProtocol: 'HTTP', externalPort: 80, internalPort: 8080 }]
  await run({ type: 'upsertLoadBalancer', ...place, name: 'shop-front', listeners })
  assert.equal(cloud.operations[0]?.[1]['name'], 'shop-front')
})
