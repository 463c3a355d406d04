/** A gateway of a later version beside one of this version, as during an upgrade: both work with the sessions of both. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { Browser } from '../login/browser.ts'
import { formSettings, startGuarded } from '../login/support.ts'
import { copyProgram } from '../support/extended-program.ts'
import { useUsualHashCost } from '../support/gateway.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { startServe } from '../support/serve.ts'

test('sessions of both versions work for each other', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const settings = { ...formSettings, redis: { connection: redis.url } }
  useUsualHashCost(t)
  const present = (await startGuarded(t, settings)).open()
  const laterProcess = startServe(
    t,
    { ...settings, anonymous: { enabled: false } },
    { program: createLaterVersion(t) },
  )
  const later = new Browser(await laterProcess.listening, proxied)

  const saved = '/auth/redirect?to=https%3A%2F%2Fdeck.example.com%2F%23%2Ffirst'
  await later.visit(saved)
  present.resume(later)
  assert.ok((await present.login('admin', 'secret')).location?.endsWith(saved))
  await present.visit('/auth/logout')

  await later.login('admin', 'secret')
  assert.deepEqual(await stampsOf(redis), [
    { version: 2, readableFrom: 1, assurance: 'two factors' },
  ])
  present.plant('SESSION', later.session as string)
  const user = await present.user()
  assert.equal(user?.['username'], 'admin')
  assert.ok(!('assurance' in user))
  assert.deepEqual(await stampsOf(redis), [
    { version: 2, readableFrom: 1, assurance: 'two factors' },
  ])

  await present.visit('/auth/logout')
  assert.equal((await present.login('admin', 'secret')).status, 302)
  assert.deepEqual(await stampsOf(redis), [
    { version: 1, readableFrom: undefined, assurance: undefined },
  ])
  later.plant('SESSION', present.session as string)
  assert.equal((await later.user())?.['username'], 'admin')
})

const proxied = {
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'gate.example.com',
  'x-forwarded-port': '443',
}

/** The program as it might be one day: it notes more, and says that older versions may read it all the same. */
function createLaterVersion(t: TestContext): string {
  const outside = mkdtempSync(join(tmpdir(), 'fairlead-later-'))
  t.after(() => rmSync(outside, { recursive: true, force: true }))
  const folder = copyProgram(outside)
  const file = join(folder, 'packages/gateway/sessions/session.ts')
  const source = readFileSync(file, 'utf8')
  const patched = source
    .replace('const ownVersion = 1', 'const ownVersion = 2')
    .replace('version: ownVersion,', "assurance: 'two factors', version: ownVersion,")
  assert.ok(patched.includes('ownVersion = 2') && patched.includes('assurance'))
  writeFileSync(file, patched)
  return join(folder, 'bin/fairlead.ts')
}

async function stampsOf(redis: RedisServer): Promise<unknown[]> {
  const keys = (await redis.ask('keys', 'spring:session:fairlead:*')) as string[]
  const sessions = keys.filter((key) => !key.includes(':of:'))
  return Promise.all(
    sessions.map(async (key) => {
      const { version, readableFrom, assurance } = JSON.parse(
        String(await redis.ask('get', key)),
      ) as Record<string, unknown>
      return { version, readableFrom, assurance }
    }),
  )
}
