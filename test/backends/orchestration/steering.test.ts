/** A run carries its starter's rights, narrowed to those of all who steered it: across executions, too. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'
import type { CallService, ServiceCall } from '../../../packages/ports/service-call.ts'
import { at, J, startEngine, type TestEngine, V, W } from './support.ts'

type Rights = Record<string, string[]>

const all = ['READ', 'WRITE', 'EXECUTE']

/** `secret` is olga's and the robot's; mallory may execute there, bert may also use the robot, admin is an administrator. */
const rights: Record<string, Rights> = {
  olga: { secret: all, mine: all },
  robot: { secret: all },
  mallory: { secret: ['READ', 'EXECUTE'], mine: all },
  bert: { secret: ['READ', 'EXECUTE'] },
  foreign: { mine: all },
  admin: {},
}

interface Steered extends TestEngine {
  /** Calls to services elsewhere other than the permission service. */
  calls: ServiceCall[]
  store(definition: Record<string, unknown>): Promise<void>
  patch(run: string, refId: string, changes: Record<string, unknown>, user: string): Promise<number>
  restart(run: string, refId: string, user: string): Promise<number>
}

async function startSteered(t: TestContext): Promise<Steered> {
  const calls: ServiceCall[] = []
  const others: CallService = async (service, call) => {
    if (service !== 'fiat') {
      calls.push(call)
      return call.method === 'GET' ? { status: 200, body: [] } : { status: 404, body: undefined }
    }
    const user = decodeURIComponent(call.path.split('/')[2] as string)
    const applications = Object.entries(rights[user] ?? {}).map(([name, authorizations]) => ({
      name,
      authorizations,
    }))
    const accounts = user === 'olga' ? [{ name: 'prod', authorizations: ['READ', 'WRITE'] }] : []
    const serviceAccounts = user === 'bert' ? [{ name: 'robot', memberOf: ['bots'] }] : []
    return {
      status: 200,
      body: {
        name: user,
        admin: user === 'admin',
        applications,
        accounts,
        serviceAccounts,
        roles: [],
      },
    }
  }
  const engine = await startEngine(t, {
    others,
    backends: [definitionsBackend],
    authorization: true,
  })
  return {
    ...engine,
    calls,
    async store(definition) {
      const { status, body } = await engine.backends.ask(
        'front50',
        'POST',
        '/pipelines',
        definition,
      )
      assert.equal(status, 200, JSON.stringify(body))
    },
    async patch(run, refId, changes, user) {
      const { id } = await engine.stage(run, refId)
      return (await engine.ask('PATCH', `/pipelines/${run}/stages/${id}`, changes, user)).status
    },
    async restart(run, refId, user) {
      const { id } = await engine.stage(run, refId)
      return (await engine.ask('PUT', `/pipelines/${run}/stages/${id}/restart`, {}, user)).status
    },
  }
}

const errors = ({ stages }: Execution) =>
  stages.flatMap((stage) => at(stage, 'context', 'exception', 'details', 'errors') ?? []).join('\n')
const steerersOf = ({ authentication }: Execution) =>
  (authentication.steeredBy ?? []).map(({ user }) => user)
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
const victim = {
  id: 's1',
  application: 'secret',
  name: 'victim',
  stages: [W('1', 0)],
  triggers: [],
}
/** Needs WRITE on `secret`. */
const deletion = (requires: string) => ({
  ...{ refId: 'delete', type: 'deletePipeline', name: 'Delete' },
  ...{ pipeline: encoded(victim), requisiteStageRefIds: [requires] },
})
const refused = /WRITE on the application secret; mallory has not got it/

type Steering = (engine: Steered, run: string, user: string) => Promise<unknown>

const judgment = { ...J('1'), judgmentInputs: [{ value: 'blue' }] }
const goOn: Steering = (engine, run, user) =>
  engine.patch(run, '1', { judgmentStatus: 'continue' }, user)

