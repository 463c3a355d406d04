/** What every store of API tokens does. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { RedisTokenStore } from '../../../src/login/tokens/redis-token-store.ts'
import { openSqliteTokenStore } from '../../../src/login/tokens/sqlite-token-store.ts'
import type { StoredToken, TokenStore } from '../../../src/login/tokens/token-store.ts'
import { openRedis } from '../../../src/redis/open-redis.ts'
import { silentLog, temporaryDirectory } from '../../sessions/support.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'

const nowMs = 1_700_000_000_000
const dayMs = 86_400_000

/** Two replicas, or two processes, with one store. */
type Open = (t: TestContext) => Promise<readonly [TokenStore, TokenStore] | undefined>

const stores: readonly [name: string, open: Open][] = [
  [
    'SQLite',
    async (t) => {
      const file = join(temporaryDirectory(t), 'tokens.db')
      const pair = [openSqliteTokenStore(file), openSqliteTokenStore(file)] as const
      t.after(() => void pair.map((store) => store.close()))
      return pair
    },
  ],
  [
    'Redis',
    async (t) => {
      const redis = await startRedis(t)
      return redis && [await openRedisStore(t, redis), await openRedisStore(t, redis)]
    },
  ],
]

for (const [name, open] of stores) {
  test(`${name}: a token is found by secret, id and principal`, async (t) => {
    const [one, other] = (await open(t)) ?? []
    if (one === undefined || other === undefined) return
    const token = createToken({ limits: { readOnly: true, applications: ['web'], operations: [] } })

    assert.equal(await one.insert(token), true)

    assert.deepEqual(await other.findByHash(token.secret.hash), token)
    assert.deepEqual(await other.find(token.id), token)
    assert.deepEqual(await other.listOf(token.principal), [token])
    assert.deepEqual(await other.listAll('USER'), [token])
    assert.deepEqual(await other.listAll('SERVICE_ACCOUNT'), [])
    assert.equal(await other.findByHash(token.id), undefined)
    assert.equal(await other.find(token.secret.hash), undefined)
  })

  test(`${name}: a name belongs to one token of a principal`, async (t) => {
    const [one, other] = (await open(t)) ?? []
    if (one === undefined || other === undefined) return
    const first = createToken({ name: 'ci' })
    assert.equal(await one.insert(first), true)

    assert.equal(await other.insert(createToken({ name: 'ci' })), false)
    assert.equal(await other.insert(createToken({ name: 'ci', principal: { type: 'USER', id: 'ALICE' } })), false)
    assert.equal((await one.listOf({ type: 'USER', id: 'Alice' })).length, 1)
    assert.equal(await other.insert(createToken({ name: 'ci', principal: { type: 'USER', id: 'bob' } })), true)
    assert.equal(await other.insert(createToken({ name: 'ci', principal: { type: 'SERVICE_ACCOUNT', id: 'alice' } })), true)
    assert.equal((await one.listOf(first.principal)).length, 1)

    assert.equal(await other.remove(first.id), true)
    assert.equal(await one.insert(createToken({ name: 'ci' })), true)
    const odd = createToken({ name: 'half a character: \ud83d', principal: { type: 'USER', id: 'x\udc00' } })
    assert.equal(await one.insert(odd), true)
  })

  test(`${name}: of concurrent tokens with one name, one is created`, async (t) => {
    const pair = await open(t)
    if (pair === undefined) return
    const tokens = Array.from({ length: 10 }, () => createToken({ name: 'ci' }))

    const inserted = await Promise.all(tokens.map((token, index) => (index % 2 === 0 ? pair[0] : pair[1]).insert(token)))

    assert.equal(inserted.filter(Boolean).length, 1)
    assert.equal((await pair[0].listOf({ type: 'USER', id: 'alice' })).length, 1)
  })

  test(`${name}: a removed token is found nowhere`, async (t) => {
    const [one, other] = (await open(t)) ?? []
    if (one === undefined || other === undefined) return
    const token = createToken()
    await one.insert(token)

    assert.equal(await other.remove(token.id), true)

    assert.equal(await one.findByHash(token.secret.hash), undefined)
    assert.equal(await one.find(token.id), undefined)
    assert.deepEqual(await one.listOf(token.principal), [])
    assert.equal(await one.remove(token.id), false)
    await one.recordUse(token.id, nowMs)
    assert.equal(await one.find(token.id), undefined)
    assert.equal(await one.replaceSecret(token.id, token.secret.hash, token.secret, undefined), false)
  })

  test(`${name}: a rotated token is found by both secrets`, async (t) => {
    const [one, other] = (await open(t)) ?? []
    if (one === undefined || other === undefined) return
    const token = createToken()
    await one.insert(token)
    const rotate = (store: TokenStore, before: string, hash: string, keep: boolean) =>
      store.replaceSecret(
        token.id,
        before,
        { hash, sinceMs: nowMs + 1, former: keep ? { hash: before, untilMs: nowMs + dayMs } : undefined },
        nowMs + 2 * dayMs,
      )

    assert.equal(await rotate(one, token.secret.hash, 'second', true), true)
    assert.equal((await other.findByHash('second'))?.expiresAtMs, nowMs + 2 * dayMs)
    assert.deepEqual((await other.findByHash(token.secret.hash))?.secret.former, {
      hash: token.secret.hash,
      untilMs: nowMs + dayMs,
    })

    assert.equal(await rotate(other, 'second', 'third', true), true)
    assert.equal(await one.findByHash(token.secret.hash), undefined)
    assert.equal((await one.findByHash('second'))?.id, token.id)
    assert.equal(await rotate(one, 'second', 'late', true), false)
    assert.equal(await one.findByHash('late'), undefined)

    assert.equal(await rotate(one, 'third', 'fourth', false), true)
    assert.equal(await one.findByHash('third'), undefined)
    assert.equal((await one.findByHash('fourth'))?.id, token.id)
  })

  test(`${name}: of two rotations at once, one counts`, async (t) => {
    const pair = await open(t)
    if (pair === undefined) return
    const token = createToken()
    await pair[0].insert(token)

    const done = await Promise.all(
      pair.map((store, index) =>
        store.replaceSecret(token.id, token.secret.hash, { hash: `new${index}`, sinceMs: nowMs, former: undefined }, undefined),
      ),
    )

    assert.deepEqual([...done].sort(), [false, true])
    const found = await Promise.all(['new0', 'new1'].map((hash) => pair[0].findByHash(hash)))
    assert.deepEqual(
      found.map((one) => one !== undefined),
      done,
    )
  })

  test(`${name}: uses are noted, and lists are sorted by name`, async (t) => {
    const [one, other] = (await open(t)) ?? []
    if (one === undefined || other === undefined) return
    const tokens = ['c', 'a', 'b'].map((given) => createToken({ name: given }))
    for (const token of tokens) await one.insert(token)
    await one.recordUse(tokens[0]?.id as string, nowMs + 5)

    const listed = await other.listOf({ type: 'USER', id: 'alice' })

    assert.deepEqual(
      listed.map(({ name: given, lastUsedAtMs }) => [given, lastUsedAtMs]),
      [
        ['a', undefined],
        ['b', undefined],
        ['c', nowMs + 5],
      ],
    )
  })
}

