/** Settings of engines that stand by for each other. */
import { type SettingsOf, type SettingsReport, setting, settings, word } from '../settings/setting.ts'

export const standbyKeys = settings({
  lease: setting('backends.lease', word(['redis', 'kubernetes']).optional()).describe(
    'Where engines without a common directory agree which one writes: `redis`, that of `redis.connection`, or `kubernetes`, a ' +
      'lease in the namespace of the pod. Default: nowhere; the lock of the data directory decides alone.',
  ),
})

export type StandbySettings = SettingsOf<typeof standbyKeys>

/** @param sharesRedis Whether a Redis is configured */
export function toStandbySettings(values: StandbySettings, report: SettingsReport, sharesRedis: boolean): StandbySettings {
  if (values.lease === 'redis' && !sharesRedis) report.problem('backends.lease', 'needs a Redis: set redis.connection')
  return values
}
