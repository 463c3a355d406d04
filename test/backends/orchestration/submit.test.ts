import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUlid } from '../../../packages/base/storage/ulid.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { at, J, startEngine, V, W } from './support.ts'

test('orchestration-scenario 1: a run answers with its reference and ends', async (t) => {
  const { ask, clock, execution, ends } = await startEngine(t)

  const answer = await ask(
    'POST',
    '/orchestrate',
    { application: 'app', name: 'p', stages: [W('1', 1)] },
    'ann',
  )

  assert.equal(answer.status, 200)
  const id = (answer.body as { ref: string }).ref.replace('/pipelines/', '')
  assert.deepEqual(answer.body, { ref: `/pipelines/${id}` })
  assert.match(id, /^[0-9A-HJKMNP-TV-Z]{26}$/)
  assert.equal((await execution(id)).status, 'RUNNING')
  clock.pass(1)
  const done = await ends(id, 'SUCCEEDED')
  assert.equal(done.type, 'PIPELINE')
  assert.ok(done.buildTime <= done.startTime!)
  assert.equal(done.endTime! - done.startTime!, 1000)
  assert.equal(done.authentication.user, 'ann')
  assert.equal(done.canceled, false)
  assert.equal(done.stages[0]!.tasks.length, 1)
  const task = done.stages[0]!.tasks[0]!
  assert.equal(task.name, 'wait')
  assert.equal(task.status, 'SUCCEEDED')
  assert.deepEqual([task.stageStart, task.stageEnd], [true, true])
  assert.equal('engine' in task, false)
})

test('orchestration-scenario 2: an execution takes the id that it is given', async (t) => {
  const { run, execution, clock, task, ask } = await startEngine(t)
  const executionId = createUlid(clock.now())
  const body = { application: 'app', name: 'p', stages: [W('1', 1)] }

  assert.equal(await run({ executionId, stages: [W('1', 1)] }), executionId)

  assert.equal((await execution(executionId)).id, executionId)
  const [older, newer] = [clock.now() - 26 * 3600_000, clock.now() + 26 * 3600_000].map(
    createUlid,
  ) as [string, string]
  const made = await task(W('1', 1))
  for (const id of ['running', '../x', executionId.toLowerCase(), older, newer, made]) {
    const refused = await ask('POST', '/orchestrate', { ...body, executionId: id })
    assert.equal(refused.status, 400, id)
    assert.match(String(at(refused.body, 'message')), /"executionId"/)
  }
  const foreign = await ask('POST', '/orchestrate', { ...body, application: 'other', executionId })
  assert.match(String(at(foreign.body, 'message')), /"executionId" is taken/)
})

test('orchestration-scenario 3: a repeated id returns the existing execution', async (t) => {
  const { run, clock, execution } = await startEngine(t)
  const body = { executionId: createUlid(clock.now()), stages: [W('1', 9)] }
  await run(body)
  const before = await execution(body.executionId)
  clock.pass(1)

  assert.equal(await run(body), body.executionId)

  assert.equal((await execution(body.executionId)).startTime, before.startTime)
})

test('orchestration-scenario 4: stages without references run one after another', async (t) => {
  const { run, clock, ends } = await startEngine(t)
  const id = await run({
    stages: [
      { type: 'wait', waitTime: 1 },
      { type: 'wait', waitTime: 1 },
    ],
  })
  clock.pass(1)
  await clock.settled()
  clock.pass(1)

  const [first, second] = (await ends(id, 'SUCCEEDED')).stages

  assert.deepEqual([first!.refId, second!.refId], ['0', '1'])
  assert.deepEqual(second!.requisiteStageRefIds, ['0'])
  assert.ok(second!.startTime! >= first!.endTime!)
})

test('orchestration-scenario 5: stages without requisites run side by side', async (t) => {
  const { run, clock, execution, ends } = await startEngine(t)
  const id = await run({ stages: [W('a', 2), W('b', 2)] })

  assert.deepEqual(
    (await execution(id)).stages.map((stage) => stage.status),
    ['RUNNING', 'RUNNING'],
  )
  clock.pass(2)
  await ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 6: an execution without stages ends TERMINAL and has never started', async (t) => {
  const { run, ends } = await startEngine(t)

  const done = await ends(await run({ stages: [] }), 'TERMINAL')

  assert.equal(done.startTime, undefined)
})

