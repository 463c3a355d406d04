import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { permissionsBackend } from '../../../packages/engine/permissions/permissions.ts'
import type { View } from '../../../packages/engine/permissions/view.ts'
import type { ServiceAnswer } from '../../../packages/ports/service-call.ts'
import { startBackends } from '../../support/backends.ts'

const declared: Record<string, unknown> = {
  '/permissions/applications': [
    { name: 'open', permissions: {} },
    { name: 'App1', permissions: { READ: ['ops', 'dev'], WRITE: ['Ops'] } },
    { name: 'app2', permissions: { WRITE: ['dev'] } },
    { name: 'app3', permissions: { READ: ['ops'], EXECUTE: ['robots'] } },
  ],
  '/serviceAccounts': [
    { name: 'Bot', memberOf: ['ops', 'dev'] },
    { name: 'lonely', memberOf: [] },
  ],
  '/credentials': [
    { name: 'free' },
    { name: 'prod', permissions: { READ: ['ops'], WRITE: ['admins'] } },
    { name: 'old', requiredGroupMembership: ['OPS'] },
  ],
  '/buildServices': [],
}

async function startPermissions(
  t: TestContext,
  options: { dataDir?: string; front50?: ServiceAnswer } = {},
) {
  const backends = await startBackends(t, [permissionsBackend], {
    dataDir: options.dataDir,
    others: async (service, { path }) =>
      service === 'front50' && options.front50 !== undefined
        ? options.front50
        : { status: 200, body: declared[path] },
  })
  const ask = (method: string, path: string, body?: unknown) =>
    backends.ask('fiat', method, path, body)
  const viewOf = async (user: string) => (await ask('GET', `/authorize/${user}`)).body as View
  return { ask, viewOf, backends }
}

const all = ['READ', 'WRITE', 'EXECUTE', 'CREATE']

test("rights follow the login's roles; unrestricted resources are open", async (t) => {
  const { ask, viewOf } = await startPermissions(t)
  assert.deepEqual(await ask('PUT', '/roles/Ann', [' OPS ', 'ops', '']), {
    status: 200,
    body: undefined,
  })
  assert.deepEqual(await viewOf('ann'), {
    name: 'ann',
    accounts: [
      { name: 'free', authorizations: all },
      { name: 'prod', authorizations: ['READ'] },
      { name: 'old', authorizations: ['READ', 'WRITE'] },
    ],
    applications: [
      { name: 'open', authorizations: all },
      { name: 'App1', authorizations: ['READ', 'WRITE', 'EXECUTE'] },
      { name: 'app2', authorizations: [] },
      { name: 'app3', authorizations: ['READ'] },
    ],
    serviceAccounts: [],
    roles: [{ name: 'ops', source: 'EXTERNAL' }],
    buildServices: [],
    extensionResources: {},
    admin: false,
    accountManager: false,
    legacyFallback: false,
    allowAccessToUnknownApplications: true,
  })
})

test('a new login replaces the old roles', async (t) => {
  const { ask, viewOf } = await startPermissions(t)
  await ask('PUT', '/roles/ann', ['ops'])
  await ask('POST', '/roles/ann')
  const view = await viewOf('ann')
  assert.deepEqual(view.roles, [])
  assert.deepEqual(view.accounts, [{ name: 'free', authorizations: all }])
})

test('a member of an administrator role may do everything', async (t) => {
  const { ask, viewOf } = await startPermissions(t)
  await ask('PUT', '/roles/root', ['Admins'])
  const view = await viewOf('root')
  assert.equal(view.admin, true)
  assert.ok(
    [...view.applications, ...view.accounts].every(
      ({ authorizations }) => authorizations.length === 4,
    ),
  )
  assert.deepEqual(
    view.serviceAccounts.map(({ name }) => name),
    ['Bot', 'lonely'],
  )
  assert.equal((await ask('GET', '/authorize/root/applications/app3/WRITE')).status, 200)
})

test('nobody is known before the login and after the logout', async (t) => {
  const { ask } = await startPermissions(t)
  assert.equal((await ask('GET', '/authorize/ann')).status, 404)
  await ask('POST', '/roles/ann')
  assert.equal((await ask('GET', '/authorize/ANN')).status, 200)
  assert.equal((await ask('DELETE', '/roles/Ann')).status, 200)
  assert.equal((await ask('GET', '/authorize/ann')).status, 404)
  assert.equal((await ask('GET', '/authorize/ann/applications/open/READ')).status, 404)
  assert.equal((await ask('DELETE', '/roles/never-seen')).status, 200)
})

test('the anonymous user always exists and never has roles', async (t) => {
  const { ask, viewOf } = await startPermissions(t)
  assert.equal((await ask('PUT', '/roles/anonymous', ['admins'])).status, 400)
  assert.equal((await ask('POST', '/roles/anonymous')).status, 200)
  assert.equal((await ask('DELETE', '/roles/anonymous')).status, 200)
  const view = await viewOf('anonymous')
  assert.equal(view.admin, false)
  assert.deepEqual(view.accounts, [{ name: 'free', authorizations: all }])
})

