/** The operations below /auth, with and without a permission service. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { GatewaySettings } from '../support/gateway.ts'
import { InTurn, Reply, startUpstream, type Upstream } from '../support/upstream.ts'
import { basic, gatewayUrl, startGuarded, startPath, ui } from './support.ts'

/** A view as the permission service gives it, for the user admin of the configuration file. */
function view(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'admin',
    admin: false,
    accounts: [],
    applications: [],
    serviceAccounts: [],
    roles: [],
    ...fields,
  }
}

async function startWithFiat(
  t: test.TestContext,
  answers: Record<string, unknown>,
  fiatSettings: Record<string, unknown> = {},
  settings: GatewaySettings = {},
) {
  const fiat = await startUpstream(t, answers)
  const services = {
    ...settings.services,
    fiat: { enabled: true, baseUrl: fiat.url, ...fiatSettings },
  }
  return { fiat, ...(await startGuarded(t, { ...settings, services })) }
}

function askedOf(fiat: Upstream): string[] {
  return [...fiat.background, ...fiat.requests].map(({ method, path }) => `${method} ${path}`)
}

const asAdmin = { headers: basic('admin', 'secret') }

function assertError(answer: { status: number; text: string }, status: number): void {
  const body = JSON.parse(answer.text) as Record<string, unknown>
  assert.equal(answer.status, status)
  assert.equal(body['status'], status)
  for (const field of ['error', 'timestamp']) assert.equal(typeof body[field], 'string')
  assert.equal(body['path'], undefined)
}

test('auth-scenario 15: the identity object has exactly the known fields', async (t) => {
  const { open } = await startGuarded(t, { 'api-tokens': { enabled: false } })
  const answer = await open().visit('/auth/user', asAdmin)
  assert.match(answer.headers.get('content-type') as string, /^application\/json/)
  assert.deepEqual(JSON.parse(answer.text), {
    username: 'admin',
    email: 'admin',
    firstName: null,
    lastName: null,
    roles: ['USER'],
    allowedAccounts: [],
    authorities: [{ authority: 'USER' }],
    enabled: true,
    accountNonExpired: true,
    accountNonLocked: true,
    credentialsNonExpired: true,
    isAdmin: false,
    canMintApiTokens: false,
  })
})

test('auth-scenario 16: roles and isAdmin are those of the permission service', async (t) => {
  const { open } = await startWithFiat(t, {
    'GET /authorize/admin': view({
      admin: true,
      roles: [{ name: 'r1', source: 'LDAP' }, { name: 'r2' }],
    }),
  })
  const user = JSON.parse((await open().visit('/auth/user', asAdmin)).text) as Record<
    string,
    unknown
  >
  assert.deepEqual(
    [user['roles'], user['isAdmin'], user['authorities']],
    [['r1', 'r2'], true, [{ authority: 'r1' }, { authority: 'r2' }]],
  )
})

test('auth-scenario 17: the raw user has the roles of the login', async (t) => {
  const { open } = await startWithFiat(t, {
    'GET /authorize/admin': view({ admin: true, roles: [{ name: 'r1' }] }),
  })
  const user = JSON.parse((await open().visit('/auth/rawUser', asAdmin)).text) as Record<
    string,
    unknown
  >
  assert.deepEqual(user['roles'], ['USER'])
  for (const field of ['isAdmin', 'attributes', 'claims', 'idToken', 'method', 'canMintApiTokens'])
    assert.ok(!(field in user), field)
})

test('auth-scenario 18: the raw user and service accounts need a login', async (t) => {
  const { open } = await startGuarded(t)
  for (const path of ['/auth/rawUser', '/auth/user/serviceAccounts'])
    assert.equal((await open().visit(path)).location, `${gatewayUrl}/login`)
})

test('auth-scenario 19: without permission service there are no service accounts', async (t) => {
  const { open } = await startGuarded(t)
  assert.equal((await open().visit('/auth/user/serviceAccounts', asAdmin)).text, '[]')
})

const accounts = view({
  serviceAccounts: [
    { name: 'sa1', memberOf: [] },
    { name: 'sa2', memberOf: ['x'] },
  ],
})
const expanded = [
  view({ name: 'sa1', applications: [{ name: 'App', authorizations: ['EXECUTE'] }] }),
  view({ name: 'sa2', applications: [{ name: 'App', authorizations: ['READ'] }] }),
]
const dotless = [view({ name: 'sa1', applications: [{ name: 'I', authorizations: ['EXECUTE'] }] })]
const expandedPath = 'GET /authorize/admin/serviceAccounts'

