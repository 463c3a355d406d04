import assert from 'node:assert/strict'
import { METHODS, request } from 'node:http'
import { test } from 'node:test'
import { errorCodes } from 'fastify'
import { toErrorAnswer } from '../../packages/gateway/http/error-answer.ts'
import { runGateway, startGateway } from '../support/gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

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
        resolve({
          status: answer.statusCode ?? 0,
          body: Buffer.concat(chunks).toString(),
          headers: answer.headers,
        }),
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

test('an ambiguous path is rejected before any service', async (t) => {
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
    assert.equal(answer.headers['x-content-type-options'], 'nosniff', path)
  }
  const asked = clouddriver.requests
    .slice(before)
    .filter(
      ({ path }) =>
        !path.startsWith('/credentials') &&
        !path.startsWith('/v2/applications') &&
        !path.startsWith('/applications?'),
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
    const gateway = await startGateway(t, {
      services: { clouddriver: { baseUrl: clouddriver.url } },
    })

    await fetch(`${gateway}/networks/${encodeURIComponent(name).replace(/'/g, '%27')}`)

    const asked = clouddriver.requests
      .map(({ path }) => path)
      .filter((path) => path.startsWith('/networks/'))
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

test('a wrong method is 405 with an Allow header', async (t) => {
  const gateway = await startGateway(t, {})
  const answer = await fetch(`${gateway}/tasks/1/cancel`, { method: 'DELETE' })
  assert.equal(answer.status, 405)
  assert.equal(answer.headers.get('content-type'), 'application/problem+json')
  assert.match(answer.headers.get('allow') ?? '', /PUT|POST/)
})

const noBody: readonly [headers: string, body: string] = ['', '']
const bodies: readonly (typeof noBody)[] = [
  noBody,
  ['content-length: 2\r\n', '{}'],
  ['content-type: application/json\r\ncontent-length: 2\r\n', '{}'],
  ['content-type: ;;\r\ncontent-length: 2\r\n', '{}'],
  ['content-type: application/json\r\n', ''],
  ['transfer-encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'],
]

/** Whether some operation has the method; to all others, a login would make no difference. */
const isOffered = (method: string) => ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method)

for (const [user, authorization, statusOf] of [
  ['where everyone is anonymous', '', { known: 405, unknown: 404 }],
  ['of a stranger', '', { known: 401, unknown: 401 }],
  [
    'of a user',
    `authorization: Basic ${Buffer.from('kim:secret').toString('base64')}\r\n`,
    { known: 405, unknown: 404 },
  ],
] as const) {
  test(`every method ${user} gets an answer, whatever its body`, async (t) => {
    const gateway = await startGateway(t, {
      server: { servlet: { 'context-path': '/gate' } },
      ...(!user.includes('anonymous') && {
        spring: { security: { user: { name: 'kim', password: 'secret' } } },
      }),
    })
    const ask = async (method: string, path: string, [headers, body]: typeof noBody) => {
      const connection = await openRawConnection(t, gateway)
      const lines = `host: gate\r\naccept: application/json\r\n${authorization}${headers}`
      connection.send(`${method} ${path} HTTP/1.1\r\n${lines}\r\n${body}`)
      const answer = await connection.next({ toHead: method === 'HEAD' })
      connection.socket.destroy()
      return { ...answer, what: `${method} ${path} ${headers}: ${answer.status} ${answer.body}` }
    }
    for (const method of METHODS.filter((name) => !['GET', 'HEAD', 'OPTIONS'].includes(name))) {
      for (const body of bodies) {
        const { status, headers, what } = await ask(method, '/gate/networks', body)
        assert.equal(status, isOffered(method) ? statusOf.known : 405, what)
        if (status === 405) assert.match(headers['allow'] ?? '', /GET/, what)
      }
      if (method === 'CONNECT') continue
      const unknown = await ask(method, '/gate/no/such/path', noBody)
      assert.equal(unknown.status, isOffered(method) ? statusOf.unknown : 404, unknown.what)
      const beside = await ask(method, '/networks', noBody)
      assert.equal(beside.status, 404, beside.what)
    }
  })
}

test('paths that only Gate has are refused with the reason', async (t) => {
  const gateway = await startGateway(t, { server: { servlet: { 'context-path': '/gate' } } })
  const detailOf = async (path: string) => {
    const answer = await fetch(`${gateway}${path}`, { method: 'POST' })
    assert.equal(answer.status, 404)
    return ((await answer.json()) as { detail: string }).detail
  }
  assert.match(
    await detailOf('/mcp'),
    /does not offer the MCP server of Gate \(mcp\.server\.enabled\)/,
  )
  assert.match(
    await detailOf('/extensions/bulksave/x'),
    /spinnaker\.extensibility\.plugins.*forward to it with proxies/,
  )
  assert.match(await detailOf('/mcpx'), /^No operation has this path \(POST\)/)
})

test('a method that the router does not know is no failure', async (t) => {
  const { gateway, url } = await runGateway(t, {})
  gateway.server.server.prependListener('request', (request) => {
    request.method = 'BREW'
  })
  const answer = await rawGet(url, '/networks')
  assert.equal(answer.status, 404, answer.body)
  assert.equal((JSON.parse(answer.body) as { code: string }).code, 'NO_ROUTE')
})

test('framework errors of a request are no gateway failures', () => {
  const causes = Object.values(errorCodes).map((Cause) => new Cause('a', 'b', 'c'))
  // A mistake of the program alone.
  const requests = causes.filter(
    ({ statusCode = 500, code }) => statusCode < 500 && !/_INSTANCE_/.test(code),
  )
  assert.ok(requests.length > 8)
  for (const cause of requests) {
    const { status, body } = toErrorAnswer(cause, { requestId: 'id', path: '/networks' }, String)
    assert.ok(status >= 400 && status < 500, cause.code)
    assert.match(String(body['message']), /^[A-Z].{20,}\.$/, cause.code)
    assert.notEqual(body['message'], cause.message)
  }
})

test('OPTIONS lists the methods and executes nothing', async (t) => {
  const orca = await startUpstream(t, {})
  const gateway = await startGateway(t, { services: { orca: { baseUrl: orca.url } } })
  const answer = await fetch(`${gateway}/tasks`, { method: 'OPTIONS' })
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('allow') ?? '', /PUT|POST/)
  assert.equal(await answer.text(), '')
  assert.equal(answer.headers.get('content-type'), null)
  assert.deepEqual(orca.requests, [])
})

