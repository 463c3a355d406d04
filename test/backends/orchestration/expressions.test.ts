import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { type EngineOptions, J, startEngine, type TestEngine, V, W } from './support.ts'

/** Evaluates variables in a run and returns the stage that did it. */
async function evaluated(
  t: TestContext,
  variables: Record<string, unknown>,
  definition: Record<string, unknown> = {},
  options: EngineOptions = {},
) {
  const engine = await startEngine(t, options)
  const id = await engine.run({ stages: [V('1', variables)], ...definition }, 'ann')
  await engine.ends(id, 'SUCCEEDED')
  return engine.stage(id, '1')
}

function levels(context: Record<string, unknown>): Record<string, string[]> {
  const summary = (context['expressionEvaluationSummary'] ?? {}) as Record<
    string,
    { level: string }[]
  >
  return Object.fromEntries(
    Object.entries(summary).map(([key, entries]) => [key, entries.map((entry) => entry.level)]),
  )
}

test('orchestration-scenario 140: a value that is one expression keeps its type', async (t) => {
  const { outputs } = await evaluated(t, {
    i: '${1+2}',
    b: '${true}',
    l: '${ {1,2} }',
    m: '${trigger}',
    s: 'n=${1+2}',
  })

  assert.deepEqual(
    [outputs['i'], outputs['b'], outputs['l'], outputs['s']],
    [3, true, [1, 2], 'n=3'],
  )
  assert.equal((outputs['m'] as { type: string }).type, 'manual')
})

test('orchestration-scenario 141: parameters and trigger are read by property and by index', async (t) => {
  const { outputs } = await evaluated(
    t,
    {
      a: '${parameters.x}',
      b: "${parameters['x']}",
      c: '${trigger.parameters.x}',
      d: "${trigger['user']}",
    },
    { trigger: { parameters: { x: '1' } } },
  )

  assert.deepEqual(outputs, { a: '1', b: '1', c: '1', d: 'ann' })
})

test('orchestration-scenario 142: unknown names stay as written and reach the summary', async (t) => {
  const { outputs, context, status } = await evaluated(
    t,
    { a: '${parameters.none}', b: 'a-${parameters.none}-b', c: '${parameters.none.x}' },
    { spelEvaluator: 'v4' },
  )

  assert.equal(status, 'SUCCEEDED')
  assert.deepEqual(outputs, {
    a: '${parameters.none}',
    b: 'a-${parameters.none}-b',
    c: '${parameters.none.x}',
  })
  assert.deepEqual(levels(context), {
    'parameters.none': ['INFO'],
    'a-parameters.none-b': ['INFO'],
    'parameters.none.x': ['ERROR'],
  })
})

