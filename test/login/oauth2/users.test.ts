/** Who becomes which user: mapping, roles, requirements, service accounts, and what the permission service is told. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { toRoles } from '../../../packages/gateway/login/oauth2/to-user.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { startUpstream } from '../../support/upstream.ts'
import { assertRefused, currentSettings, logIn, olderSettings, startOAuth2 } from './support.ts'

const roleRows: [value: unknown, roles: string[]][] = [
  [
    ['a', 'b'],
    ['a', 'b'],
  ],
  ['a, b c', ['a', 'b', 'c']],
  [['["a","b"]'], ['a', 'b']],
  [['[broken'], []],
  [
    ['["admins"]', 'a'],
    ['["admins"]', 'a'],
  ],
  [String.raw`CN=x\, admins,OU=groups`, [String.raw`CN=x\, admins,OU=groups`]],
  [7, []],
  [undefined, []],
  [null, []],
  [{ a: 1 }, []],
  [
    [' a ', '', 'a', 5, null, ['x'], 'bad\nrole'],
    ['a', '5'],
  ],
]
for (const [value, roles] of roleRows) {
  test(`auth-scenario 87: the roles in ${JSON.stringify(value)} are ${JSON.stringify(roles)}`, () => {
    assert.deepEqual(toRoles(value), roles)
  })
}

test('auth-scenario 87: a mapped attribute brings the roles of the user', async (t) => {
  const provider = await startIdentityProvider(t)
  provider.person = { ...provider.person, groups: ['a', 'b'] }
  const browser = (
    await startOAuth2(t, olderSettings(provider, { userInfoMapping: { roles: 'groups' } }))
  ).open()

  await logIn(browser)

  const user = await browser.user()
  assert.deepEqual(user?.['roles'], ['a', 'b'])
  assert.deepEqual(user?.['authorities'], [{ authority: 'a' }, { authority: 'b' }])
})

test('roles are found within another attribute, as Keycloak writes them', async (t) => {
  const provider = await startIdentityProvider(t)
  provider.person = { ...provider.person, realm_access: { roles: ['dev'] } }
  const settings = currentSettings(provider, {
    beside: { userInfoMapping: { roles: 'realm_access.roles' } },
  })
  const browser = (await startOAuth2(t, settings)).open()

  await logIn(browser)

  assert.deepEqual((await browser.user())?.['roles'], ['dev'])
})

test('a missing user name is replaced by the e-mail', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = currentSettings(provider, {
    beside: { userInfoMapping: { username: 'absent', firstName: '' } },
  })
  const browser = (await startOAuth2(t, settings)).open()

  await logIn(browser)

  const { username, firstName, lastName } = (await browser.user()) ?? {}
  assert.deepEqual([username, firstName, lastName], ['a@x.io', null, 'B'])
})

test('a look-alike name is rejected and logged', async (t) => {
  const provider = await startIdentityProvider(t)
  const log: Record<string, unknown>[] = []
  const gateway = await startOAuth2(t, currentSettings(provider), { log: (line) => log.push(line) })
  for (const email of [
    '\u00a0a@x.io',
    'a@x.io\u200b',
    '\uff41@x.io',
    '\u212a@x.io',
    'anonymous',
    '__unrestricted_user__',
  ]) {
    provider.person = { ...provider.person, email }
    const browser = gateway.open()
    await assertRefused(browser, await logIn(browser))
    assert.match(
      String(log.findLast(({ msg }) => msg === 'a login was refused')?.['reason']),
      /the user name .* (U\+|is reserved)/,
    )
  }
})

for (const [roles, call] of [
  [[], { method: 'POST', body: '' }],
  [['a', 'b'], { method: 'PUT', body: '["a","b"]' }],
] as const) {
  test(`auth-scenario 88: the permission service learns ${roles.length} roles first`, async (t) => {
    const provider = await startIdentityProvider(t)
    provider.person = { ...provider.person, groups: roles }
    const view = {
      name: 'a@x.io',
      accounts: [{ name: 'prod', authorizations: ['WRITE'] }],
      applications: [],
      roles: [],
    }
    const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? view : {}))
    const settings = olderSettings(provider, { userInfoMapping: { roles: 'groups' } })
    const gateway = await startOAuth2(t, {
      ...settings,
      services: { fiat: { baseUrl: fiat.url, enabled: true } },
    })
    const browser = gateway.open()

    await logIn(browser)

    const calls = [...fiat.background, ...fiat.requests].filter(
      ({ path }) => path.includes('a%40x.io') || path.includes('a@x.io'),
    )
    assert.deepEqual({ method: calls[0]?.method, body: calls[0]?.body }, call)
    assert.match(calls[0]?.path ?? '', /^\/roles\//)
    assert.match(calls[1]?.path ?? '', /^\/authorize\//)
    assert.deepEqual((await browser.user())?.['allowedAccounts'], ['prod'])
  })
}

const required = { hd: 'x.io', team: '/dev.*/' }
const people: [name: string, person: Record<string, unknown>, admitted: boolean][] = [
  ['auth-scenario 89: everything fits', { hd: 'x.io', team: ['ops', 'devs'] }, true],
  ['a single value fits', { hd: 'x.io', team: 'dev' }, true],
  ['auth-scenario 90: a value in other letters', { hd: 'X.IO', team: 'dev' }, false],
  ['auth-scenario 90: an attribute is missing', { team: 'dev' }, false],
  ['auth-scenario 90: the pattern fits a part', { hd: 'x.io', team: 'xdev' }, false],
  ['auth-scenario 90: the value begins alike', { hd: 'x.io.evil', team: 'dev' }, false],
  ['the pattern meets a list of nothing', { hd: 'x.io', team: [] }, false],
  ['the value stands in another attribute', { hd: { hd: 'x.io' }, team: 'dev' }, false],
]
for (const [name, attributes, admitted] of people) {
  test(`requirements, ${name}: ${admitted ? 'let in' : 'refused'}`, async (t) => {
    const provider = await startIdentityProvider(t)
    provider.person = { ...provider.person, ...attributes }
    const browser = (
      await startOAuth2(t, olderSettings(provider, { userInfoRequirements: required }))
    ).open()

    const answer = await logIn(browser, { accept: 'text/html' })

    if (admitted) assert.equal(answer.status, 302, answer.text)
    else await assertRefused(browser, answer)
  })
}

