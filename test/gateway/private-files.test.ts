/** Everything that a process writes is for its user alone, also in a directory that was there before. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  openPrivateDatabase,
  openPrivateFolder,
} from '../../packages/base/storage/private-files.ts'
import { Browser } from '../login/browser.ts'
import { createToken } from '../login/tokens/support.ts'
import { temporaryDirectory } from '../sessions/support.ts'
import { createHome, startServe } from '../support/serve.ts'

const password = 'all-hands-on-deck'

/** Path and mode of whatever others may read or write. */
function openToOthers(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, mode: statSync(path).mode & 0o777 }))
    .filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ path, mode }) => `${path.slice(folder.length + 1)} ${mode.toString(8)}`)
}

test('files of a data directory are private', async (t) => {
  const home = createHome(t)
  const data = join(home, 'data')
  chmodSync(data, 0o755)
  const settings = {
    anonymous: { enabled: false },
    security: { basicform: { enabled: true } },
    'api-tokens': { enabled: true, 'allowed-minting-roles': ['dev'] },
    audit: { sink: 'file', file: join(data, 'audit', 'audit.jsonl') },
  }
  for (const before of ['a new directory', 'one with files that others may read']) {
    const gateway = startServe(t, settings, {
      home,
      embedded: true,
      env: { FAIRLEAD_ADMIN_PASSWORD: password },
    })
    const browser = new Browser(await gateway.listening)
    await browser.visit('/applications')
    assert.equal((await browser.login('admin', password)).status, 302)
    await createToken(browser, { name: before })

    const names = readdirSync(data)
    for (const name of [
      'sessions.db',
      'sessions.db-wal',
      'sessions.db-shm',
      'users.db',
      'lock.db',
      'login.key',
      'backends.sock',
    ]) {
      assert.ok(names.includes(name), `${name} is missing among ${names}`)
    }
    assert.deepEqual(openToOthers(data), [], before)

    gateway.signal('SIGKILL')
    await gateway.exited
    for (const entry of readdirSync(data, { withFileTypes: true }))
      if (entry.isFile()) chmodSync(join(data, entry.name), 0o644)
  }
})

test('leftover files beside a database become private', (t) => {
  const file = join(temporaryDirectory(t), 'x.db')
  const writer = openPrivateDatabase(file)
  writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE x (y)')
  for (const suffix of ['', '-wal', '-shm']) chmodSync(file + suffix, 0o666)
  openPrivateDatabase(file).close()
  for (const suffix of ['', '-wal', '-shm'])
    assert.equal(statSync(file + suffix).mode & 0o777, 0o600)
  writer.close()
})

test('a folder in a shared place has to be ours', (t) => {
  const folder = temporaryDirectory(t)
  openPrivateFolder(join(folder, 'new'))
  openPrivateFolder(join(folder, 'new'))
  mkdirSync(join(folder, 'open'))
  chmodSync(join(folder, 'open'), 0o777)
  symlinkSync(join(folder, 'new'), join(folder, 'link'))
  writeFileSync(join(folder, 'file'), '')
  for (const name of ['open', 'link'])
    assert.throws(() => openPrivateFolder(join(folder, name)), /belongs to another user/)
  assert.throws(() => openPrivateFolder(join(folder, 'file')))
})
