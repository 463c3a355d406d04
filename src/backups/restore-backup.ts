/** Puts what a backup holds into an empty data directory. */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar'
import { type Description, descriptionName, workFolderPrefix } from './contents.ts'

/**
 * Nothing is in its place before all of it was read and every database examined.
 *
 * @param dataDir Locked by this process, and without data
 * @throws {Error} when it is no backup, a damaged one, or one of a newer version; the directory is as it was then
 */
export async function restoreBackup(archive: AsyncIterable<Uint8Array>, dataDir: string): Promise<Description> {
  const work = mkdtempSync(join(dataDir, workFolderPrefix))
  try {
    await unpack(archive, work)
    const description = readDescription(join(work, descriptionName))
    const names = readdirSync(work).filter((name) => name !== descriptionName)
    for (const name of names) if (name.endsWith('.db')) examine(join(work, name), name)
    for (const name of names) renameSync(join(work, name), join(dataDir, name))
    return description
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function unpack(archive: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  try {
    await pipeline(archive, extract({ cwd: folder, strict: true, preserveOwner: process.getuid?.() === 0 }))
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== undefined && !code.startsWith('TAR_') && !code.startsWith('Z_')) throw cause
    throw new Error(`The backup is damaged, or no backup: ${message}. Take another one.`, { cause })
  }
}

function readDescription(file: string): Description {
  let description: Partial<Description>
  try {
    description = JSON.parse(readFileSync(file, 'utf8')) as Partial<Description>
  } catch (cause) {
    throw new Error(
      `This is no backup of Fairlead: it has no ${descriptionName}. Name a file that "fairlead backup" has written.`,
      {
        cause,
      },
    )
  }
  if (description.format === 1) return description as Description
  throw new Error(
    `The backup was written by a newer version, ${description.version}. Install that version, or take another backup.`,
  )
}

function examine(file: string, name: string): void {
  const db = new DatabaseSync(file)
  try {
    const [found] = db.prepare('PRAGMA quick_check(1)').all()
    if (found?.['quick_check'] === 'ok') return
    throw new Error(String(found?.['quick_check']))
  } catch (cause) {
    throw new Error(`The backup is damaged: ${name}: ${(cause as Error).message}. Take another one.`, { cause })
  } finally {
    db.close()
  }
}
