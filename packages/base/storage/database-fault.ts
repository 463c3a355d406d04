/** Errors of SQLite that an operator can mend, with what to do. */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'

export type StorageFault = 'read-only' | 'failing' | 'full' | 'damaged' | 'busy'

/** By the result code of SQLite without its extension. */
const faults: Readonly<Record<number, StorageFault>> = {
  5: 'busy',
  8: 'read-only',
  10: 'failing',
  11: 'damaged',
  13: 'full',
  14: 'read-only',
  26: 'damaged',
}

const advice: Readonly<Record<StorageFault, string>> = {
  'read-only': 'cannot be written. Give this user write access to it and to its directory',
  failing:
    'cannot be read or written: its disk fails, or files may not grow (ulimit -f). Look at the log of the machine',
  full: 'cannot be written: the disk is full. Free some space, then try again',
  damaged:
    'cannot be used: it is damaged, or no database. Restore it from a backup, or move it away to start anew',
  busy: 'is in use by another process. Try again when that has ended',
}

const sentences: Readonly<Partial<Record<StorageFault, string>>> = {
  'read-only': 'The data directory cannot be written to. Make it writable, then try again.',
  failing: 'The disk of the data directory fails. Look at the log of the machine, then try again.',
  full: 'The disk of the data directory is full. Free some space, then try again.',
}

const fileFaults: Readonly<Record<string, StorageFault>> = {
  EROFS: 'read-only',
  EIO: 'failing',
  ENOSPC: 'full',
  EDQUOT: 'full',
}

/** What an operator can mend about the disk, for clients: an error of the database or of a file; undefined for every other one. */
export function describeStorageFault(error: unknown): string | undefined {
  const { code = '', errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  const fault = storageFaultOf({ errcode }) ?? fileFaults[String(code)]
  return fault && sentences[fault]
}

/** Undefined for everything else. @param file Where it lies, if that is known: a full disk shows in several ways. */
export function storageFaultOf(error: unknown, file?: string): StorageFault | undefined {
  const { errcode } = error as { errcode?: unknown }
  const fault = typeof errcode === 'number' ? faults[errcode & 0xff] : undefined
  return fault === 'failing' && file !== undefined && isFull(dirname(file)) ? 'full' : fault
}

/** The same error with the file and what to do in its message; every other one stays as it is. */
export function explainDatabaseFault<E>(error: E, file?: string): E | Error {
  const fault = storageFaultOf(error, file)
  if (fault === undefined) return error
  return new Error(`${file ?? 'A database of the data directory'} ${advice[fault]}.`, {
    cause: error,
  })
}

/** Too little is left for one page and what SQLite keeps beside it. */
function isFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize < 128 * 1024
  } catch {
    return false
  }
}
