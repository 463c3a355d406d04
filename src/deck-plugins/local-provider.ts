/** The plug-in of Deck for the provider `local`, which is built with the web console. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { BuiltInPlugin } from './deck-plugins.ts'

/**
 * Another content is another version, so that browsers load it at once.
 *
 * @param consoleDir Folder of the built console; ends in a slash. Undefined where there is none.
 * @param version That of Fairlead.
 * @returns nothing unless it is built
 */
export async function findLocalProviderPlugin(consoleDir: URL | undefined, version: string): Promise<readonly BuiltInPlugin[]> {
  if (consoleDir === undefined) return []
  const dir = new URL('deck-plugin/', consoleDir)
  const content = await readFile(new URL('index.js', dir)).catch(() => undefined)
  if (content === undefined) return []
  const mark = createHash('sha256').update(content).digest('hex').slice(0, 8)
  return [{ id: 'fairlead.local', name: 'Programs on this machine', version: `${version}-${mark}`, dir }]
}
