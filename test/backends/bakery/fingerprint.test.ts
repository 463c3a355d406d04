/** Which changes of a source lead to a new bake. */
import assert from 'node:assert/strict'
import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fingerprintOf } from '../../../packages/providers/local/bakes/source-places.ts'
import { recordTools } from '../../support/recorded-tools.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

const needsRoot = process.getuid?.() === 0 ? false : 'only root can become another user'

function openSource(t: TestContext): string {
  const folder = createFolder('source')
  t.after(() => removeFolder(folder))
  mkdirSync(join(folder, '.git'))
  mkdirSync(join(folder, 'closed'), { mode: 0o700 })
  writeFileSync(join(folder, 'closed', 'file'), 'one')
  return folder
}

const read = (path: string, uid?: number) =>
  fingerprintOf({ kind: 'directory', path }, uid === undefined ? undefined : { uid, gid: uid })

test('a change in a file is a change of the source, and one in its repository is none', async (t) => {
  const source = openSource(t)
  const before = await read(source)
  writeFileSync(join(source, '.git', 'index'), 'refreshed')
  assert.deepEqual(await read(source), before)
  appendFileSync(join(source, 'closed', 'file'), ', two')
  assert.notDeepEqual(await read(source), before)
})

test('a source is read with the rights of the user of the account', {
  skip: needsRoot,
}, async (t) => {
  const source = openSource(t)
  chmodSync(source, 0o755)
  const before = await read(source, 65_534)
  appendFileSync(join(source, 'closed', 'file'), ', two')
  assert.deepEqual(await read(source, 65_534), before)
  writeFileSync(join(source, 'file'), 'three')
  assert.notDeepEqual(await read(source, 65_534), before)
})

test('a tool of the system reads a source', async (t) => {
  const used = recordTools(t, ['ls'])
  await read(openSource(t))
  assert.deepEqual(used(), ['ls'])
})
