/** The ways around the login that were found in other gateways and proxies: each class has a test that carries its name. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { createClock } from '../sessions/support.ts'
import { type GatewaySettings, startGateway } from '../support/gateway.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { openRawConnection, type RawAnswer } from '../support/raw-connection.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { Browser } from './browser.ts'
import { assertRefused, currentSettings, logIn, startOAuth2 } from './oauth2/support.ts'
import { formSettings, gatewayUrl, proxyHeaders, startGuarded, startPath, ui } from './support.ts'

const services = [
  'clouddriver',
  'echo',
  'fiat',
  'front50',
  'igor',
  'orca',
  'rosco',
  'keel',
] as const

interface Target {
  url: string
  upstream: Upstream
  /** One request as it is written here, byte by byte, in a connection of its own. */
  send(requestLine: string, headers?: readonly string[]): Promise<RawAnswer>
}

/** A gateway that guards services which answer everything. */
async function start(t: TestContext, settings: GatewaySettings = formSettings): Promise<Target> {
  const upstream = await startUpstream(t, () => ({}))
  const behind = Object.fromEntries(
    services.map((name) => [name, { enabled: name !== 'fiat', baseUrl: upstream.url }]),
  )
  const url = await startGateway(t, { ...settings, services: { deck: { baseUrl: ui }, ...behind } })
  return {
    url,
    upstream,
    send: async (requestLine, headers = []) => {
      const connection = await openRawConnection(t, url)
      connection.send(
        `${[`${requestLine} HTTP/1.1`, 'host: gate.test', ...headers].join('\r\n')}\r\n\r\n`,
      )
      const answer = await connection.next()
      connection.socket.destroy()
      return answer
    },
  }
}

/** Refused, or sent to the login: nothing that the caller asked for has happened. */
function assertShut({ status, headers, body }: RawAnswer, what: string): void {
  if (status === 302) assert.match(String(headers['location']), /^http:\/\/[\w.:]+\/login$/, what)
  else assert.ok([400, 401, 403, 404].includes(status), `${what}: ${status} ${body}`)
}

test('bypass by path normalisation: no spelling opens a protected path', async (t) => {
  const { send, upstream } = await start(t)
  const open = ['/health', '/auth/user', '/plugins/deck', '/webhooks/x', '/favicon.ico', '/login']
  const ways = [
    '/../',
    '/%2e%2e/',
    '/.%2e/',
    '/..%2f',
    '/..%5c',
    '/..;/',
    '/;/../',
    '%2f..%2f',
    '\\..\\',
    '/.//../',
    '/%252e%252e/',
  ]
  for (const path of open) {
    for (const way of ways) {
      for (const method of ['GET', 'POST']) {
        const line = `${method} ${path}${way}applications`
        const answer = await send(line)
        assert.ok(
          answer.status >= 300 && answer.status < 500,
          `${line}: ${answer.status} ${answer.body}`,
        )
        assertShut(answer, line)
      }
    }
  }
  const others = [
    '//applications',
    '/./applications',
    '/applications/.',
    '/applications%00',
    '/APPLICATIONS',
    '/applications/',
    '/%61pplications',
  ]
  for (const path of [
    ...others,
    'http://gate.test/applications',
    'http://evil.test/applications',
    '*',
    '/applications\t',
    '/health%0a',
  ]) {
    assertShut(await send(`GET ${path}`), path)
  }
  assert.deepEqual(upstream.requests, [])
})

test('bypass by query string: the query opens and closes nothing', async (t) => {
  const { send, upstream } = await start(t)
  for (const query of [
    '/health',
    'x=/auth/user',
    'x=/plugins/deck/y',
    '/../health',
    'login',
    'error',
    'code=x&state=y',
    'SAMLResponse=x',
    '/favicon.ico',
  ]) {
    assertShut(await send(`GET /applications?${query}`), query)
    assertShut(await send(`GET /credentials??${query}`), query)
  }
  assertShut(await send('GET /applications%3f/health'), 'encoded question mark')
  assert.equal((await send('GET /auth/user?path=/applications')).body, '')
  assert.deepEqual(upstream.requests, [])
})

const asIfElsewhere = [
  'X-Forwarded-Uri: /health',
  'X-Original-URL: /health',
  'X-Original-URI: /auth/user',
  'X-Rewrite-URL: /health',
  'X-Forwarded-Path: /health',
  'X-Forwarded-Prefix: /plugins/deck',
  'X-Forwarded-Method: OPTIONS',
  'X-HTTP-Method-Override: OPTIONS',
  'X-HTTP-Method: OPTIONS',
  'X-Method-Override: OPTIONS',
  'X-Forwarded-For: 127.0.0.1',
  'X-Real-IP: 127.0.0.1',
  'Forwarded: for=127.0.0.1;host=localhost;proto=https',
  'X-Auth-Request-User: admin',
  'X-Forwarded-User: admin',
  'X-Forwarded-Email: admin@example.com',
  'X-Forwarded-Access-Token: x',
  'Remote-User: admin',
  'X-SPINNAKER-USER: admin',
  'X-SSL-Client-Cert: x',
  'X-Goog-IAP-JWT-Assertion: x.y.z',
]

