/** What a configuration may say about the directory: every mistake is found before anything starts. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { loadConfig } from '../../../packages/app/config/config.ts'
import { formMethod } from '../../../packages/gateway/login/form/method.ts'
import { ldapMethod } from '../../../packages/gateway/login/ldap/method.ts'
import { methodSettingsOf } from '../../../packages/gateway/login/settings.ts'
import { checkConfig } from '../../config/given.ts'
import { keyPairOf } from '../../support/self-signed.ts'

function places(t: TestContext, ldap: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-ldap-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gate.yml')
  writeFileSync(file, JSON.stringify({ ldap: { enabled: true, ...ldap }, ...more }))
  return { cwd: folder, env: {}, homeDir: folder, systemDir: folder, files: [file], folder }
}

const good = {
  url: 'ldaps://directory.example/dc=example,dc=org',
  userDnPattern: 'uid={0},ou=users',
}

test('addresses, names and bases are put together', async (t) => {
  const { config } = await loadConfig(
    places(t, {
      url: 'ldaps://one.example/dc=example,dc=org  ldap://two.example:1389/DC=example,DC=org ldaps://[::1]:1636/dc=example,dc=org',
      userDnPattern: 'uid={0},ou=users',
      userSearchFilter: '(mail={0})',
      groupSearchBase: '',
      managerDn: 'cn=admin',
      managerPassword: 'word',
      connectTimeout: '2s',
    }),
  )
  const ldap = methodSettingsOf(config.login, ldapMethod)
  assert.deepEqual(
    ldap?.servers.map(({ host, port, secure, url }) => ({ host, port, secure, url })),
    [
      { host: 'one.example', port: 636, secure: true, url: 'ldaps://one.example:636' },
      { host: 'two.example', port: 1389, secure: false, url: 'ldap://two.example:1389' },
      { host: '::1', port: 1636, secure: true, url: 'ldaps://[::1]:1636' },
    ],
  )
  assert.equal(ldap?.userDnPattern, 'uid={0},ou=users,dc=example,dc=org')
  assert.deepEqual(ldap?.userSearch, { base: 'dc=example,dc=org', filter: '(mail={0})' })
  assert.equal(ldap?.groupSearch?.base, 'dc=example,dc=org')
  assert.deepEqual([ldap?.connectTimeoutMs, ldap?.readTimeoutMs], [2000, 10_000])
  assert.deepEqual(
    [methodSettingsOf(config.login, formMethod), config.login.anonymous],
    [undefined, false],
  )
})

test('a timeout of 0 is a minute, as logins have to end', async (t) => {
  const { config } = await loadConfig(
    places(t, { ...good, connectTimeout: '0', readTimeout: '0s' }),
  )
  const ldap = methodSettingsOf(config.login, ldapMethod)
  assert.deepEqual([ldap?.connectTimeoutMs, ldap?.readTimeoutMs], [60_000, 60_000])
})

test('a root with blanks is written as in an address', async (t) => {
  const { config } = await loadConfig(
    places(t, { ...good, url: 'ldaps://one.example/o=Big%20Company,c=DE' }),
  )
  assert.equal(
    methodSettingsOf(config.login, ldapMethod)?.userDnPattern,
    'uid={0},ou=users,o=Big Company,c=DE',
  )
})

const mistakes: [
  name: string,
  ldap: Record<string, unknown>,
  more: Record<string, unknown>,
  said: RegExp[],
][] = [
  [
    'auth-scenario 161: a manager without password',
    { ...good, managerDn: 'cn=a' },
    {},
    [/ldap\.managerPassword: is needed/],
  ],
  [
    'auth-scenario 262: no address',
    { userDnPattern: 'uid={0}' },
    {},
    [/ldap\.url: names no server/],
  ],
  [
    'an address of the web',
    { ...good, url: 'https://directory.example/' },
    {},
    [/ldap\.url: must be addresses such as/],
  ],
  [
    'credentials in the address',
    { ...good, url: 'ldap://u:p@directory.example/' },
    {},
    [/ldap\.url: must be addresses such as/],
  ],
  [
    'two roots',
    { ...good, url: 'ldaps://a/dc=one ldaps://b/dc=two' },
    {},
    [/ldap\.url: .* same root/],
  ],
  [
    'nothing that says where users are',
    { url: good.url },
    {},
    [/ldap\.userDnPattern: is missing; set the place of users/],
  ],
  [
    'a pattern without place',
    { ...good, userDnPattern: 'uid=,ou=users' },
    {},
    [/ldap\.userDnPattern: must be the name/],
  ],
  [
    'a filter without place',
    { url: good.url, userSearchFilter: '(uid=x)' },
    {},
    [/ldap\.userSearchFilter: must contain \{0\}/],
  ],
  [
    'a filter that is not closed',
    { url: good.url, userSearchFilter: '(&(uid={0})' },
    {},
    [/userSearchFilter: the brackets/],
  ],
  ['TLS twice', { ...good, startTls: true }, {}, [/ldap\.startTls: an address with ldaps/]],
  [
    'a missing file of authorities',
    { ...good, caFile: '/nowhere/ca.pem' },
    {},
    [/ldap\.caFile: the file .* does not exist; correct the path/],
  ],
  [
    'an unknown key',
    { ...good, userSearchFilters: 'x' },
    {},
    [/ldap\.userSearchFilters.*userSearchFilter/s],
  ],
  [
    'an unknown kind of nesting',
    { ...good, nestedGroups: 'deep' },
    {},
    [/ldap\.nestedGroups: must be/],
  ],
  [
    'the switch of installers',
    { enabled: false },
    { security: { authn: { ldap: { enabled: true } } } },
    [/Gate reads ldap\.enabled/],
  ],
  [
    'auth-scenario 260: the form besides',
    good,
    { security: { basicform: { enabled: true } } },
    [/only one way to log in .* LDAP \(ldap\.enabled\) and form \(security\.basicform\.enabled\)/],
  ],
  [
    'anonymous access besides',
    good,
    { anonymous: { enabled: true } },
    [/anonymous access and ldap\.enabled exclude each other/],
  ],
  [
    'several mistakes',
    { url: 'x', managerDn: 'cn=a', caFile: '/nowhere/ca.pem' },
    {},
    [/ldap\.url/, /ldap\.userDnPattern/, /ldap\.managerPassword/, /ldap\.caFile/],
  ],
]

for (const [name, ldap, more, said] of mistakes) {
  test(`${name}: refused before the start, with the key`, async (t) => {
    const { ok, text } = await checkConfig(places(t, ldap, more))
    assert.equal(ok, false)
    for (const part of said) assert.match(text, part)
  })
}

test('a file without certificate is rejected', async (t) => {
  const { folder, ...where } = places(t, { ...good, caFile: 'ca.pem' })
  const file = join(folder, 'ca.pem')
  writeFileSync(
    join(folder, 'gate.yml'),
    JSON.stringify({ ldap: { enabled: true, ...good, caFile: file } }),
  )
  writeFileSync(file, 'nothing')
  assert.match((await checkConfig(where)).text, /ldap\.caFile: .* holds no certificate in PEM form/)
  const { certificate } = keyPairOf('localhost')
  writeFileSync(file, certificate)
  assert.equal(
    methodSettingsOf((await loadConfig(where)).config.login, ldapMethod)?.authorities,
    certificate,
  )
})

test('passwords without TLS are reported, except locally', async (t) => {
  const noticesOf = async (ldap: Record<string, unknown>) =>
    (await loadConfig(places(t, { ...good, ...ldap }))).notices.join('\n')
  assert.match(await noticesOf({ url: 'ldap://directory.example/' }), /clear text/)
  assert.doesNotMatch(
    await noticesOf({ url: 'ldap://directory.example/', startTls: true }),
    /clear text/,
  )
  assert.doesNotMatch(await noticesOf({ url: 'ldap://127.0.0.1/' }), /clear text/)
  assert.doesNotMatch(await noticesOf({}), /clear text/)
  assert.match(
    await noticesOf({ url: 'ldap://localhost/', caFile: undefined, managerPassword: 'x' }),
    /managerPassword has no effect/,
  )
})
