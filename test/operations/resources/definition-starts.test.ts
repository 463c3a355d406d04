/** Saves and starts of definitions through the gateway, with the embedded engine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/wait-until.ts'

async function send(url: string, method: string, path: string, body?: unknown) {
  const answer = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    body: (text === '' ? undefined : JSON.parse(text)) as never,
  }
}

test('a saved pipeline with faults is answered with warnings in a header', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })
  const stages = [
    { refId: '1', type: 'wait', name: 'Pause ✓', waitTme: 3, requisiteStageRefIds: [] },
  ]
  const saved = await send(url, 'POST', '/pipelines', { application: 'nowhere', name: 'p', stages })
  assert.deepEqual([saved.status, saved.text], [200, ''])
  const warnings = decodeURIComponent(saved.headers.get('x-fairlead-warnings') ?? '')
  assert.equal(
    warnings,
    'application: The application "nowhere" does not exist. Stage "Pause ✓": "waitTme" is no field of this stage type. Write "waitTime".',
  )
})

test('other saves have the header and findings as well', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })
  const stages = [{ refId: '1', type: 'nope' }]
  const strategy = { application: 'demo', name: 's', id: 's', stages }
  const template = { id: 't', metadata: { name: 't', scopes: ['global'] }, pipeline: { stages } }
  const application = { name: 'demo', email: 'a@b.example', environments: [{ name: 'x' }] }
  const job = [{ type: 'createApplication', application }]
  const metrics = [
    { name: 'm', query: {}, analysisConfigurations: { canary: { nanStrategy: 'replace' } } },
  ]
  const canary = { name: 'c', applications: ['demo'], metrics }
  for (const [request, body, expected, says] of [
    ['POST /strategies', strategy, 200, /stages\[0\]\.type: There is no stage type "nope"/],
    ['PUT /strategies/s', strategy, 200, /There is no stage type "nope"/],
    [
      'POST /v2/pipelineTemplates/create',
      template,
      202,
      /pipeline\.stages\[0\]\.type: There is no/,
    ],
    ['POST /v2/pipelineTemplates/update/t', template, 202, /There is no stage type "nope"/],
    ['POST /tasks', { application: 'demo', description: 'd', job }, 200, /^environments/],
    ['POST /v2/canaryConfig', canary, 200, /The metric "m" .* Set "rareEvents": true/],
    [
      'POST /v2/canaryConfig',
      { ...canary, name: 'd', judge: { name: 'dredd-v1.0' } },
      200,
      /dredd/,
    ],
  ] as const) {
    const [method = '', path = ''] = request.split(' ')
    const { status, headers, text } = await send(url, method, `${path}?findings=true`, body)
    assert.match(text, /"findings":\[\{"severity"/, request)
    assert.equal(status, expected, `${request}: ${text}`)
    assert.match(decodeURIComponent(headers.get('x-fairlead-warnings') ?? ''), says, request)
  }
})

test('a save answers with its findings where that is asked for', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })
  const definition = { application: 'demo', name: 'p', stages: [{ refId: '1', type: 'nope' }] }
  const saved = await send(url, 'POST', '/pipelines?findings=true', definition)
  const places = (saved.body as { findings: { place: string }[] }).findings.map(
    ({ place }) => place,
  )
  assert.deepEqual(places, ['stages[0].type', 'application'])
  const list = (await send(url, 'GET', '/applications/demo/findings')).body as [
    { name: string; findings: unknown[] },
  ]
  assert.deepEqual([list[0].name, list[0].findings.length], ['p', 2])
})

test('plan starts no execution of the embedded engine, at any address', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })
  const stages = [{ refId: '1', type: 'wait', waitTime: 0, requisiteStageRefIds: [] }]
  const definition = { application: 'demo', name: 'p', stages }
  assert.equal((await send(url, 'POST', '/pipelines', definition)).status, 200)
  const [{ id }] = (await send(url, 'GET', '/applications/demo/pipelineConfigs')).body as [
    { id: string },
  ]
  const paths = [
    '/pipelines/demo/p',
    `/pipelines/demo/${id}`,
    '/pipelines/v2/demo/p',
    '/applications/demo/pipelineConfigs/p',
  ]
  for (const path of paths) {
    const { status, body } = await send(url, 'POST', path, { plan: true })
    assert.deepEqual([status, (body as { name: string }).name], [200, 'p'], path)
  }
  assert.equal(
    (await send(url, 'POST', '/pipelines/start', { ...definition, id, plan: true })).status,
    200,
  )
  assert.deepEqual((await send(url, 'GET', '/applications/demo/pipelines')).body, [])
  assert.equal((await send(url, 'POST', '/pipelines/demo/p', { dryRun: true })).status, 202)
  await waitUntil(async () => {
    const [run] = (await send(url, 'GET', '/applications/demo/pipelines')).body as {
      status?: string
    }[]
    return run?.status === 'SUCCEEDED'
  }, 'the dry run succeeds')
})

test('a start takes any value, and names those outside the options', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })
  const parameterConfig = [
    { name: 'env', hasOptions: true, options: [{ value: 'prod' }, { value: 'staging' }] },
    { name: 'note', hasOptions: false, options: [{ value: '' }] },
  ]
  await send(url, 'POST', '/pipelines', {
    application: 'demo',
    name: 'p',
    stages: [],
    parameterConfig,
  })
  const rows: [parameters: unknown, warnings: RegExp][] = [
    [{ env: 'prod', note: 'any' }, /^$/],
    [{ env: '' }, /^$/],
    [{}, /^$/],
    [{ env: 'stagin' }, /"env" is "stagin", which is none of its options: staging, prod/],
    [{ env: 7 }, /"env" is "7"/],
    [{ envi: 'prod' }, /no parameter "envi"\. Did you mean "env"\?/],
  ]
  for (const [parameters, warnings] of rows) {
    const answer = await send(url, 'POST', '/pipelines/demo/p', { parameters })
    assert.equal(answer.status, 202, JSON.stringify(parameters))
    assert.match(decodeURIComponent(answer.headers.get('x-fairlead-warnings') ?? ''), warnings)
    const run = await send(url, 'GET', (answer.body as { ref: string }).ref)
    const { systemNotifications } = run.body as { systemNotifications: { message: string }[] }
    assert.match(systemNotifications.map(({ message }) => message).join(' '), warnings)
  }
})

test('errors of embedded services name no service', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })
  const messages = [
    await send(url, 'POST', '/tasks', { application: 'demo', job: [{}] }),
    await send(url, 'POST', '/pipelines/start', { application: 'demo', name: 'p', stages: 7 }),
    await send(url, 'GET', '/pipelines/01M84NBVKX6FZZZMVPKJ74VCYK'),
  ].map(({ body }) => String((body as { message: string }).message))
  assert.match(messages[0] as string, /^Element 0 of "job" needs a "type"\.$/)
  for (const message of messages) assert.doesNotMatch(message, /orca|front50|answered \d/)
})

test('clients get masks for the secrets of triggers, whatever their headers say', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })
  const trigger = {
    type: 'webhook',
    source: 'ci',
    enabled: true,
    payloadConstraints: { secret: '^open-sesame-1$' },
  }
  const stages = [{ refId: '1', type: 'wait', waitTime: 0, requisiteStageRefIds: [] }]
  const definition = { id: 'P', application: 'demo', name: 'p', stages, triggers: [trigger] }
  assert.equal((await send(url, 'POST', '/pipelines', definition)).status, 200)
  const read = await send(url, 'GET', '/applications/demo/pipelineConfigs/p')
  assert.equal((await send(url, 'PUT', '/pipelines/P', read.body)).status, 200)
  const event = await send(url, 'POST', '/webhooks/webhook/ci', { secret: 'open-sesame-1' })
  const { eventId } = event.body as { eventId: string }
  await waitUntil(async () => {
    const found = await send(url, 'GET', `/applications/demo/executions/search?eventId=${eventId}`)
    return (found.body as unknown[]).length === 1
  }, 'the webhook starts the pipeline with the stored secret')

  const paths = [
    '/applications/demo/pipelineConfigs',
    '/applications/demo/pipelineConfigs/P',
    '/pipelineConfigs',
    '/tasks',
  ]
    .concat([
      '/pipelineConfigs/P/history',
      '/pipelineConfigs/P/convertToTemplate',
      '/applications/demo/pipelines?limit=5',
    ])
    .concat(['/applications/demo/tasks', '/applications/demo/executions/search?size=5&expand=true'])
  const answers = await Promise.all(paths.map(async (path) => (await fetch(url + path)).text()))
  for (const plan of ['/pipelines/demo/p', '/applications/demo/pipelineConfigs/p'])
    answers.push((await send(url, 'POST', plan, { plan: true })).text)
  answers.push((await send(url, 'POST', '/pipelines/start', { ...definition, plan: true })).text)
  for (const [index, text] of answers.entries()) {
    const decoded = text.replace(/[A-Za-z0-9+/=]{80,}/g, (encoded) =>
      Buffer.from(encoded, 'base64').toString(),
    )
    assert.doesNotMatch(decoded, /open-sesame/, String(paths[index] ?? 'plan'))
  }
  assert.match(answers[0] ?? '', /\*{6}/)
})
