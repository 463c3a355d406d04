/** Writes what a data directory holds into one stream, consistently, while Fairlead may run. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backup } from 'node:sqlite'
import { explainDatabaseFault } from '@fairlead/base/storage/database-fault.ts'
import { closeToOthers, openPrivateDatabase } from '@fairlead/base/storage/private-files.ts'
import { create } from 'tar'
import {
  contentsOf,
  type Description,
  descriptionName,
  isUnfinished,
  workFolderPrefix,
} from './contents.ts'

interface BackupOptions {
  readonly dataDir: string
  readonly secretsKey: string | undefined
  readonly withSecretsKey: boolean
  readonly version: string
  readonly now: Date
}

/**
 * A gzipped tar archive: the description, the databases, then the files. Each database is as it was at one moment, all of them before the
 * files; files that a database names are never changed, only removed once nothing uses them.
 *
 * @throws {Error} when something cannot be read, or the disk has no room for copies of the databases; the message says what to do
 */
export async function* writeBackup({
  dataDir,
  secretsKey = '',
  withSecretsKey,
  version,
  now,
}: BackupOptions): AsyncIterable<Uint8Array> {
  const work = mkdtempSync(join(dataDir, workFolderPrefix))
  try {
    const { databases, others } = contentsOf(dataDir, withSecretsKey ? undefined : secretsKey)
    const hasSecretsKey = others.includes(secretsKey)
    const description: Description = {
      format: 1,
      version,
      createdAt: now.toISOString(),
      dataDir,
      hasSecretsKey,
    }
    writeFileSync(join(work, descriptionName), `${JSON.stringify(description, null, 2)}\n`, {
      mode: 0o600,
    })
    for (const name of databases) await copyDatabase(join(dataDir, name), join(work, name))
    const copied = [descriptionName, ...databases].map((name) => join(work, name))
    yield* create(
      {
        cwd: dataDir,
        gzip: true,
        preservePaths: true,
        filter: (path) => !isUnfinished(path),
        onWriteEntry: (entry) => {
          if (entry.path.startsWith(work)) entry.path = entry.path.slice(work.length + 1)
        },
      },
      [...copied, ...others],
    )
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const everyPage = 2 ** 31 - 1

/** Copies in one step: what is written meanwhile would make it begin anew. */
async function copyDatabase(file: string, copy: string): Promise<void> {
  try {
    const db = openPrivateDatabase(file)
    try {
      await backup(db, copy, { rate: everyPage })
      closeToOthers(copy)
    } finally {
      db.close()
    }
  } catch (error) {
    throw explainDatabaseFault(error, file)
  }
}
