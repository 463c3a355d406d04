/** Settings of a canary analysis, as the context of a stage has them. */
import { definedOf, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../../../json/values.ts'
import { secondsOf } from '../../../../stage-types/duration.ts'
import { StageError } from '../../machine/failure.ts'

export interface Thresholds {
  /** Score of the last interval from which the canary is good. */
  readonly pass?: number
  /** An interval fails unless its score is above it. */
  readonly marginal?: number
}

export interface CanarySettings {
  /** Configuration and accounts, as inner stages have them. */
  readonly shared: JsonObject
  readonly scopes: readonly JsonObject[]
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
const hourMs = 60 * minuteMs
/** Thresholds of a stage that sets none. */
const defaultThresholds: Thresholds = { pass: 75, marginal: 50 }

/** @throws {StageError} naming the field that is missing or wrong */
export function canarySettingsOf(config: JsonObject): CanarySettings {
  const scopes = objectsOf(config['scopes'])
  const [first] = scopes
  if (first === undefined) throw new StageError(['The stage compares nothing: add a scope to "canaryConfig.scopes".'])
  if (textOf(config['canaryConfigId']) === undefined && textOf(config['canaryConfigName']) === undefined) {
    throw new StageError(['The stage names no canary configuration: set "canaryConfig.canaryConfigId".'])
  }
  const minutes = (key: string) => (numberOf(config[key]) ?? 0) * minuteMs
  const hours = numberOf(config['lifetimeHours'])
  return {
    shared: definedOf({
      metricsAccountName: textOf(config['metricsAccountName']),
      configurationAccountName: textOf(config['configurationAccountName']),
      storageAccountName: textOf(config['storageAccountName']),
      canaryConfigId: textOf(config['canaryConfigId']),
      canaryConfigName: textOf(config['canaryConfigName']),
      scoreThresholds: thresholdsOf(config),
      siteLocal: objectOf(config['siteLocal']),
    }),
    scopes,
    startMs: momentOf(first, 'startTimeIso'),
    endMs: momentOf(first, 'endTimeIso'),
    lifetimeMs: durationMs(config['lifetimeDuration'], 'lifetimeDuration') ?? (hours === undefined ? undefined : hours * hourMs),
    warmUpMs: minutes('beginCanaryAnalysisAfterMins'),
    intervalMs: minutes('canaryAnalysisIntervalMins') > 0 ? minutes('canaryAnalysisIntervalMins') : undefined,
    lookbackMs: minutes('lookbackMins'),
    baselineOffsetMs: minutes('baselineAnalysisOffsetInMins'),
    stepSeconds: numberOf(first['step']) ?? 60,
  }
}

/** Both are absent where the stage says that there are none. */
export function thresholdsOf({ scoreThresholds }: JsonObject): Thresholds {
  if (scoreThresholds === undefined) return defaultThresholds
  const { pass, marginal } = objectOf(scoreThresholds)
  return definedOf({ pass: numberOf(pass), marginal: numberOf(marginal) })
}

/** @throws {StageError} when it is no duration */
export function durationMs(value: unknown, field: string): number | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const seconds = secondsOf(value)
  if (seconds !== undefined) return seconds * 1000
  throw new StageError([`"${field}" is "${String(value)}", which is no duration: write it as PT1H30M.`])
}

/** @throws {StageError} when the field holds no moment */
function momentOf(scope: JsonObject, field: string): number | undefined {
  const text = textOf(scope[field])
  if (text === undefined) return undefined
  const moment = Date.parse(text)
  if (Number.isNaN(moment)) throw new StageError([`"${field}" is "${text}": write it as 2026-01-31T08:00:00Z.`])
  return moment
}
