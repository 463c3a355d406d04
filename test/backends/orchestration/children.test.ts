import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'
import { at, type EngineOptions, F, startEngine, type TestEngine, V, W } from './support.ts'

interface Family extends TestEngine {
  /** Stores a pipeline of application `app` and returns its id. */
  store(definition: Record<string, unknown>): Promise<string>
  /** The newest run of a stored pipeline. */
  runOf(configId: string): Promise<Execution | undefined>
}

async function startFamily(t: TestContext, options: EngineOptions = {}): Promise<Family> {
  const engine = await startEngine(t, { backends: [definitionsBackend], ...options })
  return {
    ...engine,
    async store(definition) {
      const stored = await engine.backends.ask('front50', 'POST', '/pipelines', {
        application: 'app',
        ...definition,
      })
      assert.equal(stored.status, 200, JSON.stringify(stored.body))
      return String(at(stored.body, 'id'))
    },
    runOf: async (configId) =>
      (
        (await engine.ask('GET', `/pipelines?pipelineConfigIds=${configId}`)).body as Execution[]
      )[0],
  }
}

function P(
  refId: string,
  pipeline: string,
  options: Record<string, unknown> = {},
  ...requisiteStageRefIds: string[]
) {
  return { refId, type: 'pipeline', application: 'app', pipeline, requisiteStageRefIds, ...options }
}

test('orchestration-scenario 102: a stage runs another pipeline and waits for it', async (t) => {
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [W('1', 2)] })
  const id = await family.run(
    { stages: [P('1', child, { pipelineParameters: { x: '1' } })] },
    'ann',
  )

  const run = (await family.eventually(() => family.runOf(child)))!
  const stage = await family.stage(id, '1')
  assert.equal(stage.context['executionId'], run.id)
  assert.equal(stage.context['executionName'], 'child')
  assert.equal(run.trigger.type, 'pipeline')
  assert.equal(at(run.trigger, 'parentExecution', 'id'), id)
  assert.equal(run.trigger['parentPipelineStageId'], stage.id)
  assert.deepEqual(run.trigger.parameters, { x: '1' })
  assert.equal(run.rootId, id)
  family.clock.pass(2)
  await family.ends(id, 'SUCCEEDED')
  assert.equal((await family.stage(id, '1')).context['status'], 'SUCCEEDED')
})

test('orchestration-scenario 103: a failed child fails the stage and names its failed stages', async (t) => {
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [F('1', [], { name: 'gate' })] })
  const id = await family.run({ stages: [P('1', child)] })

  await family.ends(id, 'TERMINAL')

  const { context } = await family.stage(id, '1')
  const text = String(at(context, 'exception', 'details', 'errors', 0))
  assert.match(text, /child/)
  assert.match(text, /gate|Check precondition/)
  assert.equal(at(context, 'exception', 'source', 'executionId'), (await family.runOf(child))!.id)
})

test('orchestration-scenario 104: a stage need not wait for the pipeline that it runs', async (t) => {
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [W('1', 60)] })

  await family.ends(
    await family.run({ stages: [P('1', child, { waitForCompletion: false })] }),
    'SUCCEEDED',
  )

  assert.equal((await family.runOf(child))!.status, 'RUNNING')
})

test('orchestration-scenario 105: an unknown and a disabled child fail the stage by name', async (t) => {
  const family = await startFamily(t)
  const disabled = await family.store({ name: 'sleeping', disabled: true, stages: [] })
  for (const [pipeline, pattern] of [
    ['nowhere', /nowhere/],
    [disabled, /sleeping/],
  ] as const) {
    const id = await family.run({ stages: [P('1', pipeline)] })
    await family.ends(id, 'TERMINAL')
    assert.match(
      String(at((await family.stage(id, '1')).context, 'exception', 'details', 'errors', 0)),
      pattern,
    )
  }
})

for (const [skips, value] of [
  [false, '7'],
  [true, '${v}'],
] as const) {
  test(`orchestration-scenario 106: with skipDownstreamOutput ${skips} a later stage sees ${value}`, async (t) => {
    const family = await startFamily(t)
    const child = await family.store({ name: 'child', stages: [V('1', { v: '7' })] })
    const id = await family.run({
      stages: [P('1', child, { skipDownstreamOutput: skips }), V('2', { seen: '${v}' }, '1')],
    })

    await family.ends(id, 'SUCCEEDED')

    assert.equal((await family.stage(id, '2')).outputs['seen'], value)
  })
}

