import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type GatewaySettings, startGateway } from '../support/gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { type RecordedRequest, startUpstream, type Upstream } from '../support/upstream.ts'

interface Target {
  url: string
  service: Upstream
  /** What the service was asked last. */
  asked(): RecordedRequest
}

async function startTarget(t: TestContext, settings: GatewaySettings = {}): Promise<Target> {
  const service = await startUpstream(t, ({ path }) => {
    if (path === '/networks/aws') return []
    return path.startsWith('/pipelines/') ? { id: '1', application: 'found' } : {}
  })
  const services = { clouddriver: { baseUrl: service.url }, orca: { baseUrl: service.url } }
  const url = await startGateway(t, { ...settings, services })
  return {
    url,
    service,
    asked: () => service.requests.at(-1) ?? assert.fail('the service was not asked'),
  }
}

const identity = (request: RecordedRequest) =>
  Object.fromEntries(Object.entries(request.headers).filter(([name]) => /spinnaker/i.test(name)))

const forged = [
  'X-SPINNAKER-USER',
  'x-spinnaker-user',
  'X_SPINNAKER_USER',
  'X-SPINNAKER_USER',
  'X_SPINNAKER-USER',
  'X-SPINNAKER-ACCOUNTS',
  'X_SPINNAKER_ACCOUNTS',
  'X-SPINNAKER-USER-ORIGIN',
  'X-SPINNAKER-ANONYMOUS',
  'X-SPINNAKER-APPLICATION',
  'X-SPINNAKER-FEATURE',
  'X-Spinnaker-Token',
  'X-Spinnaker-Priority',
]
const secret = [
  'Cookie',
  'Authorization',
  'Origin',
  'Referer',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'Forwarded',
  'X-Other',
]

test('no identity header of a client reaches a service', async (t) => {
  const { url, asked } = await startTarget(t)
  for (const path of ['/networks', '/applications/web/clusters/prod/web-main']) {
    for (const name of [...forged, ...secret]) {
      await (await fetch(url + path, { headers: { [name]: 'admin' } })).text()
      const { headers } = asked()
      assert.equal(headers['x-spinnaker-user'], 'anonymous', name)
      assert.equal(headers['x-spinnaker-user-origin'], 'api', name)
      const values = Object.entries(headers).filter(([, value]) => value === 'admin')
      assert.deepEqual(values, [], `${name} at ${path}`)
    }
  }
})

test('a repeated header cannot smuggle a value', async (t) => {
  const { url, asked } = await startTarget(t)
  const connection = await openRawConnection(t, url)
  const twice = [
    'X-SPINNAKER-USER: a',
    'X-SPINNAKER-USER: b',
    'x-spinnaker-request-id: one',
    'x-spinnaker-request-id: two',
  ]
  connection.send(`GET /networks HTTP/1.1\r\nhost: x\r\n${twice.join('\r\n')}\r\n\r\n`)
  assert.equal((await connection.next()).status, 200)
  assert.equal(asked().headers['x-spinnaker-user'], 'anonymous')
  assert.match(String(asked().headers['x-spinnaker-request-id']), /^[\w-]{36}$/)
})

test('services learn user, origin and request id', async (t) => {
  const { url, asked } = await startTarget(t)
  const answer = await fetch(`${url}/networks`)
  const id = answer.headers.get('x-spinnaker-request-id')
  assert.match(String(id), /^[0-9a-f]{8}-/)
  assert.deepEqual(identity(asked()), {
    'x-spinnaker-user': 'anonymous',
    'x-spinnaker-user-origin': 'api',
    'x-spinnaker-request-id': id,
  })
})

test('okHttpClient.propagateSpinnakerHeaders: false sends no identity', async (t) => {
  const service = await startUpstream(t, () => ({}))
  const url = await startGateway(t, {
    services: { clouddriver: { baseUrl: service.url } },
    okHttpClient: { propagateSpinnakerHeaders: false },
  })
  await fetch(`${url}/networks`)
  const last = service.requests.findLast(({ path }) => path === '/networks')
  assert.deepEqual(last && identity(last), {})
})

const origins = [
  ['deck', 'deck'],
  ['DECK', 'deck'],
  ['spin', 'api'],
  ['', 'api'],
  ['deck, api', 'api'],
] as const
for (const [app, origin] of origins) {
  test(`X-RateLimit-App ${JSON.stringify(app)} is the origin ${origin}`, async (t) => {
    const { url, asked } = await startTarget(t)
    await fetch(`${url}/networks`, {
      headers: { 'x-ratelimit-app': app, 'x-spinnaker-user-origin': 'deck' },
    })
    assert.equal(asked().headers['x-spinnaker-user-origin'], origin)
  })
}

test('a request id of the client is echoed', async (t) => {
  const { url, asked } = await startTarget(t)
  for (const path of ['/networks', '/nothing', '/tasks?limit=x']) {
    const answer = await fetch(url + path, { headers: { 'x-spinnaker-request-id': 'my-id:1' } })
    assert.equal(answer.headers.get('x-spinnaker-request-id'), 'my-id:1')
  }
  assert.equal(asked().headers['x-spinnaker-request-id'], 'my-id:1')
})

