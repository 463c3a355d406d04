/** Brings tables to the newest version, in one transaction. */
import type { DatabaseSync } from 'node:sqlite'
import { inTransaction } from './database.ts'
import { explainDatabaseFault } from './database-fault.ts'

/** @throws as `migrateAll` */
export function migrate(db: DatabaseSync, owner: string, migrations: readonly string[]): void {
  migrateAll(db, [[owner, migrations]])
}

/**
 * The tables of all owners, or of none.
 *
 * @throws {Error} when the database was written by a newer version than this one, or cannot be used; the message says what to do
 */
export function migrateAll(
  db: DatabaseSync,
  all: readonly (readonly [owner: string, migrations: readonly string[]])[],
): void {
  try {
    const isComplete = all.every(
      ([owner, migrations]) => checkVersion(db, owner, migrations) === migrations.length,
    )
    if (isComplete) return
    inTransaction(db, () => {
      for (const [owner, migrations] of all) bringUp(db, owner, migrations)
    })
  } catch (error) {
    throw explainDatabaseFault(error, db.location() ?? undefined)
  }
}

function bringUp(db: DatabaseSync, owner: string, migrations: readonly string[]): void {
  db.exec(
    'CREATE TABLE IF NOT EXISTS schema_versions (owner TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT',
  )
  // Another process may have migrated meanwhile.
  for (const migration of migrations.slice(checkVersion(db, owner, migrations))) db.exec(migration)
  db.prepare(
    'INSERT INTO schema_versions (owner, version) VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET version = excluded.version',
  ).run(owner, migrations.length)
}

/** @returns the version that the tables have. @throws {Error} when a newer version than this one wrote them */
export function checkVersion(
  db: DatabaseSync,
  owner: string,
  migrations: readonly string[],
): number {
  const exists =
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_versions'").get() !== undefined
  const row = exists
    ? db.prepare('SELECT version FROM schema_versions WHERE owner = ?').get(owner)
    : undefined
  const current = Number(row?.['version'] ?? 0)
  if (current <= migrations.length) return current
  throw new Error(
    `${db.location() ?? 'The database'} was written by a newer version: ${owner} has schema ${current}, ` +
      `this version knows ${migrations.length}. Start the newer version again, or use another data directory.`,
  )
}
