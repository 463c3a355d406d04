/** The store of secrets: encrypted with a key outside the database, and write-only. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { SecretSettings } from '../../../packages/engine/secrets/settings.ts'
import type { Backend, BackendContext } from '../../../packages/ports/backend.ts'
import type { SecretValues } from '../../../packages/ports/secrets.ts'
import { type Backends, startBackends } from '../../support/backends.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

const value = 'hunter-2222/plain+text'
const user = { 'x-spinnaker-user': 'alice' }
const shop = '/secrets/application/shop'

interface Store {
  readonly backends: Backends
  readonly secrets: SecretValues
  readonly lines: JsonObject[]
}

async function startStore(
  t: TestContext,
  dataDir: string,
  settings: SecretSettings = {},
): Promise<Store> {
  let opened: BackendContext | undefined
  const lines: JsonObject[] = []
  const backend: Backend = {
    ...definitionsBackend,
    open(context) {
      opened = context
      return definitionsBackend.open(context)
    },
  }
  const backends = await startBackends(t, [backend], {
    dataDir,
    settings: { secrets: settings },
    log: (line) => void lines.push(line),
  })
  return { backends, secrets: (opened as unknown as BackendContext).ports.secrets, lines }
}

function folderOf(t: TestContext): string {
  const folder = createFolder('secrets')
  t.after(() => removeFolder(folder))
  return folder
}

const put = ({ backends }: Store, name: string, body: unknown, owner = shop) =>
  backends.ask('front50', 'PUT', `${owner}/${name}`, body, user)

const use = {
  application: 'shop',
  account: 'dev',
  user: 'bob',
  place: 'stage Call of pipeline shop/main',
}
const revealed = async ({ secrets }: Store, reference = 'secret:db-password') =>
  (await secrets.reveal(reference, use)).value

test('no answer, no log and no file of the database holds a value', async (t) => {
  const dataDir = folderOf(t)
  const store = await startStore(t, dataDir)
  assert.ok(!existsSync(join(dataDir, 'secrets.key')), 'there is no key before the first secret')
  const answers = [
    await put(store, 'db-password', { value, note: 'of the shop' }),
    await put(store, 'db-password', { value: 7, note: value }),
    await put(store, '.hidden', { value }),
    await put(store, 'short', { value: 'abc' }),
    await store.backends.ask('front50', 'GET', shop),
    await store.backends.ask('front50', 'GET', `${shop}/db-password/uses`),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 400, 400, 200, 200, 200],
  )
  assert.ok(!JSON.stringify([answers, store.lines]).includes(value))
  assert.equal(await revealed(store), value)
  const [first, short] = (answers[4] as { body: JsonObject[] }).body as [JsonObject, JsonObject]
  const { setTime, ...shown } = first
  assert.equal(typeof setTime, 'number')
  const expected = {
    name: 'db-password',
    scope: 'application',
    owner: 'shop',
    version: 1,
    setBy: 'alice',
    note: 'of the shop',
  }
  assert.deepEqual(shown, { ...expected, lastUseTime: null })
  assert.equal(short['name'], 'short')
  assert.equal((answers[0]?.body as JsonObject | undefined)?.['isMasked'], true)
  assert.equal((answers[3]?.body as JsonObject | undefined)?.['isMasked'], false)

  assert.equal(statSync(join(dataDir, 'secrets.key')).mode & 0o777, 0o600)
  for (const file of readdirSync(dataDir)) {
    const bytes = readFileSync(join(dataDir, file))
    for (const form of [value, Buffer.from(value).toString('base64')])
      assert.ok(!bytes.includes(form), file)
  }
})

test('a reference gets the secret of the application before that of the account', async (t) => {
  const store = await startStore(t, folderOf(t))
  await put(store, 'db-password', { value: 'of-the-account' }, '/secrets/account/dev')
  assert.equal(await revealed(store), 'of-the-account')
  await put(store, 'db-password', { value: 'of-the-application' }, '/secrets/application/SHOP')
  assert.equal(await revealed(store), 'of-the-application')
  assert.equal(
    await revealed(store, 'postgres://shop:secret:{db-password}@db'),
    'postgres://shop:of-the-application@db',
  )
  for (const plain of [
    'secret: text',
    'secret:{}',
    'a secret:db-password',
    'secret:vault:../a#b',
    'secret:file:../x',
  ])
    assert.equal(await revealed(store, plain), plain)

  const other = { application: 'crm', user: 'bob', place: 'elsewhere' }
  await assert.rejects(
    store.secrets.reveal(['secret:db-password'], other),
    /no secret "db-password" of the application crm/,
  )
  await put(store, 'dev-only', { value: 'of-the-account' }, '/secrets/account/dev')
  await assert.rejects(
    store.secrets.reveal('secret:dev-only', { ...other, application: 'shop' }),
    /no secret "dev-only"/,
  )
})

test('a new value is a new version, and uses name the version they had', async (t) => {
  const store = await startStore(t, folderOf(t))
  await put(store, 'token', { value: 'first-value' })
  await revealed(store, 'secret:token')
  await revealed(store, 'secret:token')
  assert.equal(
    ((await put(store, 'token', { value: 'second-value' })).body as JsonObject)['version'],
    2,
  )
  await revealed(store, 'secret:token')
  const { body } = await store.backends.ask('front50', 'GET', `${shop}/token/uses`)
  const uses = (body as { uses: JsonObject[] }).uses.map(
    ({ version, isCurrent, count, user: by, place }) => [version, isCurrent, count, by, place],
  )
  const place = 'stage Call of pipeline shop/main'
  assert.deepEqual(uses.sort(), [
    [1, false, 2, 'bob', place],
    [2, true, 1, 'bob', place],
  ])
  assert.equal(
    (await store.backends.ask('front50', 'DELETE', `${shop}/token`, undefined, user)).status,
    204,
  )
  assert.equal(
    (await store.backends.ask('front50', 'DELETE', `${shop}/token`, undefined, user)).status,
    404,
  )
  await assert.rejects(revealed(store, 'secret:token'), /no secret "token"/)
  assert.equal(
    ((await put(store, 'token', { value: 'third-value' })).body as JsonObject)['version'],
    3,
  )
})

test('a removed application leaves no secrets to its successor', async (t) => {
  const store = await startStore(t, folderOf(t))
  const application = { name: 'shop', email: 'shop@example.com' }
  const ask = (method: string, path: string, body?: unknown) =>
    store.backends.ask('front50', method, path, body, user)
  await ask('POST', '/v2/applications', application)
  await put(store, 'token', { value: 'first-value' })
  await ask('DELETE', '/v2/applications/shop')
  await ask('POST', '/v2/applications', application)
  assert.deepEqual((await ask('GET', shop)).body, [])
})

test('a lost key is reported by name and never replaced', async (t) => {
  const dataDir = folderOf(t)
  const file = join(dataDir, 'secrets.key')
  const first = await startStore(t, dataDir)
  await put(first, 'db-password', { value })
  const kept = readFileSync(file, 'utf8')
  await first.backends.stop()

  rmSync(file)
  const without = await startStore(t, dataDir)
  assert.match(
    JSON.stringify(without.lines),
    /secrets cannot be used: their key is not in the key file/,
  )
  assert.match(JSON.stringify(without.lines), /application:shop\/db-password/)
  await assert.rejects(
    revealed(without),
    /secret:db-password cannot be read. The key file .*secrets\.key, is missing.*Restore it/,
  )
  const refused = await put(without, 'another', { value })
  assert.equal(refused.status, 400)
  assert.ok(!existsSync(file), 'no new key is made')
  await without.backends.stop()

  writeFileSync(file, `${randomBytes(32).toString('base64')}\n`)
  const wrong = await startStore(t, dataDir)
  await assert.rejects(
    revealed(wrong),
    /The key [0-9a-f]{12} that encrypts it is not in the key file/,
  )
  await wrong.backends.stop()

  writeFileSync(file, kept)
  assert.equal(await revealed(await startStore(t, dataDir)), value)
})

test('a newer key in the file encrypts everything anew at the start', async (t) => {
  const dataDir = folderOf(t)
  const keyFile = join(createFolder('keys'), 'keys')
  t.after(() => removeFolder(join(keyFile, '..')))
  const [older, newer] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  writeFileSync(keyFile, `# the first\n${older}\n`)
  const first = await startStore(t, dataDir, { keyFile })
  await put(first, 'db-password', { value })
  const sealed = first.secrets.seal('kept elsewhere', 'there')
  await first.backends.stop()

  writeFileSync(keyFile, `${newer}\n${older}\n`)
  const second = await startStore(t, dataDir, { keyFile })
  const resealed = second.secrets.reseal(sealed, 'there')
  assert.notEqual(resealed, sealed)
  await second.backends.stop()

  writeFileSync(keyFile, `${newer}\n`)
  const third = await startStore(t, dataDir, { keyFile })
  assert.equal(await revealed(third), value)
  assert.equal(third.secrets.unseal(resealed, 'there'), 'kept elsewhere')
  assert.throws(() => third.secrets.unseal(resealed, 'elsewhere'), /damaged/)
  assert.throws(() => third.secrets.unseal(sealed, 'there'), /is not in the key file/)
})

test('a secret in a file has a plain name that a rule allows', async (t) => {
  const directory = folderOf(t)
  writeFileSync(join(directory, 'db'), 'from-a-file\n')
  writeFileSync(join(directory, 'other'), 'not-for-all')
  const rules = [
    { applications: ['shop'], names: ['db', 'k*'] },
    { applications: ['crm'], names: ['*'] },
  ]
  const files = { directory, rules }
  const store = await startStore(t, folderOf(t), { files })
  assert.equal(await revealed(store, 'secret:file:db'), 'from-a-file')
  await assert.rejects(
    revealed(store, 'secret:file:other'),
    /may not be used by the application shop.*secrets\.files\.rules/,
  )
  await assert.rejects(revealed(store, 'secret:file:kept'), /cannot be read \(ENOENT\)/)
  for (const outside of [
    'secret:file:../db',
    'secret:file:..',
    'secret:file:/etc/passwd',
    'secret:file:.hidden',
  ])
    assert.equal(await revealed(store, outside), outside)
})

test('the key file is no secret under any name', async (t) => {
  const directory = folderOf(t)
  const keyFile = join(directory, 'keys')
  writeFileSync(keyFile, `${randomBytes(32).toString('base64')}\n`)
  symlinkSync('keys', join(directory, 'symbolic'))
  linkSync(keyFile, join(directory, 'hard'))
  const files = { directory, rules: [{ applications: ['*'], names: ['*'] }] }
  const store = await startStore(t, folderOf(t), { files, keyFile: join(directory, 'symbolic') })
  for (const name of ['keys', 'symbolic', 'hard'])
    await assert.rejects(
      revealed(store, `secret:file:${name}`),
      /is the key file of the secrets.*name another file/,
    )

  const dataDir = folderOf(t)
  const own = await startStore(t, dataDir, { files: { ...files, directory: dataDir } })
  await put(own, 'db-password', { value })
  await assert.rejects(revealed(own, 'secret:file:secrets.key'), /is the key file of the secrets/)
})
