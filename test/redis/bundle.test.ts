/** What is published, with Redis: the client is a part of the bundle that is loaded only where it is needed. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Browser } from '../login/browser.ts'
import { formSettings } from '../login/support.ts'
import { packageFolder } from '../support/package-folder.ts'
import { startRedis } from '../support/redis.ts'
import { startServe } from '../support/serve.ts'

test('the bundle keeps its sessions in Redis', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const folder = await packageFolder(t)
  const settings = {
    ...formSettings,
    anonymous: { enabled: false },
    redis: { connection: redis.url },
  }
  const served = startServe(t, settings, { program: `${folder}/dist/fairlead.js` })
  const browser = new Browser(await served.listening)

  await browser.login('admin', 'secret')

  assert.equal((await browser.user())?.['username'], 'admin')
  assert.equal(((await redis.ask('keys', 'spring:session:fairlead:*')) as string[]).length, 2)
})