test('Redis: keys are those of Gate and expire', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const store = await openRedisStore(t, redis)
  const token = createToken({ expiresAtMs: nowMs + dayMs })
  await store.insert(token)

  for (const key of [`api-token:id:${token.id}`, `api-token:hash:${token.secret.hash}`]) {
    const restMs: number = Number(await redis.ask('pttl', key))
    assert.ok(restMs > 30.9 * dayMs && restMs <= 31 * dayMs, key)
  }
  assert.deepEqual(await redis.ask('smembers', 'api-token:principal:USER:alice'), [token.id])
  await store.replaceSecret(token.id, token.secret.hash, { hash: 'new', sinceMs: nowMs, former: undefined }, undefined)
  assert.equal(await redis.ask('pttl', `api-token:id:${token.id}`), -1)
})

test('Redis: foreign values under token keys are ignored', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const store = await openRedisStore(t, redis)
  const token = createToken()
  await store.insert(token)
  const ids = Array.from({ length: 6 }, () => randomUUID())
  const [list, text, noJson, otherVersion, otherId] = ids.map((id) => `api-token:id:${id}`) as [
    string,
    string,
    string,
    string,
    string,
  ]
  await redis.ask('lpush', list, 'x')
  await redis.ask('set', text, '{}')
  await redis.ask('hset', noJson, 'content', '{')
  await redis.ask('hset', otherVersion, 'content', JSON.stringify({ ...token, version: 2, id: ids[3] }))
  await redis.ask('hset', otherId, 'content', JSON.stringify({ ...token, version: 1 }))
  for (const id of ids) await redis.ask('set', `api-token:hash:${id}`, id)
  await redis.ask('sadd', 'api-token:principal:USER:alice', ...ids)
  await redis.ask('set', 'api-token:principal:USER:bob', 'x')

  for (const id of ids) {
    assert.equal(await store.find(id), undefined)
    assert.equal(await store.findByHash(id), undefined)
  }
  assert.deepEqual(await store.listAll('USER'), [token])
  assert.deepEqual(await store.listOf({ type: 'USER', id: 'bob' }), [])
})

function createToken(given: Partial<StoredToken> = {}): StoredToken {
  const id = randomUUID()
  return {
    id,
    name: 'ci',
    principal: { type: 'USER', id: 'alice' },
    method: 'form',
    era: nowMs,
    createdBy: 'alice',
    createdAtMs: nowMs,
    expiresAtMs: undefined,
    lastUsedAtMs: undefined,
    limits: { readOnly: false, applications: undefined, operations: undefined },
    secret: { hash: `hash of ${id}`, sinceMs: nowMs, former: undefined },
    ...given,
  }
}

async function openRedisStore(t: TestContext, { port }: RedisServer): Promise<TokenStore> {
  const redis = await openRedis(
    {
      place: { kind: 'server', host: '127.0.0.1', port },
      username: undefined,
      password: undefined,
      database: 0,
      tls: undefined,
      timeoutMs: 2000,
      relaxedHealth: true,
    },
    silentLog,
  )
  t.after(() => redis.close())
  return new RedisTokenStore(redis, { keyPrefix: 'api-token', now: () => nowMs })
}
