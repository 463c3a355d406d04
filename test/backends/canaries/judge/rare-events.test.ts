/** Metrics that are 0 in most minutes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeMetric } from '../../../../packages/engine/canaries/judge/metric-verdict.ts'
import { findRareEvents } from '../../../../packages/engine/canaries/rare-events.ts'

/** An hour in which so many minutes have events. */
const hour = (minutes: number, value = 3) =>
  Array.from({ length: 60 }, (_, at) => (at < minutes ? value : 0))

for (const [what, rules, experiment, control, expected] of [
  ['half of all minutes against none', { critical: true }, hour(30), hour(0), 'High'],
  ['six minutes against none', { rareEvents: true }, hour(6), hour(0), 'High'],
  ['four minutes against none', { critical: true }, hour(4), hour(0), 'Pass'],
  ['more minutes than before', { rareEvents: true }, hour(25), hour(8), 'High'],
  ['as many minutes with larger values', { rareEvents: true }, hour(8, 9), hour(8), 'Pass'],
  ['fewer minutes', { rareEvents: true }, hour(0), hour(30), 'Pass'],
  [
    'fewer minutes in either direction',
    { rareEvents: true, direction: 'either' },
    hour(0),
    hour(30),
    'Low',
  ],
  [
    'within the allowed increase',
    { rareEvents: true, effectSize: { allowedIncrease: 4 } },
    hour(25),
    hour(8),
    'Pass',
  ],
  ['half of all minutes as kayenta judges', {}, hour(30), hour(0), 'Pass'],
  [
    'half of all minutes, critical, as kayenta judges',
    { critical: true, rareEvents: false },
    hour(30),
    hour(0),
    'Pass',
  ],
] as const) {
  test(`rare events: ${what}: ${expected}`, () => {
    const canary = { direction: 'increase', nanStrategy: 'replace', ...rules }
    const { classification, critical, reason } = judgeMetric(
      'errors',
      { canary },
      { experiment, control },
    )
    assert.equal(classification, expected)
    assert.equal(critical, 'critical' in rules && expected === 'High')
    const isOverlooked = what.includes('kayenta')
    assert.equal(/set rareEvents/.test(reason ?? ''), isOverlooked)
  })
}

test('a configuration that falls into the trap has a finding', () => {
  const found = (canary: object) =>
    findRareEvents({ metrics: [{ name: 'm', analysisConfigurations: { canary } }] })
  assert.match(found({ nanStrategy: 'replace' })[0]?.message ?? '', /rank test passes it/)
  assert.equal(found({ nanStrategy: 'replace', critical: true, rareEvents: false }).length, 1)
  for (const fine of [
    {},
    { nanStrategy: 'replace', rareEvents: true },
    { nanStrategy: 'replace', rareEvents: false },
    { nanStrategy: 'replace', critical: true },
    { nanStrategy: 'replace', muted: true },
  ])
    assert.deepEqual(found(fine), [])
})
