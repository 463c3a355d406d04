/** Memory that only the start needed is given back while nothing else happens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { giveBackMemoryOnceIdle } from '../../src/telemetry/memory.ts'

test('a busy thread collects garbage once it is idle', { timeout: 60_000 }, async () => {
  const shares = [1, 0.5, 0.2, 0.01]
  const steps: string[] = []
  const busyShare = () => {
    const share = shares.shift() ?? 0
    steps.push(`busy ${share}`)
    return share
  }
  giveBackMemoryOnceIdle(() => steps.push('before'), { everyMs: 1, collect: () => steps.push('collect'), busyShare })
  while (!steps.includes('collect')) await sleep(1)
  await sleep(10)
  assert.deepEqual(steps, ['busy 1', 'busy 0.5', 'busy 0.2', 'busy 0.01', 'before', 'collect'])
})
