import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { keepMemorySmall } from '../../src/telemetry/memory.ts'

test('a busy thread collects garbage once it is idle', { timeout: 60_000 }, async () => {
  const shares = [1, 0.5, 0.2, 0.01]
  const steps: string[] = []
  const busyShare = () => {
    const share = shares.shift() ?? 0
    steps.push(`busy ${share}`)
    return share
  }
  const heapBytes = () => 100
  const collect = () => steps.push('collect')
  keepMemorySmall({ everyMs: 1, collect, trim: () => steps.push('trim'), busyShare, heapBytes })
  while (!steps.includes('collect')) await sleep(1)
  await sleep(10)
  const expected = ['busy 1', 'busy 0.5', 'busy 0.2', 'busy 0.01', 'collect', 'trim', 'busy 0']
  assert.deepEqual(steps.slice(0, 7), expected)
})

interface LoadStep {
  readonly megabytes: number
  readonly busy: number
}

function repeat(count: number, step: LoadStep): LoadStep[] {
  return Array.from({ length: count }, () => step)
}

/** @returns the steps with a collection, which leaves 30 MB, and those with a trim */
async function runLoad(load: readonly LoadStep[]): Promise<{ collected: number[]; trimmed: number[] }> {
  let step = -1
  const collected: number[] = []
  const trimmed: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  keepMemorySmall({
    everyMs: 1,
    collect: () => collected.push(step),
    trim: () => trimmed.push(step),
    busyShare: () => {
      if (++step === load.length) resolve()
      return load[step]?.busy ?? 1
    },
    heapBytes: () => (collected.at(-1) === step ? 30 : (load[step]?.megabytes ?? 30)),
  })
  // The program waits for none of its steps by itself.
  const waiting = setInterval(() => {}, 1000)
  await promise
  clearInterval(waiting)
  return { collected, trimmed }
}

const idle = { megabytes: 31, busy: 0 }
const idleAfterLoad = { megabytes: 90, busy: 0 }
const busy = { megabytes: 90, busy: 1 }

test('a thread collects garbage again once load is over', { timeout: 60_000 }, async () => {
  const load = [idle, ...repeat(30, idle), busy, ...repeat(11, idleAfterLoad), busy]
  const { collected } = await runLoad([...load, ...repeat(50, idleAfterLoad)])
  assert.deepEqual(collected.slice(0, 2), [0, load.length + 11])
})

test('a thread with bursts of work collects garbage', { timeout: 60_000 }, async () => {
  const burst = { megabytes: 90, busy: 0.4 }
  const { collected } = await runLoad([idle, busy, ...repeat(12, idleAfterLoad).with(5, burst)])
  assert.deepEqual(collected, [0, 13])
})

test('a thread with light load keeps its garbage', { timeout: 60_000 }, async () => {
  const { collected } = await runLoad([idle, ...repeat(50, { megabytes: 90, busy: 0.06 })])
  assert.deepEqual(collected, [0])
})

test('a thread that always does a little collects more and more rarely, until there is load', { timeout: 60_000 }, async () => {
  const little = { megabytes: 90, busy: 0.01 }
  const { collected } = await runLoad([idle, ...repeat(100, little), busy, ...repeat(12, little)])
  assert.deepEqual(collected, [0, 12, 36, 84, 113])
})

test('buffers count as growth of the heap', { timeout: 60_000 }, async () => {
  let times = 0
  let buffer: Buffer | undefined
  const collected: number[] = []
  const busyShare = () => {
    times++
    return 0
  }
  // Tests of the same process may have left a large heap.
  const { total_heap_size: heap, external_memory: buffers } = getHeapStatistics()
  const size = heap + buffers
  const trim = () => {
    buffer ??= Buffer.alloc(size)
  }
  keepMemorySmall({ everyMs: 1, collect: () => collected.push(times), trim, busyShare })
  while (times < 20) await sleep(1)
  assert.deepEqual([collected, buffer?.length], [[1, 13], size])
})

test('freed memory is trimmed under load, too', { timeout: 60_000 }, async () => {
  const { trimmed } = await runLoad([idle, ...repeat(12, busy)])
  assert.deepEqual(trimmed, [0, 4, 8, 12])
})
