import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { youngAllocation } from '../../packages/base/runtime/young-allocation.ts'

/** Whether objects that a function makes are young, after all of the former ones have survived. */
function allocatesYoung(options: readonly string[]): unknown {
  const program = `
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
  const args = [...options, '--allow-natives-syntax', '--expose-gc', ...size, '-e', program]
  return JSON.parse(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout)
}

test('objects are allocated in the young generation', () => {
  assert.deepEqual(allocatesYoung([]), [false, false])
  assert.deepEqual(allocatesYoung([youngAllocation]), [true, true])
})
