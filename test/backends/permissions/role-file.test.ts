/** Roles from a file: what is read, when it is read again, and what happens when it is spoilt. */
import assert from 'node:assert/strict'
import { rmSync, utimesSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { readRoleFile } from '../../../packages/engine/permissions/role-file.ts'
import { createRoleFile, startService, until } from './support.ts'

test('users are found without case, and each role counts once', (t) => {
  const file = createRoleFile(t, {})
  file.writeText(`
users:
  - username: Batman
    roles: [CrimeFighter, jokerjailer, ' crimefighter ', '']
  - username: batman
    roles: nightshift, jokerjailer
  - username: 4711
    roles: [robots]
  - username: __proto__
    roles: [odd]
  - username: nobody
    team: none
`)
  assert.deepEqual(
    [...readRoleFile(file.path)],
    [
      ['batman', ['crimefighter', 'jokerjailer', 'nightshift']],
      ['4711', ['robots']],
      ['__proto__', ['odd']],
      ['nobody', []],
    ],
  )
})

const spoilt: [what: string, text: string, said: RegExp][] = [
  ['an empty file', '', /must be a list "users"/],
  ['a list without users', '- username: a', /must be a list "users"/],
  ['a user without name', 'users: [{roles: [a]}]', /see users\.0\.username/],
  ['roles that are numbers', 'users: [{username: a, roles: [1]}]', /see users\.0\.roles/],
  ['half a file', 'users: [{username: a, roles: [', /is no YAML/],
  ['a prototype key', 'users: [{username: a, __proto__: {}}]', /is no YAML: the key __proto__/],
  ['brackets without end', '['.repeat(100_000), /is no YAML: .*nested deeper/],
]

for (const [what, text, said] of spoilt) {
  test(`${what} is refused, and the message names the file`, (t) => {
    const file = createRoleFile(t, {})
    file.writeText(text)
    assert.throws(() => readRoleFile(file.path), said)
    assert.throws(() => readRoleFile(file.path), new RegExp(file.path))
  })
}

function startWithFile(
  t: TestContext,
  path: string,
  { syncDelayMs = 600_000, dataDir }: { syncDelayMs?: number; dataDir?: string } = {},
) {
  return startService(t, {
    permissions: { roleSource: { kind: 'file', path }, syncDelayMs },
    dataDir,
  })
}

test('roles of login and file merge with their origins', async (t) => {
  const file = createRoleFile(t, { Ann: ['ops', 'Night'] })
  const { ask, rolesOf } = await startWithFile(t, file.path)
  await ask('PUT', '/roles/ann', ['dev', 'OPS'])
  await ask('PUT', '/roles/bob', ['dev'])
  assert.deepEqual(await rolesOf('ann'), ['dev EXTERNAL', 'night FILE', 'ops FILE'])
  assert.deepEqual(await rolesOf('bob'), ['dev EXTERNAL'])
})

test('a role from two sources outlives the loss of one', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'] })
  const { ask, rolesOf } = await startWithFile(t, file.path)
  await ask('PUT', '/roles/ann', ['ops'])
  file.write({})
  await ask('POST', '/roles/sync')
  assert.deepEqual(await rolesOf('ann'), ['ops EXTERNAL'])
  file.write({ ann: ['ops'] })
  await ask('PUT', '/roles/ann', [])
  assert.deepEqual(await rolesOf('ann'), ['ops FILE'])
})

test('a login reloads a changed file for all users', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'] })
  const { ask, rolesOf, changes } = await startWithFile(t, file.path)
  for (const user of ['ann', 'bob']) await ask('POST', `/roles/${user}`)
  const before = changes()
  await ask('POST', '/roles/bob')
  assert.equal(changes(), before, 'nobody may do anything else than before')
  file.write({ ann: ['dev'], bob: ['qa'] })
  await ask('POST', '/roles/bob')
  assert.deepEqual([await rolesOf('ann'), await rolesOf('bob')], [['dev FILE'], ['qa FILE']])
  assert.ok(changes() > before)
})

test('POST /roles/sync reloads the file and keeps login roles', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'], bob: ['ops'], cleo: ['dev'] })
  const { ask, rolesOf, changes } = await startWithFile(t, file.path)
  for (const user of ['ann', 'bob', 'cleo']) await ask('PUT', `/roles/${user}`, ['people'])
  file.write({ ann: ['boss'], cleo: ['ops'] })
  const before = changes()
  assert.deepEqual(await ask('POST', '/roles/sync', []), { status: 200, body: 3 })
  assert.equal(changes(), before + 1)
  assert.deepEqual(await rolesOf('ann'), ['boss FILE', 'people EXTERNAL'])
  assert.deepEqual(await rolesOf('bob'), ['people EXTERNAL'])
  assert.deepEqual(await rolesOf('cleo'), ['ops FILE', 'people EXTERNAL'])
  assert.deepEqual(await ask('POST', '/roles/sync', []), { status: 200, body: 3 })
  assert.equal(changes(), before + 1)
})

