/** Settings by capability: their keys, and the phases in which they are decided. */
import { isIPv6 } from 'node:net'
import { definedOf } from '@fairlead/base/json/values.ts'
import { isLoopback } from '@fairlead/base/net/loopback.ts'
import { redisKeys, toRedisSettings } from '@fairlead/base/redis/settings.ts'
import { backendPlaceKeys, toBackendPlace } from '@fairlead/base/services/backend-place.ts'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import { telemetryKeys, toTelemetrySettings } from '@fairlead/base/telemetry/settings.ts'
import { tracingKeys } from '@fairlead/base/telemetry/tracing-settings.ts'
import { tlsKeys } from '@fairlead/base/tls/settings.ts'
import { CanaryKeys, toCanarySettings } from '@fairlead/engine/canaries/setting-keys.ts'
import {
  permissionServiceKeys,
  toPermissionServiceSettings,
} from '@fairlead/engine/permissions/settings.ts'
import { auditKeys, toAuditSettings } from '@fairlead/gateway/audit/settings.ts'
import { consoleSettings } from '@fairlead/gateway/console/settings.ts'
import { deckPluginKeys, toDeckPluginSettings } from '@fairlead/gateway/deck-plugins/settings.ts'
import { toBrowserAddress } from '@fairlead/gateway/http/origin.ts'
import { portSettings } from '@fairlead/gateway/http/ports.ts'
import { type HttpSettings, httpKeys, toHttpSettings } from '@fairlead/gateway/http/settings.ts'
import { integrationKeys, toIntegrationSettings } from '@fairlead/gateway/integrations/settings.ts'
import { limitKeys, toRateLimit } from '@fairlead/gateway/limits/settings.ts'
import { liveSettings } from '@fairlead/gateway/live/settings.ts'
import { formMethod } from '@fairlead/gateway/login/form/method.ts'
import {
  LoginKeys,
  type LoginSettings,
  methodSettingsOf,
  toLoginSettings,
} from '@fairlead/gateway/login/settings.ts'
import { hasCertificateHeader, x509Keys } from '@fairlead/gateway/login/x509/settings.ts'
import {
  type OperationSurroundings,
  operationKeys,
  toOperationSettings,
} from '@fairlead/gateway/operations/settings.ts'
import { permissionSettings } from '@fairlead/gateway/permissions/settings.ts'
import { sessionKeys, toSessionSettings } from '@fairlead/gateway/sessions/settings.ts'
import { toConfiguredUpstreams, upstreamKeys } from '@fairlead/gateway/upstreams/settings.ts'
import { BakeryKeys, toBakerySettings } from '@fairlead/providers/bakery/setting-keys.ts'
import { providerDeclarations } from '@fairlead/providers/declarations.ts'
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
import type { SettingsReader } from './settings-reader.ts'
import { SourceKeys } from './sources.ts'

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

/** Settings by capability, in internal names with units; each capability's `settings.ts` maps the keys of Gate. */
export type Config = ReturnType<typeof toConfig>

/** Where the process runs, as its start says. */
export interface ProcessSurroundings {
  readonly cwd: string
  readonly inKubernetes: boolean
  readonly inContainer: boolean
  readonly onTerminal: boolean
  readonly servesBackends: boolean
  readonly profiles: readonly string[]
}

/** The phases, each of which needs what those before it have decided; what depends on nothing else is read at the end. */
export function toConfig(reader: SettingsReader, surroundings: ProcessSurroundings) {
  const { report } = reader
  reader.keys(SourceKeys)
  const upstreams = chooseServices(reader, surroundings)
  const http = chooseListeners(reader, upstreams, surroundings)
  const operations = reader.group(operationKeys)
  const console = reader.group(consoleSettings)
  const redis = reader.read(redisKeys, toRedisSettings)
  const sharesRedis = redis !== undefined
  const login = chooseLogin(reader, { upstreams, http, sharesRedis, surroundings })
  const ui = { ...findWebUi(reader, upstreams, http), servesConsole: console.enabled }
  const integrations = reader.group(integrationKeys)
  const { slack } = integrations
  const backends = chooseBackends(reader, { surroundings, upstreams, http, login, ui, slack })
  const { applicationCache, banners } = operations
  const { includedAccounts } = upstreams.services.front50.config
  return {
    upstreams,
    http,
    rateLimit: reader.read(limitKeys, toRateLimit),
    sessions: reader.read(sessionKeys, toSessionSettings),
    redis,
    login,
    permissions: reader.group(permissionSettings),
    operations: toOperationSettings(operations, ui, report),
    applicationCache: { ...applicationCache, includedAccounts },
    banners,
    console,
    deckPlugins: reader.read(deckPluginKeys, toDeckPluginSettings),
    integrations: toIntegrationSettings(integrations, report),
    live: reader.group(liveSettings),
    backends,
    standby: reader.read(standbyKeys, toStandbySettings, sharesRedis),
    telemetry: toTelemetrySettings(reader.group(telemetryKeys), reader.group(tracingKeys), report),
    audit: reader.read(auditKeys, toAuditSettings, {
      dataDir: backends.dataDir,
      cwd: surroundings.cwd,
    }),
  }
}

type ChosenServices = ReturnType<typeof chooseServices>

/** What later phases take of earlier ones. */
interface Decisions {
  readonly surroundings: ProcessSurroundings
  readonly upstreams: ChosenServices
  readonly http: HttpSettings
  readonly sharesRedis: boolean
  readonly login: LoginSettings
  readonly ui: OperationSurroundings
  readonly slack: BackendSurroundings['slack']
}

