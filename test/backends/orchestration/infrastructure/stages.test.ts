/** Stages of cloud operations against an infrastructure service that fails, forgets, queues and answers late. */
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { definedOf } from '../../../../packages/base/json/values.ts'
import { deploymentsOf, toRun } from '../../../../packages/model/environments/pipelines.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { at, startEngine, type TaskView, type TestEngine } from '../support.ts'
import { type CloudService, createCloudService } from './cloud-service.ts'

type Fields = Record<string, unknown>

const realClock = { now: Date.now, pass: () => {}, settled: async () => {} }
const place = { cloudProvider: 'local', credentials: 'dev', account: 'dev', region: 'east' }
const sized = (count: number) => ({ min: count, max: count, desired: count })
const cluster = { ...place, application: 'shop', stack: 'main', imageId: 'new', capacity: sized(2) }
const create = { type: 'createServerGroup', ...cluster }

interface Rig {
  readonly cloud: CloudService
  readonly engine: TestEngine
  /** Runs a job to its end. */
  run(job: Fields, status?: string): Promise<TaskView>
}

async function startRig(
  t: TestContext,
  cloud = createCloudService(),
  options: { dataDir?: string; attemptMs?: number | undefined } = {},
): Promise<Rig> {
  const engine = await startEngine(t, {
    others: cloud.call,
    clock: realClock,
    ...definedOf(options),
  })
  return {
    cloud,
    engine,
    run: async (job, status = 'SUCCEEDED') => engine.taskEnds(await engine.task(job), status),
  }
}

function errorOf({ stages }: { stages: readonly unknown[] }): string {
  return stages
    .flatMap((stage) => at(stage, 'context', 'exception', 'details', 'errors') ?? [])
    .join('\n')
}

const names = ({ operations }: CloudService) => operations.map(([name]) => name)
const sizes = ({ groups }: CloudService) =>
  groups.map(
    ({ name, capacity, isDisabled }) => `${name} ${capacity.desired}${isDisabled ? ' off' : ''}`,
  )

const incomplete: [what: string, job: Fields, says: RegExp][] = [
  ['a deployment without clusters', { type: 'deploy' }, /add it to "clusters"/],
  [
    'a deployment without an account',
    { type: 'deploy', clusters: [{ region: 'east', application: 'shop' }] },
    /set "credentials"/,
  ],
  [
    'a deployment without a region',
    { type: 'deploy', clusters: [{ credentials: 'dev', application: 'shop' }] },
    /set "region"/,
  ],
  [
    'a resize without a server group',
    { type: 'resizeServerGroup', ...place, capacity: sized(1) },
    /set "serverGroupName" or "target"/,
  ],
  [
    'an unknown resize',
    { type: 'resizeServerGroup', ...place, serverGroupName: 'shop-main-v000', action: 'grow' },
    /use scale_exact/,
  ],
  [
    'a target without a cluster',
    { type: 'destroyServerGroup', ...place, target: 'current' },
    /set "cluster"/,
  ],
  [
    'a stage of a cluster without a region',
    { type: 'shrinkCluster', credentials: 'dev', cluster: 'shop-main' },
    /set "region"/,
  ],
  [
    'a stage of an unknown cluster',
    { type: 'disableCluster', ...place, cluster: 'shop-none' },
    /shop-none was not found/,
  ],
  [
    'a rollback without a region',
    { type: 'rollbackCluster', credentials: 'dev', cluster: 'shop-main' },
    /set "region"/,
  ],
  [
    'a rollback without names',
    { type: 'rollbackServerGroup', ...place, rollbackContext: {} },
    /set rollbackContext\./,
  ],
  [
    'an image search without a region',
    { type: 'findImage', credentials: 'dev', cluster: 'shop-main' },
    /set "region"/,
  ],
  [
    'an unknown selection',
    { type: 'findImage', ...place, cluster: 'shop-main', selectionStrategy: 'BEST' },
    /use NEWEST/,
  ],
  ['a bulk without names', { type: 'bulkDestroyServerGroup', ...place }, /set "serverGroupNames"/],
  ['a reboot without instances', { type: 'rebootInstances', ...place }, /set "instanceIds"/],
  [
    'a reboot of an unknown instance',
    { type: 'rebootInstances', ...place, instanceIds: ['i-0'] },
    /i-0 does not exist in dev\/east/,
  ],
]
test('incomplete stages fail and say what to add', { concurrency: 4 }, async (t) => {
  const { cloud, engine, run } = await startRig(t)
  cloud.add('shop-main-v000')
  await Promise.all(
    incomplete.map(([what, job, says]) =>
      t.test(what, async () => assert.match(errorOf((await run(job, 'TERMINAL')).execution), says)),
    ),
  )
  assert.deepEqual(names(cloud), [])
  await t.test('a judgement refuses them in the same words', async () => {
    for (const [what, job, says] of incomplete) {
      const { decision, objections } = await judge(engine, job)
      assert.equal(decision, 'refused', what)
      // A missing field is found before anything is looked up.
      assert.ok(
        objections.some(({ field, message }) => field !== undefined || says.test(message)),
        what,
      )
    }
  })
})

