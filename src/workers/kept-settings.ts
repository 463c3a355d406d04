/** Settings of the primary itself, which a changed configuration cannot replace while it runs. */
import { isDeepStrictEqual } from 'node:util'
import { withoutReloaded, withReloaded } from '../backends/infrastructure/setting-keys.ts'
import type { Config } from '../config/config.ts'

interface KeptSettings {
  /** As operators write them. */
  readonly keys: string
  readonly of: (config: Config) => unknown
  /** The next configuration with these settings of the current one. */
  readonly keep: (next: Config, current: Config) => Config
}

const all: readonly KeptSettings[] = [
  {
    keys: 'server.port, server.address, server.ssl.enabled, default.apiPort, default.legacyServerPort',
    of: ({ http: { port, address, listeners } }) => ({ port, address, listeners }),
    keep: (next, { http }) => ({
      ...next,
      http: { ...next.http, port: http.port, address: http.address, listeners: http.listeners, tls: next.http.tls ?? http.tls },
    }),
  },
  {
    keys: 'services, while one of them is embedded',
    of: (config) => (embeddedServices(config).length > 0 ? config.upstreams.services : undefined),
    keep: (next, { upstreams }) => ({ ...next, upstreams }),
  },
  {
    keys: 'data.dir, and the settings of the embedded back ends',
    of: ({ backends }) => withoutReloaded(backends),
    keep: (next, { backends }) => ({ ...next, backends: withReloaded(backends, next.backends) }),
  },
  {
    keys: 'audit.enabled, audit.sink, and how long and how large the audit log is kept',
    of: ({ audit }) => audit && [audit.sink, audit.retentionMs, audit.maxBytes],
    keep: (next, { audit }) => ({
      ...next,
      audit: audit && { ...(next.audit ?? audit), sink: audit.sink, retentionMs: audit.retentionMs, maxBytes: audit.maxBytes },
    }),
  },
  {
    keys: 'logging.format',
    of: ({ telemetry }) => telemetry.logFormat,
    keep: (next, { telemetry }) => ({ ...next, telemetry: { ...next.telemetry, logFormat: telemetry.logFormat } }),
  },
]

/** What can count now of the next configuration, and the keys of what cannot. */
export function keepSettings(current: Config, next: Config): { config: Config; kept: string[] } {
  const changed = all.filter(({ of }) => !isDeepStrictEqual(of(current), of(next)))
  return {
    config: changed.reduce((config, { keep }) => keep(config, current), next),
    kept: changed.map(({ keys }) => keys),
  }
}

function embeddedServices({ upstreams }: Config): string[] {
  return Object.entries(upstreams.services).flatMap(([name, { kind }]) => (kind === 'embedded' ? [name] : []))
}

/** As headings of the reference of settings have it. */
const partNames: Readonly<Record<keyof Config, string>> = {
  upstreams: 'services',
  http: 'listener, addresses, cross-origin rules',
  rateLimit: 'rate limits',
  sessions: 'sessions',
  redis: 'Redis',
  login: 'login',
  permissions: 'permissions',
  operations: 'operations',
  applicationCache: 'list of applications',
  banners: 'banners',
  deckPlugins: 'plugins of Deck',
  integrations: 'services outside the platform',
  console: 'web console',
  live: 'event streams',
  backends: 'embedded back ends',
  standby: 'engines that stand by',
  telemetry: 'log, health and traces',
  audit: 'audit log',
}

export function describeChanges(current: Config, next: Config): string[] {
  const names = Object.entries(partNames) as [keyof Config, string][]
  return names.flatMap(([part, name]) => (isDeepStrictEqual(current[part], next[part]) ? [] : [name]))
}
