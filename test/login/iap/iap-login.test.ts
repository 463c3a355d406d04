/** Login by the Identity-Aware Proxy: every token is checked, with every request, by keys that the proxy's owner publishes. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { loadConfig } from '../../../packages/app/config/config.ts'
import { type Clock, createClock } from '../../sessions/support.ts'
import { startGateway } from '../../support/gateway.ts'
import { Browser, type Visit } from '../browser.ts'
import { audience, type KeyServer, startKeyServer } from './key-server.ts'

const header = 'x-goog-iap-jwt-assertion'

interface Fixture {
  clock: Clock
  keys: KeyServer
  url: string
  visit(path: string, token: string): Promise<Visit>
  /** As a program. */
  ask(path: string, token: string): Promise<Visit>
}

async function start(t: TestContext): Promise<Fixture> {
  const clock = createClock(Date.now())
  const keys = await startKeyServer(t, clock.now)
  const settings = { google: { iap: { enabled: true, audience, iapVerifyKeyUrl: keys.url } } }
  const url = await startGateway(t, settings, { now: clock.now })
  return {
    clock,
    keys,
    url,
    visit: (path, token) => new Browser(url).visit(path, { headers: { [header]: token } }),
    ask: (path, token) => new Browser(url).ask(path, { headers: { [header]: token } }),
  }
}

async function assertNobody({ ask, visit }: Fixture, token: string, what: string): Promise<void> {
  const refused = await ask('/credentials', token)
  assert.deepEqual(
    [refused.status, (JSON.parse(refused.text) as { status: number }).status],
    [403, 403],
    what,
  )
  const user = await visit('/auth/user', token)
  assert.deepEqual([user.status, user.text], [200, ''], what)
}

test('auth-scenario 180: a good token says who is calling, and no cookie follows', async (t) => {
  const { keys, visit } = await start(t)
  const answer = await visit('/auth/user', await keys.sign())
  const user = JSON.parse(answer.text) as Record<string, unknown>

  assert.deepEqual(
    [user['username'], user['email'], answer.cookies],
    ['alice@example.com', 'alice@example.com', []],
  )
  assert.equal((await visit('/version', await keys.sign({ aud: ['other', audience] }))).status, 200)
})

test('auth-scenario 181: a missing or wrong token is not logged in', async (t) => {
  const fixture = await start(t)
  const { clock, keys, url } = fixture
  const seconds = Math.floor(clock.nowMs / 1000)
  const none = await new Browser(url).visit('/credentials')
  assert.deepEqual([none.status, none.location], [403, null])
  assert.equal(await new Browser(url).user(), undefined)

  await keys.addKey('hidden', { published: false })
  await keys.addKey('rsa', { algorithm: 'RS256' })
  const good = await keys.sign()
  const [head = '', payload = '', signature = ''] = good.split('.')
  const unsigned = Buffer.from(JSON.stringify({ alg: 'none', kid: 'k1' })).toString('base64url')
  const wrong: [what: string, token: string][] = [
    ['expired', await keys.sign({ exp: seconds - 31 })],
    ['issued in the future', await keys.sign({ iat: seconds + 32 })],
    ['another audience', await keys.sign({ aud: 'other' })],
    ['no audience', await keys.sign({ aud: undefined })],
    ['another issuer', await keys.sign({ iss: 'https://evil.example' })],
    ['an unknown key', await keys.sign({}, { kid: 'hidden' })],
    ['another algorithm', await keys.sign({}, { kid: 'rsa', alg: 'RS256' })],
    ['no e-mail address', await keys.sign({ email: undefined })],
    ['an empty e-mail address', await keys.sign({ email: ' ' })],
    ['a reserved name', await keys.sign({ email: 'anonymous' })],
    ['a name with an invisible character', await keys.sign({ email: 'alice@example.com\u200b' })],
    ['a name with blanks around', await keys.sign({ email: ' alice@example.com' })],
    ['no subject', await keys.sign({ sub: undefined })],
    ['no end', await keys.sign({ exp: undefined })],
    ['no signature', `${unsigned}.${payload}.`],
    ['another signature', `${head}.${payload}.${signature.slice(0, -4)}AAAA`],
    ['no token', 'x.y.z'],
    ['nothing', ' '],
  ]
  for (const [what, token] of wrong) await assertNobody(fixture, token, what)
})

test('auth-scenario 182: the signature of a good token makes no other payload good', async (t) => {
  const fixture = await start(t)
  const good = await fixture.keys.sign()
  assert.equal((await fixture.visit('/version', good)).status, 200)
  const [head, payload = '', signature] = good.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
  const forged = Buffer.from(JSON.stringify({ ...claims, email: 'admin@example.com' })).toString(
    'base64url',
  )

  await assertNobody(fixture, `${head}.${forged}.${signature}`, 'forged')
})

test('auth-scenario 183: an expired token is rejected beyond the skew', async (t) => {
  const fixture = await start(t)
  const token = await fixture.keys.sign()
  assert.equal((await fixture.visit('/version', token)).status, 200)
  fixture.clock.nowMs += 629_000
  assert.equal((await fixture.visit('/version', token)).status, 200)
  fixture.clock.nowMs += 2000

  await assertNobody(fixture, token, 'expired')
})

test('keys are loaded once, and again for new ones', async (t) => {
  const { clock, keys, visit } = await start(t)
  const token = await keys.sign()
  for (let index = 0; index < 5; index++) assert.equal((await visit('/version', token)).status, 200)
  assert.equal(keys.upstream.requests.length, 1)

  await keys.addKey('k2')
  assert.equal((await visit('/version', await keys.sign({}, { kid: 'k2' }))).status, 200)
  assert.equal(keys.upstream.requests.length, 1)

  await keys.addKey('hidden', { published: false })
  const unknown = await keys.sign({}, { kid: 'hidden' })
  for (let index = 0; index < 5; index++)
    assert.equal((await visit('/version', unknown)).status, 403)
  assert.equal(keys.upstream.requests.length, 0)
  clock.nowMs += 31_000
  assert.equal((await visit('/version', unknown)).status, 403)
  assert.equal(keys.upstream.requests.length, 1)
})

test('without keys, protected paths are 503', async (t) => {
  const { keys, visit } = await start(t)
  const token = await keys.sign()
  keys.fail()

  assert.equal((await visit('/credentials', token)).status, 503)
  assert.equal((await visit('/auth/user', token)).text, '')
  assert.equal((await visit('/health', token)).status, 200)
})

test('a bearer token for the proxy does no harm', async (t) => {
  const { keys, url } = await start(t)
  const headers = { [header]: await keys.sign(), authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' }

  assert.equal((await new Browser(url).visit('/version', { headers })).status, 200)
})

test('auth-scenario 262: without an audience nothing starts, and the message names the key', async () => {
  const places = {
    cwd: '/nonexistent',
    homeDir: '/nonexistent',
    systemDir: '/nonexistent',
    env: {},
  }

  await assert.rejects(
    loadConfig({ ...places, settings: { 'google.iap.enabled': true } }),
    /google\.iap\.audience: is required/,
  )
})
