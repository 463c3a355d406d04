/** Settings that hosts of GitLab, GitHub, Gitea and Forgejo have alike. */
import { z } from 'zod'
import { optionalText, type SettingsReport, texts, whole } from '../../../settings/setting.ts'
import { type ServiceTls, toServiceTls } from '../../../upstreams/service-tls.ts'

export const hostKeys = {
  name: z.string().min(1).describe('Name of the build server, unique among all of them.'),
  itemUpperThreshold: whole(1).optional().describe('Most jobs with new builds of one poll; with more, none is reported.'),
  permissions: z.record(z.string(), texts).optional().describe('Roles that may see it and start its builds: `READ` and `WRITE`.'),
  trustStore: optionalText.describe('Authorities to trust, in place of the usual ones: PKCS #12, JKS or PEM.'),
  trustStorePassword: optionalText.describe('Its password.'),
}

type HostKeys = z.output<z.ZodObject<typeof hostKeys>>

/** Plain data, for the worker thread. */
export interface HostSettings {
  readonly name: string
  readonly itemUpperThreshold: number | undefined
  readonly permissions: Readonly<Record<string, readonly string[]>> | undefined
  readonly tls: ServiceTls | undefined
}

/** @param key The list of the hosts @param index Place of the host in it */
export function toHostSettings(keys: HostKeys, report: SettingsReport, key: string, index: number): HostSettings {
  const { name, itemUpperThreshold, permissions, trustStore, trustStorePassword } = keys
  const files = { keyStore: undefined, keyStorePassword: undefined, trustStore, trustStorePassword }
  return { name, itemUpperThreshold, permissions, tls: toServiceTls(files, report, `${key}.${index}`) }
}

/** @param key The list of the hosts */
export function checkHostNames(hosts: readonly { readonly name: string }[], report: SettingsReport, key: string): void {
  const names = new Set<string>()
  for (const { name } of hosts) {
    if (names.has(name)) report.problem(key, `the server "${name}" is listed twice`)
    names.add(name)
  }
}