const serviceAccountCases: [number, string, string, unknown, string[], number][] = [
  [20, 'all of the user', '', expanded, ['sa1', 'sa2'], 0],
  [21, 'those that may use the application', '?application=app', expanded, ['sa1'], 1],
  [
    21,
    'those that may, whatever else the list holds',
    '?application=app',
    [null, view({ name: 3 }), ...expanded],
    ['sa1'],
    1,
  ],
  [
    21,
    'those that may use the application, in every spelling',
    '?application=%C4%B1%20',
    dotless,
    ['sa1'],
    1,
  ],
  [22, 'all of the user when none fits', '?application=zzz', expanded, ['sa1', 'sa2'], 1],
  [
    23,
    'all of the user when the expanded list fails three times',
    '?application=app',
    new Reply(500),
    ['sa1', 'sa2'],
    3,
  ],
  [
    23,
    'those that fit at the third try',
    '?application=app',
    new InTurn(new Reply(500), new Reply(500), expanded),
    ['sa1'],
    3,
  ],
  [
    22,
    'all of the user when there is no expanded list',
    '?application=app',
    new Reply(404),
    ['sa1', 'sa2'],
    1,
  ],
  [24, 'all of the user for a blank application', '?application=%20', expanded, ['sa1', 'sa2'], 0],
]
for (const [scenario, what, query, answer, expected, calls] of serviceAccountCases) {
  test(`auth-scenario ${scenario}: service accounts: ${what}`, async (t) => {
    const { open, fiat } = await startWithFiat(t, {
      'GET /authorize/admin': accounts,
      [expandedPath]: answer,
    })
    const list = await open().visit(`/auth/user/serviceAccounts${query}`, asAdmin)
    assert.deepEqual(JSON.parse(list.text), expected)
    assert.equal(askedOf(fiat).filter((call) => call === expandedPath).length, calls)
  })
}

test('auth-scenario 25: the farewell is JSON, a page or text', async (t) => {
  const { open } = await startGuarded(t)
  const bare = await open().visit('/auth/loggedOut', { headers: { accept: 'text/plain' } })
  assert.deepEqual(
    [bare.status, bare.headers.get('content-type')],
    [200, 'text/plain;charset=UTF-8'],
  )
  assert.ok(bare.text.length > 0 && !bare.text.startsWith('"'))
  const page = await open().visit('/auth/loggedOut', { headers: { accept: 'text/html' } })
  assert.match(page.text, /<a class="button" href="https:\/\/deck\.example\.com">/)
  for (const accept of ['*/*', '', 'application/json', 'application/json, text/plain, */*']) {
    const said = await open().visit('/auth/loggedOut', { headers: { accept } })
    assert.equal(said.headers.get('content-type'), 'application/json', accept)
    assert.equal(typeof JSON.parse(said.text), 'string')
  }
})

test('auth-scenario 26: whoever is no administrator may not have roles read again', async (t) => {
  const { open, fiat } = await startWithFiat(t, { 'GET /authorize/admin': view() })
  assertError(await open().ask('/auth/roles/sync', { method: 'POST', ...asAdmin }), 403)
  assert.ok(!askedOf(fiat).includes('POST /roles/sync'))
})

test('auth-scenario 27: an administrator has roles read again', async (t) => {
  const { open, fiat } = await startWithFiat(t, {
    'GET /authorize/admin': view({ admin: true }),
    'POST /roles/sync': new Reply(200, '7'),
  })
  const answer = await open().visit('/auth/roles/sync', { method: 'POST', ...asAdmin })
  assert.deepEqual([answer.status, answer.text], [200, ''])
  const call = [...fiat.background, ...fiat.requests].find(({ path }) => path === '/roles/sync')
  assert.deepEqual([call?.method, call?.body], ['POST', '[]'])
})

test('auth-scenario 28: the status of a failed synchronisation is passed on', async (t) => {
  const { open } = await startWithFiat(t, {
    'GET /authorize/admin': view({ admin: true }),
    'POST /roles/sync': new Reply(503, { message: 'nobody was synced' }),
  })
  assertError(await open().ask('/auth/roles/sync', { method: 'POST', ...asAdmin }), 503)
})

test('auth-scenario 29: having roles read again needs a login', async (t) => {
  const { open, fiat } = await startWithFiat(t, {})
  assert.equal(
    (await open().visit('/auth/roles/sync', { method: 'POST' })).location,
    `${gatewayUrl}/login`,
  )
  assert.deepEqual(askedOf(fiat), [])
})

test('auth-scenario 30: without permission service nobody is administrator', async (t) => {
  const { open } = await startGuarded(t)
  for (const path of ['/auth/roles/sync', '/auth/deleteSessionCache'])
    assertError(await open().ask(path, { method: 'POST', ...asAdmin }), 403)
})

test('auth-scenario 31: an administrator logs everybody out', async (t) => {
  const { open } = await startWithFiat(t, { 'GET /authorize/admin': view({ admin: true }) })
  const browsers = [open(), open(), open()]
  for (const browser of browsers) await browser.login('admin', 'secret')
  const answer = await browsers[0]?.visit('/auth/deleteSessionCache', { method: 'POST' })
  assert.deepEqual([answer?.status, answer?.text], [200, ''])
  for (const browser of browsers) assert.equal(await browser.user(), undefined)
})

