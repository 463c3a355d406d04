/** Working directories: filled, measured and removed beside the agent, and never with more rights than their user has. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fillWorkspace, removeInstanceFolder } from '../../packages/agent/workspace.ts'
import { measureTree } from '../../packages/base/storage/directory-trees.ts'
import { recordTools } from '../support/recorded-tools.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'

const needsRoot = process.getuid?.() === 0 ? false : 'only root can give files to another user'
const user = { uid: 65_534, gid: 65_534 }

function openFolder(t: TestContext): string {
  const folder = createFolder('workspace')
  t.after(() => removeFolder(folder))
  return folder
}

test('a removal deletes nothing that the user of the program may not', {
  skip: needsRoot,
}, async (t) => {
  const folder = openFolder(t)
  const work = join(folder, 'instance', 'work')
  // Where a program puts a directory of another user in place of its own while it is removed, the result is the same.
  const precious = join(work, 'swapped', 'users.db')
  mkdirSync(join(work, 'swapped'), { recursive: true })
  writeFileSync(precious, 'all users')
  chownSync(work, user.uid, user.gid)

  await assert.rejects(removeInstanceFolder(join(folder, 'instance')), /Permission denied/)
  assert.ok(existsSync(precious))

  chownSync(join(work, 'swapped'), user.uid, user.gid)
  await removeInstanceFolder(join(folder, 'instance'))
  assert.deepEqual(readdirSync(folder), [])
})

test('a working directory is for its user alone, and links in it stay links', {
  skip: needsRoot,
}, async (t) => {
  const folder = openFolder(t)
  const secret = join(folder, 'secret')
  writeFileSync(secret, 'own', { mode: 0o600 })
  const content = join(folder, 'content')
  mkdirSync(join(content, 'deep'), { recursive: true })
  writeFileSync(join(content, 'deep', 'run'), '', { mode: 0o4755 })
  symlinkSync(secret, join(content, 'link'))
  const work = join(folder, 'instance', 'work')
  mkdirSync(join(folder, 'instance'))

  await fillWorkspace(work, { content, user })

  assert.deepEqual(
    ['', 'deep', 'deep/run'].map((name) => statSync(join(work, name)).uid),
    [user.uid, user.uid, user.uid],
  )
  assert.equal(statSync(join(work, 'deep/run')).mode & 0o7777, 0o755)
  // Ids of instances are no secret: commands of processes name them.
  assert.equal(statSync(work).mode & 0o7777, 0o700)
  assert.deepEqual([statSync(secret).uid, statSync(secret).mode & 0o777], [0, 0o600])
})

test('what an interrupted copy has left is removed by the next one', async (t) => {
  const folder = openFolder(t)
  const content = join(folder, 'content')
  mkdirSync(content)
  writeFileSync(join(content, 'run'), 'whole')
  const instance = join(folder, 'instance')
  mkdirSync(join(instance, 'work.new-1'), { recursive: true })
  writeFileSync(join(instance, 'work.new-1', 'run'), 'hal')

  await fillWorkspace(join(instance, 'work'), { content, user: undefined })

  assert.deepEqual(readdirSync(instance).sort(), ['package.json', 'work'])
  assert.deepEqual(readdirSync(join(instance, 'work')), ['run'])
})

test('a copy that fills the disk is never in use', async (t) => {
  const disk = mountSmallDisk(t, '512k')
  if (disk === undefined) return
  const content = openFolder(t)
  writeFileSync(join(content, 'small'), 'whole')
  writeFileSync(join(content, 'zeros'), Buffer.alloc(400_000))
  const instance = join(disk, 'instance')
  const work = join(instance, 'work')
  mkdirSync(instance)
  writeFileSync(join(disk, 'other'), Buffer.alloc(300_000))

  await assert.rejects(fillWorkspace(work, { content, user: undefined }), { code: 'ENOSPC' })
  assert.equal(existsSync(work), false)

  await rm(join(disk, 'other'))
  await fillWorkspace(work, { content, user: undefined })
  assert.deepEqual(readdirSync(instance).sort(), ['package.json', 'work'])
  assert.equal(statSync(join(work, 'zeros')).size, 400_000)

  await removeInstanceFolder(instance)
  assert.deepEqual(readdirSync(disk), [])
})

test('tools of the system copy, measure and remove working directories', async (t) => {
  const used = recordTools(t, ['cp', 'du', 'find'])
  const folder = openFolder(t)
  const content = join(folder, 'content')
  mkdirSync(content)
  writeFileSync(join(content, 'run'), '')
  const instance = join(folder, 'instance')
  mkdirSync(instance)

  await fillWorkspace(join(instance, 'work'), { content, user: undefined })
  assert.deepEqual([used(), readdirSync(join(instance, 'work'))], [['cp'], ['run']])
  await measureTree(join(instance, 'work'))
  assert.ok(used().includes('du'))
  await removeInstanceFolder(instance)
  assert.deepEqual([used(), existsSync(instance)], [['cp', 'du', 'find'], false])
})

test('a directory without rights is removed with what it holds', async (t) => {
  const folder = openFolder(t)
  const closed = join(folder, 'instance', 'work', 'closed')
  mkdirSync(closed, { recursive: true })
  writeFileSync(join(closed, 'file'), '')
  for (const path of [closed, join(folder, 'instance', 'work')]) {
    if (needsRoot === false) chownSync(path, user.uid, user.gid)
    chmodSync(path, 0)
  }

  await removeInstanceFolder(join(folder, 'instance'))

  assert.deepEqual(readdirSync(folder), [])
})
