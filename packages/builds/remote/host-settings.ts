/** Settings that build servers elsewhere have alike. */

import { type ServiceTls, toServiceTls } from '@fairlead/base/services/service-tls.ts'
import { optionalText, type SettingsReport, texts, whole } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

export const hostKeys = {
  name: z.string().min(1).describe('Name of the build server, unique among all of them.'),
  itemUpperThreshold: whole(1)
    .optional()
    .describe('Most jobs with new builds of one poll; with more, none is reported.'),
  permissions: z
    .record(z.string(), texts)
    .optional()
    .describe('Roles that may see it and start its builds: `READ` and `WRITE`.'),
  trustStore: optionalText.describe(
    'Authorities to trust, in place of the usual ones: PKCS #12, JKS or PEM.',
  ),
  trustStorePassword: optionalText.describe('Its password.'),
}

interface HostKeys extends z.output<z.ZodObject<typeof hostKeys>> {
  readonly keyStore?: string
  readonly keyStorePassword?: string
}

/** Plain data, for the worker thread. */
export interface HostSettings {
  readonly name: string
  readonly itemUpperThreshold: number | undefined
  readonly permissions: Readonly<Record<string, string[]>> | undefined
  readonly tls: ServiceTls | undefined
}

interface ListedHosts<Keys> {
  readonly hosts: readonly Keys[]
  /** The setting with the list. */
  readonly key: string
  /** The setting that switches them on, where there is one, and its value. */
  readonly enabledBy?: string
  readonly enabled?: boolean
}

/** Undefined while there is none, or they are switched off. @param toHost Adds what the kind has of its own */
export function toHosts<Keys extends HostKeys, Host>(
  { hosts, key, enabledBy, enabled = true }: ListedHosts<Keys>,
  report: SettingsReport,
  toHost: (keys: Keys, settings: HostSettings) => Host,
): readonly Host[] | undefined {
  if (!enabled && hosts.length > 0) report.notice(`${key} has no effect: set ${enabledBy} to true.`)
  if (!enabled || hosts.length === 0) return undefined
  const names = new Set<string>()
  for (const { name } of hosts) {
    if (names.has(name)) report.problem(key, `the server "${name}" is listed twice`)
    names.add(name)
  }
  return hosts.map((host, index) => toHost(host, toHostSettings(host, report, `${key}.${index}`)))
}

function toHostSettings(keys: HostKeys, report: SettingsReport, key: string): HostSettings {
  const {
    name,
    itemUpperThreshold,
    permissions,
    keyStore,
    keyStorePassword,
    trustStore,
    trustStorePassword,
  } = keys
  const tls = toServiceTls(
    { keyStore, keyStorePassword, trustStore, trustStorePassword },
    report,
    key,
  )
  return { name, itemUpperThreshold, permissions, tls }
}
