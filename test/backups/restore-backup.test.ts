/** What `restoreBackup` accepts of an archive that a stranger may have written. */
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Header } from 'tar'
import { restoreBackup } from '../../packages/app/backups/restore-backup.ts'

interface Entry {
  readonly path: string
  readonly type?: 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'CharacterDevice' | 'FIFO'
  readonly linkpath?: string
  readonly text?: string
  readonly mode?: number
  /** Without that many bytes. */
  readonly size?: number
}

const description: Entry = {
  path: 'backup.json',
  text: JSON.stringify({ format: 1, version: '1', createdAt: '', dataDir: '/x' }),
}

async function* toArchive(entries: readonly Entry[]): AsyncIterable<Uint8Array> {
  for (const {
    path,
    type = 'File',
    linkpath,
    text = '',
    mode = 0o644,
    size = text.length,
  } of entries) {
    const header = Buffer.alloc(512)
    new Header({
      path,
      type,
      mode,
      size,
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
      mtime: new Date(0),
      ...(linkpath !== undefined && { linkpath }),
    }).encode(header)
    const content = Buffer.alloc(Math.ceil(text.length / 512) * 512)
    content.write(text)
    yield Buffer.concat([header, content])
  }
  yield Buffer.alloc(1024)
}

function createFolders(t: TestContext): { home: string; dataDir: string } {
  const home = mkdtempSync(join(tmpdir(), 'restore-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const dataDir = join(home, 'data')
  mkdirSync(dataDir)
  return { home, dataDir }
}

const image = 'images/sha256-1'
const folders = ['images', image, `${image}/sub`, `${image}/sub/deep`].map(
  (path): Entry => ({ path, type: 'Directory', mode: 0o755 }),
)
const refused: Readonly<Record<string, readonly Entry[]>> = {
  'agent.log': [{ path: 'agent.log', type: 'SymbolicLink', linkpath: '/etc/passwd' }],
  images: [{ path: 'images', type: 'SymbolicLink', linkpath: '..' }],
  'images/sha256-1': [{ path: image, type: 'SymbolicLink', linkpath: '..' }],
  'packages/a': [{ path: 'packages/a', type: 'Link', linkpath: 'backup.json' }],
  [`${image}/a`]: [{ path: `${image}/a`, type: 'SymbolicLink', linkpath: '/etc' }],
  [`${image}/b`]: [{ path: `${image}/b`, type: 'Link', linkpath: 'backup.json' }],
  [`${image}/c/d`]: [
    ...folders,
    { path: `${image}/c`, type: 'SymbolicLink', linkpath: '.' },
    { path: `${image}/c/d`, text: 'through a link' },
  ],
  '../outside': [{ path: '../outside', text: 'x' }],
  'a/../../outside': [{ path: 'a/../../outside', text: 'x' }],
  '/tmp/outside': [{ path: '/tmp/outside', text: 'x' }],
  null: [{ path: 'null', type: 'CharacterDevice' }],
  pipe: [{ path: 'pipe', type: 'FIFO' }],
  'a.txt': [
    { path: 'a.txt', text: '1' },
    { path: './a.txt', text: '2' },
  ],
  'file/below': [
    { path: 'file', text: '1' },
    { path: 'file/below', text: '2' },
  ],
  huge: [{ path: 'huge', size: 2 ** 52 }],
}

for (const [name, entries] of Object.entries(refused)) {
  test(`a backup with a hostile entry ${name} is refused by its name`, async (t) => {
    const { home, dataDir } = createFolders(t)
    const work = restoreBackup(toArchive([description, ...entries]), dataDir)
    await assert.rejects(work, (error: Error) => {
      assert.ok(error.message.includes(name), error.message)
      return /is refused: the entry/.test(error.message)
    })
    assert.deepEqual(readdirSync(dataDir), [])
    assert.deepEqual(readdirSync(home), ['data'])
  })
}

test('links of an image that leave it by other links are refused', async (t) => {
  const { dataDir } = createFolders(t)
  const entries: Entry[] = [
    ...folders,
    { path: `${image}/sub/deep/up`, type: 'SymbolicLink', linkpath: '../..' },
    { path: `${image}/sub/deep/out`, type: 'SymbolicLink', linkpath: 'up/..' },
  ]
  await assert.rejects(
    restoreBackup(toArchive([description, ...entries]), dataDir),
    /leads out of the image/,
  )
  assert.deepEqual(readdirSync(dataDir), [])
})

test('images keep their links, files lose special modes, and what belongs to processes stays out', async (t) => {
  const { dataDir } = createFolders(t)
  const entries: Entry[] = [
    { path: `${image}/bin/run`, text: 'program', mode: 0o6755 },
    { path: `${image}/bin/same`, type: 'Link', linkpath: `${image}/bin/run` },
    { path: `${image}/start`, type: 'SymbolicLink', linkpath: 'bin/run' },
    { path: 'agent.key', text: 'of somebody else' },
  ]
  await restoreBackup(toArchive([description, ...entries]), dataDir)
  assert.equal(statSync(join(dataDir, image, 'bin/run')).mode & 0o7777 & ~0o022, 0o755)
  assert.equal(readFileSync(join(dataDir, image, 'bin/same'), 'utf8'), 'program')
  assert.equal(readlinkSync(join(dataDir, image, 'start')), 'bin/run')
  assert.ok(!existsSync(join(dataDir, 'agent.key')))
})
