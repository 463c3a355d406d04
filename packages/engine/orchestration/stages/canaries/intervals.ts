/** Intervals of a canary analysis: their waits, and the times and scopes that each compares. */
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'
import { inSequence, type NewStage } from '../stage-type.ts'
import { type CanaryScope, type CanaryStageSettings, canarySettingsOf } from './canary-settings.ts'

const mostIntervals = 1000

/** Baseline and canary that the stage has deployed, which all scopes compare. */
type DeployedPair = JsonObject

/**
 * The waits and judgments of an analysis that begins now. All times are those of the first scope.
 *
 * @throws {StageError} naming the field that is missing
 */
export function intervalStages(
  config: JsonObject,
  nowMs: number,
  pair: DeployedPair | undefined,
): NewStage[] {
  const settings = canarySettingsOf(config)
  const lifetimeMs = lifetimeOf(settings, nowMs)
  const given = settings.intervalMs ?? lifetimeMs
  const intervalMs = Math.min(given, lifetimeMs)
  // A quotient such as 2.9999999 is a whole number of intervals.
  const count = Math.floor(lifetimeMs / intervalMs + 1e-6)
  if (count > mostIntervals) {
    throw new StageError([
      `The analysis would have ${count} intervals, and may have ${mostIntervals}: raise "canaryConfig.canaryAnalysisIntervalMins".`,
    ])
  }
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  return inSequence([
    ...(settings.warmUpMs > 0 ? [waitStage('Warmup Wait', settings.warmUpMs)] : []),
    ...numbers.flatMap((interval) => [
      ...(settings.endMs === undefined
        ? [waitStage(`Interval Wait #${interval}`, intervalMs)]
        : []),
      {
        type: 'runCanary',
        name: `Run Canary #${interval}`,
        context: {
          ...settings.shared,
          interval,
          intervals: count,
          ...(settings.lookbackMs > 0 && { lookbackIntervals: settings.lookbackMs / intervalMs }),
          scopes: scopesOf(settings, { nowMs, offsetMs: interval * intervalMs, pair }),
        },
      },
    ]),
  ])
}

/** @throws {StageError} when there is nothing to watch */
function lifetimeOf({ startMs, endMs, lifetimeMs }: CanaryStageSettings, nowMs: number): number {
  const found = endMs === undefined ? lifetimeMs : endMs - (startMs ?? nowMs)
  if (found === undefined) {
    throw new StageError([
      'The stage does not say how long to watch: set "canaryConfig.lifetimeDuration", such as PT1H, or "endTimeIso" of the first scope.',
    ])
  }
  if (found > 0) return found
  const field =
    endMs === undefined
      ? 'The lifetime of the analysis is not positive'
      : '"endTimeIso" is not after "startTimeIso"'
  throw new StageError([`${field}: there is nothing to watch.`])
}

function waitStage(name: string, ms: number): NewStage {
  return { type: 'wait', name, context: { waitTime: ms / 1000 } }
}

interface IntervalPlace {
  readonly nowMs: number
  /** From the begin of the analysis to the end of the interval. */
  readonly offsetMs: number
  readonly pair: DeployedPair | undefined
}

/** By their names. */
function scopesOf(
  canary: CanaryStageSettings,
  { nowMs, offsetMs, pair }: IntervalPlace,
): JsonObject {
  const { endMs, warmUpMs, lookbackMs, baselineOffsetMs, stepSeconds } = canary
  const beginMs = (canary.startMs ?? nowMs) + (endMs === undefined ? warmUpMs : 0)
  const untilMs = beginMs + offsetMs
  const sinceMs = lookbackMs > 0 ? untilMs - lookbackMs : beginMs
  const timesOf = (earlierMs: number) => ({
    start: new Date(sinceMs - earlierMs).toISOString(),
    end: new Date(untilMs - earlierMs).toISOString(),
    step: stepSeconds,
  })
  const scopes = canary.scopes.map((scope) => [
    scope.scopeName,
    {
      controlScope: { ...sideOf(scope, 'control', pair), ...timesOf(baselineOffsetMs) },
      experimentScope: { ...sideOf(scope, 'experiment', pair), ...timesOf(0) },
    },
  ])
  return Object.fromEntries(scopes)
}

/** @throws {StageError} when the scope names neither a baseline nor a canary, and the stage deploys none */
function sideOf(
  scope: CanaryScope,
  side: 'control' | 'experiment',
  pair: DeployedPair | undefined,
): JsonObject {
  const given = scope.extendedScopeParams
  if (pair !== undefined) {
    return {
      scope: pair[`${side}Scope`],
      location: pair[`${side}Location`],
      // As Orca says it of server groups that it has deployed: metrics stores that know kinds of scopes need it.
      extendedScopeParams: { dataset: 'regional', ...given, type: 'asg' },
    }
  }
  const { [`${side}Scope` as const]: name, [`${side}Location` as const]: location } = scope
  if (name === undefined)
    throw new StageError([`A scope names no ${side}: set "canaryConfig.scopes[].${side}Scope".`])
  return { scope: name, ...definedOf({ location }), extendedScopeParams: given }
}
