/** Settings of the embedded back ends. */
import { resolve } from 'node:path'
import { z } from 'zod'
import { type SettingsReport, setting, settings, texts } from '../settings/setting.ts'
import type { BackendSettings } from './backend.ts'
import type { BakerySettings } from './bakery/settings.ts'
import { BuildServerKeys, toBuildServerSettings } from './builds/build-servers.ts'
import { buildServiceKeys } from './builds/settings.ts'
import type { CanarySettings } from './canaries/settings.ts'
import { eventLogKeys } from './events/event-log-settings.ts'
import { quietPeriodKeys, toQuietPeriod } from './events/quiet-period.ts'
import { triggerKeys } from './events/trigger-settings.ts'
import type { InfrastructureSettings } from './infrastructure/settings.ts'
import { pipelineLimitKeys } from './limits.ts'
import type { SharedValues } from './notifications/notification-type.ts'
import { NotificationKeys, toNotificationSettings } from './notifications/settings.ts'
import { manifestKeys, toManifestSettings } from './orchestration/settings.ts'
import { scriptKeys } from './orchestration/stages/builds/settings.ts'
import { outsideKeys, toOutsideSettings } from './outside/settings.ts'
import type { PermissionServiceSettings } from './permissions/settings.ts'
import { retentionKeys, toRetentionSettings } from './retention/settings.ts'
import { secretKeys, toSecretSettings } from './secrets/settings.ts'

const ServiceAccount = z.strictObject({
  name: z.string().min(1).describe('Name of the account.'),
  memberOf: texts.describe('Its roles.'),
})

const timeZone = z.string().refine(isTimeZone, 'must be a time zone such as Europe/Berlin').optional()

const ownKeys = settings({
  dataDir: setting('data.dir', z.string().min(1).default('.fairlead').meta({ env: 'FAIRLEAD_DATA_DIR' })).describe(
    'Directory for all persistent state; relative to the working directory.',
  ),
  timeZone: setting('default.timezone', timeZone).describe(
    'Time zone of cron triggers and execution windows. Default: `global.spinnaker.timezone`, else UTC.',
  ),
  installersTimeZone: setting('global.spinnaker.timezone', timeZone).describe('The same, as installers write it.'),
  adminRoles: setting(
    'fiat.admin.roles',
    z
      .array(z.string())
      .default(['admins'])
      .transform((roles) => roles.map((role) => role.trim().toLowerCase()).filter((role) => role !== '')),
  ).describe('Roles whose members are administrators.'),
  serviceAccounts: setting('service-accounts', z.array(ServiceAccount).default([])).describe(
    'Service accounts of the embedded permission service, written to its store at start.',
  ),
})

export const BackendKeys = z.strictObject({
  ...ownKeys.keys.shape,
  ...quietPeriodKeys.keys.shape,
  ...eventLogKeys.keys.shape,
  ...triggerKeys.keys.shape,
  ...pipelineLimitKeys.keys.shape,
  ...retentionKeys.keys.shape,
  ...outsideKeys.keys.shape,
  ...manifestKeys.keys.shape,
  ...secretKeys.keys.shape,
  ...scriptKeys.keys.shape,
  ...BuildServerKeys.shape,
  ...buildServiceKeys.keys.shape,
  ...NotificationKeys.shape,
})

/** Settings of the embedded back ends, and the directory that the whole process keeps its state in. */
export interface EmbeddedSettings extends BackendSettings {
  /** Absolute path. */
  readonly dataDir: string
  /** Undefined where it is not embedded. */
  permissions?: PermissionServiceSettings
  /** Undefined where it is not embedded. */
  infrastructure?: InfrastructureSettings
  bakery?: BakerySettings
  canaries?: CanarySettings
}

export interface BackendSurroundings extends SharedValues {
  /** The directory that a relative `data.dir` starts from. */
  readonly cwd: string
  /** Addresses of the web UIs, as far as the configuration has them. */
  readonly deckUrl?: string | undefined
  readonly consoleUrl?: string | undefined
}

export function toBackendSettings(keys: object, report: SettingsReport, surroundings: BackendSurroundings): EmbeddedSettings {
  const { cwd } = surroundings
  const { dataDir, timeZone, installersTimeZone, ...own } = ownKeys.read(keys)
  const names = new Set<string>()
  for (const { name } of own.serviceAccounts) {
    if (names.has(name.toLowerCase())) report.problem('service-accounts', `the account "${name}" is listed twice`)
    names.add(name.toLowerCase())
  }
  return {
    ...own,
    dataDir: resolve(cwd, dataDir),
    timeZone: timeZone ?? installersTimeZone ?? 'UTC',
    quietPeriod: toQuietPeriod(keys, report),
    eventLog: eventLogKeys.read(keys),
    triggers: triggerKeys.read(keys),
    limits: pipelineLimitKeys.read(keys),
    retention: toRetentionSettings(retentionKeys.read(keys), report.isSet),
    outside: toOutsideSettings(outsideKeys.read(keys), report),
    manifests: toManifestSettings(manifestKeys.read(keys), report),
    script: scriptKeys.read(keys),
    buildServers: toBuildServerSettings(keys, report),
    builds: buildServiceKeys.read(keys),
    notifications: toNotificationSettings(keys, report, surroundings),
    secrets: toSecretSettings(keys, report, cwd),
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
