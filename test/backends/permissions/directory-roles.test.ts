/** Roles from a directory, asked as Fiat asks one, with a real server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Client } from 'ldapts'
import { loadConfig } from '../../../packages/app/config/config.ts'
import { checkConfig } from '../../config/given.ts'
import { group, userDn } from '../../fixtures/directory-entries.ts'
import { type DirectoryServer, manager, root, startDirectory } from '../../support/directory.ts'
import { type ServiceOptions, startService, until } from './support.ts'

type LdapKeys = Record<string, unknown>

/** The settings as they come out of the configuration, so that the keys are those that an operator writes. */
async function permissionsFor(ldap: LdapKeys) {
  const settings = { auth: { 'group-membership': { service: 'ldap', ldap } } }
  const { config } = await loadConfig({
    settings,
    env: {},
    cwd: '/nowhere',
    homeDir: '/nowhere',
    systemDir: '/nowhere',
  })
  return config.backends.permissions
}

async function start(
  t: TestContext,
  ldap: LdapKeys | ((directory: DirectoryServer) => LdapKeys) = {},
  options: ServiceOptions = {},
) {
  const directory = await startDirectory(t)
  if (directory === undefined) return undefined
  const keys = typeof ldap === 'function' ? ldap(directory) : ldap
  const permissions = await permissionsFor({
    url: directory.url,
    groupSearchBase: 'ou=groups',
    ...keys,
  })
  return {
    directory,
    ...(await startService(t, {
      ...options,
      permissions: { ...permissions, ...options.permissions },
    })),
  }
}

const ways: [
  name: string,
  ldap: LdapKeys | ((directory: DirectoryServer) => LdapKeys),
  user: string,
  roles: string[],
][] = [
  [
    'by the pattern that Fiat has as default',
    {},
    'Alice',
    ['dev LDAP', 'role_ops LDAP', 'team, east LDAP'],
  ],
  [
    'by a search',
    { userSearchFilter: '(mail={0})' },
    'alice@example.org',
    ['dev LDAP', 'role_ops LDAP', 'team, east LDAP'],
  ],
  [
    'by a search below a base',
    { userSearchBase: 'ou=users', userSearchFilter: '(uid={0})' },
    'bob',
    ['dev LDAP', 'inner LDAP'],
  ],
  [
    'as a manager, over TLS',
    ({ secureUrl, caFile }) => ({
      url: secureUrl,
      caFile,
      managerDn: manager.dn,
      managerPassword: manager.password,
    }),
    'bob',
    ['dev LDAP', 'inner LDAP'],
  ],
  [
    'over StartTLS',
    ({ caFile }) => ({ startTls: true, caFile }),
    'bob',
    ['dev LDAP', 'inner LDAP'],
  ],
  [
    'along groups within groups',
    { nestedGroups: 'recursive' },
    'bob',
    ['circle LDAP', 'dev LDAP', 'inner LDAP', 'middle LDAP', 'outer LDAP'],
  ],
  [
    'by user name',
    { groupSearchBase: 'ou=posix', groupSearchFilter: '(memberUid={1})' },
    'alice',
    ['unix LDAP'],
  ],
  [
    'named by another attribute',
    { groupRoleAttributes: 'ou', groupSearchFilter: '(uniqueMember={0})' },
    'alice',
    [],
  ],
  ['where two entries match', { userSearchFilter: '(uid={0})' }, 'twin', []],
  ['for a name that looks like a filter', { userSearchFilter: '(uid={0})' }, '*', []],
  ['for a name that looks like the name of an entry', {}, 'alice,ou=users', []],
  ['for a user whom the directory does not know', {}, 'stranger', []],
]

for (const [name, ldap, user, roles] of ways) {
  test(`groups become roles ${name}`, async (t) => {
    const service = await start(t, ldap)
    if (service === undefined) return
    assert.equal((await service.ask('PUT', `/roles/${encodeURIComponent(user)}`, [])).status, 200)
    assert.deepEqual(await service.rolesOf(encodeURIComponent(user)), roles)
  })
}

test('a synchronisation keeps login roles and follows the directory', async (t) => {
  const service = await start(t)
  if (service === undefined) return
  const { ask, rolesOf } = service
  await ask('PUT', '/roles/bob', ['people', 'Dev'])
  assert.deepEqual(await rolesOf('bob'), ['dev LDAP', 'inner LDAP', 'people EXTERNAL'])
  await ask('PUT', '/roles/alice', ['people'])
  assert.deepEqual(await ask('POST', '/roles/sync', []), { status: 200, body: 2 })
  assert.deepEqual(await ask('POST', '/roles/sync', ['inner']), { status: 200, body: 1 })

  await removeGroup(service.directory, 'inner')
  assert.deepEqual(await ask('POST', '/roles/sync', ['inner']), { status: 200, body: 1 })
  assert.deepEqual(await rolesOf('bob'), ['dev LDAP', 'people EXTERNAL'])
})

test('a silent directory does not delay a login', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const permissions = await permissionsFor({
    url: `ldap://127.0.0.1:${port}/dc=example`,
    groupSearchBase: 'ou=groups',
  })
  const { ask, rolesOf } = await startService(t, { permissions })
  assert.equal((await ask('PUT', '/roles/bob', ['people'])).status, 200)
  assert.deepEqual(await rolesOf('bob'), ['people EXTERNAL'])
})

