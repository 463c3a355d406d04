import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { at, createClock, startEngine, V, W } from './support.ts'

const outside = { allowed: ['127.0.0.1/32'] }
/** As time passes, for what is repeated after a pause. */
const realClock = { ...createClock(), now: Date.now }

const answers = {
  'GET /text': new Reply(200, 'hello', { 'content-type': 'text/plain' }),
  'GET /json': { replicas: 3, list: [1, 2] },
  'GET /yaml': new Reply(200, 'a:\n  b: 1\n'),
  'GET /properties': new Reply(
    200,
    '# build\nversion=1.2\npath : a\\\n  b\nname caf\\u00e9\nempty=\n',
  ),
  'GET /moved': new Reply(302, '', { location: '/text' }),
}

test('a stage reads texts, JSON, YAML and properties of addresses when it begins', async (t) => {
  const server = await startUpstream(t, answers)
  const engine = await startEngine(t, { outside, clock: realClock })
  const variables = {
    text: `\${#fromUrl('${server.url}/text')}`,
    again: `<\${#fromUrl('${server.url}/text').toUpperCase()}>`,
    json: `\${#jsonFromUrl('${server.url}/json').replicas + 1}`,
    yaml: `\${#yamlFromUrl('${server.url}/yaml').a.b}`,
    properties: `\${#propertiesFromUrl('${server.url}/properties')}`,
    chained: `\${#fromUrl('${server.url}/' + #fromUrl('${server.url}/text').replace('hello', 'text'))}`,
  }
  const expected = {
    ...{ text: 'hello', again: '<HELLO>', json: 4, yaml: 1, chained: 'hello' },
    properties: { version: '1.2', path: 'ab', name: 'café', empty: '' },
  }
  for (const spelEvaluator of ['v3', 'v4']) {
    const id = await engine.run({ spelEvaluator, stages: [W('0', 0), V('1', variables, '0')] })
    await engine.ends(id, 'SUCCEEDED')
    assert.deepEqual((await engine.stage(id, '1')).outputs, expected)
  }

  // Once for each stage, however often an expression names it.
  assert.equal(server.requests.filter(({ path }) => path === '/text').length, 2)
})

test('an address that fails leaves the text and its reason', async (t) => {
  const server = await startUpstream(t, answers)
  const engine = await startEngine(t, { outside, clock: realClock })
  const variables = {
    missing: `\${#fromUrl('${server.url}/none')}`,
    moved: `\${#fromUrl('${server.url}/moved')}`,
    file: "${#fromUrl('file:///etc/passwd')}",
    inside: "${#fromUrl('http://169.254.169.254/latest')}",
    noJson: `\${#jsonFromUrl('${server.url}/text')}`,
  }
  const id = await engine.run({ stages: [V('1', variables)] })

  await engine.ends(id, 'SUCCEEDED')

  const { outputs, context } = await engine.stage(id, '1')
  assert.deepEqual(outputs, variables)
  const summary = JSON.stringify(context['expressionEvaluationSummary'])
  for (const reason of [
    /status 404/,
    /redirects are not followed/,
    /call file:.*scheme is not one of/,
    /169\.254\.169\.254/,
    /is not JSON/,
  ])
    assert.match(summary, reason)
})

test('a condition waits for the address that it reads', async (t) => {
  const server = await startUpstream(t, { 'GET /flag': new Reply(200, 'off') })
  const engine = await startEngine(t, { outside, clock: realClock })
  const stageEnabled = { type: 'expression', expression: `#fromUrl('${server.url}/flag') == 'on'` }
  const id = await engine.run({ stages: [{ ...W('1', 0), stageEnabled }] })

  await engine.ends(id, 'SUCCEEDED')

  assert.equal((await engine.stage(id, '1')).status, 'SKIPPED')
})

