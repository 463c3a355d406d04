/** Pauses after failures in a row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BackOff } from '../../packages/base/concurrency/back-off.ts'

test('pauses double up to the longest one, until something succeeds', () => {
  const backOff = new BackOff({ firstMs: 100, longestMs: 500 })
  const pauses = () => Array.from({ length: 4 }, () => backOff.nextMs())
  assert.deepEqual(pauses(), [100, 200, 400, 500])
  backOff.reset()
  assert.deepEqual(pauses(), [100, 200, 400, 500])
})

test('what is cancelled during its pause is not started', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let starts = 0
  const backOff = new BackOff({ firstMs: 100, longestMs: 500 })
  const start = () => {
    starts++
  }
  assert.equal(backOff.startLater(start), 100)
  t.mock.timers.tick(100)
  assert.equal(backOff.startLater(start), 200)
  backOff.cancel()
  t.mock.timers.tick(1000)
  assert.equal(starts, 1)
})
