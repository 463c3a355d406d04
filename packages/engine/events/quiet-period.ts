/**
 * Quiet period: a span of time in which triggers of some types start nothing.
 *
 * @see docs/contracts/events.md#quiet-period
 */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import {
  off,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  texts,
} from '@fairlead/base/settings/setting.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import type { FastifyBaseLogger } from 'fastify'
import { z } from 'zod'
import type { Start } from './start.ts'

/** Accepts milliseconds since the epoch. */
const moment = z
  .string()
  .refine(
    (text) => /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)),
    'must be a moment such as 2026-12-24T12:00:00Z',
  )
  .transform((text) => Date.parse(text))
  .optional()

export const quietPeriodKeys = settings({
  enabled: setting('quiet-period.enabled', off).describe(
    'Whether the embedded event service starts nothing by some types of triggers for a span of time.',
  ),
  startMs: setting('quiet-period.start-iso', moment).describe(
    'Its first moment, such as `2026-12-24T12:00:00Z`.',
  ),
  endMs: setting('quiet-period.end-iso', moment).describe('Its last moment.'),
  /** Lower case. */
  triggerTypes: setting(
    'quiet-period.suppressed-trigger-types',
    texts.transform((types) => types.map((type) => type.trim().toLowerCase())),
  ).describe(
    'Types of triggers that start nothing then, such as `cron`, of pipelines with `respectQuietPeriod`.',
  ),
})
type QuietPeriod = SettingsOf<typeof quietPeriodKeys>

export function checkQuietPeriod(period: QuietPeriod, report: SettingsReport): QuietPeriod {
  const { startMs, endMs } = period
  if (startMs !== undefined && endMs !== undefined && endMs < startMs)
    report.problem('quiet-period.end-iso', 'it is before quiet-period.start-iso; exchange them')
  return period
}

/** Without both moments there is none. */
function isQuiet({ enabled, startMs, endMs }: QuietPeriod, nowMs: number): boolean {
  return (
    enabled && startMs !== undefined && endMs !== undefined && startMs <= nowMs && nowMs <= endMs
  )
}

interface Surroundings {
  readonly settings: { readonly quietPeriod: QuietPeriod }
  readonly now: () => number
  readonly log: FastifyBaseLogger
}

/** Why a start is dropped: its pipeline respects the period, and triggers of its type are suppressed; undefined: it is not. */
export function describeQuiet(
  { settings, now, log }: Surroundings,
  { pipeline, trigger }: Start,
): string | undefined {
  const { quietPeriod } = settings
  const type = String(trigger['type'])
  const drops =
    isQuiet(quietPeriod, now()) &&
    readPipeline(pipeline).respectsQuietPeriod &&
    quietPeriod.triggerTypes.includes(type.toLowerCase())
  if (!drops) return undefined
  log.info({ pipeline: pipeline['id'], trigger: type }, 'the quiet period drops a start')
  return `The quiet period suppresses triggers of the type ${type}.`
}

/** View for clients; moments in milliseconds, -1 when they are not set. */
export function toQuietPeriodView(nowMs: number, period: QuietPeriod): JsonObject {
  const { enabled, startMs = -1, endMs = -1 } = period
  return { enabled, inQuietPeriod: isQuiet(period, nowMs), startTime: startMs, endTime: endMs }
}
