/** Keeps two processes from writing one audit log; the operating system frees the lock however the process ends. */
import { openPrivateDatabase } from '../../private-files.ts'

export interface FileLock {
  release(): void
}

const sqliteBusy = 5

/** Locks a file beside the given one. @throws {Error} when another process holds it, or it cannot be created */
export function lockFile(file: string): FileLock {
  const lock = openPrivateDatabase(`${file}.lock`)
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 200; BEGIN EXCLUSIVE')
  } catch (cause) {
    lock.close()
    if ((cause as { errcode?: unknown }).errcode !== sqliteBusy) throw cause
    throw new Error('another process writes it, and each needs one of its own', { cause })
  }
  return { release: () => lock.close() }
}
