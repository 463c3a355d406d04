import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, startEngine, type TestEngine } from './support.ts'

type Fields = Record<string, unknown>

const realClock = { now: Date.now, pass: () => {}, settled: async () => {} }
const image = (version: string) => ({
  type: 'docker/image',
  name: 'shop',
  version,
  reference: `shop:${version}`,
})
const expected = (fields: Fields = {}) => ({
  id: 'image',
  displayName: 'the image',
  matchArtifact: { type: 'docker/image', name: 'shop' },
  ...fields,
})

async function runs(engine: TestEngine, stage: Fields, more: Fields = {}, status = 'SUCCEEDED') {
  const execution = await engine.ends(
    await engine.run({ stages: [{ refId: '1', ...stage }], ...more }),
    status,
  )
  const [first] = execution.stages
  const errors = at(first, 'context', 'exception', 'details', 'errors') as string[] | undefined
  return { execution, first, outputs: first?.outputs ?? {}, error: (errors ?? []).join(' ') }
}

const receives = (...artifacts: unknown[]) => ({ trigger: { type: 'manual', artifacts } })

test('texts with expressions become artifacts that later stages bind', async (t) => {
  const engine = await startEngine(t, { clock: realClock })
  const stage = {
    type: 'evaluateArtifacts',
    artifactContents: [
      { id: 'values', name: 'values.yml', contents: 'replicas: ${1 + 1}' },
      { name: 'list', contents: ['${parameters.a}', 2] },
      { id: 'none', name: 'empty', contents: '' },
    ],
  }
  const more = { trigger: { type: 'manual', parameters: { a: 'x' } } }
  const { outputs } = await runs(engine, stage, more)
  const texts = (outputs['artifacts'] as Fields[]).map(({ name, type, reference }) => [
    name,
    type,
    Buffer.from(String(reference), 'base64').toString(),
  ])
  assert.deepEqual(texts, [
    ['values.yml', 'embedded/base64', 'replicas: 2'],
    ['list', 'embedded/base64', '["x",2]'],
  ])
  assert.deepEqual(
    (outputs['resolvedExpectedArtifacts'] as Fields[]).map(({ id }) => id),
    ['values'],
  )
  const byName = { ...expected(), id: 'v', matchArtifact: { name: 'values.*' } }
  const bound = await runs(engine, { ...stage, expectedArtifacts: [byName] }, more)
  assert.equal(
    at(bound.outputs, 'resolvedExpectedArtifacts', 0, 'boundArtifact', 'name'),
    'values.yml',
  )
})

test('expected artifacts are bound to the nearest of those at hand', async (t) => {
  const engine = await startEngine(t, { clock: realClock })
  const stages = [
    {
      refId: '0',
      type: 'evaluateArtifacts',
      artifactContents: [{ name: 'shop', contents: 'made here' }],
    },
    {
      refId: '1',
      requisiteStageRefIds: ['0'],
      type: 'bindArtifact',
      expectedArtifacts: [expected(), { id: 'text', matchArtifact: { type: 'embedded/base64' } }],
    },
  ]
  const id = await engine.run({ stages, ...receives(image('1'), { ...image('1'), name: 'db' }) })
  await engine.ends(id, 'SUCCEEDED')
  const { outputs } = await engine.stage(id, '1')
  const [bound, text] = outputs['artifacts'] as Fields[]
  assert.equal(bound?.['reference'], 'shop:1')
  assert.equal(text?.['name'], 'shop')
})

test('an expected artifact that is missing is that of the run before, or the default', async (t) => {
  const engine = await startEngine(t, { clock: realClock })
  const bind = (fields: Fields) => ({ type: 'bindArtifact', expectedArtifacts: [expected(fields)] })
  const reference = async (fields: Fields, more: Fields) =>
    at((await runs(engine, bind(fields), more)).outputs, 'artifacts', 0, 'reference')
  const byDefault = { useDefaultArtifact: true, defaultArtifact: image('0') }

  assert.equal(await reference(byDefault, { id: 'first' }), 'shop:0')
  const none = await runs(engine, bind({}), { id: 'second' }, 'TERMINAL')
  assert.match(none.error, /Neither the trigger.*"the image".*default/)
  assert.equal(await reference({}, { id: 'second', ...receives(image('7')) }), 'shop:7')
  assert.equal(
    await reference({ usePriorArtifact: true, ...byDefault }, { id: 'second' }),
    'shop:7',
  )
  assert.equal(await reference({ usePriorArtifact: true, ...byDefault }, { id: 'third' }), 'shop:0')
  const empty = await runs(engine, { type: 'bindArtifact' }, {}, 'TERMINAL')
  assert.match(empty.error, /expects no artifact/)
})

test('artifacts come from the newest execution of a pipeline that ended as chosen', async (t) => {
  const engine = await startEngine(t, { clock: realClock })
  const ends = (expression: string) => ({
    type: 'checkPreconditions',
    preconditions: [{ type: 'expression', context: { expression } }],
  })
  const build = { id: 'build', name: 'build' }
  await runs(engine, ends('true'), { ...build, ...receives(image('1')) })
  const second = await runs(engine, ends('true'), { ...build, ...receives(image('2')) })
  await runs(engine, ends('false'), { ...build, ...receives(image('3')) }, 'TERMINAL')
  const waiting = await engine.run({
    ...build,
    stages: [{ refId: '1', type: 'manualJudgment' }],
    ...receives(image('4')),
  })
  await engine.ends(waiting, 'RUNNING')

  const find = {
    type: 'findArtifactFromExecution',
    pipeline: 'build',
    application: 'app',
    expectedArtifacts: [expected()],
  }
  for (const [executionOptions, reference] of [
    [undefined, 'shop:2'],
    [{ succeeded: true }, 'shop:2'],
    [{ succeeded: true, terminal: true }, 'shop:3'],
    [{ succeeded: true, terminal: true, running: true }, 'shop:4'],
  ] as const) {
    const { outputs } = await runs(engine, { ...find, executionOptions })
    assert.equal(at(outputs, 'artifacts', 0, 'reference'), reference)
    assert.equal(
      at(outputs, 'resolvedExpectedArtifacts', 0, 'boundArtifact', 'reference'),
      reference,
    )
  }
  const { first } = await runs(engine, {
    ...find,
    expectedArtifacts: undefined,
    expectedArtifact: expected(),
  })
  assert.equal(first?.context['sourceExecutionId'], second.execution.id)
})

test('an execution that is not there, or has no such artifact, fails the stage', async (t) => {
  const engine = await startEngine(t, { clock: realClock })
  await runs(engine, { type: 'wait', waitTime: 0 }, { id: 'build', name: 'build' })
  const find = {
    type: 'findArtifactFromExecution',
    pipeline: 'build',
    expectedArtifacts: [expected()],
  }
  for (const [fields, says] of [
    [{ pipeline: 'none' }, /no execution of the pipeline none with the status SUCCEEDED/],
    [{ executionOptions: { terminal: true } }, /the status TERMINAL/],
    [{}, /of the pipeline "build" has no artifact that matches the expected artifact "the image"/],
  ] as const) {
    assert.match((await runs(engine, { ...find, ...fields }, {}, 'TERMINAL')).error, says)
  }
})
