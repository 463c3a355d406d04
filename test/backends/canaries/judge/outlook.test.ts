import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type JudgedConfig, judgeCanary } from '../../../../packages/engine/canaries/judge/judge.ts'
import { outlookOf } from '../../../../packages/engine/canaries/judge/outlook.ts'
import { createRandom } from '../../../support/random.ts'

const thresholds = { pass: 90, marginal: 40 }
const config: JudgedConfig = {
  metrics: ['latency', 'errors'].map((name) => ({
    name,
    groups: [name],
    analysisConfigurations: { canary: { direction: 'increase' } },
  })),
}

const random = createRandom(28)
const around = (mean: number, count: number) =>
  Array.from({ length: count }, () => mean * (0.9 + 0.2 * random()))

/** Two metrics of as many points as given; the canary is that much slower, and has as many errors as the baseline. */
const measure = (count: number, slower: number) => [
  {
    id: '1',
    name: 'latency',
    values: { experiment: around(100 * slower, count), control: around(100, count) },
  },
  {
    id: '2',
    name: 'errors',
    values: { experiment: around(10, count), control: around(10, count) },
  },
]

test('the last judgment decides', () => {
  const pairs = measure(60, 1.5)
  assert.equal(outlookOf(config, thresholds, pairs, { done: 6, left: 0 }).verdict, 'Fail')
  assert.equal(outlookOf(config, thresholds, measure(60, 1), { done: 6, left: 0 }).verdict, 'Pass')
})

test('a failure is certain once the rest cannot make up for it', () => {
  const pairs = measure(200, 1.5)
  const early = outlookOf(config, thresholds, pairs, { done: 2, left: 8 })
  const late = outlookOf(config, thresholds, pairs, { done: 9, left: 1 })

  assert.deepEqual([early.verdict, early.best], [undefined, 100])
  assert.equal(early.reason, 'After 8 more intervals the score lies between 0 and 100.')
  assert.deepEqual([late.verdict, late.best], ['Fail', 50])
  assert.equal(late.reason, 'The score can no longer reach 90: at best it becomes 50.')
})

test('a success is certain only when nothing can prevent it', () => {
  const pairs = measure(200, 1)
  assert.equal(outlookOf(config, thresholds, pairs, { done: 5, left: 5 }).verdict, undefined)
  const last = outlookOf(config, thresholds, pairs, { done: 200, left: 1 })
  assert.deepEqual([last.verdict, last.worst], ['Pass', 100])
})

test('a score below the marginal threshold ends the analysis', () => {
  const outlook = outlookOf(config, { pass: 90, marginal: 75 }, measure(20, 1.5), {
    done: 1,
    left: 9,
  })
  assert.deepEqual([outlook.verdict, outlook.reason], ['Fail', 'The score 50 is below 75.'])
})

test('a window that moves on forgets', () => {
  const pairs = measure(200, 1.5)
  assert.equal(
    outlookOf(config, thresholds, pairs, { done: 9, left: 3, lookback: 2 }).verdict,
    undefined,
  )
})

test('missing data may still come', () => {
  const pairs = measure(200, 1).map((pair, index) =>
    index === 0 ? pair : { ...pair, values: { experiment: [], control: [] } },
  )
  const outlook = outlookOf(config, { pass: 90, marginal: 0 }, pairs, { done: 5, left: 1 })
  assert.deepEqual([outlook.verdict, outlook.best], [undefined, 100])
})

test('no future contradicts what is called certain', () => {
  let certain = 0
  for (let run = 0; run < 60; run++) {
    const [count, left] = [40, 1 + (run % 4)]
    const pairs = measure(count, 1 + 0.05 * (run % 5))
    const { verdict } = outlookOf(config, thresholds, pairs, { done: 10, left })
    if (verdict === undefined) continue
    certain++
    const future = measure((count / 10) * left, 1 + 0.05 * ((run * 3) % 5))
    const whole = pairs.map(({ values, ...pair }, index) => ({
      ...pair,
      values: {
        experiment: [...values.experiment, ...(future[index]?.values.experiment ?? [])],
        control: [...values.control, ...(future[index]?.values.control ?? [])],
      },
    }))
    const { score } = judgeCanary(config, thresholds, whole).score
    assert.equal(score >= thresholds.pass ? 'Pass' : 'Fail', verdict, `run ${run}`)
  }
  assert.ok(certain > 10, `${certain} verdicts were certain`)
})
