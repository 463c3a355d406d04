/** Which Redis a configuration means, and which configurations are refused. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { ConfigError, loadConfig } from '../../packages/app/config/config.ts'
import type { RedisSettings } from '../../packages/base/redis/settings.ts'
import { keyPairOf } from '../support/self-signed.ts'

const server = (host: string, port: number) => ({ kind: 'server', host, port })

const accepted: [
  title: string,
  settings: Record<string, unknown>,
  expected: Record<string, unknown>,
][] = [
  [
    'an address',
    { 'redis.connection': 'redis://r.example' },
    { place: server('r.example', 6379), tls: undefined, database: 0 },
  ],
  [
    'user, password and database',
    { 'redis.connection': 'redis://fairlead:p%40ss%2F@r:6380/3' },
    { place: server('r', 6380), username: 'fairlead', password: 'p@ss/', database: 3 },
  ],
  [
    'a password alone, as installers write it',
    { 'services.redis.baseUrl': 'redis://:secret@r:6379' },
    { place: server('r', 6379), username: undefined, password: 'secret' },
  ],
  [
    'user and password beside the address',
    {
      'redis.connection': 'redis://r',
      'redis.username': 'u',
      'redis.password': 'p',
      'redis.database': 2,
    },
    { username: 'u', password: 'p', database: 2 },
  ],
  ['TLS', { 'redis.connection': 'rediss://r:6380' }, { place: server('r', 6380), tls: {} }],
  [
    'TLS beside the address',
    { 'redis.connection': 'redis://r', 'redis.tls.enabled': true },
    { tls: {} },
  ],
  [
    'the address of an installer',
    { 'services.redis.baseUrl': 'http://r:7000' },
    { place: server('r', 7000), tls: undefined },
  ],
  ['an IPv6 address', { 'redis.connection': 'redis://[::1]:7000' }, { place: server('::1', 7000) }],
  [
    'a socket',
    { 'redis.connection': 'unix:///run/redis/redis.sock?db=4' },
    { place: { kind: 'socket', path: '/run/redis/redis.sock' }, database: 4 },
  ],
  [
    'Sentinels as a list with commas',
    {
      'redis.sentinel.nodes': 'a:26379, b',
      'redis.sentinel.master': 'm',
      'redis.sentinel.password': 's',
    },
    {
      place: {
        kind: 'sentinel',
        master: 'm',
        nodes: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 26379 },
        ],
        username: undefined,
        password: 's',
      },
    },
  ],
  [
    'a cluster as a list',
    { 'redis.cluster.nodes': ['a:7000', '[fd00::1]:7001'] },
    {
      place: {
        kind: 'cluster',
        nodes: [
          { host: 'a', port: 7000 },
          { host: 'fd00::1', port: 7001 },
        ],
      },
    },
  ],
  [
    'a cluster, although installers name a server as well',
    { 'redis.cluster.nodes': 'a:7000', 'services.redis.baseUrl': 'redis://localhost:6379' },
    { place: { kind: 'cluster', nodes: [{ host: 'a', port: 7000 }] } },
  ],
  [
    'the time to wait',
    { 'redis.connection': 'redis://r', 'redis.timeout': 500 },
    { timeoutMs: 500 },
  ],
]

for (const [title, settings, expected] of accepted) {
  test(`${title} is understood`, async (t) => {
    const redis = (await load(t, settings)) as RedisSettings

    const named = Object.fromEntries(
      Object.keys(expected).map((key) => [key, redis[key as keyof RedisSettings]]),
    )
    assert.deepEqual(named, expected)
  })
}

test('without any of the keys there is no Redis', async (t) => {
  assert.equal(await load(t, {}), undefined)
  assert.equal(await load(t, { 'redis.connection': '', 'redis.timeout': 100 }), undefined)
})

const refused: [settings: Record<string, unknown>, problem: RegExp][] = [
  [
    { 'redis.connection': 'localhost:6379' },
    /^redis\.connection: must be an address such as redis:/,
  ],
  [{ 'redis.connection': 'https://r:6379' }, /^redis\.connection: must be an address/],
  [{ 'redis.connection': 'redis://:p#ss@r:6379' }, /characters such as # .* %23/],
  [{ 'redis.connection': 'redis://:p%zz@r:6379' }, /^redis\.connection: must be an address/],
  [{ 'redis.connection': 'redis://r:6379/zero' }, /^redis\.connection: must be an address/],
  [{ 'redis.connection': 'unix://' }, /^redis\.connection: must be an address/],
  [
    { 'redis.connection': 'redis://r', 'redis.cluster.nodes': 'a:1' },
    /there can be only one of redis\.connection and redis\.cluster/,
  ],
  [{ 'redis.sentinel.nodes': 'a:1' }, /^redis\.sentinel\.nodes: the name of the server is missing/],
  [{ 'redis.sentinel.master': 'm' }, /^redis\.sentinel\.master: the Sentinels are missing/],
  [
    { 'redis.sentinel.nodes': 'redis://a:1', 'redis.sentinel.master': 'm' },
    /must be a list of host:port/,
  ],
  [{ 'redis.cluster.nodes': 'a:70000' }, /^redis\.cluster\.nodes: must be a list of host:port/],
  [
    { 'redis.cluster.nodes': 'a:1', 'redis.database': 1 },
    /^redis\.database: a cluster has database 0 only/,
  ],
  [
    { 'redis.connection': 'redis://r', 'redis.tls.caFile': '/nowhere/ca.pem' },
    /^redis\.tls\.caFile: the file .* does not exist/,
  ],
  [{ 'redis.connection': 'redis://r', 'redis.tls.caFile': '/etc/hostname' }, /is no PEM file/],
  [
    { 'redis.connection': 'rediss://r', 'redis.tls.enabled': false },
    /^redis\.tls\.enabled: is false although/,
  ],
]

for (const [settings, problem] of refused) {
  test(`the start is refused with ${JSON.stringify(settings)}`, async (t) => {
    const problems = await problemsOf(t, settings)

    assert.ok(
      problems.some((line) => problem.test(line)),
      problems.join('\n'),
    )
    assert.doesNotMatch(problems.join('\n'), /p#ss|p%zz/)
  })
}

test('a certificate needs its own key', async (t) => {
  const folder = temporaryFolder(t)
  const [one, other] = [keyPairOf('one'), keyPairOf('other')]
  writeFileSync(join(folder, 'cert.pem'), one.certificate)
  writeFileSync(join(folder, 'key.pem'), one.keyPem)
  writeFileSync(join(folder, 'other.pem'), other.keyPem)
  const withKey = (name: string | undefined) => ({
    'redis.connection': 'rediss://r',
    'redis.tls.certificateFile': join(folder, 'cert.pem'),
    ...(name !== undefined && { 'redis.tls.privateKeyFile': join(folder, name) }),
  })

  assert.deepEqual((await load(t, withKey('key.pem')))?.tls, {
    cert: one.certificate,
    key: one.keyPem,
  })
  assert.match((await problemsOf(t, withKey('other.pem'))).join(), /do not fit together/)
  assert.match((await problemsOf(t, withKey(undefined))).join(), /together/)
})

async function load(
  t: TestContext,
  settings: Record<string, unknown>,
): Promise<RedisSettings | undefined> {
  const folder = temporaryFolder(t)
  return (await loadConfig({ cwd: folder, homeDir: folder, systemDir: folder, settings })).config
    .redis
}

async function problemsOf(t: TestContext, settings: Record<string, unknown>): Promise<string[]> {
  try {
    await load(t, settings)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems.map(({ key, message }) => `${key}: ${message}`)
  }
  return assert.fail('the configuration was accepted')
}

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-redis-settings-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
