/** Configurations as installers and operators write them for Gate, and the examples: all load as they stand. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type Config, type LoadedConfig, loadConfig } from '../../packages/app/config/config.ts'
import { formMethod } from '../../packages/gateway/login/form/method.ts'
import { methodSettingsOf } from '../../packages/gateway/login/settings.ts'
import { checkConfig } from './given.ts'

const fixtures = join(import.meta.dirname, 'fixtures')
const examples = join(import.meta.dirname, '../../examples')

async function loadFixture(name: string): Promise<LoadedConfig> {
  return await loadConfig({
    cwd: join(fixtures, name),
    env: {},
    homeDir: '/nonexistent',
    systemDir: '/nonexistent',
  })
}

test('an installation on one machine loads with composed addresses', async () => {
  const { config, notices } = await loadFixture('classic')

  const addresses = Object.entries(config.upstreams.services).filter(
    ([, service]) => service.kind === 'external',
  )
  assert.deepEqual(
    addresses.map(([name, service]) => `${name} ${service.baseUrl}`),
    [
      'clouddriver http://localhost:7002',
      'echo http://localhost:8089',
      'front50 http://localhost:8080',
      'orca http://localhost:8083',
      'rosco http://localhost:8087',
    ],
  )
  assert.equal(config.upstreams.services.igor.kind, 'disabled')
  assert.equal(config.http.address, 'localhost')
  assert.equal(config.backends.timeZone, 'America/Los_Angeles')
  assert.deepEqual(config.redis?.place, { kind: 'server', host: 'localhost', port: 6379 })
  assert.equal(config.operations.bakeOptions.length, 1)
  const passedOver = notices.find((notice) => notice.startsWith('Ignored, as')) ?? ''
  for (const key of [
    'management',
    'providers',
    'server.compression',
    'spring.jackson',
    'stackdriver',
    'swagger',
  ]) {
    assert.ok(passedOver.includes(key), `${key} in ${passedOver}`)
  }
})

test('the files that Halyard writes load, and the operator’s gate-local.yml wins', async () => {
  const { config, notices } = await loadFixture('halyard')

  assert.equal(config.upstreams.services.fiat.baseUrl, 'http://fiat.internal:7003')
  assert.equal(config.upstreams.uiBaseUrl, 'https://spinnaker.example.com')
  assert.equal(config.permissions.cacheTtlMs, 30_000)
  assert.equal(config.upstreams.okHttpClient.readTimeoutMs, 60_000)
  assert.equal(config.http.origin.trustForwarded, true)
  assert.ok(config.http.origin.trustedProxies.test('203.0.113.7'))
  assert.ok(config.http.cors.allowedOriginsPattern?.test('https://spinnaker.example.com'))
  assert.deepEqual(methodSettingsOf(config.login, formMethod)?.configuredUser, {
    name: 'operator',
    password: 'not-to-be-printed',
  })
  assert.equal(
    config.operations.insights.serverGroup[0]?.url,
    'https://logs.example.com/?q=$'.concat('{serverGroup}&region=$', '{region}'),
  )
  assert.equal(config.telemetry.logLevel, 'warn')
  assert.ok(!notices.join('\n').includes('not-to-be-printed'))
})

test('a cluster configuration loads with anchors and other keys', async () => {
  const { config } = await loadFixture('operator')

  assert.equal(config.login.anonymous, true)
  assert.equal(config.http.origin.contextPath, '/api/v1')
  assert.equal(config.upstreams.services.fiat.kind, 'disabled')
  assert.equal(config.upstreams.standalone, false)
})

const expected: Record<string, (config: Config) => unknown> = {
  'anonymous.yml': (config) =>
    assert.deepEqual([config.login.anonymous, config.http.address], [true, '127.0.0.1']),
  'in-front-of-spinnaker.yml': (config) =>
    assert.equal(config.upstreams.services.orca.baseUrl, 'http://spin-orca:8083'),
  'standalone.yml': (config) =>
    assert.deepEqual([config.upstreams.standalone, config.http.address], [true, '127.0.0.1']),
}

test('every example has an expectation here', () => {
  assert.deepEqual(
    readdirSync(examples)
      .filter((name) => name.endsWith('.yml'))
      .sort(),
    Object.keys(expected).sort(),
  )
})

for (const [name, check] of Object.entries(expected)) {
  test(`the example ${name} is sound`, async () => {
    const places = {
      cwd: fixtures,
      env: {},
      homeDir: '/nonexistent',
      systemDir: '/nonexistent',
      files: [join(examples, name)],
    }
    check((await loadConfig(places)).config)
    assert.equal((await checkConfig(places)).ok, true)
  })
}

test('the kustomize base of Spinnaker loads, with its imported directories', async () => {
  const { config } = await loadFixture('kustomize')
  assert.deepEqual(config.redis?.place, { kind: 'server', host: 'redis', port: 6379 })
  assert.equal(config.http.origin.contextPath, '/api/v1')
  assert.equal(methodSettingsOf(config.login, formMethod)?.configuredUser?.name, 'admin')
  assert.equal(config.upstreams.services.keel.kind, 'disabled')
})

test('an Armory installation loads with plugins, proxies and other services', async () => {
  const { config, notices } = await loadFixture('armory')
  assert.equal(config.upstreams.services.orca.baseUrl, 'http://spin-orca:8083')
  assert.equal(config.integrations.proxies[0]?.id, 'terraform')
  const ignored = notices.find((notice) => notice.startsWith('Ignored, as')) ?? ''
  for (const key of [
    'armory',
    'secrets',
    'services.armory-agent',
    'spinnaker.extensibility.plugins',
  ]) {
    assert.ok(ignored.includes(key), `${key} in ${ignored}`)
  }
})

test('the files of minnaker load, with form login and context path', async () => {
  const { config } = await loadFixture('minnaker')
  assert.equal(methodSettingsOf(config.login, formMethod)?.configuredUser?.name, 'admin')
  assert.equal(config.http.origin.contextPath, '/api/v1')
  assert.equal(config.http.origin.trustForwarded, true)
})