interface Judgement {
  readonly decision: string
  readonly objections: { job?: number; field?: string; message: string }[]
  readonly open: { stage: string; message: string }[]
  readonly effects: {
    stage: string
    operation?: string
    objects?: string[]
    message?: string
    capacity?: unknown
  }[]
}

async function judge(engine: TestEngine, ...job: Fields[]): Promise<Judgement> {
  const { status, body } = await engine.ask('POST', '/ops/judge', {
    application: 'shop',
    description: 'd',
    job,
  })
  assert.equal(status, 200, JSON.stringify(body))
  return body as Judgement
}

test('a judgement of a task', async (t) => {
  const { cloud, engine } = await startRig(t)
  cloud.add('shop-main-v000', { isDisabled: true })
  cloud.add('shop-main-v001')
  cloud.guards = [{ account: 'dev', location: 'east', stack: 'main', detail: '*', enabled: true }]
  const target = { ...place, regions: ['east'], serverGroupName: 'shop-main-v001' }
  const arrival = 'clouddriver checks the operation once it arrives.'

  await t.test('has the objection of a traffic guard', async () => {
    for (const job of [
      { type: 'disableServerGroup', ...target },
      { type: 'destroyServerGroup', ...target },
      { type: 'resizeServerGroup', ...target, capacity: sized(0) },
      {
        type: 'terminateInstances',
        ...target,
        instanceIds: ['shop-main-v001-0', 'shop-main-v001-1'],
      },
      {
        type: 'disableServerGroup',
        ...place,
        regions: ['east'],
        cluster: 'shop-main',
        target: 'current_asg_dynamic',
      },
    ]) {
      const { decision, objections, effects } = await judge(engine, job, { type: 'wait' })
      assert.equal(decision, 'refused', job.type)
      assert.match(
        objections[0]?.message ?? '',
        /The traffic guard of the cluster shop-main in dev\/east forbids/,
      )
      assert.deepEqual([objections.length, objections[0]?.job, effects], [1, 0, []])
    }
  })

  await t.test('has the operations in the order in which they would be submitted', async () => {
    const rollbackContext = {
      rollbackServerGroupName: 'shop-main-v001',
      restoreServerGroupName: 'shop-main-v000',
    }
    const rollback = {
      type: 'rollbackServerGroup',
      ...place,
      regions: ['east'],
      rollbackType: 'EXPLICIT',
      rollbackContext,
    }
    const { decision, objections, open, effects } = await judge(engine, rollback)
    // The older group is not enabled yet, so the guard would object to the last step as things are now.
    assert.deepEqual([decision, objections], ['depends', []])
    assert.deepEqual(
      effects.map(({ operation, objects }) => `${operation} ${objects}`),
      ['enableServerGroup shop-main-v000'],
    )
    assert.match(open.at(-1)?.message ?? '', /^Known only once it runs, .* The traffic guard/)
  })

  await t.test('names the new size and what nothing but the run can tell', async () => {
    const { decision, open, effects } = await judge(engine, {
      type: 'resizeServerGroup',
      ...target,
      capacity: sized(3),
    })
    assert.equal(decision, 'depends')
    assert.deepEqual(open, [{ job: 0, stage: 'resizeServerGroup in east', message: arrival }])
    assert.deepEqual(effects[0]?.capacity, sized(3))
  })

  await t.test('finds unknown types and fields at all jobs', async () => {
    const { decision, objections } = await judge(
      engine,
      { type: 'wiat' },
      { type: 'wait', waitTime: 'long' },
      { type: 'wercker' },
    )
    assert.equal(decision, 'refused')
    assert.deepEqual(
      objections.map(({ job, field }) => [job, field]),
      [
        [0, undefined],
        [1, 'waitTime'],
        [2, undefined],
      ],
    )
    assert.match(objections[0]?.message ?? '', /There is no stage type "wiat"/)
  })

  await t.test('has what makes the body no task', async () => {
    assert.match(
      (await judge(engine, { name: 'x' })).objections[0]?.message ?? '',
      /Element 0 of "job" needs a "type"/,
    )
  })

  await t.test('says what other stages do', async () => {
    const { decision, effects } = await judge(engine, { type: 'wait', waitTime: 1 })
    assert.deepEqual(
      [decision, effects.map(({ message }) => typeof message)],
      ['accepted', ['string']],
    )
    for (const type of ['createApplication', 'deleteApplication']) {
      const { effects: changes } = await judge(engine, {
        type,
        application: { name: 'new', email: 'a@b' },
      })
      assert.deepEqual(
        changes.map(({ stage }) => stage),
        [type],
      )
    }
    assert.deepEqual(
      (await judge(engine, { type: 'createApplication', application: {} })).decision,
      'refused',
    )
    const image = { type: 'findImage', ...place, cluster: 'shop-main' }
    assert.deepEqual(
      (await judge(engine, image)).effects,
      [],
      'a stage that only reads has no effect',
    )
  })

  await t.test('says that a service cannot be asked', async () => {
    const away = await startEngine(t, {
      others: () => Promise.reject(new Error('connect ECONNREFUSED')),
      clock: realClock,
    })
    const { decision, objections, open } = await judge(away, {
      type: 'disableServerGroup',
      ...target,
    })
    assert.deepEqual([decision, objections], ['depends', []])
    assert.match(open[0]?.message ?? '', /cannot be judged now.*cannot be reached/)
  })

  assert.deepEqual(names(cloud), [], 'nothing is submitted')
  assert.deepEqual(cloud.enabled(), ['shop-main-v001'])
  const { body } = await engine.ask('GET', '/applications/shop/tasks')
  assert.deepEqual(body, [], 'nothing is stored')
})

