/** File locks between processes, released by the operating system. */
import { openPrivateDatabase } from './private-files.ts'

/** Closing it releases the lock. */
export interface FileLock {
  close(): void
}

/** Another process holds the lock. */
export class LockedError extends Error {}

const sqliteBusy = 5

/** Creates and locks the file. @throws {LockedError} @throws as SQLite when it cannot be created or is damaged */
export function lockFile(file: string): FileLock {
  const lock = openPrivateDatabase(file)
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 200; BEGIN EXCLUSIVE')
  } catch (cause) {
    lock.close()
    if ((cause as { errcode?: unknown }).errcode !== sqliteBusy) throw cause
    throw new LockedError(`another process holds ${file}`, { cause })
  }
  return lock
}
