/** Reads the configuration for the commands, and tells every mistake at once. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { parseArgs } from 'node:util'
import { ConfigError, type LoadedConfig, loadConfig } from '../src/config/config.ts'

/** Files that Docker and Podman put into every container. */
const containerMarks = ['/.dockerenv', '/run/.containerenv']

const options = { config: { type: 'string', multiple: true } } as const

/** What is wrong with the arguments of a command that takes configuration files and nothing else. */
export function findMisuse(args: readonly string[]): string | undefined {
  try {
    parseArgs({ args: [...args], options })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** Undefined when the configuration is not sound: everything wrong with it has been written to standard error. */
export async function readConfig(args: readonly string[]): Promise<LoadedConfig | undefined> {
  try {
    return await loadConfigOf(args)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    return undefined
  }
}

/** @throws {ConfigError} with everything that is wrong */
export function loadConfigOf(args: readonly string[]): Promise<LoadedConfig> {
  const { values } = parseArgs({ args: [...args], options, strict: false })
  const files = (values['config'] ?? []).map(String)
  return loadConfig({
    cwd: process.cwd(),
    env: process.env,
    homeDir: homedir(),
    files,
    inContainer: containerMarks.some((file) => existsSync(file)),
    onTerminal: process.stdin.isTTY,
  })
}
