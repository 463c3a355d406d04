/** Guessing of passwords is slowed down, and strangers cannot turn that against users. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { type Guess, GuessLimit } from '../../packages/gateway/login/form/guess-limit.ts'
import { createClock } from '../sessions/support.ts'
import { program } from '../support/program.ts'
import { startRedis } from '../support/redis.ts'
import { createFolder } from '../support/temporary-folder.ts'
import type { Browser, Visit } from './browser.ts'
import { basic, formSettings, startGuarded } from './support.ts'

const run = promisify(execFile)
const minuteMs = 60_000

/** Wrong passwords until the limit, and how many there were. */
function guessUntilRefused(
  limit: GuessLimit,
  guess: Partial<Guess>,
  unlockedAtMs?: number,
): number {
  for (let count = 0; ; count++) if (waitMs(limit, guess, unlockedAtMs) > 0) return count
}

/** One wrong password. */
function waitMs(
  limit: GuessLimit,
  { username = 'alice', address = '10.0.0.1', browser }: Partial<Guess>,
  unlockedAtMs?: number,
): number {
  const decision = limit.begin({ username, address, browser }, unlockedAtMs)
  return decision.kind === 'wait' ? decision.waitMs : 0
}

function succeed(
  limit: GuessLimit,
  { username = 'alice', address = '10.0.0.1', browser }: Partial<Guess>,
): void {
  const decision = limit.begin({ username, address, browser })
  assert.equal(decision.kind, 'counted')
  if (decision.kind === 'counted') decision.succeed()
}

test('a network waits after ten wrong passwords for a user', () => {
  const clock = createClock()
  const limit = new GuessLimit(clock.now)
  assert.equal(guessUntilRefused(limit, {}), 10)
  for (const username of ['alice', 'Alice', 'ALICE'])
    assert.equal(waitMs(limit, { username }), 90_000)
  assert.equal(waitMs(limit, { address: '10.0.0.2' }), 0)
  assert.equal(waitMs(limit, { username: 'bob' }), 0)

  clock.nowMs += 90_000
  assert.equal(guessUntilRefused(limit, {}), 1)
  clock.nowMs += 15 * minuteMs
  assert.equal(guessUntilRefused(limit, {}), 10)
})

test('a network waits after failing for many users', () => {
  const limit = new GuessLimit(createClock().now)
  for (let attempt = 0; attempt < 500; attempt++) succeed(limit, { username: `user${attempt}` })
  for (let attempt = 0; attempt < 100; attempt++)
    assert.equal(waitMs(limit, { username: `name${attempt}` }), 0)
  assert.ok(waitMs(limit, { username: 'name100' }) > 0)
  assert.ok(
    waitMs(limit, { username: 'name100' }) <= 9000,
    'one more within seconds: the network is slow, not locked out',
  )
})

test('a known network of the user does not wait', () => {
  const limit = new GuessLimit(createClock().now)
  succeed(limit, { username: 'bob' })
  for (let attempt = 0; attempt < 200; attempt++) waitMs(limit, { username: `name${attempt}` })

  assert.ok(waitMs(limit, { username: 'carol' }) > 0)
  assert.equal(guessUntilRefused(limit, { username: 'bob' }), 10)
})

test('guesses from many networks count together', () => {
  const limit = new GuessLimit(createClock().now)
  succeed(limit, { address: '192.0.2.1' })
  for (let network = 0; network < 50; network++)
    assert.equal(waitMs(limit, { address: `10.0.${network}.1` }), 0)

  assert.ok(waitMs(limit, { address: '10.1.0.1' }) > 0)
  assert.equal(waitMs(limit, { address: '192.0.2.1' }), 0)
  assert.equal(waitMs(limit, { address: '10.1.0.1', browser: 'b1' }), 0)
})

test('a known browser has a limit of its own', () => {
  const limit = new GuessLimit(createClock().now)
  guessUntilRefused(limit, {})
  for (let attempt = 0; attempt < 200; attempt++) waitMs(limit, { username: `name${attempt}` })

  assert.equal(guessUntilRefused(limit, { browser: 'b1' }), 10)
  assert.ok(waitMs(limit, { browser: 'b1' }) > 0)
})

