/** Which files count, in which order, and which documents of them. */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { loadConfig } from '../../packages/app/config/config.ts'
import { formMethod } from '../../packages/gateway/login/form/method.ts'
import { methodSettingsOf } from '../../packages/gateway/login/settings.ts'
import { type Given, load, problemsOf, write } from './given.ts'

const port = (number: number) => `server: {port: ${number}}\n`

/** Each file wins over all that stand above it. */
const order = [
  'config/spinnaker.yml',
  'config/gate.yml',
  'config/gate.yaml',
  'config/fairlead.yml',
  'config/gate-eu.yml',
  'config/spinnaker-local.yml',
  'config/gate-local.yml',
  'fairlead.yml',
  'fairlead-local.yml',
  'home/.spinnaker/spinnaker.yml',
  'home/.spinnaker/gate-local.yml',
  'system/gate.yml',
  'further/gate.yml',
  'given.yml',
] as const

for (const [index, path] of order.entries()) {
  test(`${path} wins over the files before it`, async (t) => {
    const files = Object.fromEntries(
      order.slice(0, index + 1).map((name, number) => [name, port(9000 + number)]),
    )
    const env = {
      SPRING_PROFILES_ACTIVE: 'eu',
      SPRING_CONFIG_ADDITIONAL_LOCATION: 'optional:file:further/,optional:./absent/',
    }

    const { config, sources } = await load(t, {
      ...files,
      env,
      files: index === order.length - 1 ? ['given.yml'] : [],
    } as Given)

    assert.equal(config.http.port, 9000 + index)
    assert.deepEqual(
      sources.slice(0, index + 1),
      order.slice(0, index + 1).map((name) => name),
    )
  })
}

test('variables win over files, and arguments over all', async (t) => {
  const files = { 'config/gate.yml': port(1) }
  const env = { SERVER_PORT: '2' }
  const json = { ...env, SPRING_APPLICATION_JSON: '{"server.port": 3}' }

  assert.equal((await load(t, files)).config.http.port, 1)
  assert.equal((await load(t, { ...files, env })).config.http.port, 2)
  assert.equal((await load(t, { ...files, env: json })).config.http.port, 3)
  assert.equal(
    (await load(t, { ...files, env: json, settings: { server: { port: 4 } } })).config.http.port,
    4,
  )
})

test('SPRING_CONFIG_LOCATION replaces the usual places', async (t) => {
  const env = { SPRING_CONFIG_LOCATION: 'classpath:/,elsewhere/' }

  const { config, notices } = await load(t, {
    'config/gate.yml': port(1),
    'elsewhere/gate.yml': port(2),
    env,
  })

  assert.equal(config.http.port, 2)
  assert.ok(notices.some((notice) => notice.includes('classpath:/')))
})

test('only fairlead.yml counts in the working directory itself', async (t) => {
  const { config } = await load(t, { 'gate.yml': port(1), 'spinnaker.yml': port(2) })

  assert.equal(config.http.port, 8084)
})

test('a named file that is missing is a problem', async (t) => {
  const [first, second] = await problemsOf(t, {
    files: ['absent.yml'],
    env: { SPRING_CONFIG_ADDITIONAL_LOCATION: '/absent/' },
  })

  assert.match(first ?? '', /^--config: .*absent\.yml does not exist; correct the path$/)
  assert.match(second ?? '', /\/absent\/? does not exist; correct the path$/)
})

test('a directory can be named instead of a file', async (t) => {
  const { config } = await load(t, {
    'mine/gate.yml': port(1),
    'mine/gate-local.yml': port(2),
    files: ['mine'],
  })

  assert.equal(config.http.port, 2)
})

test('maps are merged across files; lists and values are replaced', async (t) => {
  const { config } = await load(t, {
    'config/spinnaker.yml':
      'services: {orca: {base-url: "http://a:1", readTimeoutMs: 7}}\nfiat.admin.roles: [a, b]\n',
    'config/gate.yml': 'services.orca.baseUrl: http://b:2/\nfiat: {admin: {roles: [c]}}\n',
  })

  const { baseUrl, bounds } = config.upstreams.services.orca
  assert.deepEqual(
    [baseUrl, bounds.readTimeoutMs, config.backends.adminRoles],
    ['http://b:2', 7, ['c']],
  )
})

test('an empty value in a later file resets the key', async (t) => {
  const { config } = await load(t, {
    'config/gate.yml': port(1),
    'config/gate-local.yml': 'server: {port: }\n',
  })

  assert.equal(config.http.port, 8084)
})

