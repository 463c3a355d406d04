/** Logins that go in circles: the third round within a minute ends on a page that says why, and nobody else notices. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { FastifyRequest } from 'fastify'
import type { RequestState } from '../../packages/gateway/http/request-state.ts'
import { LoopBreaker } from '../../packages/gateway/login/loop-breaker.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { Browser, type Visit } from './browser.ts'
import { gatewayUrl, proxyHeaders, startGuarded } from './support.ts'

function createClock() {
  let nowMs = Date.now()
  return { now: () => nowMs, pass: (ms: number) => (nowMs += ms) }
}

/** A browser that keeps and sends no cookie at all. */
function visitWithoutCookies(
  url: string,
  path: string,
  init: Parameters<Browser['visit']>[1] = {},
): Promise<Visit> {
  return new Browser(url, { ...proxyHeaders, 'user-agent': 'forgetful' }).visit(path, init)
}

const form = {
  method: 'POST',
  body: new URLSearchParams({ username: 'admin', password: 'secret' }),
}

test('a browser without cookies is told after two logins', async (t) => {
  const clock = createClock()
  const { url } = await startGuarded(t, {}, { now: clock.now })
  for (let round = 0; round < 2; round++) {
    assert.match((await visitWithoutCookies(url, '/login')).text, /<form/)
    assert.equal((await visitWithoutCookies(url, '/login', form)).location, `${gatewayUrl}/`)
    assert.equal((await visitWithoutCookies(url, '/')).location, `${gatewayUrl}/login`)
    clock.pass(2000)
  }
  const page = await visitWithoutCookies(url, '/login')
  assert.equal(page.status, 401)
  assert.equal(page.headers.get('content-type'), 'text/html;charset=UTF-8')
  assert.match(
    page.text,
    /does not send back the cookie.*allow them for gate\.example\.com.*href="\/login\?again"/s,
  )
  assert.match(page.text, new RegExp(page.headers.get('x-spinnaker-request-id') ?? '-'))

  await t.test('whoever asks to try again gets the form', async () => {
    assert.match((await visitWithoutCookies(url, '/login?again')).text, /<form/)
    assert.match((await visitWithoutCookies(url, '/login')).text, /<form/)
  })
  await t.test('other browsers at the same address are not concerned', async () => {
    const browser = new Browser(url, { ...proxyHeaders, 'user-agent': 'other' })
    assert.equal((await browser.visit('/login')).status, 200)
  })
})

test('after a minute the past is forgotten', async (t) => {
  const clock = createClock()
  const { url } = await startGuarded(t, {}, { now: clock.now })
  for (let round = 0; round < 2; round++) await visitWithoutCookies(url, '/login', form)
  assert.equal((await visitWithoutCookies(url, '/login')).status, 401)
  clock.pass(60_000)
  assert.equal((await visitWithoutCookies(url, '/login')).status, 200)
})

test('a user unknown to the permission service leaves the loop', async (t) => {
  const service = await startUpstream(t, {
    'POST /roles/admin': '',
    'GET /authorize/admin': new Reply(404),
  })
  const { open } = await startGuarded(t, {
    services: { fiat: { enabled: true, baseUrl: service.url } },
  })
  const browser = open()
  for (let round = 0; round < 2; round++) {
    assert.equal((await browser.visit('/login')).status, 200)
    await browser.login('admin', 'secret')
    assert.equal((await browser.visit('/')).location, `${gatewayUrl}/login`)
  }
  const page = await browser.visit('/login')
  assert.equal(page.status, 401)
  assert.match(
    page.text,
    /next request was that of a stranger.*permission service does not know you/s,
  )
})

test('working logins never trip the breaker', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  for (let round = 0; round < 4; round++) {
    assert.equal((await browser.visit('/login')).status, 200)
    await browser.login('admin', 'secret')
    await browser.user()
    assert.doesNotMatch(browser.cookie, /LOGIN_ROUNDS/)
    await browser.visit('/auth/logout')
  }
})

