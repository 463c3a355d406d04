/** What a browser carries through a login, so that nothing is stored for those who are not logged in. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createRedisKeys } from '../../packages/gateway/login/login-keys.ts'
import { seal, unseal } from '../../packages/gateway/login/seal.ts'
import { connect } from '../sessions/stores.ts'
import { createClock } from '../sessions/support.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { startRedis } from '../support/redis.ts'
import { startSamlIdentityProvider } from '../support/saml-identity-provider.ts'
import type { Browser } from './browser.ts'
import { beginLogin, consent, currentSettings, logIn, startOAuth2 } from './oauth2/support.ts'
import { startSaml } from './saml/support.ts'
import { gatewayUrl, startGuarded, startPath, ui } from './support.ts'

const hourMs = 3_600_000

interface Crowded {
  readonly dataDir: string
  open(): Browser
}
const returnTo = (page: string) => `/auth/redirect?to=${encodeURIComponent(`${ui}/#/${page}`)}`

test('logins at a provider survive tabs, restarts, replays and damage', async (t) => {
  const clock = createClock(Date.now())
  const provider = await startIdentityProvider(t)
  provider.now = clock.now
  const settings = currentSettings(provider)
  const gateway = await startOAuth2(t, settings, { now: clock.now })
  const pendingOf = (browser: Browser) =>
    browser.cookieNames.filter((name) => name.startsWith('SESSION_LOGIN_'))

  await t.test('each of two tabs ends where it wanted to go', async () => {
    const browser = gateway.open()
    await browser.visit(returnTo('first'))
    const first = await beginLogin(browser)
    await browser.visit(returnTo('second'))
    const second = await beginLogin(browser)
    assert.equal((await browser.visit(first)).location, gatewayUrl + returnTo('first'))
    assert.equal((await browser.visit(second)).location, gatewayUrl + returnTo('second'))
    assert.deepEqual(
      browser.cookieNames.filter((name) => name !== 'LOGIN_ROUNDS'),
      ['SESSION'],
    )
  })

  await t.test('thousands of invented cookies are not read', async () => {
    const cookie = Array.from({ length: 1200 }, (_, index) => `SESSION_LOGIN_${index}=abc`).join(
      '; ',
    )
    const answer = await fetch(`${gateway.url}/oauth2/authorization/corp`, {
      headers: { cookie },
      redirect: 'manual',
    })
    assert.equal(answer.status, 302)
    assert.ok(answer.headers.getSetCookie().length < 30)
  })

  await t.test('a repeated callback is rejected despite kept cookies', async () => {
    const browser = gateway.open()
    const callback = await beginLogin(browser)
    const copy = gateway.open()
    copy.resume(browser)
    assert.equal((await browser.visit(callback)).status, 302)
    const exchanges = provider.requestsTo('/token').length

    assert.equal((await browser.visit(callback)).status, 401)
    clock.nowMs += 2 * 60_000
    assert.equal((await copy.visit(callback)).status, 401)
    assert.equal(await copy.user(), undefined)
    assert.equal(provider.requestsTo('/token').length, exchanges)
    assert.notEqual(await browser.user(), undefined)
  })

  await t.test('the back button starts a new login', async () => {
    const browser = gateway.open()
    await browser.visit(returnTo('back'))
    await beginLogin(browser)
    assert.equal((await logIn(browser)).location, gatewayUrl + returnTo('back'))
  })

  await t.test('an altered, exchanged or invented cookie is none', async () => {
    const browser = gateway.open()
    await browser.visit(returnTo('x'))
    const callback = await beginLogin(browser)
    const [name = ''] = pendingOf(browser)
    const genuine = browser.valueOf(name) ?? ''
    const altered = genuine.slice(0, -2) + (genuine.endsWith('AA') ? 'BB' : 'AA')
    for (const value of [
      altered,
      browser.valueOf('SESSION_TARGET') ?? '',
      genuine.slice(0, 40),
      'A'.repeat(600),
      '',
      '%00',
      '{}',
    ]) {
      const thief = gateway.open()
      thief.plant(name, value)
      assert.equal((await thief.visit(callback)).status, 401, value)
    }
    for (const value of ['x', genuine, 'A'.repeat(500)]) {
      const planted = gateway.open()
      planted.plant('SESSION_TARGET', value)
      assert.equal((await logIn(planted)).location, `${gatewayUrl}/`)
    }
    assert.equal((await browser.visit(callback)).location, gatewayUrl + returnTo('x'))
  })

  await t.test('tabs that are left alone do not add up', async () => {
    const browser = gateway.open()
    const callbacks: string[] = []
    for (let tab = 0; tab < 30; tab++) {
      clock.nowMs += 31_000
      await browser.visit(returnTo(`tab-${tab}/${'x'.repeat(200)}`))
      const started = await browser.visit('/oauth2/authorization/corp')
      callbacks.push(await consent(started.location ?? ''))
      for (const cookie of started.cookies) assert.ok(cookie.length < 1300, String(cookie.length))
      assert.ok(browser.cookie.length < 6000, String(browser.cookie.length))
    }
    assert.equal((await browser.visit(callbacks[0] ?? '')).status, 401)
    assert.match((await browser.visit(callbacks[29] ?? '')).location ?? '', /tab-29/)
    assert.match((await browser.visit(callbacks[28] ?? '')).location ?? '', /tab-28/)
  })

  await t.test('an oversized saved page is dropped', async () => {
    for (const [length, isKept] of [
      [1000, true],
      [5000, false],
    ] as const) {
      const browser = gateway.open()
      const path = returnTo('y'.repeat(length))
      const sent = await browser.visit(path)
      assert.equal(sent.location, `${gatewayUrl}/login`)
      for (const cookie of sent.cookies) assert.ok(cookie.length < 2800)
      assert.equal((await logIn(browser)).location, gatewayUrl + (isKept ? path : '/'))
    }
  })

  await t.test('after an hour nothing of it counts', async () => {
    const browser = gateway.open()
    await browser.visit(returnTo('late'))
    const callback = await beginLogin(browser)
    clock.nowMs += hourMs
    assert.equal((await browser.visit(callback)).status, 401)
    assert.equal((await logIn(browser)).location, `${gatewayUrl}/`)
  })

  await t.test('a restart in the middle of a login goes unnoticed', async () => {
    const before = gateway.open()
    await before.visit(returnTo('restart'))
    const callback = await beginLogin(before)
    await gateway.stop()
    const restarted = await startOAuth2(t, settings, { now: clock.now, dataDir: gateway.dataDir })
    const after = restarted.open()
    after.resume(before)
    assert.equal((await after.visit(callback)).location, gatewayUrl + returnTo('restart'))
    await restarted.stop()

    const key = join(gateway.dataDir, 'login.key')
    assert.equal(statSync(key).mode & 0o777, 0o600)
    rmSync(key)
    const keyless = await startOAuth2(t, settings, { now: clock.now, dataDir: gateway.dataDir })
    const stranger = keyless.open()
    stranger.resume(before)
    assert.equal(
      (await stranger.visit(callback)).status,
      401,
      'what a lost key has sealed is nothing',
    )
    assert.equal((await logIn(stranger)).status, 302)
  })
})

test('a script of Deck gets a page at a redirect', async (t) => {
  const provider = await startIdentityProvider(t)
  const saml = await startSamlIdentityProvider(t)
  const deck = {
    accept: 'application/json, text/plain, */*',
    'x-ratelimit-app': 'deck',
    origin: ui,
    'sec-fetch-mode': 'cors',
  }
  for (const { open } of [
    await startOAuth2(t, currentSettings(provider)),
    await startSaml(t, {}, { provider: saml }),
  ]) {
    const browser = open()
    const sent = await browser.visit('/applications', { headers: deck })
    assert.deepEqual([sent.status, sent.location], [302, `${gatewayUrl}/login`])
    const page = await browser.visit('/login', { headers: deck })
    assert.equal(page.status, 200)
    assert.match(String(page.headers.get('content-type')), /^text\/html/)
    assert.match(page.text, /^\s*</)
    assert.equal(page.headers.get('access-control-allow-origin'), ui)
    assert.deepEqual(browser.cookieNames, [])
    assert.equal((await browser.visit('/login')).status, 302, 'a page goes on to the provider')
  }
})

