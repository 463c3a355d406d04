/** Files of programs, as a process with more rights reads them. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readAsOwner } from '../../packages/base/storage/directory-trees.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'

const needsRoot = process.getuid?.() === 0 ? false : 'only root can give files to another user'

function openFolder(t: TestContext): string {
  const folder = createFolder('trees')
  t.after(() => removeFolder(folder))
  return folder
}

test('a file is read with the rights of the owner of its directory', {
  skip: needsRoot,
}, async (t) => {
  const folder = openFolder(t)
  writeFileSync(join(folder, 'own'), 'a=1\n')
  // As if a program had put a link to it into the way.
  writeFileSync(join(folder, 'secret'), 'password=sesame\n', { mode: 0o600 })
  for (const path of [folder, join(folder, 'own')]) chownSync(path, 65_534, 65_534)

  assert.equal(await readAsOwner(folder, 'own', 100), 'a=1\n')
  assert.equal(await readAsOwner(folder, 'secret', 100), undefined)
})

test('a pipe or a file that is too large is not read', async (t) => {
  const folder = openFolder(t)
  execFileSync('mkfifo', [join(folder, 'pipe')])
  writeFileSync(join(folder, 'large'), 'x'.repeat(101))

  assert.equal(await readAsOwner(folder, 'pipe', 100), undefined)
  assert.equal(await readAsOwner(folder, 'large', 100), undefined)
})
