/** Image folders that nothing uses. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { imageMigrations, openImageStore } from '../../src/backends/images/image-store.ts'
import { createFolder } from '../support/temporary-folder.ts'

test('a folder without an image is removed at the start', async (t) => {
  const dataDir = createFolder('images')
  const db = new DatabaseSync(':memory:')
  t.after(() => db.close())
  db.exec(imageMigrations[0])
  const bounds = { maxBytes: 1_000_000, maxEntries: 100 }
  const open = (keepsUnfinished: boolean) => openImageStore({ db, dataDir, now: Date.now, bounds, keepsUnfinished })
  const store = open(false)
  const description = { name: 'web', version: '1', labels: {}, tags: {}, origin: {} }
  const image = await store.addFolder(
    async (folder) => writeFileSync(join(folder, 'fairlead-image.yml'), 'command: [sh]\n'),
    description,
  )
  const folders = () => readdirSync(join(dataDir, 'images')).sort()
  const used = image.digest.replace('sha256:', '')
  const left = ['0'.repeat(64), '.new-1', 'notes']
  for (const name of left) mkdirSync(join(dataDir, 'images', name))

  open(true)
  assert.deepEqual(folders(), [...left, used].sort())
  open(false)
  assert.deepEqual(folders(), ['notes', used].sort())
})
