/** The whole configuration: found, read, checked at once, and distributed by capability. Documented in `loadConfig`. */
import { isIPv6 } from 'node:net'
import { homedir } from 'node:os'
import { isLoopback } from '@fairlead/base/net/loopback.ts'
import { redisKeys, toRedisSettings } from '@fairlead/base/redis/settings.ts'
import { backendPlaceKeys, toBackendPlace } from '@fairlead/base/services/backend-place.ts'
import type { SettingGroup, SettingsReport } from '@fairlead/base/settings/setting.ts'
import { telemetryKeys, toTelemetrySettings } from '@fairlead/base/telemetry/settings.ts'
import { tracingKeys } from '@fairlead/base/telemetry/tracing-settings.ts'
import { tlsKeys } from '@fairlead/base/tls/settings.ts'
import { CanaryKeys, toCanarySettings } from '@fairlead/engine/canaries/setting-keys.ts'
import { checkRoleSource } from '@fairlead/engine/permissions/check-role-source.ts'
import {
  permissionServiceKeys,
  toPermissionServiceSettings,
} from '@fairlead/engine/permissions/settings.ts'
import { type AuditSettings, auditKeys, toAuditSettings } from '@fairlead/gateway/audit/settings.ts'
import { consoleSettings } from '@fairlead/gateway/console/settings.ts'
import { deckPluginKeys, toDeckPluginSettings } from '@fairlead/gateway/deck-plugins/settings.ts'
import { toBrowserAddress } from '@fairlead/gateway/http/origin.ts'
import { portSettings } from '@fairlead/gateway/http/ports.ts'
import { type HttpSettings, httpKeys, toHttpSettings } from '@fairlead/gateway/http/settings.ts'
import { integrationKeys, toIntegrationSettings } from '@fairlead/gateway/integrations/settings.ts'
import {
  limitKeys,
  type RateLimitSettings,
  toRateLimit,
} from '@fairlead/gateway/limits/settings.ts'
import { liveSettings } from '@fairlead/gateway/live/settings.ts'
import { formMethod } from '@fairlead/gateway/login/form/method.ts'
import {
  LoginKeys,
  type LoginSettings,
  settingsOf,
  toLoginSettings,
} from '@fairlead/gateway/login/settings.ts'
import { hasCertificateHeader, x509Keys } from '@fairlead/gateway/login/x509/settings.ts'
import { operationKeys, toOperationSettings } from '@fairlead/gateway/operations/settings.ts'
import { permissionSettings } from '@fairlead/gateway/permissions/settings.ts'
import { sessionKeys, toSessionSettings } from '@fairlead/gateway/sessions/settings.ts'
import {
  type ConfiguredUpstreams,
  toConfiguredUpstreams,
  upstreamKeys,
} from '@fairlead/gateway/upstreams/settings.ts'
import { providerTypes } from '@fairlead/providers/all.ts'
import { BakeryKeys, toBakerySettings } from '@fairlead/providers/bakery/setting-keys.ts'
import {
  InfrastructureKeys,
  toInfrastructureSettings,
} from '@fairlead/providers/infrastructure/setting-keys.ts'
import type { z } from 'zod'
import {
  BackendKeys,
  type BackendSurroundings,
  type EmbeddedSettings,
  toBackendSettings,
} from '../hosting/settings.ts'
import { standbyKeys, toStandbySettings } from '../standby/settings.ts'
import { type BindContext, bindKeys, bindSettings } from './bind.ts'
import { type CombinedSources, combineSources } from './combine.ts'
import { foreignKeys } from './foreign-keys.ts'
import { createKnownKeys } from './known-keys.ts'
import { ConfigError, formatProblems, hideCredentials, type Problem } from './problems.ts'
import { hideSecrets, type ResolvedSecret, type SecretPlaces } from './secrets/secret-reference.ts'
import { SourceKeys } from './sources.ts'
import { findNearest, findNode } from './tree.ts'

export { ConfigError, formatProblems, type Problem } from './problems.ts'

/** Settings by capability, in internal names with units; each capability's `settings.ts` maps the keys of Gate. */
export type Config = ReturnType<typeof toConfig>

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

