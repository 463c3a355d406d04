/** Parts of the configuration that differ from what counts, in words. */
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'

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
