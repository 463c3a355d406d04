import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { startGateway } from '../support/gateway.ts'
import { Reply, silence, startUpstream } from '../support/upstream.ts'

test('a passed-on answer keeps its bytes, large integers included', async (t) => {
  const body = '{"id": 12345678901234567890, "x":1.10 , "n":null}'
  const clouddriver = await startUpstream(t, { 'GET /networks': body })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const answer = await fetch(`${gateway}/networks`)
  assert.equal(answer.headers.get('content-type'), 'application/json')
  assert.equal(await answer.text(), body)
})

test('YAML is produced on demand, for answers and errors alike', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': '{"aws":[{"id":12345678901234567890}]}',
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const answer = await fetch(`${gateway}/networks`, { headers: { accept: 'application/x-yaml' } })
  assert.equal(answer.headers.get('content-type'), 'application/x-yaml')
  assert.equal(await answer.text(), 'aws:\n  - id: 12345678901234567890\n')
  const error = await fetch(`${gateway}/nothing/here`, {
    headers: { accept: 'application/x-yaml' },
  })
  assert.equal(error.status, 404)
  assert.match(await error.text(), /^type: about:blank$/m)
})

test('other requests are answered while a large document becomes YAML', async (t) => {
  const entries = Array.from({ length: 6_000 }, (_, index) => ({
    name: `net-${index}`,
    id: index,
    subnets: [1, 2, 3],
    text: 'a: "b" #c',
  }))
  const answers = {
    'GET /networks': { aws: entries },
    'GET /applications/web/loadBalancers': entries,
  }
  const clouddriver = await startUpstream(t, answers)
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  for (const [path, start] of [
    ['/networks', 'aws:\n  - name: net-0\n    id: 0\n'],
    ['/applications/web/loadBalancers', '- name: net-0\n  id: 0\n'],
  ] as const) {
    let others = 0
    let isOver = false
    const yaml = fetch(`${gateway}${path}`, { headers: { accept: 'application/x-yaml' } }).then(
      (answer) => {
        isOver = true
        return answer.text()
      },
    )
    while (!isOver) {
      assert.equal((await fetch(`${gateway}/version`)).status, 200)
      others++
    }
    const text = await yaml
    assert.ok(text.startsWith(start), text.slice(0, 100))
    assert.equal(text.match(/name: net-/g)?.length, 6_000)
    assert.ok(others > 40, `${others} other requests`)
  }
})

test('what is too large for YAML is 406, and sent as JSON', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': { aws: ['x'.repeat(17 * 1024 * 1024)] },
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const answer = await fetch(`${gateway}/networks`, { headers: { accept: 'application/x-yaml' } })
  assert.equal(answer.status, 406)
  assert.match(
    await answer.text(),
    /too large for YAML. Ask for JSON with "?\\?"?Accept: application\/json/,
  )
  assert.equal((await fetch(`${gateway}/networks`)).status, 200)
})

const accepts: [accept: string, status: number, type: string][] = [
  ['*', 200, 'application/json'],
  ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', 200, 'application/json'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 200, 'application/json'],
  ['application/json, text/plain, */*', 200, 'application/json'],
  ['application/vnd.some+json', 200, 'application/json'],
  ['APPLICATION/JSON;charset=utf-8', 200, 'application/json'],
  ['application/json;q=0.2, application/x-yaml', 200, 'application/x-yaml'],
  ['application/yaml, application/json;q=0.1', 200, 'application/yaml'],
  ['application/yaml, application/x-yaml', 200, 'application/x-yaml'],
  ['application/json;q=0, */*', 200, 'application/x-yaml'],
  ['*/*;q=0, application/json;q=0.1', 200, 'application/json'],
  ['*/*, application/x-yaml;q=0', 200, 'application/json'],
  ['*/*;q=0.1, application/x-yaml', 200, 'application/x-yaml'],
  ['application/json;q=0.1, application/*', 200, 'application/json'],
  ['*/*, application/*;q=0', 406, 'application/problem+json'],
  ['application/yaml', 200, 'application/yaml'],
  ['text/yaml', 406, 'application/problem+json'],
  ['text/html', 406, 'application/problem+json'],
  ['text/plain', 406, 'application/problem+json'],
  ['image/png', 406, 'application/problem+json'],
  ['nonsense', 406, 'application/problem+json'],
]

test('YAML quotes what readers of YAML 1.1 take for another type', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': { a: 'yes', b: '010', c: '12:30', d: 'plain' },
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const answer = await fetch(`${gateway}/networks`, { headers: { accept: 'application/x-yaml' } })
  assert.equal(await answer.text(), 'a: "yes"\nb: "010"\nc: "12:30"\nd: plain\n')
})

