import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Execution, Stage } from '../../../../packages/engine/orchestration/model.ts'
import { ServiceOffError } from '../../../../packages/ports/service-call.ts'
import { type Kayenta, startKayenta } from '../../../support/kayenta.ts'
import { createFolder } from '../../../support/temporary-folder.ts'
import { at, startEngine, type TaskView, type TestEngine } from '../support.ts'
import { type CloudService, createCloudService } from './cloud-service.ts'

const realClock = { now: Date.now, pass: () => {}, settled: async () => {} }
const place = { cloudProvider: 'local', credentials: 'dev', account: 'dev', region: 'east' }
const now = 'shop-main-v002'
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
  return {
    cloud,
    run: async (job, status = 'SUCCEEDED') => engine.taskEnds(await engine.task(job), status),
  }
}

function errorOf(view: TaskView): string {
  return view.execution.stages
    .flatMap((stage) => at(stage, 'context', 'exception', 'details', 'errors') ?? [])
    .join('\n')
}

test('deployments without a strategy touch nothing else', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000')
  const view = await run({ ...create, strategy: 'unheard-of' })
  assert.deepEqual(cloud.enabled(), ['shop-main-v000', 'shop-main-v001'])
  assert.deepEqual(at(view.execution.stages[0], 'context', 'deploy.server.groups'), {
    east: ['shop-main-v001'],
  })
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
  await run({ ...create, strategy: 'redblack' })
  assert.deepEqual(
    cloud.groups.map(({ name, isDisabled, capacity }) => [name, isDisabled, capacity.desired]),
    [
      ['shop-main-v001', true, 0],
      ['shop-main-v002', false, 2],
    ],
  )
  assert.deepEqual(
    cloud.operations.map(([name]) => name),
    ['createServerGroup', 'destroyServerGroup', 'disableServerGroup', 'resizeServerGroup'],
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
  const job = {
    ...create,
    strategy: 'rollingredblack',
    targetPercentages: [25, 50],
    useSourceCapacity: true,
    scaleDown: false,
  }
  await run({ ...job, capacity: undefined })
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

test('rolling red/black waits before each step that disables', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: { min: 2, max: 2, desired: 2 } })
  const view = await run({
    ...create,
    strategy: 'rollingredblack',
    targetPercentages: [50],
    delayBeforeDisableSec: 0.01,
  })
  const { stages } = view.execution
  const disables = stages.filter(({ type }) => type === 'disableServerGroup')
  const waits = disables.map(({ requisiteStageRefIds: [before] }) => {
    const wait = stages.find(({ refId }) => refId === before)
    return [wait?.type, wait?.context['waitTime']]
  })
  assert.deepEqual(waits, [
    ['wait', 0.01],
    ['wait', 0.01],
  ])
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
  const job = {
    ...create,
    strategy: 'redblack',
    rollback: { onFailure: true, destroyLatest: true },
    stageTimeoutMs: 5000,
  }
  const view = await run(job, 'TERMINAL')
  assert.match(
    errorOf(view),
    /waitForUpInstances" did not end within 5 s: 0 of 2 instances of shop-main-v001 are up; shop-main-v001-0: no answer\./,
  )
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])
  assert.equal(cloud.groups.length, 1)
})

const failed: [
  what: string,
  before: boolean,
  more: Record<string, unknown>,
  left: [string, boolean][],
][] = [
  [
    'without a word about it',
    true,
    { strategy: 'redblack' },
    [
      ['shop-main-v000', false],
      ['shop-main-v001', true],
    ],
  ],
  [
    'without rollback',
    true,
    { strategy: 'redblack', rollback: { onFailure: false } },
    [
      ['shop-main-v000', false],
      ['shop-main-v001', true],
    ],
  ],
  [
    'in steps, without rollback',
    true,
    { strategy: 'rollingredblack', rollback: { onFailure: 'false' } },
    [
      ['shop-main-v000', false],
      ['shop-main-v001', true],
    ],
  ],
  [
    'without a strategy',
    true,
    {},
    [
      ['shop-main-v000', false],
      ['shop-main-v001', true],
    ],
  ],
  ['as the first one', false, { strategy: 'redblack' }, [['shop-main-v000', true]]],
  [
    'as the first canary',
    false,
    { strategy: 'canary', canary: { steps: [{ percent: 5 }] } },
    [['shop-main-v000', true]],
  ],
]