test('outside a context path only probes and scrapers are answered', async (t) => {
  const gateway = await startGateway(t, { server: { servlet: { 'context-path': '/gate' } } })
  assert.ok(gateway.endsWith('/gate'))
  const root = gateway.slice(0, -5)
  for (const path of [
    '/health',
    '/livez',
    '/readyz',
    '/readyz/',
    '/health?downstreamServices=true',
    '/spectator/metrics',
  ]) {
    for (const base of [gateway, root]) {
      assert.equal((await fetch(base + path)).status, 200, base + path)
      assert.equal((await fetch(base + path, { method: 'HEAD' })).status, 200, base + path)
    }
    assert.equal((await fetch(root + path, { method: 'POST' })).status, 405, path)
  }
  for (const path of [
    '/',
    '/version',
    '/metrics',
    '/health/readiness',
    '/READYZ',
    '/readyz/x',
    '/gateway/health',
    '/login',
  ]) {
    assert.equal((await fetch(root + path)).status, 404, path)
  }
  for (const path of ['//readyz', '/readyz//', '/readyz;a=1', '/x/../readyz', '/%72eadyz']) {
    assert.notEqual((await rawGet(root, path)).status, 200, path)
  }
})

const targets: [line: string, headers: string, status: number, says?: RegExp][] = [
  ['GET http://gate/health?a=1 HTTP/1.1', 'Host: gate', 200],
  ['GET HTTP://GATE:80/health HTTP/1.1', 'Host: gate', 200],
  ['GET https://gate:8443/health/ HTTP/1.1', 'Host: GATE:8443', 200],
  ['GET http://gate/health HTTP/1.0', 'X-Y: z', 200],
  ['GET http://gate//health HTTP/1.1', 'Host: gate', 400, /two slashes/],
  ['GET http://gate/no/such HTTP/1.1', 'Host: gate', 404],
  ['GET http://evil/health HTTP/1.1', 'Host: gate', 400, /different hosts/],
  ['GET http://gate:81/health HTTP/1.1', 'Host: gate', 400, /different hosts/],
  ['GET http://gate@evil/health HTTP/1.1', 'Host: gate', 400, /different hosts/],
  ['GET http:///health HTTP/1.1', 'Host: gate', 400],
  ['GET http://gate/health HTTP/1.1', 'Host:', 400, /different hosts/],
  ['GET /health HTTP/1.1', 'Host: gate\r\nHost: gate', 400, /more than one Host/],
  ['GET /health HTTP/1.1', 'Host: gate\r\nhOST: evil', 400, /more than one Host/],
  [
    'GET /health HTTP/1.1',
    'Host: gate\r\nAuthorization: Basic YTpi\r\nX-Y: z\r\nauthorization: Bearer x',
    400,
    /one Authorization/,
  ],
  [
    'GET /health HTTP/1.1',
    'Host: gate\r\nX-Spinnaker-Token: a\r\nX-SPINNAKER-TOKEN: a',
    400,
    /more than one X-SPINNAKER-TOKEN/,
  ],
  [
    'GET /health HTTP/1.1',
    'Host: gate\r\nAuthorization: Bearer x\r\nCookie: SESSION=a\r\nCookie: SESSION=b',
    200,
  ],
  ['GET /health HTTP/1.1', 'X-Y: z', 400, /no Host header/],
  ['GET /health HTTP/1.0', 'X-Y: z', 200],
  ['GET /health HTTP/1.1', 'Host:', 200],
  ['GET /health HTTP/2.0', 'Host: gate', 400, /not in HTTP\/1\.1/],
  [
    'GET /health HTTP/1.1',
    'Host: gate\r\nTransfer-Encoding: gzip, chunked',
    400,
    /only .*chunked.* is understood/,
  ],
  ['GET /health HTTP/1.1', 'Host: gate\r\nTransfer-Encoding: Chunked\r\n\r\n0', 200],
]