test('orchestration-scenario 7: a stage without a type is refused and nothing is stored', async (t) => {
  const { ask } = await startEngine(t)

  const answer = await ask('POST', '/orchestrate', {
    application: 'app',
    id: 'C',
    stages: [{ refId: '1' }],
  })

  assert.equal(answer.status, 400)
  assert.equal(at(answer.body, 'status'), 400)
  assert.equal(at(answer.body, 'error'), 'Bad Request')
  assert.match(String(at(answer.body, 'message')), /type/)
  assert.equal(typeof at(answer.body, 'timestamp'), 'number')
  assert.deepEqual((await ask('GET', '/pipelines?pipelineConfigIds=C')).body, [])
})

test('orchestration-scenario 8: a disabled definition leaves a failed execution', async (t) => {
  const { ask } = await startEngine(t)

  const answer = await ask('POST', '/orchestrate', {
    application: 'app',
    id: 'C',
    disabled: true,
    stages: [W('1', 0)],
  })

  assert.equal(answer.status, 400)
  const listed = (await ask('GET', '/pipelines?pipelineConfigIds=C')).body
  assert.equal(at(listed, 'length'), 1)
  assert.equal(at(listed, 0, 'status'), 'TERMINAL')
  assert.equal(at(listed, 0, 'canceled'), true)
  assert.equal(at(listed, 0, 'canceledBy'), 'system')
  assert.match(String(at(listed, 0, 'cancellationReason')), /^Failed on startup:/)
})

test('orchestration-scenario 9: a definition disabled in the store leaves a failed execution', async (t) => {
  const { ask, backends } = await startEngine(t, { backends: [definitionsBackend] })
  const stored = await backends.ask('front50', 'POST', '/pipelines', {
    application: 'app',
    name: 'p',
    disabled: true,
    stages: [],
  })
  const id = at(stored.body, 'id')

  const body = { application: 'app', id, stages: [W('1', 0)] }
  for (const path of ['/orchestrate', '/plan']) {
    const answer = await ask('POST', path, body)
    assert.equal(answer.status, 400)
    assert.match(String(at(answer.body, 'message')), /is disabled/)
  }

  const [failed, ...others] = (await ask('GET', `/pipelines?pipelineConfigIds=${id}`))
    .body as Record<string, unknown>[]
  assert.deepEqual(others, [], 'a plan leaves none')
  assert.equal(failed?.['status'], 'TERMINAL')
  assert.match(String(failed?.['cancellationReason']), /^Failed on startup: .* is disabled/)
  assert.deepEqual(
    [failed?.['startTime'], failed?.['endTime']],
    Array(2).fill(failed?.['buildTime']),
  )
})

test('orchestration-scenario 10: a correlation id leads to the execution that runs with it', async (t) => {
  const { run, clock, ask, ends } = await startEngine(t)
  const body = { trigger: { correlationId: 'k' }, stages: [W('1', 1)] }
  const first = await run(body)

  assert.equal(await run(body), first)
  assert.deepEqual((await ask('GET', '/executions/correlated/k')).body, [first])
  clock.pass(1)
  await ends(first, 'SUCCEEDED')
  assert.notEqual(await run(body), first)
})

test('a correlation id of another application neither leads to its execution nor keeps one from starting', async (t) => {
  const { run, execution } = await startEngine(t)
  const body = { trigger: { correlationId: 'k' }, stages: [W('1', 1)] }
  const theirs = await run({ ...body, application: 'theirs' })

  const own = await run(body)

  assert.notEqual(own, theirs)
  assert.equal((await execution(own)).application, 'app')
  assert.equal(await run(body), own)
  assert.equal(await run({ ...body, application: 'theirs' }), theirs)
})

