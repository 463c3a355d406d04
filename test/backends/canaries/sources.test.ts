import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { canariesBackend } from '../../../packages/engine/canaries/canaries.ts'
import type { ServiceCall } from '../../../packages/ports/service-call.ts'
import { startBackends } from '../../support/backends.ts'
import { runInBash } from '../../support/bash.ts'
import { needs } from '../../support/debian.ts'
import { runGateway } from '../../support/gateway.ts'
import { blocksOf, readGuide } from '../../support/guide.ts'
import { startPrometheus } from '../../support/prometheus.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { waitFor } from '../../support/wait-until.ts'
import { measureFirst } from './measure.ts'

const minute = 60_000
const beginMs = Date.parse('2026-01-31T08:00:00Z')

interface Asked {
  readonly query: object
  readonly control?: string
  readonly experiment?: string
  readonly startMs?: number
  readonly minutes?: number
  readonly step?: number
  readonly parameters?: object
}

function orderOf({
  query,
  control = 'web-v001',
  experiment = 'web-v002',
  startMs = beginMs,
  minutes = 5,
  ...more
}: Asked) {
  const times = {
    start: new Date(startMs).toISOString(),
    end: new Date(startMs + minutes * minute).toISOString(),
  }
  const side = (scope: string) => ({
    scope,
    location: 'east',
    ...times,
    step: more.step ?? 60,
    extendedScopeParams: more.parameters,
  })
  return {
    canaryConfig: {
      metrics: [
        {
          name: 'asked',
          groups: ['all'],
          scopeName: 'default',
          query,
          analysisConfigurations: { canary: {} },
        },
      ],
      templates: { group: 'group="${scope}"' },
      classifier: { groupWeights: { all: 100 }, scoreThresholds: { pass: 95, marginal: 75 } },
    },
    executionRequest: {
      scopes: { default: { controlScope: side(control), experimentScope: side(experiment) } },
    },
  }
}

test('metrics of server groups are summed and averaged in steps', async (t) => {
  let nowMs = beginMs + 5 * minute
  let keptFrom = beginMs
  const groups = ['web-v001', 'web-v002'].map((name) => ({
    name,
    account: 'dev',
    region: 'east',
    cloudProvider: 'local',
  }))
  const replicaSet = {
    name: 'replicaSet shop-v001',
    account: 'dev',
    region: 'east',
    cloudProvider: 'kubernetes',
  }
  const others = async (_service: string, { path }: ServiceCall) => {
    if (path === '/applications/web/serverGroups')
      return { status: 200, body: [...groups, replicaSet, { ...groups[0], region: 'west' }] }
    if (path.startsWith('/applications/')) return { status: 404, body: undefined }
    const [, , , metric, group] =
      /^\/cloudMetrics\/(\w+)\/dev\/(\w+)\/(\w+)\/statistics\?serverGroup=(.*)$/.exec(path) ?? []
    const first = Math.ceil((keptFrom - beginMs) / 10_000)
    const value = group === 'web-v002' && metric === 'errors' ? 1 : metric === 'errors' ? 0 : 10
    const datapoints = Array.from({ length: (nowMs - beginMs) / 10_000 - first }, (_, index) => ({
      timestamp: beginMs + (first + index) * 10_000 + 5000,
      [metric === 'latency' ? 'average' : 'sum']: value,
    }))
    return { status: metric === 'cpu' ? 404 : 200, body: { unit: 'Count', period: 10, datapoints } }
  }
  const backends = await startBackends(t, [canariesBackend], { now: () => nowMs, others })
  const of = (metricName: string, more: object = {}) =>
    measureFirst(backends, orderOf({ query: { type: 'serverGroups', metricName }, ...more }))
  assert.deepEqual(await of('requests'), {
    control: Array(5).fill(60),
    experiment: Array(5).fill(60),
  })
  assert.deepEqual(await of('errorPercent'), {
    control: Array(5).fill(0),
    experiment: Array(5).fill(10),
  })
  assert.deepEqual(await of('latency', { step: 150 }), { control: [10, 10], experiment: [10, 10] })
  assert.match(String(await of('cpu')), /no metric "cpu" of web-v00\d in dev\/east/)
  assert.match(
    String(await of('disk')),
    /one of requests, errors, errorPercent, latency, memory, cpu/,
  )
  assert.match(
    String(await of('requests', { experiment: 'web-v009' })),
    /no server group "web-v009" in east/,
  )

  assert.deepEqual(await of('memory', { control: 'replicaSet shop-v001' }), {
    control: Array(5).fill(10),
    experiment: Array(5).fill(10),
  })

  await t.test('what the provider no longer keeps is still known', async () => {
    nowMs += 15 * minute
    keptFrom = beginMs + 5 * minute
    assert.deepEqual(await of('requests', { minutes: 20 }), {
      control: Array(20).fill(60),
      experiment: Array(20).fill(60),
    })
  })
})

