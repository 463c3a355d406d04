/** The version of the package. */
import { readFileSync } from 'node:fs'

/** From package.json, two folders above: in the repository, and in the published package, where this file is in `dist/cli`. */
export function packageVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  return String((JSON.parse(readFileSync(file, 'utf8')) as { version: unknown }).version)
}
