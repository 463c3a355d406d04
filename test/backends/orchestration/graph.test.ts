import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, F, J, startEngine, V, W } from './support.ts'

test('orchestration-scenario 19: a join starts once, after both branches', async (t) => {
  const { run, clock, ends } = await startEngine(t)
  const id = await run({
    stages: [W('1', 0), W('2a', 1, '1'), W('2b', 2, '1'), W('3', 1, '2a', '2b')],
  })
  for (let second = 0; second < 4; second++) {
    await clock.settled()
    clock.pass(1)
  }

  const { stages } = await ends(id, 'SUCCEEDED')

  const [, a, b, join] = stages
  assert.ok(join!.startTime! >= a!.endTime! && join!.startTime! >= b!.endTime!)
  assert.equal(join!.tasks.length, 1)
})

test('orchestration-scenario 20: an execution succeeds only when the ends of all branches have', async (t) => {
  const { run, clock, ends, execution } = await startEngine(t)
  const id = await run({ stages: [W('1', 0), W('2a', 0, '1'), W('2b', 0, '1'), W('2c', 5, '2b')] })
  await clock.settled()

  assert.equal((await execution(id)).status, 'RUNNING')
  clock.pass(5)
  const { stages } = await ends(id, 'SUCCEEDED')
  assert.ok(stages.every((stage) => stage.status === 'SUCCEEDED'))
})

test('orchestration-scenario 21: a stage that requires thirty others starts exactly once', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const branches = Array.from({ length: 30 }, (_each, index) => String(index))
  const id = await run({ stages: [...branches.map((ref) => W(ref, 0)), W('join', 0, ...branches)] })

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, 'join')).tasks.length, 1)
})

test('orchestration-scenario 22: what requires a skipped stage runs', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const skipped = { ...W('1', 0), stageEnabled: { type: 'expression', expression: 'false' } }
  const id = await run({ stages: [skipped, W('2', 0, '1')] })

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, '1')).status, 'SKIPPED')
  assert.equal((await stage(id, '2')).status, 'SUCCEEDED')
})

test('orchestration-scenario 23: preconditions become synthetic stages in the flat list', async (t) => {
  const { run, ends } = await startEngine(t)
  const entry = { type: 'expression', context: { expression: 'true' } }
  const id = await run({
    stages: [{ refId: '5', type: 'checkPreconditions', preconditions: [entry, entry] }],
  })

  const { stages } = await ends(id, 'SUCCEEDED')

  const parent = stages.find((stage) => stage.refId === '5')!
  const children = stages.filter((stage) => stage.parentStageId === parent.id)
  assert.deepEqual(
    children.map((stage) => [stage.refId, stage.syntheticStageOwner, stage.status]),
    [
      ['5<1', 'STAGE_BEFORE', 'SUCCEEDED'],
      ['5<2', 'STAGE_BEFORE', 'SUCCEEDED'],
    ],
  )
  assert.equal(parent.status, 'SUCCEEDED')
})

test('orchestration-scenario 25: a failure halts everything', async (t) => {
  const { run, ends, stage, execution } = await startEngine(t)
  const id = await run({ stages: [F('1'), W('2', 120)] })

  await ends(id, 'TERMINAL')

  const other = await stage(id, '2')
  assert.equal(other.status, 'CANCELED')
  assert.ok(other.endTime)
  assert.equal(other.tasks[0]!.status, 'CANCELED')
  assert.ok((await execution(id)).stages.every((each) => each.status !== 'RUNNING'))
})

test('orchestration-scenario 26: what comes after a failure does not start', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const id = await run({ stages: [F('1'), W('2', 0, '1')] })

  await ends(id, 'TERMINAL')

  assert.equal((await stage(id, '2')).status, 'NOT_STARTED')
})

const haltBranch = { failPipeline: false, continuePipeline: false }