/** Expression, the value it has (or `error`), with `parameters` and one earlier stage named `one`. */
const failing = Symbol('the text stays and the summary has an ERROR')
const values: [scenario: number, expression: string, value: unknown][] = [
  [143, "parameters.none ?: 'd'", 'd'],
  [143, "parameters.empty ?: 'd'", 'd'],
  [143, "parameters.none?.x ?: 'd'", 'd'],
  [143, 'parameters.yes ? 1 : 2', 1],
  [143, 'parameters.no ? 1 : 2', 2],
  [143, 'parameters.five ? 1 : 2', failing],
  [144, "'5' == 5", false],
  [144, '5 == 5.0', true],
  [144, '7 / 2', 3],
  [144, '7 / 2.0', 3.5],
  [144, "'5' > 3", failing],
  [144, "'ab' matches 'a.*'", true],
  [144, "'5' + 1", '51'],
  [144, "!'false'", true],
  [144, '2147483647 + 1', -2147483648],
  [144, '2147483647L + 1', 2147483648],
  [144, '2147483648', failing],
  [144, "'a' + null", 'anull'],
  [144, '1 + null', failing],
  [144, 'null < 1', true],
  [144, '5 between {1, 9}', true],
  [144, '2 ^ 10 % 7 - -1', 3],
  [144, "'ab' * 3", 'ababab'],
  [144, '1 < 2 and not (2 gt 3) || false', true],
  [144, "'it''s'", "it's"],
  [144, '0x1F + 1e1', 41],
  [145, "execution.stages.?[type == 'wait'].size()", 1],
  [145, 'execution.stages.![refId]', ['0', '1']],
  [145, "execution.stages.^[status == 'SUCCEEDED'].name", 'one'],
  [145, "execution.stages.$[type == 'wait' || type == 'manualJudgment'].refId", '1'],
  [145, "execution.stages.?[name == 'zz'].isEmpty()", true],
  [145, 'execution.stages[99]', failing],
  [145, "{a: 1, 'b': 2}.?[value > 1].keySet()", ['b']],
  [145, '{1, 2, 3}.![#this * 2]', [2, 4, 6]],
  [146, '#stage("one")["status"]', 'SUCCEEDED'],
  [146, "#stage('one').hasSucceeded", true],
  [147, '{{1, 2}, {3}}.![size()]', [2, 1]],
  [147, "{'ab', 'b'}.?[startsWith('a')]", ['ab']],
  [147, 'new java.util.Date(0).time', 0],
  [147, "{a: 1}.entrySet().![key + '=' + value]", ['a=1']],
  [147, "'%s-%02d'.formatted('a', 5)", 'a-05'],
  [147, "'abc'.hashCode()", 96354],
  [147, "'ab'.toCharArray()[1]", 'b'],
  [147, "'a\nb'.lines()", ['a', 'b']],
  [147, "{'a-b-c'.indexOf('-', 2), 'a-b-c'.lastIndexOf('-', 2)}", [3, 1]],
  [147, "'a-b'.startsWith('b', 2) && 'a-b'.subSequence(0, 2).contentEquals('a-')", true],
  [146, '#stage("one")["Status"]', 'SUCCEEDED'],
  [146, '#stage("one").status.name()', 'SUCCEEDED'],
  [146, '#stage("one").status.isSuccessful()', true],
  [146, '#stage("one").status.complete', true],
  [146, '#stage("one").status.halt', false],
  [146, '#stage("one").getStatus()', 'SUCCEEDED'],
  [146, 'execution.Status.isComplete()', false],
  [146, 'execution.getApplication().isFailure()', failing],
  [146, "'a,b,c'.split(',').length", 3],
  [146, "{'a', 'b'}.get(1)", 'b'],
  [146, "{'a', 'b'}.get(2)", failing],
  [146, "{k: 'v'}.get('k') + {k: 'v'}.getOrDefault('x', 'd')", 'vd'],
  [146, "{status: 'v'}['Status'] == null", true],
  [146, "''.empty", true],
  [146, "'a'.constructor", failing],
  [147, "#stage('zz')", failing],
  [147, "#stageExists('zz')", false],
  [147, "#stageByRefId('0').name", 'one'],
  [147, '#currentStage().refId', '1'],
  [152, `#readJson('{"a":[1,2]}').a[1]`, 2],
  [152, '#toJson({a:1})', '{"a":1}'],
  [152, '#readYaml("a: 1").a', 1],
  [152, '#readYaml("{b: &b {a: 1}, c: {<<: *b}}").c.a', 1],
  [152, '#readAllYaml("a: 1\n---\na: 2")[1].a', 2],
  [152, "#readJson('nope')", failing],
  [152, "#readJson('3')", failing],
  [153, "#toInt('4') + 1", 5],
  [153, "#toInt('x')", failing],
  [153, "#toFloat('1.5')", 1.5],
  [153, "#toBoolean('TRUE')", true],
  [153, "#toBoolean('yes')", false],
  [153, "#alphanumerical('a-b_1')", 'ab1'],
  [153, "#fromBase64(#toBase64('é'))", 'é'],
  [156, '', failing],
  [156, '1 +', failing],
  [156, '1 2', failing],
  [156, '"x', failing],
  [157, 'T(java.lang.System).exit(1)', failing],
  [157, 'T(java.lang.Runtime).getRuntime()', failing],
  [157, "''.getClass()", failing],
  [157, "new java.io.File('/')", failing],
  [157, "''.constructor", failing],
  [157, '{1}.constructor', failing],
  [157, "{a:1}['__proto__']['x']", failing],
  [157, "parameters.constructor('return 1')()", failing],
  [157, 'parameters.toString.call()', failing],
  [157, '#constructor()', failing],
  [157, '{a:1}.hasOwnProperty("a")', failing],
  [157, 'process.exit(1)', failing],
  [157, 'parameters.x = 5', failing],
  [157, '@bean.x', failing],
  [159, '{1,2}.getClass()', failing],
  [159, 'execution.getClass()', failing],
  [159, '{1,2}.stream()', failing],
  [159, '{1,2}[0]', 1],
  [166, `'${'a'.repeat(9000)}'.length()`, 9000],
  [166, `'${'a'.repeat(11_000)}'.length()`, failing],
  [166, `'${'a'.repeat(5000)}' matches '(a+)+b'`, false],
  [166, "'aaaaaaaaaa' * 1000000", failing],
  [166, `${'('.repeat(500)}1${')'.repeat(500)}`, failing],
  [166, Array(2000).fill('1').join('+'), 2000],
  [166, `${'{'.repeat(4)}1${'}'.repeat(4)}`, [[[[1]]]]],
  [166, `${'!'.repeat(5000)}true`, failing],
]