for (const [who, strategy] of [
  ['a stranger', 'none'],
  ['a trusted proxy', 'native'],
] as const) {
  test(`bypass by forged X-Forwarded headers: ${who} opens nothing`, async (t) => {
    const { send, upstream } = await start(t, {
      ...formSettings,
      server: { 'forward-headers-strategy': strategy },
    })
    for (const header of asIfElsewhere) {
      assert.equal((await send('GET /applications', [header])).status, 401, header)
      assert.equal((await send('GET /auth/user', [header])).body, '', header)
      assert.notEqual((await send('POST /tasks', [header])).status, 200, header)
    }
    assert.deepEqual(upstream.requests, [])
  })
}

test('bypass by forged X-Forwarded headers: redirect and cookie stay', async (t) => {
  const { send, url } = await start(t, { ...formSettings, server: {} })
  const forged = [
    'X-Forwarded-Host: evil.test',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Port: 8443',
    'X-Forwarded-Prefix: /evil',
  ]

  const { headers } = await send('GET /applications', ['Accept: text/html', ...forged])

  assert.equal(headers['location'], 'http://gate.test/login')
  assert.match(
    String(headers['set-cookie']),
    /^SESSION_TARGET=[\w-]+; Max-Age=3600; Path=\/; HttpOnly$/,
  )
  assert.ok(!url.includes('evil'))
})

test('bypass by _ for -: underscores make another header', async (t) => {
  const spellings = ['X_SPINNAKER_USER', 'X-SPINNAKER_USER', 'x_spinnaker-user', 'X_Spinnaker_User']
  const headerMode = await start(t, { header: { enabled: true } })
  for (const name of spellings) {
    assert.equal((await headerMode.send('GET /credentials', [`${name}: admin`])).status, 401, name)
    const { body } = await headerMode.send('GET /auth/rawUser', [
      'X-SPINNAKER-USER: alice',
      `${name}: admin`,
    ])
    assert.equal((JSON.parse(body) as { username: string }).username, 'alice', name)
  }
  await headerMode.send('GET /networks', [
    'X-SPINNAKER-USER: alice',
    ...spellings.map((name) => `${name}: admin`),
  ])
  const { headers } =
    headerMode.upstream.requests.at(-1) ?? assert.fail('the service was not asked')
  assert.equal(headers['x-spinnaker-user'], 'alice')
  assert.deepEqual(
    Object.entries(headers).filter(([, value]) => String(value).includes('admin')),
    [],
  )

  const native = await start(t, {
    ...formSettings,
    server: { 'forward-headers-strategy': 'native' },
  })
  const underscored = [
    'X_Forwarded_Host: evil.test',
    'X-Forwarded_Proto: https',
    'X_FORWARDED_PORT: 1',
  ]
  assert.equal(
    (await native.send('GET /credentials', ['Accept: text/html', ...underscored])).headers[
      'location'
    ],
    'http://gate.test/login',
  )
})

test('bypass by fragment: what stands behind a # hides nothing', async (t) => {
  const { send, upstream } = await start(t)
  for (const path of [
    '/applications#/health',
    '/health#/../applications',
    '/applications?x#/auth/user',
    '/applications%23/health',
    '/#/health',
  ]) {
    assertShut(await send(`GET ${path}`), path)
  }
  assert.deepEqual(upstream.requests, [])
})

const addresses = [
  'me@evil.example@x.io',
  '@x.io@evil.example@x.io',
  '"me@evil.example"@x.io',
  'me@x.io@evil.example',
  'me@x.io,@x.io',
]

for (const email of addresses) {
  test(`bypass by two @: ${email} belongs to no domain`, async (t) => {
    const provider = await startIdentityProvider(t)
    provider.person = { sub: 'subject-1', email }
    const userInfoRequirements = { email: String.raw`/.*@x\.io/` }
    for (const beside of [{ userInfoRequirements }, {}]) {
      const browser = (await startOAuth2(t, currentSettings(provider, { beside }))).open()
      await assertRefused(browser, await logIn(browser))
    }
  })
}

test('bypass by two @: other attributes do not satisfy requirements', async (t) => {
  const provider = await startIdentityProvider(t)
  provider.person = { sub: 'subject-1', email: 'me@evil.example', upn: 'me@evil.example@x.io' }
  const beside = { userInfoRequirements: { upn: String.raw`/.*@x\.io/` } }
  const browser = (await startOAuth2(t, currentSettings(provider, { beside }))).open()
  await assertRefused(browser, await logIn(browser))

  provider.person = { sub: 'subject-1', email: 'me@evil.example', upn: 'me@x.io' }
  assert.equal((await logIn(browser)).status, 302)
})

