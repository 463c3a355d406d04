import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { canariesBackend } from '../../../packages/engine/canaries/canaries.ts'
import { startBackends } from '../../support/backends.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { InTurn, Reply, silence, startUpstream } from '../../support/upstream.ts'
import { waitFor } from '../../support/wait-until.ts'
import { endedAnalysis, startAnalysis } from './measure.ts'

const beginMs = Date.parse('2026-01-31T08:00:00Z')
const [start, end] = ['2026-01-31T08:00:00Z', '2026-01-31T08:30:00.000Z']

function scopesOf(control: string, experiment: string, more: object = {}) {
  const side = (scope: string) => ({ scope, location: 'east', start, end, step: 60, ...more })
  return { default: { controlScope: side(control), experimentScope: side(experiment) } }
}

function configOf(...metrics: { name: string; query: object; groups?: string[] }[]) {
  return {
    name: 'golden',
    applications: ['web'],
    judge: { name: 'NetflixACAJudge-v1.0', judgeConfigurations: {} },
    metrics: metrics.map((metric) => ({
      groups: ['all'],
      scopeName: 'default',
      analysisConfigurations: { canary: { direction: 'increase' } },
      ...metric,
    })),
    classifier: { groupWeights: { all: 100 }, scoreThresholds: { pass: 95, marginal: 75 } },
  }
}

const latency = {
  name: 'latency',
  query: { type: 'prometheus', metricName: 'latency', customInlineTemplate: 'group="${scope}"' },
}

function orderOf(canaryConfig: object, scopes: object = scopesOf('web-baseline', 'web-canary')) {
  return { canaryConfig, executionRequest: { scopes } }
}

/** As Prometheus answers, with a point in each minute. */
function rangeOf(values: readonly (number | undefined)[], metric: Record<string, string> = {}) {
  const points = values.flatMap((value, index) =>
    value === undefined ? [] : [[beginMs / 1000 + index * 60, String(value)]],
  )
  return { metric, values: points }
}

const found = (...result: object[]) => ({
  status: 'success',
  data: { resultType: 'matrix', result },
})
const wave = (height: number) =>
  Array.from({ length: 30 }, (_, index) => height + Math.sin(index * 7))

async function startMetrics(t: TestContext, answer: (query: string) => unknown) {
  const server = await startUpstream(t, ({ query }) =>
    answer(new URLSearchParams(query).get('query') ?? ''),
  )
  const canaries = {
    keptDays: 30,
    accounts: { prometheus: [{ name: 'prom', endpoint: { baseUrl: server.url } }] },
  }
  return { server, settings: { canaries } }
}

test('an analysis pairs series by their labels and keeps gaps', async (t) => {
  const { settings } = await startMetrics(t, (query) => {
    const height = query.includes('web-canary') ? 20 : 10
    if (!query.includes('by (zone)'))
      return found(rangeOf([1, undefined, height, 4], { group: query }))
    const zones = height === 10 ? ['a', 'b'] : ['b', 'a', 'c']
    return found(...zones.map((zone) => rangeOf(wave(height), { zone })))
  })
  const backends = await startBackends(t, [canariesBackend], { settings })
  const zoned = { name: 'zoned', query: { ...latency.query, groupByFields: ['zone'] } }
  const id = await startAnalysis(backends, orderOf(configOf(latency, zoned)))
  const { metricSetPairListId, result, status } = await endedAnalysis(backends, id)
  assert.equal(status, 'succeeded')
  assert.equal(result?.canaryDuration, 'PT30M')
  const { body } = await backends.ask('kayenta', 'GET', `/metricSetPairList/${metricSetPairListId}`)
  const pairs = body as {
    name: string
    tags: object
    values: { control: unknown[]; experiment: unknown[] }
    attributes: unknown
    scopes: unknown
  }[]
  const [single] = pairs
  assert.deepEqual(single?.values, { control: [1, 'NaN', 10, 4], experiment: [1, 'NaN', 20, 4] })
  assert.deepEqual(single?.attributes, {
    control: { query: 'avg(latency{group="web-baseline"})' },
    experiment: { query: 'avg(latency{group="web-canary"})' },
  })
  const scope = {
    startTimeIso: '2026-01-31T08:00:00.000Z',
    startTimeMillis: beginMs,
    stepMillis: 60_000,
  }
  assert.deepEqual(single?.scopes, { control: scope, experiment: scope })
  assert.deepEqual(
    pairs.slice(1).map(({ tags, values }) => [tags, values.control[0], values.experiment[0]]),
    [
      [{ zone: 'a' }, 10, 20],
      [{ zone: 'b' }, 10, 20],
      [{ zone: 'c' }, 'NaN', 20],
    ],
  )
})

