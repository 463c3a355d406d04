/** Images of bakes whose steps have put something else in place of what is expected. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { adoptImage } from '../../../src/backends/bakery/bake-image.ts'
import type { Bake } from '../../../src/backends/bakery/bake-store.ts'
import { imageMigrations, openImageStore } from '../../../src/backends/images/image-store.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

/** @param fill Does what steps did, in the folder of the builder */
async function adopt(t: TestContext, fill: (folder: string) => void) {
  const root = createFolder('bake-image')
  t.after(() => removeFolder(root))
  const db = new DatabaseSync(':memory:')
  for (const migration of imageMigrations) db.exec(migration)
  const bounds = { maxBytes: 10_000_000, maxEntries: 100 }
  const images = openImageStore({ db, dataDir: root, now: () => 0, bounds })
  const folder = join(root, 'builder')
  mkdirSync(folder)
  fill(folder)
  const bake = { id: 'b', name: 'app', version: '1', request: {}, user: 'ann', createdMs: 0 } as unknown as Bake
  return adoptImage(images, bake, { folder, template: { image: 'command: [run]\n' } as never })
}

test('a pipe in place of the image file fails the bake', async (t) => {
  const adopted = adopt(t, (folder) => {
    mkdirSync(join(folder, 'image'))
    execFileSync('mkfifo', [join(folder, 'image', 'fairlead-image.yml')])
  })

  await assert.rejects(adopted, /is no file, directory or link/)
})

test('an image file beyond 64 KiB fails the bake', async (t) => {
  const adopted = adopt(t, (folder) => {
    mkdirSync(join(folder, 'image'))
    writeFileSync(join(folder, 'image', 'fairlead-image.yml'), `command: [${'x'.repeat(70_000)}]`)
  })

  await assert.rejects(adopted, /at most 65536 bytes/)
})

test('a link in place of the image is not followed', async (t) => {
  const elsewhere = createFolder('elsewhere')
  t.after(() => removeFolder(elsewhere))

  const adopted = adopt(t, (folder) => symlinkSync(elsewhere, join(folder, 'image')))

  await assert.rejects(adopted, /replaced image by a link or file/)
  assert.equal(existsSync(join(elsewhere, 'fairlead-image.yml')), false)
})