test('documents are JSON or YAML; other clients get 406', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': '{"aws":[]}',
    'PUT /artifacts/fetch': new Reply(200, 'PNG', { 'content-type': 'image/png' }),
  })
  const orca = await startUpstream(t, {
    'PUT /pipelines/1/cancel': '',
    'POST /ops': '{"ref":"/tasks/1"}',
  })
  const services = { clouddriver: { baseUrl: clouddriver.url }, orca: { baseUrl: orca.url } }
  const gateway = await startGateway(t, { services })
  for (const [accept, status, type] of accepts) {
    const answer = await fetch(`${gateway}/networks`, { headers: { accept } })
    await answer.text()
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [status, type], accept)
  }
  const post = (path: string, accept: string) =>
    fetch(gateway + path, {
      method: 'POST',
      body: '{"application":"a","job":[]}',
      headers: { accept },
    })
  const bytes = await fetch(`${gateway}/artifacts/fetch`, {
    method: 'PUT',
    body: '{"type":"http/file"}',
    headers: { accept: 'application/octet-stream', 'content-type': 'application/json' },
  })
  assert.deepEqual([bytes.status, await bytes.text()], [200, 'PNG'])
  const made = await post('/tasks', 'text/plain')
  assert.deepEqual([made.status, await made.json()], [200, { ref: '/tasks/1' }])
  const refused = await post('/tasks', 'image/png')
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { code: string }).code],
    [406, 'NOT_ACCEPTABLE'],
  )
  const nothing = await fetch(`${gateway}/pipelines/1/cancel`, {
    method: 'PUT',
    headers: { accept: 'image/png' },
  })
  assert.deepEqual([nothing.status, await nothing.text()], [200, ''])
})

test('large responses are compressed for gzip clients only', async (t) => {
  const body = JSON.stringify({
    names: Array.from({ length: 1000 }, (_, index) => `name-${index}`),
  })
  const clouddriver = await startUpstream(t, {
    'GET /networks': body,
    'GET /networks/aws': new Reply(200, '[]', { 'content-length': '2' }),
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const { get } = await import('node:http')
  const raw = (path: string, encoding: string) =>
    new Promise<{ encoding: string | undefined; bytes: Buffer }>((resolve) => {
      get(gateway + path, { headers: { 'accept-encoding': encoding } }, async (answer) => {
        const chunks: Buffer[] = []
        for await (const chunk of answer) chunks.push(chunk as Buffer)
        resolve({ encoding: answer.headers['content-encoding'], bytes: Buffer.concat(chunks) })
      })
    })
  const packed = await raw('/networks', 'gzip, deflate')
  assert.equal(packed.encoding, 'gzip')
  assert.equal(gunzipSync(packed.bytes).toString(), body)
  for (const refusing of ['identity', '*, gzip;q=0', 'br, *;q=0.5, gzip;q=0.0', '*;q=0']) {
    assert.equal((await raw('/networks', refusing)).encoding, undefined, refusing)
  }
  for (const accepting of ['*', '*;q=0, gzip', 'identity;q=0, br;q=1.0, GZIP;q=0.1']) {
    assert.equal((await raw('/networks', accepting)).encoding, 'gzip', accepting)
  }
  assert.deepEqual((await raw('/networks/aws', 'gzip')).encoding, undefined)
})

test('a response compressed unasked is unpacked', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': new Reply(200, gzipSync('{"aws":[]}'), { 'content-encoding': 'gzip' }),
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const answer = await fetch(`${gateway}/networks`, { headers: { 'accept-encoding': 'identity' } })
  assert.equal(answer.headers.get('content-encoding'), null)
  assert.deepEqual(await answer.json(), { aws: [] })
})

test('HEAD has the status and headers of GET and no body', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': '{"aws":[]}' })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const answer = await fetch(`${gateway}/networks`, { method: 'HEAD' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json')
  assert.equal(await answer.text(), '')
  const again = await fetch(`${gateway}/networks`)
  assert.deepEqual(await again.json(), { aws: [] })
})

const standard = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-xss-protection': '0',
  'cache-control': 'no-cache, no-store, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
}

test('every response has security headers and a request id', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  for (const path of ['/networks', '/health', '/nothing', '/applications']) {
    const answer = await fetch(gateway + path, {
      headers: { 'x-spinnaker-request-id': 'my-request' },
    })
    for (const [name, value] of Object.entries(standard))
      assert.equal(answer.headers.get(name), value, `${path} ${name}`)
    assert.equal(answer.headers.get('x-spinnaker-request-id'), 'my-request', path)
    assert.equal(answer.headers.get('strict-transport-security'), null)
  }
})

