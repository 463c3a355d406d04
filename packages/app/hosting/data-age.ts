/** Whether a version with cautious defaults has created the database of the back ends; one from before keeps its behaviour. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@fairlead/base/storage/database.ts'

const hasTable = (db: DatabaseSync, name: string) =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !==
  undefined

/** The mark lies in the database: it moves with its copies and backups. Called before the first table of a back end exists. */
export function markNewData(db: DatabaseSync): boolean {
  // Deleted records give their space back; in a file that has tables, that would need a copy of all of it.
  if (db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined)
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM')
  return inTransaction(db, () => {
    if (!hasTable(db, 'schema_versions')) {
      db.exec('CREATE TABLE IF NOT EXISTS instance_defaults (version INTEGER NOT NULL) STRICT')
      if (db.prepare('SELECT 1 FROM instance_defaults').get() === undefined)
        db.exec('INSERT INTO instance_defaults VALUES (1)')
    }
    return hasTable(db, 'instance_defaults')
  })
}

/** For commands, also while a gateway runs: a directory without a database is new. */
export function isNewData(dataDir: string): boolean {
  const file = join(dataDir, 'backends.db')
  if (!existsSync(file)) return true
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    return hasTable(db, 'instance_defaults') || !hasTable(db, 'schema_versions')
  } finally {
    db.close()
  }
}
