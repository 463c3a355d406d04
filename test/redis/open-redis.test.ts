/** The connection to Redis: by every way to reach it, across every kind of interruption. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test, { type TestContext } from 'node:test'
import pino from 'pino'
import { openRedis } from '../../packages/base/redis/open-redis.ts'
import type { Redis } from '../../packages/base/redis/redis.ts'
import type { RedisSettings } from '../../packages/base/redis/settings.ts'
import {
  documentedUser,
  type RedisServer,
  startCluster,
  startRedis,
  startSentinel,
} from '../support/redis.ts'
import { keyPairOf } from '../support/self-signed.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const timeoutMs = 3000
const login = { username: 'fairlead', password: 'secret' }

test('a server is reached over TCP and its socket', async (t) => {
  const server = await startRedis(t)
  if (server === undefined) return
  const overTcp = await open(t, { place: toPlace(server), database: 2 })
  const overSocket = await open(t, {
    place: { kind: 'socket', path: server.socketPath },
    database: 2,
  })

  await overTcp.send('set', 'a', '1')

  assert.equal(await overSocket.send('get', 'a'), '1')
  assert.equal(await server.ask('get', 'a'), null)
})

test('TLS trusts the configured authority only', async (t) => {
  const server = await startRedis(t, { tls: true })
  if (server === undefined) return
  const place = { kind: 'server', host: 'localhost', port: server.port } as const
  const trusting = await open(t, { place, tls: { ca: readFileSync(server.caFile, 'utf8') } })
  const lines: Line[] = []
  const strict = await open(t, { place, tls: { ca: keyPairOf('another').certificate } }, lines)

  assert.equal(await trusting.send('ping'), 'PONG')
  await assert.rejects(strict.send('ping'))
  assert.match(await firstComplaint(lines), /check redis\.tls/)
})

test('a wrong or missing password is reported once', async (t) => {
  const server = await startRedis(t, { users: ['user fairlead on >secret ~* +@all'] })
  if (server === undefined) return
  const wrong: Line[] = []
  const missing: Line[] = []
  const place = toPlace(server)
  const refused = await open(t, { place, username: 'fairlead', password: 'guess' }, wrong)
  await open(t, { place }, missing)

  await assert.rejects(refused.send('ping'))
  assert.match(await firstComplaint(wrong), /check user and password/)
  assert.match(await firstComplaint(missing), /set redis\.password/)
  assert.ok(!JSON.stringify([wrong, missing]).includes('guess'))
  assert.equal(wrong.filter(({ level }) => level === 50).length, 1)
})

test('without a server requests fail fast and recover', async (t) => {
  const server = await startRedis(t)
  if (server === undefined) return
  const lines: Line[] = []
  const redis = await open(t, { place: toPlace(server) }, lines)
  await redis.send('set', 'kept', 'yes')
  await server.kill()

  await assert.rejects(redis.send('get', 'kept'))
  // Each of many would wait for the whole time-out; one slow moment of the machine does not.
  const followers = 20
  const refusedMs = performance.now()
  for (let follower = 0; follower < followers; follower++)
    await assert.rejects(redis.send('get', 'kept'))
  assert.ok(
    performance.now() - refusedMs < (followers * timeoutMs) / 4,
    'after the first nobody is kept waiting',
  )
  assert.equal(redis.isReachable(), false)
  assert.equal(redis.wasReached(), true)

  await server.start()
  await waitUntil(() => redis.isReachable(), 'the connection')
  assert.equal(await redis.send('get', 'kept'), 'yes')
  assert.deepEqual(
    lines.map(({ msg }) => msg.replace(/;.*/, '').replace(`127.0.0.1:${server.port}`, 'SERVER')),
    ['Redis answers', 'Redis at SERVER does not answer', 'Redis answers'],
  )
})

test('a user that a restarted server has forgotten is named in the log', async (t) => {
  const server = await startRedis(t, { users: [] })
  if (server === undefined) return
  await server.ask('acl', 'setuser', 'fairlead', 'on', '>secret', '~*', '+@all')
  const lines: Line[] = []
  const redis = await open(
    t,
    { place: toPlace(server), username: 'fairlead', password: 'secret' },
    lines,
  )
  await redis.send('ping')
  await server.kill()
  await assert.rejects(redis.send('ping'))
  await server.start()
  const rejection = await waitFor(
    () => lines.find(({ msg }) => msg.includes('rejects the user')),
    'the line',
  )
  assert.match(
    rejection.msg,
    /check user and password.*forgets ACL users at its restart unless it has an aclfile/,
  )
})

test('a silent server is given up after the timeout', async (t) => {
  const server = await startRedis(t)
  if (server === undefined) return
  const redis = await open(t, { place: toPlace(server) })
  await redis.send('ping')
  server.signal('SIGSTOP')

  await assert.rejects(redis.send('ping'), /did not answer within 3000 ms|closed|timeout/i)

  server.signal('SIGCONT')
  await waitUntil(
    async () => (await redis.send('ping').catch(() => undefined)) === 'PONG',
    'the connection',
  )
})

