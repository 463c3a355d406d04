import assert from 'node:assert/strict'
import test from 'node:test'
import { elapsedMs, isRunning } from '../../packages/base/settings/time-span.ts'

test('a span from before the clock was set back is over', () => {
  const untilMs = 1000 + 60
  assert.deepEqual(
    [1000, 1059, 1060, 999, 0].map((nowMs) => isRunning(nowMs, untilMs, 60)),
    [true, true, false, false, false],
  )
  assert.deepEqual(
    [elapsedMs(1000, 1000), elapsedMs(1001, 1000), elapsedMs(999, 1000)],
    [0, 1, Number.POSITIVE_INFINITY],
  )
})