/** What mallory does to a run of olga's before olga continues it; and whether the run then acts for mallory, too. */
const steerings: [
  title: string,
  steering: Steering,
  narrows: boolean,
  first?: Record<string, unknown>,
][] = [
  [
    'changed outputs of an earlier stage',
    (engine, run, user) => engine.patch(run, '0', { outputs: { a: 1 } }, user),
    true,
  ],
  [
    'a changed later stage',
    (engine, run, user) => engine.patch(run, 'delete', { comments: 'x' }, user),
    true,
  ],
  [
    'an ignored failure',
    (engine, run, user) => engine.patch(run, 'delete', { continuePipeline: true }, user),
    true,
  ],
  [
    'an input that a judgment does not offer',
    (engine, run, user) => engine.patch(run, '1', { judgmentInput: 'x' }, user),
    true,
    J('1'),
  ],
  [
    'another key beside a judgment',
    (engine, run, user) => engine.patch(run, '1', { judgmentStatus: 'continue', a: 1 }, user),
    true,
  ],
  [
    'a judgment of another stage',
    (engine, run, user) => engine.patch(run, '0', { judgmentStatus: 'continue' }, user),
    true,
  ],
  [
    'a resumed run',
    async (engine, run, user) => {
      await engine.ask('PUT', `/pipelines/${run}/pause`, undefined, user)
      return (await engine.ask('PUT', `/pipelines/${run}/resume`, undefined, user)).status
    },
    true,
  ],
  [
    'a judgment that passes its identity on',
    goOn,
    true,
    { ...judgment, propagateAuthenticationContext: true },
  ],
  ['a judgment', goOn, false],
  [
    'a judgment with an input that it offers',
    (engine, run, user) =>
      engine.patch(run, '1', { judgmentStatus: 'continue', judgmentInput: 'blue' }, user),
    false,
  ],
]

for (const [title, steering, narrows, first = judgment] of steerings) {
  test(`${title} ${narrows ? 'narrows' : 'keeps'} the rights of a run`, async (t) => {
    const engine = await startSteered(t)
    await engine.store(victim)
    const stages = [
      { ...W('0', 0), name: 'first' },
      { ...first, requisiteStageRefIds: ['0'] },
      deletion('1'),
    ]
    const run = await engine.run({ application: 'secret', stages }, 'olga')
    await engine.eventually(async () => (await engine.stage(run, '1')).status === 'RUNNING')
    assert.ok([200, 202].includes(Number(await steering(engine, run, 'mallory'))))
    await goOn(engine, run, 'olga')
    const isOver = async () =>
      /SUCCEEDED|TERMINAL|FAILED_CONTINUE/.test((await engine.stage(run, 'delete')).status)
    await engine.eventually(isOver)
    const ended = await engine.execution(run)
    if (narrows) assert.match(errors(ended), refused)
    else assert.equal(errors(ended), '')
    assert.equal(
      (await engine.backends.ask('front50', 'GET', '/pipelines/s1/get')).status,
      narrows ? 200 : 404,
    )
  })
}

test('who may use the service account of a run keeps its rights', async (t) => {
  const engine = await startSteered(t)
  for (const [user, status] of [
    ['bert', 'SUCCEEDED'],
    ['admin', 'SUCCEEDED'],
    ['mallory', 'TERMINAL'],
  ] as const) {
    await engine.store(victim)
    const run = await engine.run(
      { application: 'secret', stages: [J('1'), deletion('1')] },
      'robot',
    )
    await engine.patch(run, 'delete', { comments: 'x' }, user)
    await goOn(engine, run, 'robot')
    const ended = await engine.ends(run, status)
    assert.deepEqual(steerersOf(ended), [user])
  }
})

test('a judgment takes over what an event has started, if it says so', async (t) => {
  const engine = await startSteered(t)
  for (const [propagateAuthenticationContext, user, status] of [
    [false, 'olga', 'TERMINAL'],
    [true, 'mallory', 'TERMINAL'],
    [true, 'olga', 'SUCCEEDED'],
  ] as const) {
    await engine.store(victim)
    const stages = [{ ...J('1'), propagateAuthenticationContext }, deletion('1')]
    const run = await engine.run({ application: 'secret', stages }, 'anonymous')
    await goOn(engine, run, user)
    await engine.ends(run, status)
  }
})