test('scripts and other tabs keep the saved target', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  await browser.visit(startPath)
  const others: Record<string, string>[] = [
    {
      accept: 'application/json, text/plain, */*',
      'x-ratelimit-app': 'deck',
      'sec-fetch-mode': 'cors',
      'sec-fetch-dest': 'empty',
    },
    { accept: '*/*', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
    { 'sec-fetch-dest': 'iframe' },
    { 'sec-purpose': 'prefetch' },
    {},
  ]
  for (const headers of others)
    assert.deepEqual((await browser.visit('/applications', { headers })).cookies, [])
  assert.equal((await browser.login('admin', 'secret')).location, gatewayUrl + startPath)

  const reader = open()
  await reader.visit('/credentials')
  await reader.visit('/applications')
  assert.equal(
    (await reader.login('admin', 'secret')).location,
    `${gatewayUrl}/applications`,
    'of two pages the later one',
  )
})

test('a crowd without login leaves nothing behind, by whichever method', async (t) => {
  const saml = await startSamlIdentityProvider(t)
  const provider = await startIdentityProvider(t)
  const guarded = await startGuarded(t)
  const oauth2 = await startOAuth2(t, currentSettings(provider))
  const started: readonly Crowded[] = [guarded, oauth2, await startSaml(t, {}, { provider: saml })]
  for (const { open, dataDir } of started) {
    const contents = () =>
      readdirSync(dataDir)
        // Refusals are in the audit log, where those that repeat themselves become a count.
        .filter((name) => /^(?!audit).*\.db(?:-wal)?$/.test(name))
        .map((name) => [
          name,
          createHash('sha256')
            .update(readFileSync(join(dataDir, name)))
            .digest('hex'),
        ])
    await open().visit(startPath)
    const before = contents()
    for (let index = 0; index < 30; index++) {
      const browser = open()
      await browser.visit(`${startPath}&x=${'z'.repeat(1000)}`)
      await browser.visit('/login')
      await browser.login('admin', 'wrong')
      await browser.visit('/auth/logout')
      await browser.visit('/login/oauth2/code/corp?code=x&state=y')
      await browser.visit('/saml/SSO', {
        method: 'POST',
        body: new URLSearchParams({ SAMLResponse: 'x' }),
      })
    }
    assert.deepEqual(contents(), before)
  }
})