test('orchestration-scenario 139: a failed operation fails its stage in the words of the service', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.failing.set('createServerGroup', 'No capacity is left in east.')
  const view = await run(create, 'TERMINAL')
  assert.equal(errorOf(view.execution), 'No capacity is left in east.\nquota: 3 of 3')
  assert.equal(
    at(view.execution.stages[0], 'context', 'kato.tasks', 0, 'exception', 'operation'),
    'createServerGroup',
  )
})

test('a task may be unknown for a while', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.unknownTasks = 2
  await run(create)
  assert.deepEqual(names(cloud), ['createServerGroup'])
})

test('a queued refresh is awaited', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.queuesRefreshes = true
  await run(create)
  assert.equal(cloud.groups.length, 1)
})

test('a submission whose answer is lost creates one server group', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.lost = 2
  await run(create)
  assert.deepEqual(sizes(cloud), ['shop-main-v000 2'])
})

test('an engine that dies before the answer of a submission creates one server group', async (t) => {
  const [dataDir, copy] = [createFolder('engine'), createFolder('engine')]
  t.after(() => [dataDir, copy].forEach(removeFolder))
  const { cloud, engine } = await startRig(t, createCloudService(), { dataDir })
  cloud.isSilent = true
  const id = await engine.task(create)
  await engine.eventually(async () => cloud.operations.length > 0)
  // What a killed engine leaves is its data as they are at this moment.
  cpSync(dataDir, copy, { recursive: true })
  cloud.isSilent = false
  const next = await startRig(t, cloud, { dataDir: copy })
  await next.engine.taskEnds(id, 'SUCCEEDED')
  assert.deepEqual(sizes(cloud), ['shop-main-v000 2'])
})

