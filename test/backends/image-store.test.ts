/** Image folders that nothing uses. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { PortError } from '../../packages/base/port-error.ts'
import { packTree } from '../../packages/base/storage/directory-trees.ts'
import { ConcurrencyLimit } from '../../packages/base/stores/in-turns.ts'
import { parseImageFile } from '../../packages/ports/image-file.ts'
import { toStorageError } from '../../packages/ports/storage-error.ts'
import { ImageStore, imageMigrations } from '../../packages/providers/images/image-store.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

test('a folder without an image is removed at the start', async (t) => {
  const dataDir = createFolder('images')
  const db = new DatabaseSync(':memory:')
  t.after(() => db.close())
  for (const migration of imageMigrations) db.exec(migration)
  const bounds = { maxBytes: 1_000_000, maxEntries: 100 }
  const open = () => new ImageStore({ db, dataDir, now: Date.now, bounds })
  const store = open()
  const description = { name: 'web', version: '1', labels: {}, tags: {}, origin: {} }
  mkdirSync(join(dataDir, 'web'))
  writeFileSync(join(dataDir, 'web', 'fairlead-image.yml'), 'command: [sh]\n')
  const image = await store.addArchive(packTree(dataDir, 'web'), description)
  const text = JSON.stringify({
    command: ['other'],
    environment: { PYTHONPATH: 'lib', MODE: 'usual' },
  })
  mkdirSync(join(dataDir, 'own'))
  writeFileSync(
    join(dataDir, 'own', 'fairlead-image.yml'),
    'command: [sh]\nenvironment: { MODE: own }\n',
  )
  const own = await store.addArchive(
    packTree(dataDir, 'own'),
    { ...description, name: 'own' },
    text,
  )
  const merged = readFileSync(join(store.folderOf(own), 'fairlead-image.yml'), 'utf8')
  assert.deepEqual(JSON.parse(merged), {
    command: ['sh'],
    environment: { PYTHONPATH: 'lib', MODE: 'own' },
  })
  store.remove(own)
  const folders = () => readdirSync(join(dataDir, 'images')).sort()
  const used = image.digest.replace('sha256:', '')
  const left = ['0'.repeat(64), '.new-1', 'notes']
  for (const name of left) mkdirSync(join(dataDir, 'images', name))

  open()
  await waitUntil(
    () => folders().join() === ['notes', used].sort().join(),
    () => folders().join(),
  )
})

/** Processes that work in a directory. */
function workersIn(folder: string): number[] {
  const isIn = (pid: string) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === folder
    } catch {
      return false
    }
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter(isIn).map(Number)
}

test('an image is unpacked by a process of its own, whose end leaves nothing', async (t) => {
  const dataDir = createFolder('images')
  const db = new DatabaseSync(':memory:')
  t.after(() => db.close())
  for (const migration of imageMigrations) db.exec(migration)
  mkdirSync(join(dataDir, 'web'))
  writeFileSync(join(dataDir, 'web', 'file'), '')
  const root = join(dataDir, 'images')
  const store = new ImageStore({
    db,
    dataDir,
    now: Date.now,
    bounds: { maxBytes: 1_000_000, maxEntries: 100 },
  })
  const unpacked = () => {
    const [folder] = readdirSync(root)
    return folder !== undefined && readdirSync(join(root, folder)).includes('file')
      ? join(root, folder)
      : undefined
  }
  async function* interrupted() {
    // The headers of the folder and its file: without an end of the archive, the unpacker waits for more.
    for await (const archive of packTree(dataDir, 'web')) yield archive.subarray(0, 1024)
    const folder = await waitFor(unpacked, 'the unpacked file')
    const [unpacker] = workersIn(folder)
    assert.ok(unpacker !== undefined && unpacker !== process.pid)
    process.kill(unpacker, 'SIGKILL')
    // In a sandbox, the inner processes end a moment after the outer one.
    await waitUntil(() => workersIn(folder).length === 0, 'the end of its processes')
  }
  const description = { name: 'web', version: '1', labels: {}, tags: {}, origin: {} }

  await assert.rejects(
    store.addArchive(interrupted(), description),
    /the process for it ended with SIGKILL/,
  )
  assert.deepEqual([readdirSync(root), store.all()], [[], []])
})

