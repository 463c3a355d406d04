/** Groups of settings that every embedded back end finds in its context: one list, which keys, reader and type follow. */
import type { z } from 'zod'
import type { SettingGroup, SettingsReport } from '../settings/setting.ts'
import { buildServiceKeys } from './builds/settings.ts'
import { eventLogKeys } from './events/event-log-settings.ts'
import { checkQuietPeriod, quietPeriodKeys } from './events/quiet-period.ts'
import { triggerKeys } from './events/trigger-settings.ts'
import { pipelineLimitKeys } from './limits.ts'
import { manifestKeys, toManifestSettings } from './orchestration/settings.ts'
import { scriptKeys } from './orchestration/stages/builds/settings.ts'
import { outsideKeys, toOutsideSettings } from './outside/settings.ts'
import { retentionKeys, toRetentionSettings } from './retention/settings.ts'
import { secretKeys, toSecretSettings } from './secrets/settings.ts'

/** @param cwd The directory that relative paths start from */
type Check<Values, Settings> = (values: Values, report: SettingsReport, cwd: string) => Settings

function checked<Values, Settings>({ keys, read }: SettingGroup<Values>, check: Check<Values, Settings>) {
  const readAndCheck = (bound: object, report: SettingsReport, cwd: string) => check(read(bound), report, cwd)
  return { keys, read: readAndCheck }
}

export const backendGroups = {
  quietPeriod: checked(quietPeriodKeys, checkQuietPeriod),
  eventLog: eventLogKeys,
  triggers: triggerKeys,
  limits: pipelineLimitKeys,
  retention: checked(retentionKeys, toRetentionSettings),
  outside: checked(outsideKeys, toOutsideSettings),
  manifests: checked(manifestKeys, toManifestSettings),
  secrets: checked(secretKeys, toSecretSettings),
  script: scriptKeys,
  builds: buildServiceKeys,
} as const satisfies Record<string, { keys: z.ZodObject; read: Check<object, object> }>

/** Plain data, for the worker thread. */
export type BackendGroups = {
  readonly [Name in keyof typeof backendGroups]: Readonly<ReturnType<(typeof backendGroups)[Name]['read']>>
}

export function readBackendGroups(keys: object, report: SettingsReport, cwd: string): BackendGroups {
  const entries = Object.entries(backendGroups).map(([name, { read }]) => [name, read(keys, report, cwd)])
  return Object.fromEntries(entries) as BackendGroups
}