test('expressions have the values that the language gives them', async (t) => {
  const engine = await startEngine(t)
  const parameters = { empty: '', yes: 'true', no: 'false', five: '5' }
  const stages = [
    { ...W('0', 0), name: 'one' },
    { ...J('1'), requisiteStageRefIds: ['0'] },
  ]
  const id = await engine.run({ trigger: { parameters }, stages })
  await engine.eventually(async () => (await engine.stage(id, '1')).status === 'RUNNING')
  const { id: stageId } = await engine.stage(id, '1')

  for (const [scenario, expression, value] of values) {
    await t.test(`orchestration-scenario ${scenario}: \${${expression.slice(0, 60)}}`, async () => {
      const text = `\${${expression}}`
      const query = new URLSearchParams({ expression: text })
      const answer = await engine.ask(
        'GET',
        `/pipelines/${id}/${stageId}/evaluateExpression?${query}`,
      )
      assert.equal(answer.status, 200)
      const { result, detail } = answer.body as {
        result: unknown
        detail?: Record<string, { level: string }[]>
      }
      if (value !== failing)
        assert.deepEqual({ result, detail }, { result: value, detail: undefined })
      else {
        assert.equal(result, text)
        assert.deepEqual(
          Object.values(detail ?? {}).map((entries) => entries[0]!.level),
          ['ERROR'],
        )
      }
    })
  }
})

test('orchestration-scenario 146: a stage sees the outputs of the stages before it', async (t) => {
  const engine = await startEngine(t)
  const stages = [
    { ...V('1', { a: 'x' }), name: 'one' },
    V(
      '2',
      {
        b: '${a}',
        c: "${#stage('one').outputs.a}",
        inherited: "${#stage('one').context.a + #stage('one').context.get('a')}",
        d: "${#stage('one')['status']}",
        e: "${#stage('one').hasSucceeded}",
      },
      '1',
    ),
  ]
  const id = await engine.run({ stages })

  await engine.ends(id, 'SUCCEEDED')

  assert.deepEqual((await engine.stage(id, '2')).outputs, {
    b: 'x',
    c: 'x',
    inherited: 'xx',
    d: 'SUCCEEDED',
    e: true,
  })
})

