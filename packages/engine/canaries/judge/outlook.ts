/** Whether measurements to come can still change the verdict on a canary, so that an analysis may end early. */
import type { AnalysisProgress } from '@fairlead/ports/canaries.ts'
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
import {
  type ComparedValues,
  canaryOf,
  judgeMetric,
  mayFail,
  staysClear,
} from './metric-verdict.ts'
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

/**
 * A metric that passes is certain when no values at all that may come could make it fail. One that fails is certain when it would
 * not recover with the best values seen so far: hope for better ones than ever is no reason to let a bad canary run on.
 *
 * @throws {RangeError} when the configuration has no metric of the name of a pair
 */
export function outlookOf(
  config: JudgedConfig,
  thresholds: ScoreThresholds,
  pairs: readonly MetricSetPair[],
  progress: AnalysisProgress,
): Outlook {
  const { results, score: now } = judgeCanary(config, thresholds, pairs)
  const { score } = now
  if (progress.left <= 0) {
    const verdict = score >= thresholds.pass ? 'Pass' : 'Fail'
    return { verdict, best: score, worst: score, reason: `The last score is ${score}.` }
  }
  if (now.classification === 'Fail') {
    return {
      verdict: 'Fail',
      best: score,
      worst: score,
      reason: `The score ${score} is below ${thresholds.marginal}.`,
    }
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
    counted.map(({ result, metric, mayFail }) =>
      mayFail ? { ...result, ...failing, critical: isCritical(metric) } : result,
    ),
  ).score
  return { ...describeRange(best, worst, thresholds, progress), best, worst }
}

const passing = { classification: 'Pass', critical: false } as const
const failing = { classification: 'High' } as const

function isCritical({ analysisConfigurations }: JudgedMetric): boolean {
  return canaryOf(analysisConfigurations).critical
}

function describeRange(
  best: number,
  worst: number,
  thresholds: ScoreThresholds,
  { left }: AnalysisProgress,
): Pick<Outlook, 'verdict' | 'reason'> {
  const { pass } = thresholds
  if (classOf(worst, thresholds) === 'Pass') {
    return {
      verdict: 'Pass',
      reason: `The score cannot fall below ${pass}: at worst it becomes ${worst}.`,
    }
  }
  if (classOf(best, thresholds) !== 'Pass') {
    return {
      verdict: 'Fail',
      reason: `The score can no longer reach ${pass}: at best it becomes ${best}.`,
    }
  }
  return {
    reason: `After ${left} more ${left === 1 ? 'interval' : 'intervals'} the score lies between ${worst} and ${best}.`,
  }
}

/** What a metric may become. */
function futureOf(
  { classification }: MetricResult,
  { name, analysisConfigurations: analysis }: JudgedMetric,
  { values }: MetricSetPair,
  progress: AnalysisProgress,
): { mayPass: boolean; mayFail: boolean } {
  const { kept, toCome } = countPoints(values, progress)
  const { min, max } = describeSeries(
    withoutGaps([...values.experiment, ...values.control], 'remove'),
  )
  const comes = (canary: number, baseline: number): ComparedValues => ({
    experiment: [...kept.experiment, ...Array<number>(toCome).fill(canary)],
    control: [...kept.control, ...Array<number>(toCome).fill(baseline)],
  })
  switch (classification) {
    case 'Pass': {
      const [below, above] = [min - Math.abs(min) - 1, max + Math.abs(max) + 1]
      return {
        mayPass: true,
        mayFail: mayFail(analysis, comes(above, below)) || mayFail(analysis, comes(below, above)),
      }
    }
    case 'High':
    case 'Low': {
      const [worse, better] =
        classification === 'High'
          ? [comes(min, max), comes(max, min)]
          : [comes(max, min), comes(min, max)]
      const stays = judgeMetric(name, analysis, worse).classification === classification
      return {
        mayPass: !(stays && staysClear(classification, analysis, worse, better)),
        mayFail: true,
      }
    }
    default:
      return { mayPass: true, mayFail: true }
  }
}

/** The points of today that the last judgment still sees, and how many it will see besides. */
function countPoints(
  values: ComparedValues,
  { done, left, lookback = Number.POSITIVE_INFINITY }: AnalysisProgress,
): { kept: ComparedValues; toCome: number } {
  const seen = Math.max(1, Math.min(done, lookback))
  const perInterval = Math.max(values.experiment.length, values.control.length) / seen
  const toCome = Math.min(left, lookback)
  const keptIntervals = Math.min(done + left, lookback) - toCome
  const keep = (series: readonly Measurement[]): readonly Measurement[] => {
    const points = Math.round((series.length / seen) * keptIntervals)
    return points === 0 ? [] : series.slice(-points)
  }
  return {
    kept: { experiment: keep(values.experiment), control: keep(values.control) },
    toCome: Math.ceil(perInterval * toCome),
  }
}
