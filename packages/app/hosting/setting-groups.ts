/** Groups of settings that every embedded back end finds in its context: one list, which keys, reader and type follow. */

import { outsideKeys, toOutsideSettings } from '@fairlead/base/outside/settings.ts'
import type { SettingGroup, SettingsReport } from '@fairlead/base/settings/setting.ts'
import { buildServiceKeys } from '@fairlead/builds/settings.ts'
import { eventLogKeys } from '@fairlead/engine/events/event-log-settings.ts'
import { checkQuietPeriod, quietPeriodKeys } from '@fairlead/engine/events/quiet-period.ts'
import { triggerKeys } from '@fairlead/engine/events/trigger-settings.ts'
import { pipelineLimitKeys } from '@fairlead/engine/limits.ts'
import { findingKeys } from '@fairlead/engine/orchestration/findings/settings.ts'
import { manifestKeys, toManifestSettings } from '@fairlead/engine/orchestration/settings.ts'
import { scriptKeys } from '@fairlead/engine/orchestration/stages/builds/settings.ts'
import { retentionKeys, toRetentionSettings } from '@fairlead/engine/retention/settings.ts'
import { secretKeys, toSecretSettings } from '@fairlead/engine/secrets/settings.ts'
import type { z } from 'zod'

/** @param cwd The directory that relative paths start from */
type SettingsCheck<Values, Settings> = (
  values: Values,
  report: SettingsReport,
  cwd: string,
) => Settings

function checked<Values, Settings>(
  { keys, read }: SettingGroup<Values>,
  check: SettingsCheck<Values, Settings>,
) {
  const readAndCheck = (bound: object, report: SettingsReport, cwd: string) =>
    check(read(bound), report, cwd)
  return { keys, read: readAndCheck }
}

export const backendGroups = {
  quietPeriod: checked(quietPeriodKeys, checkQuietPeriod),
  eventLog: eventLogKeys,
  triggers: triggerKeys,
  findings: findingKeys,
  limits: pipelineLimitKeys,
  retention: checked(retentionKeys, toRetentionSettings),
  outside: checked(outsideKeys, toOutsideSettings),
  manifests: checked(manifestKeys, toManifestSettings),
  secrets: checked(secretKeys, toSecretSettings),
  script: scriptKeys,
  builds: buildServiceKeys,
} as const satisfies Record<string, { keys: z.ZodObject; read: SettingsCheck<object, object> }>

/** Plain data, for the worker thread. */
type BackendGroups = {
  readonly [Name in keyof typeof backendGroups]: Readonly<
    ReturnType<(typeof backendGroups)[Name]['read']>
  >
}

export function readBackendGroups(
  keys: object,
  report: SettingsReport,
  cwd: string,
): BackendGroups {
  const entries = Object.entries(backendGroups).map(([name, { read }]) => [
    name,
    read(keys, report, cwd),
  ])
  return Object.fromEntries(entries) as BackendGroups
}
