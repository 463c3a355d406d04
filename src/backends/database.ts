/** Opens the SQLite file of the embedded back ends so that what was committed survives a crash of process or machine. */
import type { DatabaseSync } from 'node:sqlite'
import { openPrivateDatabase } from '../private-files.ts'
import { BackendError } from './backend.ts'

export function openDatabase(file: string): DatabaseSync {
  const db = openPrivateDatabase(file)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000')
  return db
}

/** Runs `work` in one transaction; it is rolled back when `work` throws. Not for nesting. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    rollBack(db)
    throw error
  }
}

/** A full disk ends the transaction before anybody can. */
function rollBack(db: DatabaseSync): void {
  if (db.isTransaction) db.exec('ROLLBACK')
}

/** By the result code of SQLite without its extension. */
const storageFaults: Readonly<Record<number, string>> = {
  8: 'The data directory cannot be written to. Make it writable, then try again.',
  10: 'The disk of the data directory fails. Look at the log of the machine, then try again.',
  13: 'The disk of the data directory is full. Free some space, then try again.',
}

/** An error of the database that the operator can mend says so, with status 507; every other one stays as it is. */
export function toStorageError<E>(error: E): E | BackendError {
  const { errcode } = error as { errcode?: unknown }
  const fault = typeof errcode === 'number' ? storageFaults[errcode & 0xff] : undefined
  return fault === undefined ? error : new BackendError(507, `${fault} Nothing was changed.`)
}
