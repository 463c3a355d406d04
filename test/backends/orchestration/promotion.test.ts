/** The stage `promote`: what it takes where, in which order its constraints hold it up, and who may. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Execution, Stage } from '../../../packages/engine/orchestration/model.ts'
import { deployedGroups } from '../../../packages/engine/orchestration/stages/verification/deployed-groups.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import {
  type CloudService,
  createCloudService,
  type Group,
} from './infrastructure/cloud-service.ts'
import { createManifestService } from './manifests/manifest-service.ts'
import { at, createClock, type SettableClock, startEngine, type TestEngine } from './support.ts'

type Fields = Readonly<Record<string, unknown>>

const minute = 60
const scopes = [{ scopeName: 'default' }]
const roles: Readonly<Record<string, readonly string[]>> = {
  ann: ['release-managers'],
  bob: ['developers'],
}

interface Rig {
  readonly engine: TestEngine
  readonly cloud: CloudService
  readonly clock: SettableClock
  /** Starts a promotion, and looks until its stage waits for something in these words, or has ended. */
  promote(fields?: Fields, user?: string): Promise<string>
  waitsFor(id: string, words: RegExp): Promise<Stage>
}

/** An application of two environments that declares these constraints for the second one. */
async function startRig(
  t: TestContext,
  constraints: readonly Fields[],
  pipelines: readonly Fields[] = [],
): Promise<Rig> {
  const cloud = createCloudService()
  const clock = createClock()
  const production = {
    name: 'production',
    accounts: ['prod'],
    mayPromote: ['release-managers'],
    constraints,
  }
  cloud.stored.set('/v2/applications/shop', {
    ...{ name: 'SHOP', trafficGuards: [] },
    environments: [{ name: 'staging', accounts: ['dev'] }, production],
  })
  cloud.stored.set('/pipelines/shop', pipelines)
  const view = ({ imageId, ...group }: Group) => ({
    ...{ ...group, cloudProvider: 'local', cluster: group.name.replace(/-v\d+$/, '') },
    ...{
      image: { imageId },
      instanceCounts: { total: group.capacity.desired, up: group.capacity.desired },
    },
  })
  const others: CallService = async (service, request) => {
    const user = /^\/authorize\/(\w+)$/.exec(request.path)?.[1]
    if (service === 'fiat' && user !== undefined) {
      return {
        status: 200,
        body: { name: user, roles: (roles[user] ?? []).map((name) => ({ name })) },
      }
    }
    if (request.path === '/applications/shop/serverGroups')
      return { status: 200, body: cloud.groups.map(view) }
    if (request.path === '/credentials')
      return { status: 200, body: [{ name: 'dev' }, { name: 'prod' }] }
    return cloud.call(service, request)
  }
  const engine = await startEngine(t, { others, clock })
  return {
    engine,
    cloud,
    clock,
    promote: (fields = {}, user = 'ann') =>
      engine.run(
        {
          application: 'shop',
          stages: [{ refId: '1', type: 'promote', to: 'production', ...fields }],
        },
        user,
      ),
    async waitsFor(id, words) {
      const found = await engine.eventually(async () => {
        clock.pass(5)
        const stage = await engine.stage(id, '1')
        return words.test(String(stage.context['waiting.for'])) || stage.status === 'TERMINAL'
          ? stage
          : undefined
      })
      assert.match(String(found?.context['waiting.for']), words, JSON.stringify(found))
      return found as Stage
    },
  }
}

/** Lets the clock run until the execution is over. */
async function ended({ engine, clock }: Rig, id: string, status = 'SUCCEEDED'): Promise<Execution> {
  await engine.eventually(async () => {
    clock.pass(10)
    return ['SUCCEEDED', 'TERMINAL'].includes((await engine.execution(id)).status)
  })
  const execution = await engine.execution(id)
  assert.equal(execution.status, status, errorOf(execution))
  return execution
}

function errorOf({ stages }: Execution): string {
  return stages
    .flatMap((stage) => at(stage, 'context', 'exception', 'details', 'errors') ?? [])
    .join('\n')
}

function imagesOf({ cloud }: Rig, account: string): string[] {
  return cloud.groups
    .filter((group) => group.account === account && !group.isDisabled)
    .map(({ imageId }) => imageId)
}