for (const [what, before, more, left] of failed) {
  test(`a version that fails ${what} is disabled`, async (t) => {
    const { cloud, run } = await startRig(t)
    if (before) cloud.add('shop-main-v000')
    cloud.sick = true
    await run({ ...create, ...more, stageTimeoutMs: 2000 }, 'TERMINAL')
    assert.deepEqual(
      cloud.groups.map(({ name, isDisabled }) => [name, isDisabled]),
      left,
    )
  })
}

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
  assert.match(
    errorOf(await run(job, 'TERMINAL')),
    /shop-main in dev\/east .* no instance would remain/s,
  )
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])
  cloud.add('shop-main-v001')
  await run(job)
  assert.deepEqual(cloud.enabled(), ['shop-main-v001'])
})

test('a share of the traffic is given, and taken away', async (t) => {
  const { cloud, run } = await startRig(t)
  const [old, young] = [cloud.add('shop-main-v000'), cloud.add('shop-main-v001')]
  const job = {
    type: 'shareTraffic',
    ...place,
    regions: ['east'],
    cluster: 'shop-main',
    target: 'current_asg_dynamic',
  }
  await run({ ...job, percent: '5' })
  assert.deepEqual([old.trafficPercent, young.trafficPercent], [undefined, 5])
  await run({ ...job, percent: null })
  assert.equal(young.trafficPercent, undefined)
  assert.match(
    errorOf(await run({ ...job, percent: 101 }, 'TERMINAL')),
    /"101" is no share: set "percent" to a whole number from 0 to 100/,
  )
  const { target: _dynamic, ...named } = { ...job, serverGroupName: 'shop-main-v009', percent: 5 }
  assert.match(errorOf(await run(named, 'TERMINAL')), /shop-main-v009 was not found in dev\/east/)

  young.trafficPercent = 0
  cloud.guards = [{ account: 'dev', location: 'east', stack: 'main', detail: '*', enabled: true }]
  const last = { type: 'shareTraffic', ...place, serverGroupName: 'shop-main-v000', percent: 0 }
  assert.match(
    errorOf(await run(last, 'TERMINAL')),
    /forbids taking the traffic of shop-main-v000: no instance would remain/,
  )
})

const checks = [{ type: 'metric', metric: 'errorPercent', bound: 1, minRequests: 20, seconds: 0 }]
const inSteps = (...steps: Record<string, unknown>[]) => ({
  ...create,
  strategy: 'canary',
  scaleDown: false,
  canary: { steps },
})

test('a canary gets more of the traffic step by step, then all of it', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: { min: 1, max: 4, desired: 2 } })
  cloud.counted.set('requests', 1000).set('errors', 5)
  const view = await run(
    inSteps({ percent: 5, checks }, { pauseSeconds: 0.01 }, { percent: 50, checks }),
  )
  assert.equal(cloud.operations[0]?.[1]['trafficPercent'], 0)
  assert.deepEqual(changesOf(cloud), [
    'createServerGroup',
    'resizeServerGroup shop-main-v000',
    'shareTraffic shop-main-v001 5',
    'shareTraffic shop-main-v001 50',
    'shareTraffic shop-main-v001 100',
    'resizeServerGroup shop-main-v000',
    'disableServerGroup shop-main-v000',
    'shareTraffic shop-main-v001 null',
  ])
  assert.deepEqual(
    [cloud.enabled(), cloud.groups[1]?.trafficPercent],
    [['shop-main-v001'], undefined],
  )
  assert.deepEqual(cloud.groups[0]?.capacity, { min: 1, max: 4, desired: 2 })
  const names = view.execution.stages.map(({ name }) => name)
  assert.ok(
    ['Verify at 5 %', 'Wait 0.01 s at 5 %', 'Verify at 50 %'].every((name) => names.includes(name)),
    names.join(),
  )
})

const stopped: [what: string, rollback: Record<string, unknown>, left: (string | boolean)[][]][] = [
  [
    'disabled',
    {},
    [
      ['shop-main-v000', false],
      ['shop-main-v001', true],
    ],
  ],
  ['destroyed', { destroyLatest: true }, [['shop-main-v000', false]]],
]
for (const [what, rollback, left] of stopped) {
  test(`a canary that fails a step is ${what}, and the stage says why`, async (t) => {
    const { cloud, run } = await startRig(t)
    cloud.add('shop-main-v000')
    cloud.counted.set('requests', 100).set('errors', 10)
    const view = await run(
      { ...inSteps({ percent: 5 }, { checks, analysis: {} }), rollback },
      'TERMINAL',
    )
    assert.equal(
      at(view.execution.stages[0], 'context', 'exception', 'details', 'error'),
      'The canary shop-main-v001 was stopped at 5 % of the traffic by step 2 of 2, "Verify at 5 %": The check "errorPercent <= 1" failed: ' +
        'errorPercent of shop-main-v001 is 10, wanted <= 1.',
    )
    assert.deepEqual(
      cloud.groups.map(({ name, isDisabled }) => [name, isDisabled]),
      left,
    )
    assert.ok(cloud.groups.every(({ trafficPercent }) => trafficPercent === undefined))
  })
}

