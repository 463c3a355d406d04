/** The cached list of accounts. */
import assert from 'node:assert/strict'
import test from 'node:test'
import pino from 'pino'
import { AccountCache } from '../../packages/gateway/operations/account-cache.ts'
import { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'
import { InTurn, silence, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

test('a slow refresh does not replace the list of a later one', async (t) => {
  const [old, changed] = [{ name: 'old' }, { name: 'changed' }]
  const clouddriver = await startUpstream(t, {
    'GET /credentials': new InTurn(silence, [old, changed]),
  })
  const upstreams = new Upstreams({
    services: { clouddriver: { kind: 'external', baseUrl: clouddriver.url } },
    bounds: { connectTimeoutMs: 5000, readTimeoutMs: 30_000, maxConnections: 4, maxWaiting: 10 },
    keepAliveMs: 1000,
    maxAnswerBytes: 1_000_000,
  })
  t.after(() => upstreams.close())
  const cache = new AccountCache(upstreams, 30_000, pino({ level: 'silent' }))

  const before = cache.refresh()
  await waitUntil(() => clouddriver.background.length === 1, 'the first call')
  await cache.refresh()
  clouddriver.release([old])
  await before

  assert.deepEqual(
    cache.list().map(({ all }) => all),
    [old, changed],
  )
})