const documents: [condition: string, profiles: string | undefined, applies: boolean][] = [
  ['spring.config.activate.on-profile: eu', 'eu', true],
  ['spring: {config: {activate: {onProfile: eu}}}', 'us', false],
  ['spring.profiles: eu,us', 'us', true],
  ['spring: {profiles: "!us"}', 'us', false],
  ['spring: {profiles: "!us"}', undefined, true],
  ['spring.config.activate.on-profile: local', undefined, true],
  ['spring.config.activate.on-profile: [a, eu]', 'eu', true],
  ['spring.config.activate.on-profile: prod & (eu | us)', 'eu,prod', true],
  ['spring.config.activate.on-profile: prod & !(eu | us)', 'eu,prod', false],
  ['spring.config.activate.on-cloud-platform: kubernetes', undefined, false],
]

for (const [condition, profiles, applies] of documents) {
  test(`a document with "${condition}" ${applies ? 'counts' : 'does not count'} with the profiles ${profiles ?? 'by default'}`, async (t) => {
    const env = profiles === undefined ? {} : { SPRING_PROFILES_ACTIVE: profiles }

    const { config } = await load(t, {
      'config/gate.yml': `${port(1)}---\n${condition}\nserver.port: 2\n`,
      env,
    })

    assert.equal(config.http.port, applies ? 2 : 1)
  })
}

test('an empty map in a later file takes nothing back', async (t) => {
  const files = {
    'config/gate.yml': 'server: {port: 1}\n',
    'config/gate-local.yml': 'server:\nservices: {}\n',
  }

  assert.equal((await load(t, files)).config.http.port, 1)
})

test('a document that does not count is not checked', async (t) => {
  const given: Given = { 'config/gate.yml': 'a: 1\nspring.profiles: other\n' }

  assert.deepEqual(await problemsOf(t, given), [])
})

test('files may name, include and group profiles', async (t) => {
  const files: Given = {
    'config/gate.yml': `spring.profiles: {active: "\${P:blue}", group: {blue: "sky,sea"}}\n`,
    'config/gate-sea.yml': port(1),
    'config/gate-red.yml': port(2),
  }

  assert.equal((await load(t, files)).config.http.port, 1)
  assert.equal((await load(t, { ...files, env: { P: 'red' } })).config.http.port, 2)
  assert.equal(
    (await load(t, { ...files, env: { SPRING_PROFILES_ACTIVE: 'red' } })).config.http.port,
    2,
  )
})

test('a malformed profile expression and an import are problems', async (t) => {
  const problems = await problemsOf(t, {
    'config/gate.yml': 'spring.config.import: "configserver:"\n---\nspring.profiles: a & (b\n',
  })

  assert.deepEqual(problems, [
    'config/gate.yml:1: spring.config.import: configserver: is neither a directory nor a YAML file; write its settings here',
    'config/gate.yml:3: spring.config.activate.on-profile: is not a profile expression such as "prod & !eu": a parenthesis is not closed',
  ])
})

test('an empty profile variable leaves the choice to files', async (t) => {
  const files: Given = {
    'config/gate.yml': 'spring.profiles.active: blue\n',
    'config/gate-blue.yml': port(1),
  }

  assert.equal(
    (await load(t, { ...files, env: { SPRING_PROFILES_ACTIVE: '' } })).config.http.port,
    1,
  )
})

test('a directory in place of a file is a problem', async (t) => {
  const places = write(t, { 'config/gate.yml/x.yml': '' })
  rmSync(join(places.cwd as string, 'home'), { recursive: true, force: true })
  writeFileSync(join(places.cwd as string, 'system'), 'a: 1')

  await assert.rejects(loadConfig(places), {
    message: 'config/gate.yml: is a directory; name a file',
  })
})

test('a profile name cannot lead out of the directory', async (t) => {
  const { config } = await load(t, {
    'gate.yml': port(1),
    'config/gate-a/x.yml': 'a: 1',
    env: { SPRING_PROFILES_ACTIVE: 'a/../../gate' },
  })

  assert.equal(config.http.port, 8084)
})

test('the data directory is relative to the working directory', async (t) => {
  const places = write(t, { 'config/gate.yml': 'data: {dir: state}\n' })

  assert.equal(
    (await loadConfig(places)).config.backends.dataDir,
    join(places.cwd as string, 'state'),
  )
  const env = { FAIRLEAD_DATA_DIR: '/srv/fairlead' }
  assert.equal((await loadConfig({ ...places, env })).config.backends.dataDir, '/srv/fairlead')
})

test('imported directories win over the file that names them only', async (t) => {
  const { config, sources } = await load(t, {
    'config/spinnaker.yml':
      'spring.config.import: optional:file:config/*/\nserver: { port: 1, address: 10.0.0.1 }',
    'config/redis/gate.yml': 'server: { port: 2 }\nredis.connection: redis://redis:6379',
    'config/zz/gate-local.yml': 'server.address: 10.0.0.2',
    'config/gate.yml': 'server.port: 3',
  })
  assert.deepEqual([config.http.port, config.http.address], [3, '10.0.0.2'])
  assert.deepEqual(config.redis?.place, { kind: 'server', host: 'redis', port: 6379 })
  assert.deepEqual(sources, [
    'config/spinnaker.yml',
    'config/redis/gate.yml',
    'config/zz/gate-local.yml',
    'config/gate.yml',
  ])
})

