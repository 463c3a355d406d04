/** What a data directory knows of the lease: its own id, and the last term in which it was served. */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { writePrivateFile } from '../storage/private-files.ts'
import type { LeaseRecord } from './lease.ts'

/** Not part of backups: it belongs to this very directory. */
export const servedDirectoryName = 'lease.json'

const Served = z.object({ id: z.string(), term: z.int().optional(), copy: z.string().optional() })
export type ServedDirectory = z.infer<typeof Served>

/** For the process that holds the lock of the directory. @throws {Error} when the file is damaged or cannot be written */
export function readServedDirectory(dataDir: string): ServedDirectory {
  const file = join(dataDir, servedDirectoryName)
  if (!existsSync(file)) {
    const fresh = { id: randomUUID() }
    writeServedDirectory(dataDir, fresh)
    return fresh
  }
  try {
    return Served.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new Error(`${file} is damaged. Remove it; the directory then counts as one that was not served before.`, { cause })
  }
}

export function writeServedDirectory(dataDir: string, served: ServedDirectory): void {
  writePrivateFile(join(dataDir, servedDirectoryName), JSON.stringify(served))
}

export function hasDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, 'backends.db'))
}

/** Whether nothing was written elsewhere since. @param before The lease as the former holder left it */
export function isCurrent({ term }: ServedDirectory, before: LeaseRecord | undefined): boolean {
  if (before?.written === undefined) return true
  // A holder that ended before it could note in the lease that it writes has noted it in its directory.
  return term === before.written || term === before.term
}

export function describeOutdated(dataDir: string, { term }: ServedDirectory, before: LeaseRecord, removal: string): string {
  const found = hasDatabase(dataDir)
    ? `The data directory ${dataDir} has what was written until ${term === undefined ? 'there was a lease' : `term ${term}`}`
    : `The data directory ${dataDir} is empty`
  return (
    `${found}, but term ${before.written} on ${before.holder} has written since, elsewhere. Start the engine with that directory, or ` +
    `restore its backup here and remove the lease (${removal}): then this directory counts. With backends.copy, a standby restores it.`
  )
}