test('wrong passwords and looking at the form are no rounds', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  for (let round = 0; round < 4; round++) {
    assert.equal((await browser.visit('/login')).status, 200)
    await browser.login('admin', 'wrong')
    assert.equal((await browser.visit('/login?error')).status, 200)
  }
})

/** What one request after the other makes of the cookie. */
function createRequests() {
  const clock = createClock()
  const breaker = new LoopBreaker({ contextPath: '', now: clock.now })
  let cookie: string | undefined
  const request = (url: string): FastifyRequest => {
    const state = {
      path: url.replace(/\?.*/, ''),
      scheme: 'https',
      clientAddress: '192.0.2.1',
      answerHeaders: {},
    }
    return {
      url,
      headers: { cookie, 'user-agent': 'x' },
      state: state as unknown as RequestState,
    } as FastifyRequest
  }
  const keep = ({ state }: FastifyRequest) => {
    for (const set of [state.answerHeaders['set-cookie'] ?? []].flat())
      cookie = set.replace(/;.*/, '')
  }
  return {
    ...clock,
    breaker,
    plant: (value: string) => (cookie = value),
    /** A browser comes to the start of a login and is sent to the provider. */
    begin(url = '/login') {
      const asked = request(url)
      const loop = breaker.check(asked)
      if (loop === undefined) breaker.sent(asked)
      keep(asked)
      return loop
    },
    complete() {
      const asked = request('/callback')
      breaker.completed(asked)
      keep(asked)
    },
    settle() {
      const asked = request('/')
      breaker.settled(asked)
      keep(asked)
    },
  }
}

test('a provider that never returns ends at the third attempt', () => {
  const { begin, pass } = createRequests()
  assert.equal(begin(), undefined)
  pass(4000)
  assert.equal(begin('/oauth2/authorization/corp'), undefined)
  pass(4000)
  assert.equal(begin(), 'return')
  assert.equal(begin('/login?again'), undefined)
  pass(4000)
  assert.equal(begin('/saml2/authenticate'), undefined)
})

test('a provider that loops ends at the third attempt', () => {
  const { begin, complete, pass } = createRequests()
  for (let round = 0; round < 2; round++) {
    assert.equal(begin(), undefined)
    pass(100)
    complete()
    pass(100)
  }
  assert.equal(begin(), 'session')
})

test('tabs that are restored together may all log in', () => {
  const { begin, complete, settle, pass } = createRequests()
  for (let tab = 0; tab < 12; tab++) {
    assert.equal(begin(), undefined)
    pass(100)
  }
  pass(20_000)
  complete()
  settle()
  pass(100)
  assert.equal(begin(), undefined)
})

test('callbacks and unreadable cookies do not count', () => {
  const { begin, pass, plant } = createRequests()
  for (let round = 0; round < 2; round++) {
    begin()
    pass(4000)
  }
  assert.equal(begin('/login?code=1&state=2'), undefined)
  assert.equal(begin('/credentials'), undefined)
  for (const value of [
    'LOGIN_ROUNDS=',
    'LOGIN_ROUNDS=x',
    `LOGIN_ROUNDS=${'9'.repeat(500)}`,
    'LOGIN_ROUNDS=%_%',
    'LOGIN_ROUNDS=1_2_3',
  ]) {
    plant(value)
    assert.equal(begin(), undefined)
    pass(4000)
  }
})

test('of browsers without cookies a bounded number is remembered', () => {
  const { breaker } = createRequests()
  const from = (number: number): FastifyRequest => {
    const state = {
      path: '/login',
      scheme: 'https',
      clientAddress: `192.0.2.${number}`,
      answerHeaders: {},
    }
    return { url: '/login', headers: {}, state: state as unknown as RequestState } as FastifyRequest
  }
  const logInTwice = (number: number) => {
    for (let round = 0; round < 2; round++) breaker.completed(from(number))
  }
  logInTwice(0)
  assert.equal(breaker.check(from(0)), 'cookie')
  for (let number = 1; number <= 5000; number++) logInTwice(number)
  assert.equal(breaker.check(from(0)), undefined)
  assert.equal(breaker.check(from(5000)), 'cookie')
})
