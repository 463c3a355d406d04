/** Inputs and results that the tests of kayenta publish. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type JudgedConfig,
  judgeCanary,
  scoreOf,
} from '../../../../packages/engine/canaries/judge/judge.ts'
import {
  type Classification,
  judgeMetric,
} from '../../../../packages/engine/canaries/judge/metric-verdict.ts'
import {
  quantiles,
  shareOfHigher,
  shiftBetween,
} from '../../../../packages/engine/canaries/judge/rank-test.ts'
import {
  describeSeries,
  percentile,
  withoutGaps,
  withoutOutliers,
} from '../../../../packages/engine/canaries/judge/series.ts'
import samples from '../../../fixtures/canary-samples.json' with { type: 'json' }

interface Pair {
  readonly experiment: readonly number[]
  readonly control: readonly number[]
}

const sorted = (values: readonly number[]) => Float64Array.from(values).sort()
const close = (actual: number, expected: number, within: number, what: string) =>
  assert.ok(Math.abs(actual - expected) <= within, `${what}: ${actual} is not ${expected}`)

const intervals: readonly (Pair & {
  name: string
  quantile: number
  low: number
  high: number
  estimate: number
  within: number
})[] = [
  {
    name: 'four values each',
    experiment: [10, 20, 30, 40],
    control: [1, 2, 3, 4],
    ...{ quantile: quantiles[0.95], low: 6, high: 39, estimate: 22.5, within: 1e-6 },
  },
  {
    name: '90 values in steps, as R has them',
    ...samples.steps,
    ...{
      quantile: quantiles[0.95],
      low: -0.500002521696696,
      high: -3.486287505871302e-5,
      estimate: -0.4999393907180323,
      within: 1e-4,
    },
  },
  {
    name: '180 values in steps, as R has them',
    ...samples.manySteps,
    ...{
      quantile: quantiles[0.98],
      low: -0.4999173250549087,
      high: -6.912685789769486e-6,
      estimate: -3.45044082729315e-5,
      within: 1e-4,
    },
  },
  {
    name: 'mostly zeros, as R has them',
    ...samples.rare,
    ...{
      quantile: quantiles[0.95],
      low: 3.521755377702165e-5,
      high: 2.02456461662334e-5,
      estimate: 2.6279243045155653e-5,
      within: 1e-6,
    },
  },
]

for (const { name, experiment, control, quantile, low, high, estimate, within } of intervals) {
  test(`the confidence interval of ${name} is kayenta's`, () => {
    const shift = shiftBetween(sorted(experiment), sorted(control), quantile)

    close(shift.low(), low, 1e-6, 'low')
    close(shift.high(), high, 1e-6, 'high')
    close(shift.estimate(), estimate, within, 'estimate')
  })
}

const shares: readonly [string, Pair, number][] = [
  ['the same', { experiment: [1, 2, 3, 4, 5], control: [1, 2, 3, 4, 5] }, 0.5],
  ['lower', { experiment: samples.ten, control: samples.twenty.map((value) => value + 10) }, 0],
  ['mostly higher', samples.mostlyHigher, 0.771],
  ['mostly lower', samples.mostlyLower, 0.12],
]
for (const [name, { experiment, control }, share] of shares) {
  test(`the share of higher values is kayenta's for ${name}`, () => {
    close(shareOfHigher(sorted(experiment), sorted(control)), share, 0.001, 'share')
  })
}

const high = { experiment: [20, 22, 21, 25, 30], control: [1, 2.2, 1.1, 2.5, 3] }
const low = { experiment: [2, 2, 2, 2, 3], control: [10, 20.2, 10.1, 20.5, 30] }
const missing = { experiment: [], control: [1, 2, 3, 4, 5] }
const fromZero = { experiment: [54.9, 54.5, 55.1, 55.6, 57.4], control: [0, 0, 0, 0, 0] }
const flat = (value: number) => Array<number>(5).fill(value)

interface Verdict extends Pair {
  readonly name: string
  readonly canary?: object
  readonly is: Classification
  readonly critical?: boolean
  readonly ratio?: number
}

const verdicts: readonly Verdict[] = [
  {
    name: 'samples of one distribution',
    experiment: samples.ten,
    control: samples.alsoTen,
    is: 'Pass',
  },
  { name: 'a doubled metric', experiment: samples.twenty, control: samples.alsoTen, is: 'High' },
  { name: 'a halved metric', experiment: samples.ten, control: samples.alsoTwenty, is: 'Low' },
  {
    name: 'a halved metric that may fall',
    experiment: samples.ten,
    control: samples.alsoTwenty,
    canary: { direction: 'increase' },
    is: 'Pass',
  },
  {
    name: 'a doubled metric that may rise',
    experiment: samples.twenty,
    control: samples.alsoTen,
    canary: { direction: 'decrease' },
    is: 'Pass',
  },
  {
    name: 'a doubled metric that must not rise',
    experiment: samples.twenty,
    control: samples.alsoTen,
    canary: { direction: 'increase' },
    is: 'High',
  },
  {
    name: 'a halved metric that must not fall',
    experiment: samples.ten,
    control: samples.alsoTwenty,
    canary: { direction: 'decrease' },
    is: 'Low',
  },
  { name: 'more of what is rare', ...samples.rare, is: 'High' },
  {
    name: 'more of what is rare, within the allowed ratio',
    ...samples.rare,
    canary: { effectSize: { allowedIncrease: 5 } },
    is: 'Pass',
  },
  {
    name: 'a ratio above the allowed one',
    ...high,
    canary: { effectSize: { allowedDecrease: 0.8, allowedIncrease: 1.2 } },
    is: 'High',
  },
  {
    name: 'a ratio within the allowed decrease',
    ...{ experiment: [10, 12.2, 10.1, 12.5, 23], control: [20, 22, 21, 25, 30] },
    ...{ canary: { effectSize: { allowedDecrease: 0.5, allowedIncrease: 1 } }, is: 'Pass' },
  },
  {
    name: 'a share of higher values above the allowed one',
    ...samples.clesHigh,
    canary: cles(0.2, 0.8),
    is: 'High',
  },
  {
    name: 'a share of higher values below the allowed one',
    ...samples.clesLow,
    canary: cles(0.2, 0.8),
    is: 'Low',
  },
  {
    name: 'a share of higher values that is allowed',
    ...samples.mostlyHigher,
    canary: cles(0.2, 0.8),
    is: 'Pass',
  },
  {
    name: 'a critical increase',
    ...high,
    canary: { critical: true, effectSize: { criticalIncrease: 1.2 } },
    is: 'High',
    critical: true,
  },
  {
    name: 'a critical decrease',
    ...low,
    canary: { critical: true, effectSize: { criticalDecrease: 1.2 } },
    is: 'Low',
    critical: true,
  },
  {
    name: 'a critical metric below the critical increase',
    ...{
      ...high,
      canary: { critical: true, effectSize: { allowedIncrease: 5, criticalIncrease: 13 } },
      is: 'High',
    },
  },
  {
    name: 'a critical metric within the allowed increase',
    ...{
      ...high,
      canary: { critical: true, effectSize: { allowedIncrease: 13, criticalIncrease: 15 } },
      is: 'Pass',
    },
  },
  {
    name: 'a critical increase without bounds',
    ...high,
    canary: { critical: true },
    is: 'High',
    critical: true,
  },
  { name: 'one value everywhere', experiment: [1, 1, 1], control: [1, 1], is: 'Pass', ratio: 1 },
  {
    name: 'the same values in another order',
    experiment: [1, 2, 3, 4, 5],
    control: [5, 4, 3, 2, 1],
    is: 'Pass',
    ratio: 1,
  },
  {
    name: 'one value below the others',
    experiment: [0, 1, 1, 1, 1],
    control: flat(1),
    canary: { direction: 'decrease' },
    is: 'Pass',
  },
  {
    name: 'one value above the others',
    experiment: [1, 1, 1, 1, 10],
    control: flat(1),
    is: 'Pass',
  },
  {
    name: 'two samples of two values that lie apart',
    experiment: [10, 11],
    control: [1, 2],
    is: 'High',
  },
  { name: 'one value against one other', experiment: [20], control: [10], is: 'Error' },
  { name: 'two constants', experiment: flat(10), control: flat(1), is: 'High', ratio: 10 },
  {
    name: 'a constant and zeros',
    experiment: flat(10),
    control: flat(0),
    is: 'High',
    ratio: Number.NaN,
  },
  {
    name: 'nothing before and something now',
    ...fromZero,
    canary: { effectSize: { allowedIncrease: 1.2 } },
    is: 'High',
    ratio: Number.NaN,
  },
  {
    name: 'something before and nothing now',
    ...{ experiment: fromZero.control, control: fromZero.experiment },
    ...{ canary: { effectSize: { allowedDecrease: 0.8 } }, is: 'Low', ratio: Number.NaN },
  },
  {
    name: 'zeros everywhere',
    experiment: flat(0),
    control: flat(0),
    canary: { effectSize: { allowedIncrease: 1.2 } },
    is: 'Pass',
    ratio: 1,
  },
  { name: 'missing data', ...missing, is: 'Nodata', ratio: 1 },
  {
    name: 'missing data of a critical metric',
    ...missing,
    canary: { critical: true },
    is: 'Nodata',
    critical: true,
  },
  {
    name: 'missing data that must be there',
    ...missing,
    canary: { mustHaveData: true },
    is: 'NodataFailMetric',
  },
  {
    name: 'missing data of a metric that counts',
    ...missing,
    canary: { nanStrategy: 'replace' },
    is: 'Pass',
  },
]

function cles(allowedDecrease: number, allowedIncrease: number): object {
  return { effectSize: { measure: 'cles', allowedDecrease, allowedIncrease } }
}

for (const { name, experiment, control, canary, is, critical = false, ratio } of verdicts) {
  test(`${name}: ${is}${critical ? ', critical' : ''}`, () => {
    const verdict = judgeMetric('errors', { canary }, { experiment, control })

    assert.deepEqual([verdict.classification, verdict.critical], [is, critical])
    if (ratio !== undefined) assert.equal(verdict.ratio, ratio)
  })
}

test('reasons are worded as kayenta words them', () => {
  const reasonOf = (canary: object, values: Pair) =>
    judgeMetric('errors', { canary }, values).reason

  assert.equal(reasonOf({}, high), 'errors was classified as High')
  assert.equal(
    reasonOf({ critical: true }, low),
    'The metric errors was classified as Low (Critical)',
  )
  assert.equal(reasonOf({}, missing), 'Missing data for errors')
  assert.equal(
    reasonOf({}, { experiment: [1, 2], control: [2, 1] }),
    'The Canary and Baseline data are identical',
  )
})

test('a series is described as kayenta does', () => {
  assert.deepEqual(describeSeries(sorted([])), { min: 0, max: 0, mean: 0, std: 0, count: 0 })
  assert.deepEqual(describeSeries(sorted([4])), { min: 4, max: 4, mean: 4, std: 0, count: 1 })
  const { std, ...others } = describeSeries(sorted([1, 1, 1, 10, 10, 10]))
  assert.deepEqual(others, { min: 1, max: 10, mean: 5.5, count: 6 })
  close(std, 4.9295, 1e-4, 'std')
})

test('percentiles are interpolated as kayenta does', () => {
  const halves = sorted([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5])
  close(percentile(halves, 5), 0.175, 1e-4, 'fifth')
  assert.equal(percentile(halves, 50), 1.75)
  assert.equal(percentile(halves, 100), 3.5)
  assert.equal(percentile(sorted([1]), 100), 1)
  const ofNist = [
    95.1772, 95.1567, 95.1937, 95.1959, 95.1442, 95.061, 95.1591, 95.1195, 95.1772, 95.0925, 95.199,
    95.1682,
  ]
  close(percentile(sorted(ofNist), 90), 95.19568, 1e-9, 'ninetieth')
})

test('gaps are left out or count as nothing', () => {
  const values = ['NaN', 10.1, null, 30.3]
  assert.deepEqual([...withoutGaps(values, 'remove')], [10.1, 30.3])
  assert.deepEqual([...withoutGaps(values, 'replace')], [0, 10.1, 0, 30.3])
})

test("outliers are kayenta's", () => {
  assert.deepEqual(
    [...withoutOutliers(sorted([21, 23, 24, 25, 50, 29, 23, 21]), 1.5)],
    [21, 21, 23, 23, 24, 25, 29],
  )
  assert.deepEqual(
    [...withoutOutliers(sorted([1, 1, 1, 5, -1, -1, -1, -5]), 1.5)],
    [-1, -1, -1, 1, 1, 1],
  )
  assert.deepEqual([...withoutOutliers(sorted(samples.nist), 1.5)], samples.nist.slice(0, -1))
  assert.deepEqual([...withoutOutliers(sorted([]), 3)], [])
})

const result = (group: string, classification: Classification, critical = false) => ({
  ...{ groups: [group], classification, critical, muted: false },
  classificationReason: 'it is bad',
})

const scores: readonly {
  name: string
  weights?: Record<string, number>
  results: ReturnType<typeof result>[]
  is: number
}[] = [
  { name: 'one passes', results: [result('a', 'Pass')], is: 100 },
  { name: 'one fails', results: [result('a', 'High')], is: 0 },
  { name: 'none has data', results: [result('a', 'Nodata')], is: 0 },
  {
    name: 'a group has no data',
    results: [result('a', 'Pass'), result('a', 'Pass'), result('b', 'Nodata')],
    is: 100,
  },
  { name: 'one of two passes', results: [result('a', 'Pass'), result('a', 'High')], is: 50 },
  {
    name: 'one of three passes',
    results: [result('a', 'Pass'), result('a', 'High'), result('a', 'Low')],
    is: 33.33,
  },
  {
    name: 'a group of weight 75 passes',
    weights: { a: 75, b: 25 },
    results: [result('a', 'Pass'), result('a', 'Pass'), result('b', 'High')],
    is: 75,
  },
  {
    name: 'half of a group passes',
    weights: { a: 50, b: 50 },
    results: [result('a', 'Pass'), result('a', 'High'), result('b', 'High')],
    is: 25,
  },
  {
    name: 'a member has no data',
    weights: { a: 50, b: 50 },
    results: [result('a', 'Pass'), result('a', 'Nodata'), result('b', 'High')],
    is: 50,
  },
  {
    name: 'a critical one fails',
    results: [result('a', 'Pass'), result('a', 'High', true)],
    is: 0,
  },
  {
    name: 'a critical one passes',
    results: [result('a', 'Low'), result('a', 'Pass', true)],
    is: 50,
  },
  {
    name: 'a critical one has no data',
    results: [result('a', 'Pass'), result('a', 'Nodata', true)],
    is: 0,
  },
  {
    name: 'a third of a light group passes',
    weights: { a: 15, b: 85 },
    ...{
      results: [result('a', 'High'), result('a', 'Low'), result('a', 'Pass'), result('b', 'High')],
      is: 5,
    },
  },
  {
    name: 'required data is missing',
    results: [result('a', 'Pass'), result('a', 'NodataFailMetric')],
    is: 50,
  },
  {
    name: 'a group without weight takes the rest',
    weights: { a: 40 },
    results: [result('a', 'High'), result('b', 'Pass')],
    is: 60,
  },
]
for (const { name, weights, results, is } of scores) {
  test(`the score is ${is} when ${name}`, () => {
    assert.equal(scoreOf({ classifier: { groupWeights: weights } }, results).score, is)
  })
}

const config: JudgedConfig = {
  metrics: [
    {
      name: 'latency',
      groups: ['speed'],
      analysisConfigurations: { canary: { direction: 'increase' } },
    },
    { name: 'errors', groups: ['errors'], analysisConfigurations: { canary: { critical: true } } },
    {
      name: 'cache misses',
      groups: ['speed'],
      analysisConfigurations: { canary: { muted: true } },
    },
  ],
  classifier: { groupWeights: { speed: 40, errors: 60 } },
}

test('a result has the fields that kayenta gives it', () => {
  const pairs = [
    { id: 'p1', name: 'latency', tags: { zone: 'a' }, values: high },
    { id: 'p2', name: 'errors', values: { experiment: [0, 0, 1], control: [0, 0, 0] } },
    { id: 'p3', name: 'cache misses', values: high },
  ]
  const judged = judgeCanary(config, { pass: 95, marginal: 60 }, pairs)

  assert.equal(judged.judgeName, 'NetflixACAJudge-v1.0')
  assert.deepEqual(judged.score, {
    score: 60,
    classification: 'Marginal',
    classificationReason: '',
  })
  const [speed, errors] = ['speed', 'errors'].map(
    (name) => judged.groupScores.find((group) => group.name === name)?.score,
  )
  assert.deepEqual([speed, errors], [0, 100])
  const { experimentMetadata, controlMetadata, resultMetadata, ...first } = judged
    .results[0] as (typeof judged.results)[number]
  assert.deepEqual(first, {
    ...{
      id: 'p1',
      name: 'latency',
      tags: { zone: 'a' },
      groups: ['speed'],
      critical: false,
      muted: false,
    },
    ...{ classification: 'High', classificationReason: 'latency was classified as High' },
  })
  close(Number(resultMetadata?.ratio), 23.6 / 1.96, 1e-9, 'ratio')
  assert.deepEqual([experimentMetadata.stats.count, controlMetadata.stats.max], [5, 3])
  assert.equal(judged.results[1]?.resultMetadata?.ratio, 'NaN')
  assert.ok(judged.results[2]?.muted)
})

test('a critical failure is the reason of the score', () => {
  const judged = judgeCanary(config, { pass: 95, marginal: 60 }, [
    { id: 'p', name: 'errors', values: high },
  ])
  assert.deepEqual(judged.score, {
    ...{ score: 0, classification: 'Fail' },
    classificationReason: 'Canary Failed: The metric errors was classified as High (Critical)',
  })
})

test('a metric that cannot be compared is an error', () => {
  for (const experiment of [
    [1, 2, Number.POSITIVE_INFINITY],
    [1e-20, 2e-20],
  ]) {
    const pairs = [{ id: 'p', name: 'latency', values: { experiment, control: [1e9] } }]
    const [judged] = judgeCanary(config, { pass: 95, marginal: 60 }, pairs).results
    assert.equal(judged?.classification, 'Error')
    assert.equal(judged?.classificationReason, 'Metric Classification Failed')
    assert.equal(judged?.resultMetadata, undefined)
  }
})

test('a metric that the configuration lacks is refused', () => {
  const pairs = [{ id: 'p', name: 'typo', values: high }]
  assert.throws(
    () => judgeCanary(config, { pass: 95, marginal: 60 }, pairs),
    /Could not find metric config for typo/,
  )
})
