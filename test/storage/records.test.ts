/** What both stores of records do, seen by two processes that share them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type TestContext } from 'node:test'
import { RedisRecords } from '../../packages/base/redis/redis-records.ts'
import type { Records } from '../../packages/base/storage/records.ts'
import { openSqliteRecords } from '../../packages/base/storage/sqlite-records.ts'
import { connect } from '../sessions/stores.ts'
import { silentLog, temporaryDirectory } from '../sessions/support.ts'
import { startRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait-until.ts'

type Open = (t: TestContext) => Promise<readonly [Records, Records] | undefined>

const now = Date.now
const inAMinute = () => now() + 60_000
const lifeMs = 3_600_000

const stores: readonly [name: string, open: Open][] = [
  [
    'SQLite',
    async (t) => {
      const file = join(temporaryDirectory(t), 'x.db')
      const open = () => {
        const x = openSqliteRecords(file, 'x', { now, log: silentLog })
        t.after(() => x.close())
        return x
      }
      return [open(), open()]
    },
  ],
  ...['texts', 'hashes'].map((kind): [string, Open] => [
    `Redis, ${kind}`,
    async (t) => {
      const redis = await startRedis(t)
      if (redis === undefined) return undefined
      const lists = { prefix: 'x:of:', lifeMs }
      const open = async () =>
        new RedisRecords(await connect(t, redis), {
          prefix: 'x:',
          now,
          lists,
          ...(kind === 'hashes' && { field: 'content' }),
        })
      return [await open(), await open()]
    },
  ]),
]

for (const [name, open] of stores) {
  test(`${name}: a record is written while it is what was read, and ends`, async (t) => {
    const [one, other] = (await open(t)) ?? []
    if (one === undefined || other === undefined) return
    const record = { content: 'a', endsAtMs: inAMinute() }
    assert.equal(await one.get('k'), undefined)
    assert.equal(await one.put('k', record, 'a'), false, 'there is none yet')
    const first = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? one : other).put('k', record, null)),
    )
    assert.equal(first.filter(Boolean).length, 1, 'of many at once, one writes')
    const read = await other.get('k')
    assert.equal(read?.content, 'a')
    assert.ok(Math.abs(Number(read?.endsAtMs) - record.endsAtMs) < 5000)

    assert.equal(await one.put('k', { content: 'b' }, 'x'), false)
    const replaced = await Promise.all(
      [one, other].map((store, index) => store.put('k', { content: `b${index}` }, 'a')),
    )
    assert.deepEqual([...replaced].sort(), [false, true])
    assert.deepEqual(await one.get('k'), {
      content: `b${replaced.indexOf(true)}`,
      ...(name === 'SQLite' && { endsAtMs: undefined }),
    })

    const held = String((await one.get('k'))?.content)
    assert.equal(await one.put('k', { content: 'c', endsAtMs: now() - 1 }, held), true)
    assert.equal(await other.get('k'), undefined, 'it has ended')
    assert.equal(await other.put('k', { content: 'd' }, 'c'), false)
    assert.equal(await other.put('k', { content: 'd', endsAtMs: now() + 30 }, null), true)
    await waitUntil(async () => (await one.get('k')) === undefined, 'the end of the record')
    assert.equal((await one.remove(['k', 'l'])) <= 1, true)
    assert.equal(await one.put('k', { content: 'e' }, null), true)
    assert.equal(await other.remove(['k', 'l']), 1)
    assert.equal(await one.get('k'), undefined)
  })

  test(`${name}: records of an owner are listed by their end`, async (t) => {
    const [one, other] = (await open(t)) ?? []
    if (one === undefined || other === undefined) return
    const start = inAMinute()
    for (const [key, owner, lateMs] of [
      ['b', 'alice', 2],
      ['a', 'alice', 1],
      ['c', 'alice', 3],
      ['d', 'Alice', 4],
      ['e', 'al%', 5],
    ] as const) {
      await one.put(key, { content: key, endsAtMs: start + lateMs, owner }, null)
    }
    assert.deepEqual(await other.keysOf('alice', 0, 10), ['c', 'b', 'a'])
    assert.deepEqual(await other.keysOf('alice', 1, 1), ['b'])
    assert.deepEqual(await other.keysOf('alice', 3, 5), [])
    assert.deepEqual(await other.owners('al'), ['al%', 'alice'])
    assert.deepEqual(await other.owners('al%'), ['al%'])

    assert.equal(await other.extend('a', { endsAtMs: start + 9, owner: 'alice' }), true)
    assert.equal(await other.extend('none', { endsAtMs: start, owner: 'alice' }), false)
    assert.deepEqual(await one.keysOf('alice', 0, 1), ['a'])
    assert.equal(await one.remove(['c', 'b'], 'alice'), 2)
    assert.deepEqual(await other.keysOf('alice', 0, 10), ['a'])
    assert.equal(await one.removeAll(), 3)
    assert.equal(await other.get('e'), undefined)
  })
}

test('SQLite: what has ended leaves the file, and what is live is counted', async (t) => {
  const file = join(temporaryDirectory(t), 'x.db')
  const x = openSqliteRecords(file, 'x', { now, log: silentLog, sweepIntervalMs: 10 })
  t.after(() => x.close())
  await x.put('ended', { content: '1', endsAtMs: now() - 1 })
  await x.put('live', { content: '2', endsAtMs: inAMinute() })
  await x.put('endless', { content: '3' })
  assert.equal(x.count(), 2)
  const db = new DatabaseSync(file)
  t.after(() => db.close())
  await waitUntil(
    () => db.prepare('SELECT * FROM x').all().length === 2,
    'the end of the ended record',
  )
})
