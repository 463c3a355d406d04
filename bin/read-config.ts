/** Reads the configuration for the commands, and tells every mistake at once. */
import { homedir } from 'node:os'
import { parseArgs } from 'node:util'
import { ConfigError, type LoadedConfig, loadConfig } from '../src/config/config.ts'

/** Undefined when the configuration is not sound: everything wrong with it has been written to standard error. */
export async function readConfig(args: readonly string[]): Promise<LoadedConfig | undefined> {
  const { values } = parseArgs({ args: [...args], options: { config: { type: 'string', multiple: true } }, strict: false })
  const files = (values['config'] ?? []).map(String)
  try {
    return await loadConfig({ cwd: process.cwd(), env: process.env, homeDir: homedir(), files })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    return undefined
  }
}
