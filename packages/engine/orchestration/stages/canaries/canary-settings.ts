/** Settings of a canary analysis, as the context of a stage has them. */
import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, numberOf } from '@fairlead/base/json/values.ts'
import { canaryConfig } from '@fairlead/model/stage-types/canaries.ts'
import { secondsOf } from '@fairlead/model/stage-types/duration.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { StageError } from '../../machine/failure.ts'

interface Thresholds {
  /** Score of the last interval from which the canary is good. */
  readonly pass?: number
  /** An interval fails unless its score is above it. */
  readonly marginal?: number
}

function readConfig(config: JsonObject) {
  return readFields(canaryConfig.fields, config)
}

export type CanaryScope = ReturnType<typeof readConfig>['scopes'][number]

export interface CanaryStageSettings {
  /** Configuration and accounts, as inner stages have them. */
  readonly shared: JsonObject
  readonly scopes: readonly CanaryScope[]
  /** Milliseconds since the epoch; undefined: the start of the analysis. */
  readonly startMs: number | undefined
  /** Undefined: the time to compare is still to come. */
  readonly endMs: number | undefined
  readonly lifetimeMs: number | undefined
  readonly warmUpMs: number
  /** Undefined: one judgment at the end. */
  readonly intervalMs: number | undefined
  /** 0: each judgment looks at everything since the start. */
  readonly lookbackMs: number
  /** How much earlier the time of the baseline is. */
  readonly baselineOffsetMs: number
  readonly stepSeconds: number
}

const minuteMs = 60_000
/** Thresholds of a stage that sets none. */
const defaultThresholds: Thresholds = { pass: 75, marginal: 50 }

/** @throws {StageError} naming the field that is missing or wrong */
export function canarySettingsOf(config: JsonObject): CanaryStageSettings {
  const {
    scopes,
    lifetimeDuration,
    lifetimeHours,
    beginCanaryAnalysisAfterMins,
    canaryAnalysisIntervalMins,
    lookbackMins,
    baselineAnalysisOffsetInMins,
    ...settings
  } = readConfig(config)
  const [first] = scopes
  if (first === undefined)
    throw new StageError(['The stage compares nothing: add a scope to "canaryConfig.scopes".'])
  if (settings.canaryConfigId === undefined && settings.canaryConfigName === undefined) {
    throw new StageError([
      'The stage names no canary configuration: set "canaryConfig.canaryConfigId".',
    ])
  }
  const ofHours = lifetimeHours === undefined ? undefined : lifetimeHours * 60 * minuteMs
  return {
    shared: definedOf({ ...settings, scoreThresholds: thresholdsOf(config) }),
    scopes,
    startMs: momentOf(first, 'startTimeIso'),
    endMs: momentOf(first, 'endTimeIso'),
    lifetimeMs: durationMs(lifetimeDuration, 'lifetimeDuration') ?? ofHours,
    warmUpMs: beginCanaryAnalysisAfterMins * minuteMs,
    intervalMs: canaryAnalysisIntervalMins > 0 ? canaryAnalysisIntervalMins * minuteMs : undefined,
    lookbackMs: lookbackMins * minuteMs,
    baselineOffsetMs: baselineAnalysisOffsetInMins * minuteMs,
    stepSeconds: first.step,
  }
}

const toThresholds = shape({ pass: numberOf, marginal: numberOf })

/** Both are absent where the stage says that there are none. */
export function thresholdsOf({ scoreThresholds }: JsonObject): Thresholds {
  return scoreThresholds === undefined
    ? defaultThresholds
    : definedOf(toThresholds(scoreThresholds))
}

/** @throws {StageError} when it is no duration */
export function durationMs(value: unknown, field: string): number | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const seconds = secondsOf(value)
  if (seconds !== undefined) return seconds * 1000
  throw new StageError([
    `"${field}" is "${String(value)}", which is no duration: write it as PT1H30M.`,
  ])
}

/** @throws {StageError} when the field holds no moment */
function momentOf(scope: CanaryScope, field: 'startTimeIso' | 'endTimeIso'): number | undefined {
  const { [field]: text } = scope
  if (text === undefined) return undefined
  const moment = Date.parse(text)
  if (Number.isNaN(moment))
    throw new StageError([`"${field}" is "${text}": write it as 2026-01-31T08:00:00Z.`])
  return moment
}
