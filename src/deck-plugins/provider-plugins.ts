/** Plug-ins that teach Deck the providers of the embedded infrastructure; they are built with the web console. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { providerTypes } from '../backends/infrastructure/providers/all.ts'
import type { DeckPluginSource } from '../backends/infrastructure/providers/provider-type.ts'
import type { BuiltInPlugin } from './deck-plugins.ts'

/**
 * Another content is another version, so that browsers load it at once.
 *
 * @param consoleDir Folder of the built console; ends in a slash. Undefined where there is none.
 * @param version That of Fairlead.
 * @returns those that are built
 */
export async function findProviderPlugins(consoleDir: URL | undefined, version: string): Promise<readonly BuiltInPlugin[]> {
  if (consoleDir === undefined) return []
  const sources = providerTypes.flatMap(({ deckPlugin }) => deckPlugin ?? [])
  const found = await Promise.all(sources.map((source) => findPlugin(source, consoleDir, version)))
  return found.filter((plugin) => plugin !== undefined)
}

async function findPlugin(
  { id, name, folder }: DeckPluginSource,
  consoleDir: URL,
  version: string,
): Promise<BuiltInPlugin | undefined> {
  const dir = new URL(folder, consoleDir)
  const content = await readFile(new URL('index.js', dir)).catch(() => undefined)
  if (content === undefined) return undefined
  const mark = createHash('sha256').update(content).digest('hex').slice(0, 8)
  return { id, name, version: `${version}-${mark}`, dir }
}