test('a canary that is cancelled aborts, too', async (t) => {
  const cloud = createCloudService()
  const engine = await startEngine(t, { others: cloud.call, clock: realClock })
  cloud.add('shop-main-v000', { capacity: { min: 1, max: 4, desired: 2 } })
  const stages = [
    { refId: '1', ...inSteps({ percent: 20 }, { judgment: { instructions: 'Look at it.' } }) },
  ]
  const id = await engine.run({ application: 'shop', stages })
  const judged = async () =>
    (await engine.execution(id)).stages.find(
      ({ type, status }) => type === 'manualJudgment' && status === 'RUNNING',
    )
  const judgment = await engine.eventually(judged)
  assert.deepEqual(judgment?.context['canaryStep'], { number: 2, of: 2, percent: 20 })

  await engine.ask('PUT', `/pipelines/${id}/cancel`)

  const ended = await engine.ends(id, 'CANCELED')
  assert.match(
    String(at(ended.stages[0], 'context', 'exception', 'details', 'error')),
    /at 20 % .* by step 2 of 2, "Judge at 20 %": it was cancelled\./,
  )
  assert.ok(
    await engine.eventually(
      async () => cloud.groups[1]?.isDisabled && cloud.groups[1].trafficPercent === undefined,
    ),
  )
  assert.deepEqual(changesOf(cloud).slice(3), [
    'shareTraffic shop-main-v001 0',
    'disableServerGroup shop-main-v001',
    'shareTraffic shop-main-v001 null',
    'resizeServerGroup shop-main-v000',
  ])
})

const meanwhile: [
  what: string,
  change: (cloud: CloudService) => void,
  judged: string,
  ends: string,
  left: string[][],
][] = [
  [
    'the previous one deleted',
    ({ groups }) => void groups.shift(),
    'continue',
    'SUCCEEDED',
    [['shop-main-v001']],
  ],
  [
    'the canary deleted',
    ({ groups }) => void groups.pop(),
    'stop',
    'TERMINAL',
    [['shop-main-v000']],
  ],
  [
    'the canary disabled, and another one serving',
    (cloud) => {
      for (const group of cloud.groups)
        Object.assign(group, { isDisabled: true, trafficPercent: undefined })
      cloud.add('shop-main-v002')
    },
    'continue',
    'TERMINAL',
    [['shop-main-v002'], ['shop-main-v000', 'shop-main-v001']],
  ],
]
for (const [what, change, judgmentStatus, ends, left] of meanwhile) {
  test(`a canary ends well with ${what} by hand meanwhile`, async (t) => {
    const cloud = createCloudService()
    const engine = await startEngine(t, { others: cloud.call, clock: realClock })
    cloud.add('shop-main-v000', { capacity: { min: 1, max: 4, desired: 2 } })
    const stages = [{ refId: '1', ...inSteps({ percent: 20, judgment: {} }, { percent: 10 }) }]
    const id = await engine.run({ application: 'shop', stages })
    const judgment = await engine.eventually(async () =>
      (await engine.execution(id)).stages.find(
        ({ type, status }) => type === 'manualJudgment' && status === 'RUNNING',
      ),
    )
    change(cloud)
    await engine.ask('PATCH', `/pipelines/${id}/stages/${judgment?.id}`, { judgmentStatus })
    await engine.ends(id, ends)
    const [on, off = []] = left
    assert.deepEqual(
      [cloud.enabled(), cloud.groups.flatMap(({ name, isDisabled }) => (isDisabled ? [name] : []))],
      [on, off],
    )
    assert.ok(cloud.groups.every(({ trafficPercent }) => trafficPercent === undefined))
    const [first] = cloud.groups
    if (first?.name === 'shop-main-v000') assert.equal(first.capacity.min, 1)
  })
}

test('a deployment beside a canary follows what serves, and not the canary', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: { min: 3, max: 3, desired: 3 } })
  cloud.add('shop-main-v001', { trafficPercent: 10 })
  await run({ ...create, strategy: 'redblack', useSourceCapacity: true })
  assert.equal(at(cloud.operations, 0, 1, 'source', 'serverGroupName'), 'shop-main-v000')
  assert.deepEqual(
    [cloud.enabled(), cloud.groups[1]?.trafficPercent],
    [['shop-main-v002'], undefined],
  )
})

