/** The version, for all that names it. */
import { readFileSync } from 'node:fs'

/** The version of the package: package.json lies one folder above, in the repository and in the published package. */
export function packageVersion(): string {
  const file = new URL('../package.json', import.meta.url)
  return String((JSON.parse(readFileSync(file, 'utf8')) as { version: unknown }).version)
}