test('orchestration-scenario 27: a failure can halt its own branch only', async (t) => {
  const { run, clock, ends, stage } = await startEngine(t)
  const id = await run({ stages: [F('1', [], haltBranch), W('1b', 0, '1'), W('2', 2)] })
  clock.pass(2)

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, '1')).status, 'STOPPED')
  assert.equal((await stage(id, '1b')).status, 'NOT_STARTED')
  assert.equal((await stage(id, '2')).status, 'SUCCEEDED')
})

test('orchestration-scenario 28: a halted branch can fail the execution at its end', async (t) => {
  const { run, clock, ends, stage, execution } = await startEngine(t)
  const id = await run({
    stages: [
      F('1', [], { ...haltBranch, completeOtherBranchesThenFail: true }),
      W('1b', 0, '1'),
      W('2', 2),
    ],
  })
  await clock.settled()

  assert.equal((await execution(id)).status, 'RUNNING')
  clock.pass(2)
  await ends(id, 'TERMINAL')
  assert.equal((await stage(id, '2')).status, 'SUCCEEDED')
})

for (const [scenario, failPipeline] of [
  [29, false],
  [30, true],
] as const) {
  test(`orchestration-scenario ${scenario}: a failure can be ignored, with failPipeline ${failPipeline}`, async (t) => {
    const { run, ends, stage } = await startEngine(t)
    const id = await run({
      stages: [F('1', [], { failPipeline, continuePipeline: true }), W('2', 0, '1')],
    })

    await ends(id, 'SUCCEEDED')

    assert.equal((await stage(id, '1')).status, 'FAILED_CONTINUE')
    assert.equal((await stage(id, '2')).status, 'SUCCEEDED')
  })
}

test('orchestration-scenario 31: a join behind a halted branch never starts', async (t) => {
  const { run, clock, ends, stage } = await startEngine(t)
  const id = await run({ stages: [F('a', [], haltBranch), W('b', 1), W('c', 0, 'a', 'b')] })
  clock.pass(1)

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, 'c')).status, 'NOT_STARTED')
})

test('orchestration-scenario 32: a single precondition can ask to halt only its branch', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const entry = { type: 'expression', failPipeline: false, context: { expression: 'false' } }
  const id = await run({
    stages: [{ refId: '1', type: 'checkPreconditions', preconditions: [entry] }],
  })

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, '1')).status, 'STOPPED')
})

test('orchestration-scenario 33: a wrong stage status is reported with stage and statuses', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const entry = { type: 'stageStatus', context: { stageName: 'first', stageStatus: 'SUCCEEDED' } }
  const check = {
    refId: '2',
    type: 'checkPreconditions',
    preconditions: [entry],
    requisiteStageRefIds: ['1'],
  }
  const id = await run({ stages: [F('1', [], { name: 'first', continuePipeline: true }), check] })

  await ends(id, 'TERMINAL')

  const text = String(at((await stage(id, '2<1')).context, 'exception', 'details', 'errors', 0))
  assert.match(text, /first/)
  assert.match(text, /FAILED_CONTINUE/)
  assert.match(text, /SUCCEEDED/)
})

test('orchestration-scenario 34: a failed expression fails the stage only when asked to', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const wait = { refId: '1', type: 'wait', waitTime: 0, note: '${nope.x}' }
  const strict = await run({ stages: [{ ...wait, failOnFailedExpressions: true }] })
  const lax = await run({ stages: [wait] })

  await ends(strict, 'TERMINAL')
  await ends(lax, 'SUCCEEDED')

  const { context } = await stage(lax, '1')
  assert.equal(context['note'], '${nope.x}')
  assert.ok(at(context, 'expressionEvaluationSummary', 'nope.x', 0))
})

test('orchestration-scenario 35: a stage that is out of time ends TERMINAL', async (t) => {
  const { run, clock, ends, stage } = await startEngine(t)
  const id = await run({ stages: [{ ...J('1'), stageTimeoutMs: 2000 }] })
  clock.pass(3)

  await ends(id, 'TERMINAL')

  assert.equal(at((await stage(id, '1')).context, 'exception', 'exceptionType'), 'TimeoutException')
})

