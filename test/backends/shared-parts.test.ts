/** Large parts of triggers are stored once, and come back with every record that holds them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { formatJson, parseJson } from '../../packages/base/json/json.ts'
import { openDatabase } from '../../packages/base/storage/database.ts'
import { SharedPartStore, sharedPartsMigration } from '../../packages/base/storage/shared-parts.ts'
import { definitionsBackend } from '../../packages/engine/definitions/definitions.ts'
import { createEventsBackend } from '../../packages/engine/events/events.ts'
import { orchestrationBackend } from '../../packages/engine/orchestration-backend.ts'
import { startBackends } from '../support/backends.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

function openParts(t: TestContext) {
  const folder = createFolder('parts')
  const db = openDatabase(join(folder, 'parts.db'))
  t.after(() => {
    db.close()
    removeFolder(folder)
  })
  db.exec('CREATE TABLE x_records (id TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT')
  db.exec(sharedPartsMigration('x', 'x_records'))
  const parts = new SharedPartStore(db, { prefix: 'x', parse: parseJson, format: formatJson })
  const insert = db.prepare('INSERT INTO x_records VALUES (?, ?)')
  const select = db.prepare('SELECT document FROM x_records WHERE id = ?')
  return {
    save: (id: string, document: Record<string, unknown>) => {
      const split = parts.split(document)
      insert.run(id, formatJson(split.rest))
      return parts.keep(id, split.parts)
    },
    load: (id: string) =>
      parts.restore(id, parseJson(String(select.get(id)?.['document'])) as Record<string, unknown>),
    remove: (id: string) => db.prepare('DELETE FROM x_records WHERE id = ?').run(id),
    count: () => Number(db.prepare('SELECT count(*) AS n FROM x_parts').get()?.['n']),
  }
}

const payload = {
  list: Array.from({ length: 500 }, (_, index) => ({
    index,
    id: 12345678901234567890n.toString(),
  })),
}
const first = {
  trigger: { type: 'webhook', payload, parameters: {}, big: 'x'.repeat(3000), none: null },
}
const second = {
  trigger: {
    type: 'pipeline',
    parentExecution: { id: '1', stages: [payload], trigger: { ...first.trigger } },
  },
}

test('large parts are stored once and documents come back unchanged', (t) => {
  const { save, load, remove, count } = openParts(t)
  assert.ok(save('1', first) > 10_000)
  assert.equal(count(), 2)
  assert.equal(save('2', { ...first }), 0)
  save('3', second)
  assert.equal(count(), 3)
  for (const [id, document] of [
    ['1', first],
    ['2', first],
    ['3', second],
  ] as const)
    assert.deepEqual(load(id), document)

  remove('1')
  assert.equal(count(), 3)
  assert.deepEqual(load('2'), first)
  remove('2')
  assert.deepEqual(load('3'), second)
  remove('3')
  assert.equal(count(), 0)
})

test('a document that looks split is kept as is', (t) => {
  const { save, load } = openParts(t)
  const strange = {
    trigger: [payload],
    parentExecution: 'x'.repeat(5000),
    payload: 7,
    '["trigger"]': { digest: 'a' },
  }
  save('1', strange)
  assert.deepEqual(load('1'), strange)
})

test('one webhook that starts several pipelines stores its payload once', async (t) => {
  const dataDir = createFolder('payload')
  t.after(() => removeFolder(dataDir))
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 1000 })
  const backends = await startBackends(t, [definitionsBackend, events, orchestrationBackend], {
    dataDir,
  })
  for (const name of ['one', 'two', 'three', 'four']) {
    const triggers = [{ type: 'webhook', source: 'ci', enabled: true }]
    const stages = [{ type: 'wait', waitTime: 600, refId: '1', requisiteStageRefIds: [] }]
    await backends.ask('front50', 'POST', '/pipelines', {
      application: 'demo',
      name,
      id: name,
      triggers,
      stages,
    })
  }
  const sent = {
    ...payload,
    parameters: { text: 'y'.repeat(20_000) },
    artifacts: [{ type: 'x', name: 'z'.repeat(20_000) }],
  }
  assert.equal((await backends.ask('echo', 'POST', '/webhooks/webhook/ci', sent)).status, 200)
  const runs = async () => {
    const { body } = await backends.ask(
      'orca',
      'GET',
      '/pipelines?pipelineConfigIds=one,two,three,four',
    )
    return body as { trigger: { payload: unknown; parameters: unknown; artifacts: unknown[] } }[]
  }
  await waitUntil(async () => (await runs()).length >= 4, 'four executions')

  const found = await runs()
  assert.equal(found.length, 4)
  for (const { trigger } of found) {
    assert.deepEqual(trigger.payload, sent)
    assert.deepEqual(trigger.parameters, sent.parameters)
    assert.equal(trigger.artifacts.length, 1)
  }
  const db = new DatabaseSync(join(dataDir, 'backends.db'), { readOnly: true })
  const lengthOf = (table: string, column: string) =>
    Number(db.prepare(`SELECT coalesce(sum(length(${column})), 0) AS n FROM ${table}`).get()?.['n'])
  assert.ok(lengthOf('orchestration_executions', 'trigger') < 8000)
  assert.ok(lengthOf('orchestration_parts', 'text') < 1.5 * formatJson(sent).length + 20_000)
  db.close()
})
