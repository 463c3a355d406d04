/** Copies that a real Litestream keeps and restores, on a second disk and in a store. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { Copy, restoreCopy } from '../../packages/app/standby/copy.ts'
import { openLog } from '../../packages/base/telemetry/log.ts'
import { needsLitestream } from '../support/kubernetes-programs.ts'
import { startObjectStore } from '../support/object-store.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

const { log } = openLog('silent')

function folderOf(t: TestContext, name: string): string {
  const folder = createFolder(name)
  t.after(() => removeFolder(folder))
  return folder
}

test('a copy on a second disk has what was written last', async (t) => {
  const litestream = needsLitestream(t)
  if (litestream === undefined) return
  const [dataDir, disk, other] = ['data', 'disk', 'other'].map((name) => folderOf(t, name)) as [
    string,
    string,
    string,
  ]
  const env = { PATH: litestream }
  const place = { url: `file://${disk}/copy`, folder: 'term-1-a', env, log }
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE numbers (number INTEGER)')
  let isComplete = false
  const copy = new Copy({ ...place, dataDir }, () => {
    isComplete = true
  })
  t.after(() => copy.kill())
  await copy.start(true)
  await waitUntil(() => isComplete, 'a complete copy')
  for (let number = 0; number < 100; number++) db.exec(`INSERT INTO numbers VALUES (${number})`)
  await copy.stop()
  db.close()

  await restoreCopy({ ...place, dataDir: other })

  const restored = new DatabaseSync(join(other, 'backends.db'))
  assert.equal(restored.prepare('SELECT COUNT(*) AS count FROM numbers').get()?.['count'], 100)
  restored.close()
})

test('a store that denies the keys is named, and restores nothing', async (t) => {
  const [litestream, store] = [needsLitestream(t), await startObjectStore(t)]
  if (litestream === undefined || store === undefined) return
  const dataDir = folderOf(t, 'data')
  const env = {
    PATH: litestream,
    LITESTREAM_ACCESS_KEY_ID: store.keyId,
    LITESTREAM_SECRET_ACCESS_KEY: 'another',
  }
  const place = { dataDir, url: store.copyUrl('fairlead'), folder: 'term-1-a', env, log }

  await assert.rejects(restoreCopy(place), /litestream restore failed: .*SignatureDoesNotMatch/)

  assert.ok(!existsSync(join(dataDir, 'backends.db')))
})
