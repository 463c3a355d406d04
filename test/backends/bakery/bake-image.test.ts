/** Images of bakes whose steps have put something else in place of what is expected. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { ImageStore, imageMigrations } from '../../../packages/providers/images/image-store.ts'
import { adoptImage } from '../../../packages/providers/local/bakes/bake-image.ts'
import type { Bake } from '../../../packages/providers/local/bakes/bake-store.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

const needsRoot = process.getuid?.() === 0 ? false : 'only root can give files to another user'

/** @param fill Does what steps did, in the folder of the builder */
async function adopt(
  t: TestContext,
  fill: (folder: string) => void,
  root = createFolder('bake-image'),
) {
  t.after(() => removeFolder(root))
  const db = new DatabaseSync(':memory:')
  for (const migration of imageMigrations) db.exec(migration)
  const bounds = { maxBytes: 10_000_000, maxEntries: 100 }
  const images = new ImageStore({ db, dataDir: root, now: () => 0, bounds })
  const folder = join(root, 'builder')
  mkdirSync(folder)
  fill(folder)
  const bake = {
    id: 'b',
    name: 'app',
    version: '1',
    request: {},
    user: 'ann',
    createdMs: 0,
  } as unknown as Bake
  return adoptImage(images, bake, { folder, template: { image: 'command: [run]\n' } as never })
}

test('a pipe in place of the image file fails the bake', async (t) => {
  const adopted = adopt(t, (folder) => {
    mkdirSync(join(folder, 'image'))
    execFileSync('mkfifo', [join(folder, 'image', 'fairlead-image.yml')])
  })

  await assert.rejects(adopted, /is a FIFO; only files, directories and links may be in an image/)
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

test('a process of the bake that goes on writing does not change the image', async (t) => {
  const root = createFolder('bake-image')
  let kept = -1
  const image = await adopt(
    t,
    (folder) => {
      fillImage(folder)
      kept = openSync(join(folder, 'image', 'run'), 'r+')
      chmodSync(join(folder, 'image', 'run'), 0o4755)
    },
    root,
  )
  writeSync(kept, 'something else')
  closeSync(kept)

  const stored = join(root, 'images', image.digest.replace('sha256:', ''), 'run')
  assert.equal(readFileSync(stored, 'utf8'), 'the program')
  assert.equal(statSync(stored).mode & 0o7777, 0o755)
})

test('an image gets nothing that the user of the bake may not read', {
  skip: needsRoot,
}, async (t) => {
  const root = createFolder('bake-image')
  const adopted = adopt(
    t,
    (folder) => {
      fillImage(folder)
      // As if a process had put a directory of others into the way.
      mkdirSync(join(folder, 'image', 'swapped'), { mode: 0o700 })
      writeFileSync(join(folder, 'image', 'swapped', 'users.db'), 'all users')
      for (const path of ['', 'image', 'image/run']) chownSync(join(folder, path), 65_534, 65_534)
    },
    root,
  )

  await assert.rejects(adopted, /swapped: Cannot open: Permission denied/)
  assert.deepEqual(readdirSync(join(root, 'images')), [])
})

function fillImage(folder: string): void {
  mkdirSync(join(folder, 'image'))
  writeFileSync(join(folder, 'image', 'run'), 'the program')
}