for (const own of [{}, { type: 'runAnother', alias: 'pipeline' }]) {
  test(`orchestration-scenario 63: cancelling a parent cancels the child${'alias' in own ? ' of an aliased stage' : ''}`, async (t) => {
    const family = await startFamily(t)
    const child = await family.store({ name: 'child', stages: [W('1', 600)] })
    const id = await family.run({ stages: [P('1', child, own)] })
    const run = (await family.eventually(() => family.runOf(child)))!

    await family.ask('PUT', `/pipelines/${id}/cancel`)

    await family.ends(id, 'CANCELED')
    assert.equal((await family.ends(run.id, 'CANCELED')).canceledBy, 'parent pipeline')
  })
}

test('restarting an aliased stage starts another child', async (t) => {
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [F('1')] })
  const id = await family.run({
    stages: [P('1', child, { type: 'runAnother', alias: 'pipeline' })],
  })
  await family.ends(id, 'TERMINAL')
  const before = (await family.stage(id, '1')).context['executionId']

  await family.ask('PUT', `/pipelines/${id}/stages/${(await family.stage(id, '1')).id}/restart`, {})

  await family.ends(id, 'TERMINAL')
  assert.notEqual((await family.stage(id, '1')).context['executionId'], before)
})

test('orchestration-scenario 86: restarting a failed child lets its parent watch it again', async (t) => {
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [F('1')] })
  const id = await family.run({ stages: [P('1', child)] })
  await family.ends(id, 'TERMINAL')
  const run = (await family.runOf(child))!
  const stages = [{ refId: '1', type: 'checkPreconditions', preconditions: [] }, W('2', 5)]

  await family.ask(
    'PUT',
    `/pipelines/${run.id}/stages/${(await family.stage(run.id, '1')).id}/restart`,
    { stages },
  )

  await family.ends(run.id, 'SUCCEEDED')
  await family.ends(id, 'SUCCEEDED')
  assert.equal((await family.stage(id, '1')).context['executionId'], run.id)
})

test('a restarted child restarts a parent whose start time has expired', async (t) => {
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [F('1')] })
  const id = await family.run({
    stages: [P('1', child)],
    startTimeExpiry: family.clock.now() + 1000,
  })
  await family.ends(id, 'TERMINAL')
  const run = (await family.runOf(child))!
  family.clock.pass(60)

  const stages = [{ refId: '1', type: 'checkPreconditions', preconditions: [] }]
  await family.ask(
    'PUT',
    `/pipelines/${run.id}/stages/${(await family.stage(run.id, '1')).id}/restart`,
    { stages },
  )

  await family.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 90: a skippable stage is skipped while its child continues', async (t) => {
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [W('1', 600)] })
  const id = await family.run({ stages: [P('1', child, { skippable: true }), W('2', 0, '1')] })
  const run = (await family.eventually(() => family.runOf(child)))!
  const stage = await family.stage(id, '1')
  assert.equal(stage.context['canManuallySkip'], true)

  await family.ask('PATCH', `/pipelines/${id}/stages/${stage.id}`, {
    manualSkip: true,
    reason: 'r',
  })

  await family.ends(id, 'SUCCEEDED')
  assert.equal((await family.stage(id, '1')).status, 'SKIPPED')
  assert.equal((await family.execution(run.id)).status, 'RUNNING')
})

const endings = [
  { word: 'successful', stages: [W('1', 0)], cancels: false },
  { word: 'failed', stages: [F('1')], cancels: false },
  { word: 'canceled', stages: [W('1', 600)], cancels: true },
]
for (const { word, stages, cancels } of endings) {
  test(`orchestration-scenario 107: a run that ends ${word} starts its dependents`, async (t) => {
    const family = await startFamily(t)
    const parent = await family.store({ name: 'parent', stages })
    const dependents: Record<string, string> = {}
    for (const status of endings.map((each) => each.word)) {
      const triggers = [{ enabled: true, type: 'pipeline', pipeline: parent, status: [status] }]
      dependents[status] = await family.store({
        name: `after ${status}`,
        triggers,
        stages: [W('1', 0)],
      })
    }
    const id = await family.run({ id: parent, stages, trigger: { user: 'ann' } })
    if (cancels) await family.ask('PUT', `/pipelines/${id}/cancel`)

    const started = (await family.eventually(() => family.runOf(dependents[word]!)))!

    assert.equal(at(started.trigger, 'parentExecution', 'id'), id)
    assert.equal(started.trigger['parentPipelineStageId'], undefined)
    assert.equal(started.trigger.user, 'ann')
    await family.clock.settled()
    for (const other of Object.keys(dependents))
      if (other !== word) assert.equal(await family.runOf(dependents[other]!), undefined)
  })
}