/** Every key that is not merely passed over, by capability. */
export const settingGroups = {
  'Services and the calls to them': upstreamKeys.keys
    .extend(backendPlaceKeys.keys.shape)
    .extend(standbyKeys.keys.shape),
  'Listener, addresses, cross-origin rules': httpKeys.keys.extend(tlsKeys.keys.shape),
  'Rate limits': limitKeys.keys,
  Sessions: sessionKeys.keys,
  'Redis or Valkey': redisKeys.keys,
  Login: LoginKeys,
  Permissions: permissionSettings.keys,
  'Operations and integrations': operationKeys.keys,
  'Web console': consoleSettings.keys,
  'Plugins of Deck': deckPluginKeys.keys,
  'Services outside the platform': integrationKeys.keys,
  'Event streams': liveSettings.keys,
  'Embedded back ends': BackendKeys,
  'Embedded permission service': permissionServiceKeys.keys,
  'Embedded infrastructure': InfrastructureKeys,
  'Embedded bakery': BakeryKeys,
  'Embedded canary service': CanaryKeys,
  'Log, health and traces': telemetryKeys.keys.extend(tracingKeys.keys.shape),
  'Audit log': auditKeys.keys,
  'Choice of files': SourceKeys,
} as const satisfies Record<string, z.ZodObject>

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
  const { config, context } = await bindWithSecrets(combined, surroundings, {
    env,
    serviceAccountDir: places.serviceAccountDir ?? '/var/run/secrets/kubernetes.io/serviceaccount',
  })
  await checkFiles(config, createReport(context, combined.notices))
  combined.reportUnknown(bindKeys(SourceKeys, context)['config.unknown-keys'] === 'warn')
  const { hide } = context
  const problems = combined.problems.map((problem) => ({
    ...problem,
    message: hide(problem.message),
  }))
  if (problems.length > 0) throw new ConfigError(sortProblems(problems))
  const summary = hide(summarize(config, combined.sources))
  return { config, notices: combined.notices.map(hide), sources: combined.sources, summary }
}