test('each constraint holds the promotion up in its turn, and the stage says which', async (t) => {
  const rig = await startRig(t, [
    { type: 'judgment', roles: ['qa'], instructions: 'Is it good?' },
    { type: 'soakTime', minutes: 30 },
    {
      type: 'window',
      days: [],
      whitelist: [{ startHour: 20, startMin: 0, endHour: 21, endMin: 0 }],
    },
    { type: 'verification', checks: [{ type: 'metric', metric: 'errorPercent', bound: 1 }] },
  ])
  const { engine, cloud, clock } = rig
  cloud.add('shop-main-v004', { imageId: 'shop:2', createdTime: clock.now() })
  cloud.add('shop-main-v001', {
    account: 'prod',
    region: 'west',
    imageId: 'shop:1',
    createdTime: 1,
  })
  const id = await rig.promote()
  const judged = await rig.waitsFor(id, /^waits for the judgment of a user with the role qa$/)
  assert.deepEqual(at(judged, 'outputs', 'promotedImages'), ['shop:2'])
  const judgment = (await engine.execution(id)).stages.find(({ type }) => type === 'manualJudgment')
  assert.equal(judgment?.context['instructions'], 'Is it good?')
  // The version is what it was when the stage began.
  cloud.add('shop-main-v005', { imageId: 'shop:3', createdTime: 2, isDisabled: true })
  const judge = { judgmentStatus: 'continue' }
  assert.equal(
    (await engine.ask('PATCH', `/pipelines/${id}/stages/${judgment?.id}`, judge, 'bob')).status,
    403,
  )
  Object.assign(roles, { carla: ['qa'] })
  await engine.ask('PATCH', `/pipelines/${id}/stages/${judgment?.id}`, judge, 'carla')
  await rig.waitsFor(id, /^waits for (30|2\d) more minutes of soak time in staging$/)
  clock.pass(20 * minute)
  await rig.waitsFor(id, /^waits for \d more minutes of soak time in staging$/)
  assert.deepEqual(imagesOf(rig, 'prod'), ['shop:1'])
  clock.pass(11 * minute)
  await rig.waitsFor(
    id,
    /^waits for the window of production, which opens at 2031-05-06T20:00:00.000Z$/,
  )
  clock.pass(8 * 60 * minute)
  await rig.waitsFor(id, /^(deploys|verifies) 2 (to|in) production$/)
  await ended(rig, id, 'TERMINAL')
  // No load balancer knows it: the verification has looked at the new server group and learnt nothing.
  assert.match(
    errorOf(await engine.execution(id)),
    /The check "errorPercent <= 1" failed: errorPercent of shop-main-v00\d has no value yet\./,
  )
  assert.deepEqual(imagesOf(rig, 'prod'), ['shop:2'])
})

test('it deploys as the pipeline does that deployed there last, with another image', async (t) => {
  const cluster = {
    account: 'prod',
    region: 'east',
    application: 'shop',
    stack: 'main',
    cloudProvider: 'local',
    strategy: 'highlander',
  }
  const stages = [
    {
      ...{ refId: '1', type: 'deploy' },
      clusters: [
        {
          ...cluster,
          capacity: { min: 3, max: 3, desired: 3 },
          loadBalancers: ['shop'],
          imageId: 'shop:1',
        },
      ],
    },
  ]
  const rig = await startRig(t, [], [{ id: 'p1', name: 'release', application: 'shop', stages }])
  const { cloud, engine } = rig
  cloud.add('shop-main-v004', { imageId: 'shop:2' })
  await t.test('as it is defined, before the first deployment', async () => {
    await ended(rig, await rig.promote())
    const [[name, fields] = ['', {}]] = cloud.operations
    assert.deepEqual(
      [name, fields['imageId'], fields['loadBalancers'], fields['account']],
      ['createServerGroup', 'shop:2', ['shop'], 'prod'],
    )
    assert.deepEqual(imagesOf(rig, 'prod'), ['shop:2'])
  })
  await t.test('as it ran last, once it has', async () => {
    const deployed = {
      ...stages[0],
      clusters: [{ ...cluster, capacity: { min: 5, max: 5, desired: 5 }, imageId: 'shop:1' }],
    }
    await ended(
      rig,
      await engine.run(
        { id: 'p1', name: 'release', application: 'shop', stages: [deployed] },
        'ann',
      ),
    )
    cloud.operations.length = 0
    await ended(rig, await rig.promote())
    const created = cloud.operations.find(([name]) => name === 'createServerGroup')?.[1]
    assert.deepEqual(
      [created?.['imageId'], created?.['capacity']],
      ['shop:2', { min: 5, max: 5, desired: 5 }],
    )
    // Its strategy leaves the new server group alone.
    assert.deepEqual(
      cloud.groups.filter(({ account }) => account === 'prod').map(({ imageId }) => imageId),
      ['shop:2'],
    )
  })
  await t.test('not at all where the version runs already', async () => {
    cloud.operations.length = 0
    const { stages: done } = await ended(rig, await rig.promote())
    assert.deepEqual(
      [done.length, at(done[0], 'outputs', 'isPromoted'), cloud.operations],
      [1, false, []],
    )
  })
})

