/** Nobody reaches an operation without login unless its path is open, by whatever spelling or method. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import test from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { Browser } from './browser.ts'
import { basic, gatewayUrl, startGuarded, ui } from './support.ts'

const backends = ['clouddriver', 'echo', 'front50', 'igor', 'orca', 'rosco', 'keel'] as const

async function startBehind(
  t: test.TestContext,
  settings: Parameters<typeof startGuarded>[1] = {},
  answers = {},
) {
  const upstream = await startUpstream(t, answers)
  const services = Object.fromEntries(backends.map((name) => [name, { baseUrl: upstream.url }]))
  return { upstream, ...(await startGuarded(t, { ...settings, services })) }
}

/** What a service was asked on behalf of somebody, as opposed to what the gateway refreshes on its own. */
function askedFor(upstream: Upstream) {
  return [
    ...upstream.requests,
    ...upstream.background.filter(({ path }) => path.startsWith('/webhooks')),
  ].map(({ method, path }) => `${method} ${path}`)
}

test('auth-scenario 201: every other path leads to the login', async (t) => {
  const { open, upstream } = await startBehind(t)
  const paths = [
    '/',
    '/applications',
    '/credentials',
    '/env',
    '/metrics',
    '/health/readiness',
    '/webhooks/preconfigured',
    '/v3/api-docs',
    '/nosuchpath',
    '/version',
  ]
  for (const path of paths) {
    const answer = await open().visit(path)
    assert.deepEqual(
      [answer.status, answer.location, answer.text],
      [302, `${gatewayUrl}/login`, ''],
      path,
    )
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    for (const path of [
      '/tasks',
      '/pipelines',
      '/pipelines/start',
      '/credentials',
      '/auth/roles/sync',
      '/auth/redirect',
      '/nosuchpath',
      '/plugins/x',
    ]) {
      const answer = await open().visit(path, { method })
      assert.deepEqual(
        [answer.status, answer.location],
        [302, `${gatewayUrl}/login`],
        `${method} ${path}`,
      )
    }
  }
  assert.deepEqual(askedFor(upstream), [])
})

test('auth-scenario 200: open paths are never answered with the login', async (t) => {
  const { open } = await startBehind(t)
  for (const path of [
    '/health',
    '/auth/user',
    '/auth/loggedOut',
    '/favicon.ico',
    '/error',
    '/plugins/deck/plugin-manifest.json',
    '/managed/delivery-configs/schema',
  ]) {
    assert.ok(![302, 401, 403].includes((await open().visit(path)).status), path)
  }
  for (const path of [
    '/webhooks/git/x',
    '/notifications/callbacks/s',
    '/managed/notifications/callbacks/s',
  ]) {
    const answer = await open().visit(path, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    assert.ok(![302, 401, 403].includes(answer.status), path)
  }
})

test('auth-scenario 202: webhooks can be closed, and are then open to credentials', async (t) => {
  const { open, upstream } = await startBehind(
    t,
    { security: { basicform: { enabled: true }, webhooks: { defaultAuthEnabled: true } } },
    { 'POST /webhooks/git/x': {} },
  )
  const post = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
  assert.equal((await open().visit('/webhooks/git/x', post)).location, `${gatewayUrl}/login`)
  assert.deepEqual(askedFor(upstream), [])
  await open().visit('/webhooks/git/x', {
    ...post,
    headers: { ...post.headers, ...basic('admin', 'secret') },
  })
  assert.deepEqual(askedFor(upstream), ['POST /webhooks/git/x'])
})

test('auth-scenario 203: paths that resemble an open one lead to the login', async (t) => {
  const { open } = await startBehind(t)
  for (const path of [
    '/applications/favicon.ico',
    '/auth/user/x',
    '/auth/userx',
    '/AUTH/USER',
    '/healthz',
    '/%61uth/user',
    '/loginx',
    '/login/x',
  ]) {
    assert.equal((await open().visit(path)).location, `${gatewayUrl}/login`, path)
  }
})

/** Sends a request line as it is: fetch would tidy it up. */
function sendRaw(url: string, requestLine: string): Promise<number> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () =>
      socket.write(`${requestLine} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n\r\n`),
    )
    let answer = ''
    socket.setEncoding('latin1').on('data', (text) => {
      answer += text
    })
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])))
    socket.on('error', reject)
  })
}

