/** What Node reads of Fairlead to run one of its files in a process of its own. */
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Its sources, or what is built of them. */
export function ownSources(file: string): string[] {
  if (file.endsWith('.js')) return [dirname(file), resolve(file, '../../package.json')]
  return ['packages', 'node_modules', 'package.json'].map((name) =>
    resolve(fileURLToPath(import.meta.url), '../../../..', name),
  )
}
