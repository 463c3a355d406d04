/** The verdict on one metric: whether the canary's values differ from the baseline's, and by how much. */
import { asGiven, maybe, or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, numberOf } from '@fairlead/base/json/values.ts'
import { isConstant, quantiles, shareOfHigher, shiftBetween } from './rank-test.ts'
import {
  describeSeries,
  type Measurement,
  type SeriesStats,
  withoutGaps,
  withoutOutliers,
} from './series.ts'

export type Classification = 'Pass' | 'High' | 'Low' | 'Nodata' | 'NodataFailMetric' | 'Error'

export interface MetricVerdict {
  readonly classification: Classification
  readonly reason?: string
  /** Mean of the canary by the mean of the baseline; NaN where one of them is 0; undefined where nothing was compared. */
  readonly ratio?: number
  /** The metric decides about the whole canary. */
  readonly critical: boolean
  readonly experiment: SeriesStats
  readonly control: SeriesStats
}

/** How a metric is judged: `analysisConfigurations.canary` of its configuration. */
interface Rules {
  readonly direction: string
  readonly gaps: 'remove' | 'replace'
  /** Interquartile ranges beyond which values are left out; undefined: none are. */
  readonly outlierFactor: number | undefined
  readonly critical: boolean
  /** Whether what most minutes lack counts by how often it occurs; undefined: only if the metric is critical. */
  readonly rareEvents: boolean | undefined
  readonly mustHaveData: boolean
  readonly measure: 'meanRatio' | 'cles'
  readonly allowed: EffectBounds
  readonly criticalEffect: EffectBounds
}

interface EffectBounds {
  readonly increase: number
  readonly decrease: number
}

/** ComparedValues of both sides in rising order, without gaps and outliers. */
interface Samples {
  readonly experiment: Float64Array
  readonly control: Float64Array
}

type Side = 'High' | 'Low'

/** Share of the estimated shift by which the confidence interval has to miss 0. */
const tolerance = 0.25
const confidence = quantiles[0.98]

/** What was measured on both sides. */
export interface ComparedValues {
  readonly experiment: readonly Measurement[]
  readonly control: readonly Measurement[]
}

/** @param analysis `analysisConfigurations` of the metric. */
export function judgeMetric(
  name: string,
  analysis: unknown,
  values: ComparedValues,
): MetricVerdict {
  const rules = rulesOf(analysis)
  const samples = prepare(rules, values)
  const stats = {
    experiment: describeSeries(samples.experiment),
    control: describeSeries(samples.control),
  }
  return {
    ...(withoutComparison(name, samples, rules) ?? compare(name, samples, rules, stats)),
    ...stats,
  }
}

/**
 * Whether a metric could fail with these values, or with more moderate ones in place of the highest and lowest: whether the sides
 * differ at all, however little.
 */
export function mayFail(analysis: unknown, values: ComparedValues): boolean {
  const rules = { ...rulesOf(analysis), outlierFactor: undefined }
  const { experiment, control } = prepare(rules, values)
  if (experiment.length === 0 || control.length === 0) return true
  const shift = shiftBetween(experiment, control, confidence)
  return (
    (rules.direction !== 'decrease' && shift.mayBeHigher()) ||
    (rules.direction !== 'increase' && shift.mayBeLower())
  )
}

/** Whether the sides lie so far apart in the first values that they would with the second ones' shift too. */
export function staysClear(
  side: Side,
  analysis: unknown,
  worse: ComparedValues,
  better: ComparedValues,
): boolean {
  const rules = rulesOf(analysis)
  const [low, wide] = [prepare(rules, worse), prepare(rules, better)].map(
    ({ experiment, control }) =>
      side === 'High'
        ? shiftBetween(experiment, control, confidence)
        : shiftBetween(control, experiment, confidence),
  )
  return (
    low !== undefined && wide !== undefined && low.low() > tolerance * Math.abs(wide.estimate())
  )
}

function prepare(rules: Rules, values: ComparedValues): Samples {
  const prepareSide = (series: readonly Measurement[]): Float64Array => {
    const sorted = withoutGaps(series, rules.gaps).sort()
    return rules.outlierFactor === undefined ? sorted : withoutOutliers(sorted, rules.outlierFactor)
  }
  return { experiment: prepareSide(values.experiment), control: prepareSide(values.control) }
}

const readAnalysis = shape({
  canary: shape({
    direction: (value) => String(value ?? 'either'),
    gaps: [(value) => (value === 'replace' ? 'replace' : 'remove'), 'nanStrategy'],
    outliers: shape({ strategy: asGiven, outlierFactor: or(numberOf, 3) }),
    critical: isTrue,
    muted: isTrue,
    rareEvents: maybe(isTrue),
    mustHaveData: isTrue,
    effectSize: shape({
      measure: (value) => (value === 'cles' ? 'cles' : 'meanRatio'),
      allowedIncrease: numberOf,
      allowedDecrease: numberOf,
      criticalIncrease: numberOf,
      criticalDecrease: numberOf,
    }),
  }),
})

/** @param analysis `analysisConfigurations` of a metric */
export function canaryOf(analysis: unknown) {
  return readAnalysis(analysis).canary
}