test('orchestration-scenario 11: a run without trigger gets one with the caller', async (t) => {
  const { run, execution } = await startEngine(t)

  const { trigger } = await execution(await run({ stages: [W('1', 1)] }, 'ann'))

  assert.equal(trigger.type, 'manual')
  assert.equal(trigger.user, 'ann')
  assert.deepEqual(trigger.parameters, {})
  assert.deepEqual([trigger.rebake, trigger.dryRun, trigger.strategy], [false, false, false])
})

test('the user header names the owner of a run', async (t) => {
  const { run, execution } = await startEngine(t)

  const { authentication, trigger } = await execution(await run({ stages: [] }, 'J%C3%B6rg %2541'))

  assert.equal(authentication.user, 'Jörg %41')
  assert.equal(trigger.user, 'Jörg %41')
})

test('orchestration-scenario 12: missing parameters take their defaults, empty and undeclared ones are kept', async (t) => {
  const { run, execution } = await startEngine(t)

  const id = await run({
    parameterConfig: [{ name: 'a', default: '1' }, { name: 'b', default: '2' }, { name: 'c' }],
    trigger: { parameters: { b: '', d: '4' } },
    stages: [W('1', 1)],
  })

  assert.deepEqual((await execution(id)).trigger.parameters, { b: '', d: '4', a: '1' })
})

test('orchestration-scenario 13: a plan is the processed definition, and nothing runs', async (t) => {
  const { ask } = await startEngine(t)

  const answer = await ask('POST', '/orchestrate', {
    application: 'app',
    id: 'C',
    plan: true,
    trigger: { parameters: { x: 'y' } },
    stages: [{ type: 'wait', comments: '${parameters.x}' }],
  })

  assert.equal(answer.status, 200)
  assert.equal(at(answer.body, 'stages', 0, 'refId'), '0')
  assert.equal(at(answer.body, 'stages', 0, 'comments'), 'y')
  assert.equal(at(answer.body, 'trigger', 'type'), 'manual')
  assert.deepEqual((await ask('GET', '/pipelines?pipelineConfigIds=C')).body, [])
})

test('orchestration-scenario 14: an unknown stage type ends TERMINAL whatever the failure options say', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const id = await run({ stages: [{ refId: '1', type: 'nope', continuePipeline: true }] })

  await ends(id, 'TERMINAL')

  const failed = await stage(id, '1')
  assert.equal(failed.status, 'TERMINAL')
  assert.match(String(at(failed.context, 'exception', 'details', 'errors', 0)), /nope/)
  assert.equal(failed.context['beforeStagePlanningFailed'], true)
})

const badGraphs = [
  { what: 'a requisite that does not exist', stages: [W('1', 0, '9')] },
  { what: 'a cycle', stages: [W('1', 0), W('2', 0, '3'), W('3', 0, '2')] },
  { what: 'a stage that requires itself', stages: [W('1', 0, '1')] },
  { what: 'a reference used twice', stages: [W('1', 0), W('1', 0)] },
]
for (const { what, stages } of badGraphs) {
  test(`orchestration-scenario 15: ${what} is refused and nothing is stored`, async (t) => {
    const { ask } = await startEngine(t)

    assert.equal(
      (await ask('POST', '/orchestrate', { application: 'app', id: 'C', stages })).status,
      400,
    )

    assert.deepEqual((await ask('GET', '/pipelines?pipelineConfigIds=C')).body, [])
  })
}

test('orchestration-scenario 16: a run whose start time expired is cancelled', async (t) => {
  const { run, clock, ends } = await startEngine(t)

  const done = await ends(
    await run({ startTimeExpiry: String(clock.now() - 60_000), stages: [W('1', 0)] }),
    'CANCELED',
  )

  assert.equal(done.canceledBy, 'spinnaker')
  assert.ok(done.cancellationReason)
  assert.equal(done.startTime, undefined)
})

test('orchestration-scenario 17: a stage whose start time has expired is skipped', async (t) => {
  const { run, clock, ends, stage } = await startEngine(t)
  const id = await run({
    stages: [W('1', 1), { ...W('2', 0, '1'), startTimeExpiry: String(clock.now()) }],
  })
  clock.pass(1)

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, '2')).status, 'SKIPPED')
})

