/** Pages of a search: each execution once, and each page begins where the last one has ended. */
import assert from 'node:assert/strict'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { GroupCommit } from '../../../packages/base/storage/group-commit.ts'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'
import { orchestrationMigrations } from '../../../packages/engine/orchestration/schema.ts'
import { searchMarksOf, searchTextOf } from '../../../packages/engine/orchestration/search-text.ts'
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
  db.exec(
    "INSERT INTO orchestration_searched SELECT id, 'cron', 'x' || char(10) || 'size=1' || char(10) FROM orchestration_executions",
  )
  const marks = "VALUES ('trigger cron'), ('name main'), ('parameter size=1'), ('event e')"
  db.exec(`INSERT INTO orchestration_search_marks
    SELECT application, marks.column1, build_time, id FROM orchestration_executions, (${marks}) AS marks`)
  const prepared: string[] = []
  const prepare = db.prepare.bind(db)
  db.prepare = (sql: string): StatementSync => {
    prepared.push(sql)
    return prepare(sql)
  }
  const store = new ExecutionStore(db, new GroupCommit(db))
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
  'two types': { types: ['cron', 'git'] },
  'an event': { eventId: 'e', user: 'ann' },
  'a parameter': { terms: ['\nsize=1\n'], name: 'main', application: 'web' },
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
      const plans = plansOf(prepared.at(-1) ?? '')
      const begins = plans.some((plan) => plan.startsWith('SEARCH marked')) ? 'marked' : 'run'
      const searches = plans.filter((plan) => plan.startsWith(`SEARCH ${begins} `))
      assert.ok(searches.length > 0, plans.join('\n'))
      for (const plan of searches) assert.match(plan, /\(build_time,id\)[<>]\(\?,\?\)/)
      assert.deepEqual(
        plans.filter((plan) => /^SCAN (?!\()/.test(plan)),
        [],
      )
    })
  }
}

test('runs without the wanted text are passed over, so that no page reads the whole history', () => {
  const { store } = open()
  const page = store.searchPage({ ...everything, terms: ['y'], oldestFirst: true }, undefined, 8)
  assert.deepEqual([page.length, page.filter(({ matches }) => matches)], [8, []])
})

test('runs of an older version are found by the same marks', () => {
  const db = new DatabaseSync(':memory:')
  const last = orchestrationMigrations.findIndex((sql) =>
    sql.includes('orchestration_search_marks'),
  )
  for (const migration of orchestrationMigrations.slice(0, last)) db.exec(migration)
  const trigger = { type: 'webhook', eventId: 'e1', parameters: { Size: 'XL', q: 'a=b' } }
  db.prepare(`INSERT INTO orchestration_executions (id, type, application, status, complete, build_time, body, trigger)
    VALUES ('r1', 'PIPELINE', 'web', 'SUCCEEDED', 1, 7, '{"name":"Main"}', ?)`).run(
    JSON.stringify(trigger),
  )
  const execution = { name: 'Main', trigger, engine: {} } as unknown as Execution
  const text = searchTextOf(execution)
  db.prepare("INSERT INTO orchestration_searched VALUES ('r1', 'webhook', ?)").run(text)
  db.exec(orchestrationMigrations[last] ?? '')
  const marks = db.prepare('SELECT mark FROM orchestration_search_marks').all()
  const expected = [
    'event e1',
    'name Main',
    'parameter q=',
    'parameter q=a=b',
    'parameter size=',
    'parameter size=xl',
    'trigger webhook',
  ]
  assert.deepEqual(
    marks.map(({ mark }) => mark),
    expected,
  )
  assert.deepEqual([...searchMarksOf(execution, text)].sort(), expected)
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