test('who has judged stays the judge', async (t) => {
  const engine = await startSteered(t)
  for (const isComplete of [true, false]) {
    const run = await engine.run({ application: 'secret', stages: [J('1'), J('2', '1')] }, 'olga')
    if (!isComplete) await engine.ask('PUT', `/pipelines/${run}/pause`, undefined, 'olga')
    await goOn(engine, run, 'bert')
    if (isComplete)
      await engine.eventually(async () => (await engine.stage(run, '1')).status === 'SUCCEEDED')
    await engine.patch(
      run,
      '1',
      { comment: 'x', judgmentInput: 'y', lastModifiedBy: 'olga' },
      'mallory',
    )
    const { lastModified, context } = await engine.stage(run, '1')
    assert.deepEqual(
      [lastModified?.user, context['lastModifiedBy'], context['comment']],
      ['bert', 'bert', 'x'],
    )
    assert.deepEqual(steerersOf(await engine.execution(run)), ['mallory'])
  }
})

test('the record names who steered a run, and how, once each', async (t) => {
  const engine = await startSteered(t)
  const run = await engine.run(
    { application: 'secret', stages: [{ ...W('1', 600), name: 'Soak' }] },
    'olga',
  )
  await engine.patch(run, '1', { waitTime: 1 }, 'mallory')
  await engine.patch(run, '1', { note: 'x' }, 'olga')
  await engine.patch(run, '1', { skipRemainingWait: true }, 'mallory')
  const { authentication } = await engine.ends(run, 'SUCCEEDED')
  assert.equal(authentication.user, 'olga')
  const at = engine.clock.now()
  const how = 'skipped the stage Soak, or the rest of its wait'
  assert.deepEqual(authentication.steeredBy, [{ user: 'mallory', allowedAccounts: [], at, how }])
})

test('expressions see who steered the run', async (t) => {
  const engine = await startSteered(t)
  const stages = [
    J('1'),
    V('2', { who: '${#currentUser()}', starter: '${execution.authentication.user}' }, '1'),
  ]
  const run = await engine.run({ application: 'secret', spelEvaluator: 'v4', stages }, 'olga')
  await engine.patch(run, '2', { x: 1 }, 'mallory')
  await goOn(engine, run, 'olga')
  await engine.ends(run, 'SUCCEEDED')
  const { outputs } = await engine.stage(run, '2')
  assert.deepEqual([outputs['who'], outputs['starter']], ['olga,  mallory', 'olga'])
})

test('a child and what follows act for all who steered the parent', async (t) => {
  const engine = await startSteered(t)
  const follows = { type: 'pipeline', enabled: true, pipeline: 'p1', status: ['successful'] }
  await engine.store({
    id: 'c1',
    application: 'secret',
    name: 'child',
    stages: [W('1', 0)],
    triggers: [],
  })
  await engine.store({
    id: 'd1',
    application: 'secret',
    name: 'own',
    stages: [W('1', 0)],
    triggers: [follows],
  })
  await engine.store({
    id: 'd2',
    application: 'secret',
    name: 'robots',
    stages: [W('1', 0)],
    triggers: [{ ...follows, runAsUser: 'robot' }],
  })
  await engine.store({
    id: 'd3',
    application: 'mine',
    name: 'others',
    stages: [W('1', 0)],
    triggers: [{ ...follows, runAsUser: 'olga' }],
  })
  await engine.store({ id: 'p1', application: 'secret', name: 'parent', stages: [], triggers: [] })
  const stages = [
    J('1'),
    { refId: '2', type: 'pipeline', pipeline: 'c1', requisiteStageRefIds: ['1'] },
  ]
  const run = await engine.run({ id: 'p1', application: 'secret', name: 'parent', stages }, 'olga')
  await engine.patch(run, '2', { pipelineParameters: { a: 'b' } }, 'bert')
  await goOn(engine, run, 'olga')
  const ended = await engine.ends(run, 'SUCCEEDED')
  assert.deepEqual(
    at(ended.authentication.steeredBy, 0, 'how'),
    'changed pipelineParameters of the stage pipeline',
  )
  const child = await engine.execution(
    String(ended.stages.find(({ refId }) => refId === '2')?.context['executionId']),
  )
  const newest = async (id: string) =>
    ((await engine.ask('GET', `/pipelines?pipelineConfigIds=${id}&limit=5`)).body as Execution[])[0]
  const own = await engine.eventually(() => newest('d1'))
  const robots = await engine.eventually(() => newest('d2'))
  const acting = [child, own as Execution, robots as Execution].map((each) => [
    each.authentication.user,
    ...steerersOf(each),
  ])
  assert.deepEqual(acting, [
    ['olga', 'bert'],
    ['olga', 'bert'],
    ['robot', 'bert'],
  ])
  // Bert may not EXECUTE the other application, which olga's trigger alone would start.
  assert.equal(await newest('d3'), undefined)
})

