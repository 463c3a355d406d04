/**
 * Quiet period: a span of time in which triggers of some types start nothing.
 *
 * @see docs/contracts/events.md#quiet-period
 */
import type { FastifyBaseLogger } from 'fastify'
import { z } from 'zod'
import { isTrue, type JsonObject } from '../../json/values.ts'
import { off, type SettingsReport, texts } from '../../settings/setting.ts'
import type { Start } from './start.ts'

const moment = z
  .string()
  .refine(
    (text) => /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)),
    'must be a moment such as 2026-12-24T12:00:00Z',
  )

export const QuietPeriodKeys = z.strictObject({
  'quiet-period.enabled': off.describe(
    'Whether the embedded event service starts nothing by some types of triggers for a span of time.',
  ),
  'quiet-period.start-iso': moment.optional().describe('Its first moment, such as `2026-12-24T12:00:00Z`.'),
  'quiet-period.end-iso': moment.optional().describe('Its last moment.'),
  'quiet-period.suppressed-trigger-types': texts.describe(
    'Types of triggers that start nothing then, such as `cron`, of pipelines with `respectQuietPeriod`.',
  ),
})

/** Plain data. */
export interface QuietPeriod {
  readonly enabled: boolean
  /** Milliseconds since the epoch, both inclusive. */
  readonly startMs: number | undefined
  readonly endMs: number | undefined
  /** Lower case. */
  readonly triggerTypes: readonly string[]
}

export function toQuietPeriod(keys: z.infer<typeof QuietPeriodKeys>, report: Pick<SettingsReport, 'problem'>): QuietPeriod {
  const toMs = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))
  const [startMs, endMs] = [toMs(keys['quiet-period.start-iso']), toMs(keys['quiet-period.end-iso'])]
  if (startMs !== undefined && endMs !== undefined && endMs < startMs)
    report.problem('quiet-period.end-iso', 'it is before quiet-period.start-iso; exchange them')
  const triggerTypes = keys['quiet-period.suppressed-trigger-types'].map((type) => type.trim().toLowerCase())
  return { enabled: keys['quiet-period.enabled'], startMs, endMs, triggerTypes }
}

const never: QuietPeriod = { enabled: false, startMs: undefined, endMs: undefined, triggerTypes: [] }

/** Without both moments there is none. */
function isQuiet({ enabled, startMs, endMs }: QuietPeriod, nowMs: number): boolean {
  return enabled && startMs !== undefined && endMs !== undefined && startMs <= nowMs && nowMs <= endMs
}

interface Surroundings {
  readonly settings: { readonly quietPeriod?: QuietPeriod }
  readonly now: () => number
  readonly log: FastifyBaseLogger
}

/** Whether a start is dropped: its pipeline respects the period, and triggers of its type are suppressed. */
export function isDropped({ settings, now, log }: Surroundings, { pipeline, trigger }: Start): boolean {
  const { quietPeriod = never } = settings
  const drops =
    isQuiet(quietPeriod, now()) &&
    isTrue(pipeline['respectQuietPeriod']) &&
    quietPeriod.triggerTypes.includes(String(trigger['type']).toLowerCase())
  if (drops) log.info({ pipeline: pipeline['id'], trigger: trigger['type'] }, 'the quiet period drops a start')
  return drops
}

/** As clients read it; moments in milliseconds, -1 when they are not set. */
export function toQuietPeriodView(nowMs: number, period = never): JsonObject {
  const { enabled, startMs = -1, endMs = -1 } = period
  return { enabled, inQuietPeriod: isQuiet(period, nowMs), startTime: startMs, endTime: endMs }
}
