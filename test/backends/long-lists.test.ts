/** Reads of thousands of definitions leave other requests their turn. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import pino from 'pino'
import { createBackendServer } from '../../packages/app/hosting/server.ts'
import { formatJson } from '../../packages/base/json/json.ts'
import { openDatabase } from '../../packages/base/storage/database.ts'
import { definitionsBackend } from '../../packages/engine/definitions/definitions.ts'
import type { CallService } from '../../packages/ports/service-call.ts'
import { infrastructureBackend } from '../../packages/providers/infrastructure/infrastructure.ts'
import { defaults } from '../support/backend-settings.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { countTurns } from '../support/turns.ts'

const count = 2500
/** A hundred entries at a time. */
const leastTurns = 20

const reads: Readonly<Record<string, { url: string; length?: number }>> = {
  'all applications': { url: '/front50/v2/applications', length: count },
  'applications with a filter': { url: '/front50/v2/applications?email=team', length: count },
  'the pipelines of an application': { url: '/front50/pipelines/app-1', length: count },
  'the strategies of an application': { url: '/front50/strategies/app-1', length: count },
  'permissions of applications': { url: '/front50/permissions/applications', length: count },
  'a search that finds everything': {
    url: '/clouddriver/search?type=applications&q=a&pageSize=100000',
  },
  'a search that finds nothing': { url: '/clouddriver/search?type=applications&q=%F0%9F%98%80' },
}

test('reads of thousands of definitions take many turns', async (t) => {
  const folder = createFolder('long-lists')
  const db = openDatabase(join(folder, 'backends.db'))
  const call: CallService = async (service, { path, headers = {} }) => {
    const answer = await server.inject({ url: `/${service}${path}`, headers })
    const tag = String(answer.headers['etag'])
    return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json(), tag }
  }
  const { server } = createBackendServer({
    backends: [definitionsBackend, infrastructureBackend],
    db,
    call,
    settings: defaults,
    log: pino({ level: 'silent' }),
  })
  t.after(async () => {
    await server.close()
    db.close()
    removeFolder(folder)
  })
  const write = db.prepare(
    'INSERT INTO definitions_documents (kind, key, application, name, modified_ms, document) VALUES (?, ?, ?, ?, 0, ?)',
  )
  db.exec('BEGIN')
  for (let index = 0; index < count; index++) {
    const [name, application] = [`app-${index}`, 'app-1']
    write.run(
      'application',
      name,
      null,
      null,
      formatJson({ name: name.toUpperCase(), email: 'team@example.org' }),
    )
    if (index % 2 === 0)
      write.run('application-permission', name, null, null, formatJson({ name, permissions: {} }))
    for (const kind of ['pipeline', 'strategy']) {
      write.run(
        kind,
        name,
        application,
        name,
        formatJson({ id: name, name, application, index: count - index }),
      )
    }
  }
  db.exec('COMMIT')

  for (const [what, { url, length }] of Object.entries(reads)) {
    await t.test(what, async () => {
      // What is searched is kept from here on.
      if (length === undefined) await server.inject(url)
      const { result, turns } = await countTurns(() => server.inject(url))
      assert.equal(result.statusCode, 200)
      if (length !== undefined) assert.equal(result.json().length, length)
      assert.ok(turns > leastTurns, `${turns} turns`)
    })
  }
})