test('orchestration-scenario 148: with v4 each variable sees those above it', async (t) => {
  const { outputs, context } = await evaluated(
    t,
    { a: '1', b: '${a}2', c: '${b}3' },
    { spelEvaluator: 'v4' },
  )

  assert.deepEqual(outputs, { a: '1', b: '12', c: '123' })
  assert.equal((context['variables'] as { sourceValue: unknown }[])[1]!.sourceValue, '${a}2')
})

test('orchestration-scenario 149: a variable that fails does not stop the others', async (t) => {
  const { outputs, context } = await evaluated(
    t,
    { a: '${nope.x}', b: 'ok' },
    { spelEvaluator: 'v4' },
  )

  assert.deepEqual(outputs, { a: '${nope.x}', b: 'ok' })
  assert.deepEqual(Object.keys(levels(context)), ['nope.x'])
})

for (const [evaluator, note] of [
  ['v3', 'y'],
  ['v4', '${trigger.parameters.x}'],
] as const) {
  test(`orchestration-scenario 150: with ${evaluator} a stage that has not begun shows ${note}`, async (t) => {
    const engine = await startEngine(t)
    const stages = [J('1'), { ...W('2', 0, '1'), note: '${trigger.parameters.x}' }]

    const id = await engine.run({
      spelEvaluator: evaluator,
      trigger: { parameters: { x: 'y' } },
      stages,
    })

    assert.equal((await engine.stage(id, '2')).context['note'], note)
  })
}

test('orchestration-scenario 151: keys are evaluated too', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({
    trigger: { parameters: { k: 'key' } },
    stages: [{ ...W('1', 0), deep: { '${parameters.k}': 'v' } }],
  })

  await engine.ends(id, 'SUCCEEDED')

  assert.deepEqual((await engine.stage(id, '1')).context['deep'], { key: 'v' })
})

async function tried(engine: TestEngine, id: string, expression: string) {
  return (
    await engine.ask(
      'GET',
      `/pipelines/${id}/evaluateExpression?${new URLSearchParams({ expression })}`,
    )
  ).body
}

test('orchestration-scenario 155: a quoted template is a literal', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [J('1')] })

  assert.deepEqual(await tried(engine, id, "a.${'${x}'}.b"), { result: 'a.${x}.b' })
})

test('orchestration-scenario 156: an expression without an end leaves its text and an entry', async (t) => {
  const { outputs, context, status } = await evaluated(
    t,
    { a: '${', b: '${}', c: '${1 +}' },
    { spelEvaluator: 'v4' },
  )

  assert.equal(status, 'SUCCEEDED')
  assert.deepEqual(outputs, { a: '${', b: '${}', c: '${1 +}' })
  assert.ok(
    Object.values(levels(context))
      .flat()
      .every((level) => level === 'ERROR'),
  )
})

test('orchestration-scenario 160: a failed expression is reported in a stage that succeeded', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [{ ...W('1', 0), note: '${nope.x}' }] })

  await engine.ends(id, 'SUCCEEDED')

  const { context } = await engine.stage(id, '1')
  const { details } = context['exception'] as { details: { errors: string[] } }
  assert.match(details.errors[0]!, /note.*nope\.x/)
})

test('orchestration-scenario 161: an expression that succeeds later leaves no trace of its failure', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [{ ...J('1'), note: '${late.x}' }] })
  const before = await engine.stage(id, '1')
  assert.equal(before.context['note'], '${late.x}')
  assert.deepEqual(Object.keys(levels(before.context)), ['late.x'])

  await engine.ask('PATCH', `/pipelines/${id}/stages/${before.id}`, { late: { x: 'v' } })
  // Two changes of one user are told apart by their times.
  engine.clock.pass(1)
  await engine.ask('PATCH', `/pipelines/${id}/stages/${before.id}`, { judgmentStatus: 'continue' })

  await engine.ends(id, 'SUCCEEDED')
  const { context } = await engine.stage(id, '1')
  assert.equal(context['note'], 'v')
  assert.deepEqual(levels(context), {})
  assert.equal(context['exception'], undefined)
})