test('without a pipeline it clones: what runs there by red/black, else what the environment before runs', async (t) => {
  const rig = await startRig(t, [])
  const { cloud } = rig
  cloud.add('shop-main-v004', { imageId: 'shop:2', region: 'west' })
  await ended(rig, await rig.promote())
  cloud.add('shop-main-v009', { imageId: 'shop:3', region: 'west' })
  const source = cloud.groups.find(
    ({ name, account }) => name === 'shop-main-v004' && account === 'dev',
  )
  if (source !== undefined) source.isDisabled = true
  await ended(rig, await rig.promote({ clusters: ['shop-main'] }))
  const clones = cloud.operations
    .filter(([name]) => name === 'cloneServerGroup')
    .map(([, fields]) => fields)
  assert.deepEqual(
    clones.map(({ account, region, imageId, strategy }) => [account, region, imageId, strategy]),
    [
      ['prod', 'west', 'shop:2', ''],
      ['prod', 'west', 'shop:3', 'redblack'],
    ],
  )
  assert.deepEqual(imagesOf(rig, 'prod'), ['shop:3'])
})

test('of two promotions to one environment, the later one takes what runs after the earlier one', async (t) => {
  const rig = await startRig(t, [{ type: 'judgment' }])
  const { engine, cloud } = rig
  const source = cloud.add('shop-main-v004', { imageId: 'shop:2' })
  const judge = async (id: string) => {
    await rig.waitsFor(id, /^waits for the judgment of a user$/)
    const judgment = (await engine.execution(id)).stages.find(
      ({ type }) => type === 'manualJudgment',
    )
    await engine.ask(
      'PATCH',
      `/pipelines/${id}/stages/${judgment?.id}`,
      { judgmentStatus: 'continue' },
      'ann',
    )
  }
  const first = await rig.promote()
  await rig.waitsFor(first, /^waits for the judgment/)
  const second = await rig.promote()
  await rig.waitsFor(
    second,
    new RegExp(`^waits for the promotion by \\S+ \\(${first}\\), which began before$`),
  )
  source.imageId = 'shop:3'
  await judge(first)
  await ended(rig, first)
  assert.deepEqual(imagesOf(rig, 'prod'), ['shop:2'])
  await judge(second)
  await ended(rig, second)
  assert.deepEqual(imagesOf(rig, 'prod'), ['shop:3'])
})

test('a canary runs beside what runs there, in clusters of its own, before the deployment', async (t) => {
  const cluster = {
    account: 'prod',
    region: 'east',
    application: 'shop',
    stack: 'main',
    cloudProvider: 'local',
    strategy: 'redblack',
  }
  const stages = [
    {
      refId: '1',
      type: 'deploy',
      clusters: [{ ...cluster, capacity: { min: 3, max: 3, desired: 3 }, imageId: 'shop:0' }],
    },
  ]
  const canary = {
    type: 'canary',
    canaryConfig: { canaryConfigId: 'c1', lifetimeDuration: 'PT5M', scopes },
    trafficPercent: 5,
  }
  const rig = await startRig(
    t,
    [canary],
    [{ id: 'p1', name: 'release', application: 'shop', stages }],
  )
  rig.cloud.add('shop-main-v004', { imageId: 'shop:2' })
  rig.cloud.add('shop-main-v001', { account: 'prod', imageId: 'shop:1' })
  const { stages: done } = await ended(rig, await rig.promote(), 'TERMINAL')
  const analysis = done.find(({ type }) => type === 'kayentaCanary')
  const own = {
    ...cluster,
    credentials: 'prod',
    regions: ['east'],
    strategy: '',
    capacity: { min: 1, max: 1, desired: 1 },
  }
  assert.deepEqual(at(analysis, 'context', 'deployments'), {
    baseline: {
      application: 'shop',
      account: 'prod',
      cluster: 'shop-main',
      cloudProvider: 'local',
    },
    serverGroupPairs: [
      {
        control: { ...own, freeFormDetails: 'baseline' },
        experiment: { ...own, imageId: 'shop:2', imageAccount: 'dev', freeFormDetails: 'canary' },
        trafficPercent: 5,
      },
    ],
  })
  // There is no kayenta here: nothing is deployed without its verdict.
  assert.deepEqual(imagesOf(rig, 'prod').at(-1), 'shop:1')
})

