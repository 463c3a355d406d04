/** Tables of providers in a data directory that is older than one of them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createInfrastructureBackend } from '../../../packages/providers/infrastructure/infrastructure.ts'
import type { ProviderType } from '../../../packages/providers/provider-type.ts'
import { startBackends } from '../../support/backends.ts'
import { createFakeProvider, touchOperation } from '../../support/fake-provider.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

function withTables(
  id: string,
  names: readonly string[],
  own: Partial<ProviderType> = {},
): ProviderType {
  const migrations = names.map(
    (name) => `CREATE TABLE infrastructure_${name} (name TEXT PRIMARY KEY) STRICT`,
  )
  return createFakeProvider(touchOperation, { id, migrations, ...own })
}

test('tables of a new provider come beside those that a data directory has', async (t) => {
  const dataDir = createFolder('migrations')
  t.after(() => removeFolder(dataDir))
  const start = async (...types: readonly ProviderType[]) =>
    (await startBackends(t, [createInfrastructureBackend(types)], { dataDir })).stop()
  const shared = { sharesMigrations: true } as const
  await start(withTables('old', ['old'], shared))
  await start(withTables('first', ['first']), withTables('old', ['old'], shared))
  await start(
    withTables('second', ['second']),
    withTables('first', ['first', 'more']),
    withTables('old', ['old', 'older'], shared),
  )

  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  t.after(() => db.close())
  const tables = db
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'infrastructure!_%' ESCAPE '!'",
    )
    .all()
  const names = tables.map(({ name }) => String(name).slice('infrastructure_'.length))
  assert.deepEqual(
    ['old', 'older', 'first', 'more', 'second'].filter((name) => !names.includes(name)),
    [],
  )
})
