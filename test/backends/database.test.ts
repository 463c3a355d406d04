import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { inTransaction } from '../../packages/base/storage/database.ts'
import { toStorageError } from '../../packages/ports/storage-error.ts'

/** A database that may not grow stands for a disk without space. */
function openFullDatabase(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE words (word TEXT) STRICT')
  const { page_count } = db.prepare('PRAGMA page_count').get() as { page_count: number }
  db.exec(`PRAGMA max_page_count = ${page_count}`)
  return db
}

const add = (db: DatabaseSync, word: string) => db.prepare('INSERT INTO words VALUES (?)').run(word)

test('a full disk is reported, rolled back, and passes', () => {
  const db = openFullDatabase()
  const work = () => {
    add(db, 'short')
    add(db, 'long'.repeat(10_000))
  }
  assert.throws(
    () => inTransaction(db, work),
    (error) => {
      const { status, message } = toStorageError(error) as { status?: number; message: string }
      assert.equal(status, 507)
      assert.match(message, /disk .* is full\. Free some space/)
      return true
    },
  )
  assert.deepEqual(db.prepare('SELECT * FROM words').all(), [])
  inTransaction(db, () => add(db, 'short'))
  assert.equal(db.prepare('SELECT * FROM words').all().length, 1)
})

test('errors that do not concern the disk stay unchanged', () => {
  const mistake = new TypeError('no')
  assert.equal(toStorageError(mistake), mistake)
})
