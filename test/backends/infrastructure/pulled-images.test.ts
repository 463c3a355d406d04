/** Images of containers that nothing uses any more. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import { Desired, desiredMigrations } from '../../../packages/providers/local/desired.ts'
import { PulledImages } from '../../../packages/providers/local/pulled-images.ts'

test('an image is removed later when the runtime does not answer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const db = new DatabaseSync(':memory:')
  for (const migration of desiredMigrations) db.exec(migration)
  const desired = new Desired(db)
  const pull = { account: 'prod', region: '', name: 'shop/web@sha256:1', imageId: 'sha256:2' }
  desired.transact(() => desired.put('pulls', pull))
  const asked: string[] = []
  let isUp = false
  const removeImage = async (_account: string, id: string) => {
    asked.push(id)
    if (!isUp) throw new Error('docker cannot be used.')
    return true
  }
  const images = new PulledImages({
    desired,
    containers: { removeImage, areHeld: false },
    log: pino({ level: 'silent' }),
  })
  const prune = async () => {
    images.prune((work) => desired.transact(work))
    await setImmediate()
  }

  await prune()
  isUp = true
  await prune()
  assert.deepEqual([asked.length, [...desired.all('pulls')].length], [1, 1])

  t.mock.timers.tick(60_000)
  await prune()
  assert.deepEqual([asked.length, [...desired.all('pulls')].length], [2, 0])
})
