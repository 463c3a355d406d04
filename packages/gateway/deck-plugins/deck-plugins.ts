/** Plug-ins of Deck: those that Fairlead brings itself, and those of repositories. */
import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { DeckPlugin, DeckPluginAsset, DeckPlugins } from '../operations/deck-plugins.ts'
import type { RepositoryPlugins } from './repository-plugins.ts'

export interface BuiltInPlugin extends DeckPlugin {
  readonly dir: URL
}

const types: Readonly<Record<string, string>> = {
  '.js': 'application/javascript',
  '.css': 'text/css',
  '.html': 'text/html',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

export function createDeckPlugins(
  builtIn: readonly BuiltInPlugin[],
  repositories: RepositoryPlugins | undefined,
): DeckPlugins {
  function manifest(): readonly DeckPlugin[] {
    return [
      ...builtIn.map(({ id, name, version }) => ({ id, name, version })),
      ...(repositories?.manifest() ?? []),
    ]
  }

  async function asset(
    id: string,
    version: string,
    name: string,
  ): Promise<DeckPluginAsset | undefined> {
    const own = builtIn.find((plugin) => plugin.id === id && plugin.version === version)
    const bytes = await (own === undefined
      ? repositories?.asset(id, version, name)
      : readBuiltInAsset(own, name))
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
