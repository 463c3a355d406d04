/** Settings of the embedded back ends. */

import { resolve } from 'node:path'
import { isTimeZone } from '@fairlead/base/names/time-zone.ts'
import {
  keysOf,
  type SettingsReport,
  setting,
  settings,
  texts,
} from '@fairlead/base/settings/setting.ts'
import { BuildServerKeys, toBuildServerSettings } from '@fairlead/builds/declarations.ts'
import type { CanarySettings } from '@fairlead/engine/canaries/settings.ts'
import type { SharedValues } from '@fairlead/engine/notifications/notification-type.ts'
import {
  NotificationKeys,
  toNotificationSettings,
} from '@fairlead/engine/notifications/settings.ts'
import type { PermissionServiceSettings } from '@fairlead/engine/permissions/settings.ts'
import type { BackendSettings } from '@fairlead/ports/backend.ts'
import type { BakerySettings } from '@fairlead/providers/bakery/settings.ts'
import type { InfrastructureSettings } from '@fairlead/providers/infrastructure/settings.ts'
import { z } from 'zod'
import { backendGroups, readBackendGroups } from './setting-groups.ts'

const ServiceAccount = z.strictObject({
  name: z.string().min(1).describe('Name of the account.'),
  memberOf: texts.describe('Its roles.'),
})

const timeZone = z
  .string()
  .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
  .optional()

const ownKeys = settings({
  dataDir: setting(
    'data.dir',
    z.string().min(1).default('.fairlead').meta({ env: 'FAIRLEAD_DATA_DIR' }),
  ).describe('Directory for all persistent state; relative to the working directory.'),
  timeZone: setting('default.timezone', timeZone).describe(
    'Time zone of cron triggers and execution windows. Default: `global.spinnaker.timezone`, else UTC.',
  ),
  installersTimeZone: setting('global.spinnaker.timezone', timeZone).describe(
    'The same, as installers write it.',
  ),
  adminRoles: setting(
    'fiat.admin.roles',
    z
      .array(z.string())
      .default(['admins'])
      .transform((roles) =>
        roles.map((role) => role.trim().toLowerCase()).filter((role) => role !== ''),
      ),
  ).describe('Roles whose members are administrators.'),
  serviceAccounts: setting('service-accounts', z.array(ServiceAccount).default([])).describe(
    'Service accounts of the embedded permission service, written to its store at start.',
  ),
})

export const BackendKeys = z.strictObject({
  ...ownKeys.keys.shape,
  ...keysOf(Object.values(backendGroups)),
  ...BuildServerKeys.shape,
  ...NotificationKeys.shape,
})

/** Settings of the embedded back ends, and the directory that the whole process keeps its state in. */
export interface EmbeddedSettings extends BackendSettings {
  /** Absolute path. */
  readonly dataDir: string
  permissions?: PermissionServiceSettings
  infrastructure?: InfrastructureSettings
  bakery?: BakerySettings
  canaries?: CanarySettings
}

export interface BackendSurroundings extends SharedValues {
  /** The directory that a relative `data.dir` starts from. */
  readonly cwd: string
  /** Addresses of the web UIs, as far as the configuration has them. */
  readonly deckUrl?: string
  readonly consoleUrl?: string
}

export function toBackendSettings(
  keys: object,
  report: SettingsReport,
  surroundings: BackendSurroundings,
): EmbeddedSettings {
  const { cwd } = surroundings
  const { dataDir, timeZone, installersTimeZone, ...own } = ownKeys.read(keys)
  const names = new Set<string>()
  for (const { name } of own.serviceAccounts) {
    if (names.has(name.toLowerCase()))
      report.problem('service-accounts', `the account "${name}" is listed twice`)
    names.add(name.toLowerCase())
  }
  return {
    ...own,
    dataDir: resolve(cwd, dataDir),
    timeZone: timeZone ?? installersTimeZone ?? 'UTC',
    ...readBackendGroups(keys, report, cwd),
    buildServers: toBuildServerSettings(keys, report),
    notifications: toNotificationSettings(keys, report, surroundings),
  }
}