/** Two server groups whose latency differs by a half, and a counter that only one of them has. */
function historyFrom(startSeconds: number): string {
  const lines = ['# TYPE latency gauge', '# TYPE failures counter']
  for (let at = 0; at <= 3600; at += 15) {
    const noise = Math.sin(at / 50)
    lines.push(
      `latency{group="web-v001",region="east",server_pod="a"} ${20 + noise} ${startSeconds + at}`,
    )
    lines.push(
      `latency{group="web-v002",region="east",server_pod="b"} ${30 + noise} ${startSeconds + at}`,
    )
    lines.push(`failures_total{group="web-v002",region="east"} ${at} ${startSeconds + at}`)
  }
  return [...groupByFamily(lines), '# EOF', ''].join('\n')
}

/** OpenMetrics wants the lines of a family together. */
function groupByFamily(lines: readonly string[]): string[] {
  return ['latency', 'failures'].flatMap((family) =>
    lines.filter((line) => line.replace('# TYPE ', '').startsWith(family)),
  )
}

test('spin canary finds a slow server group in the history of Prometheus', async (t) => {
  const program = needs(t, 'prometheus')
  if (program === undefined) return
  const startMs = Math.floor(Date.now() / minute) * minute - 4 * 60 * minute
  const baseUrl = await startPrometheus(t, program, { history: historyFrom(startMs / 1000) })
  const { url } = await runGateway(
    t,
    {
      kayenta: {
        prometheus: {
          enabled: true,
          accounts: [{ name: 'prom', endpoint: { baseUrl }, supportedTypes: ['METRICS_STORE'] }],
        },
      },
    },
    { embedded: true, ownThread: true },
  )
  await waitFor(
    async () => (await fetch(`${baseUrl}/-/ready`).catch(() => undefined))?.ok || undefined,
    'Prometheus',
  )
  const send = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}/v2${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  const retro = async (query: object) => {
    const order = orderOf({ query, startMs, minutes: 60, step: 15 })
    const { status, body } = await send(
      'POST',
      '/canaries/canary?application=web&metricsAccountName=prom',
      order,
    )
    assert.equal(status, 200, JSON.stringify(body))
    const ended = await waitFor(async () => {
      const answer = await send('GET', `/canaries/canary/${body['canaryExecutionId']}`)
      return answer.body['complete'] === true ? answer.body : undefined
    }, 'the end of the analysis')
    assert.equal(ended['status'], 'succeeded', JSON.stringify(ended['exception']))
    const { judgeResult } = ended['result'] as {
      judgeResult: { score: { classification: string }; results: { classification: string }[] }
    }
    const list = await send('GET', `/canaries/metricSetPairList/${ended['metricSetPairListId']}`)
    const [pair] = list.body as unknown as {
      values: { control: unknown[]; experiment: unknown[] }
    }[]
    return {
      score: judgeResult.score.classification,
      metric: judgeResult.results[0]?.classification,
      pair,
    }
  }
  const type = { type: 'prometheus', serviceType: 'prometheus' }

  const filtered = await retro({
    ...type,
    metricName: 'latency',
    customFilterTemplate: 'group',
    labelBindings: ['region="east"'],
  })
  assert.deepEqual(
    [filtered.score, filtered.metric, filtered.pair?.values.control.length],
    ['Fail', 'High', 241],
  )
  const own = await retro({
    ...type,
    customInlineTemplate:
      'PromQL: latency{group=~"web-v00[12]",region="$\\{location}",server_pod="a"}',
  })
  assert.deepEqual([own.score, own.metric], ['Pass', 'Pass'])
  const rate = await retro({
    ...type,
    customInlineTemplate: 'PromQL:rate(failures_total{group="${scope}"}[1m])',
  })
  assert.deepEqual([rate.metric, rate.pair?.values.control[0]], ['Nodata', 'NaN'])

  const names = await send(
    'GET',
    '/canaries/metadata/metricsService?metricsAccountName=prom&filter=LATENCY',
  )
  assert.deepEqual(names.body, [{ name: 'latency' }])
  const runs = (await send('GET', '/canaries/web/executions?limit=2')).body as unknown as {
    status: string
  }[]
  assert.deepEqual(
    runs.map(({ status }) => status),
    ['succeeded', 'succeeded'],
  )
})

