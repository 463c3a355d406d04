/** Writes configuration files into a temporary directory and loads them, for the tests of the configuration. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  ConfigError,
  type ConfigPlaces,
  type LoadedConfig,
  loadConfig,
} from '../../packages/app/config/config.ts'
import { formatProblems } from '../../packages/app/config/problems.ts'

export interface Given extends Pick<ConfigPlaces, 'env' | 'files' | 'settings'> {
  /** Content by path: `config/gate.yml`, `home/.spinnaker/gate.yml`, `system/gate.yml`. The working directory is `.`. */
  [path: `${string}.${'yml' | 'yaml'}` | `${string}/${string}`]: string | Uint8Array
}

export function write(t: TestContext, given: Given): ConfigPlaces {
  const cwd = mkdtempSync(join(tmpdir(), 'fairlead-config-'))
  t.after(() => rmSync(cwd, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(given)) {
    if (typeof content !== 'string' && !(content instanceof Uint8Array)) continue
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), content)
  }
  const { env = {}, files = [], settings = {} } = given
  return { cwd, env, files, settings, homeDir: join(cwd, 'home'), systemDir: join(cwd, 'system') }
}

export async function load(t: TestContext, given: Given): Promise<LoadedConfig> {
  return await loadConfig(write(t, given))
}

/** The problems as an operator sees them, a line each; empty when there are none. */
export async function problemsOf(t: TestContext, given: Given): Promise<string[]> {
  try {
    await load(t, given)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return formatProblems(error.problems).split('\n')
  }
}

/** What a check prints: notices and summary, or every problem. */
export async function checkConfig(
  places: ConfigPlaces = {},
): Promise<{ ok: boolean; text: string }> {
  try {
    const { notices, summary } = await loadConfig(places)
    return { ok: true, text: [...notices, summary].join('\n') }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { ok: false, text: error.message }
  }
}
