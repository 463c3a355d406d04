/** Settings of canary analysis: accounts at sources of metrics, and how long results are kept. */

import {
  keysOf,
  type SettingsReport,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { CanarySettings } from './settings.ts'
import { metricSources } from './sources/all.ts'

const ownKeys = settings({
  keptDays: setting('canary.max-days', whole(1, 3650).default(30)).describe(
    'Days after which a canary analysis and its measurements are removed.',
  ),
})

export const CanaryKeys = z.strictObject({
  ...ownKeys.keys.shape,
  ...keysOf(metricSources),
})

export function toCanarySettings(keys: object, report: SettingsReport): CanarySettings {
  const accounts = metricSources.map(
    (source) => [source.id, source.toSettings(keys, report)] as const,
  )
  const names = new Set<string>()
  for (const [id, ofSource] of accounts) {
    for (const { name } of ofSource) {
      if (names.has(name))
        report.problem(`kayenta.${id}.accounts`, `the metrics account "${name}" is listed twice`)
      names.add(name)
    }
  }
  return { ...ownKeys.read(keys), accounts: Object.fromEntries(accounts) }
}