test('a restarted deployment creates another server group', async (t) => {
  const { cloud, engine } = await startRig(t)
  cloud.add('shop-main-v000')
  cloud.failing.set('disableServerGroup', 'Not now.')
  const stage = { refId: '1', requisiteStageRefIds: [], ...create, strategy: 'redblack' }
  const id = await engine.run({
    application: 'shop',
    stages: [{ ...stage, source: { serverGroupName: 'shop-main-v000' } }],
  })
  await engine.ends(id, 'TERMINAL')
  cloud.failing.clear()
  const before = await engine.stage(id, '1')
  assert.deepEqual(at(before, 'context', 'deploy.server.groups'), { east: ['shop-main-v001'] })
  await engine.ask('PUT', `/pipelines/${id}/stages/${before.id}/restart`, {})
  await engine.ends(id, 'SUCCEEDED')
  assert.deepEqual(at(await engine.stage(id, '1'), 'context', 'deploy.server.groups'), {
    east: ['shop-main-v002'],
  })
  assert.deepEqual(cloud.enabled(), ['shop-main-v002'])
})

const losses: [when: string, isAnswered: boolean, attemptMs?: number][] = [
  ['while its instances start', true],
  ['before the creation is answered', false],
  ['before the creation is answered, which has no answer in time', false, 50],
]
for (const [when, isAnswered, attemptMs] of losses) {
  test(`a deployment that ends ${when} leaves traffic where it was`, async (t) => {
    const cloud = createCloudService()
    const answered = Promise.withResolvers<void>()
    const { call: ask } = cloud
    const call: typeof ask = async (...asked) => {
      const answer = await ask(...asked)
      if (!isAnswered && names(cloud).length === 1) await answered.promise
      return answer
    }
    const { engine } = await startRig(t, Object.assign(cloud, { call }), { attemptMs })
    cloud.add('shop-main-v000')
    cloud.sick = true
    const id = await engine.run({
      application: 'shop',
      stages: [{ refId: '1', ...create, strategy: 'highlander' }],
    })
    await engine.eventually(async () => cloud.groups.length > 1)
    if (attemptMs === undefined) await engine.ask('PUT', `/pipelines/${id}/cancel`)
    else await engine.ends(id, 'TERMINAL')
    answered.resolve()
    if (attemptMs === undefined) await engine.ends(id, 'CANCELED')
    await engine.eventually(async () => names(cloud).length > 1)
    assert.deepEqual(sizes(cloud), ['shop-main-v000 2', 'shop-main-v001 2 off'])
    assert.deepEqual(names(cloud), ['createServerGroup', 'disableServerGroup'])
  })
}

for (const isKilled of [false, true]) {
  const when = isKilled ? 'whose engine dies then' : 'that never comes'
  test(`a deployment that is cancelled before an answer ${when} leaves traffic where it was`, async (t) => {
    const [dataDir, copy] = [createFolder('engine'), createFolder('engine')]
    t.after(() => [dataDir, copy].forEach(removeFolder))
    const { cloud, engine } = await startRig(t, createCloudService(), { dataDir })
    cloud.add('shop-main-v000')
    cloud.isSilent = true
    const id = await engine.run({ application: 'shop', stages: [{ refId: '1', ...create }] })
    await engine.eventually(async () => cloud.operations.length > 0)
    await engine.ask('PUT', `/pipelines/${id}/cancel`)
    await engine.ends(id, 'CANCELED')
    if (isKilled) cpSync(dataDir, copy, { recursive: true })
    cloud.isSilent = false
    if (isKilled) await startRig(t, cloud, { dataDir: copy })
    await engine.eventually(async () => names(cloud).length > 1)
    assert.deepEqual(sizes(cloud), ['shop-main-v000 2', 'shop-main-v001 2 off'])
    assert.deepEqual(names(cloud), ['createServerGroup', 'disableServerGroup'])
  })
}