test('rejected attempts extend no wait', () => {
  const clock = createClock()
  const limit = new GuessLimit(clock.now)
  guessUntilRefused(limit, {})
  guessUntilRefused(limit, { username: 'root', address: '10.0.0.9' })
  for (let attempt = 0; attempt < 120_000; attempt++)
    waitMs(limit, { username: `name${attempt}`, address: '10.0.0.9' })
  assert.equal(waitMs(limit, {}), 90_000)
  assert.equal(waitMs(limit, { username: 'root', address: '10.0.0.9' }), 90_000)
  clock.nowMs += 90_000
  assert.equal(waitMs(limit, {}), 0)
})

test('full counters are kept while more networks guess than counters fit', () => {
  const limit = new GuessLimit(createClock().now)
  guessUntilRefused(limit, {})
  const networks = Array.from(
    { length: 60_000 },
    (_, index) => `2001:db8:${(index >> 8).toString(16)}:${(index & 255).toString(16)}::1`,
  )
  for (const [index, address] of networks.entries())
    waitMs(limit, { username: `name${index}`, address })

  assert.equal(waitMs(limit, {}), 90_000)
})

test('addresses of one IPv6 network count as one', () => {
  const limit = new GuessLimit(createClock().now)
  for (let attempt = 0; attempt < 10; attempt++)
    assert.equal(waitMs(limit, { address: `2001:db8:1:2::${attempt.toString(16)}` }), 0)
  assert.ok(waitMs(limit, { address: '2001:db8:1:2:a:b:c:d' }) > 0)
  assert.equal(waitMs(limit, { address: '2001:db8:1:3::1' }), 0)
})

test('an attempt that nobody could judge does not count', () => {
  const limit = new GuessLimit(createClock().now)
  for (let attempt = 0; attempt < 200; attempt++) {
    const decision = limit.begin({ username: 'alice', address: '10.0.0.1', browser: undefined })
    assert.equal(decision.kind, 'counted')
    if (decision.kind === 'counted') decision.withdraw()
  }
})

test('attackers cannot lock a known browser out', async (t) => {
  const { open, url } = await startGuarded(t, {}, { now: createClock(Date.now()).now })
  const own = open()
  const cookie = cookieOf(await own.login('admin', 'secret'))
  assert.match(
    cookie,
    /^LOGIN_BROWSER=[^;]+; Max-Age=15552000; Path=\/login; HttpOnly; SameSite=Strict; Secure$/,
  )
  await own.visit('/auth/logout')
  await guessAsStranger(open())

  const stopped = await open().login('admin', 'secret')
  assert.match(stopped.location ?? '', /\/login\?error=wait&minutes=2$/)
  assert.match((await open().visit('/login?error=wait&minutes=2')).text, /Try again in 2 minutes/)
  assert.doesNotMatch((await open().visit('/login?error=wait&minutes=%3Cb%3E')).text, /minutes/)
  const refused = await fetch(`${url}/credentials`, { headers: basic('admin', 'wrong') })
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '90'])
  assert.match(await refused.text(), /Try again in 2 minutes/)

  assert.equal((await own.login('admin', 'secret')).location?.includes('error'), false)
  const forged = open()
  forged.plant('LOGIN_BROWSER', cookieValue(cookie).replace(/^.{22}/, 'A'.repeat(22)))
  assert.match((await forged.login('admin', 'secret')).location ?? '', /error=wait/)
})

test('replicas share the key of known browsers', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const settings = { redis: { connection: redis.url, timeout: 60_000 } }
  const [one, other] = [await startGuarded(t, settings), await startGuarded(t, settings)]
  const own = one.open()
  const cookie = cookieOf(await own.login('admin', 'secret'))
  await guessAsStranger(other.open())
  const elsewhere = other.open()
  elsewhere.plant('LOGIN_BROWSER', cookieValue(cookie))

  assert.match((await other.open().login('admin', 'secret')).location ?? '', /error=wait/)
  assert.equal((await elsewhere.login('admin', 'secret')).location?.includes('error'), false)
})

