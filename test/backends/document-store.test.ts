/** Reads of a document store in portions. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { DocumentStore, documentMigrations } from '../../packages/base/stores/document-store.ts'

function open(count: number) {
  const db = new DatabaseSync(':memory:')
  for (const migration of documentMigrations) db.exec(migration)
  const store = new DocumentStore(
    db,
    { kind: 'pipeline', place: () => ({}), stamp: () => ({}) },
    () => 1,
  )
  const other = new DocumentStore(
    db,
    { kind: 'strategy', place: () => ({}), stamp: () => ({}) },
    () => 1,
  )
  other.put('p000', { other: true }, 'alice')
  for (let index = 0; index < count; index++)
    store.put(`p${String(index).padStart(3, '0')}`, { index }, 'alice')
  return store
}

test('portions hold every document once, in the order of keys', () => {
  for (const count of [0, 1, 100, 250]) {
    const store = open(count)
    const portions = [...store.portions()]
    assert.deepEqual(portions.flat(), store.texts())
    assert.equal(portions.length, Math.ceil(count / 100))
  }
})

test('portions go on after documents were removed and added', () => {
  const store = open(250)
  const portions = store.portions()
  const seen = [...(portions.next().value ?? [])]
  store.remove('p050')
  store.remove('p100')
  store.put('p0995', { added: true }, 'alice')
  for (const texts of portions) seen.push(...texts)
  const indexes = seen.map((text) => JSON.parse(text).index as number | undefined)
  assert.equal(new Set(indexes).size, indexes.length)
  assert.deepEqual(
    [indexes.includes(50), indexes.includes(100), indexes.includes(undefined)],
    [true, false, true],
  )
})

test('the newest versions of each document are kept', () => {
  const db = new DatabaseSync(':memory:')
  for (const migration of documentMigrations) db.exec(migration)
  const open = (kind: string, keptVersions?: number) =>
    new DocumentStore(db, { kind, keptVersions, place: () => ({}), stamp: () => ({}) }, () => 1)
  const [few, all] = [open('pipeline', 3), open('snapshot')]
  for (let index = 0; index < 10; index++) {
    for (const store of [few, all]) for (const key of ['a', 'b']) store.put(key, { index }, 'alice')
  }
  const indexes = (store: DocumentStore, key: string) =>
    store.history(key, 100).map((text) => JSON.parse(text).index as number)
  assert.deepEqual(
    [indexes(few, 'a'), indexes(few, 'b')],
    [
      [9, 8, 7],
      [9, 8, 7],
    ],
  )
  assert.equal(indexes(all, 'a').length, 10)
  few.remove('a')
  few.put('b', { index: 10 }, 'alice')
  assert.deepEqual(
    [indexes(few, 'a'), indexes(few, 'b')],
    [
      [9, 8, 7],
      [10, 9, 8],
    ],
  )
})