test('replicas share the login key and replace a lost one', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const clock = createClock()
  const connectKeys = async () => createRedisKeys(await connect(t, redis), clock.now)
  const [first, second] = [await connectKeys(), await connectKeys()]
  const [ofFirst, ofSecond] = await Promise.all([seal(first, 'p', 'one'), seal(second, 'p', 'two')])
  assert.equal(await unseal(second, 'p', ofFirst), 'one')
  assert.equal(await unseal(first, 'p', ofSecond), 'two')
  assert.equal(await unseal(first, 'another purpose', ofSecond), undefined)

  await redis.ask('set', 'fairlead:login:key', 'no key at all')
  const third = await connectKeys()
  const ofThird = await seal(third, 'p', 'three')
  assert.equal(
    await unseal(first, 'p', ofThird),
    'three',
    'the key is read again for what an unknown one has sealed',
  )
  assert.equal(await unseal(first, 'p', ofFirst), 'one', 'the former key still opens')

  await redis.ask('unlink', 'fairlead:login:key')
  clock.nowMs += 61_000
  const later = await seal(first, 'p', 'four')
  assert.equal(
    await unseal(await connectKeys(), 'p', later),
    'four',
    'a lost key is put back by those who know it',
  )
  await redis.ask('unlink', 'fairlead:login:key')
  await redis.ask('hset', 'fairlead:login:key', 'a', 'b')
  const fourth = await connectKeys()
  assert.equal(await unseal(fourth, 'p', await seal(fourth, 'p', 'five')), 'five')
})
