/** The configuration, as the command line names it. */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Config, type LoadedConfig, loadConfig } from '@fairlead/app/config/config.ts'
import { containerMarks } from './command-name.ts'

export const configOption = { config: { type: 'string', multiple: true } } as const

/** Options of commands that start a server, or say whether it would start. */
export const startOptions = {
  ...configOption,
  strict: { type: 'boolean', default: false },
} as const

export const settingsHint =
  'Settings come from files and from the environment, such as SERVER_PORT=8084.'

/** @throws {ConfigError} with everything that is wrong */
export function readConfig(
  args: readonly string[],
  { servesBackends = false } = {},
): Promise<LoadedConfig> {
  return loadConfig({
    cwd: process.cwd(),
    env: process.env,
    files: configFilesOf(args),
    settings: optionsOf(args).strict ? { 'config.unknown-keys': 'reject' } : {},
    inContainer: Object.values(containerMarks).some((file) => existsSync(file)),
    onTerminal: process.stdin.isTTY,
    servesBackends,
  })
}

/** @throws {Error} when there is none yet */
export function existingDataDir({ dataDir }: Pick<Config['backends'], 'dataDir'>): string {
  if (existsSync(dataDir)) return dataDir
  throw new Error(`There is no data directory ${dataDir}. Set data.dir or FAIRLEAD_DATA_DIR.`)
}

export function configFilesOf(args: readonly string[]): string[] {
  return (optionsOf(args).config ?? []).map(String)
}

function optionsOf(args: readonly string[]) {
  return parseArgs({ args: [...args], options: startOptions, strict: false }).values
}