test('a precondition waits for the address that it reads', async (t) => {
  const server = await startUpstream(t, { 'GET /flag': new Reply(200, 'on') })
  const engine = await startEngine(t, { outside, clock: realClock })
  const preconditions = [
    {
      type: 'expression',
      failPipeline: true,
      context: { expression: `#fromUrl('${server.url}/flag') == 'on'` },
    },
  ]
  const id = await engine.run({
    stages: [{ type: 'checkPreconditions', refId: '1', requisiteStageRefIds: [], preconditions }],
  })

  await engine.ends(id, 'SUCCEEDED')
})

test('a restart of a stage reads its addresses again', async (t) => {
  let content = 'first'
  const server = await startUpstream(t, () => new Reply(200, content))
  const engine = await startEngine(t, { outside, clock: realClock })
  const id = await engine.run({
    spelEvaluator: 'v4',
    stages: [V('1', { text: `\${#fromUrl('${server.url}/')}` })],
  })
  await engine.ends(id, 'SUCCEEDED')

  content = 'second'
  await engine.ask('PUT', `/pipelines/${id}/stages/${(await engine.stage(id, '1')).id}/restart`, {})

  assert.ok(
    await engine.eventually(async () => (await engine.stage(id, '1')).outputs['text'] === 'second'),
  )
})

test('an execution that waits for an address can be cancelled', async (t) => {
  const { silence } = await import('../../support/upstream.ts')
  const server = await startUpstream(t, { 'GET /slow': silence })
  const engine = await startEngine(t, { outside, clock: realClock })
  const id = await engine.run({ stages: [V('1', { text: `\${#fromUrl('${server.url}/slow')}` })] })
  assert.ok(await engine.eventually(async () => server.requests.length > 0))

  await engine.ask('PUT', `/pipelines/${id}/cancel`)

  await engine.ends(id, 'CANCELED')
  assert.equal(server.requests.length, 1)
})

test('a stage reads at most twenty addresses', async (t) => {
  const server = await startUpstream(t, () => new Reply(200, 'x'))
  const engine = await startEngine(t, { outside, clock: realClock })
  const many = `\${{${Array.from({ length: 30 }, (_each, index) => index).join(',')}}.![#fromUrl('${server.url}/' + #this)]}`
  const variables = Object.fromEntries(
    Array.from({ length: 30 }, (_each, index) => [
      `v${index}`,
      `\${#fromUrl('${server.url}/${index}')}`,
    ]),
  )
  const id = await engine.run({ stages: [V('1', { many, ...variables })] })

  await engine.ends(id, 'SUCCEEDED')

  assert.equal(server.requests.length, 20)
  assert.match(
    JSON.stringify((await engine.stage(id, '1')).context['expressionEvaluationSummary']),
    /at most 20 addresses/,
  )
})

test('the id of a pipeline is found by its name', async (t) => {
  const engine = await startEngine(t, { backends: [definitionsBackend], clock: realClock })
  for (const [application, name] of [
    ['app', 'Deploy to prod'],
    ['other', 'Deploy'],
  ]) {
    const saved = await engine.backends.ask('front50', 'POST', '/pipelines', {
      application,
      name,
      id: `id of ${name}`,
      stages: [],
    })
    assert.equal(saved.status, 200)
  }
  const variables = {
    own: "${#pipelineId('Deploy to prod')}",
    other: "${#pipelineIdInApplication('Deploy', 'other')}",
    none: "${#pipelineId('Deploy')}",
  }
  const id = await engine.run({ stages: [V('1', variables)] })

  await engine.ends(id, 'SUCCEEDED')

  const { outputs, context } = await engine.stage(id, '1')
  assert.deepEqual(outputs, {
    own: 'id of Deploy to prod',
    other: 'id of Deploy',
    none: variables.none,
  })
  assert.match(
    JSON.stringify(context['expressionEvaluationSummary']),
    /Application app has no pipeline/,
  )
  const query = new URLSearchParams({ expression: variables.own })
  const answer = await engine.ask('GET', `/pipelines/${id}/evaluateExpression?${query}`)
  assert.equal(at(answer.body, 'result'), 'id of Deploy to prod')
})
