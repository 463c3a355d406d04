import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { keepMemorySmall, optionsForLoad, youngAllocation } from '../../src/telemetry/memory.ts'

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
  keepMemorySmall(() => steps.push('before'), { everyMs: 1, collect, trim: () => steps.push('trim'), busyShare, heapBytes })
  while (!steps.includes('collect')) await sleep(1)
  await sleep(10)
  const expected = ['busy 1', 'busy 0.5', 'busy 0.2', 'busy 0.01', 'before', 'collect', 'trim', 'busy 0']
  assert.deepEqual(steps.slice(0, 8), expected)
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
  keepMemorySmall(() => {}, {
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
  const trim = () => {
    buffer ??= Buffer.alloc(200_000_000)
  }
  keepMemorySmall(() => {}, { everyMs: 1, collect: () => collected.push(times), trim, busyShare })
  while (times < 20) await sleep(1)
  assert.deepEqual([collected, buffer?.length], [[1, 13], 200_000_000])
})

test('freed memory is trimmed under load, too', { timeout: 60_000 }, async () => {
  const { trimmed } = await runLoad([idle, ...repeat(12, busy)])
  assert.deepEqual(trimmed, [0, 4, 8, 12])
})

const file = JSON.stringify(new URL('../../src/telemetry/memory.ts', import.meta.url).href)

/** Program of a process that frees 150 MB between small buffers. */
const fragmenting = `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { giveBackMemory, keepMemorySmall } from ${file}
  const resident = () => process.memoryUsage.rss() / 1024 / 1024
  const kept = []
  let freed = []
  for (let index = 0; index < 2500; index++) {
    freed.push(Buffer.allocUnsafeSlow(60_000).fill(1))
    kept.push(Buffer.allocUnsafeSlow(2000).fill(1))
  }
  freed = undefined
  giveBackMemory()
  const before = resident()
  keepMemorySmall(() => {}, { everyMs: 10 })
  for (const endMs = performance.now() + waitMs; resident() > before - 75 && performance.now() < endMs; ) await sleep(10)
  console.log(JSON.stringify({ before, after: resident(), kept: kept.length }))`

/** Waits until half of it has returned to the system. */
function runFragmenting(waitMs: number, options: readonly string[] = []): { before: number; after: number; errors: string } {
  const program = ['--input-type=module', '-e', `const waitMs = ${waitMs}\n${fragmenting}`]
  const { stdout, stderr } = spawnSync(process.execPath, [...options, ...program], { encoding: 'utf8' })
  return { ...JSON.parse(stdout), errors: stderr }
}

const { glibcVersionRuntime } = (process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } }).header

test('freed memory between small buffers returns to the system', { skip: glibcVersionRuntime === undefined }, () => {
  const { before, after, errors } = runFragmenting(30_000)
  assert.ok(after < before - 75, `${before} MB before, ${after} MB afterwards`)
  assert.equal(errors, '')
})

for (const options of [['--no-experimental-ffi'], ['--permission', '--allow-fs-read=*']]) {
  test(`Node with ${options[0]} keeps freed memory and reports nothing`, { skip: glibcVersionRuntime === undefined }, () => {
    const { before, after, errors } = runFragmenting(100, options)
    assert.ok(after > before - 75, `${before} MB before, ${after} MB afterwards`)
    assert.equal(errors, '')
  })
}

/** Allocates objects, some of which survive, until the young generation has its full size. @returns how many it took */
function countUntilGrown(preparation: string): number {
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { growWithLoad } from ${file}
    ${preparation}
    const sizeOf = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size
    const kept = []
    let count = 0
    for (; sizeOf() < 24 * 1024 * 1024 && count < 10_000_000; count += 5000)
      for (let index = 0; index < 5000; index++) kept[index % 3000] = { text: 'x' + index, list: [index] }
    console.log(count)`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  return Number(stdout)
}

test('the young generation grows with the first load', () => {
  const usual = countUntilGrown('')
  const count = countUntilGrown('growWithLoad()')
  assert.ok(count > 0 && count < usual / 2, `${count} instead of ${usual}`)
})

/** Whether objects that a function makes are young, after all of the former ones have survived. */
function allocatesYoung(preparation: string): unknown {
  const program = `
    import { allocateYoung } from ${file};
    ${preparation};
    const kept = [];
    const make = (index) => ({ index, pair: [index, 1.5] });
    %PrepareFunctionForOptimization(make);
    for (let turn = 0; turn < 3; turn++) {
      for (let index = 0; index < 1000; index++) kept.push(make(index));
      gc({ type: 'minor' });
    }
    %OptimizeFunctionOnNextCall(make);
    const made = make(0);
    console.log(JSON.stringify([%InYoungGeneration(made), %InYoungGeneration(made.pair)]))`
  const size = ['--min-semi-space-size=16', '--max-semi-space-size=16']
  const options = ['--allow-natives-syntax', '--expose-gc', ...size, '--input-type=module', '-e', program]
  return JSON.parse(spawnSync(process.execPath, options, { encoding: 'utf8' }).stdout)
}

test('objects are allocated in the young generation', () => {
  assert.deepEqual(allocatesYoung(''), [false, false])
  assert.deepEqual(allocatesYoung('allocateYoung()'), [true, true])
})

test('this Node has all options that are set', () => {
  const { stdout } = spawnSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })
  const known = new Set([...stdout.matchAll(/^ {2}--([a-z0-9-]+) /gm)].map(([, name]) => name))
  const missing = [...optionsForLoad, youngAllocation].filter((option) => !known.has(option.replace(/^--(no-)?|=.*/g, '')))
  assert.deepEqual(missing, [])
})