for (const id of ['two words', 'a'.repeat(201), 'ümlaut', '']) {
  test(`the request id ${JSON.stringify(id.slice(0, 20))} is replaced`, async (t) => {
    const { url, asked } = await startTarget(t)
    const answer = await fetch(`${url}/networks`, { headers: { 'x-spinnaker-request-id': id } })
    assert.match(String(answer.headers.get('x-spinnaker-request-id')), /^[0-9a-f-]{36}$/)
    assert.equal(
      asked().headers['x-spinnaker-request-id'],
      answer.headers.get('x-spinnaker-request-id'),
    )
  })
}

test('a missing request id is derived from the execution', async (t) => {
  const { url, asked } = await startTarget(t)
  const answer = await fetch(`${url}/networks`, {
    headers: { 'x-spinnaker-execution-id': '01ABC', 'x-spinnaker-execution-type': 'pipeline' },
  })
  assert.match(String(answer.headers.get('x-spinnaker-request-id')), /^01ABC:[0-9a-f-]{36}$/)
  assert.equal(asked().headers['x-spinnaker-execution-id'], '01ABC')
  assert.equal(asked().headers['x-spinnaker-execution-type'], 'pipeline')
})

test('a task is an orchestration, whatever the client says', async (t) => {
  const { url, service } = await startTarget(t)
  for (const path of ['/tasks', '/tasks/']) {
    await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-spinnaker-execution-type': 'pipeline' },
      body: '{"application":"web","job":[]}',
    })
  }
  const types = service.requests
    .filter(({ method }) => method === 'POST')
    .map(({ headers }) => headers['x-spinnaker-execution-type'])
  assert.deepEqual(types, ['orchestration', 'orchestration'])
})

const applications: {
  name: string
  method?: string
  path: string
  body?: string
  application: string | undefined
}[] = [
  {
    name: 'the segment after /applications/',
    path: '/applications/web/clusters',
    application: 'web',
  },
  {
    name: 'that segment as it stands in the URL',
    path: '/applications/caf%C3%A9/clusters',
    application: 'caf%C3%A9',
  },
  { name: 'none of a path that only looks like it', path: '/networks/aws', application: undefined },
  {
    name: 'that of the task',
    method: 'POST',
    path: '/tasks',
    body: '{"application":"paid","job":[]}',
    application: 'paid',
  },
  {
    name: 'that of the execution',
    method: 'PUT',
    path: '/pipelines/1/pause',
    application: 'found',
  },
]
for (const { name, method = 'GET', path, body, application } of applications) {
  test(`the application is ${name}`, async (t) => {
    const { url, asked } = await startTarget(t)
    const answer = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json', 'x-spinnaker-application': 'forged' },
      body,
    })
    assert.equal(answer.status, 200, await answer.text())
    assert.equal(asked().headers['x-spinnaker-application'], application)
  })
}

const reads = [
  ['of an application', '/applications/caf%C3%A9/clusters', ''],
  ['whose path has a raw byte', '/applications/caf\xe9/clusters', ''],
  [
    'within an execution',
    '/networks',
    'x-spinnaker-execution-id: 01ABC\r\nx-spinnaker-execution-type: pipeline\r\nx-ratelimit-app: deck\r\n',
  ],
  ['with a condition', '/networks', 'if-none-match: "a", "b\xe9"\r\n'],
  ['with a configured header', '/networks', 'x-spinnaker-tenant: a b\r\n'],
] as const
test('a read that is passed on has the identity of one that is parsed', async (t) => {
  const { url, service, asked } = await startTarget(t, {
    okHttpClient: { additionalHeaders: ['X-SPINNAKER-TENANT'] },
  })
  for (const [name, path, headers] of reads) {
    const seen: Record<string, unknown>[] = []
    for (const accept of ['application/json', 'application/x-yaml']) {
      const connection = await openRawConnection(t, url)
      const before = service.requests.length
      connection.send(
        Buffer.from(
          `GET ${path} HTTP/1.1\r\nhost: x\r\naccept: ${accept}\r\n${headers}\r\n`,
          'latin1',
        ),
      )
      const { status } = await connection.next()
      assert.ok(status === 200 || service.requests.length === before, name)
      seen.push({
        status,
        ...(status === 200 && { ...identity(asked()), 'x-spinnaker-request-id': '' }),
      })
    }
    assert.deepEqual(seen[0], seen[1], name)
  }
})

test('configured headers are forwarded, except protected ones', async (t) => {
  const names = [
    'X-SPINNAKER-TENANT',
    'X-SPINNAKER-USER',
    'X-SPINNAKER-ACCOUNTS',
    'X-Spinnaker-Token',
    'Authorization',
  ]
  const { url, asked } = await startTarget(t, { okHttpClient: { additionalHeaders: names } })
  await fetch(`${url}/networks`, {
    headers: Object.fromEntries(names.map((name) => [name, 'given'])),
  })
  const given = Object.entries(asked().headers).filter(([, value]) => value === 'given')
  assert.deepEqual(given, [['x-spinnaker-tenant', 'given']])
  assert.equal(asked().headers['x-spinnaker-user'], 'anonymous')
})