test('a full disk refuses an image, and nothing of it stays', async (t) => {
  const disk = mountSmallDisk(t, '256k')
  if (disk === undefined) return
  const source = createFolder('source')
  const db = new DatabaseSync(':memory:')
  t.after(() => {
    db.close()
    removeFolder(source)
  })
  for (const migration of imageMigrations) db.exec(migration)
  const store = new ImageStore({
    db,
    dataDir: disk,
    now: Date.now,
    bounds: { maxBytes: 1_000_000, maxEntries: 100 },
  })
  const description = { name: 'web', version: '1', labels: {}, tags: {}, origin: {} }
  const add = (kind: 'archive' | 'upload') =>
    kind === 'archive'
      ? store.addArchive(packTree(source, 'web'), description)
      : store.addUpload(packTree(source, 'web'), description, {
          digest: undefined,
          line: new ConcurrencyLimit(1),
        })
  mkdirSync(join(source, 'web'))
  writeFileSync(join(source, 'web', 'fairlead-image.yml'), 'command: [sh]\n')
  writeFileSync(join(source, 'web', 'large'), Buffer.alloc(400_000, 1))
  for (const kind of ['archive', 'upload'] as const) {
    const refusal = (error: Error) => (toStorageError(error) as PortError).status === 507
    await assert.rejects(add(kind), refusal)
    assert.deepEqual(readdirSync(join(disk, 'images')), [])
  }
  writeFileSync(join(source, 'web', 'large'), 'small')
  assert.equal((await add('upload')).id, 'web:1')
})

test('images of earlier versions keep their accounts', (t) => {
  const db = new DatabaseSync(':memory:')
  t.after(() => db.close())
  const [first, ...later] = imageMigrations
  db.exec(first)
  const put = db.prepare('INSERT INTO infrastructure_images VALUES (?, ?, ?, ?, ?)')
  for (const [name, accounts] of [
    ['web', undefined],
    ['api', ['prod']],
  ] as const)
    put.run(
      name,
      '1',
      'sha256:0',
      0,
      JSON.stringify({
        id: `${name}:1`,
        name,
        version: '1',
        digest: 'sha256:0',
        createdMs: 0,
        accounts,
      }),
    )
  for (const migration of later) db.exec(migration)
  const bounds = { maxBytes: 1, maxEntries: 1 }
  const store = new ImageStore({ db, dataDir: createFolder('images'), now: Date.now, bounds })
  const inAccount = (account: string) =>
    ['web:1', 'api:1'].filter((id) => store.get(id, account) !== undefined)
  assert.deepEqual([inAccount('dev'), inAccount('prod')], [['web:1'], ['web:1', 'api:1']])
  for (const image of store.all()) store.setTags(image, { stage: 'test' })
  assert.equal(store.all().length, 2)
})

test('a folder of images that a copy or a volume has opened is closed again', (t) => {
  const dataDir = createFolder('images')
  const db = new DatabaseSync(':memory:')
  t.after(() => db.close())
  for (const migration of imageMigrations) db.exec(migration)
  const root = join(dataDir, 'images')
  mkdirSync(root)
  for (const mode of [0o755, 0o2770]) {
    chmodSync(root, mode)
    new ImageStore({ db, dataDir, now: Date.now, bounds: { maxBytes: 1, maxEntries: 1 } })
    assert.equal(statSync(root).mode & 0o777, 0o700)
  }
})

test('a key that stands twice in an image file is refused', () => {
  assert.throws(() => parseImageFile('command: [web]\ncommand: [api]\n'), {
    status: 400,
    message: 'fairlead-image.yml is not YAML: the key "command" is repeated in one map, at line 2',
  })
})

test('an unknown key of an image file is named', () => {
  const text = 'command: web\nport: 80\nhost: a\nlimits: {memory: 1}\n'
  assert.throws(() => parseImageFile(text), {
    message:
      'fairlead-image.yml: command: it must be a list, not text; limits: "memory" is not a known key; correct or remove it; ' +
      'the file: "port", "host" are not known keys; correct or remove them.',
  })
})

test('a fault in the YAML of an image file has its place', () => {
  assert.throws(() => parseImageFile('command:\n  - web\n - api\n'), {
    message: /^fairlead-image\.yml is not YAML: .* at line 3, column 1\.?$/,
  })
})

test('a whole number of an image file may have a decimal point', () => {
  const { stopSeconds } = parseImageFile('command: [web]\nstopSeconds: 2.0\n')
  assert.equal(stopSeconds, 2)
})
