/** Plug-ins of Deck: those that Fairlead brings itself, and those of repositories. */
import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { DeckPlugin } from './releases.ts'
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

export class DeckPlugins {
  readonly #builtIn: readonly BuiltInPlugin[]
  readonly #repositories: RepositoryPlugins | undefined

  /** @param repositories Undefined where none of their plug-ins is enabled. */
  constructor(builtIn: readonly BuiltInPlugin[], repositories: RepositoryPlugins | undefined) {
    this.#builtIn = builtIn
    this.#repositories = repositories
  }

  /** Deck loads the asset `index.js` of each. @throws {GatewayError} PLUGINS_UNAVAILABLE before the lists have been read once */
  manifest(): readonly DeckPlugin[] {
    const builtIn = this.#builtIn.map(({ id, name, version }) => ({ id, name, version }))
    return [...builtIn, ...(this.#repositories?.manifest() ?? [])]
  }

  /**
   * @param name A file name, without folders.
   * @returns bytes and media type; undefined where there is no such plug-in, version or file
   * @throws {GatewayError} PLUGINS_UNAVAILABLE
   */
  async asset(id: string, version: string, name: string): Promise<{ bytes: Buffer; type: string } | undefined> {
    const own = this.#builtIn.find((plugin) => plugin.id === id && plugin.version === version)
    const bytes = await (own === undefined ? this.#repositories?.asset(id, version, name) : readBuiltInAsset(own, name))
    return bytes && { bytes, type: types[extname(name).toLowerCase()] ?? 'text/plain' }
  }
}

/** Only names that lie in the folder are read. */
async function readBuiltInAsset({ dir }: BuiltInPlugin, name: string): Promise<Buffer | undefined> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
  const isFile = entries.some((entry) => entry.isFile() && entry.name === name)
  return isFile ? readFile(new URL(encodeURIComponent(name), dir)) : undefined
}
