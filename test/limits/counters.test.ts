/** What both ways of counting promise: in memory, and in Redis for several replicas. */
import assert from 'node:assert/strict'
import test from 'node:test'
import pino from 'pino'
import { openRedis } from '../../packages/base/redis/open-redis.ts'
import { type Counters, MemoryCounters } from '../../packages/gateway/limits/counters.ts'
import { RedisCounters } from '../../packages/gateway/limits/redis-counters.ts'
import { runGateway } from '../support/gateway.ts'
import { documentedUser, type RedisServer, startRedis } from '../support/redis.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const silent = pino({ level: 'silent' })

/** Counters as a gateway has them whose user in Redis may do what is documented. */
async function openCounters(
  t: test.TestContext,
  { port }: RedisServer,
  onUncounted = () => {},
): Promise<RedisCounters> {
  const redis = await openRedis(
    {
      place: { kind: 'server', host: '127.0.0.1', port },
      username: 'fairlead',
      password: 'secret',
      database: 0,
      tls: undefined,
      timeoutMs: 2000,
      relaxedHealth: true,
    },
    silent,
  )
  t.after(() => redis.close())
  // Connecting is no part of what is tested, and may take longer than a request waits.
  await redis.send('ping')
  return new RedisCounters({ redis, log: silent, onUncounted })
}

async function checkPromises(counters: Counters): Promise<void> {
  const caller = { field: 'all', capacity: 5 }
  const token = { field: 'token:1', capacity: 2 }
  const window = { key: 'user:a', periodMs: 60_000 }
  const charge = async (cost: number, counts = [caller]) => {
    const charged = await counters.charge({ ...window, cost, counts })
    assert.ok(charged !== undefined && charged.remainingMs > 0 && charged.remainingMs <= 60_000)
    return [charged.fits, ...charged.used]
  }

  assert.deepEqual(await charge(1), [true, 1])
  assert.deepEqual(await charge(1, [caller, token]), [true, 2, 1])
  assert.deepEqual(await charge(2, [caller, token]), [false, 2, 1])
  assert.deepEqual(await charge(3), [true, 5])
  assert.deepEqual(await charge(1), [false, 5])
  assert.deepEqual(
    await counters.charge({ key: 'user:b', periodMs: 60_000, cost: 9, counts: [caller] }),
    {
      fits: true,
      used: [5],
      remainingMs: 60_000,
    },
  )
  assert.deepEqual(
    await counters.charge({
      key: 'user:c',
      periodMs: 60_000,
      cost: 1,
      counts: [{ field: 'all', capacity: 0 }],
    }),
    {
      fits: false,
      used: [0],
      remainingMs: 60_000,
    },
  )
}

test('in memory, a charge takes all its counts or none', async () => {
  await checkPromises(new MemoryCounters(() => 1000))
})

test('in Redis, a charge takes all its counts or none', async (t) => {
  const redis = await startRedis(t, { users: [documentedUser()] })
  if (redis === undefined) return

  await checkPromises(await openCounters(t, redis))
  assert.deepEqual(((await redis.ask('keys', '*')) as string[]).sort(), [
    'fairlead:limit:user:a',
    'fairlead:limit:user:b',
  ])
})

test('windows in memory end, also when the clock goes back', () => {
  let nowMs = 1_000_000
  const counters = new MemoryCounters(() => nowMs)
  const charge = (key: string) =>
    counters.charge({ key, periodMs: 1000, cost: 1, counts: [{ field: 'all', capacity: 1 }] }).fits

  assert.deepEqual([charge('a'), charge('a')], [true, false])
  nowMs += 1000
  assert.deepEqual([charge('a'), charge('a')], [true, false])
  nowMs -= 500_000
  assert.deepEqual([charge('a'), charge('a')], [true, false])
  for (let caller = 0; caller < 50_000; caller++) charge(`${caller}`)
  assert.equal(charge('a'), true)
})

test('replicas count together with one command per request', async (t) => {
  const redis = await startRedis(t, { users: [documentedUser()] })
  if (redis === undefined) return
  const replicas = [await openCounters(t, redis), await openCounters(t, redis)]
  const charge = async (index: number, key = 'user:a', periodMs = 60_000) =>
    (
      await replicas[index]?.charge({
        key,
        periodMs,
        cost: 1,
        counts: [{ field: 'all', capacity: 4 }],
      })
    )?.fits

  const outcomes = await Promise.all([0, 1, 0, 1, 0, 1, 0, 1].map((index) => charge(index)))
  assert.equal(outcomes.filter((fits) => fits).length, 4)
  await charge(0, 'user:b', 50)
  await waitUntil(
    async () => !((await redis.ask('keys', '*')) as string[]).includes('fairlead:limit:user:b'),
    'the end of a window',
  )
  const seen = await redis.watch(t)
  assert.equal(await charge(0, 'user:c'), true)
  await waitUntil(() => seen.length > 0, 'what was sent')
  assert.deepEqual(
    seen
      .map(([command]) => command?.toLowerCase())
      .filter((command) => command?.startsWith('eval')),
    ['evalsha'],
  )
})

