/** Plug-ins of Deck that Fairlead brings itself, each in a folder of files. */
import { readdir, readFile } from 'node:fs/promises'
import type { DeckPlugin } from '../operations/deck-plugins.ts'

/** Listed in the manifest beside the plug-ins of repositories. */
export interface BuiltInPlugin extends DeckPlugin {
  /** Folder of `index.js` and the other assets; ends in a slash. */
  readonly dir: URL
}

/** Only names that lie in the folder are read. */
export async function readBuiltInAsset({ dir }: BuiltInPlugin, name: string): Promise<Buffer | undefined> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
  const isFile = entries.some((entry) => entry.isFile() && entry.name === name)
  return isFile ? readFile(new URL(encodeURIComponent(name), dir)) : undefined
}