test('who steered a child has steered its parent', async (t) => {
  const engine = await startSteered(t)
  await engine.store(victim)
  await engine.store({
    id: 'c1',
    application: 'mine',
    name: 'child',
    stages: [W('1', 600)],
    triggers: [],
  })
  const stages = [{ refId: '1', type: 'pipeline', pipeline: 'c1' }, deletion('1')]
  const run = await engine.run({ application: 'secret', stages }, 'olga')
  const child = String(
    await engine.eventually(async () => (await engine.stage(run, '1')).context['executionId']),
  )
  assert.equal(
    await engine.patch(child, '1', { outputs: { image: 'x' }, skipRemainingWait: true }, 'mallory'),
    200,
  )
  assert.match(errors(await engine.ends(run, 'TERMINAL')), refused)
})

test('a restarted child leaves a parent that its user may not execute', async (t) => {
  const engine = await startSteered(t)
  await engine.store({
    id: 'c1',
    application: 'mine',
    name: 'child',
    stages: [W('1', 0)],
    triggers: [],
  })
  for (const [user, isRestarted] of [
    ['foreign', false],
    ['mallory', true],
  ] as const) {
    const run = await engine.run(
      { application: 'secret', stages: [{ refId: '1', type: 'pipeline', pipeline: 'c1' }] },
      'olga',
    )
    const before = await engine.ends(run, 'SUCCEEDED')
    const child = String(before.stages[0]?.context['executionId'])
    engine.clock.pass(5)
    assert.equal(await engine.restart(child, '1', user), 200)
    const again = await engine.eventually(async () => {
      const found = await engine.execution(child)
      return found.status === 'SUCCEEDED' && found.startTime !== before.startTime
        ? found
        : undefined
    })
    assert.deepEqual(steerersOf(again as Execution), [user])
    const parent = await engine.ends(run, 'SUCCEEDED')
    assert.deepEqual(
      [steerersOf(parent), parent.startTime !== before.startTime],
      isRestarted ? [[user], true] : [[], false],
    )
    const notes = (again as Execution).systemNotifications.map((note) =>
      String(at(note, 'message')),
    )
    assert.equal(notes.length, isRestarted ? 0 : 1)
    if (!isRestarted)
      assert.match(
        String(notes[0]),
        /is not restarted. This needs EXECUTE on the application secret; foreign/,
      )
  }
})

const ends: Record<string, (engine: Steered, run: string, user: string) => Promise<unknown>> = {
  cancelled: (engine, run, user) => engine.ask('PUT', `/pipelines/${run}/cancel`, undefined, user),
  failed: async (engine, run, user) => {
    await engine.patch(run, '2', { note: 'x' }, user)
    await engine.patch(run, '2', { judgmentStatus: 'stop' }, user)
  },
}