/** Chooses which services are embedded, elsewhere or off, and where the embedded ones run. */
function chooseServices(reader: SettingsReader, { servesBackends }: ProcessSurroundings) {
  const { remote, listener } = reader.read(backendPlaceKeys, toBackendPlace)
  const embedded = { remote: servesBackends ? undefined : remote, listener }
  return { ...reader.read(upstreamKeys, toConfiguredUpstreams), embedded }
}

/** Addresses, ports and TLS of the listeners, and the origins that browsers may send. */
function chooseListeners(
  reader: SettingsReader,
  { standalone, uiBaseUrl: uiUrl }: ChosenServices,
  surroundings: ProcessSurroundings,
): HttpSettings {
  const headerCertificates = hasCertificateHeader(reader.group(x509Keys))
  return toHttpSettings(reader.group(httpKeys), reader.group(tlsKeys), reader.report, {
    ...surroundings,
    standalone,
    uiUrl,
    headerCertificates,
  })
}

/** Login methods and their order, by what listeners and origins allow. */
function chooseLogin(
  reader: SettingsReader,
  { surroundings, upstreams, http, sharesRedis }: Omit<Decisions, 'login' | 'ui' | 'slack'>,
): LoginSettings {
  return toLoginSettings(reader.keys(LoginKeys), reader.report, {
    standalone: upstreams.standalone,
    profiles: surroundings.profiles,
    listeners: http.listeners,
    origin: http.origin,
    sharesRedis,
  })
}

/** Where users see what runs: in Deck, in the console of Fairlead, or in both. */
function findWebUi(
  { report }: SettingsReader,
  { standalone, uiBaseUrl: uiUrl }: ChosenServices,
  { cors }: HttpSettings,
) {
  const uiUnknown = standalone && !report.isSet('services.deck')
  return { uiUrl, uiUnknown, uiHostPattern: cors.uiHostPattern }
}

/** What the embedded back ends do; nothing beyond common settings where they run in another process. */
function chooseBackends(
  reader: SettingsReader,
  { surroundings: { cwd }, upstreams, http, login, ui, slack }: Omit<Decisions, 'sharesRedis'>,
): EmbeddedSettings {
  const { report } = reader
  const backends = toBackendSettings(reader.keys(BackendKeys), report, {
    cwd,
    slack,
    deckUrl: report.isSet('services.deck.baseUrl') ? ui.uiUrl : undefined,
    consoleUrl: ui.servesConsole ? toConsoleUrl(http) : undefined,
  })
  if (upstreams.embedded.remote !== undefined) return backends
  const permissions = choosePermissionService(reader, { upstreams, login, cwd })
  const infrastructure = chooseInfrastructure(reader, upstreams, http)
  checkLinks(report, backends, http)
  const canaries =
    upstreams.services.kayenta.kind === 'embedded'
      ? toCanarySettings(reader.keys(CanaryKeys), report)
      : undefined
  const bakery = toBakerySettings(reader.keys(BakeryKeys), report, {
    isPrivate: upstreams.standalone && isLoopback(http.address) && !report.isSet('backends'),
    dataDir: backends.dataDir,
  })
  return { ...backends, ...definedOf({ permissions, infrastructure, canaries }), bakery }
}

/** Roles and users that the embedded permission service knows. */
function choosePermissionService(
  reader: SettingsReader,
  { upstreams, login, cwd }: Pick<Decisions, 'upstreams' | 'login'> & { cwd: string },
): EmbeddedSettings['permissions'] {
  const { report } = reader
  if (upstreams.services.fiat.kind === 'embedded')
    return {
      ...reader.read(permissionServiceKeys, toPermissionServiceSettings, cwd),
      // Back ends apart serve gateways whose users they do not know.
      keepsUsers: keepsUsers(login) && !report.isSet('backends.port'),
    }
  if (report.isSet('auth.group-membership') || report.isSet('auth.permissions'))
    report.notice('Ignored, because fiat is not embedded: auth.group-membership, auth.permissions.')
  return undefined
}

/** Whether the users of the form, whom Fairlead keeps itself, are all that there are. */
function keepsUsers(login: LoginSettings): boolean {
  const form = methodSettingsOf(login, formMethod)
  return (
    !login.anonymous &&
    login.methods.length === 1 &&
    form !== undefined &&
    form.configuredUser === undefined
  )
}

/** Accounts of the embedded infrastructure; what is deployed may not take the ports of the listeners. */
function chooseInfrastructure(
  reader: SettingsReader,
  { services }: ChosenServices,
  http: HttpSettings,
): EmbeddedSettings['infrastructure'] {
  const { report } = reader
  if (services.clouddriver.kind === 'embedded')
    return toInfrastructureSettings(reader.keys(InfrastructureKeys), report, {
      ownPorts: portSettings(http).map(([, port]) => port),
    })
  const ignored = providerDeclarations.map(({ id }) => id).filter((id) => report.isSet(id))
  if (ignored.length > 0)
    report.notice(`Ignored, because clouddriver is not embedded: ${ignored.join(', ')}.`)
  return undefined
}

function checkLinks(
  report: SettingsReport,
  { notifications: { types, links } }: EmbeddedSettings,
  { origin }: HttpSettings,
): void {
  if (Object.keys(types).length > 0 && links?.ui === 'console' && origin.publicUrl === undefined)
    report.notice(
      `Links in notifications begin with ${links.baseUrl}. Set http.publicUrl if users open Fairlead elsewhere.`,
    )
}

function toConsoleUrl({ address, port, listeners, origin }: HttpSettings): string {
  const host = isIPv6(address) ? `[${address}]` : address
  return toBrowserAddress(`${listeners.mainTls ? 'https' : 'http'}://${host}:${port}`, origin)
}
