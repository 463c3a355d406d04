/** The users of the gateway's own store, their passwords, and the brake on guessing. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { loadConfig } from '../../packages/app/config/config.ts'
import { parseBasic, VerifiedCredentials } from '../../packages/gateway/login/basic-credentials.ts'
import {
  type FirstAdministrator,
  prepareFirstAdministrator,
} from '../../packages/gateway/login/form/first-administrator.ts'
import {
  hashPassword,
  isOutdated,
  isPassword,
} from '../../packages/gateway/login/form/password-hash.ts'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { createClock, temporaryDirectory } from '../sessions/support.ts'
import { useUsualHashCost } from '../support/gateway.ts'

test('passwords are stored as salted Argon2id hashes', async (t) => {
  useUsualHashCost(t)
  const hash = await hashPassword('correct horse')
  assert.match(hash, /^\$argon2id\$v=19\$m=7168,t=5,p=1\$/)
  assert.notEqual(await hashPassword('correct horse'), hash)
  assert.equal(await isPassword('correct horse', hash), true)
  assert.equal(await isPassword('correct horsE', hash), false)
  assert.equal(isOutdated(hash), false)
  assert.equal(isOutdated(hash.replace('m=7168', 'm=1024')), true)
})

test('an unreadable or overblown hash belongs to no password', async (t) => {
  useUsualHashCost(t)
  const hash = await hashPassword('correct horse')
  for (const broken of [
    '',
    'x',
    hash.slice(0, -1),
    hash.replace('m=7168', 'm=999999999'),
    hash.replace('t=5', 't=0'),
    hash.replace('id', 'i'),
  ]) {
    assert.equal(await isPassword('correct horse', broken), false, broken)
  }
})

test('auth-scenario 154: an unknown user costs as much work as a wrong password', async (t) => {
  useUsualHashCost(t)
  const users = openUsers(temporaryDirectory(t))
  t.after(() => users.close())
  await users.add('alice', 'correct horse', [])
  // Processor time: what else the machine does hardly changes it.
  const time = async (name: string) => {
    const before = process.cpuUsage()
    assert.equal(await users.verify(name, 'wrong horse'), undefined)
    return process.cpuUsage(before).user / 1000
  }
  const timesMs: { known: number[]; unknown: number[] } = { known: [], unknown: [] }
  for (let round = 0; round < 8; round++) {
    timesMs.known.push(await time('alice'))
    timesMs.unknown.push(await time('nobody'))
  }

  const [known, unknown] = [Math.min(...timesMs.known), Math.min(...timesMs.unknown)]
  assert.ok(unknown > known / 3, `${unknown} ms for an unknown user, ${known} ms for a known one`)
})

test('users are added, listed, changed and removed', async (t) => {
  const dataDir = temporaryDirectory(t)
  const clock = createClock()
  const users = openUsers(dataDir, clock.now)
  t.after(() => users.close())
  const added = await users.add('Alice', 'correct horse', ['Dev', 'ops', 'dev', ' '])
  assert.deepEqual(
    [added.name, added.roles, users.list().map(({ name }) => name)],
    ['alice', ['dev', 'ops'], ['alice']],
  )
  assert.equal((await users.verify('ALICE', 'correct horse'))?.name, 'alice')
  await assert.rejects(users.add('alice', 'another horse', []), { code: 'CONFLICT' })

  await users.setPassword('alice', 'battery staple')
  assert.equal(await users.verify('alice', 'correct horse'), undefined)
  const changed = await users.verify('alice', 'battery staple')
  assert.notEqual(changed?.stamp, added.stamp)
  users.setRoles('alice', [])
  assert.notEqual(users.find('alice')?.stamp, changed?.stamp)

  users.remove('alice')
  assert.equal(users.find('alice'), undefined)
  assert.throws(() => users.remove('alice'), { code: 'NOT_FOUND' })
  await assert.rejects(users.setPassword('alice', 'battery staple'), { code: 'NOT_FOUND' })
  clock.nowMs += 1
  assert.notEqual((await users.add('alice', 'correct horse', [])).stamp, added.stamp)
  assert.ok(!readFileSync(join(dataDir, 'users.db')).includes('correct horse'))
})

test('a replaced user applies from the next request', async (t) => {
  t.mock.method(performance, 'now', () => 0)
  const dataDir = temporaryDirectory(t)
  const clock = createClock()
  const [gateway, command] = [openUsers(dataDir, clock.now), openUsers(dataDir, clock.now)]
  t.after(() => gateway.close())
  t.after(() => command.close())
  const former = await gateway.add('alice', 'correct horse', [])
  command.remove('alice')
  clock.nowMs += 1
  await command.add('alice', 'battery staple', [])

  const user = await gateway.verify('alice', 'battery staple')
  assert.notEqual(user?.stamp, former.stamp)
  assert.equal(gateway.find('alice')?.stamp, user?.stamp)

  command.remove('alice')
  assert.equal(await gateway.verify('alice', 'battery staple'), undefined)
  assert.equal(gateway.find('alice'), undefined)

  await command.add('alice', 'correct horse', [])
  await gateway.verify('alice', 'correct horse')
  command.remove('alice')
  clock.nowMs += 1
  const added = await gateway.add('alice', 'battery staple', ['ops'])
  assert.deepEqual(added.roles, ['ops'])
})

test('troublesome names, passwords and roles are rejected', async (t) => {
  const users = openUsers(temporaryDirectory(t))
  t.after(() => users.close())
  for (const name of [
    '',
    ' ',
    'a b',
    'a,b',
    'a\r\nb',
    'ü',
    'anonymous',
    'anonymousUser',
    '.',
    '-a',
    'x'.repeat(129),
    "a'--",
    ' alice',
    'alice\u200b',
    '\uff41lice',
  ]) {
    await assert.rejects(users.add(name, 'correct horse', []), { code: 'BAD_ARGUMENT' }, name)
  }
  await assert.rejects(users.add('alice', 'short', []), /8 to 1024/)
  await assert.rejects(users.add('alice', 'x'.repeat(1025), []), /8 to 1024/)
  await assert.rejects(users.add('alice', 'correct horse', ['a,b']), { code: 'BAD_ARGUMENT' })
  for (const name of ['constructor', '__proto__x', 'a.b+c@x.io'])
    assert.equal(users.find(name), undefined)
})

test('the first start prints a generated administrator password once', async (t) => {
  const users = openUsers(temporaryDirectory(t))
  t.after(() => users.close())
  const shown: string[] = []
  const first = firstAdministrator({ announce: (text) => void shown.push(text) })

  const start = await prepareFirstAdministrator(users, first)
  start.listening?.()
  assert.deepEqual([shown, users.list()], [[], []])
  start.ready?.('http://localhost:8084')
  const later = await prepareFirstAdministrator(users, first)
  later.listening?.()
  later.ready?.('http://localhost:8084')

  assert.equal(shown.length, 1)
  assert.match(
    shown[0] as string,
    /address {3}http:\/\/localhost:8084\n.*admin\n[\s\S]* {2}npx fairlead user passwd admin\n/,
  )
  const password = /password\s+(\S+)/.exec(shown[0] as string)?.[1] as string
  assert.equal(password.length, 27)
  assert.deepEqual((await users.verify('admin', password))?.roles, ['admins'])
})

test('a given administrator password is used and not printed', async (t) => {
  const users = openUsers(temporaryDirectory(t))
  t.after(() => users.close())

  const start = await prepareFirstAdministrator(
    users,
    firstAdministrator({ name: 'root', password: 'correct horse' }),
  )
  start.listening?.()

  assert.ok(await users.verify('root', 'correct horse'))
})

const laterPasswords: [password: string, name: string, says: RegExp | undefined][] = [
  ['correct horse', 'admin', undefined],
  [
    'another one',
    'Admin',
    /is not the password of this user, .* with: npx fairlead user passwd admin$/,
  ],
  [
    'correct horse',
    'root',
    /none of this name\. .* with: npx fairlead user add root --role admins$/,
  ],
]
for (const [password, name, says] of laterPasswords) {
  test(`the password ${password} for ${name} of a later start ${says ? 'is reported as without effect' : 'is right'}`, async (t) => {
    const users = openUsers(temporaryDirectory(t))
    t.after(() => users.close())
    await users.add('admin', 'correct horse', ['admins'])
    const asked = t.mock.method(users, 'hasPassword')
    const warnings: string[] = []
    const warn = (text: string) => void warnings.push(text)

    const start = await prepareFirstAdministrator(
      users,
      firstAdministrator({ name, password, warn }),
    )
    start.ready?.('')
    await asked.mock.calls[0]?.result
    await new Promise(setImmediate)

    assert.equal(warnings.length, says === undefined ? 0 : 1)
    if (says !== undefined) assert.match(warnings[0] as string, says)
    assert.ok(!warnings.join('').includes(password))
    assert.ok(await users.verify('admin', 'correct horse'))
  })
}

test('an unusable administrator password is reported by its setting', async (t) => {
  const users = openUsers(temporaryDirectory(t))
  t.after(() => users.close())
  await assert.rejects(
    prepareFirstAdministrator(users, firstAdministrator({ password: 'short' })),
    /fairlead\.admin\.password.*8 to 1024/,
  )
})

function firstAdministrator(given: Partial<FirstAdministrator>): FirstAdministrator {
  const announce = () => assert.fail('a given password is not shown')
  const warn = () => assert.fail('there is nothing to warn of')
  const command = (words: string) => `npx fairlead ${words}`
  return {
    name: 'admin',
    password: undefined,
    roles: ['admins'],
    announce,
    command,
    warn,
    ...given,
  }
}

test('credentials are read from an Authorization header, and nonsense names nobody', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  assert.deepEqual(parseBasic(basic('alice:a:b')), { username: 'alice', password: 'a:b' })
  assert.deepEqual(parseBasic(basic('jürgen:ß').replace('Basic', 'bAsIc')), {
    username: 'jürgen',
    password: 'ß',
  })
  for (const other of [undefined, '', 'Bearer x', 'Basicx'])
    assert.equal(parseBasic(other), undefined)
  for (const bad of [
    'Basic',
    'Basic ',
    'Basic !',
    basic('alice'),
    basic(':x'),
    basic(''),
    `Basic ${'A'.repeat(5000)}`,
  ])
    assert.equal(parseBasic(bad), 'unreadable', bad)
})

test('right credentials are cached for twenty seconds, wrong ones never', async () => {
  const clock = createClock()
  const verified = new VerifiedCredentials<string>(clock.now)
  let checks = 0
  const ask = (password: string) =>
    verified.get({ username: 'alice', password }, async () => {
      checks++
      return password === 'right' ? 'alice' : undefined
    })

  assert.deepEqual(
    await Promise.all(Array.from({ length: 50 }, () => ask('right'))),
    Array(50).fill('alice'),
  )
  assert.equal(checks, 1)
  await ask('wrong')
  await ask('wrong')
  assert.equal(checks, 3)
  clock.nowMs += 20_001
  await ask('right')
  assert.equal(checks, 4)
})

test('a configured user with a rejected name is a problem', async () => {
  const places = {
    cwd: '/nonexistent',
    homeDir: '/nonexistent',
    systemDir: '/nonexistent',
    env: {},
  }
  const settings = {
    'spring.security.user.name': 'Anonymous',
    'spring.security.user.password': 'secret',
  }
  await assert.rejects(
    loadConfig({ ...places, settings }),
    /spring\.security\.user\.name: is reserved/,
  )
})