test('a deployment that is out of time before its creation ends leaves traffic where it was', async (t) => {
  const cloud = createCloudService()
  const { call: ask } = cloud
  let isDone = false
  const call: typeof ask = async (service, asked, ...rest) => {
    const answer = await ask(service, asked, ...rest)
    if (isDone || !asked.path.startsWith('/task/')) return answer
    const status = { phase: 'INIT', status: 'waits', completed: false, failed: false }
    return { ...answer, body: { ...(answer.body as object), status, resultObjects: [] } }
  }
  const { engine } = await startRig(t, Object.assign(cloud, { call }))
  cloud.add('shop-main-v000')
  const id = await engine.run({
    application: 'shop',
    stages: [{ refId: '1', ...create, strategy: 'redblack', stageTimeoutMs: 300 }],
  })
  await engine.ends(id, 'TERMINAL')
  isDone = true
  await engine.eventually(async () => names(cloud).length > 1)
  assert.deepEqual(sizes(cloud), ['shop-main-v000 2', 'shop-main-v001 2 off'])
})

test('a job that is cancelled before its start is answered is removed', async (t) => {
  const { cloud, engine } = await startRig(t)
  cloud.isSilent = true
  const id = await engine.run({
    application: 'shop',
    stages: [{ refId: '1', type: 'runJob', ...place }],
  })
  await engine.eventually(async () => cloud.operations.length > 0)
  await engine.ask('PUT', `/pipelines/${id}/cancel`)
  cloud.isSilent = false
  await engine.eventually(async () => names(cloud).length > 1)
  const removed = { place: '/applications/shop/jobs/dev/east/job-1' }
  assert.deepEqual(cloud.operations.at(-1), ['removed', removed])
})

test('a job whose time is over is destroyed', async (t) => {
  const { cloud, engine } = await startRig(t)
  const id = await engine.run({
    application: 'shop',
    stages: [{ refId: '1', type: 'runJob', ...place, stageTimeoutMs: 300 }],
  })
  await engine.ends(id, 'TERMINAL')
  const destroyed = { ...place, jobName: 'job-1' }
  assert.partialDeepStrictEqual(cloud.operations.at(-1), ['destroyJob', destroyed])
})

test('a cancelled deployment is undone before it is restarted or deleted', async (t) => {
  const { cloud, engine } = await startRig(t)
  cloud.isSilent = true
  const id = await engine.run({
    application: 'shop',
    stages: [{ refId: '1', type: 'deploy', clusters: [cluster] }],
  })
  await engine.eventually(async () => cloud.operations.length > 0)
  await engine.ask('PUT', `/pipelines/${id}/cancel`)
  cloud.isSilent = false
  const { id: stageId } = await engine.stage(id, '1')
  await engine.ask('PUT', `/pipelines/${id}/stages/${stageId}/restart`, {})
  await engine.ends(id, 'SUCCEEDED')
  assert.deepEqual(sizes(cloud), ['shop-main-v000 2 off', 'shop-main-v001 2'])
  cloud.isSilent = true
  const other = await engine.run({ application: 'shop', stages: [{ refId: '1', ...create }] })
  await engine.eventually(async () => cloud.groups.length > 2)
  await engine.ask('PUT', `/pipelines/${other}/cancel`)
  cloud.isSilent = false
  const { status } = await engine.ask('DELETE', `/pipelines/${other}`)
  assert.equal(status, 200)
  assert.deepEqual(cloud.enabled(), ['shop-main-v001'])
})

test('a cluster of several regions is deployed in each', async (t) => {
  const { cloud, run } = await startRig(t)
  const { region: _region, ...everywhere } = cluster
  const availabilityZones = { east: ['east-a'], west: [] }
  await run({ type: 'deploy', clusters: [{ ...everywhere, availabilityZones }] })
  assert.deepEqual(cloud.groups.map(({ name, region }) => `${region} ${name}`).sort(), [
    'east shop-main-v000',
    'west shop-main-v000',
  ])
  assert.deepEqual(
    cloud.operations.map(([, { region, availabilityZones: zones }]) => [region, zones]).sort(),
    [
      ['east', { east: ['east-a'] }],
      ['west', { west: [] }],
    ],
  )
})