test('a name with any characters is one path segment', async (t) => {
  const { ask, viewOf } = await startPermissions(t)
  const user = 'Ann@X.io/ü'
  await ask('PUT', `/roles/${encodeURIComponent(user)}`, ['ops'])
  assert.equal((await viewOf(encodeURIComponent(user))).name, 'ann@x.io/ü')
  assert.equal((await ask('PUT', '/roles/__proto__', ['ops'])).status, 200)
  assert.equal((await viewOf('__proto__')).name, '__proto__')
})

test('a service account has its roles and needs them', async (t) => {
  const { ask, viewOf } = await startPermissions(t)
  await ask('PUT', '/roles/ann', ['ops', 'dev'])
  await ask('PUT', '/roles/bob', ['ops'])
  assert.deepEqual((await viewOf('ann')).serviceAccounts, [
    { name: 'Bot', memberOf: ['ops', 'dev'] },
  ])
  assert.deepEqual((await viewOf('bob')).serviceAccounts, [])
  assert.deepEqual(
    (await viewOf('bot')).roles.map(({ name }) => name),
    ['ops', 'dev'],
  )

  const expanded = await ask('GET', '/authorize/ann/serviceAccounts?expand=true')
  const [bot] = expanded.body as View[]
  assert.equal(bot!.name, 'bot')
  assert.deepEqual(bot!.applications[2], { name: 'app2', authorizations: ['WRITE'] })
  assert.deepEqual((await ask('GET', '/authorize/ann/serviceAccounts')).body, [
    { name: 'Bot', memberOf: ['ops', 'dev'] },
  ])
})

/** Path below `/authorize/ann`, and the status; ann has the role ops. */
const decisions: [path: string, status: number][] = [
  ['/applications/app1/READ', 200],
  ['/APPLICATION/APP1/write', 200],
  ['/applications/app1/CREATE', 404],
  ['/applications/app2/WRITE', 404],
  ['/applications/app3/EXECUTE', 404],
  ['/applications/unheard-of/WRITE', 200],
  ['/accounts/PROD/READ', 200],
  ['/account/prod/WRITE', 404],
  ['/accounts/unheard-of/READ', 404],
  ['/service_accounts/bot/WRITE', 404],
  ['/roles/ops', 200],
  ['/applications/app3', 200],
  ['/applications/nope', 404],
  ['/planets/mars/READ', 400],
]

for (const [path, status] of decisions) {
  test(`GET /authorize/ann${path} is answered ${status}`, async (t) => {
    const { ask } = await startPermissions(t)
    await ask('PUT', '/roles/ann', ['ops'])
    assert.equal((await ask('GET', `/authorize/ann${path}`)).status, status)
  })
}

test('every known user may create applications, and nothing else', async (t) => {
  const { ask } = await startPermissions(t)
  await ask('POST', '/roles/ann')
  assert.equal(
    (await ask('POST', '/authorize/ann/applications/create', { name: 'new' })).status,
    200,
  )
  assert.equal((await ask('POST', '/authorize/ann/accounts/create', {})).status, 400)
  assert.equal((await ask('POST', '/authorize/bob/application/create', {})).status, 404)
})

test('a refresh says how many users it concerns', async (t) => {
  const { ask } = await startPermissions(t)
  await ask('PUT', '/roles/ann', ['qa'])
  await ask('POST', '/roles/bob')
  assert.deepEqual(await ask('POST', '/roles/sync', []), { status: 200, body: 4 })
  assert.deepEqual(await ask('POST', '/roles/sync'), { status: 200, body: 4 })
  assert.deepEqual(await ask('POST', '/roles/sync', ['QA', 'dev']), { status: 200, body: 2 })
  assert.deepEqual(await ask('POST', '/roles/sync', ['nobody-has-this']), { status: 200, body: 0 })
  assert.equal((await ask('POST', '/roles/sync/serviceAccount/bot', ['ops'])).status, 200)
})

test('roles that are no list of strings are rejected', async (t) => {
  const { ask, viewOf } = await startPermissions(t)
  await ask('PUT', '/roles/ann', ['ops'])
  for (const body of [{ ops: true }, ['ops', 7], 'ops', null]) {
    assert.equal((await ask('PUT', '/roles/ann', body)).status, 400)
  }
  assert.deepEqual((await viewOf('ann')).roles, [{ name: 'ops', source: 'EXTERNAL' }])
})

test('roles survive a restart', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-permissions-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const before = await startPermissions(t, { dataDir })
  await before.ask('PUT', '/roles/ann', ['ops'])
  await before.backends.stop()
  const after = await startPermissions(t, { dataDir })
  assert.deepEqual((await after.viewOf('ann')).roles, [{ name: 'ops', source: 'EXTERNAL' }])
})

test('unreadable definitions give no view', async (t) => {
  const { ask } = await startPermissions(t, { front50: { status: 500, body: {} } })
  await ask('POST', '/roles/ann')
  assert.equal((await ask('GET', '/authorize/ann')).status, 503)
})

test('a refresh of roles that no user has refreshes none', async (t) => {
  const { ask } = await startPermissions(t)
  for (let round = 0; round < 2; round++)
    assert.deepEqual(await ask('POST', '/roles/sync', ['nobodys']), { status: 200, body: 0 })
})