test('orchestration-scenario 18: numbers as references work as text', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const stages = [
    { refId: 1, type: 'wait', requisiteStageRefIds: [] },
    { refId: 2, type: 'wait', requisiteStageRefIds: [1] },
  ]

  const id = await run({ stages })

  await ends(id, 'SUCCEEDED')
  assert.deepEqual((await stage(id, '2')).requisiteStageRefIds, ['1'])
})

test('a required artifact is bound, or the start fails', async (t) => {
  const { run, ask, execution } = await startEngine(t)
  const expectedArtifacts = [
    { id: 'e1', displayName: 'image', matchArtifact: { type: 'docker/image', name: 'web.*' } },
  ]
  const received = { type: 'docker/image', name: 'web-1', reference: 'web-1:2' }
  const definition = { id: 'C', expectedArtifacts, stages: [W('1', 1)] }

  const id = await run({
    ...definition,
    trigger: { expectedArtifactIds: ['e1'], artifacts: [received] },
  })
  const missing = await ask('POST', '/orchestrate', {
    application: 'app',
    ...definition,
    trigger: { expectedArtifactIds: ['e1'] },
  })

  assert.deepEqual(
    at((await execution(id)).trigger['resolvedExpectedArtifacts'], 0, 'boundArtifact'),
    received,
  )
  assert.equal(missing.status, 400)
  assert.match(String(at(missing.body, 'message')), /image/)
  const [newest] = (await ask('GET', '/pipelines?pipelineConfigIds=C')).body as { status: string }[]
  assert.equal(newest!.status, 'TERMINAL')
})

test('a body that is not a valid definition is rejected', async (t) => {
  const { ask } = await startEngine(t)
  for (const body of [[], 'text', 7, { errors: ['bad'] }, { stages: {} }, { stages: [7] }]) {
    assert.equal((await ask('POST', '/orchestrate', body)).status, 400, JSON.stringify(body))
  }
})

test('large integers in a stage survive', async (t) => {
  const { backends, ask, run, clock } = await startEngine(t)
  const executionId = createUlid(clock.now())
  const body = `{"application":"app","executionId":"${executionId}","stages":[{"refId":"1","type":"manualJudgment","n":12345678901234567890}]}`
  await fetch(`${backends.url('orca')}/orchestrate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  await run({ stages: [J('1'), V('2', {})] })

  const text = await (await fetch(`${backends.url('orca')}/pipelines/${executionId}`)).text()

  assert.match(text, /"n":12345678901234567890/)
  assert.equal((await ask('GET', '/pipelines/nope')).status, 404)
})

test('stages of a dry run succeed and call nothing', async (t) => {
  const called: string[] = []
  const others: CallService = async (service, { method, path }) => {
    called.push(`${service} ${method} ${path}`)
    return { status: 404, body: undefined }
  }
  const engine = await startEngine(t, { others })
  const stages = [
    { refId: '1', type: 'deletePipeline', pipeline: { application: 'app', name: 'old' } },
    { refId: '2', type: 'webhook', url: 'http://127.0.0.1:1/', requisiteStageRefIds: ['1'] },
    {
      refId: '3',
      type: 'destroyServerGroup',
      serverGroupName: 'web-v000',
      requisiteStageRefIds: ['2'],
    },
    {
      refId: '4',
      type: 'checkPreconditions',
      preconditions: [{ type: 'expression', context: { expression: '1 == 2' } }],
    },
  ]
  const id = await engine.run({ stages: stages.slice(0, 3), trigger: { dryRun: true } })
  const { stages: run } = await engine.ends(id, 'SUCCEEDED')
  assert.deepEqual(
    run.map(({ tasks }) => tasks.map(({ name }) => name)),
    [['dryRun'], ['dryRun'], ['dryRun']],
  )
  assert.deepEqual(
    called.filter((call) => !call.startsWith('echo') && !call.includes('/notifications/')),
    [],
    'life-cycle events alone',
  )
  await engine.ends(
    await engine.run({ stages: stages.slice(3), trigger: { dryRun: true } }),
    'TERMINAL',
  )
  await engine.ends(
    await engine.run({ stages: [{ refId: '1', type: 'unknown' }], trigger: { dryRun: true } }),
    'TERMINAL',
  )
})
