import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { Reconciler, type ReconcilerOptions } from '../../../src/backends/infrastructure/local/reconciler.ts'
import type { OperationType } from '../../../src/backends/infrastructure/operation-type.ts'
import { Tasks, taskMigrations } from '../../../src/backends/infrastructure/tasks.ts'
import { fieldAt } from '../../../src/json/values.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'

const log = pino({ enabled: false })

/** Tasks that do one thing. */
function openTasks(t: TestContext, run: OperationType['run']) {
  const folder = createFolder('tasks')
  const file = join(folder, 'tasks.db')
  const db = new DatabaseSync(file, { timeout: 0 })
  for (const migration of taskMigrations) db.exec(migration)
  const other = new DatabaseSync(file)
  const operation = { run } as unknown as OperationType
  const tasks = new Tasks({ db, now: Date.now, log, find: () => operation, onChanged: () => {} })
  t.after(async () => {
    await tasks.close()
    for (const each of [db, other]) each.close()
    removeFolder(folder)
  })
  const submit = () =>
    tasks.submit({
      requestId: undefined,
      user: 'ann',
      identity: {},
      operations: [{ provider: 'local', name: 'resizeServerGroup', description: {} }],
    })
  return { tasks, other, submit }
}

test('a task goes on once the store is free again', async (t) => {
  const { tasks, other, submit } = openTasks(t, async () => {})
  const id = submit()
  other.exec('BEGIN IMMEDIATE')
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(fieldAt(tasks.view(id), 'status', 'completed'), false)
  other.exec('COMMIT')

  await waitUntil(() => fieldAt(tasks.view(id), 'status', 'completed') === true, 'the end of the task')
})

test('an operation whose change the store refuses is repeated', async (t) => {
  let runs = 0
  const { tasks, submit } = openTasks(t, async (_description, run) => {
    run.commit(() => {
      if (++runs === 1) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    })
  })
  const id = submit()
  await waitUntil(() => fieldAt(tasks.view(id), 'status', 'completed') === true, 'the end of the task')
  assert.deepEqual([runs, fieldAt(tasks.view(id), 'status', 'failed')], [2, false])
})

test('a task that is submitted before the start runs once', async (t) => {
  let runs = 0
  const { tasks, submit } = openTasks(t, async () => {
    runs++
  })
  const id = submit()
  tasks.start()
  await waitUntil(() => fieldAt(tasks.view(id), 'status', 'completed') === true, 'the end of the task')
  await tasks.close()
  assert.equal(runs, 1)
})

test('a step that the store refuses is repeated after a pause', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const instance = { id: 'i-1', account: 'dev', region: 'east', leaving: { stage: 'draining', sinceMs: 0 }, registered: [] }
  let refusals = 0
  const desired = {
    revision: 0,
    all: (kind: string) => (kind === 'instances' ? [instance] : []),
    transact() {
      refusals++
      throw new Error('disk full')
    },
  }
  const agent = { setDesired: () => {} }
  const options = { desired, agent, toState: () => ({}), now: () => 60_000, drainMs: 1000, onChanged: () => {}, log }
  new Reconciler(options as unknown as ReconcilerOptions).step()
  t.mock.timers.tick(900)
  assert.equal(refusals, 1)
  t.mock.timers.tick(200)
  assert.equal(refusals, 2)
})
