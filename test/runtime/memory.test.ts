import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { runtimeOptions } from '../../src/runtime/v8-options.ts'

const urlOf = (file: string) => JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href)
const [memoryFile, optionsFile] = [urlOf('runtime/memory.ts'), urlOf('runtime/v8-options.ts')]

/** Program of a process that frees 150 MB between small buffers. */
const fragmenting = `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { collectGarbage, trimMalloc } from ${memoryFile}
  const resident = () => process.memoryUsage.rss() / 1024 / 1024
  const kept = []
  let freed = []
  for (let index = 0; index < 2500; index++) {
    freed.push(Buffer.allocUnsafeSlow(60_000).fill(1))
    kept.push(Buffer.allocUnsafeSlow(2000).fill(1))
  }
  freed = undefined
  collectGarbage()
  const before = resident()
  for (const endMs = performance.now() + waitMs; resident() > before - 75 && performance.now() < endMs; ) {
    trimMalloc()
    await sleep(10)
  }
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
    assert.equal(errors + runDropping(options).errors, '')
  })
}

/** Megabytes of files that are resident, before and after their pages are dropped. */
function runDropping(options: readonly string[] = []): { before: number; after: number; errors: string } {
  const program = `
    import { readFileSync } from 'node:fs'
    import { dropProgramPages } from ${memoryFile}
    const resident = () => Number(/^RssFile:\\s+(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024
    const before = resident()
    dropProgramPages()
    console.log(JSON.stringify({ before, after: resident(), answer: JSON.parse('{"a":1}') }))`
  const { stdout, stderr } = spawnSync(process.execPath, [...options, '--input-type=module', '-e', program], { encoding: 'utf8' })
  return { ...JSON.parse(stdout), errors: stderr }
}

test('pages of the program that only the start needs are unmapped', { skip: process.platform !== 'linux' }, () => {
  const { before, after, errors } = runDropping()
  assert.ok(after < before - 10, `${before} MB before, ${after} MB afterwards`)
  assert.equal(errors, '')
})

/** Whether objects that a function makes are young, after all of the former ones have survived. */
function allocatesYoung(preparation: string): unknown {
  const program = `
    import { allocateYoung } from ${optionsFile};
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
  const missing = runtimeOptions.filter((option) => !known.has(option.replace(/^--(no-)?|=.*/g, '')))
  assert.deepEqual(missing, [])
})