function rulesOf(analysis: unknown): Rules {
  const { outliers, effectSize, ...rules } = canaryOf(analysis)
  const { measure } = effectSize
  const usual = measure === 'cles' ? 0.5 : 1
  return {
    ...rules,
    outlierFactor: outliers.strategy === 'remove' ? outliers.outlierFactor : undefined,
    measure,
    allowed: {
      increase: effectSize.allowedIncrease ?? usual,
      decrease: effectSize.allowedDecrease ?? usual,
    },
    criticalEffect: {
      increase: effectSize.criticalIncrease ?? usual,
      decrease: effectSize.criticalDecrease ?? usual,
    },
  }
}

type Outcome = Omit<MetricVerdict, 'experiment' | 'control'>

function withoutComparison(
  name: string,
  { experiment, control }: Samples,
  rules: Rules,
): Outcome | undefined {
  if (experiment.length === 0 || control.length === 0) {
    if (rules.gaps === 'replace') return { classification: 'Pass', ratio: 1, critical: false }
    const fails = rules.mustHaveData && !rules.critical
    return {
      classification: fails ? 'NodataFailMetric' : 'Nodata',
      reason: `Missing data for ${name}`,
      ratio: 1,
      critical: rules.critical,
    }
  }
  if (
    experiment.length === control.length &&
    experiment.every((value, index) => value === control[index])
  ) {
    return {
      classification: 'Pass',
      reason: 'The Canary and Baseline data are identical',
      ratio: 1,
      critical: false,
    }
  }
  const isOneValue = isConstant(experiment) && isConstant(control) && experiment[0] === control[0]
  return isOneValue ? { classification: 'Pass', ratio: 1, critical: false } : undefined
}

function compare(
  name: string,
  { experiment, control }: Samples,
  rules: Rules,
  stats: Record<'experiment' | 'control', SeriesStats>,
): Outcome {
  let side: Side | undefined
  let rareSide: Side | undefined
  try {
    side = sideOf(experiment, control, rules.direction)
    if (side === undefined) rareSide = rareSideOf(experiment, control, rules.direction)
    if (rules.rareEvents ?? rules.critical) side ??= rareSide
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { classification: 'Error', reason: 'Metric Classification Failed', critical: false }
  }
  const ratio = meanRatio(stats.experiment.mean, stats.control.mean)
  const effect = rules.measure === 'cles' ? shareOfHigher(experiment, control) : ratio
  if (side === undefined || !reaches(side, effect, rules.allowed)) {
    const reason = side === undefined && rareSide !== undefined ? overlooked(name, rareSide) : {}
    return { classification: 'Pass', ...reason, ratio, critical: false }
  }
  return rules.critical && reaches(side, effect, rules.criticalEffect)
    ? {
        classification: side,
        reason: `The metric ${name} was classified as ${side} (Critical)`,
        ratio,
        critical: true,
      }
    : { classification: side, reason: `${name} was classified as ${side}`, ratio, critical: false }
}

/**
 * Where the canary lies, if its confidence interval is clear of the tolerance and the direction counts.
 *
 * @throws {RangeError} when no interval can be computed
 */
function sideOf(
  experiment: Float64Array,
  control: Float64Array,
  direction: string,
): Side | undefined {
  const values = [experiment[0], experiment.at(-1), control[0], control.at(-1)]
  if (!values.every(Number.isFinite))
    throw new RangeError('Infinite values have no distance from each other.')
  // At their shift both are the same, and ties alone have no variance.
  if (experiment.length + control.length === 2)
    throw new RangeError('One value against one other has no interval.')
  const shift = shiftBetween(experiment, control, confidence)
  const isClear = (bound: number): boolean =>
    bound > 0 && bound > tolerance * Math.abs(shift.estimate())
  if (direction !== 'decrease' && shift.mayBeHigher() && isClear(shift.low())) return 'High'
  return direction !== 'increase' && shift.mayBeLower() && isClear(-shift.high())
    ? 'Low'
    : undefined
}

/**
 * Most minutes have no event, so that the median difference is 0 and no interval is clear of it. How often there are events is
 * compared instead.
 */
function rareSideOf(
  experiment: Float64Array,
  control: Float64Array,
  direction: string,
): Side | undefined {
  if (!isRare(experiment, control)) return undefined
  const shift = shiftBetween(experiment, control, confidence)
  if (direction !== 'decrease' && shift.isHigher()) return 'High'
  return direction !== 'increase' && shift.isLower() ? 'Low' : undefined
}

/** At least half of all values are 0, and none is below. */
function isRare(experiment: Float64Array, control: Float64Array): boolean {
  const sides = [experiment, control]
  const zeros = sides.reduce((sum, side) => sum + side.filter((value) => value === 0).length, 0)
  const lowest = Math.min(...sides.map((side) => side[0] as number))
  return lowest === 0 && zeros * 2 >= experiment.length + control.length
}

function overlooked(name: string, side: Side): { reason: string } {
  const more = side === 'High' ? 'more' : 'fewer'
  return {
    reason: `${name} has events in ${more} minutes than the baseline, which the rank test does not see where most values are 0: set rareEvents`,
  }
}

function meanRatio(experiment: number, control: number): number {
  return experiment === 0 || control === 0 ? Number.NaN : experiment / control
}

/** An effect that cannot be computed holds nothing back. */
function reaches(side: Side, effect: number, { increase, decrease }: EffectBounds): boolean {
  if (Number.isNaN(effect)) return true
  return side === 'High' ? effect >= increase : effect <= decrease
}
