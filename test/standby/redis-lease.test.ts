/** The lease of the back ends in Redis. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { createRedisLease, leaseKey } from '../../packages/app/standby/redis-lease.ts'
import { openRedis } from '../../packages/base/redis/open-redis.ts'
import type { RedisSettings } from '../../packages/base/redis/settings.ts'
import { documentedUser, type RedisServer, startRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait-until.ts'
import { checkLease, standBy } from './lease-suite.ts'

async function open(t: TestContext, { port }: RedisServer) {
  const login = { username: 'fairlead', password: 'secret' }
  const settings: RedisSettings = {
    ...{
      place: { kind: 'server', host: '127.0.0.1', port },
      ...login,
      database: 0,
      tls: undefined,
    },
    ...{ timeoutMs: 2000, relaxedHealth: true },
  }
  const redis = await openRedis(settings, pino({ level: 'silent' }))
  t.after(() => redis.close())
  return createRedisLease(redis)
}

test('the lease in Redis has one holder', async (t) => {
  const server = await startRedis(t, { users: [documentedUser()] })
  if (server === undefined) return
  await checkLease(t, { open: () => open(t, server), forget: () => server.ask('del', leaseKey) })
})

test('a holder without Redis stops before a standby takes over', async (t) => {
  const server = await startRedis(t, { users: [documentedUser()] })
  if (server === undefined) return
  const holder = await standBy(t, await open(t, server), 'a')
  const standby = await standBy(t, await open(t, server), 'b')
  await holder.take()
  const waiting = standby.take()
  server.signal('SIGSTOP')
  await waitUntil(() => holder.lost.length > 0, 'a holder that stops')
  assert.match(holder.lost[0] ?? '', /Redis has not renewed it/)
  assert.equal(standby.lease.record, undefined)
  server.signal('SIGCONT')
  assert.equal((await waiting)?.term, 2)
})
