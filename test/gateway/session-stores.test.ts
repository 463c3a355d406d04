/** Sessions as browsers see them, with each of the stores that they can live in; the store is really stopped and started. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type TestContext } from 'node:test'
import {
  basic,
  formSettings,
  type GuardedGateway,
  gatewayUrl,
  startGuarded,
  startPath,
} from '../login/support.ts'
import { letTimePass } from '../sessions/stores.ts'
import { type Clock, createClock } from '../sessions/support.ts'
import type { GatewaySettings } from '../support/gateway.ts'
import { startRedis } from '../support/redis.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

interface Setting extends GuardedGateway {
  clouddriver: Upstream
  pass(ms: number): Promise<void>
  breakDown(): Promise<void>
  repair(): Promise<void>
  /** How many sessions there are. */
  count(): Promise<number>
}

type Start = (t: TestContext, settings?: GatewaySettings) => Promise<Setting | undefined>

const stores: readonly [name: string, start: Start][] = [
  [
    'SQLite',
    async (t, settings = {}) => {
      const clock = createClock(Date.now())
      const guarded = await startBeforeClouddriver(t, settings, clock)
      const inDatabase = <T>(use: (db: DatabaseSync) => T) => {
        const db = new DatabaseSync(join(guarded.dataDir, 'sessions.db'))
        const result = use(db)
        db.close()
        return result
      }
      return {
        ...guarded,
        pass: async (ms) => {
          clock.nowMs += ms
        },
        breakDown: async () => inDatabase((db) => db.exec('ALTER TABLE sessions_2 RENAME TO gone')),
        repair: async () => inDatabase((db) => db.exec('ALTER TABLE gone RENAME TO sessions_2')),
        count: async () =>
          inDatabase((db) =>
            Number(db.prepare('SELECT count(*) AS n FROM sessions_2').get()?.['n']),
          ),
      }
    },
  ],
  [
    'Redis',
    async (t, settings = {}) => {
      const redis = await startRedis(t)
      if (redis === undefined) return undefined
      const clock = createClock(Date.now())
      const withRedis = { ...settings, redis: { connection: redis.url, timeout: 3000 } }
      const guarded = await startBeforeClouddriver(t, withRedis, clock)
      return {
        ...guarded,
        pass: async (ms) => {
          clock.nowMs += ms
          await letTimePass(redis, ms)
        },
        breakDown: () => redis.kill(),
        repair: () => redis.start(),
        count: async () =>
          ((await redis.ask('keys', 'spring:session:fairlead:[0-9a-f]*')) as string[]).length,
      }
    },
  ],
]

async function startBeforeClouddriver(t: TestContext, settings: GatewaySettings, clock: Clock) {
  const clouddriver = await startUpstream(t, { 'GET /credentials': [] })
  const services = { clouddriver: { baseUrl: clouddriver.url }, ...settings.services }
  return { ...(await startGuarded(t, { ...settings, services }, { now: clock.now })), clouddriver }
}

for (const [name, start] of stores) {
  test(`auth-scenario 66: ${name}: a planted session dies at the login`, async (t) => {
    const setting = await start(t)
    if (setting === undefined) return
    const attacker = setting.open()
    await attacker.login('admin', 'secret')
    const victim = setting.open()
    victim.plant('SESSION', attacker.session as string)

    await victim.login('admin', 'secret')

    assert.notEqual(victim.session, attacker.session)
    assert.equal(await attacker.user(), undefined)
    assert.equal((await victim.user())?.['username'], 'admin')
    assert.equal(await setting.count(), 1)
  })

  test(`auth-scenario 67: ${name}: a value that a browser brings never becomes a session`, async (t) => {
    const setting = await start(t)
    if (setting === undefined) return
    for (const chosen of ['attacker-chosen-value', 'B'.repeat(43)]) {
      const browser = setting.open()
      browser.plant('SESSION', chosen)
      await browser.visit(startPath)
      await browser.login('admin', 'secret')
      assert.notEqual(browser.session, chosen)
      browser.plant('SESSION', chosen)
      assert.equal(await browser.user(), undefined)
    }
  })

  test(`auth-scenario 68: ${name}: two browsers of one user have two sessions`, async (t) => {
    const setting = await start(t)
    if (setting === undefined) return
    const browsers = [setting.open(), setting.open()]
    for (const browser of browsers) await browser.login('admin', 'secret')
    assert.notEqual(browsers[0]?.session, browsers[1]?.session)
    for (const browser of browsers) assert.equal((await browser.user())?.['username'], 'admin')
    await browsers[0]?.visit('/auth/logout')
    assert.equal((await browsers[1]?.user())?.['username'], 'admin')
  })

  test(`auth-scenario 71, 72, 73, 74: ${name}: without its store no request is let in`, async (t) => {
    const setting = await start(t)
    if (setting === undefined) return
    const { open, clouddriver } = setting
    const browser = open()
    await browser.login('admin', 'secret')
    await waitUntil(async () => (await open().visit('/health')).status === 200, 'the gateway')
    clouddriver.answer({ 'GET /credentials': [] })
    await setting.pass(3500)
    await setting.breakDown()

    const empty = await open().visit('/auth/user')
    assert.deepEqual([empty.status, empty.text, empty.cookies], [200, '', []])
    assert.equal((await open().visit('/health')).status, 200)
    assert.equal((await open().visit('/livez')).status, 200)
    for (const path of ['/credentials', '/auth/user', '/networks']) {
      const answer = await browser.ask(path)
      assert.deepEqual([answer.status, answer.cookies], [503, []], path)
      assert.match(String(answer.headers.get('content-type')), /^application\/json/)
      assert.equal(JSON.parse(answer.text)['status'], 503)
    }
    const login = await open().login('admin', 'secret')
    assert.deepEqual([login.status, login.cookies], [503, []])
    assert.equal(
      (await open().visit('/credentials')).location,
      `${gatewayUrl}/login`,
      'which needs no store',
    )
    assert.equal(clouddriver.requests.length, 0)

    await setting.repair()
    await waitUntil(async () => (await browser.visit('/auth/user')).status === 200, 'the store')
    assert.equal((await browser.user())?.['username'], 'admin')
    assert.equal((await browser.visit('/credentials')).status, 200)
  })

  test(`auth-scenario 75: ${name}: a session lives as long as it is used`, async (t) => {
    const setting = await start(t, {
      server: { ...(formSettings['server'] as object), session: { timeoutInSeconds: 60 } },
    })
    if (setting === undefined) return
    const browser = setting.open()
    await browser.login('admin', 'secret')
    for (let time = 0; time < 5; time++) {
      await setting.pass(30_000)
      assert.ok(await browser.user())
    }
    await setting.pass(90_000)
    assert.equal(await browser.user(), undefined)
    const again = await browser.visit('/credentials')
    assert.match(again.location ?? '', /\/login\?expired$/)
  })

  test(`auth-scenario 77: ${name}: HTTP Basic starts no session`, async (t) => {
    const setting = await start(t)
    if (setting === undefined) return
    const browser = setting.open()
    for (let time = 0; time < 100; time++) {
      const answer = await browser.visit('/credentials', { headers: basic('admin', 'secret') })
      assert.deepEqual([answer.status, answer.cookies], [200, []])
    }
    assert.equal(await setting.count(), 0)
  })
}
