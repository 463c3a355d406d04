/** Bakes and logs that are kept are bounded, and one user does not displace the others. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import {
  type Bake,
  BakeStore,
  bakeMigrations,
  removedLog,
} from '../../../packages/providers/local/bakes/bake-store.ts'

function openStore(bounds: { bakes: number; logLength: number }) {
  const db = new DatabaseSync(':memory:')
  for (const migration of bakeMigrations) db.exec(migration)
  const store = new BakeStore(db, bounds)
  const add = (id: string, user: string, createdMs: number, state: Bake['state'] = 'COMPLETED') =>
    store.put({ id, user, createdMs, state, request: {} } as unknown as Bake)
  return { store, add }
}

test('the user with most bakes loses the oldest', () => {
  const { store, add } = openStore({ bakes: 4, logLength: 1000 })
  add('running', 'ann', 0, 'RUNNING')
  add('quiet', 'bob', 1)
  for (let time = 2; time < 8; time++) add(`many-${time}`, 'ann', time)
  const kept = [
    'running',
    'quiet',
    'many-2',
    'many-3',
    'many-4',
    'many-5',
    'many-6',
    'many-7',
  ].filter((id) => store.get(id))
  assert.deepEqual(kept, ['running', 'quiet', 'many-5', 'many-6', 'many-7'])
})

test('the oldest logs make room for new ones', () => {
  const { store, add } = openStore({ bakes: 10, logLength: 2500 })
  for (let time = 1; time < 5; time++) {
    add(`bake-${time}`, 'ann', time)
    store.setLog(`bake-${time}`, String(time).repeat(1000))
  }
  const logs = [1, 2, 3, 4].map((time) => store.logOf(`bake-${time}`))
  assert.deepEqual(logs, [removedLog, removedLog, '3'.repeat(1000), '4'.repeat(1000)])
})