test('without Redis requests pass, and only the first waits', async (t) => {
  const redis = await startRedis(t, { users: [documentedUser()] })
  if (redis === undefined) return
  let uncounted = 0
  const counters = await openCounters(t, redis, () => uncounted++)
  const charge = async () =>
    await counters.charge({
      key: 'user:a',
      periodMs: 60_000,
      cost: 1,
      counts: [{ field: 'all', capacity: 2 }],
    })
  assert.ok(await charge())

  redis.signal('SIGSTOP')
  assert.equal(await charge(), undefined)
  for (let time = 0; time < 50; time++) {
    const events: string[] = []
    const charged = charge().then(() => events.push('allowed'))
    setImmediate(() => events.push('the next turn'))
    await charged
    assert.deepEqual(events, ['allowed'])
  }
  assert.ok(uncounted >= 50, String(uncounted))
  redis.signal('SIGCONT')
  await waitUntil(async () => (await charge()) !== undefined, 'Redis')

  await redis.ask('set', 'fairlead:limit:user:a', 'text')
  assert.equal(await charge(), undefined)
  await redis.kill()
  assert.equal(await charge(), undefined)
})

test('without Redis the gateway serves and logs once', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const orca = await startUpstream(t, () => ({}))
  const lines: Record<string, unknown>[] = []
  const { url } = await runGateway(
    t,
    {
      'rate-limit': { enabled: true, learning: false, capacity: 1 },
      redis: { connection: redis.url },
      services: { orca: { baseUrl: orca.url } },
    },
    { log: (line) => lines.push(line) },
  )
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, 'Redis')
  const ask = async () => {
    const answer = await fetch(`${url}/pipelines/1`)
    await answer.arrayBuffer()
    return [answer.status, answer.headers.get('x-ratelimit-remaining')]
  }
  assert.deepEqual(
    [await ask(), await ask()],
    [
      [200, '0'],
      [429, '0'],
    ],
  )

  await redis.kill()
  assert.deepEqual(
    [await ask(), await ask()],
    [
      [200, null],
      [200, null],
    ],
  )
  assert.equal(lines.filter(({ msg }) => /cannot count requests/.test(String(msg))).length, 1)
  assert.match(
    await (await fetch(`${url}/spectator/metrics`)).text(),
    /^fairlead_rate_limit_uncounted_total 2$/m,
  )
})

test('rate-limit.redis.enabled: false counts without Redis', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const orca = await startUpstream(t, () => ({}))
  const { url } = await runGateway(t, {
    'rate-limit': { enabled: true, learning: false, capacity: 1, redis: { enabled: false } },
    redis: { connection: redis.url },
    services: { orca: { baseUrl: orca.url } },
  })

  assert.equal((await fetch(`${url}/pipelines/1`)).status, 200)
  assert.equal((await fetch(`${url}/pipelines/1`)).status, 429)
  assert.deepEqual(await redis.ask('keys', '*'), [])
})

test('rate-limit.redis.fallback: memory counts while Redis is away', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const orca = await startUpstream(t, () => ({}))
  const lines: Record<string, unknown>[] = []
  const { url } = await runGateway(
    t,
    {
      'rate-limit': {
        enabled: true,
        learning: false,
        capacity: 2,
        rateSeconds: 600,
        redis: { fallback: 'memory' },
      },
      redis: { connection: redis.url },
      services: { orca: { baseUrl: orca.url } },
    },
    { log: (line) => lines.push(line) },
  )
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, 'Redis')
  const ask = async () => {
    const answer = await fetch(`${url}/pipelines/1`)
    await answer.arrayBuffer()
    return [answer.status, answer.headers.get('x-ratelimit-remaining')]
  }
  assert.deepEqual(await ask(), [200, '1'])
  await redis.kill()
  assert.deepEqual(
    [await ask(), await ask(), await ask()],
    [
      [200, '1'],
      [200, '0'],
      [429, '0'],
    ],
  )
  assert.ok(
    lines.some(({ msg }) => /each replica counts for itself until it can/.test(String(msg))),
  )
})
