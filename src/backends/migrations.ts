/** Brings the tables of one back end to the newest version, each step once and in a transaction. */
import type { DatabaseSync } from 'node:sqlite'
import { rollBack } from './database.ts'

/** @throws {Error} when the database was written by a newer version than this one. */
export function migrate(db: DatabaseSync, owner: string, migrations: readonly string[]): void {
  db.exec('CREATE TABLE IF NOT EXISTS schema_versions (owner TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT')
  const row = db.prepare('SELECT version FROM schema_versions WHERE owner = ?').get(owner)
  const current = row === undefined ? 0 : Number(row['version'])
  if (current > migrations.length) {
    throw new Error(
      `The database was written by a newer version: ${owner} has schema ${current}, this version knows ${migrations.length}. ` +
        'Start the newer version again, or use another data directory.',
    )
  }
  for (let version = current; version < migrations.length; version++) {
    db.exec('BEGIN IMMEDIATE')
    try {
      db.exec(migrations[version] as string)
      db.prepare(
        'INSERT INTO schema_versions (owner, version) VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET version = excluded.version',
      ).run(owner, version + 1)
      db.exec('COMMIT')
    } catch (error) {
      rollBack(db)
      throw error
    }
  }
}