async function removeGroup({ url }: DirectoryServer, name: string): Promise<void> {
  const client = new Client({ url: url.replace(/\/[^/]*$/, '') })
  await client.bind(manager.dn, manager.password)
  await client.del(`cn=${name},ou=groups,${root}`)
  await client.unbind()
}

test('logins keep their last roles while the directory is silent', async (t) => {
  const service = await start(t)
  if (service === undefined) return
  const { directory, ask, rolesOf, lines } = service
  await ask('PUT', '/roles/bob', [])
  await directory.stop()

  assert.equal((await ask('PUT', '/roles/bob', ['people'])).status, 200)
  assert.deepEqual(await rolesOf('bob'), ['dev LDAP', 'inner LDAP', 'people EXTERNAL'])
  assert.equal((await ask('PUT', '/roles/alice', ['people'])).status, 200)
  assert.deepEqual(await rolesOf('alice'), ['people EXTERNAL'])
  const said = (part: string) => lines.filter(({ msg }) => String(msg).includes(part))
  assert.equal(said('the provider of roles cannot be asked').length, 1)
  assert.deepEqual(
    said('logs in with the roles that the provider gave last').map(({ user }) => user),
    ['bob', 'alice'],
  )
  await ask('POST', '/roles/sync', ['nobody-has-this'])
  const sync = await ask('POST', '/roles/sync')
  assert.equal(sync.status, 503)
  assert.match(
    (sync.body as { message: string }).message,
    /^Roles stay as they were: the directory does not say: /,
  )
  assert.equal(said('the provider of roles can be asked again').length, 0)
})

test('a returning directory updates roles without a login', async (t) => {
  const service = await start(t, {}, { permissions: { syncDelayMs: 20 } })
  if (service === undefined) return
  const { directory, ask, rolesOf, changes } = service
  await directory.stop()
  await ask('PUT', '/roles/alice', ['people'])
  const before = changes()
  await directory.start()
  await until(async () => changes() > before)
  assert.deepEqual(await rolesOf('alice'), [
    'dev LDAP',
    'people EXTERNAL',
    'role_ops LDAP',
    'team, east LDAP',
  ])
})

test('the next login does not wait for a silent directory', async (t) => {
  let now = Date.UTC(2026, 6, 1)
  const service = await start(t, {}, { now: () => now })
  if (service === undefined) return
  const { directory, ask, rolesOf } = service
  await directory.stop()
  await ask('PUT', '/roles/alice', [])
  await directory.start()
  await ask('PUT', '/roles/bob', [])
  assert.deepEqual(await rolesOf('bob'), [])
  now += 10_000
  await ask('PUT', '/roles/bob', [])
  assert.deepEqual(await rolesOf('bob'), ['dev LDAP', 'inner LDAP'])
})

test('hundreds of groups arrive page by page', async (t) => {
  const groups = Array.from({ length: 600 }, (_, index) => group(`g${index}`, [userDn('bob')]))
  const directory = await startDirectory(t, { ldif: groups.join('\n\n') })
  if (directory === undefined) return
  const keys = {
    url: directory.url,
    groupSearchBase: 'ou=groups',
    managerDn: manager.dn,
    managerPassword: manager.password,
  }
  const { ask, rolesOf } = await startService(t, { permissions: await permissionsFor(keys) })
  await ask('PUT', '/roles/bob', [])
  assert.equal((await rolesOf('bob')).length, 602)
})

test('the directory is searched for neither service accounts nor anonymous', async (t) => {
  const declared = { '/serviceAccounts': [{ name: 'alice', memberOf: ['robots'] }] }
  const service = await start(t, {}, { declared })
  if (service === undefined) return
  const { directory, ask, rolesOf } = service
  await ask('POST', '/roles/anonymous')
  await ask('POST', '/roles/sync')
  assert.deepEqual(await rolesOf('alice'), ['robots EXTERNAL'])
  assert.deepEqual(await rolesOf('anonymous'), [])
  assert.deepEqual(directory.asked('SRCH'), [])
})

const mistakes: [name: string, ldap: LdapKeys, said: RegExp][] = [
  [
    'no address',
    { groupSearchBase: 'ou=groups' },
    /auth\.group-membership\.ldap\.url: names no server/,
  ],
  [
    'no place of groups',
    { url: 'ldaps://a/dc=b' },
    /auth\.group-membership\.ldap\.groupSearchBase: is missing; set the place of groups/,
  ],
  [
    'a manager without password',
    { url: 'ldaps://a/dc=b', groupSearchBase: 'ou=g', managerDn: 'cn=m' },
    /auth\.group-membership\.ldap\.managerPassword: is needed with auth\.group-membership\.ldap\.managerDn/,
  ],
  [
    'a filter that is none',
    { url: 'ldaps://a/dc=b', groupSearchBase: 'ou=g', groupSearchFilter: '(&({0}))' },
    /auth\.group-membership\.ldap\.groupSearchFilter: /,
  ],
  [
    'a key that nobody knows',
    { url: 'ldaps://a/dc=b', groupSearchBase: 'ou=g', userSearchFilters: '(a={0})' },
    /userSearchFilter\b/,
  ],
]

for (const [name, ldap, said] of mistakes) {
  test(`${name} is told before anything starts`, async () => {
    const settings = { auth: { 'group-membership': { service: 'ldap', ldap } } }
    const { ok, text } = await checkConfig({
      settings,
      env: {},
      cwd: '/nowhere',
      homeDir: '/nowhere',
      systemDir: '/nowhere',
    })
    assert.equal(ok, false)
    assert.match(text, said)
  })
}
