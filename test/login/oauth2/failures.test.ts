/** What a login that fails leaves behind: an answer that leads back, a session that is as before, and no second chance. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { startRedis } from '../../support/redis.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import {
  assertRefused,
  beginLogin,
  currentSettings,
  logIn,
  olderSettings,
  startOAuth2,
  startPath,
} from './support.ts'

test('auth-scenario 95: a wrong state leaves the login under way as it is', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  const callback = await beginLogin(browser)

  await assertRefused(browser, await browser.visit(`/login?code=c&state=${'T'.repeat(43)}`))
  assert.equal(provider.requestsTo('/token').length, 0)

  assert.equal((await browser.visit(callback)).status, 302)
  assert.notEqual(await browser.user(), undefined)
})

test('auth-scenario 96: a callback without a login under way asks nobody', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()

  await assertRefused(browser, await browser.visit(`/login?code=c&state=${'S'.repeat(43)}`))

  assert.equal(provider.requestsTo('/token').length, 0)
})

test('auth-scenario 97: code and state of one browser are nothing in another', async (t) => {
  const provider = await startIdentityProvider(t)
  const gateway = await startOAuth2(t, olderSettings(provider))
  const [one, two] = [gateway.open(), gateway.open()]
  const callback = await beginLogin(one)
  await beginLogin(two)

  await assertRefused(two, await two.visit(callback))

  assert.equal(provider.requestsTo('/token').length, 0)
})

test('auth-scenario 98: a callback works once and keeps the session', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  const callback = await beginLogin(browser)
  await browser.visit(callback)

  const again = await browser.visit(callback)

  assert.equal(again.status, 401)
  assert.equal(provider.requestsTo('/token').length, 1)
  assert.notEqual(await browser.user(), undefined)
})

test('a callback works once across replicas that share Redis', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const provider = await startIdentityProvider(t)
  const settings = { ...olderSettings(provider), redis: { connection: redis.url, timeout: 60_000 } }
  const [first, second] = await Promise.all([startOAuth2(t, settings), startOAuth2(t, settings)])
  const browser = first.open()
  const callback = new URL(await beginLogin(browser), first.url)
  const { cookie } = browser
  const visit = (url: string) => fetch(url, { headers: { cookie }, redirect: 'manual' })
  const statuses: number[] = []
  for (const { url } of [first, second, first])
    statuses.push((await visit(`${url}${callback.pathname}${callback.search}`)).status)
  assert.deepEqual(statuses, [302, 401, 401])
  assert.equal(provider.requestsTo('/token').length, 1)
})

test('a concurrent callback asks the token endpoint once', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  const callback = await beginLogin(browser)

  const answers = await Promise.all([browser.visit(callback), browser.visit(callback)])

  assert.deepEqual(answers.map(({ status }) => status).sort(), [302, 401])
  assert.equal(provider.requestsTo('/token').length, 1)
})

test('auth-scenario 99: a provider error ends the login without its text', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  const state = new URLSearchParams((await beginLogin(browser)).replace('/login', '')).get('state')
  const refusal = `/login?error=access_denied&error_description=%3Cscript%3Ealert(1)%3C/script%3E&state=${state}`

  const page = await browser.visit(refusal, { headers: { accept: 'text/html' } })

  await assertRefused(browser, page)
  assert.ok(!page.text.includes('alert(1)'))
  assert.equal((await browser.visit(`/login?code=c&state=${state}`)).status, 401)
  assert.equal(provider.requestsTo('/token').length, 0)
})

test('auth-scenario 101: a login expires after ten minutes', async (t) => {
  const provider = await startIdentityProvider(t)
  let time = Date.now()
  const browser = (await startOAuth2(t, olderSettings(provider), { now: () => time })).open()
  const inTime = await beginLogin(browser)
  const late = await beginLogin(browser)

  time += 10 * 60_000 - 1000
  assert.equal((await browser.visit(inTime)).status, 302)
  time += 2000
  assert.equal((await browser.visit(late)).status, 401)
})

test('auth-scenario 104: a failure is a page for users, an object for programs', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = {
    ...olderSettings(provider),
    server: { servlet: { 'context-path': '/api/v1' } },
  }
  const browser = (await startOAuth2(t, settings)).open()
  const callback = `/login?code=c&state=${'S'.repeat(43)}`

  const page = await browser.visit(callback, {
    headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
  })
  const object = await browser.visit(callback, { headers: { accept: 'application/json' } })

  assert.equal(page.status, 401)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(page.text, /href="\/api\/v1\/login"/)
  assert.ok(page.text.includes(page.headers.get('x-spinnaker-request-id') ?? 'none'))
  assert.equal(page.headers.get('content-security-policy')?.includes("default-src 'none'"), true)
  assert.equal(object.status, 401)
  const { status, error, message, timestamp, path } = JSON.parse(object.text) as Record<
    string,
    unknown
  >
  assert.deepEqual(
    [status, error, typeof message, typeof timestamp, path],
    [401, 'Unauthorized', 'string', 'string', undefined],
  )
  assert.equal(page.location ?? object.location, null)
})

test('a response applies to its own registration only', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = currentSettings(provider, {
    beside: {
      second: { 'client-id': 'two', 'client-secret': 'x', provider: 'corp', scope: 'openid' },
    },
  })
  const browser = (await startOAuth2(t, settings)).open()
  const callback = await beginLogin(browser, '/oauth2/authorization/corp')

  await assertRefused(browser, await browser.visit(callback.replace('/code/corp', '/code/second')))

  assert.equal(provider.requestsTo('/token').length, 0)
})

test('a failed login keeps the saved page', async (t) => {
  const provider = await startIdentityProvider(t, {
    tokens: () => new Reply(400, { error: 'invalid_grant' }),
  })
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  await browser.visit(startPath)
  assert.equal((await logIn(browser)).status, 401)

  provider.faults = {}

  assert.equal((await logIn(browser)).location, `https://gate.example.com${startPath}`)
})

test('auth-scenario 108: without the permission service a login needs the fallback', async (t) => {
  const provider = await startIdentityProvider(t)
  const fiat = await startUpstream(t, () => new Reply(500))
  const settings = (legacyFallback: boolean) => ({
    ...olderSettings(provider),
    services: {
      fiat: { baseUrl: fiat.url, enabled: true, legacyFallback, retry: { maxBackoffMillis: 100 } },
    },
  })
  const [strict, lenient] = await Promise.all([
    startOAuth2(t, settings(false)),
    startOAuth2(t, settings(true)),
  ])
  const [refused, admitted] = [strict.open(), lenient.open()]

  const [first, second] = await Promise.all([
    logIn(refused, { accept: 'application/json' }),
    logIn(admitted),
  ])

  await assertRefused(refused, first, 503)
  assert.equal((JSON.parse(first.text) as { status: number }).status, 503)
  assert.equal(second.status, 302)
  assert.equal((await admitted.user())?.['username'], 'a@x.io')
})

test('a user rejected by the platform gets a page', async (t) => {
  const provider = await startIdentityProvider(t)
  const fiat = await startUpstream(t, () => new Reply(400, { message: 'no such realm' }))
  const gateway = await startOAuth2(t, {
    ...olderSettings(provider),
    services: { fiat: { baseUrl: fiat.url, enabled: true } },
  })
  provider.person = { email: 'anonymous' }
  const reserved = gateway.open()
  const named = await logIn(reserved)
  await assertRefused(reserved, named)
  assert.match(named.text, /<h1>Not signed in<\/h1>/)
  assert.equal(fiat.background.length, 0)

  provider.person = { email: 'a@x.io' }
  const browser = gateway.open()
  const answer = await logIn(browser)
  await assertRefused(browser, answer, 403)
  assert.match(
    answer.text,
    /<h1>Not signed in<\/h1>.*The permission service accepts no user of this name.*no such realm/s,
  )
  assert.equal(
    fiat.background.filter(({ path }) => path.startsWith('/roles/')).length,
    1,
    'asking again would change nothing',
  )
})

test('auth-scenario 247: after a logout the way leads through the provider again', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  await logIn(browser)
  const cookie = browser.cookie

  await browser.visit('/auth/logout')
  const answer = await browser.visit('/credentials', { headers: { cookie } })

  assert.equal(answer.location, 'https://gate.example.com/login')
  assert.equal((await logIn(browser)).status, 302)
})
