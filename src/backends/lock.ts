/** Keeps two processes from working on one data directory; the operating system frees the lock however the process ends. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { openPrivateDatabase } from '../private-files.ts'

/**
 * Creates the directory, readable by its owner only, and locks it.
 *
 * @throws {Error} when another process uses it, or it cannot be created; the message says what to do
 */
export function lockDataDir(dataDir: string): { release(): void } {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new Error(
      `The data directory ${dataDir} cannot be created: ${(cause as Error).message}. Set data.dir or FAIRLEAD_DATA_DIR.`,
      { cause },
    )
  }
  const lock = openLock(dataDir)
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 200; BEGIN EXCLUSIVE')
  } catch (cause) {
    lock.close()
    if ((cause as { errcode?: unknown }).errcode !== sqliteBusy) throw unusable(dataDir, cause)
    throw new Error(
      `Another Fairlead uses the data directory ${dataDir}. Stop it, or set data.dir or FAIRLEAD_DATA_DIR to another one.`,
      { cause },
    )
  }
  return { release: () => lock.close() }
}

const sqliteBusy = 5

function openLock(dataDir: string): DatabaseSync {
  try {
    return openPrivateDatabase(join(dataDir, 'lock.db'))
  } catch (cause) {
    throw unusable(dataDir, cause)
  }
}

function unusable(dataDir: string, cause: unknown): Error {
  return new Error(
    `The data directory ${dataDir} cannot be written: ${(cause as Error).message}. ` +
      'Give this user write access to it, or set data.dir or FAIRLEAD_DATA_DIR to another one.',
    { cause },
  )
}
