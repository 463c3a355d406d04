import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type DocumentFinding,
  formatFinding,
} from '../../../packages/base/findings/document-finding.ts'
import { canariesBackend } from '../../../packages/engine/canaries/canaries.ts'
import { startBackends } from '../../support/backends.ts'

const given = {
  name: 'web-golden',
  applications: ['web'],
  metrics: [],
  judge: { name: 'NetflixACAJudge-v1.0' },
}

test('canary configurations are kept as kayenta keeps them', async (t) => {
  let nowMs = Date.parse('2026-01-31T08:00:00Z')
  const backends = await startBackends(t, [canariesBackend], { now: () => nowMs })
  const ask = (method: string, path: string, body?: unknown) =>
    backends.ask('kayenta', method, path, body)

  const created = await ask('POST', '/canaryConfig', given)
  const { canaryConfigId: id } = created.body as { canaryConfigId: string }
  const stamps = { createdTimestamp: nowMs, createdTimestampIso: '2026-01-31T08:00:00.000Z' }
  assert.deepEqual((await ask('GET', `/canaryConfig/${id}`)).body, {
    ...given,
    ...{ id, ...stamps, updatedTimestamp: nowMs, updatedTimestampIso: '2026-01-31T08:00:00.000Z' },
  })

  nowMs += 60_000
  assert.equal(
    (await ask('PUT', `/canaryConfig/${id}`, { ...given, description: 'changed' })).status,
    200,
  )
  const changed = (await ask('GET', `/canaryConfig/${id}`)).body as Record<string, unknown>
  assert.equal(changed['description'], 'changed')
  assert.equal(changed['createdTimestamp'], stamps.createdTimestamp)
  assert.equal(changed['updatedTimestampIso'], '2026-01-31T08:01:00.000Z')

  await ask('POST', '/canaryConfig', { ...given, id: 'of-api', applications: ['api', 'Jobs'] })
  const listed = (query: string) =>
    ask('GET', `/canaryConfig${query}`).then(({ body }) => body as { id: string }[])
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
    ['POST /canaryConfig', { applications: ['web'] }, /name: it is missing/],
    ['POST /canaryConfig', { name: 'a' }, /applications: it is missing/],
    [
      'POST /canaryConfig',
      { ...given, applications: [] },
      /applications: it must have at least 1 entries/,
    ],
    ['POST /canaryConfig', { ...given, metrics: 5 }, /metrics: it must be a list, not a number/],
    ['POST /canaryConfig', { ...given, metrics: [7] }, /metrics\.0: it must be an object/],
    ['POST /canaryConfig', { ...given, id: '../x' }, /id: it must not have slashes/],
    [
      'POST /canaryConfig',
      { ...given, createdTimestamp: 1e300 },
      /createdTimestamp: it must be at most/,
    ],
    ['POST /canaryConfig', [], /must be a JSON object/],
    ['POST /canaryConfig', { ...given, name: 'a b' }, /name: it may have only letters, digits/],
    ['POST /canaryConfig', { ...given, id: 'first' }, /"first" exists already/],
    [
      'POST /canaryConfig',
      { ...given, name: 'Web-Golden' },
      /named "Web-Golden" exists already in web/,
    ],
    ['PUT /canaryConfig/second', given, /no canary configuration "second"/],
  ]
  for (const [request, body, message] of cases) {
    const [method = '', path = ''] = request.split(' ')
    const { status, body: answer } = await backends.ask('kayenta', method, path, body)
    assert.equal(status, 400, request)
    assert.match((answer as { message: string }).message, message)
  }
})

const thresholds = { pass: 95, marginal: 75 }
const judgedBy = (canary: object) => ({
  metrics: [{ name: 'a', query: {}, analysisConfigurations: { canary } }],
})
const inGroups = (...groups: string[]) =>
  groups.map((group) => ({ name: group, query: {}, groups: [group] }))
const weighed = (groupWeights: object, ...groups: string[]) => ({
  metrics: inGroups(...groups),
  classifier: { groupWeights },
})

