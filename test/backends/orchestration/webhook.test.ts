import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import {
  defaultOutsideSettings,
  type OutsideSettings,
} from '../../../packages/base/outside/settings.ts'
import { at, startEngine, type TestEngine, V } from './support.ts'

interface Call {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answer = readonly [status: number, body?: unknown, headers?: Record<string, string>]

const realClock = { now: Date.now, pass: () => {}, settled: async () => {} }
const loopback: Partial<OutsideSettings> = { allowed: ['127.0.0.1'] }

/** A server outside that answers each path in turn; the last answer is repeated. */
async function startOutside(
  t: TestContext,
  answers: Record<string, Answer[]>,
): Promise<{ url: string; calls: Call[] }> {
  const calls: Call[] = []
  const server = createServer(async (request, response) => {
    calls.push({
      method: request.method,
      path: request.url,
      headers: request.headers,
      body: await text(request),
    })
    const list = answers[request.url ?? ''] ?? [[404]]
    const [status, body, headers = {}] = (list.length > 1 ? list.shift() : list[0]) as Answer
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(body === undefined ? '' : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls }
}

/** Time passes in such steps until the execution has the status. */
async function passUntil(
  engine: TestEngine,
  id: string,
  { seconds, status }: { seconds: number; status: string },
): Promise<void> {
  await engine.eventually(async () => {
    engine.clock.pass(seconds)
    await engine.clock.settled()
    return (await engine.execution(id)).status === status
  })
}

async function runStage(engine: TestEngine, settings: Record<string, unknown>, status: string) {
  const id = await engine.run({
    stages: [{ refId: '1', type: 'webhook', requisiteStageRefIds: [], ...settings }],
  })
  await engine.ends(id, status)
  return engine.stage(id, '1')
}

function errorOf(stage: unknown): string {
  return String(at(stage, 'context', 'exception', 'details', 'errors', 0))
}

test('orchestration-scenario 167: a webhook posts its payload with the headers of the author', async (t) => {
  const { url, calls } = await startOutside(t, { '/build': [[201, { id: 7 }]] })
  const engine = await startEngine(t, { outside: loopback })
  const customHeaders = { 'X-Token': 'secret', 'X-Spinnaker-User': 'admin', 'X-List': ['a', 'b'] }
  const stage = await runStage(
    engine,
    { url: `${url}/build`, payload: { tag: '${1 + 1}' }, customHeaders },
    'SUCCEEDED',
  )
  assert.deepEqual(
    calls.map(({ method, body }) => [method, body]),
    [['POST', '{"tag":2}']],
  )
  assert.equal(calls[0]?.headers['x-token'], 'secret')
  assert.equal(calls[0]?.headers['x-spinnaker-user'], undefined)
  assert.equal(calls[0]?.headers['x-list'], 'a, b')
  assert.equal(at(stage, 'context', 'webhook', 'statusCode'), 'CREATED')
  assert.deepEqual(at(stage, 'context', 'webhook', 'body'), { id: 7 })
})

test('orchestration-scenario 169: a webhook follows its work by the address in the response', async (t) => {
  const { url, calls } = await startOutside(t, {
    '/build': [[200, { links: { status: '/builds/7' } }]],
    '/builds/7': [[200, { state: 'queued' }], [503], [200, { state: 'Done', step: 'all built' }]],
  })
  const engine = await startEngine(t, { outside: loopback, clock: realClock })
  const settings = {
    url: `${url}/build`,
    waitForCompletion: true,
    statusUrlResolution: 'webhookResponse',
    statusUrlJsonPath: '$.links.status',
    statusJsonPath: '$.state',
    progressJsonPath: '$.step',
    successStatuses: 'done, ok',
  }
  const stage = await runStage(engine, settings, 'SUCCEEDED')
  assert.equal(calls.length, 4)
  assert.deepEqual(at(stage, 'context', 'webhook', 'monitor', 'pastStatusCodes'), [200, 503, 200])
  assert.equal(at(stage, 'context', 'webhook', 'monitor', 'progressMessage'), 'all built')
})

test('a number that is named as a status is no percentage', async (t) => {
  const { url } = await startOutside(t, { '/': [[200], [200, { code: 0 }], [200, { code: 1 }]] })
  const engine = await startEngine(t, { outside: loopback })
  const settings = {
    url: `${url}/`,
    method: 'GET',
    waitForCompletion: true,
    statusJsonPath: '$.code',
    successStatuses: '1',
  }
  const id = await engine.run({
    stages: [{ refId: '1', type: 'webhook', requisiteStageRefIds: [], ...settings }],
  })
  await passUntil(engine, id, { seconds: 15, status: 'SUCCEEDED' })
})

test('orchestration-scenario 170: a percentage is progress', async (t) => {
  const { url, calls } = await startOutside(t, {
    '/': [[200], [200, { done: 40 }], [200, { done: 100 }]],
  })
  const engine = await startEngine(t, { outside: loopback })
  const settings = {
    url: `${url}/`,
    method: 'GET',
    waitForCompletion: true,
    statusJsonPath: '$.done',
  }
  const id = await engine.run({
    stages: [{ refId: '1', type: 'webhook', requisiteStageRefIds: [], ...settings }],
  })
  const percentage = async () =>
    at(await engine.stage(id, '1'), 'context', 'webhook', 'monitor', 'percentComplete')
  assert.equal(await engine.eventually(percentage), 40)
  assert.equal((await engine.execution(id)).status, 'RUNNING')
  await passUntil(engine, id, { seconds: 15, status: 'SUCCEEDED' })
  assert.equal(await percentage(), 100)
  assert.equal(calls.length, 3)
})

test('orchestration-scenario 171: artifacts of the response are bound', async (t) => {
  const artifact = { type: 'docker/image', name: 'shop', version: '7', reference: 'shop:7' }
  const { url } = await startOutside(t, { '/': [[200, { artifacts: [artifact] }]] })
  const engine = await startEngine(t, { outside: loopback })
  const expectedArtifacts = [{ id: 'e', matchArtifact: { type: 'docker/image', name: 'shop' } }]
  const stage = await runStage(engine, { url: `${url}/`, expectedArtifacts }, 'SUCCEEDED')
  assert.equal(at(stage, 'outputs', 'artifacts', 0, 'reference'), 'shop:7')
  const others = [{ id: 'o', matchArtifact: { type: 'docker/image', name: 'other' } }]
  await runStage(engine, { url: `${url}/`, expectedArtifacts: others }, 'TERMINAL')
})

const failures: {
  what: string
  answers: Answer[]
  settings?: Record<string, unknown>
  says: RegExp
  calls: number
}[] = [
  { what: 'a status of the client', answers: [[404]], says: /status 404/, calls: 1 },
  { what: 'a status that fails fast', answers: [[504]], says: /status 504/, calls: 1 },
  {
    what: 'a final status of failure',
    answers: [[200, { s: 'broken' }]],
    settings: { statusJsonPath: '$.s', terminalStatuses: 'Broken' },
    says: /"broken"/,
    calls: 2,
  },
  {
    what: 'a missing status address',
    answers: [[200, {}]],
    settings: { statusUrlResolution: 'locationHeader' },
    says: /names no status address/,
    calls: 1,
  },
]
for (const { what, answers, settings, says, calls: expected } of failures) {
  test(`orchestration-scenario 168: ${what} fails the webhook`, async (t) => {
    const { url, calls } = await startOutside(t, { '/': answers })
    const engine = await startEngine(t, { outside: loopback, clock: realClock })
    const stage = await runStage(
      engine,
      { url: `${url}/`, waitForCompletion: settings !== undefined, ...settings },
      'TERMINAL',
    )
    assert.match(errorOf(stage), says)
    assert.equal(calls.length, expected)
  })
}

test('orchestration-scenario 168: a webhook that fails for a while is called again', async (t) => {
  const { url, calls } = await startOutside(t, { '/': [[500], [429], [200]] })
  const engine = await startEngine(t, { outside: loopback })
  const id = await engine.run({
    stages: [{ refId: '1', type: 'webhook', requisiteStageRefIds: [], url: `${url}/` }],
  })
  await passUntil(engine, id, { seconds: 10, status: 'SUCCEEDED' })
  assert.equal(calls.length, 3)
})

test('a status code with a bound is polled again so often', async (t) => {
  const { url, calls } = await startOutside(t, {
    '/': [[200], [404], [503], [404], [503], [404], [200]],
  })
  const engine = await startEngine(t, { outside: loopback })
  const retries = { 404: { maxAttempts: 2 }, 503: { maxAttempts: 2 } }
  const stage = {
    refId: '1',
    type: 'webhook',
    requisiteStageRefIds: [],
    url: `${url}/`,
    waitForCompletion: true,
    retries,
  }
  const id = await engine.run({ stages: [stage] })
  await passUntil(engine, id, { seconds: 1, status: 'TERMINAL' })
  assert.equal(calls.length, 6)
})

test('a restarted webhook pauses again before it monitors', async (t) => {
  const { url, calls } = await startOutside(t, { '/': [[200], [400], [200]] })
  const engine = await startEngine(t, { outside: loopback })
  const settings = { url: `${url}/`, waitForCompletion: true, waitBeforeMonitor: 60 }
  const id = await engine.run({
    stages: [{ refId: '1', type: 'webhook', requisiteStageRefIds: [], ...settings }],
  })
  await engine.eventually(async () => calls.length === 1)
  await engine.clock.settled()
  engine.clock.pass(61)
  await engine.ends(id, 'TERMINAL')

  await engine.ask('PUT', `/pipelines/${id}/stages/${(await engine.stage(id, '1')).id}/restart`, {})
  await engine.eventually(async () => calls.length === 3)
  await engine.clock.settled()
  assert.equal(calls.length, 3)
  engine.clock.pass(61)
  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 66: cancelling a webhook calls its cancel address', async (t) => {
  const { url, calls } = await startOutside(t, { '/start': [[200, {}]], '/cancel': [[200]] })
  const engine = await startEngine(t, { outside: loopback, clock: realClock })
  const settings = {
    url: `${url}/start`,
    method: 'get',
    waitForCompletion: true,
    statusJsonPath: '$.s',
    cancelEndpoint: `${url}/cancel`,
    cancelPayload: { stop: true },
  }
  const id = await engine.run({
    stages: [{ refId: '1', type: 'webhook', requisiteStageRefIds: [], ...settings }],
  })
  await engine.eventually(async () => calls.length > 1)
  await engine.ask('PUT', `/pipelines/${id}/cancel`)
  await engine.ends(id, 'CANCELED')
  const cancel = await engine.eventually(async () => calls.find(({ path }) => path === '/cancel'))
  assert.deepEqual([cancel?.method, cancel?.body], ['POST', '{"stop":true}'])
})

const internal = [
  'http://127.0.0.1:1/',
  'http://localhost:1/',
  'http://[::1]:1/',
  'http://[::ffff:127.0.0.1]:1/',
  'http://[::127.0.0.1]:1/',
  'http://[::ffff:0:7f00:1]:1/',
  'http://[64:ff9b::7f00:1]:1/',
  'http://[64:ff9b:1::7f00:1]:1/',
  'http://[2002:7f00:1::]:1/',
  'http://0177.0.0.1/',
  'http://127.1/',
  'http://①②⑦.⓪.⓪.①/',
  'http://reader:word@127.0.0.1/',
  'http://224.0.0.1/',
  'http://169.254.169.254/latest/meta-data',
  'http://10.0.0.1/',
  'http://0x7f.1/',
  'http://2130706433/',
  'http://93.184.216.34/',
  'http://service.internal/',
  'http://service.internal./',
  'http://front50/',
  'ftp://example.org/',
  'file:///etc/passwd',
  'nonsense',
]
for (const url of internal) {
  test(`stages must not call ${url}`, async (t) => {
    const engine = await startEngine(t)
    const stage = await runStage(engine, { url, method: 'GET' }, 'TERMINAL')
    assert.match(
      errorOf(stage),
      /must not call .* An operator can allow it by user-configured-url-restrictions\.|not an absolute address/,
    )
  })
}

for (const address of [
  '::127.0.0.1',
  '64:ff9b:1::7f00:1',
  '2002:7f00:1::',
  '2001:0:7f00:1::',
  '224.0.0.1',
  '240.0.0.1',
]) {
  test(`${address} is internal also where numbers are allowed`, async (t) => {
    const rejects = { ...defaultOutsideSettings.rejects, verbatim: false }
    const engine = await startEngine(t, { outside: { rejects } })
    const url = `http://${address.includes(':') ? `[${address}]` : address}:1/`
    assert.match(
      errorOf(await runStage(engine, { url }, 'TERMINAL')),
      /must not call .*: it is internal/,
    )
  })
}

test('a server that switches protocols fails the webhook', async (t) => {
  const switched =
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'
  const server = createTcpServer((socket) =>
    socket.on('error', () => {}).once('data', () => socket.write(switched)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const engine = await startEngine(t, { outside: loopback })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  assert.match(errorOf(await runStage(engine, { url }, 'TERMINAL')), /switched protocols/)
})

for (const method of ['CONNECT', 'trace']) {
  test(`a webhook must not use the method ${method}`, async (t) => {
    const { url, calls } = await startOutside(t, { '/': [[200]] })
    const engine = await startEngine(t, { outside: loopback })
    const stages = [
      { refId: '1', type: 'webhook', requisiteStageRefIds: [], url: `${url}/`, method },
    ]
    const { status, body } = await engine.ask('POST', '/orchestrate', {
      application: 'app',
      name: 'p',
      stages,
    })
    assert.equal(status, 400)
    assert.match(String(at(body, 'message')), /"method" must not be CONNECT, TRACE/)
    const computed = await runStage(
      engine,
      { url: `${url}/`, method: `\${"${method}"}` },
      'TERMINAL',
    )
    assert.match(errorOf(computed), /must not use the method/)
    assert.equal(calls.length, 0)
  })
}

test('a task whose call never comes back fails', async (t) => {
  const others = () => new Promise<never>(() => {})
  const engine = await startEngine(t, { others, attemptMs: 50, clock: realClock })
  const id = await engine.run({
    stages: [{ refId: '1', type: 'pipeline', pipeline: 'other', requisiteStageRefIds: [] }],
  })
  await engine.ends(id, 'TERMINAL')
  assert.match(errorOf(await engine.stage(id, '1')), /gave no result within 0.05 s/)
})

test('a preconfigured webhook fixes fields and fills in parameters', async (t) => {
  const { url, calls } = await startOutside(t, { '/deploy/eu': [[200]] })
  const preconfigured = [
    {
      type: 'deploySite',
      label: 'Deploy the site',
      description: 'Calls the site',
      enabled: true,
      url: `${url}/deploy/\${parameterValues.region}`,
      method: 'PUT',
      payload: { note: "${parameterValues['note']}" },
      parameters: [
        { name: 'region', type: 'string' as const, defaultValue: 'eu' },
        { name: 'note', type: 'string' as const },
      ],
      permissions: { READ: ['ops'] },
    },
  ]
  const engine = await startEngine(t, { outside: { ...loopback, preconfigured } })
  await runStage(
    engine,
    { type: 'deploySite', url: 'http://elsewhere.example/', parameterValues: { note: 'hi' } },
    'SUCCEEDED',
  )
  assert.deepEqual(
    calls.map(({ method, path, body }) => [method, path, body]),
    [['PUT', '/deploy/eu', '{"note":"hi"}']],
  )
  const { body } = await engine.ask('GET', '/webhooks/preconfigured')
  assert.equal(at(body, 0, 'type'), 'deploySite')
  assert.deepEqual(at(body, 0, 'preconfiguredProperties'), ['url', 'method', 'payload'])
  assert.equal(at(body, 0, 'parameters', 0, 'name'), 'region')
})

test('headers of a preconfigured webhook go only to hosts of the configuration', async (t) => {
  const work = '/work'
  const headers = { location: '/state' }
  const own = await startOutside(t, { [work]: [[200, undefined, headers]], '/state': [[200]] })
  const foreign = await startOutside(t, { [work]: [[200]], '/state': [[200]], '/cancel': [[200]] })
  const away = await startOutside(t, {
    [work]: [[200, undefined, { location: `${foreign.url}/state` }]],
  })
  const hook = (type: string, url: string | undefined, more: object = {}) => ({
    ...{
      type,
      label: type,
      description: '',
      enabled: true,
      parameters: [{ name: 'host', type: 'string' as const }],
      ...more,
    },
    ...{ url, customHeaders: { 'X-Operator': 'operators-token-0001' } },
  })
  const follows = { waitForCompletion: true, statusUrlResolution: 'locationHeader' as const }
  const preconfigured = [
    hook('fixed', `${own.url}${work}`),
    hook('followed', `${own.url}${work}`, follows),
    hook('redirected', `${away.url}${work}`, follows),
    hook('open', undefined),
    hook('made', `http://\${parameterValues.host}${work}`),
    hook('prolonged', `${own.url}\${parameterValues.host}${work}`),
  ]
  const engine = await startEngine(t, { outside: { ...loopback, preconfigured }, clock: realClock })
  const at127 = new URL(foreign.url).host
  const stages: [settings: object, called: typeof own, paths: string[], has: boolean][] = [
    [{ type: 'fixed' }, own, [work], true],
    [{ type: 'followed' }, own, [work, '/state'], true],
    [{ type: 'redirected' }, foreign, ['/state'], false],
    [
      { type: 'fixed', monitorOnly: true, statusEndpoint: `${foreign.url}/state` },
      foreign,
      ['/state'],
      false,
    ],
    [{ type: 'open', url: `${foreign.url}${work}` }, foreign, [work], false],
    [{ type: 'made', parameterValues: { host: at127 } }, foreign, [work], false],
    [{ type: 'prolonged', parameterValues: { host: `@${at127}` } }, foreign, [work], false],
  ]
  for (const [settings, { calls }, paths, has] of stages) {
    calls.length = 0
    await runStage(engine, { ...settings }, 'SUCCEEDED')
    const seen = calls.map((call) => [call.path, call.headers['x-operator'] !== undefined])
    assert.deepEqual(
      seen,
      paths.map((path) => [path, has]),
      JSON.stringify(settings),
    )
  }
  foreign.calls.length = 0
  own.calls.length = 0
  const pending = {
    type: 'fixed',
    waitForCompletion: true,
    statusJsonPath: '$.state',
    cancelEndpoint: `${foreign.url}/cancel`,
  }
  const id = await engine.run({ stages: [{ refId: '1', requisiteStageRefIds: [], ...pending }] })
  await engine.eventually(async () => own.calls.length > 1)
  await engine.ask('PUT', `/pipelines/${id}/cancel`)
  await engine.eventually(async () => foreign.calls.length > 0)
  assert.equal(foreign.calls[0]?.headers['x-operator'], undefined)
})

test('orchestration-scenario 194: webhooks that hang do not delay other executions', async (t) => {
  const held: (() => void)[] = []
  const server = createServer((_request, response) => void held.push(() => response.end('{}')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const engine = await startEngine(t, { outside: loopback, clock: realClock })
  const hanging = await Promise.all(
    Array.from({ length: 30 }, () =>
      engine.run({ stages: [{ refId: '1', type: 'webhook', requisiteStageRefIds: [], url }] }),
    ),
  )
  await engine.eventually(async () => held.length === hanging.length)

  await engine.ends(
    await engine.run({ stages: [V('1', { first: '1' }), V('2', { second: '2' }, '1')] }),
    'SUCCEEDED',
  )
  for (const id of hanging) assert.equal((await engine.execution(id)).status, 'RUNNING')

  for (const release of held.splice(0)) release()
  await Promise.all(hanging.map((id) => engine.ends(id, 'SUCCEEDED')))
  assert.equal(held.length, 0)
})

test('views mask secret headers, payloads and addresses of webhooks', async (t) => {
  const seen = { seen: 'hdr-bearer-0002', region: 'east' }
  const echo = { token: 'cfg-fixed-0001', other: 'cfg-odd-value-0009' }
  const { url, calls } = await startOutside(t, {
    '/a?access_token=url-query-0005&page=2': [[200, seen, { 'set-cookie': 'sid=set-cookie-0006' }]],
    '/b': [[200]],
    '/c': [[200]],
    '/fixed?key_token=cfg-url-0008': [
      [200, echo],
      [200, { state: 'done', ...echo }],
    ],
  })
  const fixed = {
    type: 'fixed',
    label: 'Fixed',
    description: '',
    enabled: true,
    url: `${url}/fixed?key_token=cfg-url-0008`,
    method: 'GET',
    customHeaders: {
      'X-Token': 'cfg-fixed-0001',
      'X-Region': 'east',
      'X-Odd': 'cfg-odd-value-0009',
    },
    waitForCompletion: true,
    statusJsonPath: '$.state',
    successStatuses: 'done',
    parameters: [],
  }
  const engine = await startEngine(t, {
    outside: { ...loopback, preconfigured: [fixed] },
    clock: realClock,
  })
  const payload = {
    author: 'jane',
    list: [{ login: { password: 'pay-deep-0003' } }],
    auth: { key: 'pay-auth-0004' },
  }
  const customHeaders = {
    Authorization: 'Bearer hdr-bearer-0002',
    'X-Api-Key': ['hdr-list-0007'],
    Accept: 'text/plain',
  }
  const texts = {
    json: JSON.stringify({ api_key: 'txt-"json-0010' }),
    form: 'grant=x&client_secret=txt%2Dform-0011',
  }
  const webhook = (refId: string, settings: object) => ({
    refId,
    type: 'webhook',
    requisiteStageRefIds: [],
    ...settings,
  })
  const id = await engine.run({
    stages: [
      webhook('1', { url: `${url}/a?access_token=url-query-0005&page=2`, payload, customHeaders }),
      webhook('2', { url: `${url}/b`, payload: texts.json }),
      webhook('3', { url: `${url}/c`, payload: texts.form }),
      webhook('4', { type: 'fixed' }),
    ],
  })
  await engine.ends(id, 'SUCCEEDED')

  const sent = (path: string) => calls.find((call) => call.path?.startsWith(path))
  assert.deepEqual(JSON.parse(sent('/a')?.body ?? ''), payload)
  assert.equal(sent('/a')?.headers.authorization, 'Bearer hdr-bearer-0002')
  assert.deepEqual([sent('/b')?.body, sent('/c')?.body], [texts.json, texts.form])
  assert.equal(calls.filter(({ headers }) => headers['x-token'] === 'cfg-fixed-0001').length, 2)
  const stage = await engine.stage(id, '1')
  const query = new URLSearchParams({ expression: '${execution}' })
  for (const path of [
    `/pipelines/${id}`,
    `/pipelines?executionIds=${id}`,
    `/pipelines/${id}/evaluateExpression?${query}`,
  ]) {
    const shown = JSON.stringify((await engine.ask('GET', path)).body)
    assert.deepEqual(shown.match(/(?:cfg|hdr|pay|url|txt|set)-[^,]*00\d\d/g), null, path)
  }
  assert.equal(at(stage, 'context', 'payload', 'author'), 'jane')
  assert.equal(at(stage, 'context', 'customHeaders', 'Accept'), 'text/plain')
  assert.equal(at(stage, 'context', 'webhook', 'body', 'region'), 'east')

  const shownText = at(await engine.stage(id, '2'), 'context', 'payload')
  const second = (await engine.stage(id, '2')).id
  await engine.ask('PATCH', `/pipelines/${id}/stages/${second}`, { payload: shownText })
  await engine.ask('PUT', `/pipelines/${id}/stages/${second}/restart`, {})
  await engine.eventually(async () => calls.filter(({ path }) => path === '/b').length === 2)
  assert.equal(
    calls.findLast(({ path }) => path === '/b')?.body,
    texts.json,
    'a text with masks keeps its secrets',
  )
})

for (const [type, payload, sent] of [
  [
    'application/x-www-form-urlencoded',
    { a: 'x y', n: 5, l: [1, 2], none: null },
    'a=x+y&n=5&l=1&l=2',
  ],
  ['application/x-www-form-urlencoded', '{"a": "x&y"}', 'a=x%26y'],
  ['application/x-www-form-urlencoded; charset=UTF-8', 'a=1&b=2', 'a=1&b=2'],
  ['text/plain', 'plain words', 'plain words'],
  ['application/xml', '<a/>', '<a/>'],
  ['application/vnd.api+json', { a: 1 }, '{"a":1}'],
] as const) {
  test(`a payload is sent as ${type}: ${sent}`, async (t) => {
    const { url, calls } = await startOutside(t, { '/form': [[200]] })
    const engine = await startEngine(t, { outside: loopback })
    const settings = { url: `${url}/form`, payload, customHeaders: { 'Content-Type': type } }
    await runStage(engine, settings, 'SUCCEEDED')
    assert.deepEqual([calls[0]?.headers['content-type'], calls[0]?.body], [type, sent])
  })
}

test('fields are not sent as XML', async (t) => {
  const { url, calls } = await startOutside(t, { '/xml': [[200]] })
  const engine = await startEngine(t, { outside: loopback })
  const customHeaders = { 'content-type': 'application/xml' }
  const stage = await runStage(
    engine,
    { url: `${url}/xml`, payload: { a: 1 }, customHeaders },
    'TERMINAL',
  )
  assert.match(errorOf(stage), /content type is application\/xml: write the payload as a text/)
  assert.deepEqual(calls, [])
})

for (const [answer, settings] of [
  ['{"state":"SUCCEEDED"}\n', { statusJsonPath: '$.state' }],
  [JSON.stringify('{"state":"SUCCEEDED"}'), { statusJsonPath: '$.state' }],
  ['SUCCEEDED\n', { statusJsonPath: '$.state' }],
  ['[{"id":1,"state":"ok"}]', { statusJsonPath: '$[?(@.id == 1)].state', successStatuses: 'OK' }],
] as const) {
  test(`a status is read that arrives as ${answer.trim()}`, async (t) => {
    const server = createServer((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end(answer),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const engine = await startEngine(t, { outside: loopback, clock: realClock })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await runStage(engine, { url, waitForCompletion: true, ...settings }, 'SUCCEEDED')
  })
}

for (const [body, settings, error] of [
  [{ status: 'busy' }, { statusJsonPath: '$.state' }, /"\$\.state" finds nothing/],
  [{ state: { at: 1 } }, { statusJsonPath: '$.state' }, /finds an object/],
  [{ state: 'busy' }, { statusJsonPath: '$.state' }, /status "busy" ends nothing/],
] as const) {
  test(`a webhook that understands nothing of ${JSON.stringify(body)} says so`, async (t) => {
    const { url } = await startOutside(t, { '/poll': [[200, body]] })
    const engine = await startEngine(t, { outside: loopback })
    const polling = { type: 'webhook', url: `${url}/poll`, waitForCompletion: true, ...settings }
    const id = await engine.run({ stages: [{ refId: '1', requisiteStageRefIds: [], ...polling }] })
    const monitor = async () => at(await engine.stage(id, '1'), 'context', 'webhook', 'monitor')
    await engine.eventually(async () => {
      engine.clock.pass(1)
      await engine.clock.settled()
      const polls = at(await monitor(), 'pastStatusCodes')
      const count = Array.isArray(polls) ? polls.length : 0
      if (count < 3) assert.equal(at(await monitor(), 'error'), undefined)
      return count >= 3
    })
    assert.match(String(at(await monitor(), 'error')), error)
  })
}

test('a status path that is none ends the stage', async (t) => {
  const { url } = await startOutside(t, { '/poll': [[200, { state: 'busy' }]] })
  const engine = await startEngine(t, { outside: loopback, clock: realClock })
  const settings = { url: `${url}/poll`, waitForCompletion: true, statusJsonPath: '$.state[' }
  assert.match(
    errorOf(await runStage(engine, settings, 'TERMINAL')),
    /"\$\.state\[" ends too early/,
  )
})

test('texts of a configured webhook are expressions, and values stay within their quotes', async (t) => {
  const { url, calls } = await startOutside(t, { '/hook/web?n=2': [[200]] })
  const hook = {
    type: 'notify',
    label: 'Notify',
    description: '',
    enabled: true,
    url: `${url}/hook/\${execution['application']}?n=\${1 + 1}`,
    method: 'POST',
    payload:
      '{"id": "${execution.id}", "name": "${parameterValues[\'a-b\']}", "n": "${1 + 1}", "x": "${nothing}"}',
    customHeaders: { 'X-Dash': '${parameterValues.a-b}' },
    parameters: [{ name: 'a-b', type: 'string' as const }],
  }
  const engine = await startEngine(t, { outside: { ...loopback, preconfigured: [hook] } })
  const name = 'x","admin":"true'
  const id = await engine.run({
    application: 'web',
    stages: [
      {
        refId: '1',
        requisiteStageRefIds: [],
        type: 'notify',
        alias: 'preconfiguredWebhook',
        parameterValues: { 'a-b': name },
      },
    ],
  })
  await engine.ends(id, 'SUCCEEDED')
  assert.deepEqual(JSON.parse(calls[0]?.body ?? ''), { id, name, n: '2', x: '${nothing}' })
  assert.equal(calls[0]?.headers['x-dash'], name)
  const summary = at(await engine.stage(id, '1'), 'context', 'expressionEvaluationSummary')
  assert.match(JSON.stringify(summary), /nothing is null/)
})
