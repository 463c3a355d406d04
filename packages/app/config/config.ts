/** The whole configuration: found, read, and checked at once. Documented in `loadConfig`. */
import { homedir } from 'node:os'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import { checkRoleSource } from '@fairlead/engine/permissions/check-role-source.ts'
import { type Config, type ProcessSurroundings, settingGroups, toConfig } from './capabilities.ts'
import { type CombinedSources, combineSources } from './combine.ts'
import { foreignKeys } from './foreign-keys.ts'
import { createKnownKeys } from './known-keys.ts'
import { ConfigError, formatProblems, sortProblems } from './problems.ts'
import { hideSecrets, type ResolvedSecret, type SecretPlaces } from './secrets/secret-reference.ts'
import { SettingsReader } from './settings-reader.ts'
import { SourceKeys } from './sources.ts'
import { summarize } from './summary.ts'

export type { Config } from './capabilities.ts'
export { ConfigError, formatProblems, type Problem } from './problems.ts'

export interface ConfigPlaces {
  /** Default: the working directory. */
  cwd?: string
  /** Default: none, so that tests do not depend on where they run. */
  env?: Readonly<Record<string, string | undefined>>
  /** Further files or directories, which win over all other files: `--config`. */
  files?: readonly string[]
  /** Default: that of the user, if there is one. */
  homeDir?: string
  /** Default: `/opt/spinnaker/config`. */
  systemDir?: string
  /** Credentials of the pod. Default: where Kubernetes mounts them. */
  serviceAccountDir?: string
  /** Settings by key, which win over everything: `{'server.port': 0}`. */
  settings?: Readonly<Record<string, unknown>>
  /** The process runs in a container, or was started by hand. Default: neither. */
  inContainer?: boolean
  onTerminal?: boolean
  /** For `fairlead backends`, whose back ends are its own wherever gateways find them. */
  servesBackends?: boolean
}

export interface LoadedConfig {
  config: Config
  notices: string[]
  /** What was read, in the order in which later ones win. */
  sources: string[]
  summary: string
}

const knownKeys = createKnownKeys(
  Object.assign({}, ...Object.values(settingGroups).map((keys) => keys.shape)),
  foreignKeys,
)

/**
 * Reads and checks the configuration. Sources, each of which wins over those before it:
 *
 * 1. `config/` in the working directory, 2. `fairlead.yml` in the working directory, 3. `~/.spinnaker/`,
 * 4. `/opt/spinnaker/config`, 5. what SPRING_CONFIG_ADDITIONAL_LOCATION names, 6. what `files` names, 7. credentials of systemd,
 * 8. environment variables, 9. SPRING_APPLICATION_JSON, 10. `settings`. SPRING_CONFIG_LOCATION replaces 1 to 4.
 *
 * In a directory count `spinnaker.yml`, `gate.yml`, `fairlead.yml` in this order, then the same with `-<profile>` for each
 * active profile. In a file, later documents win. Maps are merged, lists and values are replaced, an empty value is none.
 *
 * @throws {ConfigError} with every problem at once.
 */
export async function loadConfig(places: ConfigPlaces = {}): Promise<LoadedConfig> {
  const env = places.env ?? {}
  const cwd = places.cwd ?? process.cwd()
  const combined = await combineSources(knownKeys, {
    cwd,
    env,
    files: places.files ?? [],
    homeDir: places.homeDir ?? findHome(),
    systemDir: places.systemDir ?? '/opt/spinnaker/config',
    settings: places.settings ?? {},
  })
  const surroundings = {
    cwd,
    inKubernetes: env['KUBERNETES_SERVICE_HOST'] !== undefined,
    inContainer: places.inContainer === true,
    onTerminal: places.onTerminal === true,
    servesBackends: places.servesBackends === true,
    profiles: combined.profiles,
  }
  const { config, reader, hide } = await bindWithSecrets(combined, surroundings, {
    env,
    serviceAccountDir: places.serviceAccountDir ?? '/var/run/secrets/kubernetes.io/serviceaccount',
  })
  await checkFiles(config, reader.report)
  const { reportUnknown, isUnused, problems, notices } = combined
  const unused = problems.filter(({ key }) => key !== undefined && !isFlag(key) && isUnused(key))
  reportUnknown(reader.keys(SourceKeys)['config.unknown-keys'])
  const wrong = problems
    .filter((problem) => !unused.includes(problem))
    .map((problem) => ({ ...problem, message: hide(problem.message) }))
  if (wrong.length > 0) throw new ConfigError(sortProblems(wrong))
  for (const problem of sortProblems(unused))
    notices.push(`Warning: ${formatProblems([problem])}; it is in a block that is switched off`)
  const summary = hide(summarize(config, combined.sources))
  return { config, notices: combined.notices.map(hide), sources: combined.sources, summary }
}

/** Binds once more for each round of secrets that it turns out to need; without any, that is once. */
async function bindWithSecrets(
  { root, placeholders, problems, notices }: CombinedSources,
  surroundings: ProcessSurroundings,
  places: SecretPlaces,
): Promise<{ config: Config; reader: SettingsReader; hide: (text: string) => string }> {
  const secrets = new Map<string, ResolvedSecret>()
  const [faults, notes] = [problems.length, notices.length]
  for (;;) {
    const wanted = new Set<string>()
    const secretOf = (reference: string) => {
      if (!secrets.has(reference)) wanted.add(reference)
      return secrets.get(reference)
    }
    const hide = (text: string) => hideSecrets(text, secrets.values())
    const context = { root, placeholders, problems, secretOf, hide }
    const reader = new SettingsReader(context, notices)
    const config = toConfig(reader, surroundings)
    if (wanted.size === 0) return { config, reader, hide }
    const { resolveSecrets } = await import('./secrets/resolve-secrets.ts')
    for (const [reference, secret] of await resolveSecrets(wanted, places))
      secrets.set(reference, secret)
    problems.length = faults
    notices.length = notes
  }
}

/** Opens the files that settings name, with code that most installations never load; other files are read with their settings. */
async function checkFiles({ backends, login }: Config, report: SettingsReport): Promise<void> {
  await checkRoleSource(backends.permissions?.roleSource, report)
  for (const { type, settings } of login.methods) await type.checkFiles?.(settings, report)
}

/** A user without an entry in the list of users may have none, as in many containers. */
function findHome(): string | undefined {
  try {
    return homedir()
  } catch {
    return undefined
  }
}

/** What switches a block off is itself in use. */
function isFlag(key: string): boolean {
  return key.endsWith('.enabled')
}