test('what analyses cannot use is kept with a finding, and rejected by an analysis', async (t) => {
  const backends = await startBackends(t, [canariesBackend])
  const ask = (path: string, body?: unknown) =>
    backends.ask('kayenta', body === undefined ? 'GET' : 'POST', path, body)
  const save = (body: unknown) => ask('/canaryConfig', body)
  const cases: [fields: object, message: RegExp][] = [
    [{ metrics: [{ query: {} }] }, /metrics\.0\.name: it is missing/],
    [{ metrics: [{ name: 'a' }] }, /metrics\.0\.query: it is missing/],
    [{ metrics: inGroups('a', 'a') }, /metrics\.1\.name: another metric is named "a" too/],
    ...['NetflixACAJudge-v2.0', 'dredd-v1.0'].map((name): [object, RegExp] => [
      { judge: { name, judgeConfigurations: { own: [1] } } },
      new RegExp(`judge\\.name: the judge "${name}" is not of the embedded service`),
    ]),
    [
      judgedBy({ direction: 'sideways' }),
      /canary\.direction: it must be one of increase, decrease, either/,
    ],
    [
      judgedBy({ outliers: { strategy: 'remove', outlierFactor: 0 } }),
      /outlierFactor: it must be above 0/,
    ],
    [judgedBy({ effectSize: { allowedIncrease: 'much' } }), /allowedIncrease: it must be a number/],
    [weighed({ a: 300 }, 'a'), /groupWeights\.a: it must be at most 100/],
    [weighed({ a: 60, b: 30 }, 'a', 'b'), /groupWeights: they add up to 90, not 100/],
    [weighed({ a: 60, b: 50 }, 'c'), /groupWeights: they add up to 110, more than 100/],
    [
      { classifier: { scoreThresholds: { pass: 60, marginal: 75 } } },
      /"marginal" must not be above "pass"/,
    ],
    [{ templates: { filter: 5 } }, /templates\.filter: it must be text/],
    [
      { metrics: [{ name: 'a', query: { customFilterTemplate: 'gone' } }] },
      /query\.customFilterTemplate: the configuration has no template "gone"/,
    ],
  ]
  for (const [index, [fields, message]] of cases.entries()) {
    const config = { ...given, id: `c${index}`, name: `c${index}`, ...fields }
    assert.equal((await save(config)).status, 200, String(message))
    const stored = (await ask(`/canaryConfig/c${index}`)).body as Record<string, unknown>
    for (const [name, part] of Object.entries(config)) assert.deepEqual(stored[name], part)
    const [finding] = (await ask('/findings/canary-config', config)).body as DocumentFinding[]
    assert.equal(finding?.severity, 'error', String(message))
    const said = formatFinding(finding).replace('An analysis with it is rejected: ', '')
    assert.match(said.replace(/\[(\d)\]/g, '.$1'), message)
    const order = { canaryConfig: config, executionRequest: { scopes: {}, thresholds } }
    const { status, body } = await ask('/canary', order)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match((body as { message: string }).message, message)
  }

  const kept = [
    weighed({}, 'a', 'b'),
    weighed({ a: '70' }, 'a', 'b'),
    weighed({ a: 33.3, b: 33.3, c: 33.3 }, 'a', 'b', 'c'),
    judgedBy({
      direction: 'either',
      nanStrategy: 'default',
      critical: 'true',
      effectSize: { allowedIncrease: '1.2' },
    }),
    {
      metrics: [{ name: 'a', query: { type: 'stackdriver', metricType: 'x' }, id: '#0' }],
      isNew: true,
      configVersion: '1',
    },
    {
      classifier: { groupWeights: {}, scoreThresholds: null },
      judge: null,
      templates: null,
      description: '',
      services: {},
    },
  ]
  for (const [index, fields] of kept.entries()) {
    const { status, body } = await save({ ...given, name: `kept-${index}`, ...fields })
    assert.equal(status, 200, JSON.stringify(body))
  }
})

test('accounts and judges are listed', async (t) => {
  const canaries = {
    keptDays: 30,
    accounts: { prometheus: [{ name: 'prom', endpoint: { baseUrl: 'http://127.0.0.1:1' } }] },
  }
  const backends = await startBackends(t, [canariesBackend], { settings: { canaries } })
  const { body } = await backends.ask('kayenta', 'GET', '/credentials')
  assert.deepEqual(body, [
    { name: 'fairlead', type: 'fairlead', supportedTypes: ['CONFIGURATION_STORE', 'OBJECT_STORE'] },
    { name: 'server-groups', type: 'serverGroups', supportedTypes: ['METRICS_STORE'] },
    { name: 'prom', type: 'prometheus', supportedTypes: ['METRICS_STORE'] },
  ])
  assert.deepEqual((await backends.ask('kayenta', 'GET', '/judges')).body, [
    { name: 'NetflixACAJudge-v1.0', visible: true },
  ])
  const path = '/metadata/metricsService?filter=ERR&metricsAccountName=server-groups'
  assert.deepEqual((await backends.ask('kayenta', 'GET', path)).body, [
    { name: 'errors' },
    { name: 'errorPercent' },
  ])
})
