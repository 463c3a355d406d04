/** Lock of a data directory against a second process. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { explainDatabaseFault, storageFaultOf } from '@fairlead/base/storage/database-fault.ts'
import { type FileLock, LockedError, lockFile } from '@fairlead/base/storage/file-lock.ts'

/** Another process uses the data directory. */
export class DirectoryInUse extends Error {}

/**
 * Creates the directory, readable by its owner only, and locks it.
 *
 * @throws {DirectoryInUse} @throws {Error} when it cannot be created; the message says what to do
 */
export function lockDataDir(dataDir: string): FileLock {
  createDataDir(dataDir)
  try {
    return lockFile(join(dataDir, 'lock.db'))
  } catch (cause) {
    if (!(cause instanceof LockedError)) throw unusable(dataDir, cause)
    throw new DirectoryInUse(
      `Another Fairlead uses the data directory ${dataDir}. Stop it, or set data.dir or FAIRLEAD_DATA_DIR to another one.`,
      { cause },
    )
  }
}

/** Readable by its owner only. @throws {Error} the message says what to do */
export function createDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const reason = code === 'EEXIST' ? 'it is a file' : message
    throw new Error(
      `The data directory ${dataDir} cannot be created: ${reason}. Set data.dir or FAIRLEAD_DATA_DIR.`,
      { cause },
    )
  }
}

function unusable(dataDir: string, cause: unknown): Error {
  const file = join(dataDir, 'lock.db')
  const fault = storageFaultOf(cause, file)
  if (fault === 'damaged')
    return new Error(`${file} is damaged. Remove it: it holds nothing.`, { cause })
  if (fault !== undefined && fault !== 'read-only')
    return explainDatabaseFault(cause as Error, file)
  return new Error(
    `The data directory ${dataDir} cannot be written. ` +
      'Give this user write access to it, or set data.dir or FAIRLEAD_DATA_DIR to another one.',
    { cause },
  )
}