test('a verification looks at what was deployed, and not at the canary ahead of it', () => {
  const part = (
    id: string,
    type: string,
    parentStageId: string | undefined,
    created?: string,
    requires: readonly string[] = [],
  ) => ({
    ...{
      id,
      refId: id,
      type,
      name: type,
      status: 'SUCCEEDED',
      parentStageId,
      requisiteStageRefIds: requires,
      tasks: [],
      engine: {},
    },
    ...(parentStageId !== undefined && { syntheticStageOwner: 'STAGE_AFTER' }),
    context: { account: 'prod', cloudProvider: 'local', stack: 'main' },
    outputs: created === undefined ? {} : { 'deploy.server.groups': { east: [created] } },
  })
  const stages = [
    part('1', 'promote', undefined),
    part('1>1', 'kayentaCanary', '1'),
    part('1>1>1', 'createServerGroup', '1>1', 'shop-main-canary-v000'),
    part('1>2', 'createServerGroup', '1', 'shop-main-v002', ['1>1']),
    part('1>3', 'verify', '1', undefined, ['1>2']),
  ] as unknown as Stage[]
  const execution = { application: 'shop', stages } as unknown as Execution
  const found = deployedGroups({ execution, stage: stages.at(-1) as Stage })
  assert.deepEqual(
    found.map(({ name }) => name),
    ['shop-main-v002'],
  )
})

test('on Kubernetes, the manifests that were deployed last get the images of the environment before', async (t) => {
  const service = createManifestService()
  const engine = await startEngine(t, {
    others: service.call,
    clock: { now: Date.now, pass: () => {}, settled: async () => {} },
  })
  const workload = (image: string, replicas: number) => ({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'prod' } },
    spec: {
      replicas,
      template: { spec: { containers: [{ image }, { image: 'example.org/proxy:7' }] } },
    },
  })
  const group = (namespace: string, image: string) => ({
    ...{
      name: 'replicaSet web-1',
      account: 'k8s',
      region: namespace,
      cluster: 'deployment web',
      cloudProvider: 'kubernetes',
    },
    ...{
      createdTime: 1,
      instanceCounts: { total: 1, up: 1 },
      serverGroupManagers: [{ name: 'web' }],
    },
    buildInfo: { images: [image, 'example.org/proxy:7'] },
  })
  const answer = (path: string, body: unknown) =>
    service.scripted.set(`GET ${path}`, () => ({ status: 200, body }))
  const environments: Fields[] = ['staging', 'prod'].map((name) => ({
    name,
    accounts: ['k8s'],
    regions: [name],
  }))
  answer('/v2/applications/shop', { name: 'SHOP', environments })
  answer('/credentials', [{ name: 'k8s' }])
  answer('/pipelines/shop', [
    { id: 'p1', name: 'release', stages: [{ type: 'promote', to: 'prod' }] },
  ])
  answer('/applications/shop/serverGroups', [
    group('staging', 'example.org/web:2'),
    group('prod', 'example.org/web:1'),
  ])
  const applied = JSON.stringify(workload('example.org/web:1', 4))
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': applied }
  const promotion = { refId: '1', type: 'promote', to: 'prod' }
  const promote = async () => {
    const definition = { id: 'p1', name: 'release', application: 'shop', stages: [promotion] }
    const { stages } = await engine.ends(await engine.run(definition, 'ann'), 'SUCCEEDED')
    assert.deepEqual(
      stages.map(({ type }) => type),
      ['promote', 'deployManifest'],
    )
    return service.operations.at(-1)?.[1]['manifests']
  }
  const status = { stable: { state: true } }
  answer('/manifests/k8s/prod/deployment%20web', {
    manifest: { metadata: { annotations } },
    status,
  })
  assert.deepEqual(await promote(), [workload('example.org/web:2', 4)])
  // From then on, what was deployed last is what a run says.
  Object.assign(annotations, { 'kubectl.kubernetes.io/last-applied-configuration': '' })
  answer('/applications/shop/serverGroups', [
    group('staging', 'example.org/web:3'),
    group('prod', 'example.org/web:2'),
  ])
  assert.deepEqual(await promote(), [workload('example.org/web:3', 4)])

  environments[1] = {
    ...environments[1],
    constraints: [{ type: 'canary', canaryConfig: { canaryConfigId: 'c1', scopes } }],
  }
  answer('/applications/shop/serverGroups', [
    group('staging', 'example.org/web:4'),
    group('prod', 'example.org/web:3'),
  ])
  const { stages } = await engine.ends(
    await engine.run({ application: 'shop', stages: [promotion] }, 'ann'),
    'TERMINAL',
  )
  const [pair] = at(stages[1], 'context', 'deployments', 'serverGroupPairs') as {
    experiment: Fields
  }[]
  assert.equal(at(stages[1], 'context', 'deployments', 'baseline', 'cluster'), 'deployment web')
  const { stack, freeFormDetails, imageId, region } = pair?.experiment ?? {}
  assert.deepEqual(
    [stack, freeFormDetails, imageId, region],
    ['web', 'canary', 'example.org/web:4', 'prod'],
  )
})

