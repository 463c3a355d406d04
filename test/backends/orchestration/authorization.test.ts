/** A stage has the rights that its user has when it runs; whoever changes, follows or watches a run borrows nobody's. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { Execution, Stage } from '../../../packages/engine/orchestration/model.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { at, J, startEngine, type TestEngine, W } from './support.ts'

type Rights = Record<string, string[]>

interface Guarded extends TestEngine {
  /** Rights by user and application; changed by tests while something runs. `down` makes the permission service fail. */
  rights: Record<string, Rights>
  state: { down: boolean }
  /** Stores a pipeline, for nobody. */
  store(definition: Record<string, unknown>): Promise<void>
}

const all = ['READ', 'WRITE', 'EXECUTE']

/** `secret` is olga's, `mine` is mallory's; olga may execute there. */
async function startGuarded(t: TestContext): Promise<Guarded> {
  const rights: Guarded['rights'] = {
    olga: { secret: all, mine: ['READ', 'EXECUTE'] },
    mallory: { mine: all, secret: [] },
    robot: { mine: ['EXECUTE'], secret: ['READ'] },
    anonymous: { mine: [], secret: [], open: all },
  }
  const state = { down: false }
  const fiat: CallService = async (service, { path }) => {
    if (service !== 'fiat') return { status: 404, body: undefined }
    if (state.down) return { status: 503, body: undefined }
    const view = rights[decodeURIComponent(path.split('/')[2] as string)]
    if (view === undefined) return { status: 404, body: undefined }
    const applications = Object.entries(view).map(([name, authorizations]) => ({
      name,
      authorizations,
    }))
    return { status: 200, body: { applications, accounts: [], serviceAccounts: [] } }
  }
  const engine = await startEngine(t, {
    others: fiat,
    backends: [definitionsBackend],
    authorization: true,
  })
  return {
    ...engine,
    rights,
    state,
    async store(definition) {
      const { status, body } = await engine.backends.ask(
        'front50',
        'POST',
        '/pipelines',
        definition,
      )
      assert.equal(status, 200, JSON.stringify(body))
    },
  }
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
const main = { id: 's1', application: 'secret', name: 'main', stages: [W('1', 0)], triggers: [] }
const errorOf = (stage: Stage | undefined) =>
  at(stage, 'context', 'exception', 'details', 'errors', 0)

async function definitionOf({ backends }: TestEngine, id: string): Promise<number> {
  return (await backends.ask('front50', 'GET', `/pipelines/${id}/get`)).status
}

test('a stage that changes definitions needs rights when it runs', async (t) => {
  const engine = await startGuarded(t)
  await engine.store(main)
  const deletion = {
    refId: '2',
    type: 'deletePipeline',
    pipeline: encoded(main),
    requisiteStageRefIds: ['1'],
  }
  const run = await engine.run({ application: 'mine', stages: [W('1', 60), deletion] }, 'olga')
  await engine.clock.settled()
  engine.rights['olga'] = { secret: ['READ'], mine: ['EXECUTE'] }
  engine.clock.pass(61)
  const ended = await engine.ends(run, 'TERMINAL')
  assert.equal(
    errorOf(ended.stages.find(({ refId }) => refId === '2')),
    'This needs WRITE on the application secret; olga has not got it. An owner of secret can grant it.',
  )
  assert.equal(await definitionOf(engine, 's1'), 200)
})

test('a privileged stage under another name is judged all the same', async (t) => {
  const engine = await startGuarded(t)
  await engine.store(main)
  const hidden = { refId: '1', type: 'wait', alias: 'deletePipeline', pipeline: encoded(main) }
  await engine.ends(
    await engine.run({ application: 'mine', stages: [hidden] }, 'mallory'),
    'TERMINAL',
  )
  assert.equal(await definitionOf(engine, 's1'), 200)
})

test("starting another application's pipeline needs EXECUTE there", async (t) => {
  const engine = await startGuarded(t)
  await engine.store(main)
  const stages = [{ refId: '1', type: 'pipeline', pipeline: 's1' }]
  const denied = await engine.ends(
    await engine.run({ application: 'mine', stages }, 'mallory'),
    'TERMINAL',
  )
  assert.match(String(errorOf(denied.stages[0])), /EXECUTE on the application secret; mallory/)
  const allowed = await engine.ends(
    await engine.run({ application: 'mine', stages }, 'olga'),
    'SUCCEEDED',
  )
  const child = await engine.execution(String(allowed.stages[0]?.context['executionId']))
  assert.equal(child.authentication.user, 'olga')
  assert.equal(child.trigger.user, 'olga')
})

test('a stage waits for a silent permission service', async (t) => {
  const engine = await startGuarded(t)
  await engine.store(main)
  engine.state.down = true
  const run = await engine.run(
    { application: 'mine', stages: [{ refId: '1', type: 'pipeline', pipeline: 's1' }] },
    'olga',
  )
  await engine.clock.settled()
  assert.equal((await engine.execution(run)).status, 'RUNNING')
  engine.state.down = false
  engine.clock.pass(2)
  await engine.ends(run, 'SUCCEEDED')
})

test('a changed stage acts for the user who changed it', async (t) => {
  const engine = await startGuarded(t)
  await engine.store(main)
  const stages = [J('1'), { ...W('2', 1), requisiteStageRefIds: ['1'] }]
  const run = await engine.run({ application: 'mine', stages }, 'olga')
  const second = await engine.stage(run, '2')
  const change = { alias: 'deletePipeline', pipeline: encoded(main) }
  assert.equal(
    (await engine.ask('PATCH', `/pipelines/${run}/stages/${second.id}`, change, 'mallory')).status,
    200,
  )
  const judgment = await engine.stage(run, '1')
  await engine.ask(
    'PATCH',
    `/pipelines/${run}/stages/${judgment.id}`,
    { judgmentStatus: 'continue' },
    'olga',
  )
  const ended = await engine.ends(run, 'TERMINAL')
  assert.match(
    String(errorOf(ended.stages.find(({ refId }) => refId === '2'))),
    /WRITE on the application secret; mallory/,
  )
  assert.equal(
    (await engine.ask('PUT', `/pipelines/${run}/stages/${second.id}/restart`, {}, 'olga')).status,
    200,
  )
  await engine.ends(run, 'TERMINAL')
  assert.equal(await definitionOf(engine, 's1'), 200)
})

test('a judgment or skipped wait keeps the rights of the run', async (t) => {
  const engine = await startGuarded(t)
  await engine.store(main)
  const deletion = {
    refId: '2',
    type: 'deletePipeline',
    pipeline: encoded(main),
    requisiteStageRefIds: ['1'],
  }
  const run = await engine.run({ application: 'mine', stages: [J('1'), deletion] }, 'olga')
  const judgment = await engine.stage(run, '1')
  await engine.ask(
    'PATCH',
    `/pipelines/${run}/stages/${judgment.id}`,
    { judgmentStatus: 'continue' },
    'mallory',
  )
  await engine.ends(run, 'SUCCEEDED')
  assert.equal(await definitionOf(engine, 's1'), 404)
})

test('a stage controls only executions that it started', async (t) => {
  const engine = await startGuarded(t)
  const hidden = {
    application: 'secret',
    id: 'hidden',
    stages: [{ ...W('1', 600), token: 'hush' }],
  }
  const secret = await engine.run(hidden, 'olga')
  const finding = {
    type: 'findArtifactFromExecution',
    pipeline: 'hidden',
    expectedArtifacts: [{ matchArtifact: { name: 'a' } }],
  }
  await engine.store({
    id: 'm1',
    application: 'mine',
    name: 'child',
    stages: [W('1', 0)],
    triggers: [],
  })
  const stages = [{ refId: '1', type: 'pipeline', pipeline: 'm1', executionId: secret }]
  const own = await engine.ends(
    await engine.run({ application: 'mine', stages }, 'mallory'),
    'SUCCEEDED',
  )
  assert.notEqual(own.stages[0]?.context['executionId'], secret)
  for (const watching of [
    { type: 'monitorPipeline', executionIds: [secret] },
    { type: 'dependsOnExecution', executionId: secret },
    { ...finding, executionOptions: { running: true } },
  ]) {
    const run = await engine.run(
      { application: 'mine', stages: [{ refId: '1', ...watching }] },
      'mallory',
    )
    assert.match(
      String(errorOf((await engine.ends(run, 'TERMINAL')).stages[0])),
      /READ on the application secret/,
    )
  }
  await engine.store({
    id: 'm2',
    application: 'mine',
    name: 'slow',
    stages: [W('1', 600)],
    triggers: [],
  })
  const waiting = await engine.run(
    { application: 'mine', stages: [{ refId: '1', type: 'pipeline', pipeline: 'm2' }] },
    'mallory',
  )
  const stage = await engine.stage(waiting, '1')
  await engine.eventually(async () => (await engine.stage(waiting, '1')).context['executionId'])
  await engine.ask(
    'PATCH',
    `/pipelines/${waiting}/stages/${stage.id}`,
    { executionId: secret },
    'mallory',
  )
  await engine.ask('PUT', `/pipelines/${waiting}/cancel`, undefined, 'mallory')
  await engine.eventually(async () => (await engine.execution(waiting)).status !== 'RUNNING')
  await engine.clock.settled()
  assert.equal((await engine.execution(secret)).status, 'RUNNING')
})

test('a made-up parent is neither shown nor restarted', async (t) => {
  const engine = await startGuarded(t)
  const secret = await engine.run(
    { application: 'secret', stages: [{ ...W('1', 0), token: 'hush' }] },
    'olga',
  )
  const before = await engine.ends(secret, 'SUCCEEDED')
  for (const trigger of [{ parentPipelineId: secret }, { parentExecution: { id: secret } }]) {
    for (const [path, body] of [
      ['/orchestrate', { application: 'mine', name: 'x', stages: [], trigger }],
      ['/ops', { application: 'mine', job: [W('1', 0)], trigger }],
      ['/fail', { application: 'mine', errorMessage: 'x', stages: [], trigger }],
    ] as const) {
      const { status } = await engine.ask('POST', path, body, 'mallory')
      assert.equal(status, 403, `${path} ${JSON.stringify(trigger)}`)
    }
  }
  const trigger = { parentExecution: { id: secret }, parentPipelineStageId: before.stages[0]?.id }
  const forged = await engine.ends(
    await engine.run({ application: 'secret', stages: [W('1', 0)], trigger }, 'olga'),
    'SUCCEEDED',
  )
  const restart = `/pipelines/${forged.id}/stages/${forged.stages[0]?.id}/restart`
  assert.equal((await engine.ask('PUT', restart, {}, 'olga')).status, 200)
  await engine.ends(forged.id, 'SUCCEEDED')
  assert.equal((await engine.execution(secret)).startTime, before.startTime)
})

test('a run under a stored id needs EXECUTE on its application', async (t) => {
  const engine = await startGuarded(t)
  await engine.store(main)
  await engine.ends(await engine.run({ ...main }, 'olga'), 'SUCCEEDED')
  const posing = {
    application: 'mine',
    name: 'main',
    id: 's1',
    stages: [W('1', 0)],
    initialConfig: { enabled: true },
  }
  assert.equal((await engine.ask('POST', '/orchestrate', posing, 'mallory')).status, 403)
  await engine.backends.ask('front50', 'DELETE', '/pipelines/secret/main')
  assert.equal((await engine.ask('POST', '/orchestrate', posing, 'mallory')).status, 403)
  assert.equal(
    (await engine.ask('POST', '/orchestrate', { ...posing, id: 'nobodys' }, 'mallory')).status,
    200,
  )
})

test('control needs EXECUTE, deletion WRITE, unknown ids answer 404', async (t) => {
  const engine = await startGuarded(t)
  const run = await engine.run({ application: 'secret', stages: [W('1', 600)] }, 'olga')
  const stage = await engine.stage(run, '1')
  const { body } = await engine.ask(
    'POST',
    '/ops',
    { application: 'secret', job: [W('1', 600)] },
    'olga',
  )
  const task = String(at(body, 'ref')).split('/').at(-1)
  const requests: [string, string, unknown?][] = [
    ['PUT', `/pipelines/${run}/cancel`],
    ['PUT', `/pipelines/${run}/pause`],
    ['PUT', `/pipelines/${run}/resume`],
    ['PATCH', `/pipelines/${run}/stages/${stage.id}`, { skipRemainingWait: true }],
    ['PUT', `/pipelines/${run}/stages/${stage.id}/restart`, {}],
    ['DELETE', `/pipelines/${run}`],
    ['PUT', `/tasks/${task}/cancel`],
    ['PUT', '/tasks/cancel', [task]],
    ['DELETE', `/tasks/${task}`],
  ]
  for (const [method, path, sent] of requests) {
    assert.equal((await engine.ask(method, path, sent, 'mallory')).status, 403, `${method} ${path}`)
    if (path !== '/tasks/cancel') {
      const unknown = path.replace(run, 'none').replace(String(task), 'none')
      assert.equal(
        (await engine.ask(method, unknown, sent, 'mallory')).status,
        404,
        `${method} ${unknown}`,
      )
    }
  }
  engine.rights['mallory'] = { secret: ['EXECUTE'] }
  assert.equal(
    (await engine.ask('PUT', `/pipelines/${run}/cancel`, undefined, 'mallory')).status,
    202,
  )
  assert.equal((await engine.ask('DELETE', `/pipelines/${run}`, undefined, 'mallory')).status, 403)
})

/** The run of a stored pipeline, once there is one. */
async function runOf(engine: TestEngine, configId: string): Promise<Execution | undefined> {
  const { body } = await engine.ask('GET', `/pipelines?pipelineConfigIds=${configId}&limit=5`)
  return (body as Execution[])[0]
}

const follows = (id: string, application: string, fields: Record<string, unknown> = {}) => ({
  id,
  application,
  name: id,
  stages: [W('1', 0)],
  triggers: [
    { type: 'pipeline', enabled: true, pipeline: 's1', status: ['successful'], ...fields },
  ],
})

test("a dependent pipeline acts for its trigger's or parent's user", async (t) => {
  const engine = await startGuarded(t)
  for (const one of [
    main,
    follows('same', 'secret'),
    follows('foreign', 'mine'),
    follows('robotic', 'mine', { runAsUser: 'robot' }),
    follows('open', 'open', { runAsUser: ' ' }),
  ])
    await engine.store(one)
  engine.rights['anonymous'] = { mine: [], secret: ['READ'], open: all }
  await engine.ends(await engine.run({ ...main }, 'olga'), 'SUCCEEDED')
  const same = await engine.eventually(() => runOf(engine, 'same'))
  assert.equal(same?.authentication.user, 'olga')
  const robotic = await engine.eventually(() => runOf(engine, 'robotic'))
  assert.equal(robotic?.authentication.user, 'robot')
  assert.equal(robotic?.trigger.user, 'robot')
  const open = await engine.eventually(() => runOf(engine, 'open'))
  assert.equal(open?.authentication.user, 'anonymous')
  assert.equal(await runOf(engine, 'foreign'), undefined)
})

test('a parent execution needs READ', async (t) => {
  const engine = await startGuarded(t)
  await engine.store(main)
  await engine.store(follows('last', 'secret'))
  await engine.store(follows('robotic', 'mine', { runAsUser: 'robot' }))
  engine.rights['robot'] = { mine: all, secret: [] }
  await engine.ends(await engine.run({ ...main }, 'olga'), 'SUCCEEDED')
  assert.ok(await engine.eventually(() => runOf(engine, 'last')))
  assert.equal(await runOf(engine, 'robotic'), undefined)
})