test('orchestration-scenario 36: being out of time can count as success', async (t) => {
  const { run, clock, ends } = await startEngine(t)
  const id = await run({
    stages: [{ ...J('1'), stageTimeoutMs: 2000, markSuccessfulOnTimeout: true }],
  })
  clock.pass(3)

  await ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 37: being out of time can be ignored', async (t) => {
  const { run, clock, ends, stage } = await startEngine(t)
  const id = await run({ stages: [{ ...J('1'), stageTimeoutMs: 2000, continuePipeline: true }] })
  clock.pass(3)

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, '1')).status, 'FAILED_CONTINUE')
})

test('orchestration-scenario 38: time spent paused does not count against the time limit', async (t) => {
  const { run, clock, ends, ask, execution } = await startEngine(t)
  const id = await run({ stages: [{ ...J('1'), stageTimeoutMs: 10_000 }] })
  clock.pass(1)
  await ask('PUT', `/pipelines/${id}/pause`)
  clock.pass(12)
  await ask('PUT', `/pipelines/${id}/resume`)

  clock.pass(5)
  assert.equal((await execution(id)).status, 'RUNNING')
  clock.pass(5)
  await ends(id, 'TERMINAL')
})

test('orchestration-scenario 39: a failed synthetic child follows the options of its parent', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const id = await run({ stages: [F('1', [], { continuePipeline: true })] })

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, '1')).status, 'FAILED_CONTINUE')
})

const conditions: [
  scenario: number,
  expression: unknown,
  parameters: Record<string, unknown>,
  status: string,
][] = [
  [40, 'false', {}, 'SKIPPED'],
  [40, 'true', {}, 'SUCCEEDED'],
  [42, "parameters.deploy == 'true'", { deploy: 'true' }, 'SUCCEEDED'],
  [42, "parameters.deploy == 'true'", { deploy: 'false' }, 'SKIPPED'],
  [43, "${parameters.deploy == 'true'}", { deploy: 'true' }, 'SUCCEEDED'],
  [43, "${parameters.deploy == 'true'}", { deploy: 'false' }, 'SKIPPED'],
  [44, 'nope.x', {}, 'SKIPPED'],
  [44, "'maybe'", {}, 'SKIPPED'],
  [45, ' ', {}, 'SUCCEEDED'],
]
for (const [scenario, expression, parameters, status] of conditions) {
  test(`orchestration-scenario ${scenario}: a stage enabled by ${JSON.stringify(expression)} with ${JSON.stringify(parameters)} ends ${status}`, async (t) => {
    const { run, ends, stage } = await startEngine(t)
    const id = await run({
      trigger: { parameters },
      stages: [{ ...W('1', 0), stageEnabled: { type: 'expression', expression } }],
    })

    await ends(id, 'SUCCEEDED')

    const found = await stage(id, '1')
    assert.equal(found.status, status)
    assert.equal(found.tasks.length, status === 'SKIPPED' ? 0 : 1)
  })
}