/** Accounts of which some work, and what the doctor finds out about them. */
async function manyAccounts(t: TestContext, folder: string) {
  const names = [{ 'uniques.metricName': ['a', 'b'] }]
  const newRelic = await startUpstream(t, () => ({
    data: { actor: { account: { nrql: { results: names } } } },
  }))
  const datadog = await startUpstream(t, () => new Reply(403, { errors: ['Forbidden'] }))
  const keys = { apiKey: 'k', applicationKey: '77' }
  const kayenta = {
    prometheus: { accounts: [{ name: 'away', endpoint: { baseUrl: 'http://127.0.0.1:1' } }] },
    datadog: { accounts: [{ name: 'locked', ...keys, endpoint: { baseUrl: datadog.url } }] },
    newrelic: { accounts: [{ name: 'relic', ...keys, endpoint: { baseUrl: newRelic.url } }] },
    file: { accounts: [{ name: 'files', folder }] },
  }
  const examined = [
    /^problem away: .*"away" \(Prometheus\) cannot be asked: 127.0.0.1:1 .*; correct its address .* kayenta.prometheus.accounts/,
    /^problem locked: .*"locked" \(Datadog\) answered with 403: Forbidden\. Correct its credentials, or allow them to read metrics/,
    /^ok relic: it names 2;/,
    /^ok files: it names 1;/,
  ]
  return { kayenta, examined }
}

interface Found {
  readonly subject: string
  readonly verdict: string
  readonly found: string
  readonly advice?: string
}

test('a judgment by hand works as the guide says, and the doctor tries its accounts', async (t) => {
  const folder = createFolder('judgment')
  t.after(() => removeFolder(folder))
  const [guide, [functions = '']] = [
    readGuide('canary-analysis'),
    blocksOf(readGuide('recipes'), 'bash'),
  ]
  const { kayenta, examined } = await manyAccounts(t, join(folder, 'measurements'))
  const password = 'correct-horse-battery'
  const { url } = await runGateway(
    t,
    { kayenta, fairlead: { admin: { password } } },
    { embedded: true },
  )
  const commands = [functions, ...blocksOf(guide, 'bash')]
    .join('\n')
    .replaceAll('http://localhost:8084', url)
  const { code, output, errors } = await runInBash(t, `set -eo pipefail\n${commands}`, {
    cwd: folder,
  })
  assert.equal(code, 0, `${output}\n${errors}`)
  assert.equal(output, `{"canaryConfigId":"shop-latency"}${blocksOf(guide, 'text')[0]}`)

  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  const { findings } = (await (
    await fetch(`${url}/doctor`, { headers: { authorization } })
  ).json()) as { findings: Found[] }
  const lines = findings.flatMap(({ subject, verdict, found, advice }) => {
    const [, name] = subject.split('Metrics account ')
    return name === undefined ? [] : [`${verdict} ${name}: ${found}; ${advice}`]
  })
  assert.equal(lines.length, examined.length)
  for (const wanted of examined)
    assert.ok(
      lines.some((line) => wanted.test(line)),
      `${wanted} in ${lines.join('\n')}`,
    )
})