test('an imported file may import others, and itself', async (t) => {
  const { config } = await load(t, {
    'config/gate.yml': 'spring.config.import: more/one.yml',
    'config/more/one.yml': 'spring.config.import: [two.yml, one.yml]\nserver.port: 1',
    'config/more/two.yml': 'server.port: 2',
  })
  assert.equal(config.http.port, 2)
})

test('a missing import is an error unless it is optional', async (t) => {
  await load(t, { 'config/gate.yml': 'spring.config.import: optional:file:/nowhere/else/' })
  await assert.rejects(
    load(t, { 'config/gate.yml': 'spring.config.import: file:/nowhere/else.yml' }),
    /\/nowhere\/else\.yml does not exist/,
  )
})

test('properties are imported with their escapes, lists and documents', async (t) => {
  const { config, sources } = await load(t, {
    'config/gate.yml': 'spring.config.import: [own.properties]\nserver.port: 1',
    'config/own.properties': [
      '# a comment',
      '! another one',
      'server.port = 8085',
      'server.address: 10.0\\',
      '    .0.7',
      String.raw`spring.security.user.name=\u0061da`,
      String.raw`spring.security.user.password = C:\\x=y\tz`,
      'cors.allowed-origins[0]=https://one.example.com',
      'cors.allowed-origins[1]=https://two.example.com',
      '#---',
      'spring.config.activate.on-profile=other',
      'server.port=9',
    ].join('\n'),
  })
  assert.deepEqual([config.http.port, config.http.address], [8085, '10.0.0.7'])
  assert.deepEqual(methodSettingsOf(config.login, formMethod)?.configuredUser, {
    name: 'ada',
    password: 'C:\\x=y\tz',
  })
  assert.deepEqual(config.http.cors.allowedOrigins, [
    'https://one.example.com',
    'https://two.example.com',
  ])
  assert.deepEqual(sources, ['config/gate.yml', 'config/own.properties'])
})

test('a directory of files is imported as one setting each', async (t) => {
  const files = {
    'config/gate.yml':
      'spring.config.import: ["configtree:tree/", "optional:configtree:/nowhere/"]',
    'config/tree/server.port': '8086\n',
    'config/tree/spring/security/user/password': 'correct\nhorse\n',
    'config/tree/spring/security/user/name': 'ada',
    'config/tree/..data/server.port': '1',
  }
  const { config } = await load(t, files)
  assert.equal(config.http.port, 8086)
  assert.equal(
    methodSettingsOf(config.login, formMethod)?.configuredUser?.password,
    'correct\nhorse',
  )
  await assert.rejects(
    load(t, { ...files, 'config/tree/server.adress': '1' }),
    /config\/tree\/server\.adress: server\.adress/,
  )
  await assert.rejects(
    load(t, { 'config/gate.yml': 'spring.config.import: configtree:/nowhere/else' }),
    /\/nowhere\/else does not exist/,
  )
})

test('a credential of systemd is the setting of its name', async (t) => {
  const places = write(t, {
    'config/gate.yml': port(1),
    'credentials/server.port': '8087\n',
    'credentials/FAIRLEAD_BACKENDS_KEY': 'a-key-of-more-than-24-characters\n',
    'credentials/secrets.key': Buffer.alloc(32, 7).toString('base64'),
    'credentials/ldap': 'for a reference',
  })
  const CREDENTIALS_DIRECTORY = join(places.cwd ?? '', 'credentials')
  const loadWith = (env: Record<string, string>) =>
    loadConfig({ ...places, env: { CREDENTIALS_DIRECTORY, ...env } })
  const { config, sources } = await loadWith({})
  assert.equal(config.http.port, 8087)
  assert.equal(config.upstreams.embedded.listener.key, 'a-key-of-more-than-24-characters')
  assert.equal(config.backends.secrets?.keyFile, join(CREDENTIALS_DIRECTORY, 'secrets.key'))
  assert.deepEqual(sources, ['config/gate.yml', 'credentials of systemd'])
  assert.equal((await loadWith({ SERVER_PORT: '2' })).config.http.port, 2)
  assert.equal((await loadWith({ CREDENTIALS_DIRECTORY: '/nowhere' })).config.http.port, 1)
  writeFileSync(join(CREDENTIALS_DIRECTORY, 'server.port'), 'secret')
  await assert.rejects(loadWith({}), /credential server\.port: /)
})

for (const [what, line] of [
  ['a text and a map', 'server.port.x=2'],
  ['a gap in a list', 'cors.allowed-origins[7]=https://a.example.com'],
] as const) {
  test(`${what} under one key of properties are reported with the line`, async (t) => {
    const files = {
      'config/gate.yml': 'spring.config.import: own.properties',
      'config/own.properties': `server.port=1\n${line}`,
    }
    await assert.rejects(load(t, files), /config\/own\.properties:2: /)
  })
}