test('auth-scenario 32: a redirect without target is refused', async (t) => {
  const { open } = await startGuarded(t)
  for (const query of ['', '?to=', '?x=1'])
    assert.equal((await open().visit(`/auth/redirect${query}`, asAdmin)).status, 400, query)
})

test('auth-scenario 50: a target given twice is refused, without a Location', async (t) => {
  const { open } = await startGuarded(t)
  for (const query of [`to=${ui}&to=https://evil.com`, `to=${ui}&to=`, `to=${ui}/&to=x`]) {
    const answer = await open().ask(`/auth/redirect?${query}`, asAdmin)
    assertError(answer, 400)
    assert.equal(answer.location, null)
    assert.ok(!answer.text.includes('evil.com'))
  }
})

test('auth-scenario 56: a forbidden target is rejected after the login', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  await browser.visit('/auth/redirect?to=https://evil.com')
  assert.equal(
    (await browser.login('admin', 'secret')).location,
    `${gatewayUrl}/auth/redirect?to=https://evil.com`,
  )
  assertError(await browser.ask('/auth/redirect?to=https://evil.com'), 400)
})

test('an address of the console survives the login', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  const start = '/auth/redirect?to=%2Fconsole%2Fapplications%2Fweb%3Fq%3Dx'
  await browser.visit(start)
  assert.equal((await browser.login('admin', 'secret')).location, gatewayUrl + start)
  assert.equal((await browser.visit(start)).location, '/console/applications/web?q=x')
})

test('auth-scenario 34: the root sends a logged-in browser to the web UI', async (t) => {
  const { open } = await startGuarded(t)
  assert.equal((await open().visit('/', asAdmin)).location, ui)
})

test('auth-scenario 239: a logout ends the session, clears the cookie and says farewell', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  await browser.login('admin', 'secret')
  const { session } = browser

  const logout = await browser.visit('/auth/logout')

  assert.deepEqual([logout.status, logout.location], [302, `${gatewayUrl}/auth/loggedOut`])
  assert.deepEqual(logout.cookies, [
    'SESSION=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/; Secure; HttpOnly',
  ])
  browser.plant('SESSION', session as string)
  assert.equal(await browser.user(), undefined)
  assert.equal((await browser.visit(startPath)).status, 302)
})

test('auth-scenario 240: a logout works with every method that clients use', async (t) => {
  const { open } = await startGuarded(t)
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const browser = open()
    await browser.login('admin', 'secret')
    assert.equal(
      (await browser.visit('/auth/logout', { method })).location,
      `${gatewayUrl}/auth/loggedOut`,
    )
    assert.equal(await browser.user(), undefined)
  }
})

test('auth-scenario 241: a logout without session tells the service nothing', async (t) => {
  const { open, fiat } = await startWithFiat(t, {})
  assert.equal((await open().visit('/auth/logout')).location, `${gatewayUrl}/auth/loggedOut`)
  assert.deepEqual(askedOf(fiat), [])
})

test('auth-scenario 242: a logout drops the permissions once', async (t) => {
  const { open, fiat } = await startWithFiat(t, {
    'GET /authorize/admin': view(),
    'DELETE /roles/admin': new Reply(200),
  })
  const browser = open()
  await browser.login('admin', 'secret')
  await browser.visit('/auth/logout')
  assert.equal(askedOf(fiat).filter((call) => call === 'DELETE /roles/admin').length, 1)
})

test('auth-scenario 243: with a permission service, a logout ends its own session only', async (t) => {
  const { open, fiat } = await startWithFiat(t, {
    'GET /authorize/admin': view(),
    'DELETE /roles/admin': new Reply(200),
  })
  const browsers = [open(), open()] as const
  for (const browser of browsers) await browser.login('admin', 'secret')
  await browsers[0].visit('/auth/logout')
  assert.equal(await browsers[0].user(), undefined)
  assert.equal((await browsers[1].user())?.['username'], 'admin')
  assert.ok(
    !askedOf(fiat).includes('DELETE /roles/admin'),
    'the permission service forgets a user with the last session',
  )
})

test('auth-scenario 244: without permission service, a logout ends one session only', async (t) => {
  const { open } = await startGuarded(t)
  const browsers = [open(), open()] as const
  for (const browser of browsers) await browser.login('admin', 'secret')
  await browsers[0].visit('/auth/logout')
  assert.equal((await browsers[1].user())?.['username'], 'admin')
})

test('auth-scenario 245: a logout succeeds although the permission service fails', async (t) => {
  const { open } = await startWithFiat(t, {
    'GET /authorize/admin': view(),
    'DELETE /roles/admin': new Reply(500),
  })
  const browser = open()
  await browser.login('admin', 'secret')
  assert.equal((await browser.visit('/auth/logout')).location, `${gatewayUrl}/auth/loggedOut`)
  assert.equal(await browser.user(), undefined)
})
