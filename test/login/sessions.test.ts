/** People see where they are logged in, and end that from afar; administrators do it for others. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { startSeeded } from '../permissions/support.ts'
import { createClock } from '../sessions/support.ts'
import { runGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { Browser } from './browser.ts'
import { basic } from './support.ts'
import { createToken } from './tokens/support.ts'

const password = 'correct horse'
const roles: Record<string, unknown> = {
  alice: { name: 'alice', admin: true, roles: [], applications: [], accounts: [] },
  bob: { name: 'bob', admin: false, roles: [], applications: [], accounts: [] },
}

interface Listed {
  id: string
  current: boolean
  method: string
  createdAt: string
  lastUsedAt: string
  address: string
  userAgent: string
}

async function start(t: test.TestContext) {
  const clock = createClock(Date.now())
  const fiat = await startUpstream(t, ({ path }) => roles[path.split('/')[2] ?? ''])
  const settings = {
    security: { basicform: { enabled: true } },
    services: { fiat: { enabled: true, baseUrl: fiat.url } },
  }
  const { url, dataDir } = await runGateway(
    t,
    { fairlead: { admin: { password } }, ...settings },
    { now: clock.now },
  )
  const users = openUsers(dataDir)
  t.after(() => users.close())
  await users.add('alice', password, [])
  await users.add('bob', password, [])
  const logIn = async (name: string, userAgent: string) => {
    const browser = new Browser(url, { 'user-agent': userAgent })
    await browser.login(name, password)
    return browser
  }
  const asked = () => fiat.background.map(({ method, path }) => `${method} ${path}`)
  return { url, clock, logIn, asked }
}

async function list(browser: Browser, query = ''): Promise<Listed[]> {
  const answer = await browser.visit(`/auth/sessions${query}`)
  assert.equal(answer.status, 200, answer.text)
  return JSON.parse(answer.text) as Listed[]
}

test('sessions are listed without anything that opens them', async (t) => {
  const { url, clock, logIn } = await start(t)
  const loggedInMs = clock.nowMs
  const laptop = await logIn('bob', 'laptop')
  clock.nowMs += 120_000
  const phone = await logIn('bob', 'phone')
  await logIn('alice', 'other')

  const listed = await list(phone)
  assert.deepEqual(
    listed.map(({ current, userAgent, method, address }) => [current, userAgent, method, address]),
    [
      [true, 'phone', 'form', '127.0.0.1'],
      [false, 'laptop', 'form', '127.0.0.1'],
    ],
  )
  assert.equal(listed[1]?.createdAt, new Date(loggedInMs).toISOString())
  assert.equal(listed[1]?.lastUsedAt, new Date(loggedInMs).toISOString())
  for (const { id } of listed) {
    const thief = new Browser(url)
    thief.plant('SESSION', id)
    assert.equal(await thief.user(), undefined)
    assert.ok(!laptop.session?.includes(id))
  }
})

test('one session, or all but the current one, can be ended', async (t) => {
  const { logIn } = await start(t)
  const here = await logIn('bob', 'here')
  const lost = await logIn('bob', 'lost')
  const third = await logIn('bob', 'third')
  const id = (await list(here)).find(({ userAgent }) => userAgent === 'lost')?.id

  assert.equal((await here.visit(`/auth/sessions/${id}`, { method: 'DELETE' })).status, 204)
  assert.equal(await lost.user(), undefined)
  assert.equal((await here.visit(`/auth/sessions/${id}`, { method: 'DELETE' })).status, 404)
  assert.equal((await here.visit('/auth/sessions', { method: 'DELETE' })).status, 204)
  assert.equal(await third.user(), undefined)
  assert.equal((await list(here)).length, 1)
})

test('a page of sessions links to the next one', async (t) => {
  const { logIn } = await start(t)
  await logIn('bob', 'first')
  await logIn('bob', 'second')
  const alice = await logIn('alice', 'admin')

  const page = await alice.visit('/auth/sessions?username=bob&limit=1')
  assert.equal((JSON.parse(page.text) as Listed[]).length, 1)
  assert.equal(page.headers.get('link'), '<?username=bob&limit=1&offset=1>; rel="next"')
  const last = await alice.visit('/auth/sessions?username=bob&limit=1&offset=1')
  assert.equal((JSON.parse(last.text) as Listed[]).length, 1)
  assert.notEqual(last.text, page.text)
  assert.equal(last.headers.get('link'), null)
  for (const query of ['limit=0', 'limit=1001', 'offset=-1']) {
    assert.equal((await alice.visit(`/auth/sessions?${query}`)).status, 400, query)
  }
})

test('nobody sees or ends the sessions of others but administrators', async (t) => {
  const { url, logIn } = await start(t)
  const alice = await logIn('alice', 'admin')
  const bob = await logIn('bob', 'bob')
  const [own] = await list(alice)

  assert.equal((await bob.visit('/auth/sessions?username=alice')).status, 403)
  assert.equal((await bob.visit('/auth/sessions?username=alice', { method: 'DELETE' })).status, 403)
  assert.equal((await bob.visit(`/auth/sessions/${own?.id}`, { method: 'DELETE' })).status, 404)
  assert.equal((await new Browser(url).visit('/auth/sessions')).status, 302)
  assert.equal((await list(alice, '?username=bob')).length, 1)
  assert.equal((await alice.visit('/auth/sessions?username=bob', { method: 'DELETE' })).status, 204)
  assert.equal(await bob.user(), undefined)
  assert.ok(await alice.user())
})

test('a script sees the sessions of its user', async (t) => {
  const { url, logIn } = await start(t)
  await logIn('bob', 'browser')

  assert.deepEqual(
    (await list(new Browser(url, basic('bob', password)))).map(({ current }) => current),
    [false],
  )
})

test('cookies of several sessions count if their user is the same', async (t) => {
  const { url, logIn } = await start(t)
  const [bob = '', again = '', alice = ''] = (
    await Promise.all([logIn('bob', 'a'), logIn('bob', 'b'), logIn('alice', 'c')])
  ).map(({ session }) => session)
  const foreign = 'x'.repeat(43)
  const ask = async (...values: string[]) => {
    const cookie = values.map((value) => `SESSION=${value}`).join('; ')
    const answer = await fetch(`${url}/auth/user`, { headers: { cookie } })
    const text = await answer.text()
    return {
      status: answer.status,
      text,
      user: (JSON.parse(text || '{}') as { username?: string }).username,
    }
  }

  for (const values of [
    [bob, bob],
    [bob, again],
    [foreign, bob],
    [bob, foreign],
  ])
    assert.equal((await ask(...values)).user, 'bob')
  for (const values of [
    [alice, bob],
    [bob, foreign, alice],
  ]) {
    const refused = await ask(...values)
    assert.equal(refused.status, 400)
    assert.match(refused.text, /sessions of several users. Delete the cookies of this site/)
  }
})

test('a logout ends its own session only', async (t) => {
  const { url, logIn, asked } = await start(t)
  const [first, second] = [await logIn('bob', 'one'), await logIn('bob', 'two')]
  const logouts = () => asked().filter((line) => line.startsWith('DELETE'))
  await first.visit('/auth/logout')
  assert.equal(await first.user(), undefined)
  assert.equal((await second.visit('/credentials')).status, 200)
  assert.deepEqual(logouts(), [])
  await second.visit('/auth/logout')
  assert.deepEqual(logouts(), ['DELETE /roles/bob'])
  assert.equal((await fetch(`${url}/credentials`)).status, 401)
})

test('the embedded permission service keeps the roles of users who log out', async (t) => {
  const seeded = await startSeeded(t)
  await seeded.add('bob', ['writers'])
  const browser = new Browser(seeded.url)
  await browser.login('bob', password)
  const { token } = await createToken(browser, { name: 'ci' })
  await browser.visit('/auth/logout')
  const answer = await fetch(`${seeded.url}/auth/user`, { headers: { 'x-spinnaker-token': token } })
  const { username, roles } = (await answer.json()) as { username: string; roles: string[] }
  assert.deepEqual([username, roles], ['bob', ['writers']])
})