test('bypass by a stale cookie: an earlier session stays invalid', async (t) => {
  const view = (name: string) => ({
    name,
    admin: false,
    accounts: [],
    applications: [],
    serviceAccounts: [],
    roles: [],
  })
  const fiat = await startUpstream(t, {
    'GET /authorize/admin': view('admin'),
    'POST /roles/admin': {},
    'PUT /roles/admin': {},
  })
  const clock = createClock()
  const options = { now: clock.now }
  const { open } = await startGuarded(
    t,
    { services: { fiat: { enabled: true, baseUrl: fiat.url } } },
    options,
  )
  const browser = open()
  await browser.login('admin', 'secret')
  const former = browser.session ?? ''
  assert.equal((await browser.visit('/auth/rawUser')).status, 200)

  fiat.answer({})
  clock.nowMs += 21_000
  assert.equal((await browser.visit('/auth/rawUser')).location, `${gatewayUrl}/login`)
  assert.equal((await browser.visit('/login')).status, 200)
  fiat.answer({ 'GET /authorize/admin': view('admin') })
  clock.nowMs += 21_000

  const thief = open()
  thief.plant('SESSION', former)
  assert.equal(await thief.user(), undefined)
  assert.equal((await thief.visit('/auth/rawUser')).status, 302)
})

test('bypass by a stale cookie: invalid sessions are not revived', async (t) => {
  const clock = createClock()
  const { open } = await startGuarded(t, {}, { now: clock.now })
  const browser = open()
  await browser.login('admin', 'secret')
  const former = browser.session ?? ''
  clock.nowMs += 3 * 3_600_000

  for (const session of [former, 'A'.repeat(43), '', 'x'.repeat(5000), '../../etc/passwd', '%00']) {
    const visitor = open()
    visitor.plant('SESSION', session)
    assert.equal((await visitor.visit('/login')).status, 200)
    const sent = await visitor.visit(startPath)
    assert.equal(
      sent.location,
      `${gatewayUrl}/login${/^[\w-]{43}$/.test(session) ? '?expired' : ''}`,
    )
    assert.ok(sent.cookies.every((cookie) => !cookie.startsWith('SESSION=')))
    assert.equal(await visitor.user(), undefined)
    const again = open()
    again.plant('SESSION', session)
    assert.equal(await again.user(), undefined)
  }
})

test('bypass by /\\ redirects: no other host is reached', async (t) => {
  const { open, url } = await startGuarded(t)
  const elsewhere = [
    '/\\evil.com',
    '\\/evil.com',
    '/\t/evil.com',
    '//evil.com',
    '/%5cevil.com',
    '/%09/evil.com',
    '/%2f/evil.com',
    '/.//evil.com',
  ]
  for (const path of elsewhere) {
    const browser = new Browser(url, proxyHeaders)
    assert.equal(
      (await browser.visit(`/auth/redirect?to=${encodeURIComponent(path)}`)).location,
      `${gatewayUrl}/login`,
    )
    const { location } = await browser.login('admin', 'secret')
    assert.equal(location, `${gatewayUrl}/auth/redirect?to=${encodeURIComponent(path)}`)
    const end = await browser.visit((location ?? '').slice(gatewayUrl.length))
    assert.deepEqual([end.status, end.location], [400, null], path)
  }

  const connection = await openRawConnection(t, url)
  for (const path of [
    '/\\evil.com',
    '//evil.com',
    '/%5cevil.com',
    '/%09/evil.com',
    '/.//evil.com',
    'http://evil.com/applications',
  ]) {
    connection.send(`GET ${path} HTTP/1.1\r\nhost: gate.example.com\r\n\r\n`)
    const { status, headers } = await connection.next()
    assert.ok(
      [400, 404].includes(status) || headers['location'] === 'http://gate.example.com/login',
      `${path}: ${status} ${headers['location']}`,
    )
    const browser = open()
    browser.plant('SESSION', /SESSION=([^;]+)/.exec(headers['set-cookie'] ?? '')?.[1] ?? '')
    const login = await browser.login('admin', 'secret')
    assert.equal(new URL(login.location ?? '').origin, gatewayUrl, path)
  }
})

test('bypass by /\\ redirects: foreign redirect fields are ignored', async (t) => {
  const { open } = await startGuarded(t)
  for (const name of ['rd', 'redirect', 'next', 'returnTo', 'continue', 'RelayState', 'to']) {
    const browser = open()
    const body = new URLSearchParams({
      username: 'admin',
      password: 'secret',
      [name]: '/\\evil.com',
    })
    const answer = await browser.visit(`/login?${name}=//evil.com`, {
      method: 'POST',
      body,
      headers: { 'x-auth-request-redirect': '//evil.com' },
    })
    assert.equal(answer.location, `${gatewayUrl}/`, name)
  }
})
