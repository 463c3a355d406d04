/** Limits that operators change in Redis while the gateway runs, as they do with Gate. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { basic } from '../login/support.ts'
import { runGateway } from '../support/gateway.ts'
import { documentedUser, type RedisServer, startRedis } from '../support/redis.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const alice = basic('alice', 'correct-horse')
const login = {
  security: { basicform: { enabled: true }, user: { name: 'alice', password: 'correct-horse' } },
}
const refreshMs = 5000

interface Running {
  redis: RedisServer
  lines: Record<string, unknown>[]
  /** Status, capacity, time until the period ends in whole seconds, learning. */
  ask(headers?: Record<string, string>): Promise<(string | number | null)[]>
  passing(ms: number): void
}

async function start(
  t: TestContext,
  limits: Record<string, unknown> = {},
  acl = documentedUser(),
): Promise<Running | undefined> {
  const redis = await startRedis(t, { users: [acl] })
  if (redis === undefined) return undefined
  const orca = await startUpstream(t, () => ({}))
  const lines: Record<string, unknown>[] = []
  let nowMs = Date.now()
  const { url } = await runGateway(
    t,
    {
      ...login,
      'rate-limit': { enabled: true, capacity: 10, ...limits },
      redis: { connection: redis.url.replace('//', '//fairlead@'), password: 'secret' },
      services: { orca: { baseUrl: orca.url } },
    },
    { now: () => nowMs, log: (line) => lines.push(line) },
  )
  // Connecting may take longer than a request waits.
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, 'Redis')
  return {
    redis,
    lines,
    ask: async (headers = alice) => {
      const answer = await fetch(`${url}/pipelines/1`, { headers })
      await answer.arrayBuffer()
      return [
        answer.status,
        answer.headers.get('x-ratelimit-capacity'),
        answer.headers.get('x-ratelimit-learning'),
      ]
    },
    passing: (ms) => {
      nowMs += ms
    },
  }
}

test('a capacity in Redis overrides the configuration', async (t) => {
  const running = await start(t, { capacityByPrincipal: [{ principal: 'alice', override: 20 }] })
  if (running === undefined) return
  const { redis, ask, passing } = running
  assert.deepEqual(await ask(), [200, '20', 'true'])
  await redis.ask('set', 'rateLimit:capacity:alice', '30')
  assert.deepEqual(await ask(), [200, '20', 'true'])
  passing(refreshMs)
  assert.deepEqual(await ask(), [200, '30', 'true'])
  await redis.ask('del', 'rateLimit:capacity:alice')
  passing(refreshMs)
  assert.deepEqual(await ask(), [200, '20', 'true'])
})

const cases: [
  fact: string,
  keys: [string, ...string[]][],
  limits: Record<string, unknown>,
  headers: object,
  shown: unknown[],
][] = [
  [
    'a program has the capacity of its name in Redis, unless the user has one in the configuration',
    [['set', 'rateLimit:capacity:app:Batch', '25']],
    {},
    { 'x-ratelimit-app': 'Batch' },
    [200, '25', 'true'],
  ],
  [
    'the capacity of the user in the configuration counts before that of the program in Redis',
    [['set', 'rateLimit:capacity:app:Batch', '25']],
    { capacityByPrincipal: [{ principal: 'alice', override: 20 }] },
    { 'x-ratelimit-app': 'Batch' },
    [200, '20', 'true'],
  ],
  [
    'a capacity of 0 refuses',
    [['set', 'rateLimit:capacity:alice', '0']],
    { learning: false },
    {},
    [429, '0', 'false'],
  ],
  [
    'learning is switched off in Redis',
    [['set', 'rateLimit:learning', 'False']],
    {},
    {},
    [200, '10', 'false'],
  ],
  [
    'learning is switched on in Redis',
    [['set', 'rateLimit:learning', 'true']],
    { learning: false },
    {},
    [200, '10', 'true'],
  ],
  [
    'a user is enforced in Redis',
    [['sadd', 'rateLimit:enforcing', 'alice']],
    {},
    {},
    [200, '10', 'false'],
  ],
  [
    'a user is ignored in Redis',
    [['sadd', 'rateLimit:ignoring', 'alice']],
    { learning: false },
    {},
    [200, '10', 'true'],
  ],
  [
    'who is enforced and ignored in Redis is enforced',
    [
      ['sadd', 'rateLimit:enforcing', 'alice'],
      ['sadd', 'rateLimit:ignoring', 'alice'],
    ],
    {},
    {},
    [200, '10', 'false'],
  ],
  [
    'who is listed in Redis is not looked up in the configuration',
    [['sadd', 'rateLimit:ignoring', 'alice']],
    { enforcing: ['alice'] },
    {},
    [200, '10', 'true'],
  ],
  [
    'who is not listed in Redis is looked up in the configuration',
    [['sadd', 'rateLimit:ignoring', 'bob']],
    { enforcing: ['alice'] },
    {},
    [200, '10', 'false'],
  ],
  [
    'the web UI is limited once app:deck is enforced in Redis',
    [['sadd', 'rateLimit:enforcing', 'app:deck']],
    {},
    { 'x-ratelimit-app': 'deck' },
    [200, '10', 'false'],
  ],
  [
    'the web UI is not limited otherwise',
    [['set', 'rateLimit:capacity:alice', '5']],
    {},
    { 'x-ratelimit-app': 'deck' },
    [200, null, null],
  ],
]

