/** Turns of executions, without executions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pacer } from '../../../packages/engine/orchestration/pacer.ts'
import { waitUntil } from '../../support/wait-until.ts'

test('no execution has a turn while it is scheduled, however long the thread stood still', async (t) => {
  let ms = 0
  t.mock.method(performance, 'now', () => (ms += 1000))
  const runs: string[] = []
  const pacer = new Pacer({ now: Date.now, begin: () => {}, run: (id) => void runs.push(id) })
  t.after(() => pacer.stop())
  pacer.start([], false)
  pacer.schedule([{ id: 'one', due: 0 }])
  assert.deepEqual(runs, [])
  t.mock.restoreAll()
  await waitUntil(() => runs.length > 0, 'its turn')
  assert.deepEqual(runs, ['one'])
})