test('a dependent pipeline waits for the definition store', async (t) => {
  let reachable = false
  const definition = { id: 'E', name: 'after', application: 'app', stages: [W('1', 0)] }
  const triggers = [{ enabled: true, type: 'pipeline', pipeline: 'C', status: ['successful'] }]
  const engine = await startEngine(t, {
    others: async (_service, { path }) => {
      if (!reachable) throw new Error('connection refused')
      return path.startsWith('/pipelines/triggeredBy/C/')
        ? { status: 200, body: [{ ...definition, triggers }] }
        : { status: 404, body: undefined }
    },
  })
  await engine.ends(await engine.run({ id: 'C', stages: [W('1', 0)] }), 'SUCCEEDED')
  await engine.clock.settled()
  const runs = async () =>
    (await engine.ask('GET', '/pipelines?pipelineConfigIds=E&limit=9')).body as Execution[]
  assert.deepEqual(await runs(), [])

  reachable = true

  await engine.eventually(async () => {
    engine.clock.pass(6)
    return (await runs()).length > 0
  })
  engine.clock.pass(60)
  await engine.clock.settled()
  assert.equal((await runs()).length, 1)
})

test('artifacts of stages reach children, dependents and the next run', async (t) => {
  const image = (version: string) => ({
    type: 'docker/image',
    name: 'shop',
    version,
    reference: `shop:${version}`,
  })
  const expectedArtifacts = [
    { id: 'e', matchArtifact: { type: 'docker/image', version: '7' }, usePriorArtifact: true },
  ]
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [W('1', 0)], expectedArtifacts })
  const parent = await family.store({ name: 'parent', stages: [] })
  const triggers = [
    {
      enabled: true,
      type: 'pipeline',
      pipeline: parent,
      status: ['successful'],
      expectedArtifactIds: ['e'],
    },
  ]
  const after = await family.store({
    name: 'after',
    triggers,
    stages: [W('1', 0)],
    expectedArtifacts,
  })
  const producing = [
    V('1', { artifacts: [image('7')] }),
    P('2', child, {}, '1'),
    V('3', { artifacts: [image('8')] }, '2'),
  ]
  const trigger = { artifacts: [image('6')] }
  const id = await family.run({ id: parent, stages: producing, trigger })
  await family.ends(id, 'SUCCEEDED')

  const versionsOf = ({ trigger }: Execution) =>
    trigger.artifacts.map((artifact) => at(artifact, 'version'))
  assert.deepEqual(versionsOf((await family.runOf(child))!), ['7', '6'])
  assert.deepEqual(versionsOf((await family.eventually(() => family.runOf(after)))!), [
    '8',
    '7',
    '6',
  ])
  const next = await family.run({ id: parent, stages: [W('1', 0)], expectedArtifacts })
  assert.deepEqual(versionsOf(await family.ends(next, 'SUCCEEDED')), ['7'])
})

test('a follow-up that the store refuses is repeated after a pause', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-follow-ups-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const disk = () => new DatabaseSync(join(dataDir, 'backends.db'))
  let reads = 0
  const engine = await startEngine(t, {
    dataDir,
    others: async (_service, { path }) => {
      if (!path.startsWith('/pipelines/triggeredBy/C/')) return { status: 404, body: undefined }
      const db = disk()
      if (++reads === 1)
        db.exec(
          "CREATE TRIGGER full BEFORE UPDATE ON orchestration_executions BEGIN SELECT RAISE(ABORT, 'full'); END",
        )
      db.close()
      return { status: 200, body: [] }
    },
  })
  const id = await engine.run({ id: 'C', stages: [W('1', 0)] })
  await engine.ends(id, 'SUCCEEDED')
  await engine.eventually(async () => reads > 0)
  await engine.clock.settled()
  assert.equal(reads, 1)

  const db = disk()
  db.exec('DROP TRIGGER full')
  db.close()
  await engine.eventually(async () => {
    engine.clock.pass(2)
    await engine.clock.settled()
    return reads > 1
  })
  engine.clock.pass(600)
  await engine.clock.settled()
  assert.equal(reads, 2)
})