test('a request has one host, one credential of a kind, a known version and coding', async (t) => {
  const gateway = await startGateway(t, {})
  for (const [line, headers, status, says] of targets) {
    const connection = await openRawConnection(t, gateway)
    connection.send(`${line}\r\n${headers}\r\nConnection: close\r\n\r\n`)
    const answer = await connection.next()
    assert.equal(answer.status, status, `${line} ${headers}: ${answer.body}`)
    if (says !== undefined) assert.match(answer.body, says)
  }
})

test('an absolute target changes nothing about addresses that are derived', async (t) => {
  const gateway = await startGateway(t, { server: { servlet: { 'context-path': '/gate' } } })
  for (const target of ['/gate/auth/logout', 'http://gate.example:8084/gate/auth/logout']) {
    const connection = await openRawConnection(t, gateway)
    connection.send(`GET ${target} HTTP/1.1\r\nHost: gate.example:8084\r\n\r\n`)
    assert.equal(
      (await connection.next()).headers['location'],
      'http://gate.example:8084/gate/auth/loggedOut',
    )
  }
})

test('headers that exceed the limit are refused with 431', async (t) => {
  const gateway = await startGateway(t, {})
  const answer = await rawGet(gateway, '/health', { 'x-large': 'a'.repeat(200_000) })
  assert.equal(answer.status, 431)
  assert.equal((JSON.parse(answer.body) as { code: string }).code, 'HEADERS_TOO_LARGE')
})

test('a query of more than 1,000 parameters is rejected', async (t) => {
  const { url } = await runGateway(t, {})
  const { status } = await fetch(`${url}/version?${'a&'.repeat(999)}a`)
  assert.equal(status, 200)
  for (const path of ['/version', '/login', '/nothing']) {
    const answer = await fetch(`${url}${path}?${'a&'.repeat(1000)}a`)
    assert.equal(answer.status, 400, path)
    assert.match(await answer.text(), /more than 1000 parameters/)
  }
})

test('a rejected path is logged as sent, without an operation', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = (line: Record<string, unknown>) => line['msg'] === 'request' && lines.push(line)
  const gateway = await startGateway(
    t,
    { server: { servlet: { 'context-path': '/gate' } } },
    { log },
  )
  const rejected = [
    '/gate/applications/%zz/pipelines',
    '/gate/applications/%ff%ff/pipelines',
    '/gate/version//x',
    '/other/%zz',
  ]
  for (const path of rejected) await rawGet(gateway, `${path}?a=%zz`)
  await waitUntil(() => lines.length === rejected.length, 'each request to be logged')
  assert.deepEqual(
    lines.map(({ path, status, operation }) => [path, status, operation]),
    [
      ['/applications/%zz/pipelines', 400, undefined],
      ['/applications/%ff%ff/pipelines', 400, undefined],
      ['/version//x', 400, undefined],
      ['/other/%zz', 404, undefined],
    ],
  )
})

test('an overlong path value is rejected with 400', async (t) => {
  const front50 = await startUpstream(t, {})
  const statuses: unknown[] = []
  const log = (line: Record<string, unknown>) =>
    line['msg'] === 'request' && statuses.push(line['status'])
  const gateway = await startGateway(
    t,
    { services: { front50: { baseUrl: front50.url } } },
    { log },
  )
  for (const [length, status] of [
    [8000, 404],
    [9000, 400],
  ] as const) {
    const answer = await rawGet(gateway, `/projects/${'x'.repeat(length)}`)
    assert.equal(answer.status, status, answer.body)
  }
  assert.equal((await rawGet(gateway, '/projects/%zz')).status, 400)
  await waitUntil(() => statuses.length === 3, 'each request to be logged')
  assert.deepEqual(statuses, [404, 400, 400])
})