test('a deployment takes the image that a build or trigger brings', async (t) => {
  const { cloud, engine } = await startRig(t)
  const image = { type: 'local/image', name: 'shop', reference: 'shop:7' }
  const { imageId: _imageId, ...withoutImage } = cluster
  const stages = [{ refId: '1', type: 'deploy', clusters: [withoutImage] }]
  const expected = { id: 'e1', matchArtifact: { type: 'local/image', name: 'shop-.*' } }
  const named = [{ ...stages[0], clusters: [{ ...withoutImage, imageArtifactId: 'e1' }] }]
  const runs = [
    {
      stages,
      trigger: { type: 'manual', artifacts: [{ type: 'docker/image', reference: 'other' }, image] },
    },
    {
      stages: named,
      expectedArtifacts: [expected],
      trigger: {
        type: 'manual',
        expectedArtifactIds: ['e1'],
        artifacts: [image, { ...image, name: 'shop-eu', reference: 'shop-eu:1' }],
      },
    },
  ]
  const deployed: unknown[] = []
  for (const run of runs) {
    const execution = await engine.ends(
      await engine.run({ application: 'shop', ...run }),
      'SUCCEEDED',
    )
    deployed.push(...deploymentsOf([toRun(execution)]).map(({ images }) => images))
  }
  assert.deepEqual(deployed, [['shop:7'], ['shop-eu:1']])
  const created = cloud.operations.filter(([name]) => name === 'createServerGroup')
  assert.deepEqual(
    created.map(([, { imageId }]) => imageId),
    ['shop:7', 'shop-eu:1'],
  )
})

test('a stage of several regions works in each, zones included', async (t) => {
  const { cloud, run } = await startRig(t)
  for (const region of ['east', 'west']) {
    cloud.add('shop-main-v000', { region })
    cloud.add('shop-main-v001', { region })
  }
  const { region: _region, ...everywhere } = place
  await run({
    type: 'destroyServerGroup',
    ...everywhere,
    regions: ['east', 'west'],
    cluster: 'shop-main',
    target: 'oldest',
  })
  assert.deepEqual(cloud.enabled(), ['shop-main-v001', 'shop-main-v001'])
  await run({
    type: 'disableCluster',
    ...everywhere,
    zones: ['west-a'],
    cluster: 'shop-main',
    remainingEnabledServerGroups: 0,
  })
  assert.deepEqual(
    cloud.groups.map(({ region, isDisabled }) => [region, isDisabled]),
    [
      ['east', false],
      ['west', true],
    ],
  )
})

test('health of no interest is not awaited', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.sick = true
  await run({ ...create, interestingHealthProviderNames: [] })
  await run({ ...create, interestingHealthProviderNames: ['Platform'] })
  assert.equal(cloud.groups.length, 2)
})

test('a share of healthy instances is enough where the stage says so', async (t) => {
  const { cloud, engine, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: sized(4), out: ['shop-main-v000-0', 'shop-main-v000-1'] })
  const job = {
    type: 'resizeServerGroup',
    ...place,
    serverGroupName: 'shop-main-v000',
    capacity: sized(4),
  }
  await run({ ...job, targetHealthyDeployPercentage: 50 })
  const id = await engine.task({ ...job, targetHealthyDeployPercentage: 75 })
  const waitsFor = async () =>
    at((await engine.view(id)).execution.stages.at(-1), 'context', 'waiting.for')
  assert.equal(await engine.eventually(waitsFor), '2 of 3 instances of shop-main-v000 are up')
  cloud.groups[0]?.out.pop()
  await engine.taskEnds(id, 'SUCCEEDED')
})

test('a rolling deployment that fails in the middle is undone', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: { min: 1, max: 8, desired: 4 } })
  const failing = {
    type: 'checkPreconditions',
    preconditions: [{ type: 'expression', context: { expression: 'false' } }],
  }
  const validation = {
    id: 'check',
    name: 'check',
    application: 'shop',
    stages: [{ refId: '1', ...failing }],
  }
  cloud.stored.set('/pipelines/check/get', validation)
  const more = {
    capacity: undefined,
    useSourceCapacity: true,
    targetPercentages: [50],
    pipelineBeforeCleanup: { pipelineId: 'check' },
  }
  const rollback = { onFailure: true, destroyLatest: true }
  await run({ ...create, strategy: 'rollingredblack', ...more, rollback }, 'TERMINAL')
  assert.deepEqual(sizes(cloud), ['shop-main-v000 4'])
  assert.deepEqual(cloud.groups[0]?.capacity, { min: 1, max: 8, desired: 4 })
  assert.deepEqual(names(cloud).slice(-3), [
    'resizeServerGroup',
    'disableServerGroup',
    'destroyServerGroup',
  ])
})