test('of several dependents each starts, fails visibly, or starts later', async (t) => {
  let templateStatus = 500
  const triggers = [{ enabled: true, type: 'pipeline', pipeline: 'C', status: ['successful'] }]
  const template = { pipeline: { stages: [W('1', 0)] } }
  const circle = [W('1', 0, '2'), W('2', 0, '1')]
  const definitions = [
    { id: 'circle', name: 'circle', application: 'app', stages: circle, triggers },
    ...['late', 'never'].map((id) => ({
      ...{ id, name: id, application: 'app', type: 'templatedPipeline', schema: 'v2', triggers },
      template: { reference: `spinnaker://${id}` },
    })),
    { id: 'sound', name: 'sound', application: 'app', stages: [W('1', 0)], triggers },
  ]
  const engine = await startEngine(t, {
    others: async (_service, { path }) => {
      if (path.startsWith('/pipelines/triggeredBy/C/')) return { status: 200, body: definitions }
      if (path === '/v2/pipelineTemplates/late') return { status: templateStatus, body: template }
      if (path === '/v2/pipelineTemplates/never') return { status: 500, body: undefined }
      return { status: 404, body: undefined }
    },
  })
  const runs = async (id: string) =>
    (await engine.ask('GET', `/pipelines?pipelineConfigIds=${id}&limit=9`)).body as Execution[]
  const first = (id: string) => engine.eventually(async () => (await runs(id))[0])
  await engine.ends(await engine.run({ id: 'C', stages: [W('1', 0)] }), 'SUCCEEDED')
  await engine.clock.settled()

  assert.equal((await first('sound'))?.trigger.type, 'pipeline')
  const failed = await first('circle')
  assert.equal(failed?.status, 'TERMINAL')
  assert.match(String(failed?.cancellationReason), /Failed on startup: .*in a circle/)
  assert.deepEqual(await runs('late'), [])

  templateStatus = 200
  const laterRun = (id: string, seconds: number) =>
    engine.eventually(async () => {
      engine.clock.pass(seconds)
      await engine.clock.settled()
      return (await runs(id))[0]
    })
  await laterRun('late', 6)
  const given = await laterRun('never', 301)
  assert.match(
    String(given?.cancellationReason),
    /The pipeline template "never" cannot be read\. front50 answered with status 500\./,
  )
  for (const { id } of definitions) assert.equal((await runs(id)).length, 1, id)
})

test('a stage can watch and depend on other executions', async (t) => {
  const engine = await startEngine(t)
  const other = await engine.run({ stages: [W('1', 20)] })
  const watching = await engine.run({
    stages: [{ refId: '1', type: 'monitorPipeline', executionIds: [other] }],
  })
  const depending = await engine.run({
    stages: [
      { refId: '1', type: 'dependsOnExecution', executionType: 'PIPELINE', executionId: other },
    ],
  })
  const lost = await engine.run({
    stages: [{ refId: '1', type: 'dependsOnExecution', executionId: 'nope' }],
  })
  await engine.ends(lost, 'TERMINAL')

  engine.clock.pass(20)
  await engine.ends(other, 'SUCCEEDED')
  engine.clock.pass(20)

  await engine.ends(watching, 'SUCCEEDED')
  await engine.ends(depending, 'SUCCEEDED')
  assert.equal(
    at((await engine.stage(watching, '1')).outputs, 'executionStatuses', other, 'status'),
    'SUCCEEDED',
  )
})

