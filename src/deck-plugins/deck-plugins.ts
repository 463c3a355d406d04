/** Plug-ins of Deck: those that Fairlead brings itself, and those of repositories. */
import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { DeckPlugin, DeckPluginAsset, DeckPlugins } from '../operations/deck-plugins.ts'
import type { RepositoryPlugins } from './repository-plugins.ts'

/** Listed in the manifest beside the plug-ins of repositories. */
export interface BuiltInPlugin extends DeckPlugin {
  /** Folder of `index.js` and the other assets; ends in a slash. */
  readonly dir: URL
}

/** As Gate names them; everything else is text. */
const types: Readonly<Record<string, string>> = {
  '.js': 'application/javascript',
  '.css': 'text/css',
  '.html': 'text/html',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

/** @param repositories Undefined where none of their plug-ins is enabled. */
export function createDeckPlugins(builtIn: readonly BuiltInPlugin[], repositories: RepositoryPlugins | undefined): DeckPlugins {
  function manifest(): readonly DeckPlugin[] {
    return [...builtIn.map(({ id, name, version }) => ({ id, name, version })), ...(repositories?.manifest() ?? [])]
  }

  async function asset(id: string, version: string, name: string): Promise<DeckPluginAsset | undefined> {
    const own = builtIn.find((plugin) => plugin.id === id && plugin.version === version)
    const bytes = await (own === undefined ? repositories?.asset(id, version, name) : readBuiltInAsset(own, name))
    return bytes && { bytes, type: types[extname(name).toLowerCase()] ?? 'text/plain' }
  }

  return { manifest, asset }
}

/** Only names that lie in the folder are read. */
async function readBuiltInAsset({ dir }: BuiltInPlugin, name: string): Promise<Buffer | undefined> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
  const isFile = entries.some((entry) => entry.isFile() && entry.name === name)
  return isFile ? readFile(new URL(encodeURIComponent(name), dir)) : undefined
}