for (const [fact, keys, limits, headers, shown] of cases) {
  test(`${fact}`, async (t) => {
    const running = await start(t, limits)
    if (running === undefined) return
    for (const [command, ...args] of keys) await running.redis.ask(command, ...args)
    assert.deepEqual(await running.ask({ ...alice, ...headers }), shown)
  })
}

test('a period in Redis applies to the next window', async (t) => {
  const running = await start(t)
  if (running === undefined) return
  await running.redis.ask('set', 'rateLimit:rateSeconds:alice', '600')
  await running.ask()
  assert.ok(Number(await running.redis.ask('pttl', 'fairlead:limit:user:alice')) > 100_000)
})

test('anonymous requests share the capacity of anonymous', async (t) => {
  const running = await start(t, {}, documentedUser())
  if (running === undefined) return
  const { redis } = running
  await redis.ask('set', 'rateLimit:capacity:anonymous', '7')
  const { url } = await runGateway(t, {
    'rate-limit': { enabled: true, capacity: 10 },
    redis: { connection: redis.url.replace('//', '//fairlead@'), password: 'secret' },
  })
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, 'Redis')
  const answer = await fetch(`${url}/version`)
  assert.equal(answer.headers.get('x-ratelimit-capacity'), '7')
})

test('values that are not usable are ignored, and told once', async (t) => {
  const running = await start(t)
  if (running === undefined) return
  const { redis, ask, passing, lines } = running
  for (const [key, value] of [
    ['rateLimit:capacity:alice', 'many'],
    ['rateLimit:rateSeconds:alice', '0'],
    ['rateLimit:learning', 'perhaps'],
    ['rateLimit:enforcing', 'a text'],
  ] as const) {
    await redis.ask('set', key, value)
  }
  await redis.ask('sadd', 'rateLimit:capacity:app:batch', 'a set')
  for (let time = 0; time < 3; time++) {
    assert.deepEqual(await ask({ ...alice, 'x-ratelimit-app': 'batch' }), [200, '10', 'true'])
    passing(refreshMs)
  }
  const told = lines.filter(({ msg }) => /limit that is set in Redis is ignored/.test(String(msg)))
  assert.deepEqual(told.map(({ key, value }) => `${key} ${value}`).sort(), [
    'rateLimit:capacity:alice many',
    'rateLimit:capacity:app:batch not a text',
    'rateLimit:enforcing not a set',
    'rateLimit:learning perhaps',
    'rateLimit:rateSeconds:alice 0',
  ])
})

test('without the right to read limits, the configuration applies', async (t) => {
  const running = await start(t, {}, documentedUser().replace('~rateLimit:* ', ''))
  if (running === undefined) return
  const { ask, passing, lines } = running
  for (let time = 0; time < 3; time++) {
    assert.deepEqual(await ask(), [200, '10', 'true'])
    passing(refreshMs)
  }
  const told = lines.filter(({ msg }) =>
    /limits that are set in Redis cannot be read/.test(String(msg)),
  )
  assert.equal(told.length, 1)
  assert.match(String(told[0]?.['msg']), /lacks a right that docs\/guides\/replicas\.md lists/)
})

test('while Redis is silent, what was read last counts', async (t) => {
  const running = await start(t)
  if (running === undefined) return
  const { redis, ask, passing, lines } = running
  await redis.ask('set', 'rateLimit:capacity:alice', '30')
  await redis.ask('set', 'rateLimit:learning', 'false')
  assert.deepEqual(await ask(), [200, '30', 'false'])
  redis.signal('SIGSTOP')
  passing(refreshMs)
  // Nobody counts now, so that no answer is labelled.
  for (let time = 0; time < 5; time++) assert.deepEqual(await ask(), [200, null, null])
  redis.signal('SIGCONT')
  await waitUntil(async () => (await ask())[1] === '30', 'the capacity')
  assert.ok(lines.some(({ msg }) => /those that were read last count/.test(String(msg))))
})

test('where each replica counts for itself, nothing is read from Redis', async (t) => {
  const running = await start(t, { redis: { enabled: false } })
  if (running === undefined) return
  await running.redis.ask('set', 'rateLimit:capacity:alice', '30')
  const seen = await running.redis.watch(t)
  assert.deepEqual(await running.ask(), [200, '10', 'true'])
  await running.redis.ask('ping')
  await waitUntil(() => seen.length > 0, 'what was sent')
  assert.deepEqual(
    seen.filter((command) => command.join(' ').includes('rateLimit')),
    [],
  )
})
