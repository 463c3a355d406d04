import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canariesBackend } from '../../../src/backends/canaries/canaries.ts'
import { startBackends } from '../../support/backends.ts'

const given = { name: 'web-golden', applications: ['web'], metrics: [], judge: { name: 'NetflixACAJudge-v1.0' } }

test('canary configurations are kept as kayenta keeps them', async (t) => {
  let nowMs = Date.parse('2026-01-31T08:00:00Z')
  const backends = await startBackends(t, [canariesBackend], { now: () => nowMs })
  const ask = (method: string, path: string, body?: unknown) => backends.ask('kayenta', method, path, body)

  const created = await ask('POST', '/canaryConfig', given)
  const { canaryConfigId: id } = created.body as { canaryConfigId: string }
  const stamps = { createdTimestamp: nowMs, createdTimestampIso: '2026-01-31T08:00:00.000Z' }
  assert.deepEqual((await ask('GET', `/canaryConfig/${id}`)).body, {
    ...given,
    ...{ id, ...stamps, updatedTimestamp: nowMs, updatedTimestampIso: '2026-01-31T08:00:00.000Z' },
  })

  nowMs += 60_000
  assert.equal((await ask('PUT', `/canaryConfig/${id}`, { ...given, description: 'changed' })).status, 200)
  const changed = (await ask('GET', `/canaryConfig/${id}`)).body as Record<string, unknown>
  assert.equal(changed['description'], 'changed')
  assert.equal(changed['createdTimestamp'], stamps.createdTimestamp)
  assert.equal(changed['updatedTimestampIso'], '2026-01-31T08:01:00.000Z')

  await ask('POST', '/canaryConfig', { ...given, id: 'of-api', applications: ['api', 'Jobs'] })
  const listed = (query: string) => ask('GET', `/canaryConfig${query}`).then(({ body }) => body as { id: string }[])
  assert.deepEqual((await listed('')).map((one) => one.id).sort(), [id, 'of-api'].sort())
  assert.deepEqual(await listed('?application=jobs'), [
    {
      ...{ id: 'of-api', name: 'web-golden', applications: ['api', 'Jobs'] },
      ...{ updatedTimestamp: nowMs, updatedTimestampIso: '2026-01-31T08:01:00.000Z' },
    },
  ])

  assert.equal((await ask('DELETE', '/canaryConfig/of-api')).status, 204)
  assert.equal((await ask('DELETE', '/canaryConfig/of-api')).status, 404)
  assert.equal((await ask('GET', '/canaryConfig/of-api')).status, 404)
})

test('a canary configuration that kayenta rejects is rejected', async (t) => {
  const backends = await startBackends(t, [canariesBackend])
  await backends.ask('kayenta', 'POST', '/canaryConfig', { ...given, id: 'first' })
  const cases: [request: string, body: object, message: RegExp][] = [
    ['POST /canaryConfig', { applications: ['web'] }, /needs a "name"/],
    ['POST /canaryConfig', { name: 'a' }, /at least one application/],
    ['POST /canaryConfig', { ...given, name: 'a b' }, /cannot be named "a b"/],
    ['POST /canaryConfig', { ...given, id: 'first' }, /"first" exists already/],
    ['POST /canaryConfig', { ...given, name: 'Web-Golden' }, /named "Web-Golden" exists already in web/],
    ['PUT /canaryConfig/second', given, /no canary configuration "second"/],
  ]
  for (const [request, body, message] of cases) {
    const [method = '', path = ''] = request.split(' ')
    const { status, body: answer } = await backends.ask('kayenta', method, path, body)
    assert.equal(status, 400, request)
    assert.match((answer as { message: string }).message, message)
  }
})

test('accounts and judges are listed', async (t) => {
  const canaries = { keptDays: 30, accounts: { prometheus: [{ name: 'prom', endpoint: { baseUrl: 'http://127.0.0.1:1' } }] } }
  const backends = await startBackends(t, [canariesBackend], { settings: { canaries } })
  const { body } = await backends.ask('kayenta', 'GET', '/credentials')
  assert.deepEqual(body, [
    { name: 'fairlead', type: 'fairlead', supportedTypes: ['CONFIGURATION_STORE', 'OBJECT_STORE'] },
    { name: 'server-groups', type: 'serverGroups', supportedTypes: ['METRICS_STORE'] },
    { name: 'prom', type: 'prometheus', supportedTypes: ['METRICS_STORE'] },
  ])
  assert.deepEqual((await backends.ask('kayenta', 'GET', '/judges')).body, [{ name: 'NetflixACAJudge-v1.0', visible: true }])
  const path = '/metadata/metricsService?filter=ERR&metricsAccountName=server-groups'
  assert.deepEqual((await backends.ask('kayenta', 'GET', path)).body, [{ name: 'errors' }, { name: 'errorPercent' }])
})