/** Binds once more for each round of secrets that it turns out to need; without any, that is once. */
async function bindWithSecrets(
  { root, placeholders, problems, notices }: CombinedSources,
  surroundings: Surroundings,
  places: SecretPlaces,
): Promise<{ config: Config; context: BindContext }> {
  const secrets = new Map<string, ResolvedSecret>()
  const [faults, notes] = [problems.length, notices.length]
  for (;;) {
    const wanted = new Set<string>()
    const secretOf = (reference: string) => {
      if (!secrets.has(reference)) wanted.add(reference)
      return secrets.get(reference)
    }
    const context = {
      root,
      placeholders,
      problems,
      secretOf,
      hide: (text: string) => hideSecrets(text, secrets.values()),
    }
    const config = toConfig(context, notices, surroundings)
    if (wanted.size === 0) return { config, context }
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

function summarize(config: Config, sources: readonly string[]): string {
  const services = Object.entries(config.upstreams.services).map(([name, { kind, baseUrl }]) =>
    kind === 'external' ? `  ${name}: ${hideCredentials(baseUrl ?? '')}` : `  ${name}: ${kind}`,
  )
  return [
    'The configuration is in order.',
    `Read: ${sources.join(', ') || 'nothing; defaults apply'}`,
    `Listens on: ${describePorts(config.http)}`,
    `Login: ${describeLogin(config.login)}`,
    `Sessions: ${config.redis === undefined ? 'in the data directory' : 'in Redis, shared with other replicas'}`,
    `Data directory: ${config.backends.dataDir}`,
    `Permissions: ${describePermissions(config)}`,
    `Rate limits: ${describeLimits(config.rateLimit)}`,
    `Audit log: ${describeAudit(config.audit)}`,
    'Services:',
    ...services,
  ].join('\n')
}

function describePorts({ address, port, origin, listeners }: HttpSettings): string {
  const { mainTls, apiPort, legacyPort, managementPort } = listeners
  return [
    `${address}:${port}${origin.contextPath}${mainTls ? ' (TLS)' : ''}`,
    ...(apiPort === undefined ? [] : [`${address}:${apiPort} (TLS with client certificates)`]),
    ...(legacyPort === undefined ? [] : [`${address}:${legacyPort} (without TLS)`]),
    ...(managementPort === undefined ? [] : [`${address}:${managementPort} (health and metrics)`]),
  ].join(', ')
}

function describeLogin({ anonymous, methods }: LoginSettings): string {
  if (anonymous) return 'none: every request runs as anonymous'
  return methods.map(({ type, settings }) => type.describe(settings)).join('; ')
}

function describePermissions({ upstreams, permissions, login, backends }: Config): string {
  const { kind } = upstreams.services.fiat
  if (kind === 'disabled' || login.anonymous || (kind === 'external' && !permissions.enabled))
    return 'no user is restricted'
  if (kind === 'external') {
    const checkers = {
      services: 'the services',
      gateway: 'the gateway',
      both: 'the gateway and the services',
    }
    return `those of fiat, checked by ${checkers[permissions.enforcement]}`
  }
  const source = backends.permissions?.roleSource
  if (source === undefined) return 'embedded, with the roles of the login'
  const place =
    source.kind === 'file' ? source.path : source.directory.servers.map(({ url }) => url).join(', ')
  return `embedded, with the roles of the login and of ${place}`
}

function describeLimits({
  enabled,
  learning,
  enforcing,
  capacity,
  periodMs,
}: RateLimitSettings): string {
  if (!enabled) return 'none'
  const mode = learning
    ? `learning, no request is rejected${enforcing.length > 0 ? ` but ${enforcing.join(', ')}` : ''}`
    : 'enforced'
  return `${capacity} requests in ${periodMs / 1000} seconds, ${mode}`
}

function describeAudit(audit: AuditSettings | undefined): string {
  if (audit === undefined) return 'none'
  return 'file' in audit.sink ? audit.sink.file : 'standard output'
}

interface Surroundings {
  cwd: string
  inKubernetes: boolean
  inContainer: boolean
  onTerminal: boolean
  servesBackends: boolean
  profiles: readonly string[]
}

type ToSettings<Values, Settings, Rest extends unknown[]> = (
  values: Values,
  report: SettingsReport,
  ...rest: Rest
) => Settings

function toConfig(
  context: BindContext,
  notices: string[],
  { cwd, profiles, ...surroundings }: Surroundings,
) {
  const bind = <Values>(group: SettingGroup<Values>) => bindSettings(group, context)
  const read = <V, S, R extends unknown[]>(
    group: SettingGroup<V>,
    toSettings: ToSettings<V, S, R>,
    ...rest: R
  ) => toSettings(bind(group), report, ...rest)
  bindKeys(SourceKeys, context)
  const report = createReport(context, notices)
  const { remote, listener } = read(backendPlaceKeys, toBackendPlace)
  const embedded = { remote: surroundings.servesBackends ? undefined : remote, listener }
  const upstreams = { ...read(upstreamKeys, toConfiguredUpstreams), embedded }
  const { standalone, uiBaseUrl: uiUrl } = upstreams
  const headerCertificates = hasCertificateHeader(bind(x509Keys))
  const http = toHttpSettings(bind(httpKeys), bind(tlsKeys), report, {
    standalone,
    ...surroundings,
    uiUrl,
    headerCertificates,
  })
  const operations = bind(operationKeys)
  const console = bind(consoleSettings)
  const redis = read(redisKeys, toRedisSettings)
  const sharesRedis = redis !== undefined
  const { listeners, origin, cors } = http
  const login = toLoginSettings(bindKeys(LoginKeys, context), report, {
    standalone,
    profiles,
    listeners,
    origin,
    sharesRedis,
  })
  const uiUnknown = standalone && !report.isSet('services.deck')
  const ui = { uiUrl, uiUnknown, uiHostPattern: cors.uiHostPattern, servesConsole: console.enabled }
  const integrations = bind(integrationKeys)
  const backends = toBackends(context, report, {
    // Back ends apart serve gateways whose users they do not know.
    keepsUsers: keepsUsers(login) && !report.isSet('backends.port'),
    upstreams,
    slack: integrations.slack,
    http,
    cwd,
    deckUrl: report.isSet('services.deck.baseUrl') ? uiUrl : undefined,
    consoleUrl: console.enabled ? toConsoleUrl(http) : undefined,
  })
  const { applicationCache, banners } = operations
  return {
    upstreams,
    http,
    rateLimit: read(limitKeys, toRateLimit),
    sessions: read(sessionKeys, toSessionSettings),
    redis,
    login,
    permissions: bind(permissionSettings),
    operations: toOperationSettings(operations, ui, report),
    applicationCache: {
      ...applicationCache,
      includedAccounts: upstreams.services.front50.config.includedAccounts,
    },
    banners,
    console,
    deckPlugins: read(deckPluginKeys, toDeckPluginSettings),
    integrations: toIntegrationSettings(integrations, report),
    live: bind(liveSettings),
    backends,
    standby: read(standbyKeys, toStandbySettings, sharesRedis),
    telemetry: toTelemetrySettings(bind(telemetryKeys), bind(tracingKeys), report),
    audit: read(auditKeys, toAuditSettings, { dataDir: backends.dataDir, cwd }),
  }
}

/** Whether the users of the form, whom Fairlead keeps itself, are all that there are. */
function keepsUsers(login: LoginSettings): boolean {
  const form = settingsOf(login, formMethod)
  return (
    !login.anonymous &&
    login.methods.length === 1 &&
    form !== undefined &&
    form.configuredUser === undefined
  )
}

type Upstreams = ConfiguredUpstreams & {
  readonly embedded: Pick<ReturnType<typeof toBackendPlace>, 'remote'>
}

function toBackends(
  context: BindContext,
  report: SettingsReport,
  {
    upstreams,
    http,
    keepsUsers,
    ...surroundings
  }: BackendSurroundings & { upstreams: Upstreams; http: HttpSettings; keepsUsers: boolean },
): EmbeddedSettings {
  const { cwd } = surroundings
  const { fiat, clouddriver } = upstreams.services
  const backends = toBackendSettings(bindKeys(BackendKeys, context), report, surroundings)
  if (upstreams.embedded.remote !== undefined) return backends
  if (fiat.kind === 'embedded') {
    backends.permissions = {
      ...toPermissionServiceSettings(bindSettings(permissionServiceKeys, context), report, cwd),
      keepsUsers,
    }
  } else if (report.isSet('auth.group-membership') || report.isSet('auth.permissions')) {
    report.notice('Ignored, because fiat is not embedded: auth.group-membership, auth.permissions.')
  }
  if (clouddriver.kind === 'embedded') {
    const ownPorts = portSettings(http).map(([, port]) => port)
    backends.infrastructure = toInfrastructureSettings(
      bindKeys(InfrastructureKeys, context),
      report,
      { ownPorts },
    )
  } else {
    const ignored = providerTypes.map(({ id }) => id).filter((id) => report.isSet(id))
    if (ignored.length > 0)
      report.notice(`Ignored, because clouddriver is not embedded: ${ignored.join(', ')}.`)
  }
  const { types, links } = backends.notifications
  if (
    Object.keys(types).length > 0 &&
    links?.ui === 'console' &&
    http.origin.publicUrl === undefined
  )
    report.notice(
      `Links in notifications begin with ${links.baseUrl}. Set http.publicUrl if users open Fairlead elsewhere.`,
    )
  if (upstreams.services.kayenta.kind === 'embedded')
    backends.canaries = toCanarySettings(bindKeys(CanaryKeys, context), report)
  backends.bakery = toBakerySettings(bindKeys(BakeryKeys, context), report, {
    isPrivate: upstreams.standalone && isLoopback(http.address) && !report.isSet('backends'),
    dataDir: backends.dataDir,
  })
  return backends
}

function toConsoleUrl({ address, port, listeners, origin }: HttpSettings): string {
  const host = isIPv6(address) ? `[${address}]` : address
  return toBrowserAddress(`${listeners.mainTls ? 'https' : 'http'}://${host}:${port}`, origin)
}

function createReport({ root, problems }: BindContext, notices: string[]): SettingsReport {
  return {
    problem: (key, message) => {
      const { node, depth } = findNearest(root, key.split('.'))
      problems.push({ origin: depth === 0 ? undefined : node.origin, key, message })
    },
    notice: (message) => notices.push(message),
    isSet: (key) => findNode(root, key.split('.')) !== undefined,
  }
}

function sortProblems(problems: readonly Problem[]): Problem[] {
  const unique = new Map(problems.map((problem) => [formatProblems([problem]), problem]))
  return [...unique.values()].sort(
    (left, right) =>
      (left.origin?.source ?? '').localeCompare(right.origin?.source ?? '') ||
      (left.origin?.line ?? 0) - (right.origin?.line ?? 0),
  )
}