test('auth-scenario 204: ambiguous paths are rejected first', async (t) => {
  const { url, upstream } = await startBehind(t)
  const paths = [
    '/plugins/deck/../../credentials',
    '/plugins/deck/%2e%2e/credentials',
    '/auth/user;/../credentials',
    '//credentials',
    '/health%2f..%2fcredentials',
    '/credentials%00',
    '/plugins\\deck',
    '/auth/user%2F',
    '/./credentials',
    '/webhooks/..%5ccredentials',
  ]
  for (const path of paths) assert.equal(await sendRaw(url, `GET ${path}`), 400, path)
  assert.deepEqual(askedFor(upstream), [])
})

test('auth-scenario 205: OPTIONS without login is answered and never executed', async (t) => {
  const { open, upstream } = await startBehind(t)
  for (const path of [
    '/pipelines/e1/evaluateExpression?expression=x',
    '/credentials',
    '/nosuchpath',
    '/auth/roles/sync',
  ]) {
    const preflight: Record<string, string> = {
      origin: 'https://deck.example.com',
      'access-control-request-method': 'POST',
    }
    for (const headers of [{}, preflight]) {
      const answer = await open().visit(path, { method: 'OPTIONS', headers })
      assert.ok(answer.status === 200 || answer.status === 204, `${path} ${answer.status}`)
      assert.equal(answer.text, '')
    }
  }
  assert.deepEqual(askedFor(upstream), [])
})

test('auth-scenario 207: HEAD without login leads to the login', async (t) => {
  const { open, upstream } = await startBehind(t)
  assert.equal(
    (await open().visit('/pipelines/e1/evaluateExpression?expression=x', { method: 'HEAD' }))
      .location,
    `${gatewayUrl}/login`,
  )
  assert.deepEqual(askedFor(upstream), [])
})

test('auth-scenario 208: a method override changes nothing', async (t) => {
  const { open } = await startBehind(t)
  assert.equal(
    (await open().visit('/credentials', { headers: { 'x-http-method-override': 'OPTIONS' } }))
      .status,
    302,
  )
  assert.equal((await open().visit('/credentials?_method=OPTIONS')).status, 302)
})

/** As Deck sends its calls; it looks for the login page at the end of the redirects. */
const webUi = {
  accept: 'application/json, text/plain, */*',
  'x-ratelimit-app': 'deck',
  origin: ui,
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
}

test('auth-scenario 209: pages and the web UI are redirected, programs get 401', async (t) => {
  const { open } = await startBehind(t)
  const redirected: Record<string, string>[] = [{}, { accept: 'text/html' }, webUi]
  for (const headers of redirected) {
    const answer = await open().visit('/applications', { headers })
    assert.deepEqual([answer.status, answer.location], [302, `${gatewayUrl}/login`])
  }
  const programs: Record<string, string>[] = [
    { accept: 'application/json' },
    { accept: '*/*' },
    { accept: '*/*', 'user-agent': 'curl/8.5.0' },
    { 'x-requested-with': 'XMLHttpRequest' },
    { 'sec-fetch-mode': 'cors' },
    { 'sec-fetch-dest': 'iframe' },
  ]
  for (const method of ['GET', 'POST', 'HEAD']) {
    for (const headers of programs) {
      const answer = await open().visit('/applications', { method, headers })
      assert.deepEqual([answer.status, answer.location, answer.cookies], [401, null, []])
      if (method !== 'HEAD')
        assert.equal((JSON.parse(answer.text) as { code: string }).code, 'LOGIN_REQUIRED')
    }
  }
})

