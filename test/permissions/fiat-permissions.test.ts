/** The client of the permission service against a service that answers, errs, stays silent or comes back. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { User } from '../../packages/gateway/http/request-state.ts'
import { Permissions } from '../../packages/gateway/permissions/fiat-permissions.ts'
import type { PermissionSettings } from '../../packages/gateway/permissions/settings.ts'
import { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'
import type { Authorization } from '../../packages/model/rights/permissions.ts'
import { isGranted } from '../../packages/model/rights/rights.ts'
import { createClock, silentLog } from '../sessions/support.ts'
import { type Answers, InTurn, Reply, startUpstream } from '../support/upstream.ts'

const settings: PermissionSettings = {
  enforcement: 'services',
  cacheMaxEntries: 3,
  cacheTtlMs: 20_000,
  lookupTimeoutMs: 5000,
  loginTimeoutMs: 5000,
  syncTimeoutMs: 5000,
  lastKnownForMs: 0,
  retry: { initialBackoffMs: 20, multiplier: 1.5, maxElapsedMs: 300 },
  enabled: true,
  legacyFallback: false,
  refreshable: true,
  sessionFilter: true,
  serviceAccountFilter: { enabled: true, matchAuthorizations: ['WRITE', 'EXECUTE'] },
}

function user(username: string, roles: string[] = []): User {
  return {
    username,
    email: null,
    firstName: null,
    lastName: null,
    roles,
    allowedAccounts: ['prod'],
    method: 'form',
  }
}

function view(name: string, fields: Record<string, unknown> = {}) {
  return {
    name,
    admin: false,
    accounts: [],
    applications: [],
    serviceAccounts: [],
    roles: [],
    ...fields,
  }
}

function createUpstreams(
  t: test.TestContext,
  baseUrl: string | undefined,
  readTimeoutMs = 5000,
): Upstreams {
  const upstreams = new Upstreams({
    services: baseUrl === undefined ? {} : { fiat: { kind: 'external', baseUrl } },
    bounds: { connectTimeoutMs: 1000, readTimeoutMs, maxConnections: 5, maxWaiting: 100 },
    keepAliveMs: 1000,
    maxAnswerBytes: 1_000_000,
  })
  t.after(() => upstreams.close())
  return upstreams
}

async function open(
  t: test.TestContext,
  answers: Answers,
  changed: Partial<PermissionSettings> = {},
  readTimeoutMs?: number,
) {
  const fiat = await startUpstream(t, answers)
  const clock = createClock()
  const permissions = new Permissions({
    settings: { ...settings, ...changed },
    upstreams: createUpstreams(t, fiat.url, readTimeoutMs),
    log: silentLog,
    now: clock.now,
  })
  t.after(() => permissions.close())
  return {
    fiat,
    clock,
    permissions,
    asked: () =>
      fiat.background.map(
        ({ method, path, body }) => `${method} ${path}${body === '' ? '' : ` ${body}`}`,
      ),
  }
}

const alice = user('alice', ['dev'])

async function mayOn(
  permissions: Permissions,
  application: string,
  authorization: Authorization,
): Promise<boolean> {
  const view = await permissions.loadView(alice)
  return view !== undefined && isGranted(view, 'application', application, authorization)
}

test('auth-scenario 227: a user is asked for once in twenty seconds', async (t) => {
  const { permissions, asked, clock } = await open(t, { 'GET /authorize/alice': view('alice') })
  for (let second = 0; second < 10; second++)
    assert.equal((await permissions.lookUp(alice)).kind, 'view')
  assert.equal(asked().length, 1)
  clock.nowMs += 20_001
  await permissions.lookUp(alice)
  assert.equal(asked().length, 2)
})

test('auth-scenario 228: a changed permission counts when the old answer has expired', async (t) => {
  const { permissions, fiat, clock } = await open(t, {
    'GET /authorize/alice': view('alice', {
      applications: [{ name: 'web', authorizations: ['READ'] }],
    }),
  })
  assert.equal(await mayOn(permissions, 'Web', 'READ'), true)
  fiat.answer({ 'GET /authorize/alice': view('alice') })
  assert.equal(await mayOn(permissions, 'Web', 'READ'), true)
  clock.nowMs += 21_000
  assert.equal(await mayOn(permissions, 'Web', 'READ'), false)
})

test('auth-scenario 229: a user id is one encoded segment of the path', async (t) => {
  const { permissions, asked } = await open(t, (request: { method: string }) =>
    request.method === 'GET' ? view('x') : new Reply(200),
  )
  const odd = user('Ann@X.io/ü')
  await permissions.reportLogin(odd)
  await permissions.lookUp(odd)
  await permissions.reportLogout(odd.username)
  assert.deepEqual(asked(), [
    'PUT /roles/Ann%40X.io%2F%C3%BC []',
    'GET /authorize/Ann%40X.io%2F%C3%BC',
    'DELETE /roles/Ann%40X.io%2F%C3%BC',
  ])
})

test('auth-scenario 230: login calls have their own address', async (t) => {
  const reads = await startUpstream(t, { 'GET /authorize/alice': view('alice') })
  const logins = await startUpstream(t, () => new Reply(200))
  const permissions = new Permissions({
    settings,
    upstreams: createUpstreams(t, reads.url),
    loginUpstreams: createUpstreams(t, logins.url),
    log: silentLog,
  })
  t.after(() => permissions.close())
  await permissions.reportLogin(alice)
  await permissions.viewOf(alice)
  await permissions.reportLogout('alice')
  await permissions.syncRoles()
  assert.deepEqual(
    logins.background.map(({ method }) => method),
    ['PUT', 'DELETE', 'POST'],
  )
  assert.deepEqual(
    reads.background.map(({ method }) => method),
    ['GET'],
  )
})

test('fifty questions about one user at once are one call', async (t) => {
  const { permissions, asked } = await open(t, { 'GET /authorize/alice': view('alice') })
  await Promise.all(Array.from({ length: 50 }, () => permissions.lookUp(alice)))
  assert.equal(asked().length, 1)
})

test('no more users are remembered than configured', async (t) => {
  const { permissions, asked } = await open(t, (request: { path: string }) => view(request.path))
  for (const name of ['a', 'b', 'c', 'd', 'a']) await permissions.lookUp(user(name))
  assert.equal(asked().length, 5)
  await permissions.lookUp(user('d'))
  assert.equal(asked().length, 5)
})

test('auth-scenario 232: an unknown user is reported without a retry', async (t) => {
  const { permissions, asked, fiat } = await open(t, {})
  assert.equal((await permissions.lookUp(alice)).kind, 'unknown')
  assert.equal(asked().length, 1)
  fiat.answer({ 'GET /authorize/alice': view('alice') })
  assert.equal((await permissions.lookUp(alice)).kind, 'view')
})

for (const [scenario, what, answer] of [
  [234, 'status 500', new Reply(500)],
  [238, 'status 503, its repository is empty,', new Reply(503, { message: 'empty' })],
] as const) {
  test(`auth-scenario ${scenario}: ${what} is repeated with growing pauses, and then nobody can say`, async (t) => {
    const { permissions, asked } = await open(t, { 'GET /authorize/alice': answer })
    assert.equal((await permissions.lookUp(alice)).kind, 'unavailable')
    assert.ok(asked().length > 1 && asked().length < 10, String(asked().length))
    assert.equal(await permissions.viewOf(alice), undefined)
    const unavailable = { code: 'PERMISSIONS_UNAVAILABLE', status: 503 }
    await assert.rejects(permissions.loadView(alice), unavailable)
    await assert.rejects(permissions.isAdmin(alice), unavailable)
  })
}

test('a passing failure is not noticed', async (t) => {
  const answers = {
    'GET /authorize/alice': new InTurn(
      new Reply(500),
      new Reply(502),
      view('alice', { admin: true }),
    ),
  }
  const { permissions } = await open(t, answers, {
    retry: { ...settings.retry, maxElapsedMs: 60_000 },
  })
  assert.equal(await permissions.isAdmin(alice), true)
})

test('a dead service gets one call per question', async (t) => {
  const { permissions, asked, fiat } = await open(t, { 'GET /authorize/alice': new Reply(500) })
  await permissions.lookUp(alice)
  const before = asked().length
  await permissions.lookUp(alice)
  assert.equal(asked().length, before + 1)
  fiat.answer({ 'GET /authorize/alice': view('alice') })
  assert.equal((await permissions.lookUp(alice)).kind, 'view')
})

test('auth-scenario 235: legacyFallback allows unknown applications for one request', async (t) => {
  const { permissions, fiat } = await open(
    t,
    { 'GET /authorize/alice': new Reply(500) },
    { legacyFallback: true },
  )
  assert.equal(await mayOn(permissions, 'web', 'WRITE'), true)
  assert.deepEqual((await permissions.viewOf(alice))?.accounts, [
    { name: 'prod', authorizations: [] },
  ])
  assert.equal(await permissions.isAdmin(alice), false)
  fiat.answer({ 'GET /authorize/alice': view('alice') })
  assert.equal(await mayOn(permissions, 'web', 'WRITE'), false)
})

test('auth-scenario 88: a login is reported with its roles', async (t) => {
  const { permissions, asked } = await open(t, () => new Reply(200))
  await permissions.reportLogin(user('alice', ['a', 'b']), { call: 'roles-if-any', attempts: 1 })
  await permissions.reportLogin(user('alice'), { call: 'roles-if-any', attempts: 1 })
  await permissions.reportLogin(user('alice'))
  assert.deepEqual(asked(), [
    'PUT /roles/alice ["a","b"]',
    'POST /roles/alice',
    'PUT /roles/alice []',
  ])
})

test('a login drops cached and pending permissions', async (t) => {
  const { permissions, fiat } = await open(t, {
    'GET /authorize/alice': view('alice'),
    'PUT /roles/alice': new Reply(200),
  })
  await permissions.viewOf(alice)
  const asking = permissions.viewOf(user('alice'))
  fiat.answer({
    'GET /authorize/alice': view('alice', { admin: true }),
    'PUT /roles/alice': new Reply(200),
  })
  await permissions.reportLogin(alice)
  await asking
  assert.equal(await permissions.isAdmin(alice), true)
})

test('auth-scenario 108: an unreported login is rejected without legacyFallback', async (t) => {
  const { permissions, asked } = await open(t, { 'PUT /roles/alice': new Reply(503) })
  await assert.rejects(permissions.reportLogin(alice), { code: 'LOGIN_UNAVAILABLE', status: 503 })
  assert.equal(asked().length, 1)
  const lenient = await open(t, { 'PUT /roles/alice': new Reply(503) }, { legacyFallback: true })
  await lenient.permissions.reportLogin(alice)
})

test('a login that a full disk prevents gives the reason', async (t) => {
  const { permissions } = await open(t, {
    'PUT /roles/alice': new Reply(507, { message: 'The disk is full.' }),
  })
  await assert.rejects(permissions.reportLogin(alice), {
    code: 'LOGIN_UNAVAILABLE',
    message: /its disk is full/,
  })
})

test('a logout that cannot be reported is no error', async (t) => {
  const { permissions } = await open(t, { 'DELETE /roles/alice': new Reply(500) })
  await permissions.reportLogout('alice')
})

test('without permission service every check allows', async (t) => {
  const permissions = new Permissions({
    settings,
    upstreams: createUpstreams(t, undefined),
    log: silentLog,
  })
  assert.equal(permissions.enabled, false)
  assert.equal(await permissions.isAdmin(alice), false)
  assert.equal(await permissions.viewOf(alice), undefined)
  assert.deepEqual(await permissions.serviceAccountsOf(alice), [])
  await permissions.reportLogin(alice)
  await permissions.reportLogout('alice')
  await permissions.syncRoles()
})