test('a refresh of roles covers their old and new users', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'], bob: [], cleo: ['dev'] })
  const { ask, rolesOf } = await startWithFile(t, file.path)
  for (const user of ['ann', 'bob', 'cleo']) await ask('POST', `/roles/${user}`)
  file.write({ bob: ['ops'], cleo: ['dev'] })
  assert.deepEqual(await ask('POST', '/roles/sync', ['Ops']), { status: 200, body: 2 })
  assert.deepEqual([await rolesOf('ann'), await rolesOf('bob')], [[], ['ops FILE']])
})

test('the file is reloaded at intervals without requests', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'] })
  const { ask, rolesOf, changes } = await startWithFile(t, file.path, { syncDelayMs: 5 })
  await ask('POST', '/roles/ann')
  const before = changes()
  file.write({ ann: ['dev'] })
  await until(async () => changes() > before)
  assert.deepEqual(await rolesOf('ann'), ['dev FILE'])
})

test('a replaced file of equal length and time is noticed', async (t) => {
  const file = createRoleFile(t, { ann: ['one'] })
  utimesSync(file.path, 1, 1)
  const { ask, rolesOf } = await startWithFile(t, file.path)
  await ask('POST', '/roles/ann')
  file.write({ ann: ['two'] })
  utimesSync(file.path, 1, 1)
  await ask('POST', '/roles/sync')
  assert.deepEqual(await rolesOf('ann'), ['two FILE'])
})

for (const [what, spoil] of [
  ['spoilt', (file: ReturnType<typeof createRoleFile>) => file.writeText('users: [')],
  ['removed', (file: ReturnType<typeof createRoleFile>) => rmSync(file.path)],
] as const) {
  test(`a file that is ${what} leaves its last content in force`, async (t) => {
    const file = createRoleFile(t, { ann: ['ops'], bob: ['dev'] })
    const { ask, rolesOf, lines } = await startWithFile(t, file.path, { syncDelayMs: 5 })
    await ask('POST', '/roles/ann')
    spoil(file)
    const errors = () =>
      lines.map(({ msg }) => String(msg)).filter((msg) => msg.includes('cannot be asked'))
    await until(async () => errors().length > 0)
    assert.equal((await ask('POST', '/roles/bob')).status, 200)
    assert.equal((await ask('POST', '/roles/ann')).status, 200)
    assert.deepEqual([await rolesOf('ann'), await rolesOf('bob')], [['ops FILE'], ['dev FILE']])
    const sync = await ask('POST', '/roles/sync')
    assert.equal(sync.status, 503)
    assert.match(
      (sync.body as { message: string }).message,
      new RegExp(`Roles stay as they were: the file ${file.path} `),
    )
    assert.deepEqual(errors(), [
      'the provider of roles cannot be asked: users keep the roles that it gave last',
    ])

    file.write({ ann: ['dev'] })
    assert.equal((await ask('POST', '/roles/sync')).status, 200)
    assert.deepEqual([await rolesOf('ann'), await rolesOf('bob')], [['dev FILE'], []])
    assert.ok(lines.some(({ msg }) => msg === 'the provider of roles can be asked again'))
  })
}

test('the first view after a restart follows the file', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'] })
  const before = await startWithFile(t, file.path, { dataDir: file.folder })
  await before.ask('PUT', '/roles/ann', ['people'])
  await before.stop()
  file.write({ ann: ['dev'] })
  const after = await startWithFile(t, file.path, { dataDir: file.folder })
  assert.deepEqual(await after.rolesOf('ann'), ['dev FILE', 'people EXTERNAL'])
})

test('an invalid file at a restart leaves the earlier roles', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'] })
  const before = await startWithFile(t, file.path, { dataDir: file.folder })
  await before.ask('PUT', '/roles/ann', ['people'])
  await before.stop()
  file.writeText('users')
  const after = await startWithFile(t, file.path, { dataDir: file.folder })
  assert.deepEqual(await after.rolesOf('ann'), ['ops FILE', 'people EXTERNAL'])
})

test('roles of a file end with its configuration', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'] })
  const before = await startWithFile(t, file.path, { dataDir: file.folder })
  await before.ask('PUT', '/roles/ann', ['people'])
  await before.stop()
  const after = await startService(t, { dataDir: file.folder })
  assert.deepEqual(await after.rolesOf('ann'), ['people EXTERNAL'])
})

test('a logout removes all roles for good', async (t) => {
  const file = createRoleFile(t, { ann: ['ops'] })
  const { ask } = await startWithFile(t, file.path)
  await ask('POST', '/roles/ann')
  await ask('DELETE', '/roles/ann')
  await ask('POST', '/roles/bob')
  await ask('POST', '/roles/sync')
  assert.equal((await ask('GET', '/authorize/ann')).status, 404)
})
