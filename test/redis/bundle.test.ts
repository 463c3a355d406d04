/** What is published, with Redis: the client is a part of the bundle that is loaded only where it is needed. */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import test from 'node:test'
import { buildPackage } from '../../scripts/build.ts'
import { Browser } from '../login/browser.ts'
import { formSettings } from '../login/support.ts'
import { startRedis } from '../support/redis.ts'
import { startServe } from '../support/serve.ts'

test('the bundle keeps its sessions in Redis', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bundle-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await buildPackage(join(folder, 'dist'))
  cpSync(resolve(import.meta.dirname, '../../package.json'), join(folder, 'package.json'))
  const settings = { ...formSettings, anonymous: { enabled: false }, redis: { connection: redis.url } }
  const served = startServe(t, settings, { program: join(folder, 'dist/fairlead.js') })
  const browser = new Browser(await served.listening)

  await browser.login('admin', 'secret')

  assert.equal((await browser.user())?.['username'], 'admin')
  assert.equal(((await redis.ask('keys', 'spring:session:fairlead:*')) as string[]).length, 2)
})
