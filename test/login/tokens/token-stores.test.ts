/** What every store of API tokens does. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type TestContext } from 'node:test'
import { toUserKey } from '../../../packages/base/names/user-name.ts'
import type { Redis } from '../../../packages/base/redis/redis.ts'
import { migrate } from '../../../packages/base/storage/migrations.ts'
import {
  openTokenStore,
  type StoredToken,
  type TokenStore,
  tokenMigrations,
} from '../../../packages/gateway/login/tokens/token-store.ts'
import { connect } from '../../sessions/stores.ts'
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
      const dataDir = temporaryDirectory(t)
      return [openStore(t, dataDir), openStore(t, dataDir)]
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

    assert.deepEqual(plain(await other.findByHash(token.secret.hash)), plain(token))
    assert.deepEqual(plain(await other.find(token.id)), plain(token))
    assert.deepEqual(await other.ofPrincipal(token.principal), [token])
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
    assert.equal(
      await other.insert(createToken({ name: 'ci', principal: { type: 'USER', id: 'ALICE' } })),
      false,
    )
    assert.equal((await one.ofPrincipal({ type: 'USER', id: 'Alice' })).length, 1)
    assert.equal(
      await other.insert(createToken({ name: 'ci', principal: { type: 'USER', id: 'bob' } })),
      true,
    )
    assert.equal(
      await other.insert(
        createToken({ name: 'ci', principal: { type: 'SERVICE_ACCOUNT', id: 'alice' } }),
      ),
      true,
    )
    assert.equal((await one.ofPrincipal(first.principal)).length, 1)

    assert.equal(await other.remove(first.id), true)
    assert.equal(await one.insert(createToken({ name: 'ci' })), true)
    const odd = createToken({
      name: 'half a character: \ud83d',
      principal: { type: 'USER', id: 'x\udc00' },
    })
    assert.equal(await one.insert(odd), true)
  })

  test(`${name}: of concurrent tokens with one name, one is created`, async (t) => {
    const pair = await open(t)
    if (pair === undefined) return
    const tokens = Array.from({ length: 10 }, () => createToken({ name: 'ci' }))

    const inserted = await Promise.all(
      tokens.map((token, index) => (index % 2 === 0 ? pair[0] : pair[1]).insert(token)),
    )

    assert.equal(inserted.filter(Boolean).length, 1)
    assert.equal((await pair[0].ofPrincipal({ type: 'USER', id: 'alice' })).length, 1)
  })

  test(`${name}: a removed token is found nowhere`, async (t) => {
    const [one, other] = (await open(t)) ?? []
    if (one === undefined || other === undefined) return
    const token = createToken()
    await one.insert(token)

    assert.equal(await other.remove(token.id), true)

    assert.equal(await one.findByHash(token.secret.hash), undefined)
    assert.equal(await one.find(token.id), undefined)
    assert.deepEqual(await one.ofPrincipal(token.principal), [])
    assert.equal(await one.remove(token.id), false)
    await one.recordUse(token.id, nowMs)
    assert.equal(await one.find(token.id), undefined)
    assert.equal(
      await one.replaceSecret(token.id, token.secret.hash, token.secret, undefined),
      false,
    )
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
        {
          hash,
          sinceMs: nowMs + 1,
          former: keep ? { hash: before, untilMs: nowMs + dayMs } : undefined,
        },
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
        store.replaceSecret(
          token.id,
          token.secret.hash,
          { hash: `new${index}`, sinceMs: nowMs, former: undefined },
          undefined,
        ),
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

    const listed = await other.ofPrincipal({ type: 'USER', id: 'alice' })

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
  await store.replaceSecret(
    token.id,
    token.secret.hash,
    { hash: 'new', sinceMs: nowMs, former: undefined },
    undefined,
  )
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
  await redis.ask(
    'hset',
    otherVersion,
    'content',
    JSON.stringify({ ...token, version: 2, id: ids[3] }),
  )
  await redis.ask('hset', otherId, 'content', JSON.stringify({ ...token, version: 1 }))
  for (const id of ids) await redis.ask('set', `api-token:hash:${id}`, id)
  await redis.ask('sadd', 'api-token:principal:USER:alice', ...ids)
  await redis.ask('set', 'api-token:principal:USER:bob', 'x')

  for (const id of ids) {
    assert.equal(await store.find(id), undefined)
    assert.equal(await store.findByHash(id), undefined)
  }
  assert.deepEqual(await store.listAll('USER'), [token])
  assert.deepEqual(await store.ofPrincipal({ type: 'USER', id: 'bob' }), [])
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
    limits: { readOnly: false },
    secret: { hash: `hash of ${id}`, sinceMs: nowMs },
    ...given,
  }
}

function openStore(t: TestContext, dataDir: string, redis?: Redis): TokenStore {
  const store = openTokenStore({
    dataDir,
    redis,
    redisKeyPrefix: 'api-token',
    now: () => nowMs,
    log: silentLog,
  })
  t.after(() => store.close())
  return store
}

async function openRedisStore(t: TestContext, server: RedisServer): Promise<TokenStore> {
  return openStore(t, '/nowhere', await connect(t, server))
}

test('SQLite: tokens of earlier versions are found by everything that led to them', async (t) => {
  const dataDir = temporaryDirectory(t)
  const db = new DatabaseSync(join(dataDir, 'tokens.db'))
  db.function('user_key', (name) => toUserKey(String(name)))
  migrate(db, 'tokens', tokenMigrations.slice(0, 3))
  const former = { hash: 'former', untilMs: nowMs + 5 }
  const all: readonly StoredToken[] = [
    createToken({
      principal: { type: 'USER', id: 'Alice' },
      secret: { hash: 'present', sinceMs: nowMs, former },
    }),
    createToken({
      expiresAtMs: nowMs + dayMs,
      lastUsedAtMs: nowMs,
      limits: { readOnly: true, applications: ['web'], operations: [] },
    }),
    createToken({
      name: 'x',
      method: undefined,
      era: undefined,
      principal: { type: 'SERVICE_ACCOUNT', id: 'ci' },
    }),
  ].map((token, index) => ({ ...token, name: `${index}:é` }))
  const insert = db.prepare(`INSERT INTO tokens VALUES (${Array(16).fill('?').join(', ')})`)
  const write = (
    { id, name, principal, method, createdBy, limits, secret, ...token }: StoredToken,
    limitsText = JSON.stringify(limits),
  ) =>
    insert.run(
      ...[
        id,
        name,
        principal.type,
        principal.id,
        method ?? null,
        createdBy,
        token.createdAtMs,
        token.expiresAtMs ?? null,
      ],
      ...[
        token.lastUsedAtMs ?? null,
        limitsText,
        secret.hash,
        secret.sinceMs,
        secret.former?.hash ?? null,
      ],
      ...[secret.former?.untilMs ?? null, toUserKey(principal.id), token.era ?? null],
    )
  for (const token of all) write(token)
  const unreadable = createToken({ name: 'no limits' })
  write(unreadable, '{"readOnly":')
  db.close()

  const store = openStore(t, dataDir)

  for (const token of all) {
    assert.deepEqual(plain(await store.find(token.id)), plain(token))
    assert.equal((await store.findByHash(token.secret.hash))?.id, token.id)
    assert.equal(
      await store.insert({ ...createToken(), name: token.name, principal: token.principal }),
      false,
    )
  }
  assert.equal((await store.findByHash('former'))?.id, all[0]?.id)
  assert.deepEqual(
    (await store.ofPrincipal({ type: 'USER', id: 'alice' })).map(({ id }) => id),
    [all[0]?.id, all[1]?.id],
  )
  assert.equal(await store.find(unreadable.id), undefined, 'what cannot be read is not unlimited')
})

test('Redis: tokens of earlier versions are used, rotated and revoked', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const store = await openRedisStore(t, redis)
  const token = createToken()
  const { id, secret } = token
  const content = JSON.stringify({ ...token, version: 1, later: 'kept' })
  await redis.ask(
    'hset',
    `api-token:id:${id}`,
    'hash',
    secret.hash,
    'content',
    content,
    'usedAtMs',
    nowMs - 5,
  )
  await redis.ask('set', `api-token:hash:${secret.hash}`, id)
  await redis.ask('set', 'api-token:name:USER:alice:ci', id)
  await redis.ask('sadd', 'api-token:principal:USER:alice', id)

  assert.deepEqual(
    plain(await store.findByHash(secret.hash)),
    plain({ ...token, lastUsedAtMs: nowMs - 5 }),
  )
  await store.recordUse(id, nowMs)
  assert.equal((await store.find(id))?.lastUsedAtMs, nowMs)
  assert.equal(
    await store.replaceSecret(id, secret.hash, { hash: 'second', sinceMs: nowMs }, undefined),
    true,
  )
  assert.equal(
    JSON.parse(String(await redis.ask('hget', `api-token:id:${id}`, 'content')))['later'],
    'kept',
  )
  assert.equal(await store.remove(id), true)
  assert.equal(await redis.ask('dbsize'), 0)
})

/** Without what is undefined. */
function plain(token: StoredToken | undefined): unknown {
  return token && JSON.parse(JSON.stringify(token))
}
