/** Configurations of installations start, or get one sentence; what has no effect is named. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { configurationSets } from './configurations.ts'
import { tryConfiguration } from './try-configuration.ts'

test('the corpus has 60 configurations or more', () => {
  assert.ok(Object.keys(configurationSets).length >= 60)
})

for (const [name, set] of Object.entries(configurationSets)) {
  test(`${name} ${set.says === undefined ? 'starts' : 'gets one sentence'}`, async () => {
    assert.deepEqual((await tryConfiguration(set)).faults, [])
  })
}