test('what cannot be promoted is refused in words', async (t) => {
  const rig = await startRig(t, [{ type: 'soakTime', minutes: 30 }])
  const { cloud, clock } = rig
  const stored = cloud.stored.get('/v2/applications/shop')
  cloud.add('shop-main-v001', { account: 'prod', imageId: 'shop:1' })
  const refused: [fields: Fields, user: string, message: RegExp][] = [
    [
      {},
      'bob',
      /^bob may not promote to production: only users with the role release-managers may\.$/,
    ],
    [
      { to: 'moon' },
      'ann',
      /^There is no environment "moon"; the application has staging, production\.$/,
    ],
    [
      { to: 'staging' },
      'ann',
      /^staging is the first environment, so nothing is promoted to it: set "from", or another "to"\.$/,
    ],
    [{ from: 'Production' }, 'ann', /^"from" and "to" are the same environment, production\.$/],
    [{}, 'ann', /^staging runs nothing of shop at present, so there is nothing to promote\.$/],
  ]
  for (const [fields, user, message] of refused) {
    assert.match(
      errorOf(await ended(rig, await rig.promote(fields, user), 'TERMINAL')).split('\n')[0] ?? '',
      message,
    )
  }
  cloud.stored.set('/v2/applications/shop', {
    name: 'SHOP',
    environments: ['moved', 'prod'].map((account) => ({ name: account, accounts: [account] })),
  })
  assert.match(
    errorOf(await ended(rig, await rig.promote({ to: 'prod' }), 'TERMINAL')),
    /\nThe environment "moved" names the account "moved", which does not exist/,
  )
  cloud.stored.set('/v2/applications/shop', stored)
  cloud.add('shop-main-v004', { imageId: 'shop:2', createdTime: clock.now() })
  const second = cloud.add('shop-main-v005', { imageId: 'shop:3', createdTime: clock.now() + 1 })
  const several = errorOf(await ended(rig, await rig.promote(), 'TERMINAL'))
  assert.match(
    several,
    /^shop-main runs 3 and 2 in staging: it is promoted once it runs one version\./,
  )
  second.isDisabled = true
  const id = await rig.promote()
  await rig.waitsFor(id, /of soak time in staging/)
  Object.assign(second, { isDisabled: false })
  cloud.groups.splice(
    cloud.groups.findIndex(({ imageId }) => imageId === 'shop:2'),
    1,
  )
  clock.pass(minute)
  assert.match(
    errorOf(await ended(rig, id, 'TERMINAL')),
    /^shop:2 no longer runs in staging, so it cannot stay there for 30 minutes\./,
  )
})
