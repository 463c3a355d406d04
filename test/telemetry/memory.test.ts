import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { giveBackMemoryWhenIdle, optionsForLoad, youngAllocation } from '../../src/telemetry/memory.ts'

test('a busy thread collects garbage once it is idle', { timeout: 60_000 }, async () => {
  const shares = [1, 0.5, 0.2, 0.01]
  const steps: string[] = []
  const busyShare = () => {
    const share = shares.shift() ?? 0
    steps.push(`busy ${share}`)
    return share
  }
  const heapBytes = () => 100
  giveBackMemoryWhenIdle(() => steps.push('before'), { everyMs: 1, collect: () => steps.push('collect'), busyShare, heapBytes })
  while (!steps.includes('collect')) await sleep(1)
  await sleep(10)
  assert.deepEqual(steps.slice(0, 6), ['busy 1', 'busy 0.5', 'busy 0.2', 'busy 0.01', 'before', 'collect'])
})

test('a thread collects garbage again once load is over', { timeout: 60_000 }, async () => {
  // The heap in megabytes after each step, and whether the thread was busy in it.
  const load: readonly (readonly [number, boolean])[] = [
    [30, false],
    ...Array.from({ length: 30 }, () => [31, false] as const),
    [90, true],
    ...Array.from({ length: 11 }, () => [90, false] as const),
    [90, true],
  ]
  let step = -1
  const collected: number[] = []
  const sizeNow = () => load[step]?.[0] ?? (collected.length < 2 ? 90 : 30)
  giveBackMemoryWhenIdle(() => {}, {
    everyMs: 1,
    collect: () => collected.push(step),
    busyShare: () => (load[++step]?.[1] === true ? 1 : 0),
    heapBytes: sizeNow,
  })
  while (step < load.length + 50) await sleep(1)
  assert.deepEqual(collected, [0, load.length + 11])
})

const file = JSON.stringify(new URL('../../src/telemetry/memory.ts', import.meta.url).href)

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
