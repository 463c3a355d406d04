/** Pages of a search: each execution once, and each page begins where the last one has ended. */
import assert from 'node:assert/strict'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { orchestrationMigrations } from '../../../packages/engine/orchestration/schema.ts'
import { ExecutionStore, type SearchQuery } from '../../../packages/engine/orchestration/store.ts'

const count = 50

/** All of two moments: within one, only ids tell executions apart. */
function open() {
  const db = new DatabaseSync(':memory:')
  for (const migration of orchestrationMigrations) db.exec(migration)
  const insert = db.prepare(
    `INSERT INTO orchestration_executions (id, type, application, status, complete, build_time, body, trigger, user)
       VALUES (?, 'PIPELINE', 'web', 'SUCCEEDED', 1, ?, '{"name":"main"}', '{}', 'ann')`,
  )
  for (let index = 0; index < count; index++)
    insert.run(`e${String(index).padStart(2, '0')}`, index < 20 ? 1000 : 2000)
  db.exec("INSERT INTO orchestration_searched SELECT id, 'cron', 'x' FROM orchestration_executions")
  const prepared: string[] = []
  const prepare = db.prepare.bind(db)
  db.prepare = (sql: string): StatementSync => {
    prepared.push(sql)
    return prepare(sql)
  }
  const store = new ExecutionStore(db)
  const plansOf = (sql: string) =>
    prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
  return { store, prepared, plansOf }
}

const everything = {
  application: undefined,
  name: undefined,
  user: undefined,
  from: 0,
  to: 5000,
  statuses: undefined,
}

for (const [what, query] of Object.entries<Partial<SearchQuery>>({
  everything: {},
  'an application': { application: 'web' },
  'a user': { user: 'ann' },
  'a name': { name: 'main' },
  'a status': { statuses: ['SUCCEEDED'] },
  'a text': { terms: ['x'], types: ['cron'] },
})) {
  for (const oldestFirst of [true, false]) {
    test(`pages of ${what} hold each execution once, ${oldestFirst ? 'oldest' : 'newest'} first`, () => {
      const { store, prepared, plansOf } = open()
      const wanted = { ...everything, ...query, oldestFirst }
      const found: string[] = []
      for (
        let page = store.searchPage(wanted, undefined, 8);
        page.length > 0;
        page = store.searchPage(wanted, page.at(-1), 8)
      ) {
        found.push(...page.map(({ id }) => id))
      }
      const ids = Array.from({ length: count }, (_, index) => `e${String(index).padStart(2, '0')}`)
      assert.deepEqual(found, oldestFirst ? ids : ids.toReversed())
      const searches = plansOf(prepared.at(-1) ?? '').filter((plan) =>
        plan.startsWith('SEARCH orchestration_executions'),
      )
      assert.ok(searches.length > 0)
      for (const plan of searches) assert.match(plan, /\(build_time,id\)[<>]\(\?,\?\)/)
    })
  }
}

test('runs without the wanted text are passed over, so that no page reads the whole history', () => {
  const { store } = open()
  const page = store.searchPage({ ...everything, terms: ['y'], oldestFirst: true }, undefined, 8)
  assert.deepEqual([page.length, page.filter(({ matches }) => matches)], [8, []])
})

test('a search stays within its times', () => {
  const { store } = open()
  for (const oldestFirst of [true, false]) {
    for (const [from, to, size] of [
      [1000, 1000, 20],
      [1001, 2000, 30],
      [1001, 1999, 0],
      [0, 999, 0],
    ] as const) {
      const wanted = { ...everything, from, to, oldestFirst }
      const found: string[] = []
      for (
        let page = store.searchPage(wanted, undefined, 8);
        page.length > 0;
        page = store.searchPage(wanted, page.at(-1), 8)
      ) {
        found.push(...page.map(({ id }) => id))
      }
      assert.equal(new Set(found).size, size, `${from} to ${to}`)
      assert.equal(found.length, size)
    }
  }
})
