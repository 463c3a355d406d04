/** What users of a whole gateway notice of a permission service that is silent, slow, broken or dead. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { Browser } from '../login/browser.ts'
import { basic } from '../login/support.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import {
  type Answers,
  brokenOff,
  type RecordedRequest,
  Reply,
  silence,
  startUpstream,
} from '../support/upstream.ts'

const password = 'battery staple'

/** Knows everybody; what it is told is fine. */
function alive({ method, path }: RecordedRequest): unknown {
  if (method !== 'GET') return new Reply(200)
  const application = { name: 'web', authorizations: ['READ', 'WRITE', 'EXECUTE'] }
  const roles = [{ name: 'minters' }]
  return {
    name: path,
    admin: false,
    accounts: [],
    applications: [application],
    serviceAccounts: [],
    roles,
  }
}

/** Told about logins as usual; every question meets the same answer. */
function troubled(answer: unknown): Answers {
  return (request) => (request.method === 'GET' ? answer : alive(request))
}

/** A gateway with the users alice and bob, who has just remembered the view of one user only. */
async function start(
  t: test.TestContext,
  settings: GatewaySettings & { permissions?: Record<string, unknown> } = {},
) {
  const fiat = await startUpstream(t, alive)
  const clouddriver = await startUpstream(t, {
    'GET /networks': {},
    'GET /credentials?expand=true': [],
  })
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password } },
    'api-tokens': { enabled: true, 'allowed-minting-roles': ['minters'] },
    ...settings,
    services: {
      fiat: {
        baseUrl: fiat.url,
        cache: { maxEntries: 1 },
        retry: { initialBackoffMillis: 5, maxBackoffMillis: 20 },
      },
      clouddriver: { baseUrl: clouddriver.url },
    },
  })
  const users = openUsers(dataDir)
  for (const name of ['alice', 'bob']) await users.add(name, password, [])
  users.close()
  const logIn = async (name: string) => {
    const browser = new Browser(url)
    assert.equal((await browser.login(name, password)).location, `${url}/`)
    return browser
  }
  const questions = () => fiat.background.filter(({ method }) => method === 'GET')
  /** Waits until fiat has been asked about a user. */
  const asked = async (name: string) => {
    while (!questions().some(({ path }) => path === `/authorize/${name}`))
      await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { url, fiat, clouddriver, logIn, questions, asked }
}

/** The answer, and whether it is there. */
function watch<T>(answer: Promise<T>): { answer: Promise<T>; isThere: () => boolean } {
  let there = false
  return { answer: answer.finally(() => (there = true)), isThere: () => there }
}

const patient = { permissions: { lookupTimeoutMs: 60_000 } }

test('auth-scenario 236: one waiting user does not delay others', async (t) => {
  const { url, fiat, clouddriver, logIn, asked } = await start(t, patient)
  const bob = await logIn('bob')
  const alice = await logIn('alice')
  const token = JSON.parse(
    (
      await alice.visit('/auth/apiTokens', {
        method: 'POST',
        body: '{"name":"t"}',
        headers: { 'content-type': 'application/json' },
      })
    ).text,
  ) as { token: string }
  const withToken = () =>
    fetch(`${url}/networks`, { headers: { 'x-spinnaker-token': token.token } })
  assert.equal((await withToken()).status, 200)
  fiat.answer(() => silence)
  const waiting = watch(bob.visit('/networks'))
  await asked('bob')

  assert.equal((await alice.visit('/networks')).status, 200)
  assert.equal((await alice.user())?.['username'], 'alice')
  assert.equal((await withToken()).status, 200)
  const stranger = new Browser(url)
  assert.equal(await stranger.user(), undefined)
  assert.equal((await stranger.visit('/networks')).location, `${url}/login`)
  for (const path of ['/health', '/livez', '/readyz', '/login', '/auth/loggedOut']) {
    assert.equal((await stranger.visit(path)).status, 200, path)
  }
  assert.equal((await alice.visit('/auth/logout')).location, `${url}/auth/loggedOut`)

  assert.equal(waiting.isThere(), false)
  assert.equal(clouddriver.requests.length, 3)
  fiat.answer(alive)
  fiat.release(alive({ method: 'GET', path: 'bob' } as RecordedRequest))
  assert.equal((await waiting.answer).status, 200)
})

test('all requests of a user wait for the same answer', async (t) => {
  const { fiat, logIn, questions, asked } = await start(t, patient)
  const bob = await logIn('bob')
  await logIn('alice')
  fiat.answer(() => silence)
  const waiting = Array.from({ length: 30 }, () => bob.visit('/networks'))
  await asked('bob')
  fiat.release(alive({ method: 'GET', path: 'bob' } as RecordedRequest))
  assert.deepEqual([...new Set((await Promise.all(waiting)).map(({ status }) => status))], [200])
  assert.equal(questions().length, 1)
})

