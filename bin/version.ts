/** `fairlead version`, and the version for everything else that names it. */
import { readFileSync } from 'node:fs'
import { readArguments } from './arguments.ts'

/** The version of the package: package.json lies one folder above, in the repository and in the published package. */
export function packageVersion(): string {
  const file = new URL('../package.json', import.meta.url)
  return String((JSON.parse(readFileSync(file, 'utf8')) as { version: unknown }).version)
}

export const usage = `Usage: fairlead version

Prints the version.
`

export async function run(args: readonly string[]): Promise<number> {
  readArguments(args, { command: 'version', options: {} })
  process.stdout.write(`${packageVersion()}\n`)
  return 0
}
