import assert from 'node:assert/strict'
import { request } from 'node:http'
import { PassThrough } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import { test } from 'node:test'
import { runGateway, startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'

/** Sends the path as it stands: `fetch` would tidy it. */
function rawGet(
  base: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; body: string; headers: Record<string, unknown> }> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString(), headers: answer.headers }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

const refused = [
  '//applications',
  '/applications//web',
  '/applications/./web',
  '/applications/../credentials',
  '/plugins/deck/../../credentials',
  '/auth/user;x/../credentials',
  '/applications;jsessionid=1',
  '/health%2f..%2fenv',
  '/applications/a%2Fb',
  '/applications/a%5Cb',
  '/applications/%2e%2e/x',
  '/applications/a%252Fb',
  '/applications/a%3Bb',
  '/applications/a%00b',
  '/applications/a%0d%0ab',
  '/applications/%ff',
  '/applications/%zz',
  '/applications/a\\b',
  '/applications/a[b]',
  '/applications/{application}',
  '/applications/a|b',
]

test('a path that could mean two things is refused with 400 before it reaches a service', async (t) => {
  const clouddriver = await startUpstream(t, {})
  const gateway = await startGateway(t, {
    services: { clouddriver: { baseUrl: clouddriver.url }, front50: { baseUrl: clouddriver.url } },
  })
  const before = clouddriver.requests.length
  for (const path of refused) {
    const answer = await rawGet(gateway, path)
    assert.equal(answer.status, 400, path)
    const body = JSON.parse(answer.body) as { code: string; message: string }
    assert.equal(body.code, 'PATH_REFUSED', path)
    assert.ok(body.message.length > 20, path)
  }
  const asked = clouddriver.requests
    .slice(before)
    .filter(
      ({ path }) =>
        !path.startsWith('/credentials') && !path.startsWith('/v2/applications') && !path.startsWith('/applications?'),
    )
  assert.deepEqual(asked, [])
})

/** Everything that a URL can carry in one segment, but for the forms refused above. */
const names = [
  'replicaSet web-abc',
  'a.b.c',
  'äöü',
  '日本語',
  'a+b',
  "it's",
  'a&b=c',
  '(x)',
  '~tilde',
  'a@b',
  'a:b',
  'a,b',
  '$',
  '!',
  '*',
  'a?b',
  'a#b',
  '__proto__',
  'constructor',
  '"quoted"',
  '<b>',
  '{x}',
  'a|b',
  '[0]',
  '^',
  '`',
]

for (const name of names) {
  test(`the name ${JSON.stringify(name)} reaches a service as one encoded segment`, async (t) => {
    const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
    const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })

    await fetch(`${gateway}/networks/${encodeURIComponent(name).replace(/'/g, '%27')}`)

    const asked = clouddriver.requests.map(({ path }) => path).filter((path) => path.startsWith('/networks/'))
    assert.equal(asked.length, 1)
    const [, , segment = '', ...more] = String(asked[0]).split('/')
    assert.deepEqual(more, [])
    assert.equal(decodeURIComponent(segment), name)
    assert.match(segment, /^[A-Za-z0-9.\-_*%]+$/)
  })
}

test('a trailing slash is removed, two are refused', async (t) => {
  const gateway = await startGateway(t, {})
  assert.equal((await rawGet(gateway, '/health/')).status, 200)
  assert.equal((await rawGet(gateway, '/health//')).status, 400)
})

test('an unknown path is a problem with status 404', async (t) => {
  const gateway = await startGateway(t, {})
  const answer = await fetch(`${gateway}/no/such/path`)
  assert.equal(answer.status, 404)
  assert.equal(answer.headers.get('content-type'), 'application/problem+json')
  const body = (await answer.json()) as Record<string, unknown>
  assert.equal(body['code'], 'NO_ROUTE')
  assert.equal(body['instance'], '/no/such/path')
  assert.equal(body['requestId'], answer.headers.get('x-spinnaker-request-id'))
})

test('a wrong method is a problem with status 405 and an Allow header', async (t) => {
  const gateway = await startGateway(t, {})
  const answer = await fetch(`${gateway}/tasks/1/cancel`, { method: 'DELETE' })
  assert.equal(answer.status, 405)
  assert.equal(answer.headers.get('content-type'), 'application/problem+json')
  assert.match(answer.headers.get('allow') ?? '', /PUT|POST/)
})

test('OPTIONS without a preflight tells the methods of a path and executes nothing', async (t) => {
  const orca = await startUpstream(t, {})
  const gateway = await startGateway(t, { services: { orca: { baseUrl: orca.url } } })
  const answer = await fetch(`${gateway}/tasks`, { method: 'OPTIONS' })
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('allow') ?? '', /PUT|POST/)
  assert.equal(await answer.text(), '')
  assert.deepEqual(orca.requests, [])
})

test('below a context path everything works as at the root, and outside of it nothing exists', async (t) => {
  const gateway = await startGateway(t, { server: { servlet: { 'context-path': '/gate' } } })
  assert.equal((await fetch(`${gateway}/health`)).status, 200)
  assert.ok(gateway.endsWith('/gate'))
  assert.equal((await fetch(`${gateway.slice(0, -5)}/health`)).status, 404)
  assert.equal((await fetch(`${gateway.slice(0, -5)}/gateway/health`)).status, 404)
})

test('headers that exceed the limit are refused with 431', async (t) => {
  const gateway = await startGateway(t, {})
  const answer = await rawGet(gateway, '/health', { 'x-large': 'a'.repeat(200_000) })
  assert.equal(answer.status, 431)
  assert.equal((JSON.parse(answer.body) as { code: string }).code, 'HEADERS_TOO_LARGE')
})

test('a request that does not arrive completely in time is answered with 408', async (t) => {
  const { gateway } = await runGateway(t, {})
  const connection = new PassThrough()
  gateway.server.server.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), connection)
  const [head = '', body = ''] = (await readText(connection)).split('\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 408 Request Timeout\r\n/)
  assert.match(head, /connection: close/)
  assert.equal((JSON.parse(body) as { code: string }).code, 'REQUEST_TIMEOUT')
})

test('a name in the path that is too long is refused with 400, and a long one is not', async (t) => {
  const front50 = await startUpstream(t, {})
  const gateway = await startGateway(t, { services: { front50: { baseUrl: front50.url } } })
  for (const [length, status] of [
    [8000, 404],
    [9000, 400],
  ] as const) {
    const answer = await rawGet(gateway, `/projects/${'x'.repeat(length)}`)
    assert.equal(answer.status, status, answer.body)
  }
})