test('a strategy pipeline deploys the cluster of its parent', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000')
  const stages = [
    { refId: '1', type: 'deploy', requisiteStageRefIds: [], trafficOptions: 'enable' },
    {
      refId: '2',
      type: 'disableCluster',
      ...place,
      cluster: '${parameters.cluster}',
      requisiteStageRefIds: ['1'],
    },
  ]
  cloud.stored.set('/strategies/shop', [
    { id: 'mine', name: 'mine', application: 'shop', strategy: true, stages },
  ])
  const custom = { strategy: 'custom', strategyApplication: 'shop', strategyPipeline: 'mine' }
  await run({ type: 'deploy', clusters: [{ ...cluster, ...custom }] })
  assert.deepEqual(names(cloud), ['createServerGroup', 'disableServerGroup'])
  assert.deepEqual(sizes(cloud), ['shop-main-v000 2 off', 'shop-main-v001 2'])
  assert.equal(cloud.operations[0]?.[1]['imageId'], 'new')
  const missing = await run({ ...create, ...custom, strategyPipeline: 'other' }, 'TERMINAL')
  assert.match(errorOf(missing.execution), /no strategy with the id "other"/)
})

test('a clone leaves what is not given to the service', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: { min: 1, max: 3, desired: 2 } })
  const source = { account: 'dev', region: 'east', serverGroupName: 'shop-main-v000' }
  await run({
    type: 'cloneServerGroup',
    ...place,
    application: 'shop',
    stack: 'main',
    source,
    capacity: { desired: 3 },
  })
  const [, fields] = cloud.operations[0] ?? []
  assert.equal(fields?.['imageId'], undefined)
  assert.deepEqual(fields?.['capacity'], { desired: 3 })
  assert.equal(at(fields, 'source', 'serverGroupName'), 'shop-main-v000')
})

test('a resize follows the largest of the cluster, or another server group', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { capacity: { min: 1, max: 6, desired: 4 } })
  cloud.add('shop-main-v001', { capacity: sized(2) })
  const job = { type: 'resizeServerGroup', ...place, serverGroupName: 'shop-main-v001' }
  await run({ ...job, action: 'scale_to_cluster', scaleNum: 1 })
  assert.deepEqual(cloud.groups[1]?.capacity, { min: 2, max: 6, desired: 5 })
  const source = { serverGroupName: 'shop-main-v000' }
  await run({ ...job, action: 'scale_to_server_group', source, scalePct: 50, pinCapacity: true })
  assert.deepEqual(cloud.groups[1]?.capacity, sized(2))
})

test('clusters keep their larger server groups where the stage says so', async (t) => {
  const { cloud, run } = await startRig(t)
  cloud.add('shop-main-v000', { isDisabled: true, capacity: sized(3) })
  for (const count of [1, 2]) cloud.add(`shop-main-v00${count}`, { isDisabled: true })
  const job = { ...place, cluster: 'shop-main' }
  await run({
    type: 'scaleDownCluster',
    ...job,
    remainingFullSizeServerGroups: 1,
    preferLargerOverNewer: true,
  })
  assert.deepEqual(sizes(cloud), [
    'shop-main-v000 3 off',
    'shop-main-v001 0 off',
    'shop-main-v002 0 off',
  ])
  await run({ type: 'shrinkCluster', ...job, shrinkToSize: 1, retainLargerOverNewer: 'true' })
  assert.deepEqual(sizes(cloud), ['shop-main-v000 3 off'])
})

test('several server groups are destroyed at once', async (t) => {
  const { cloud, run } = await startRig(t)
  for (const count of [0, 1, 2]) cloud.add(`shop-main-v00${count}`)
  await run({
    type: 'bulkDestroyServerGroup',
    ...place,
    serverGroupNames: ['shop-main-v000', 'shop-main-v001'],
  })
  assert.deepEqual(cloud.enabled(), ['shop-main-v002'])
  assert.deepEqual(names(cloud), [
    'disableServerGroup',
    'disableServerGroup',
    'destroyServerGroup',
    'destroyServerGroup',
  ])
})