test('a program learns how to log in, without a dialog', async (t) => {
  const { open } = await startBehind(t, { 'api-tokens': { enabled: true } })
  const challengeFor = async (headers: Record<string, string>) =>
    (await open().visit('/applications', { headers: { accept: '*/*', ...headers } })).headers.get(
      'www-authenticate',
    )
  assert.equal(
    await challengeFor({ 'sec-fetch-mode': '', 'user-agent': 'curl/8.5.0' }),
    'Bearer realm="Fairlead", Basic realm="Fairlead"',
  )
  const ofBrowsers: Record<string, string>[] = [
    { origin: ui },
    { 'x-requested-with': 'XMLHttpRequest' },
    { 'user-agent': 'Mozilla/5.0' },
  ]
  for (const headers of [
    { 'sec-fetch-mode': 'cors' },
    ...ofBrowsers.map((one) => ({ 'sec-fetch-mode': '', ...one })),
  ]) {
    assert.equal(await challengeFor(headers), 'Bearer realm="Fairlead"')
  }
  const form = await startBehind(t)
  const script = await form.open().visit('/applications', { headers: { 'sec-fetch-mode': 'cors' } })
  assert.equal(script.headers.get('www-authenticate'), 'Cookie realm="Fairlead"')
})

test('auth-scenario 192: a token in the query is nobody', async (t) => {
  const { open } = await startBehind(t)
  assert.equal((await open().visit('/credentials?access_token=T')).status, 302)
})

test('auth-scenario 211: a client that claims another identity is forwarded under its own', async (t) => {
  const { open, upstream } = await startBehind(t, {}, { 'GET /networks': {} })
  await open().visit('/networks', {
    headers: {
      ...basic('admin', 'secret'),
      'X-SPINNAKER-USER': 'root',
      'x-spinnaker-accounts': 'prod',
    },
  })
  const [request] = upstream.requests
  assert.equal(request?.headers['x-spinnaker-user'], 'admin')
  assert.equal(request?.headers['x-spinnaker-accounts'], undefined)
})

test('auth-scenario 214: an open webhook acts as anonymous', async (t) => {
  const { open, upstream } = await startBehind(t, {}, { 'POST /webhooks/git/x': {} })
  await open().visit('/webhooks/git/x', {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', 'X-SPINNAKER-USER': 'root' },
  })
  const sent = [...upstream.requests, ...upstream.background].find(
    ({ path }) => path === '/webhooks/git/x',
  )
  assert.ok(sent !== undefined)
  assert.deepEqual(
    [sent.headers['x-spinnaker-user'], sent.headers['x-spinnaker-accounts']],
    ['anonymous', undefined],
  )
})

test('auth-scenario 258: without login method everyone is anonymous', async (t) => {
  const url = await startGateway(t, {})
  const browser = new Browser(url)
  const user = (await browser.user()) as Record<string, unknown>
  assert.deepEqual(
    [user['username'], user['email'], user['roles'], user['isAdmin']],
    ['anonymous', 'anonymous', [], false],
  )
  const answer = await browser.visit('/credentials')
  assert.deepEqual([answer.status, answer.cookies], [200, []])
})

test('auth-scenario 259: anonymous redirects are checked, and no login page exists', async (t) => {
  const url = await startGateway(t, { services: { deck: { baseUrl: 'https://deck.example.com' } } })
  const browser = new Browser(url)
  assert.equal(
    (await browser.visit('/auth/redirect?to=https://deck.example.com/x')).location,
    'https://deck.example.com/x',
  )
  assert.equal((await browser.visit('/auth/redirect?to=https://evil.com')).status, 400)
  assert.equal((await browser.visit('/login')).status, 404)
  assert.equal((await browser.visit('/auth/roles/sync', { method: 'POST' })).status, 200)
})
