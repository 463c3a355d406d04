/** Folders that tests write into: gone at the latest with the process, whichever way a test ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()
/** What ends in the background, as the clean-up of a container does, may still write; a removal that fails would leave out all that a test closes afterwards. */
const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 } as const

/** A new folder. It is removed at the end of the process, when everything that writes into it is over, or by `removeFolder`. */
export function createFolder(purpose: string, parent = tmpdir()): string {
  if (folders.size === 0) {
    process.once('exit', removeAll)
    process.once('SIGTERM', endOnSignal)
  }
  const folder = mkdtempSync(join(parent, `fairlead-${purpose}-`))
  folders.add(folder)
  return folder
}

export function removeFolder(folder: string): void {
  rmSync(folder, removal)
  folders.delete(folder)
  if (folders.size > 0) return
  process.off('exit', removeAll)
  process.off('SIGTERM', endOnSignal)
}

function removeAll(): void {
  for (const folder of folders) rmSync(folder, removal)
}

/** A runner that gives a file up sends this; without a listener the process would end without its last steps. */
function endOnSignal(): void {
  process.exit(143)
}
