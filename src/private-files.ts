/** Files for the user of the process alone, mode 0600: databases, locks, keys. */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const ownerOnly = 0o600
/** What SQLite keeps beside a database; new ones get the mode of the database itself. */
const companions = ['-wal', '-shm', '-journal']

/** Opens or creates a database; files that an earlier version left readable for others are closed to them. @throws as SQLite does */
export function openPrivateDatabase(file: string): DatabaseSync {
  if (createPrivateFile(file)) return new DatabaseSync(file)
  for (const suffix of ['', ...companions]) closeToOthers(file + suffix)
  return new DatabaseSync(file)
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

/** Whether there was no such file, and now there is an empty one. What cannot be created is reported by those who open it. */
function createPrivateFile(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', ownerOnly))
    return true
  } catch {
    return false
  }
}