test('the first deployment of a canary needs no steps, and steps that say nothing create nothing', async (t) => {
  const { cloud, run } = await startRig(t)
  await run(inSteps({ percent: 5, checks }))
  assert.deepEqual(changesOf(cloud), ['createServerGroup'])
  assert.equal(cloud.groups[0]?.trafficPercent, undefined)
  for (const [step, says] of [
    [{ percent: 0.5 }, /Step 1 of the canary gives no share/],
    [{}, /Step 1 of the canary does nothing/],
    [{ percent: 5, pauseSeconds: -1 }, /cannot wait -1 s/],
    [{ pauseSeconds: 1 }, /add a step with "percent"/],
    [{ percent: 5, judgment: {} }, /Tasks cannot be judged: use "pauseSeconds"/],
  ] as const) {
    assert.match(errorOf(await run(inSteps(step), 'TERMINAL')), says)
  }
  assert.equal(cloud.operations.length, 1)
})

test("a rollback gives the older server group the newer's size", async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { isDisabled: true, capacity: { min: 1, max: 1, desired: 1 } })
  cloud.add('shop-main-v001', { capacity: { min: 3, max: 3, desired: 3 } })
  const rollbackContext = {
    rollbackServerGroupName: 'shop-main-v001',
    restoreServerGroupName: 'shop-main-v000',
  }
  await run({ type: 'rollbackServerGroup', ...place, rollbackType: 'EXPLICIT', rollbackContext })
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])
  assert.deepEqual(cloud.groups[0]?.capacity, { min: 1, max: 3, desired: 3 })
})

test('rolling a cluster back restores the next newest server group', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { isDisabled: true })
  cloud.add('shop-main-v001')
  const job = {
    type: 'rollbackCluster',
    ...place,
    regions: ['east'],
    cluster: 'shop-main',
    serverGroup: 'shop-main-v001',
  }
  await run(job)
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])

  cloud.add('shop-main-v002', { trafficPercent: 10 })
  await run(job)
  assert.deepEqual(
    [cloud.enabled(), cloud.groups[2]?.trafficPercent],
    [['shop-main-v000'], undefined],
  )
})

for (const [what, more, enabled, size] of [
  ['the server group that it names', { originalServerGroup: 'shop-main-v000' }, 'v000', 3],
  ['what ran before, where it names the present one', { originalServerGroup: now }, 'v001', 3],
  [
    'an older one with its own size',
    { additionalRollbackContext: { enableAndDisableOnly: true } },
    'v001',
    1,
  ],
] as const) {
  test(`rolling a cluster back restores ${what}`, async (t) => {
    const { cloud, run } = await startRig(t)
    for (const name of ['v000', 'v001'])
      cloud.add(`shop-main-${name}`, {
        isDisabled: true,
        capacity: { min: 1, max: 1, desired: 1 },
      })
    cloud.add(now, { capacity: { min: 3, max: 3, desired: 3 } })
    await run({ type: 'rollbackCluster', ...place, regions: ['east'], serverGroup: now, ...more })
    assert.deepEqual(cloud.enabled(), [`shop-main-${enabled}`])
    const restored = cloud.groups.find(({ name }) => name === `shop-main-${enabled}`)
    assert.equal(restored?.capacity.desired, size)
  })
}

