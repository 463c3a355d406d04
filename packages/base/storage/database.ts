/** SQLite files whose committed content survives a crash of process or machine. */
import type { DatabaseSync } from 'node:sqlite'
import { explainDatabaseFault } from './database-fault.ts'
import { openPrivateDatabase } from './private-files.ts'

/** Each time that the log has so many, 16 MB, they are copied into the file, while nothing else goes on: those that often change, once. */
const pagesInLog = 4000

/** @throws {Error} when the file cannot be used; the message names it and says what to do */
export function openDatabase(file: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    db = openPrivateDatabase(file)
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000;
       PRAGMA wal_autocheckpoint = ${pagesInLog}`,
    )
    return db
  } catch (error) {
    db?.close()
    throw explainDatabaseFault(error, file)
  }
}

/** The same for a file of one part, which is closed again when the part cannot use it. @throws as `openDatabase`, and what `use` throws */
export function openDatabaseFor<Part>(file: string, use: (db: DatabaseSync) => Part): Part {
  const db = openDatabase(file)
  try {
    return use(db)
  } catch (error) {
    db.close()
    throw explainDatabaseFault(error, file)
  }
}

/** Runs `work` in one transaction; it is rolled back when `work` throws. Not for nesting. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    // A full disk has already ended the transaction.
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
