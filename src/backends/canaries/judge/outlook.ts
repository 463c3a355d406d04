/** Whether measurements to come can still change the verdict on a canary, so that an analysis may end early. */
import { fieldAt, isTrue, objectOf } from '../../../json/values.ts'
import {
  classOf,
  type JudgedConfig,
  type JudgedMetric,
  judgeCanary,
  type MetricResult,
  type MetricSetPair,
  type ScoreThresholds,
  scoreOf,
} from './judge.ts'
import { judgeMetric } from './metric-verdict.ts'
import { describeSeries, type Measurement, withoutGaps } from './series.ts'

export interface Outlook {
  /** Set once it is certain: a canary passes when its last score reaches the threshold, and fails with the first marginal one. */
  readonly verdict?: 'Pass' | 'Fail'
  /** The highest and the lowest score that the last judgment can give. */
  readonly best: number
  readonly worst: number
  /** A sentence about the above. */
  readonly reason: string
}

export interface Progress {
  /** Intervals whose measurements are in the pairs, or have been, with a window that moves on. */
  readonly done: number
  readonly left: number
  /** Intervals that a judgment looks back on; all unless given. */
  readonly lookback?: number
}

type Side = 'experiment' | 'control'
type Series = Record<Side, readonly Measurement[]>

/**
 * A metric that passes is certain when even the most extreme values to come could not make it fail. One that fails is certain when
 * it would not recover with the best values seen so far: better ones than ever are no reason to let a bad canary run on.
 *
 * @throws {RangeError} when the configuration has no metric of the name of a pair
 */
export function outlookOf(
  config: JudgedConfig,
  thresholds: ScoreThresholds,
  pairs: readonly MetricSetPair[],
  progress: Progress,
): Outlook {
  const { results, score: now } = judgeCanary(config, thresholds, pairs)
  const { score } = now
  if (progress.left <= 0) {
    const verdict = score >= thresholds.pass ? 'Pass' : 'Fail'
    return { verdict, best: score, worst: score, reason: `The last score is ${score}.` }
  }
  if (now.classification === 'Fail') {
    return { verdict: 'Fail', best: score, worst: score, reason: `The score ${score} is below ${thresholds.marginal}.` }
  }
  const counted = results.flatMap((result, index) => {
    const pair = pairs[index] as MetricSetPair
    const metric = config.metrics?.find(({ name }) => name === pair.name) as JudgedMetric
    return result.muted ? [] : [{ result, metric, ...futureOf(result, metric, pair, progress) }]
  })
  const best = scoreOf(
    config,
    counted.map(({ result, mayPass }) => (mayPass ? { ...result, ...passing } : result)),
  ).score
  const worst = scoreOf(
    config,
    counted.map(({ result, metric, mayFail }) => (mayFail ? { ...result, ...failing, critical: isCritical(metric) } : result)),
  ).score
  return { ...describeRange(best, worst, thresholds, progress), best, worst }
}

const passing = { classification: 'Pass', critical: false } as const
const failing = { classification: 'High' } as const

function isCritical({ analysisConfigurations }: JudgedMetric): boolean {
  return isTrue(fieldAt(analysisConfigurations, 'canary', 'critical'))
}

function describeRange(
  best: number,
  worst: number,
  thresholds: ScoreThresholds,
  { left }: Progress,
): Pick<Outlook, 'verdict' | 'reason'> {
  const { pass } = thresholds
  if (classOf(worst, thresholds) === 'Pass') {
    return { verdict: 'Pass', reason: `The score cannot fall below ${pass}: at worst it becomes ${worst}.` }
  }
  if (classOf(best, thresholds) !== 'Pass') {
    return { verdict: 'Fail', reason: `The score can no longer reach ${pass}: at best it becomes ${best}.` }
  }
  return { reason: `After ${left} more ${left === 1 ? 'interval' : 'intervals'} the score lies between ${worst} and ${best}.` }
}

/** What a metric may become. */
function futureOf(
  { classification }: MetricResult,
  { name, analysisConfigurations }: JudgedMetric,
  { values }: MetricSetPair,
  progress: Progress,
): { mayPass: boolean; mayFail: boolean } {
  const { kept, toCome } = countPoints(values, progress)
  const range = rangeOf(values)
  const becomes = (analysis: unknown, canary: number, baseline: number): boolean => {
    const future = {
      experiment: [...kept.experiment, ...Array<number>(toCome).fill(canary)],
      control: [...kept.control, ...Array<number>(toCome).fill(baseline)],
    }
    return judgeMetric(name, analysis, future).classification === 'Pass'
  }
  switch (classification) {
    case 'Pass': {
      const beyond = 1_000 * Math.max(range.max - range.min, Math.abs(range.max), Math.abs(range.min), 1)
      const [low, high] = [range.min - beyond, range.max + beyond]
      const analysis = withoutOutlierRule(analysisConfigurations)
      return { mayPass: true, mayFail: !(becomes(analysis, high, low) && becomes(analysis, low, high)) }
    }
    case 'High':
      return { mayPass: becomes(analysisConfigurations, range.min, range.max), mayFail: true }
    case 'Low':
      return { mayPass: becomes(analysisConfigurations, range.max, range.min), mayFail: true }
    default:
      return { mayPass: true, mayFail: true }
  }
}

/** Extreme values are not left out: they stand for anything that may come. */
function withoutOutlierRule(analysis: unknown): unknown {
  return { canary: { ...objectOf(fieldAt(analysis, 'canary')), outliers: undefined } }
}

/** The points of today that the last judgment still sees, and how many it will see besides. */
function countPoints(
  values: Series,
  { done, left, lookback = Number.POSITIVE_INFINITY }: Progress,
): { kept: Series; toCome: number } {
  const seen = Math.max(1, Math.min(done, lookback))
  const perInterval = Math.max(values.experiment.length, values.control.length) / seen
  const toCome = Math.min(left, lookback)
  const keptIntervals = Math.min(done + left, lookback) - toCome
  const keep = (series: readonly Measurement[]): readonly Measurement[] => {
    const points = Math.round((series.length / seen) * keptIntervals)
    return points === 0 ? [] : series.slice(-points)
  }
  return { kept: { experiment: keep(values.experiment), control: keep(values.control) }, toCome: Math.ceil(perInterval * toCome) }
}

function rangeOf({ experiment, control }: Series): { min: number; max: number } {
  return describeSeries(withoutGaps([...experiment, ...control], 'remove'))
}