test('dynamic targets are looked up when the stage runs', async (t) => {
  const { cloud, run } = await startRig(t)
  for (const name of ['shop-main-v000', 'shop-main-v001', 'shop-main-v002']) cloud.add(name)
  await run({
    type: 'destroyServerGroup',
    ...place,
    regions: ['east'],
    cluster: 'shop-main',
    target: 'ancestor_asg_dynamic',
  })
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
      {
        refId: '1',
        type: 'findImage',
        ...place,
        regions: ['east'],
        cluster: 'shop-main',
        requisiteStageRefIds: [],
      },
      {
        refId: '2',
        type: 'deploy',
        clusters: [{ ...cluster, availabilityZones: { east: [] } }],
        requisiteStageRefIds: ['1'],
      },
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

type Fields = Record<string, unknown>

interface CanaryRig {
  readonly cloud: CloudService
  readonly kayenta: Kayenta
  readonly engine: TestEngine
  /** Starts a pipeline with the canary stage alone. */
  start(stage: Fields): Promise<string>
  /** Runs one to its end. */
  run(stage: Fields, status?: string): Promise<Execution>
}

async function startCanaryRig(t: TestContext): Promise<CanaryRig> {
  const cloud = createCloudService()
  const kayenta = await startKayenta(t)
  const engine = await startEngine(t, { others: kayenta.call(cloud.call), clock: realClock })
  const start: CanaryRig['start'] = (stage) =>
    engine.run({ application: 'shop', stages: [{ refId: '1', type: 'kayentaCanary', ...stage }] })
  const run: CanaryRig['run'] = async (stage, status = 'SUCCEEDED') =>
    engine.ends(await start(stage), status)
  return { cloud, kayenta, engine, start, run }
}

const scope = {
  scopeName: 'default',
  controlScope: 'shop-v000',
  controlLocation: 'east',
  experimentScope: 'shop-v001',
}
/** Intervals of 60 ms. */
const canaryConfig = {
  canaryConfigId: 'config-1',
  metricsAccountName: 'prometheus',
  storageAccountName: 'results',
  scopes: [{ ...scope, extendedScopeParams: { job: 'web' } }],
  scoreThresholds: { pass: '80', marginal: 50 },
  lifetimeDuration: 'PT0.12S',
  canaryAnalysisIntervalMins: 0.001,
}
const realTime = { analysisType: 'realTime', canaryConfig }
const ofType = ({ stages }: Execution, type: string) =>
  stages.filter((stage) => stage.type === type)
const failureOf = (stage: Stage | undefined) =>
  at(stage, 'context', 'exception', 'details', 'errors', 0)
const canaryOf = (execution: Execution) => ofType(execution, 'kayentaCanary')[0] as Stage

test('a canary is judged interval by interval', async (t) => {
  const { kayenta, run } = await startCanaryRig(t)
  kayenta.verdicts.push({ score: 70, metrics: { latency: 'High' } }, { score: 90 })
  const execution = await run({
    ...realTime,
    canaryConfig: { ...canaryConfig, beginCanaryAnalysisAfterMins: 0.0005 },
  })
  const [intervals] = ofType(execution, 'runCanaryIntervals')
  assert.deepEqual(
    execution.stages
      .filter(({ parentStageId }) => parentStageId === intervals?.id)
      .map(({ refId, type, name }) => [refId, type, name]),
    [
      ['1<2<1', 'wait', 'Warmup Wait'],
      ['1<2<2', 'wait', 'Interval Wait #1'],
      ['1<2<3', 'runCanary', 'Run Canary #1'],
      ['1<2<4', 'wait', 'Interval Wait #2'],
      ['1<2<5', 'runCanary', 'Run Canary #2'],
    ],
  )
  const { context, tasks } = canaryOf(execution)
  assert.deepEqual(
    [context['intervalStageId'], context['canaryScores'], context['canaryScoreMessage']],
    [
      intervals?.id,
      [70, 90],
      'Interval 2 of 2 has the score 90, which reaches the pass threshold 80.',
    ],
  )
  assert.deepEqual(
    tasks.map(({ name }) => name),
    ['aggregateCanaryResults'],
  )

  const [first, second] = ofType(execution, 'runCanary') as [Stage, Stage]
  assert.deepEqual(
    first.tasks.map(({ name }) => name),
    ['runCanary', 'monitorCanary'],
  )
  const {
    canaryConfigId,
    canaryPipelineExecutionId,
    canaryScore,
    durationString,
    lastUpdated,
    scoreThresholds,
  } = first.context
  assert.deepEqual(
    [
      canaryConfigId,
      canaryPipelineExecutionId,
      canaryScore,
      durationString,
      lastUpdated,
      scoreThresholds,
    ],
    [
      'config-1',
      'analysis-1',
      70,
      'PT1H',
      Date.parse('2026-01-31T08:00:00Z'),
      { pass: 80, marginal: 50 },
    ],
  )
  const [{ path, query, body }] = kayenta.started as [Kayenta['started'][number]]
  assert.deepEqual(
    [path, query],
    [
      '/canary/config-1',
      {
        application: 'shop',
        parentPipelineExecutionId: execution.id,
        metricsAccountName: 'prometheus',
        storageAccountName: 'results',
      },
    ],
  )
  assert.deepEqual(body, {
    scopes: first.context['scopes'],
    thresholds: { pass: 80, marginal: 50 },
    siteLocal: {},
  })
  const control = at(body, 'scopes', 'default', 'controlScope') as Fields
  assert.deepEqual(
    [control['scope'], control['location'], control['step'], control['extendedScopeParams']],
    ['shop-v000', 'east', 60, { job: 'web' }],
  )
  const windowOf = (stage: Stage) => {
    const { start, end } = at(stage, 'context', 'scopes', 'default', 'experimentScope') as {
      start: string
      end: string
    }
    return [
      Date.parse(start) - (intervals?.startTime ?? 0),
      Date.parse(end) - (intervals?.startTime ?? 0),
    ]
  }
  assert.deepEqual(
    [windowOf(first), windowOf(second)],
    [
      [30, 90],
      [30, 150],
    ],
  )
})

test('a canary that is not above the marginal threshold ends at once, and says why', async (t) => {
  const { kayenta, run } = await startCanaryRig(t)
  kayenta.verdicts.push({ score: 50, metrics: { errors: 'High', latency: 'High', cpu: 'Nodata' } })
  const execution = await run(realTime, 'TERMINAL')
  const sentence =
    'Interval 1 of 2 has the score 50, which is not above the marginal threshold 50: errors is High, latency is High.'
  assert.deepEqual([failureOf(canaryOf(execution)), kayenta.started.length], [sentence, 1])
  assert.equal(ofType(execution, 'runCanary')[0]?.context['canaryScoreMessage'], sentence)

  kayenta.verdicts.push({ score: 60 }, { score: 79.5, metrics: { latency: 'High' } })
  assert.equal(
    failureOf(canaryOf(await run(realTime, 'TERMINAL'))),
    'Interval 2 of 2 has the score 79.5, below the pass threshold 80: latency is High.',
  )
  kayenta.verdicts.push('no data of errors')
  assert.equal(
    failureOf(canaryOf(await run(realTime, 'TERMINAL'))),
    'Interval 1 of 2 was not judged: no data of errors',
  )
})

test('an analysis ends once its verdict is certain', async (t) => {
  const { kayenta, run } = await startCanaryRig(t)
  const outlook = {
    verdict: 'Pass',
    reason: 'The score cannot fall below 80: at worst it becomes 85.',
  }
  kayenta.verdicts.push({ score: 100, outlook })
  const passed = await run({
    ...realTime,
    canaryConfig: { ...canaryConfig, canaryAnalysisIntervalMins: 0.0005 },
  })
  assert.deepEqual(
    ofType(passed, 'runCanary').map(({ status }) => status),
    ['SUCCEEDED', 'SKIPPED', 'SKIPPED', 'SKIPPED'],
  )
  assert.deepEqual(
    [canaryOf(passed).context['canaryScores'], canaryOf(passed).context['canaryScoreMessage']],
    [
      [100],
      'Interval 1 of 4 has the score 100, which reaches the pass threshold 80. The score cannot fall below 80: at worst it becomes 85.',
    ],
  )
  const reason = 'The score can no longer reach 80: at best it becomes 75.'
  kayenta.verdicts.push({
    score: 60,
    metrics: { latency: 'High' },
    outlook: { verdict: 'Fail', reason },
  })
  const failed = await run(realTime, 'TERMINAL')
  assert.equal(
    failureOf(canaryOf(failed)),
    `Interval 1 of 2 has the score 60, below the pass threshold 80: latency is High. ${reason}`,
  )
  assert.equal(kayenta.started.length, 2)
})

test('a time that is over is judged without waiting, in all scopes', async (t) => {
  const { kayenta, run } = await startCanaryRig(t)
  kayenta.verdicts.push({ score: 10 }, { score: 10 })
  const times = {
    startTimeIso: '2026-01-31T08:00:00+00:00',
    endTimeIso: '2026-01-31T09:00:00Z',
    step: '10',
  }
  const other = { scopeName: 'batch', controlScope: 'jobs-v000', experimentScope: 'jobs-v001' }
  const execution = await run({
    analysisType: 'retrospective',
    canaryConfig: {
      canaryConfigName: 'web',
      scopes: [{ ...scope, ...times }, other],
      scoreThresholds: { pass: null, marginal: null },
      canaryAnalysisIntervalMins: 30,
      lookbackMins: 10,
      baselineAnalysisOffsetInMins: 60,
    },
  })
  assert.deepEqual(ofType(execution, 'wait'), [])
  const [, { path, body }] = kayenta.started as [unknown, Kayenta['started'][number]]
  assert.deepEqual(
    [path, body['thresholds'], Object.keys(body['scopes'] as Fields)],
    ['/canary/config-1', undefined, ['default', 'batch']],
  )
  assert.deepEqual(at(body, 'scopes', 'batch'), {
    controlScope: {
      scope: 'jobs-v000',
      start: '2026-01-31T07:50:00.000Z',
      end: '2026-01-31T08:00:00.000Z',
      step: 10,
      extendedScopeParams: {},
    },
    experimentScope: {
      scope: 'jobs-v001',
      start: '2026-01-31T08:50:00.000Z',
      end: '2026-01-31T09:00:00.000Z',
      step: 10,
      extendedScopeParams: {},
    },
  })
  assert.equal(
    canaryOf(execution).context['canaryScoreMessage'],
    'Interval 2 of 2 has the score 10, and no pass threshold is set.',
  )
})

const member = {
  ...place,
  application: 'shop',
  stack: 'main',
  capacity: { min: 1, max: 1, desired: 1 },
}
const automatic = {
  analysisType: 'realTimeAutomatic',
  canaryConfig: {
    ...canaryConfig,
    scopes: [{ scopeName: 'default', extendedScopeParams: { job: 'web' } }],
  },
  deployments: {
    baseline: { cloudProvider: 'local', account: 'dev', cluster: 'shop-main' },
    serverGroupPairs: [
      {
        control: { ...member, freeFormDetails: 'baseline' },
        experiment: { ...member, freeFormDetails: 'canary', imageId: 'new' },
        trafficPercent: 5,
      },
    ],
  },
}
const changesOf = ({ operations }: CloudService) =>
  operations.map(([name, { serverGroupName, percent }]) =>
    [name, serverGroupName, percent === null ? 'null' : percent]
      .filter((part) => part !== undefined)
      .join(' '),
  )
const left = ({ groups }: CloudService) => groups.map(({ name }) => name)

test('baseline and canary are deployed with equal shares, compared and removed', async (t) => {
  const { cloud, kayenta, run } = await startCanaryRig(t)
  cloud.add('shop-main-v000', { imageId: 'old' })
  kayenta.verdicts.push({ score: 90 }, { score: 90 })
  const execution = await run(automatic)
  const created = cloud.operations
    .filter(([name]) => name === 'createServerGroup')
    .map(([, fields]) => fields)
  assert.deepEqual(
    created
      .map(({ freeFormDetails, imageId, trafficPercent }) => [
        freeFormDetails,
        imageId,
        trafficPercent,
      ])
      .sort(),
    [
      ['baseline', 'old', 5],
      ['canary', 'new', 5],
    ],
  )
  assert.deepEqual(
    changesOf(cloud).filter((change) => !change.startsWith('createServerGroup')),
    [
      'shareTraffic shop-main-baseline-v000 5',
      'shareTraffic shop-main-canary-v000 5',
      'shareTraffic shop-main-baseline-v000 0',
      'disableServerGroup shop-main-baseline-v000',
      'shareTraffic shop-main-canary-v000 0',
      'disableServerGroup shop-main-canary-v000',
      'shareTraffic shop-main-baseline-v000 null',
      'destroyServerGroup shop-main-baseline-v000',
      'shareTraffic shop-main-canary-v000 null',
      'destroyServerGroup shop-main-canary-v000',
    ],
  )
  assert.deepEqual(left(cloud), ['shop-main-v000'])
  assert.deepEqual(
    at(ofType(execution, 'deployCanaryServerGroups')[0], 'outputs', 'deployedServerGroups'),
    [
      {
        controlLocation: 'east',
        controlScope: 'shop-main-baseline-v000',
        experimentLocation: 'east',
        experimentScope: 'shop-main-canary-v000',
      },
    ],
  )
  const {
    scope: compared,
    location,
    extendedScopeParams,
  } = at(kayenta.started[0]?.body, 'scopes', 'default', 'experimentScope') as Fields
  assert.deepEqual(
    [compared, location, extendedScopeParams],
    ['shop-main-canary-v000', 'east', { dataset: 'regional', job: 'web', type: 'asg' }],
  )
})

const untilRunning = async ({ kayenta, engine }: CanaryRig, count = 1) => {
  assert.ok(await engine.eventually(async () => kayenta.started.length >= count))
}

const ends: [how: string, status: string, end: (rig: CanaryRig, id: string) => Promise<unknown>][] =
  [
    ['a failed judgment', 'TERMINAL', async () => {}],
    [
      'a cancellation',
      'CANCELED',
      ({ engine }, id) => engine.ask('PUT', `/pipelines/${id}/cancel`),
    ],
    [
      'a skip',
      'SUCCEEDED',
      async ({ engine }, id) =>
        engine.ask('PATCH', `/pipelines/${id}/stages/${(await engine.stage(id, '1')).id}`, {
          manualSkip: true,
        }),
    ],
  ]
for (const [how, status, end] of ends) {
  test(`${how} removes baseline and canary`, async (t) => {
    const rig = await startCanaryRig(t)
    const { cloud, kayenta, engine, start } = rig
    cloud.add('shop-main-v000')
    if (status === 'TERMINAL') kayenta.verdicts.push({ score: 0 })
    const id = await start({ ...automatic, canManuallySkip: true })
    await untilRunning(rig)
    await end(rig, id)
    await engine.ends(id, status)
    assert.ok(await engine.eventually(async () => left(cloud).length === 1), left(cloud).join())
    if (status === 'CANCELED')
      assert.ok(await engine.eventually(async () => kayenta.cancelled.includes('analysis-1')))
  })
}

test('a cancelled deployment leaves nothing behind', async (t) => {
  const rig = await startCanaryRig(t)
  const { cloud, engine, start } = rig
  cloud.add('shop-main-v000')
  cloud.sick = true
  const id = await start(automatic)
  assert.ok(await engine.eventually(async () => left(cloud).length === 3))
  await engine.ask('PUT', `/pipelines/${id}/cancel`)
  assert.ok(await engine.eventually(async () => left(cloud).length === 1), left(cloud).join())
})

test('a canary goes on after a restart of the engine, and is restarted as a whole', async (t) => {
  const dataDir = createFolder('canary')
  const cloud = createCloudService()
  cloud.add('shop-main-v000')
  const kayenta = await startKayenta(t)
  const options = { others: kayenta.call(cloud.call), clock: realClock, dataDir }
  const before = await startEngine(t, options)
  const id = await before.run({
    application: 'shop',
    stages: [{ refId: '1', type: 'kayentaCanary', ...automatic }],
  })
  assert.ok(await before.eventually(async () => kayenta.started.length === 1))
  await before.backends.stop()
  const after = await startEngine(t, options)
  const stage = await after.stage(id, '1')
  assert.deepEqual([stage.status, left(cloud).length], ['RUNNING', 3])
  await after.ask('PUT', `/pipelines/${id}/cancel`)
  assert.ok(await after.eventually(async () => left(cloud).length === 1))
  await after.ends(id, 'CANCELED')

  // An analysis whose start was not recorded has begun a second time.
  kayenta.verdicts.push({ score: 10 })
  await after.ask('PUT', `/pipelines/${id}/stages/${stage.id}/restart`, {})
  const restarted = await after.ends(id, 'TERMINAL')
  assert.match(String(failureOf(canaryOf(restarted))), /^Interval 1 of 2 has the score 10, /)
  assert.deepEqual(left(cloud), ['shop-main-v000'])
})

const lacking: [what: string, stage: Fields, says: RegExp][] = [
  [
    'no scope',
    { canaryConfig: { ...canaryConfig, scopes: [] } },
    /add a scope to "canaryConfig.scopes"/,
  ],
  [
    'no lifetime',
    { canaryConfig: { ...canaryConfig, lifetimeDuration: undefined } },
    /set "canaryConfig.lifetimeDuration"/,
  ],
  [
    'too many intervals',
    { canaryConfig: { ...canaryConfig, lifetimeDuration: 'P2D' } },
    /would have 2880000 intervals/,
  ],
  [
    'a wrong lifetime',
    { canaryConfig: { ...canaryConfig, lifetimeDuration: '${"1 hour"}' } },
    /write it as PT1H30M/,
  ],
  [
    'no configuration',
    { canaryConfig: { ...canaryConfig, canaryConfigId: '' } },
    /set "canaryConfig.canaryConfigId"/,
  ],
  [
    'an unknown configuration',
    { canaryConfig: { ...canaryConfig, canaryConfigId: 'config-9' } },
    /no canary configuration "config-9"/,
  ],
  [
    'a name of no configuration',
    { canaryConfig: { ...canaryConfig, canaryConfigId: '', canaryConfigName: 'x' } },
    /has no canary configuration "x"/,
  ],
  [
    'a scope without a canary',
    { canaryConfig: { ...canaryConfig, scopes: [{ controlScope: 'a' }] } },
    /scopes\[\].experimentScope/,
  ],
  [
    'no time that is over',
    { analysisType: 'retrospective', canaryConfig },
    /set "startTimeIso" and "endTimeIso"/,
  ],
  ['nothing to deploy', { analysisType: 'realTimeAutomatic', canaryConfig }, /set "deployments"/],
  [
    'no pairs',
    { canaryConfig, deployments: { ...automatic.deployments, serverGroupPairs: [] } },
    /serverGroupPairs/,
  ],
  [
    'a canary in the cluster of the baseline',
    {
      canaryConfig,
      deployments: {
        ...automatic.deployments,
        serverGroupPairs: [{ control: member, experiment: member }],
      },
    },
    /The control would be in the cluster shop-main, which is not its own/,
  ],
]

test('a canary stage that lacks something fails ahead of its deployments', {
  concurrency: 4,
}, async (t) => {
  const { cloud, run } = await startCanaryRig(t)
  await Promise.all(
    lacking.map(([what, stage, says]) =>
      t.test(what, async () =>
        assert.match(String(failureOf(canaryOf(await run(stage, 'TERMINAL')))), says),
      ),
    ),
  )
  assert.deepEqual(cloud.operations, [])
})

test('without a canary service, the stage names the setting', async (t) => {
  const { call } = createCloudService()
  const others: typeof call = async (service, request) => {
    if (service === 'kayenta') throw new ServiceOffError(service)
    return call(service, request)
  }
  const engine = await startEngine(t, { others, clock: realClock })
  const id = await engine.run({
    application: 'shop',
    stages: [{ refId: '1', type: 'kayentaCanary', ...automatic }],
  })
  const failed = await engine.ends(id, 'TERMINAL')
  assert.equal(
    failureOf(canaryOf(failed)),
    'kayenta is switched off; set services.kayenta.enabled or services.kayenta.baseUrl.',
  )
})
