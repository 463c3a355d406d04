/** Answers of an installation without optional services. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ServiceName, serviceNames } from '../../../packages/base/services/services.ts'
import { allOperations } from '../../../packages/gateway/operations/all.ts'
import { startPlatform } from './platform.ts'
import * as tables from './rows.ts'

const optional: readonly string[] = ['kayenta', 'keel', 'mine', 'swabbie', 'igor', 'echo']
const rows = Object.values(tables).flat()
const nothingManaged = { hasManagedResources: false, resources: [] }

/** Answers that are neither an empty list nor a 404. */
const particular: Readonly<Record<string, unknown>> = {
  getApplicationDetailsUsingGET: nothingManaged,
  getQuietPeriodStateUsingGET: {},
  getJobConfigUsingGET1: {},
  getBuildUsingGET1: {},
}

test('builds-scenario 27: operations of a disabled service answer empty or 404', async (t) => {
  const platform = await startPlatform(t, { off: serviceNames })
  for (const row of rows) {
    const service = row.call.split(' ')[0] as ServiceName
    // What cannot be sent is no empty answer.
    if (!optional.includes(service) || row.id === 'testNotificationUsingPOST') continue
    await t.test(`${row.ask} without ${service}`, async () => {
      const { status, body } = await platform.ask(row.ask, row.body)
      if (row.id in particular) assert.deepEqual([status, body], [200, particular[row.id]])
      else if (status === 404)
        assert.match(
          (body as { message: string }).message,
          new RegExp(`services\\.${service}\\.baseUrl`),
        )
      else assert.deepEqual([status, body], [200, []])
    })
  }
})

test('operations without an essential service answer 503', async (t) => {
  const platform = await startPlatform(t, { off: serviceNames })
  for (const line of [
    'GET /pipelineConfigs',
    'POST /pipelines/v2/web/build',
    'POST /webhooks/webhook/ci',
    'GET /keyPairs',
  ]) {
    await t.test(line, async () => {
      const { status, body } = await platform.ask(line)
      assert.equal(status, 503)
      assert.match((body as { message: string }).message, /is switched off. Set services\./)
    })
  }
})

test('a timer expression is not checked without the event service', async (t) => {
  const platform = await startPlatform(t, { off: ['fiat', 'echo'] })
  const { status, body } = await platform.ask('GET /cron/validate?expression=x')
  assert.equal(status, 200)
  assert.equal((body as { valid: boolean }).valid, false)
})

test('without managed delivery its callbacks, resources and checks are missing', async (t) => {
  const platform = await startPlatform(t, { off: ['fiat', 'keel'] })
  const lines = [
    'POST /managed/notifications/callbacks/slack',
    'GET /managed/resources/r1',
    'GET /managed/resources/r1/status',
    'GET /managed/delivery-configs/web',
    'GET /managed/reports/adoption',
  ]
  for (const line of lines) assert.equal((await platform.ask(line)).status, 404, line)
  assert.equal((await platform.ask('POST /managed/delivery-configs/validate', {})).status, 404)
  assert.deepEqual(platform.calls(), [])
})

const unconfigured = [
  'GET /slack/channels',
  'GET /pagerDuty/services',
  'GET /pagerDuty/oncalls',
  'POST /integrations/gremlin/templates/command',
  'POST /integrations/gremlin/templates/target',
]

const quiet = ['GET /plugins/deck/plugin-manifest.json', 'GET /banners', 'GET /proxies']

test('a GraphQL query without its service names it', async (t) => {
  const platform = await startPlatform(t, { off: ['fiat', 'keel'] })
  const { status, body } = await platform.ask('POST /managed/graphql', {
    query: '{ application { name } }',
  })
  const { message, errors } = body as { message: string; errors: { message: string }[] }
  assert.match(
    message,
    /^Managed delivery needs the service keel, which is switched off\. Set services\.keel\.baseUrl/,
  )
  assert.deepEqual([status, errors], [404, [{ message }]])
})

test('what this gateway has none of is an empty list', async (t) => {
  const platform = await startPlatform(t)
  for (const line of quiet) {
    await t.test(line, async () => {
      const { status, body, headers } = await platform.ask(line)
      assert.deepEqual([status, body], [200, []])
      assert.equal(headers.get('content-type'), 'application/json')
    })
  }
  assert.equal((await platform.ask('GET /plugins/deck/acme/1.0/index.js')).status, 404)
  assert.deepEqual(platform.calls(), [])
})

test('a service outside the platform that is not configured is 404', async (t) => {
  const platform = await startPlatform(t)
  for (const line of unconfigured) {
    const { status, body } = await platform.ask(
      line,
      line.startsWith('POST') ? { apiKey: 'k' } : undefined,
    )
    assert.equal(status, 404, line)
    assert.match((body as { message: string }).message, /is not configured\. Set /)
  }
})

test('operation ids and addresses are unique', () => {
  const ids = allOperations.map(({ id }) => id)
  const addresses = allOperations.map(
    ({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`,
  )
  assert.deepEqual(ids, [...new Set(ids)])
  assert.deepEqual(addresses, [...new Set(addresses)])
})

test('every operation of one call has a row', () => {
  const known = new Set(rows.map(({ id }) => id))
  const missing = allOperations.filter(
    ({ id, core, forward }) => !core && forward !== undefined && !known.has(id),
  )
  assert.deepEqual(
    missing.map(({ id }) => id),
    [],
  )
})