test('replicas count wrong passwords together', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const settings = { redis: { connection: redis.url } }
  const replicas = [await startGuarded(t, settings), await startGuarded(t, settings)] as const
  const outcomes: string[] = []
  for (let attempt = 0; attempt < 12; attempt++) {
    const { location } = await replicas[attempt % 2]!.open().login('admin', 'wrong')
    outcomes.push(location?.includes('error=wait') ? 'wait' : 'refused')
  }
  assert.deepEqual(outcomes, [...Array(10).fill('refused'), 'wait', 'wait'])
  const keys = (await redis.ask('keys', 'fairlead:guess:*')) as string[]
  assert.deepEqual(keys.map((key) => key.split(':')[2]).sort(), ['network', 'pair', 'user'])
  assert.ok(keys.every((key) => !key.includes('admin')))

  await redis.kill()
  assert.doesNotMatch(
    (await replicas[0].open().login('admin', 'wrong')).location ?? '',
    /error=wait/,
  )
})

test('a right password empties the counter of the user in Redis', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const { open } = await startGuarded(t, { redis: { connection: redis.url, timeout: 60_000 } })
  for (let round = 0; round < 3; round++) {
    for (let attempt = 0; attempt < 9; attempt++) await open().login('admin', 'wrong')
    assert.equal((await open().login('admin', 'secret')).location?.includes('error'), false)
  }
  const kinds = ((await redis.ask('keys', 'fairlead:guess:*')) as string[]).map(
    (key) => key.split(':')[2],
  )
  assert.deepEqual(kinds.sort(), ['known', 'network', 'user'])
})

test('unlocking a user forgets failures until then, and no later ones', () => {
  const clock = createClock()
  const limit = new GuessLimit(clock.now)
  assert.equal(guessUntilRefused(limit, {}), 10)
  clock.nowMs += 1000
  const unlockedAtMs = clock.nowMs
  clock.nowMs += 1000

  assert.equal(guessUntilRefused(limit, { username: 'bob' }), 10)
  assert.ok(
    waitMs(limit, { username: 'bob' }, unlockedAtMs - 1) > 0,
    'unlocked before the failures',
  )
  assert.equal(guessUntilRefused(limit, {}, unlockedAtMs), 10)
  assert.ok(waitMs(limit, {}, unlockedAtMs) > 0, 'unlocked once')
})

test('an unlock ends the wait for all networks', () => {
  const clock = createClock()
  const limit = new GuessLimit(clock.now)
  for (let network = 0; network < 60; network++) waitMs(limit, { address: `10.1.${network}.1` })
  for (let user = 0; user < 100; user++) waitMs(limit, { username: `user${user}` })
  assert.ok(waitMs(limit, {}) > 0)
  const unlockedAtMs = clock.nowMs
  clock.nowMs += 1

  assert.equal(guessUntilRefused(limit, {}, unlockedAtMs), 10)
  assert.ok(waitMs(limit, { username: 'carol' }) > 0)
})

for (const place of ['the data directory', 'Redis'] as const) {
  test(`fairlead user unlock reaches a running gateway through ${place}`, async (t) => {
    const redis = place === 'Redis' ? await startRedis(t) : undefined
    if (place === 'Redis' && redis === undefined) return
    const clock = createClock(Date.now())
    const settings =
      redis === undefined ? {} : { redis: { connection: `redis://127.0.0.1:${redis.port}` } }
    const { open, dataDir } = await startGuarded(t, settings, { now: clock.now })
    const folder = createFolder('unlock')
    const configured = {
      ...formSettings,
      ...settings,
      data: { dir: redis === undefined ? dataDir : folder },
    }
    writeFileSync(join(folder, 'gate.yml'), JSON.stringify(configured))
    const unlock = (name: string) =>
      run(
        process.execPath,
        [program, 'user', 'unlock', name, '--config', join(folder, 'gate.yml')],
        { cwd: folder },
      )
    await guessAsStranger(open())
    assert.match((await open().login('admin', 'secret')).location ?? '', /error=wait/)

    await assert.rejects(unlock('adnim'), /There is no user "adnim"/)
    assert.match((await unlock('admin')).stdout, /^admin may log in again/)
    clock.nowMs = Math.max(clock.nowMs, Date.now()) + 1001

    assert.equal((await open().login('admin', 'secret')).location?.includes('error'), false)
  })
}

function cookieOf({ cookies }: Visit): string {
  return cookies.find((cookie) => cookie.startsWith('LOGIN_BROWSER=')) ?? ''
}

function cookieValue(cookie: string): string {
  return cookie.slice(cookie.indexOf('=') + 1, cookie.indexOf(';'))
}

async function guessAsStranger(stranger: Browser): Promise<void> {
  for (let attempt = 0; attempt < 11; attempt++) await stranger.login('admin', `guess ${attempt}`)
}