test('a skipped stage records its condition, value and operands', async (t) => {
  const { run, ends, stage, ask, clock } = await startEngine(t)
  const enabled = (expression: unknown) => ({ stageEnabled: { type: 'expression', expression } })
  const evaluationOf = async (id: string, refId: string) =>
    (await stage(id, refId)).context['stageEnabledEvaluation']
  const id = await run({
    trigger: { parameters: { region: 'eu', all: { a: 1 } } },
    stages: [
      { ...W('plain', 0), ...enabled("parameters.region == 'us' and parameters['zone'] == null") },
      { ...W('braces', 0), ...enabled("${trigger.parameters.region == 'us'}") },
      { ...W('broken', 0), ...enabled('parameters.nope.x == 1') },
      { ...W('unreadable', 0), ...enabled('parameters.region ==') },
      {
        ...W('runs', 0),
        ...enabled("#alphanumerical('e-u') == parameters.region and !parameters.all.isEmpty()"),
      },
      { ...W('fixed', 0), ...enabled(false) },
      { ...W('long', 0), ...enabled(`'${'x'.repeat(700)}'`) },
      { ...W('none', 0), stageEnabledEvaluation: { enabled: false } },
    ],
  })
  await ends(id, 'SUCCEEDED')

  const evaluatedAt = clock.now()
  assert.deepEqual(await evaluationOf(id, 'plain'), {
    expression: "parameters.region == 'us' and parameters['zone'] == null",
    enabled: false,
    value: false,
    operands: [{ path: 'parameters.region', value: 'eu' }, { path: "parameters['zone']" }],
    evaluatedAt,
  })
  assert.deepEqual(await evaluationOf(id, 'braces'), {
    expression: "${trigger.parameters.region == 'us'}",
    enabled: false,
    value: false,
    operands: [{ path: 'trigger.parameters.region', value: 'eu' }],
    evaluatedAt,
  })
  const broken = await evaluationOf(id, 'broken')
  assert.match(String(at(broken, 'error')), /"x" cannot be read: the value before it is null/)
  assert.deepEqual(at(broken, 'operands'), [{ path: 'parameters.nope' }])
  assert.equal(Object.hasOwn(broken as object, 'value'), false)
  assert.match(String(at(await evaluationOf(id, 'unreadable'), 'error')), /Failed to evaluate/)
  assert.deepEqual(at(await evaluationOf(id, 'runs'), 'operands'), [
    { path: "#alphanumerical('e-u')", value: 'eu' },
    { path: 'parameters.region', value: 'eu' },
  ])
  assert.equal(at(await evaluationOf(id, 'runs'), 'enabled'), true)
  assert.equal(at(await evaluationOf(id, 'fixed'), 'value'), false)
  assert.equal(String(at(await evaluationOf(id, 'long'), 'value')).length, 501)
  assert.equal(await evaluationOf(id, 'none'), undefined)

  const { id: stageId } = await stage(id, 'plain')
  clock.pass(60)
  await ask('PUT', `/pipelines/${id}/stages/${stageId}/restart`, {})
  await ends(id, 'SUCCEEDED')
  assert.equal(at(await evaluationOf(id, 'plain'), 'evaluatedAt'), evaluatedAt + 60_000)
  assert.equal((await stage(id, 'plain')).context['expressionEvaluationSummary'], undefined)
})

test('orchestration-scenario 41: a condition sees the outputs of the stages before', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const enabled = (expression: string) => ({ stageEnabled: { type: 'expression', expression } })
  const stages = [
    V('1', { go: 'no' }),
    { ...W('2a', 0, '1'), ...enabled("go == 'yes'") },
    { ...W('2b', 0, '1'), ...enabled("go == 'no'") },
  ]
  const id = await run({ stages })

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, '2a')).status, 'SKIPPED')
  assert.equal((await stage(id, '2b')).status, 'SUCCEEDED')
})

for (const [input, status] of [
  ['blue', 'SUCCEEDED'],
  ['red', 'SKIPPED'],
] as const) {
  test(`orchestration-scenario 46: a condition on a judgment of ${input} leaves the stage ${status}`, async (t) => {
    const { run, ends, stage, ask } = await startEngine(t)
    const expression = "#judgment('ask') == 'blue'"
    const id = await run({
      stages: [
        { ...J('1'), name: 'ask' },
        { ...W('2', 0, '1'), stageEnabled: { type: 'expression', expression } },
      ],
    })
    const { id: stageId } = await stage(id, '1')

    await ask('PATCH', `/pipelines/${id}/stages/${stageId}`, {
      judgmentStatus: 'continue',
      judgmentInput: input,
    })

    await ends(id, 'SUCCEEDED')
    assert.equal((await stage(id, '2')).status, status)
  })
}

test('a stage without work ends SKIPPED and what requires it runs', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const id = await run({ stages: [{ refId: '1', type: 'noop' }, W('2', 0, '1')] })

  await ends(id, 'SUCCEEDED')

  assert.equal((await stage(id, '1')).status, 'SKIPPED')
})