test('a metric that cannot be read ends the analysis with the reason', async (t) => {
  const busy = new Reply(503, { status: 'error', error: 'too many queries' })
  const refused = new Reply(400, {
    status: 'error',
    errorType: 'bad_data',
    error: 'unknown function "rat"',
  })
  const passing = new InTurn(busy, found(rangeOf(wave(10))))
  const { settings } = await startMetrics(t, (query) =>
    query.startsWith('avg(latency') ? passing.next() : refused,
  )
  const backends = await startBackends(t, [canariesBackend], { settings })
  const endOf = async (config: object) =>
    endedAnalysis(backends, await startAnalysis(backends, orderOf(config)))
  const again = await endOf(configOf(latency))
  assert.equal(
    again.result?.judgeResult.score.classification,
    'Pass',
    'an error that passes is retried',
  )

  const broken = {
    name: 'broken',
    query: { type: 'prometheus', customInlineTemplate: 'PromQL:rat(x)' },
  }
  const failed = await endOf(configOf(latency, broken))
  assert.equal(failed.status, 'terminal')
  assert.match(
    failed.exception?.details.errors[0] ?? '',
    /^The metric "broken" of the (baseline|canary) cannot be read\. The metrics account "prom" \(Prometheus\) answered with 400: unknown function "rat"\.$/,
  )
  const nameless = {
    name: 'nameless',
    query: { type: 'prometheus', customInlineTemplate: 'PromQL:up{a="${shard}"}' },
  }
  const { exception } = await endOf(configOf(nameless))
  assert.match(
    exception?.details.errors[0] ?? '',
    /\$\{shard\} in a query has no value: set it in "extendedScopeParams"\. There are scope, location/,
  )
})

test('an analysis goes on in the next process, and one that never ends is given up', async (t) => {
  const dataDir = createFolder('canaries')
  t.after(() => removeFolder(dataDir))
  const { settings, server } = await startMetrics(t, () => silence)
  const first = await startBackends(t, [canariesBackend], { settings, dataDir })
  const id = await startAnalysis(first, orderOf(configOf(latency)))
  const isAsked = () => server.requests.length > 0 || undefined
  await waitFor(isAsked, 'the first question')
  await first.stop()

  const second = await startBackends(t, [canariesBackend], { settings, dataDir })
  await waitFor(() => server.requests.length > 2 || undefined, 'the second attempt')
  await second.stop()
  server.answer(() => found(rangeOf(wave(10))))
  const third = await startBackends(t, [canariesBackend], { settings, dataDir })
  assert.equal((await endedAnalysis(third, id)).status, 'succeeded')

  server.answer(() => silence)
  const endless = await startAnalysis(third, orderOf(configOf(latency)))
  await waitFor(isAsked, 'its first question')
  await third.stop()
  for (let process = 2; process <= 3; process++) {
    server.answer(() => silence)
    const next = await startBackends(t, [canariesBackend], { settings, dataDir })
    await waitFor(isAsked, 'a further attempt')
    await next.stop()
  }
  const last = await startBackends(t, [canariesBackend], { settings, dataDir })
  const { exception } = await endedAnalysis(last, endless)
  assert.match(exception?.details.errors[0] ?? '', /was interrupted 3 times: the process ended/)
})

test('an analysis of several says whether its verdict is certain', async (t) => {
  const { settings } = await startMetrics(t, (query) =>
    found(rangeOf(wave(query.includes('web-canary') ? 30 : 10))),
  )
  const backends = await startBackends(t, [canariesBackend], { settings })
  const { canaryConfig, executionRequest } = orderOf(configOf(latency))
  const order = {
    canaryConfig,
    executionRequest: { ...executionRequest, progress: { done: 1, left: 5 } },
  }
  const { result } = await endedAnalysis(backends, await startAnalysis(backends, order))
  assert.equal(result?.judgeResult.score.classification, 'Fail')
  assert.equal(result?.outlook?.verdict, 'Fail')
  for (const progress of [{ done: 1 }, { done: -1, left: 2 }, { done: 1, left: 1e9 }]) {
    const wrong = { canaryConfig, executionRequest: { ...executionRequest, progress } }
    assert.equal((await backends.ask('kayenta', 'POST', '/canary', wrong)).status, 400)
  }
})

test('a cancelled analysis stays cancelled', async (t) => {
  const { settings, server } = await startMetrics(t, () => silence)
  const backends = await startBackends(t, [canariesBackend], { settings })
  const id = await startAnalysis(backends, orderOf(configOf(latency)))
  await waitFor(() => server.requests.length > 0 || undefined, 'the first question')
  assert.equal((await backends.ask('kayenta', 'PUT', `/pipelines/${id}/cancel`, '')).status, 200)
  server.release(found(rangeOf(wave(10))))
  assert.equal((await endedAnalysis(backends, id)).status, 'canceled')
})