test('orchestration-scenario 162: evaluating an expression returns its value or its error', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [{ ...J('1'), own: 'x' }] })
  const { id: stageId } = await engine.stage(id, '1')

  assert.deepEqual(await tried(engine, id, '${1+1}'), { result: 2 })
  const failed = (await tried(engine, id, '${nope.x}')) as {
    result: string
    detail: Record<string, Record<string, unknown>[]>
  }
  assert.equal(failed.result, '${nope.x}')
  const [entry] = failed.detail['nope.x']!
  assert.equal(entry!['level'], 'ERROR')
  assert.equal(typeof entry!['description'], 'string')
  assert.equal(typeof entry!['timestamp'], 'number')
  assert.deepEqual(
    (
      await engine.ask(
        'GET',
        `/pipelines/${id}/${stageId}/evaluateExpression?expression=%24%7Bown%7D`,
      )
    ).body,
    {
      result: 'x',
    },
  )
  assert.equal(
    (await engine.ask('GET', `/pipelines/${id}/nope/evaluateExpression?expression=x`)).status,
    404,
  )
  assert.equal(
    (await engine.ask('GET', '/pipelines/nope/evaluateExpression?expression=x')).status,
    404,
  )
})

test('orchestration-scenario 163: trying variables changes nothing', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [V('0', { o: '9' }), J('1', '0')] })
  await engine.eventually(async () => (await engine.stage(id, '1')).status === 'RUNNING')
  const before = await engine.execution(id)
  const body = [
    { key: 'a', value: '1' },
    { key: 'b', value: '${a}' },
    { key: 'c', value: '${o}' },
  ]

  const answer = await engine.ask(
    'POST',
    `/pipelines/${id}/evaluateVariables?spelVersion=v4&requisiteStageRefIds=0`,
    body,
  )

  assert.deepEqual(
    (answer.body as { result: { value: unknown }[] }).result.map((each) => each.value),
    ['1', '1', '9'],
  )
  assert.equal(
    (await engine.ask('POST', `/pipelines/${id}/evaluateVariables?spelVersion=v9`, body)).status,
    400,
  )
  assert.deepEqual(await engine.execution(id), before)
})

for (const [x, status, result] of [
  ['1', 'SUCCEEDED', 'true'],
  ['2', 'TERMINAL', 'false'],
] as const) {
  test(`orchestration-scenario 164: a precondition on a parameter of ${x} ends ${status}`, async (t) => {
    const engine = await startEngine(t)
    const preconditions = [{ type: 'expression', context: { expression: "parameters.x == '1'" } }]
    const id = await engine.run({
      trigger: { parameters: { x } },
      stages: [{ refId: '1', type: 'checkPreconditions', preconditions }],
    })

    await engine.ends(id, status)

    const { context } = await engine.stage(id, '1<1')
    assert.equal((context['context'] as { expressionResult: string }).expressionResult, result)
  })
}

test('orchestration-scenario 165: the functions and evaluators are listed', async (t) => {
  const engine = await startEngine(t)

  const { body } = await engine.ask('GET', '/capabilities/expressions')

  const { functions, spelEvaluators } = body as {
    functions: { name: string }[]
    spelEvaluators: { versionKey: string }[]
  }
  for (const name of ['stage', 'judgment', 'toJson', 'alphanumerical'])
    assert.ok(
      functions.some((each) => each.name === name),
      name,
    )
  assert.deepEqual(
    spelEvaluators.map((each) => each.versionKey),
    ['v3', 'v4'],
  )
})

test('ad-hoc tasks evaluate expressions but see neither execution nor trigger', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.task({
    type: 'wait',
    a: '${1 + 1}',
    b: '${execution.id}',
    c: '${trigger.type}',
  })

  const { execution } = await engine.taskEnds(id, 'SUCCEEDED')

  const { context } = execution.stages[0]!
  assert.deepEqual(
    [context['a'], context['b'], context['c']],
    [2, '${execution.id}', '${trigger.type}'],
  )
})