test('a passed-on answer has each header once, in a fixed order', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const names = async (headers: Record<string, string>) => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    get(`${gateway}/networks`, { headers }, resolve).on('error', reject)
    const answer = await promise
    answer.resume()
    return answer.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
  }
  const expected = [
    ...[
      'cache-control',
      'pragma',
      'expires',
      'x-content-type-options',
      'x-frame-options',
      'x-xss-protection',
    ],
    ...[
      'access-control-allow-origin',
      'access-control-allow-credentials',
      'access-control-allow-methods',
    ],
    ...[
      'access-control-allow-headers',
      'access-control-max-age',
      'access-control-expose-headers',
      'vary',
    ],
    ...[
      'x-spinnaker-request-id',
      'content-type',
      'date',
      'connection',
      'keep-alive',
      'transfer-encoding',
    ],
  ]
  assert.deepEqual(await names({}), expected)
  assert.deepEqual(await names({ origin: 'https://other.example' }), expected)
})

test('redirects are followed within a service only', async (t) => {
  const elsewhere = await startUpstream(t, { 'GET /stolen': '{"stolen":true}' })
  const clouddriver = await startUpstream(t, {
    'GET /networks': new Reply(302, undefined, { location: '/networks/all' }),
    'GET /networks/all': '{"followed":true}',
    'GET /instanceTypes': new Reply(302, undefined, { location: `${elsewhere.url}/stolen` }),
    'GET /credentials/prod': new Reply(302, undefined, { location: '/credentials/renamed' }),
    'GET /credentials/renamed': { name: 'renamed' },
    'GET /instances/prod/west/i-1': { name: 'i-1' },
    'GET /credentials/test': new Reply(302, undefined, { location: `${elsewhere.url}/stolen` }),
    'GET /credentials/circle': new Reply(302, undefined, { location: '/credentials/circle' }),
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  assert.deepEqual(await (await fetch(`${gateway}/networks`)).json(), { followed: true })
  const answer = await fetch(`${gateway}/instanceTypes`)
  assert.equal(answer.status, 502)
  assert.equal(
    ((await (await fetch(`${gateway}/instances/prod/west/i-1`)).json()) as { name: string }).name,
    'i-1',
  )
  for (const account of ['test', 'circle']) {
    assert.equal((await fetch(`${gateway}/instances/${account}/west/i-1`)).status, 502, account)
  }
  assert.deepEqual(elsewhere.requests, [])
})

test('a redirect is followed below the path of the service', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /infra/networks': new Reply(302, undefined, { location: '/infra/networks/all' }),
    'GET /infra/networks/all': '{"followed":true}',
    'GET /infra/instanceTypes': new Reply(302, undefined, { location: '/other/types' }),
  })
  const gateway = await startGateway(t, {
    services: { clouddriver: { baseUrl: `${clouddriver.url}/infra` } },
  })
  assert.deepEqual(await (await fetch(`${gateway}/networks`)).json(), { followed: true })
  assert.equal((await fetch(`${gateway}/instanceTypes`)).status, 502)
  assert.ok(clouddriver.requests.every(({ path }) => path.startsWith('/infra/')))
})

test('a service error keeps its status and hides its address', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': new Reply(418, '{"message":"no tea today"}'),
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const answer = await fetch(`${gateway}/networks`)
  assert.equal(answer.status, 418)
  const text = await answer.text()
  const body = JSON.parse(text) as Record<string, unknown>
  assert.equal(body['status'], 418)
  assert.equal(body['code'], 'UPSTREAM_FAILED')
  assert.deepEqual(body['upstream'], { service: 'clouddriver', status: 418 })
  assert.match(String(body['message']), /clouddriver answered 418: no tea today/)
  assert.match(String(body['timestamp']), /^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/)
  assert.equal(body['requestId'], answer.headers.get('x-spinnaker-request-id'))
  assert.ok(!text.includes('127.0.0.1'))
})

test('an unreachable service is 502, a slow one 504', async (t) => {
  const slow = await startUpstream(t, { 'GET /networks': silence })
  const gateway = await startGateway(t, {
    services: { clouddriver: { baseUrl: slow.url }, rosco: { baseUrl: 'http://127.0.0.1:1' } },
    okHttpClient: { readTimeoutMs: 3000 },
  })
  const dead = await fetch(`${gateway}/bakery/options/aws`)
  assert.equal(dead.status, 502)
  assert.equal(((await dead.json()) as { code: string }).code, 'UPSTREAM_UNREACHABLE')
  const late = await fetch(`${gateway}/networks`)
  assert.equal(late.status, 504)
  assert.equal(((await late.json()) as { code: string }).code, 'UPSTREAM_TIMEOUT')
})