test('a start does not wait for Redis', async (t) => {
  const server = await startRedis(t)
  if (server === undefined) return
  await server.kill()
  const redis = await open(t, { place: toPlace(server) })
  await assert.rejects(redis.send('ping'))
  assert.equal(redis.wasReached(), false)

  await server.start()

  await waitUntil(() => redis.isReachable(), 'the connection')
})

test('a script runs although the server has forgotten it', async (t) => {
  const server = await startRedis(t)
  if (server === undefined) return
  const redis = await open(t, { place: toPlace(server) })
  const script = {
    source: "return redis.call('INCRBY', KEYS[1], ARGV[1])",
    sha1: '0b5d0e2ae8f5e6d0a3b2f0f6a9f7b7f1d2c3b4a5',
  }

  assert.equal(await redis.run(script, 'n', 2), 2)
  assert.equal(await redis.run(script, 'n', 3), 5)
})

test('a scan finds every key of the pattern and no other', async (t) => {
  const server = await startRedis(t)
  if (server === undefined) return
  const redis = await open(t, { place: toPlace(server) })
  for (let index = 0; index < 1200; index++) await redis.send('set', `a:${index}`, '')
  await redis.send('set', 'b', '')

  assert.equal((await keysOf(redis, 'a:*')).size, 1200)
})

test('with Sentinel, the server that takes over is found', async (t) => {
  const sentinel = await startSentinel(t, [documentedUser()])
  if (sentinel === undefined) return
  const redis = await open(t, {
    ...login,
    place: {
      kind: 'sentinel',
      master: sentinel.master,
      nodes: [
        { host: '127.0.0.1', port: 1 },
        { host: '127.0.0.1', port: sentinel.port },
      ],
      username: undefined,
      password: undefined,
    },
  })
  await redis.send('set', 'fairlead:kept', 'yes')
  const [first, second] = sentinel.servers
  await waitUntil(async () => (await second?.ask('get', 'fairlead:kept')) === 'yes', 'the replica')

  await first?.kill()

  await waitUntil(
    async () => (await redis.send('set', 'fairlead:after', 'yes').catch(() => undefined)) === 'OK',
    'the successor',
  )
  assert.equal(await redis.send('get', 'fairlead:kept'), 'yes')
  assert.equal(await second?.ask('get', 'fairlead:after'), 'yes')
  assert.deepEqual(await second?.ask('acl', 'log'), [])
})

test('a cluster is scanned and survives a lost node', async (t) => {
  const nodes = await startCluster(t, [documentedUser('+cluster|slots +client|setname')])
  if (nodes === undefined) return
  const redis = await open(t, {
    ...login,
    place: { kind: 'cluster', nodes: nodes.map(({ port }) => ({ host: '127.0.0.1', port })) },
  })
  const names = Array.from({ length: 60 }, (_, index) => `spring:session:fairlead:${index}`)
  const script = {
    source: "return redis.call('GET', KEYS[1])",
    sha1: '1b5d0e2ae8f5e6d0a3b2f0f6a9f7b7f1d2c3b4a5',
  }
  for (const name of names) await redis.send('set', name, 'x')
  for (const node of nodes) assert.ok(Number(await node.ask('dbsize')) > 5)
  assert.equal(await redis.run(script, names[0] as string), 'x')
  assert.deepEqual([...(await keysOf(redis, 'spring:session*'))].sort(), [...names].sort())

  for (const node of nodes) assert.deepEqual(await node.ask('acl', 'log'), [])

  await nodes[1]?.kill()
  const outcomes = await Promise.allSettled(names.map((name) => redis.send('get', name)))
  assert.ok(outcomes.some(({ status }) => status === 'rejected'))

  await nodes[1]?.start()
  const readAll = () =>
    Promise.all(names.map((name) => redis.send('get', name))).catch(() => undefined)
  await waitUntil(async () => (await readAll()) !== undefined, 'the node')
  assert.deepEqual(new Set(await readAll()), new Set(['x']))
})

interface Line {
  level: number
  msg: string
}

async function open(
  t: TestContext,
  settings: Partial<RedisSettings> & Pick<RedisSettings, 'place'>,
  lines: Line[] = [],
): Promise<Redis> {
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Line) },
  )
  const defaults = {
    username: undefined,
    password: undefined,
    database: 0,
    tls: undefined,
    timeoutMs,
    relaxedHealth: true,
  }
  const redis = await openRedis({ ...defaults, ...settings }, log)
  t.after(() => redis.close())
  return redis
}

function toPlace({ port }: RedisServer): RedisSettings['place'] {
  return { kind: 'server', host: '127.0.0.1', port }
}

async function firstComplaint(lines: readonly Line[]): Promise<string> {
  await waitUntil(() => lines.some(({ level }) => level === 50), 'the complaint')
  return lines.find(({ level }) => level === 50)?.msg ?? ''
}

async function keysOf(redis: Redis, pattern: string): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const keys of redis.scan(pattern)) for (const key of keys) found.add(key)
  return found
}
