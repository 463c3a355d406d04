/** The login against a real directory: from the first redirect to the identity, and what is refused on the way. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { basic, startPath } from '../support.ts'
import { gatewayUrl, pattern, search, startLdap, ui } from './support.ts'

const fiat = (url: string) => ({ services: { fiat: { enabled: true, baseUrl: url } } })
const view = {
  name: 'alice',
  accounts: [],
  applications: [],
  serviceAccounts: [],
  roles: [],
  admin: false,
}

test('auth-scenarios 5, 8, 11, 12, 14 with LDAP: the way of the web UI, a wrong password in between', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const browser = gateway.open()
  assert.equal(await browser.user(), undefined)
  assert.equal((await browser.visit(startPath)).location, `${gatewayUrl}/login`)
  const form = await browser.visit('/login')
  assert.deepEqual(
    [form.status, form.headers.get('content-type')],
    [200, 'text/html;charset=UTF-8'],
  )
  assert.match(form.text, /<form method="post" action="\/login"/)

  const wrong = await browser.login('alice', 'wrong')
  assert.deepEqual([wrong.status, wrong.location], [302, `${gatewayUrl}/login?error`])
  assert.match((await browser.visit('/login?error')).text, /User name or password is wrong/)
  assert.equal(await browser.user(), undefined)

  const before = browser.session
  assert.equal((await browser.login('alice', 'pw')).location, gatewayUrl + startPath)
  assert.notEqual(browser.session, before)
  assert.equal((await browser.visit(startPath)).location, `${ui}/#/search`)
  assert.equal((await browser.user())?.['username'], 'alice')
})

test('auth-scenario 146: one bind reads the attributes of the entry', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const browser = gateway.open()
  await browser.login('alice', 'pw')
  const { username, email, firstName, lastName, roles } = (await browser.user()) ?? {}
  assert.deepEqual(
    { username, email, firstName, lastName, roles },
    {
      username: 'alice',
      email: 'alice@example.org',
      firstName: 'alice',
      lastName: 'Surname of alice',
      roles: [],
    },
  )
  assert.equal(gateway.directory.asked('method=128').length, 1)
  assert.equal(
    gateway.directory.asked('BIND dn="uid=alice,ou=users,dc=example,dc=org" method=128').length,
    1,
  )
})

test('auth-scenarios 147, 148: groups are reported to the permission service', async (t) => {
  for (const [groups, roles] of [
    [{ groupSearchBase: 'ou=groups' }, ['dev', 'ops', 'team, east']],
    [{}, []],
  ] as const) {
    const service = await startUpstream(t, { 'PUT /roles/alice': '', 'GET /authorize/alice': view })
    const gateway = await startLdap(t, { ...pattern, ...groups }, { settings: fiat(service.url) })
    if (gateway === undefined) return
    await gateway.open().login('alice', 'pw')
    const put = service.background.find(({ method }) => method === 'PUT')
    assert.deepEqual(JSON.parse(put?.body ?? ''), roles)
    assert.equal(gateway.directory.asked('base="ou=groups').length, roles.length === 0 ? 0 : 1)
  }
})

test('auth-scenario 149: names and passwords that nobody can have never reach the directory', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const browser = gateway.open()
  for (const body of [
    'username=alice&password=',
    'username=&password=pw',
    'username=alice',
    'password=pw',
    '',
    'username=+&password=pw',
  ]) {
    const answer = await browser.visit('/login', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    assert.equal(answer.location, `${gatewayUrl}/login?error`, body)
  }
  assert.equal((await browser.visit('/credentials', { headers: basic('alice', '') })).status, 302)
  for (const name of [
    '\uff41lice',
    '\u{1d41a}lice',
    'alice\u200b',
    'al  ice',
    'anonymous',
    '__unrestricted_user__',
  ]) {
    assert.equal(
      (await browser.login(name, 'alices word')).location,
      `${gatewayUrl}/login?error`,
      JSON.stringify(name),
    )
    assert.equal(
      (await browser.visit('/credentials', { headers: basic(name, 'alices word') })).status,
      302,
    )
  }
  assert.equal(await browser.user(), undefined)
  assert.deepEqual(gateway.directory.asked(`:${gateway.directory.port})`), [])
})

test('auth-scenario 150: blanks are a wrong password despite anonymous binds', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const browser = gateway.open()
  assert.equal((await browser.login('alice', '   ')).location, `${gatewayUrl}/login?error`)
  assert.equal(await browser.user(), undefined)
})

const crafted = [
  'alice,ou=admins',
  '*',
  'alice)(uid=*',
  String.raw`a\00`,
  'alice+cn=x',
  '#616c696365',
  'a"b',
  'al\u0000ice',
  'ü;<>',
]

test('auth-scenario 151: typed text stays one value of the pattern', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const answers = await Promise.all(crafted.map((username) => gateway.open().login(username, 'pw')))
  assert.deepEqual(
    new Set(answers.map(({ location }) => location)),
    new Set([`${gatewayUrl}/login?error`]),
  )
  const bound = gateway.directory
    .asked('method=128')
    .map((line) => /BIND dn="(.*)" method/.exec(line)?.[1] ?? '')
  assert.equal(bound.length, crafted.length - 1)
  for (const dn of bound)
    assert.match(dn, /^uid=((?!(?<!\\)[,+=]).|\\.)*,ou=users,dc=example,dc=org$/)

  const browser = gateway.open()
  await browser.login('alice,ou=admins', 'comma')
  assert.equal((await browser.user())?.['email'], 'aliceouadmins@example.org')
})

test('auth-scenario 152: typed text stays one value of the filter', async (t) => {
  const gateway = await startLdap(t, search)
  if (gateway === undefined) return
  const typed = ['*', 'alice)(|(uid=*)', 'al*', String.raw`\2a`, 'alice)', String.raw`al\69ce`]
  const answers = await Promise.all(typed.map((username) => gateway.open().login(username, 'pw')))
  assert.deepEqual(
    new Set(answers.map(({ location }) => location)),
    new Set([`${gatewayUrl}/login?error`]),
  )
  assert.deepEqual(gateway.directory.asked('BIND dn="uid='), [])
})

test('names with special characters are found', async (t) => {
  const name = 'o\'neil (*) \\ <"+;#> jürgen'
  for (const ldap of [search, pattern]) {
    const gateway = await startLdap(t, { ...ldap, groupSearchBase: 'ou=groups' })
    if (gateway === undefined) return
    const browser = gateway.open()
    assert.equal((await browser.login(name, 'odd')).location, `${gatewayUrl}/`)
    assert.equal((await browser.user())?.['username'], name)
  }
})

test('auth-scenario 153: two search results are a failure', async (t) => {
  const gateway = await startLdap(t, search)
  if (gateway === undefined) return
  for (const password of ['one', 'two']) {
    assert.equal(
      (await gateway.open().login('twin', password)).location,
      `${gatewayUrl}/login?error`,
    )
  }
  assert.deepEqual(gateway.directory.asked('BIND dn="uid=twin'), [])
  assert.ok(gateway.lines.some(({ reason }) => reason === 'several entries match the user name'))
})

test('a search follows a pattern without match', async (t) => {
  const gateway = await startLdap(t, { ...pattern, ...search, userSearchBase: '' })
  if (gateway === undefined) return
  const browser = gateway.open()
  await browser.login('alice', 'pw')
  assert.equal((await browser.user())?.['username'], 'alice')
  await gateway.open().login('alice', 'wrong')
  assert.equal(
    gateway.directory.asked('BIND dn="uid=alice,ou=users,dc=example,dc=org" method').length,
    2,
  )
  await gateway.open().login('secret', 'unseen')
  assert.equal(
    gateway.directory.asked('BIND dn="uid=secret,ou=hidden,dc=example,dc=org" mech=SIMPLE').length,
    1,
  )
})

test('without a manager the search is anonymous', async (t) => {
  const gateway = await startLdap(t, {
    userSearchFilter: '(mail={0})',
    groupSearchBase: 'ou=groups',
  })
  if (gateway === undefined) return
  const browser = gateway.open()
  await browser.login('bob@example.org', 'bobs word')
  assert.deepEqual(
    [(await browser.user())?.['username'], (await browser.user())?.['roles']],
    ['bob@example.org', ['dev', 'inner']],
  )
  assert.equal(gateway.directory.asked('method=128').length, 1)
})

test('auth-scenario 154: unknown users and wrong passwords look alike', async (t) => {
  for (const ldap of [pattern, search]) {
    const gateway = await startLdap(t, ldap)
    if (gateway === undefined) return
    const seen = []
    for (const username of ['alice', 'nobody-of-this-name']) {
      const browser = gateway.open()
      const startedMs = performance.now()
      const { status, location, headers } = await browser.login(username, 'wrong')
      const tookMs = performance.now() - startedMs
      assert.ok(tookMs > 290, `${username}: ${tookMs} ms`)
      const { text } = await browser.visit('/login?error')
      const changing = ['date', 'x-spinnaker-request-id', 'set-cookie']
      const page = text.replace(`value="${username}"`, '')
      seen.push({
        status,
        location,
        page,
        headers: [...headers].filter(([name]) => !changing.includes(name)),
      })
    }
    assert.deepEqual(seen[0], seen[1])
  }
})

test('auth-scenario 155: blanks around the user name do not count', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const browser = gateway.open()
  await browser.login(' alice ', 'pw')
  assert.equal((await browser.user())?.['username'], 'alice')
})

test('a setting names the attribute of the user name', async (t) => {
  const gateway = await startLdap(t, { ...pattern, usernameAttribute: 'UID' })
  if (gateway === undefined) return
  const browser = gateway.open()
  await browser.login('ALICE', 'pw')
  assert.equal((await browser.user())?.['username'], 'alice')
})

test('auth-scenario 158: HTTP Basic is checked without a session', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const asScript = (path: string, password: string) =>
    gateway.open().visit(path, {
      headers: { ...basic('alice', password), accept: 'application/json', 'sec-fetch-mode': '' },
    })
  const good = await asScript('/credentials', 'pw')
  assert.deepEqual([good.status, good.cookies], [200, []])
  const bad = await asScript('/credentials', 'wrong')
  assert.deepEqual([bad.status, bad.location, bad.cookies], [401, null, []])
  assert.match(bad.headers.get('www-authenticate') ?? '', /Basic realm="Fairlead"/)
  const open = await asScript('/auth/user', 'wrong')
  assert.deepEqual([open.status, open.text], [200, ''])
  assert.equal(JSON.parse((await asScript('/auth/user', 'pw')).text).username, 'alice')
})

test('auth-scenario 159: credentials in the query are not looked at', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const browser = gateway.open()
  const answer = await browser.visit('/login?username=alice&password=pw')
  assert.deepEqual(
    [answer.status, answer.headers.get('content-type')],
    [200, 'text/html;charset=UTF-8'],
  )
  assert.equal(await browser.user(), undefined)
  assert.deepEqual(gateway.directory.asked('BIND'), [])
})

test('auth-scenario 160: while the permission service is down nobody is logged in', async (t) => {
  const service = await startUpstream(t, () => new Reply(500))
  const gateway = await startLdap(t, pattern, { settings: fiat(service.url) })
  if (gateway === undefined) return
  const browser = gateway.open()
  const answer = await browser.login('alice', 'pw', { accept: 'application/json' })
  assert.deepEqual([answer.status, JSON.parse(answer.text).status], [503, 503])
  assert.equal(await browser.user(), undefined)
})

test('a user rejected by the permission service gets a page', async (t) => {
  const service = await startUpstream(t, () => new Reply(400, { message: 'no such realm' }))
  const gateway = await startLdap(t, pattern, { settings: fiat(service.url) })
  if (gateway === undefined) return
  const answer = await gateway.open().login('alice', 'pw')
  assert.equal(answer.status, 403)
  assert.match(answer.text, /<h1>Not signed in<\/h1>.*no such realm/s)
})

test('auth-scenario 195: the command line logs in and keeps the cookie', async (t) => {
  const deck = await startUpstream(t, { 'GET /': 'ui' })
  const gateway = await startLdap(t, pattern, {
    settings: { services: { deck: { baseUrl: deck.url } }, server: {} },
  })
  if (gateway === undefined) return
  const browser = gateway.open()
  const login = await browser.login('alice', 'pw')
  assert.equal((await browser.visit(login.location ?? '')).location, deck.url)
  assert.equal((await browser.visit('/version')).status, 200)
})

test('auth-scenario 263 with LDAP: no password and no session identifier is in the log', async (t) => {
  const gateway = await startLdap(t, { ...search, groupSearchBase: 'ou=groups' })
  if (gateway === undefined) return
  const browser = gateway.open()
  await browser.login('bob', 'not bobs word at all')
  await browser.login('bob', 'bobs word')
  await browser.visit('/auth/user', { headers: basic('bob', 'bobs word') })
  const text = JSON.stringify(gateway.lines)
  for (const secret of ['bobs word', 'manager secret', browser.session ?? '-'])
    assert.ok(!text.includes(secret), secret)
  assert.match(text, /"entry":"uid=bob,ou=users,dc=example,dc=org","reason":"the password is wrong/)
})