for (const [title, end] of Object.entries(ends)) {
  test(`a ${title} parent leaves a child that its user may not execute`, async (t) => {
    const engine = await startSteered(t)
    await engine.store({
      id: 'c1',
      application: 'mine',
      name: 'child',
      stages: [W('1', 600)],
      triggers: [],
    })
    for (const [user, status] of [
      ['bert', 'RUNNING'],
      ['mallory', 'CANCELED'],
    ] as const) {
      const stages = [{ refId: '1', type: 'pipeline', pipeline: 'c1' }, J('2')]
      const run = await engine.run({ application: 'secret', stages }, 'olga')
      const child = String(
        await engine.eventually(async () => (await engine.stage(run, '1')).context['executionId']),
      )
      await end(engine, run, user)
      const isSettled = async () =>
        (await engine.execution(child)).status === 'CANCELED' ||
        (await engine.execution(run)).systemNotifications.length > 0
      await engine.eventually(isSettled)
      assert.equal((await engine.execution(child)).status, status)
    }
  })
}

test('a service elsewhere judges the last user, the engine the others', async (t) => {
  const engine = await startSteered(t)
  const image = { cloudProvider: 'aws', credentials: 'prod', region: 'east', application: 'secret' }
  for (const [starter, steerer, says] of [
    ['olga', 'mallory', /clouddriver answered with status 404/],
    ['mallory', 'olga', /WRITE on the account prod; mallory has not got it/],
  ] as const) {
    engine.calls.length = 0
    const stages = [
      J('1'),
      { refId: '2', type: 'upsertImageTags', ...image, requisiteStageRefIds: ['1'] },
    ]
    const run = await engine.run({ application: 'secret', stages }, starter)
    await engine.patch(run, '2', { x: 1 }, steerer)
    await goOn(engine, run, starter)
    assert.match(errors(await engine.ends(run, 'TERMINAL')), says)
    const sent = engine.calls.filter(({ path }) => path.startsWith('/aws/ops'))
    assert.deepEqual(
      sent.map(({ headers }) => headers?.['x-spinnaker-user']),
      starter === 'olga' ? ['mallory'] : [],
    )
  }
})

test('a stage whose target is an expression does what its author may do, too', async (t) => {
  const engine = await startSteered(t)
  const { backends, run, ends } = engine
  await engine.store(victim)
  const save = (user: string, more: Record<string, unknown> = {}) =>
    backends.ask(
      'front50',
      'POST',
      '/pipelines',
      {
        ...{ id: 'm1', application: 'mine', name: 'outer', triggers: [] },
        stages: [
          {
            refId: '1',
            type: 'pipeline',
            name: 'Child',
            application: '${"secret"}',
            pipeline: '${"s1"}',
          },
        ],
        ...more,
      },
      { 'x-spinnaker-user': user },
    )
  const start = async (status: string) => {
    const stored = await backends.ask('front50', 'GET', '/pipelines/m1/get')
    return ends(await run({ ...(stored.body as object) }, 'olga'), status)
  }
  const release = (user: string) =>
    backends.ask('front50', 'PUT', '/pipelines/m1/release', undefined, {
      'x-spinnaker-user': user,
    })

  assert.equal((await save('foreign')).status, 200)
  assert.match(
    errors(await start('TERMINAL')),
    /EXECUTE on the application secret; foreign has not got it/,
  )
  // Whoever only switches it has not looked at what it does.
  assert.equal((await save('olga', { disabled: true })).status, 200)
  assert.equal((await save('olga', { disabled: false })).status, 200)
  assert.match(errors(await start('TERMINAL')), /foreign has not got it/)
  assert.equal((await release('mallory')).status, 200, 'she may execute in secret')
  await start('SUCCEEDED')
  assert.equal((await save('foreign', { description: 'changed' })).status, 200)
  assert.match(errors(await start('TERMINAL')), /foreign has not got it/)
  assert.equal((await release('admin')).status, 200)
  await start('SUCCEEDED')
})