test('a cluster is rolled back to the image that its tag names', async (t) => {
  const { cloud, run } = await startRig(t)
  for (const [index, imageId] of ['first', 'other', 'broken'].entries()) {
    cloud.add(`shop-main-v00${index}`, { imageId, isDisabled: index < 2, capacity: sized(1) })
  }
  const tag = (imageId: string) => {
    const value = { previousServerGroup: { imageId, imageName: imageId } }
    cloud.tags = [{ tags: [{ name: 'spinnaker:metadata', value }] }]
  }
  const job = {
    type: 'rollbackCluster',
    ...place,
    regions: ['east'],
    serverGroup: 'shop-main-v002',
  }
  tag('first')
  await run(job)
  assert.deepEqual(cloud.enabled(), ['shop-main-v000'])
  tag('gone')
  await run(job)
  assert.deepEqual(cloud.enabled(), ['shop-main-v003'])
  assert.equal(cloud.groups.at(-1)?.imageId, 'gone')
})

const reversals: [what: string, type: string, isSeen: boolean, says: RegExp][] = [
  [
    'an enabled server group that is disabled',
    'enableServerGroup',
    true,
    /v000 was enabled and is disabled now/,
  ],
  [
    'one that is disabled before it was seen enabled',
    'enableServerGroup',
    false,
    /v000 was enabled and is disabled now/,
  ],
  [
    'a disabled server group that is enabled before it was seen',
    'disableServerGroup',
    false,
    /v000 was disabled and is enabled now/,
  ],
]
for (const [what, type, isSeen, says] of reversals) {
  test(`${what} ends the wait for its instances with the reason`, async (t) => {
    const cloud = createCloudService()
    const isEnabling = type === 'enableServerGroup'
    const group = cloud.add('shop-main-v000', { isDisabled: isEnabling, sick: isEnabling })
    const reverse = () => {
      group.isDisabled = isEnabling
    }
    const engine = await startEngine(t, {
      others: async (service, request) => {
        const answer = await cloud.call(service, request)
        if (!isSeen && request.path.includes('/ops')) reverse()
        return answer
      },
    })
    const id = await engine.task({ type, ...place, serverGroupName: 'shop-main-v000' })
    const stageContexts = async () =>
      (await engine.view(id)).execution.stages.map(({ context }) => context)
    await engine.eventually(async () => {
      engine.clock.pass(1)
      await engine.clock.settled()
      return (await stageContexts()).some((context) => context['waiting.for'] !== undefined)
    })
    const startedMs = engine.clock.now()
    if (isSeen) reverse()
    // A view that lags behind for a moment is no reversal.
    engine.clock.pass(5)
    await engine.clock.settled()
    assert.equal((await engine.view(id)).status, 'RUNNING')
    await engine.eventually(async () => {
      engine.clock.pass(20)
      await engine.clock.settled()
      return (await engine.view(id)).status !== 'RUNNING'
    })
    const { status, execution } = await engine.view(id)
    assert.equal(status, 'TERMINAL')
    assert.match(errorOf(execution), says)
    assert.ok(engine.clock.now() - startedMs < 20 * 60_000)
  })
}

test('a server group that shows late what was done is waited for', async (t) => {
  const cloud = createCloudService()
  const group = cloud.add('shop-main-v000', { isDisabled: true })
  const engine = await startEngine(t, {
    others: async (service, request) => {
      const answer = await cloud.call(service, request)
      if (request.path.includes('/ops')) group.isDisabled = true
      return answer
    },
  })
  const id = await engine.task({
    type: 'enableServerGroup',
    ...place,
    serverGroupName: 'shop-main-v000',
  })
  for (let second = 0; second < 120; second += 10) {
    engine.clock.pass(10)
    await engine.clock.settled()
    assert.equal((await engine.view(id)).status, 'RUNNING')
  }
  group.isDisabled = false
  await engine.eventually(async () => {
    engine.clock.pass(5)
    await engine.clock.settled()
    return (await engine.view(id)).status !== 'RUNNING'
  })
  assert.equal((await engine.view(id)).status, 'SUCCEEDED')
})