test('orders that cannot be carried out are rejected', async (t) => {
  const { settings } = await startMetrics(t, () => found())
  const backends = await startBackends(t, [canariesBackend], { settings })
  const scopes = scopesOf('web-baseline', 'web-canary')
  const { classifier: _none, ...withoutScores } = configOf(latency)
  const tooHigh = {
    ...configOf(latency),
    classifier: { scoreThresholds: { pass: 900, marginal: 60 } },
  }
  const cases: [query: string, config: object, scopes: object, message: RegExp][] = [
    ['', tooHigh, scopes, /"pass" is 900: set it from 0 to 100/],
    ['', configOf(), scopes, /has no metrics/],
    ['', configOf(latency), {}, /needs the scope "default"/],
    ['', withoutScores, scopes, /"pass" and "marginal" are missing/],
    ['', configOf(latency), scopesOf('a', 'b', { end: start }), /end" must be after its start/],
    ['', configOf(latency), scopesOf('a', 'b', { start: 'yesterday' }), /must be a time such as/],
    ['', configOf(latency), scopesOf('', 'b'), /controlScope" has no "scope"/],
    ['', configOf(latency), scopesOf('a', 'b', { step: 0.01 }), /at least 1 second/],
    ['', configOf(latency), scopesOf('a', 'b', { step: 'often' }), /at least 1 second/],
    [
      '',
      configOf(latency),
      scopesOf('a', 'b', { location: 5 }),
      /"scopes.default.controlScope.location" must be a text/,
    ],
    [
      '',
      configOf(latency),
      scopesOf('a', 'b', { extendedScopeParams: [] }),
      /extendedScopeParams" must be an object of texts/,
    ],
    [
      '',
      { ...configOf(latency), metrics: [{ ...latency, groups: 5 }] },
      scopes,
      /metrics\.0\.groups: it must be a list/,
    ],
    ['', configOf(latency, latency), scopes, /another metric is named "latency"/],
    [
      '',
      configOf({ name: 'x', query: { type: 'datadog' } }),
      scopes,
      /is one of datadog, which has no account: add one to kayenta.datadog.accounts/,
    ],
    [
      'metricsAccountName=nowhere',
      configOf(latency),
      scopes,
      /no metrics account "nowhere". There are "server-groups", "prom"/,
    ],
  ]
  for (const [query, canaryConfig, given, message] of cases) {
    const body = orderOf(canaryConfig, given)
    const { status, body: answer } = await backends.ask('kayenta', 'POST', `/canary?${query}`, body)
    assert.equal(status, 400, String(message))
    assert.match((answer as { message: string }).message, message)
  }
})

test('an analysis is shown to its starter and to readers of its application', async (t) => {
  const { settings } = await startMetrics(t, () => found(rangeOf(wave(10))))
  const own = { name: 'own', authorizations: ['EXECUTE'] }
  const view = (name: string, granted: boolean) => ({
    ...{ name, admin: false, legacyFallback: false, allowAccessToUnknownApplications: false },
    ...{ accounts: [], roles: [], serviceAccounts: [], buildServices: [] },
    applications: granted ? [own, { name: 'web', authorizations: ['READ'] }] : [own],
  })
  const others = async (_service: string, { path }: { path: string }) => {
    const name = path.split('/').at(-1) ?? ''
    return { status: 200, body: view(name, name !== 'eve') }
  }
  const backends = await startBackends(t, [canariesBackend], {
    settings: { ...settings, authorization: true },
    others,
  })
  const as = (user: string) => ({ 'x-spinnaker-user': user })
  const body = orderOf(configOf(latency))
  const started = await backends.ask('kayenta', 'POST', '/canary?application=web', body, as('stan'))
  const { canaryExecutionId: id } = started.body as { canaryExecutionId: string }
  const read = (user: string, path: string) =>
    backends.ask('kayenta', 'GET', path, undefined, as(user))
  const done = await endedAnalysis(backends, id, as('stan'))
  for (const path of [`/canary/${id}`, `/metricSetPairList/${done.metricSetPairListId}`]) {
    assert.equal((await read('rita', path)).status, 200)
    assert.equal((await read('eve', path)).status, 403)
  }
  const stored = await backends.ask(
    'kayenta',
    'POST',
    '/canaryConfig',
    { ...configOf(latency), id: 'golden' },
    as('stan'),
  )
  assert.equal(stored.status, 200)
  const order = { scopes: scopesOf('web-baseline', 'web-canary') }
  const start = (user: string) =>
    backends.ask('kayenta', 'POST', '/canary/golden?application=web', order, as(user))
  assert.equal((await start('rita')).status, 200)
  assert.equal((await start('eve')).status, 403)
  assert.equal(
    (await backends.ask('kayenta', 'PUT', `/pipelines/${id}/cancel`, '', as('rita'))).status,
    403,
  )
})
