/** The judge `NetflixACAJudge-v1.0`: from measurements of canary and baseline to kayenta's `judgeResult`. */
import { numberOf } from '@fairlead/base/json/values.ts'
import {
  type Classification,
  type ComparedValues,
  canaryOf,
  judgeMetric,
  type MetricVerdict,
} from './metric-verdict.ts'
import type { SeriesStats } from './series.ts'

export const judgeName = 'NetflixACAJudge-v1.0'

/** What the judge reads of a canary configuration. */
export interface JudgedConfig {
  readonly metrics?: readonly JudgedMetric[]
  readonly classifier?: { readonly groupWeights?: Readonly<Record<string, unknown>> | null } | null
}

export interface JudgedMetric {
  readonly name: string
  readonly groups?: readonly string[] | null
  /** Its `canary` says how the metric is judged. */
  readonly analysisConfigurations?: unknown
}

export interface ScoreThresholds {
  readonly pass: number
  readonly marginal: number
}

/** ComparedValues of one metric; gaps are `"NaN"` or null. */
export interface MetricSetPair {
  readonly id: string
  readonly name: string
  readonly tags?: Readonly<Record<string, string>>
  readonly values: ComparedValues
}

export interface MetricResult {
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
  readonly id: string
  readonly classification: Classification
  readonly classificationReason?: string
  readonly groups: readonly string[]
  readonly experimentMetadata: { readonly stats: SeriesStats }
  readonly controlMetadata: { readonly stats: SeriesStats }
  readonly resultMetadata?: { readonly ratio: number | 'NaN' }
  readonly critical: boolean
  readonly muted: boolean
}

type ScoreClass = 'Pass' | 'Marginal' | 'Fail'

export interface JudgeResult {
  readonly judgeName: string
  readonly results: readonly MetricResult[]
  readonly groupScores: readonly {
    readonly name: string
    readonly score: number
    readonly classification: string
    readonly classificationReason: string
  }[]
  readonly score: {
    readonly score: number
    readonly classification: ScoreClass
    readonly classificationReason: string
  }
}

type JudgedResult = Pick<
  MetricResult,
  'classification' | 'classificationReason' | 'groups' | 'critical' | 'muted'
>

/** Percent of the metrics without data from which nothing can be said. */
const maxWithoutData = 50

/** @throws {RangeError} when the configuration has no metric of the name of a pair */
export function judgeCanary(
  config: JudgedConfig,
  thresholds: ScoreThresholds,
  pairs: readonly MetricSetPair[],
): JudgeResult {
  const metrics = new Map(
    (config.metrics ?? []).toReversed().map((metric) => [metric.name, metric]),
  )
  return scoreResults(
    config,
    thresholds,
    pairs.map((pair) => {
      const metric = metrics.get(pair.name)
      if (metric === undefined)
        throw new RangeError(`Could not find metric config for ${pair.name}`)
      return toResult(
        pair,
        metric,
        judgeMetric(pair.name, metric.analysisConfigurations, pair.values),
      )
    }),
  )
}

function toResult(pair: MetricSetPair, metric: JudgedMetric, verdict: MetricVerdict): MetricResult {
  const { classification, reason, ratio, critical, experiment, control } = verdict
  return {
    name: pair.name,
    tags: pair.tags ?? {},
    id: pair.id,
    classification,
    ...(reason === undefined ? {} : { classificationReason: reason }),
    groups: metric.groups ?? [],
    experimentMetadata: { stats: experiment },
    controlMetadata: { stats: control },
    ...(ratio === undefined
      ? {}
      : { resultMetadata: { ratio: Number.isNaN(ratio) ? ('NaN' as const) : ratio } }),
    critical,
    muted: canaryOf(metric.analysisConfigurations).muted,
  }
}

function scoreResults(
  config: JudgedConfig,
  thresholds: ScoreThresholds,
  results: readonly MetricResult[],
): JudgeResult {
  const counted = results.filter(({ muted }) => !muted)
  const groups = groupScores(counted)
  const { score, reason } = scoreOf(config, counted)
  return {
    judgeName,
    results,
    groupScores: [...groups].map(([name, share]) => ({
      name,
      score: share ?? 0,
      classification: '',
      classificationReason: '',
    })),
    score: { score, classification: classOf(score, thresholds), classificationReason: reason },
  }
}

/** The score of the metrics that are not muted, and why it is 0 where a rule says so. */
export function scoreOf(
  config: JudgedConfig,
  counted: readonly JudgedResult[],
): { score: number; reason: string } {
  const failed = counted.find(
    ({ critical, classification }) => critical && classification !== 'Pass',
  )
  if (failed !== undefined)
    return {
      score: 0,
      reason: `Canary Failed: ${failed.classificationReason ?? failed.classification}`,
    }
  const withoutData = counted.filter(({ classification }) => classification === 'Nodata').length
  if ((withoutData / counted.length) * 100 >= maxWithoutData) {
    return { score: 0, reason: `Canary Failed: ${maxWithoutData}% or more metrics returned NODATA` }
  }
  return { score: weigh(groupScores(counted), config.classifier?.groupWeights ?? {}), reason: '' }
}

/** Thresholds belong to the better class. */
export function classOf(score: number, { pass, marginal }: ScoreThresholds): ScoreClass {
  if (score >= pass) return 'Pass'
  return score >= marginal ? 'Marginal' : 'Fail'
}

/** Percent of the metrics of each group that pass; undefined for a group that has no data. */
function groupScores(counted: readonly JudgedResult[]): Map<string, number | undefined> {
  const groups = Map.groupBy(
    counted.flatMap(({ groups, classification }) =>
      groups.map((name) => ({ name, classification })),
    ),
    ({ name }) => name,
  )
  return new Map(
    [...groups].map(([name, members]) => [
      name,
      shareOfPass(members.map(({ classification }) => classification)),
    ]),
  )
}

function shareOfPass(classes: readonly Classification[]): number | undefined {
  const compared = classes.filter((found) => found !== 'Nodata' && found !== 'Error')
  return compared.length === 0
    ? undefined
    : (compared.filter((found) => found === 'Pass').length / compared.length) * 100
}

/** A group without data counts as good; groups without a weight share what the others leave. */
function weigh(
  groups: ReadonlyMap<string, number | undefined>,
  weights: Readonly<Record<string, unknown>>,
): number {
  const weightOf = (name: string) =>
    Object.hasOwn(weights, name) ? numberOf(weights[name]) : undefined
  const given = Object.keys(weights).reduce((sum, name) => sum + (weightOf(name) ?? 0), 0)
  const others = [...groups.keys()].filter((name) => weightOf(name) === undefined).length
  let sum = 0
  for (const [name, share] of groups)
    sum += (share ?? 100) * ((weightOf(name) ?? (100 - given) / others) / 100)
  return toTwoPlaces(sum)
}

/** Rounds the decimal notation half up, as 66.665 to 66.67, which multiplying by 100 would miss. */
function toTwoPlaces(score: number): number {
  return Math.abs(score) < 0.005 ? 0 : Number(`${Math.round(Number(`${score}e2`))}e-2`)
}
