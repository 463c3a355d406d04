/** What the permission service means for logins, sessions and requests of a whole gateway. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { Browser } from '../login/browser.ts'
import { basic } from '../login/support.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { type Answers, Reply, startUpstream } from '../support/upstream.ts'

function view(fields: Record<string, unknown> = {}) {
  return {
    name: 'alice',
    admin: false,
    accounts: [],
    applications: [],
    serviceAccounts: [],
    roles: [],
    ...fields,
  }
}

const known: Answers = {
  'GET /authorize/alice': view({ roles: [{ name: 'fresh' }] }),
  'PUT /roles/alice': new Reply(200),
}
const quick = {
  retry: { initialBackoffMillis: 5, maxBackoffMillis: 20 },
  cache: { expiresAfterWriteSeconds: 0 },
}

/** A gateway with the users admin and alice (role dev) and a permission service. */
async function start(
  t: test.TestContext,
  answers: Answers,
  fiatSettings: Record<string, unknown> = {},
  settings: GatewaySettings = {},
) {
  const fiat = await startUpstream(t, answers)
  const services = {
    ...settings.services,
    fiat: { enabled: true, baseUrl: fiat.url, ...quick, ...fiatSettings },
  }
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password: 'correct horse' } },
    ...settings,
    services,
  })
  const users = openUsers(dataDir)
  await users.add('alice', 'battery staple', ['dev'])
  users.close()
  return {
    fiat,
    url,
    asked: () =>
      fiat.background.map(
        ({ method, path, body }) => `${method} ${path}${body === '' ? '' : ` ${body}`}`,
      ),
  }
}

async function logIn(url: string): Promise<Browser> {
  const browser = new Browser(url)
  const answer = await browser.login('alice', 'battery staple')
  assert.equal(answer.location, `${url}/`)
  return browser
}

test('auth-scenario 88: a stored user is reported before being looked up', async (t) => {
  const { url, asked } = await start(t, known)
  await logIn(url)
  assert.deepEqual(asked().slice(0, 2), ['PUT /roles/alice ["dev"]', 'GET /authorize/alice'])
})

test('auth-scenario 232: a forgotten user has to log in again', async (t) => {
  const { url, fiat } = await start(t, known)
  const browser = await logIn(url)
  assert.equal((await browser.visit('/credentials')).status, 200)
  fiat.answer({})
  assert.equal((await browser.visit('/credentials')).location, `${url}/login`)
  fiat.answer(known)
  assert.equal(await browser.user(), undefined)
})

test('auth-scenario 233: without the filter the session stays', async (t) => {
  const { url, fiat } = await start(
    t,
    known,
    {},
    { fiat: { 'session-filter': { enabled: false } } },
  )
  const browser = await logIn(url)
  fiat.answer({})
  assert.deepEqual((await browser.user())?.['roles'], ['dev'])
})

for (const [scenario, status] of [
  [234, 500],
  [238, 503],
] as const) {
  test(`auth-scenario ${scenario}: a service that answers ${status} keeps sessions`, async (t) => {
    const { url, fiat } = await start(t, known)
    const browser = await logIn(url)
    fiat.answer({ 'GET /authorize/alice': new Reply(status) })
    const refused = await browser.ask('/applications')
    assert.equal(refused.status, 503)
    assert.equal((JSON.parse(refused.text) as { code: string }).code, 'PERMISSIONS_UNAVAILABLE')
    assert.deepEqual((await browser.user())?.['roles'], ['dev'])
    fiat.answer(known)
    assert.equal((await browser.visit('/applications')).status, 200)
    assert.deepEqual((await browser.user())?.['roles'], ['fresh'])
  })
}

test('auth-scenario 235: with legacyFallback a dead permission service stops nobody', async (t) => {
  const { url, fiat } = await start(t, known, { legacyFallback: true })
  const browser = await logIn(url)
  fiat.answer({ 'GET /authorize/alice': new Reply(500) })
  for (const path of ['/applications', '/credentials', '/auth/user'])
    assert.equal((await browser.visit(path)).status, 200, path)
})

test('auth-scenario 160: nobody logs in while the permission service cannot be told', async (t) => {
  const { url } = await start(t, {})
  const browser = new Browser(url)
  const answer = await browser.login('alice', 'battery staple')
  assert.equal(answer.status, 503)
  assert.deepEqual(answer.cookies, [])
  assert.equal(await browser.user(), undefined)
})

test('a forgotten HTTP Basic user is reported again', async (t) => {
  const { url, fiat } = await start(t, known)
  const ask = () =>
    new Browser(url).visit('/credentials', { headers: basic('alice', 'battery staple') })
  assert.equal((await ask()).status, 200)
  let forgotten = true
  fiat.answer((request: { method: string }) => {
    if (request.method === 'PUT') forgotten = false
    return request.method === 'GET' && forgotten ? new Reply(404) : view()
  })
  assert.equal((await ask()).status, 200)
  assert.equal(forgotten, false)
})

test('auth-scenario 225: accounts are those with WRITE, as of the login', async (t) => {
  const accounts = [
    { name: 'a', authorizations: ['READ', 'WRITE'] },
    { name: 'b', authorizations: ['READ'] },
  ]
  const { url } = await start(t, { ...known, 'GET /authorize/alice': view({ accounts }) })
  assert.deepEqual((await (await logIn(url)).user())?.['allowedAccounts'], ['a'])
})

test('auth-scenario 210: services are told who asks and which accounts are allowed', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': {} })
  const accounts = ['a', 'b'].map((name) => ({ name, authorizations: ['WRITE'] }))
  const { url } = await start(
    t,
    { ...known, 'GET /authorize/alice': view({ accounts }) },
    {},
    { services: { clouddriver: { baseUrl: clouddriver.url } } },
  )
  const browser = await logIn(url)
  await browser.visit('/networks')
  const { headers } = clouddriver.requests[0] as { headers: Record<string, unknown> }
  assert.deepEqual([headers['x-spinnaker-user'], headers['x-spinnaker-accounts']], ['alice', 'a,b'])
})

test('auth-scenario 226: without permission service the roles of the login decide about accounts', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /credentials?expand=true': [
      { name: 'x' },
      { name: 'y', permissions: { WRITE: ['dev'] } },
      { name: 'z', requiredGroupMembership: ['Ops'] },
    ],
  })
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password: 'correct horse' } },
    services: { clouddriver: { baseUrl: clouddriver.url } },
  })
  const users = openUsers(dataDir)
  await users.add('alice', 'battery staple', ['DEV'])
  users.close()
  assert.deepEqual((await (await logIn(url)).user())?.['allowedAccounts'], ['x', 'y'])
})

test('the first administrator administers everything embedded', async (t) => {
  const { url } = await runGateway(
    t,
    { fairlead: { admin: { password: 'correct horse' } } },
    { embedded: true },
  )
  const browser = new Browser(url)
  assert.equal((await browser.login('admin', 'correct horse')).location, `${url}/`)
  const user = await browser.user()
  assert.deepEqual([user?.['username'], user?.['isAdmin']], ['admin', true])
  assert.equal((await browser.visit('/credentials')).status, 200)
})