test('auth-scenario 92: a service account needs no requirements', async (t) => {
  const provider = await startIdentityProvider(t)
  provider.person = { ...provider.person, client_email: 'Robot@x.io' }
  const front50 = await startUpstream(t, {
    'GET /serviceAccounts': [{ name: 'robot@X.io', memberOf: [] }],
  })
  const view = { name: 'a@x.io', accounts: [], applications: [], roles: [] }
  const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? view : {}))
  const gateway = await startOAuth2(t, {
    ...olderSettings(provider, { userInfoRequirements: { hd: 'x.io' } }),
    services: { fiat: { baseUrl: fiat.url, enabled: true }, front50: { baseUrl: front50.url } },
  })
  const browser = gateway.open()

  const robot = await logIn(browser)

  assert.equal(robot.status, 302, robot.text)
  assert.deepEqual(
    [...fiat.background, ...fiat.requests].filter(({ path }) => path.startsWith('/roles/')),
    [],
  )

  provider.person = { ...provider.person, client_email: 'other@x.io' }
  await assertRefused(gateway.open(), await logIn(gateway.open()))
})

test('auth-scenario 76: the session store holds no secret of the login', async (t) => {
  const provider = await startIdentityProvider(t)
  const gateway = await startOAuth2(t, currentSettings(provider))
  await logIn(gateway.open())
  await gateway.stop()

  const files = readdirSync(gateway.dataDir).filter((name) => name.startsWith('sessions.db'))
  const stored = files
    .map((name) => readFileSync(join(gateway.dataDir, name)).toString('latin1'))
    .join('\n')

  assert.ok(stored.includes('a@x.io'))
  for (const secret of ['access-token-1', 'refresh-token-1', 'eyJ', 's3cret', 'of-the-provider']) {
    assert.ok(!stored.includes(secret), secret)
  }
})
