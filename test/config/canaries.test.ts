import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../packages/app/config/config.ts'
import { load, problemsOf, write } from './given.ts'

/** With sections of kayenta that have nothing to do with accounts of metrics. */
const kayentaYaml = `
server.port: 8090
redis.connection: redis://localhost:6379
kayenta:
  google: {enabled: false}
  aws: {enabled: true, accounts: [{name: bucket, bucket: b, rootFolder: kayenta, supportedTypes: [OBJECT_STORE, CONFIGURATION_STORE]}]}
  s3.enabled: true
  datadog:
    enabled: false
    accounts: [{name: off, apiKey: x, applicationKey: y, endpoint.baseUrl: https://app.datadoghq.com, supportedTypes: [METRICS_STORE]}]
  prometheus:
    enabled: true
    metadataCachingIntervalMS: 60000
    accounts:
      - name: prom
        endpoint:
          baseUrl: http://localhost:9090/
        supportedTypes:
          - METRICS_STORE
management.endpoint.health.show-details: always
keiko.queue.redis.queueName: kayenta.keiko.queue
spectator.applicationName: \${spring.application.name:kayenta}
swagger: {enabled: true, title: Kayenta API}
`

test('metrics accounts of a kayenta.yml are taken over', async (t) => {
  const places = write(t, { 'kayenta.yml': kayentaYaml })
  const { config } = await loadConfig({ ...places, files: [join(places.cwd ?? '', 'kayenta.yml')] })
  const { keptDays, accounts } =
    config.backends.canaries ?? assert.fail('the canary service is embedded')
  assert.equal(keptDays, 30)
  assert.deepEqual(accounts['datadog'], [])
  assert.deepEqual(accounts['prometheus'], [
    {
      name: 'prom',
      endpoint: { baseUrl: 'http://localhost:9090' },
      supportedTypes: ['METRICS_STORE'],
      scopeLabel: 'instance',
    },
  ])
})

test('a metrics account that is incomplete or listed twice is refused', async (t) => {
  const problems = await problemsOf(t, {
    'config/gate.yml':
      'kayenta: {prometheus.accounts: [{name: a, endpoint.baseUrl: "http://p"}], file.accounts: [{name: a, folder: /tmp}], newrelic.accounts: [{name: n}]}',
  })
  assert.ok(
    problems.some((line) => line.includes('"a" is listed twice')),
    problems.join('\n'),
  )
  assert.ok(
    problems.some((line) => line.includes('kayenta.newrelic.accounts[0].apiKey')),
    problems.join('\n'),
  )
})

test('the canary service is embedded with the engine, or where it is asked for', async (t) => {
  const kindOf = async (yaml: string) =>
    (await load(t, { 'config/gate.yml': yaml })).config.upstreams.services.kayenta.kind
  const orca = 'services.orca.baseUrl: "http://orca:8083"'
  assert.equal(await kindOf(''), 'embedded')
  assert.equal(await kindOf(orca), 'disabled')
  assert.equal(await kindOf(`${orca}\nservices.kayenta.baseUrl: embedded`), 'embedded')
  assert.equal(await kindOf(`${orca}\nservices.kayenta.enabled: true`), 'embedded')
  assert.equal(await kindOf('services.kayenta.baseUrl: "http://kayenta:8090"'), 'external')
  assert.equal(await kindOf('services.kayenta.enabled: false'), 'disabled')
})
