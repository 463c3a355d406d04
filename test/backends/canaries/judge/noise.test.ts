/** Canaries in noise: what an analysis with a usual configuration decides about them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  JudgedConfig,
  MetricSetPair,
} from '../../../../packages/engine/canaries/judge/judge.ts'
import { outlookOf } from '../../../../packages/engine/canaries/judge/outlook.ts'
import { createRandom } from '../../../support/random.ts'

const runs = 200
const intervals = 4
/** One point a minute. */
const pointsPerInterval = 30
const thresholds = { pass: 95, marginal: 75 }

const risesBy = (allowedIncrease: number) => ({
  direction: 'increase',
  effectSize: { allowedIncrease },
})
const config: JudgedConfig = {
  metrics: [
    { name: 'latency', groups: ['latency'], analysisConfigurations: { canary: risesBy(1.1) } },
    {
      name: 'errors',
      groups: ['errors'],
      analysisConfigurations: {
        canary: { ...risesBy(1.25), critical: true, nanStrategy: 'replace' },
      },
    },
    { name: 'cpu', groups: ['resources'], analysisConfigurations: { canary: risesBy(1.1) } },
  ],
}

/** Draws what a version would measure: the load swings for both sides alike, everything else is its own noise. */
function createMeasurements(
  seed: number,
): (minute: number, slower: number, errors: number) => [number, number, number] {
  const random = createRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const poisson = (mean: number) => {
    let [count, product] = [0, random()]
    for (; product > Math.exp(-mean); product *= random()) count++
    return count
  }
  return (minute, slower, errors) => {
    const load = 1 + 0.2 * Math.sin(minute / 40)
    return [
      120 * slower * load * Math.exp(0.12 * normal()),
      poisson(20 * errors * load),
      0.4 * load * Math.exp(0.1 * normal()),
    ]
  }
}

/** The verdict, and the interval after which the analysis has ended. */
function analyze(seed: number, slower: number, errors = 1): { passes: boolean; after: number } {
  const draw = createMeasurements(seed)
  const points = { experiment: [], control: [] } as Record<
    'experiment' | 'control',
    [number, number, number][]
  >
  for (let after = 1; ; after++) {
    for (let point = 0; point < pointsPerInterval; point++) {
      const minute = (after - 1) * pointsPerInterval + point
      points.experiment.push(draw(minute, slower, errors))
      points.control.push(draw(minute, 1, 1))
    }
    const pairs: MetricSetPair[] = (config.metrics ?? []).map(({ name }, index) => ({
      id: name,
      name,
      values: {
        experiment: points.experiment.map((values) => values[index] as number),
        control: points.control.map((values) => values[index] as number),
      },
    }))
    const { verdict } = outlookOf(config, thresholds, pairs, {
      done: after,
      left: intervals - after,
    })
    if (verdict !== undefined) return { passes: verdict === 'Pass', after }
  }
}

const analyzeAll = (slower: number, errors?: number) =>
  Array.from({ length: runs }, (_, seed) => analyze(seed + 1, slower, errors))

test('a good canary is never stopped', () => {
  assert.equal(analyzeAll(1).filter(({ passes }) => !passes).length, 0)
})

test('a slightly slower canary is found', () => {
  const found = analyzeAll(1.15).filter(({ passes }) => !passes)
  assert.ok(found.length >= 0.95 * runs, `${found.length} of ${runs} were found`)
})

test('a canary with a few more errors is found, most often early', () => {
  const found = analyzeAll(1, 1.5).filter(({ passes }) => !passes)
  assert.ok(found.length >= 0.95 * runs, `${found.length} of ${runs} were found`)
  assert.ok(found.filter(({ after }) => after < intervals).length >= 0.8 * runs)
})
