/** Metrics of server groups of this machine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TrafficHistory } from '../../../packages/agent/traffic-history.ts'
import { toStatistics } from '../../../packages/providers/local/traffic-metrics.ts'

const minuteMs = 60_000

test('values of instances are put together by their period', () => {
  const history = new TrafficHistory()
  const counts = (requests: number, latencyUs: number) => ({ requests, errors: 1, latencyUs })
  history.record(
    10_001,
    new Map([
      ['a', counts(2, 4000)],
      ['b', counts(2, 8000)],
    ]),
    new Map([['a', 5]]),
  )
  history.record(20_001, new Map([['a', counts(0, 0)]]), new Map())

  const valuesOf = (name: string) =>
    toStatistics(name, history.samples(0), ['a', 'b', 'gone'])?.['datapoints']
  assert.deepEqual(valuesOf('requests'), [
    { timestamp: 10_001, sum: 4 },
    { timestamp: 20_001, sum: 0 },
  ])
  assert.deepEqual(
    valuesOf('latency'),
    [{ timestamp: 10_001, average: 3 }],
    'without requests there is no latency',
  )
  assert.deepEqual(
    valuesOf('memory'),
    [{ timestamp: 10_001, average: 5 }],
    'unknown memory is not zero',
  )
  assert.equal(toStatistics('constructor', history.samples(0), []), undefined)
})

test('what was counted since the last period is known at once, and belongs to the next one', () => {
  const history = new TrafficHistory()
  const counts = new Map([['a', { requests: 4, errors: 1, latencyUs: 8000 }]])
  history.record(10_000, counts, new Map())
  history.count(counts)
  history.count(counts)
  const read = (name: string) => toStatistics(name, history.samples(12_000), ['a'])
  assert.deepEqual(read('errors')?.['datapoints'], [{ timestamp: 10_000, sum: 1 }])
  assert.deepEqual(read('errors')?.['latest'], { timestamp: 12_000, sum: 2 })
  assert.deepEqual(read('latency')?.['latest'], { timestamp: 12_000, average: 2 })
  assert.equal(read('memory')?.['latest'], undefined)

  history.record(20_000, counts, new Map())
  assert.deepEqual(read('requests')?.['datapoints'], [
    { timestamp: 10_000, sum: 4 },
    { timestamp: 20_000, sum: 12 },
  ])
  assert.equal(read('requests')?.['latest'], undefined)
})

test('two samples soon after one another are not one, and a clock that is set back keeps no more of them', () => {
  const history = new TrafficHistory()
  const memory = new Map([['a', 7]])
  for (const atMs of [15_001, 24_999]) history.record(atMs, new Map(), memory)
  assert.deepEqual(toStatistics('memory', history.samples(0), ['a'])?.['datapoints'], [
    { timestamp: 15_001, average: 7 },
    { timestamp: 24_999, average: 7 },
  ])

  history.record(600 * minuteMs, new Map(), memory)
  for (let atMs = 0; atMs < 60 * minuteMs; atMs += 10_000) history.record(atMs, new Map(), memory)
  assert.equal(history.samples(0)['a']?.length, 90)
})

test('a quarter of an hour is kept', () => {
  const history = new TrafficHistory()
  const memory = new Map([['a', 1]])
  for (let atMs = 0; atMs < 60 * minuteMs; atMs += 10_000) history.record(atMs, new Map(), memory)
  assert.equal(history.samples(0)['a']?.length, 90)

  history.record(90 * minuteMs, new Map(), new Map())
  assert.deepEqual(history.samples(0), {})
})
