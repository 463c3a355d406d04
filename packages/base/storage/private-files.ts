/** Files for the user of the process alone, mode 0600: databases, locks, keys. */
import {
  chmodSync,
  closeSync,
  createWriteStream,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Writable } from 'node:stream'

const ownerOnly = 0o600
/** S_IFDIR, without rights of group and others. */
const directoryType = 0o040000
/** What SQLite keeps beside a database; new ones get the mode of the database itself. */
const companions = ['-wal', '-shm', '-journal']

/** Opens or creates a database; files that an earlier version left readable for others are closed to them. @throws as SQLite does */
export function openPrivateDatabase(file: string): DatabaseSync {
  if (createPrivateFile(file)) return new DatabaseSync(file)
  for (const suffix of ['', ...companions]) closeToOthers(file + suffix)
  return new DatabaseSync(file)
}

/**
 * Writes a file in one step: a crash leaves the former content or the new one.
 *
 * @param flush Whether the content has to survive the end of the machine.
 * @throws as the file system does
 */
export function writePrivateFile(file: string, content: string, flush = true): void {
  replaceFile(file, content, { mode: ownerOnly, flush })
}

/** The same for a file that others may have rights to, whatever the umask is. */
export function replaceFile(
  file: string,
  content: string,
  { mode, flush }: { mode: number; flush: boolean },
): void {
  const fresh = `${file}.new`
  rmSync(fresh, { force: true })
  writeFileSync(fresh, content, { mode, flush })
  if (mode !== ownerOnly) chmodSync(fresh, mode)
  renameSync(fresh, file)
}

/** Creates a file by writing a stream; what breaks off leaves no file that looks whole. @throws as `write` and the file system */
export async function storePrivateFile(
  file: string,
  write: (sink: Writable) => Promise<void>,
): Promise<void> {
  const fresh = `${file}.new`
  try {
    await write(createWriteStream(fresh, { mode: ownerOnly, flush: true }))
    renameSync(fresh, file)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}

/** Creates a folder where other processes may create some, too. @throws {Error} when another process was faster */
export function openPrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(folder)
  if (uid === process.getuid?.() && (mode & 0o170077) === directoryType) return
  throw new Error(
    `The folder ${folder} belongs to another user, or others may write there. Remove it, or set data.dir to a shorter path.`,
  )
}

/** Takes the rights of group and others away. Files of another user, such as a mounted volume may hold, stay as they are. */
export function closeToOthers(file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode
  if (mode === undefined || (mode & 0o077) === 0) return
  try {
    chmodSync(file, mode & 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

/** Whether there was no such file, and now there is an empty one. Opening it reports a failed creation. */
function createPrivateFile(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', ownerOnly))
    return true
  } catch {
    return false
  }
}
