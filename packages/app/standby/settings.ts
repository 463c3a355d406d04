/** Settings of engines that stand by for each other. */
import {
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  word,
} from '@fairlead/base/settings/setting.ts'

export const standbyKeys = settings({
  lease: setting('backends.lease', word(['redis', 'kubernetes']).optional()).describe(
    'Where engines without a common directory agree which one writes: `redis`, that of `redis.connection`, or `kubernetes`, a ' +
      'lease in the namespace of the pod. Default: nowhere; the lock of the data directory decides alone.',
  ),
  copy: setting('backends.copy', optionalText).describe(
    'Where Litestream keeps a copy of the database, from which a standby with another directory takes over: `file:///…` on another ' +
      'disk, or `s3://bucket/path?endpoint=…&region=…`. Needs `backends.lease` and the program `litestream`. Default: nowhere.',
  ),
})

export type StandbySettings = SettingsOf<typeof standbyKeys>

export function toStandbySettings(
  values: StandbySettings,
  report: SettingsReport,
  sharesRedis: boolean,
): StandbySettings {
  if (values.lease === 'redis' && !sharesRedis)
    report.problem('backends.lease', 'needs a Redis: set redis.connection')
  if (values.copy !== undefined && values.lease === undefined)
    report.problem('backends.copy', 'needs backends.lease, which tells whose copy is the latest')
  if (values.copy !== undefined && !/^(file:\/\/\/|s3:\/\/)[^\s]+$/.test(values.copy))
    report.problem('backends.copy', 'must be file:///path or s3://bucket/path')
  return values
}