test('unanswered questions leave other connections alone', async (t) => {
  const { url, fiat, logIn, questions } = await start(t, {
    ...patient,
    okHttpClient: { maxRequestsPerHost: 3 },
  })
  const browsers = await Promise.all(['bob', 'admin', 'alice'].map(logIn))
  const [bob, admin] = browsers as [Browser, Browser, Browser]
  const last = await logIn('alice')
  fiat.answer(() => silence)
  const waiting = [bob, admin].map((browser) => watch(browser.visit('/networks')))
  while (questions().length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  const many = await Promise.all(Array.from({ length: 20 }, () => last.visit('/networks')))
  assert.deepEqual([...new Set(many.map(({ status }) => status))], [200])
  assert.equal((await fetch(`${url}/health`)).status, 200)
  assert.deepEqual(
    waiting.map(({ isThere }) => isThere()),
    [false, false],
  )
  fiat.release(alive({ method: 'GET', path: 'x' } as RecordedRequest))
  await Promise.all(waiting.map(({ answer }) => answer))
})

for (const [what, answer] of [
  ['never answers', silence],
  ['breaks off', brokenOff],
  ['answers 500', new Reply(500)],
  ['answers 503', new Reply(503, { message: 'empty' })],
] as const) {
  test(`auth-scenario 234: a permission service that ${what} logs no user out`, async (t) => {
    const { fiat, logIn } = await start(t, {
      permissions: { lookupTimeoutMs: answer === silence ? 3000 : 60_000 },
    })
    const bob = await logIn('bob')
    await logIn('alice')
    fiat.answer(troubled(answer))
    for (let attempt = 0; attempt < 3; attempt++) {
      const refused = await bob.ask('/networks')
      assert.equal(refused.status, 503)
      const { code, message } = JSON.parse(refused.text) as Record<string, string>
      assert.equal(code, 'PERMISSIONS_UNAVAILABLE')
      assert.match(String(message), /You stay logged in; try again in a moment/)
      assert.equal(refused.headers.get('retry-after'), '2')
    }
    assert.equal((await bob.user())?.['username'], 'bob')
    fiat.answer(alive)
    // A question without answer is not repeated for a moment; all others are.
    while (answer === silence && (await bob.visit('/networks')).status === 503)
      await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal((await bob.visit('/networks')).status, 200)
  })
}

test('a late permission service answers within the bound', async (t) => {
  const { fiat, logIn, questions } = await start(t, { permissions: { lookupTimeoutMs: 3000 } })
  const bob = await logIn('bob')
  await logIn('alice')
  fiat.answer(() => silence)
  assert.equal((await bob.visit('/networks')).status, 503)
  fiat.release(alive({ method: 'GET', path: 'bob' } as RecordedRequest))
  while ((await bob.visit('/networks')).status === 503)
    await new Promise((resolve) => setTimeout(resolve, 5))
  assert.ok(questions().length <= 2)
})

test('a login meanwhile gets a page or an error', async (t) => {
  const { url, fiat, logIn } = await start(t, { permissions: { loginTimeoutMs: 3000 } })
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const answer of [silence, brokenOff, new Reply(500)]) {
    fiat.answer(() => answer)
    const browser = new Browser(url)
    const page = await browser.login('bob', password, html)
    assert.equal(page.status, 503)
    assert.match(String(page.headers.get('content-type')), /^text\/html/)
    assert.match(page.text, /The permission service does not answer[^<]*Try again in a moment/)
    assert.deepEqual(page.cookies, [])
    const error = await browser.login('bob', password, { accept: 'application/json' })
    assert.equal(error.status, 503)
    assert.equal((JSON.parse(error.text) as { code: string }).code, 'LOGIN_UNAVAILABLE')
    assert.equal(await browser.user(), undefined)
  }
  fiat.answer(alive)
  await logIn('bob')
})

test('a script with a password gets 503 meanwhile', async (t) => {
  const { url, fiat } = await start(t, {
    permissions: { loginTimeoutMs: 200, lookupTimeoutMs: 200 },
  })
  const ask = () => fetch(`${url}/networks`, { headers: basic('bob', password) })
  fiat.answer(() => silence)
  for (let attempt = 0; attempt < 3; attempt++) assert.equal((await ask()).status, 503)
  const reports = fiat.background.filter(({ method }) => method === 'PUT')
  assert.equal(reports.length, 1, 'while it is silent, nothing more is reported to it')
  fiat.answer(alive)
  while ((await ask()).status === 503) await new Promise((resolve) => setTimeout(resolve, 20))
})

test('a logout does not wait for the permission service', async (t) => {
  const { url, fiat, logIn } = await start(t)
  const bob = await logIn('bob')
  const cookie = bob.cookie
  fiat.answer(() => silence)
  assert.equal((await bob.visit('/auth/logout')).location, `${url}/auth/loggedOut`)
  assert.equal((await fetch(`${url}/networks`, { headers: { cookie } })).status, 401)
  assert.deepEqual(
    fiat.background.map(({ method, path }) => `${method} ${path}`),
    ['DELETE /roles/bob'],
  )
})

test('without the session filter a list fails, not empty', async (t) => {
  const { fiat, logIn } = await start(t, {
    permissions: { lookupTimeoutMs: 60_000, enforce: 'gateway' },
    fiat: { 'session-filter': { enabled: false } },
  })
  const bob = await logIn('bob')
  await logIn('alice')
  fiat.answer(troubled(new Reply(500)))
  for (const path of ['/applications', '/applications/web']) {
    const answer = await bob.ask(path)
    assert.equal(answer.status, 503, path)
    assert.equal((JSON.parse(answer.text) as { code: string }).code, 'PERMISSIONS_UNAVAILABLE')
  }
})
