/** Transactions that wait for the disk together: what is told and done waits, nothing else does. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openDatabase } from '../../packages/base/storage/database.ts'
import { GroupCommit, type LogSync } from '../../packages/base/storage/group-commit.ts'

/** A disk whose syncs end when the test says so. */
function open(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-group-commit-'))
  const db = openDatabase(join(dir, 'x.db'))
  t.after(() => {
    db.close()
    rmSync(dir, { recursive: true })
  })
  db.exec('CREATE TABLE notes (text TEXT)')
  const syncs: PromiseWithResolvers<void>[] = []
  const log: LogSync = {
    sync() {
      syncs.push(Promise.withResolvers())
      return syncs.at(-1)!.promise
    },
    close: async () => {},
  }
  const commits = new GroupCommit(db, { log, end: ({ message }) => void ends.push(message) })
  const told: string[] = []
  const ends: string[] = []
  const note = (text: string) => {
    commits.transact(() => db.prepare('INSERT INTO notes VALUES (?)').run(text))
    commits.whenStored(() => told.push(text))
  }
  const count = () => db.prepare('SELECT count(*) AS n FROM notes').get()?.['n']
  const level = () => db.prepare('PRAGMA synchronous').get()?.['synchronous']
  return { db, commits, syncs, ends, told, note, count, level }
}

test('all that is committed in one turn waits for one sync, what comes meanwhile for the next', async (t) => {
  const { commits, syncs, told, note, count } = open(t)
  commits.whenStored(() => told.push('nothing to wait for'))
  for (const text of ['a', 'b', 'c']) note(text)
  assert.deepEqual([told, count(), syncs.length], [['nothing to wait for'], 3, 0])
  await turn()
  await turn()
  assert.equal(syncs.length, 1)
  commits.whenStored(() => told.push('read'))
  for (const text of ['d', 'e']) note(text)
  await turn()
  assert.deepEqual([told.length, syncs.length], [1, 1])
  syncs[0]!.resolve()
  await turn()
  assert.deepEqual(told, ['nothing to wait for', 'a', 'b', 'c', 'read'])
  assert.equal(syncs.length, 2)
  syncs[1]!.resolve()
  await commits.stored()
  assert.deepEqual(told.slice(5), ['d', 'e'])
})

test('work that fails leaves nothing, and transactions of others are on disk at once', async (t) => {
  const { db, commits, syncs, count, level } = open(t)
  const fail = () =>
    commits.transact(() => {
      db.prepare('INSERT INTO notes VALUES (?)').run('x')
      assert.equal(level(), 1)
      throw new Error('no')
    })
  assert.throws(fail, /no/)
  await turn()
  assert.deepEqual([count(), level(), syncs.length], [0, 2, 0])
})

test('after a sync that failed nothing is told, and nothing more is committed', async (t) => {
  const { commits, syncs, ends, told, note, count } = open(t)
  note('a')
  await turn()
  await turn()
  syncs[0]!.reject(new Error('EIO'))
  await turn()
  assert.match(ends.join(), /x\.db could not be written to the disk/)
  assert.throws(() => note('b'), /could not be written/)
  commits.whenStored(() => told.push('late'))
  assert.deepEqual([told, count()], [[], 1])
  await commits.close()
})

test('by default, the log of the database itself is written', async (t) => {
  const { db } = open(t)
  const commits = new GroupCommit(db)
  commits.transact(() => db.prepare('INSERT INTO notes VALUES (?)').run('a'))
  await commits.stored()
  await commits.close()
})

test('what is committed after the end is in the database, and nothing is told of it', async (t) => {
  const { commits, syncs, ends, told, note, count } = open(t)
  await commits.close()
  note('late')
  await turn()
  await turn()
  assert.deepEqual([count(), syncs.length, told, ends], [1, 0, [], []])
})
