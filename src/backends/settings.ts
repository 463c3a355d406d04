/** Settings of the embedded back ends. */
import { resolve } from 'node:path'
import { z } from 'zod'
import { type SettingsReport, texts } from '../settings/setting.ts'
import type { BackendSettings } from './backend.ts'
import type { BakerySettings } from './bakery/settings.ts'
import { BuildServerKeys, toBuildServerSettings } from './builds/build-servers.ts'
import { QuietPeriodKeys, toQuietPeriod } from './events/quiet-period.ts'
import type { InfrastructureSettings } from './infrastructure/settings.ts'
import { PipelineLimitKeys, toPipelineLimits } from './limits.ts'
import { outsideKeys, toOutsideSettings } from './outside/settings.ts'
import type { PermissionServiceSettings } from './permissions/settings.ts'

const ServiceAccount = z.strictObject({
  name: z.string().min(1).describe('Name of the account.'),
  memberOf: texts.describe('Its roles.'),
})

const timeZone = z.string().refine(isTimeZone, 'must be a time zone such as Europe/Berlin')

export const BackendKeys = z.strictObject({
  'data.dir': z.string().min(1).default('.fairlead').meta({
    description: 'Directory for all persistent state; relative to the working directory.',
    env: 'FAIRLEAD_DATA_DIR',
  }),
  'default.timezone': timeZone
    .optional()
    .describe('Time zone of cron triggers and execution windows. Default: `global.spinnaker.timezone`, else UTC.'),
  'global.spinnaker.timezone': timeZone.optional().describe('The same, as installers write it.'),
  'fiat.admin.roles': z.array(z.string()).default(['admins']).describe('Roles whose members are administrators.'),
  'service-accounts': z
    .array(ServiceAccount)
    .default([])
    .describe('Service accounts of the embedded permission service, written to its store at start.'),
  ...QuietPeriodKeys.shape,
  ...PipelineLimitKeys.shape,
  ...outsideKeys.keys.shape,
  ...BuildServerKeys.shape,
})
export type BackendKeys = z.infer<typeof BackendKeys>

/** Settings of the embedded back ends, and the directory that the whole process keeps its state in. */
export interface EmbeddedSettings extends BackendSettings {
  /** Absolute path. */
  readonly dataDir: string
  /** Undefined where it is not embedded. */
  permissions?: PermissionServiceSettings
  /** Undefined where it is not embedded. */
  infrastructure?: InfrastructureSettings
  bakery?: BakerySettings
}

/** @param cwd The directory that a relative `data.dir` starts from. */
export function toBackendSettings(keys: BackendKeys, report: SettingsReport, cwd: string): EmbeddedSettings {
  const names = new Set<string>()
  for (const { name } of keys['service-accounts']) {
    if (names.has(name.toLowerCase())) report.problem('service-accounts', `the account "${name}" is listed twice`)
    names.add(name.toLowerCase())
  }
  return {
    dataDir: resolve(cwd, keys['data.dir']),
    adminRoles: keys['fiat.admin.roles'].map((role) => role.trim().toLowerCase()).filter((role) => role !== ''),
    timeZone: keys['default.timezone'] ?? keys['global.spinnaker.timezone'] ?? 'UTC',
    serviceAccounts: keys['service-accounts'],
    quietPeriod: toQuietPeriod(keys, report),
    limits: toPipelineLimits(keys),
    outside: toOutsideSettings(outsideKeys.read(keys), report),
    buildServers: toBuildServerSettings(keys, report),
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
