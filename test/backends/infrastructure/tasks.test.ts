import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pino from 'pino'
import type { OperationType } from '../../../src/backends/infrastructure/operation-type.ts'
import { Tasks, taskMigrations } from '../../../src/backends/infrastructure/tasks.ts'
import { fieldAt } from '../../../src/json/values.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'

test('a task goes on once the store is free again', async (t) => {
  const folder = createFolder('tasks')
  const file = join(folder, 'tasks.db')
  const db = new DatabaseSync(file, { timeout: 0 })
  for (const migration of taskMigrations) db.exec(migration)
  const other = new DatabaseSync(file)
  const operation = { run: async () => {} } as unknown as OperationType
  const tasks = new Tasks({ db, now: Date.now, log: pino({ enabled: false }), find: () => operation, onChanged: () => {} })
  t.after(async () => {
    await tasks.close()
    for (const each of [db, other]) each.close()
    removeFolder(folder)
  })

  const id = tasks.submit({
    requestId: undefined,
    user: 'ann',
    identity: {},
    operations: [{ provider: 'local', name: 'resizeServerGroup', description: {} }],
  })
  other.exec('BEGIN IMMEDIATE')
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(fieldAt(tasks.view(id), 'status', 'completed'), false)
  other.exec('COMMIT')

  await waitUntil(() => fieldAt(tasks.view(id), 'status', 'completed') === true, 'the end of the task')
})