test('the failed leaves of a run are found in its children', async (t) => {
  const family = await startFamily(t)
  const child = await family.store({ name: 'child', stages: [F('1')] })
  const id = await family.run({ stages: [P('1', child)] })
  await family.ends(id, 'TERMINAL')

  const { body } = await family.ask(
    'GET',
    `/pipelines/failedStages?executionId=${id}&deckOrigin=http://deck&limit=5`,
  )

  const [leaf] = body as Record<string, unknown>[]
  assert.equal((body as unknown[]).length, 1)
  assert.equal(leaf!['parentPipelineExecutionId'], id)
  assert.equal(leaf!['pipelineExecutionName'], 'child')
  assert.equal(leaf!['stageStatus'], 'TERMINAL')
  assert.equal(leaf!['childPipelineExecutionId'], null)
  assert.match(
    String(leaf!['pipelineExecutionUrl']),
    /^http:\/\/deck\/#\/applications\/app\/executions\/details\//,
  )
  assert.equal(
    (await family.ask('GET', `/pipelines/failedStages?executionId=${id}&limit=0`)).status,
    400,
  )
  assert.equal((await family.ask('GET', '/pipelines/failedStages?executionId=nope')).status, 404)
})

test('pipelines in a cycle fail at the maximum depth', async (t) => {
  const family = await startFamily(t, { limits: { depth: 3 } })
  const ids = { byStage: '', byTrigger: 'T' }
  ids.byStage = await family.store({ name: 'stage', stages: [] })
  await family.store({
    id: ids.byStage,
    name: 'stage',
    stages: [P('1', ids.byStage, { waitForCompletion: false })],
  })
  const triggers = [
    { enabled: true, type: 'pipeline', pipeline: ids.byTrigger, status: ['successful'] },
  ]
  await family.store({ id: ids.byTrigger, name: 'trigger', triggers, stages: [W('1', 0)] })
  const runsOf = async (id: string) =>
    (await family.ask('GET', `/pipelines?pipelineConfigIds=${id}&limit=50`)).body as Execution[]

  for (const id of Object.values(ids)) {
    await family.ask('POST', `/orchestrate/${id}`, {})
    const ended = await family.eventually(async () =>
      (await runsOf(id)).find(({ status }) => status === 'TERMINAL'),
    )
    assert.match(
      JSON.stringify(ended),
      /4 levels below the execution \w+; 3 are allowed.*pipelines\.max-depth/,
    )
  }

  // The last one that was started fails; the one that a trigger could not start is kept as failed.
  assert.deepEqual(
    [(await runsOf(ids.byStage)).length, (await runsOf(ids.byTrigger)).length],
    [4, 5],
  )
})

test('one execution entails a limited number of others', async (t) => {
  const family = await startFamily(t, { limits: { descendants: 12 } })
  const id = await family.store({ name: 'hydra', stages: [] })
  const heads = ['1', '2', '3'].map((ref) =>
    P(ref, id, { waitForCompletion: false, continuePipeline: true }),
  )
  await family.store({ id, name: 'hydra', stages: heads })
  const runs = async () =>
    (await family.ask('GET', `/pipelines?pipelineConfigIds=${id}&limit=99`)).body as Execution[]
  const start = async () => {
    await family.ask('POST', `/orchestrate/${id}`, {})
    return family.eventually(async () => {
      const found = await runs()
      return found.every(({ status }) => status === 'SUCCEEDED') ? found : undefined
    })
  }

  const first = await start()
  const second = await start()

  assert.equal(first?.length, 13)
  assert.match(
    JSON.stringify(first),
    /12 executions follow from the execution \w+ already, 12 are allowed/,
  )
  assert.equal(second?.length, 26)
})

test('a run that names its parent counts with it', async (t) => {
  const family = await startFamily(t, { limits: { depth: 1 } })
  const start = (trigger: object) =>
    family.ask('POST', '/orchestrate', {
      application: 'app',
      name: 'p',
      stages: [W('1', 60)],
      trigger,
    })
  const idOf = (answer: { body: unknown }) =>
    String(at(answer.body, 'ref')).split('/').at(-1) as string
  const root = idOf(await start({}))
  const child = idOf(await start({ parentPipelineId: root }))

  for (const trigger of [{ parentPipelineId: child }, { parentExecution: { id: child } }]) {
    const refused = await start(trigger)
    assert.equal(refused.status, 400)
    assert.match(String(at(refused.body, 'message')), /2 levels below/)
  }
  assert.equal((await start({ parentExecution: { id: 'made up' } })).status, 200)
})
