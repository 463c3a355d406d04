import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TimeoutSweep } from '../../packages/proxy/sweep.ts'

test('what has just begun has not stalled at the next check', async (t) => {
  const sweep = new TimeoutSweep(10)
  t.after(() => sweep.close())
  const { promise, resolve } = Promise.withResolvers<number>()
  const beganMs = sweep.nowMs

  sweep.add({ check: resolve })
  // The timer of the sweep keeps no process alive.
  const alive = setInterval(() => {}, 1000)
  t.after(() => clearInterval(alive))

  assert.ok((await promise) <= beganMs)
})
