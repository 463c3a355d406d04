/** Exchanges with sources of metrics that cannot be started here, as their documentation has them. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { canariesBackend } from '../../../packages/engine/canaries/canaries.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { startBackends } from '../../support/backends.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { type RecordedRequest, Reply, startUpstream } from '../../support/upstream.ts'
import { measureFirst } from './measure.ts'

const startMs = Date.parse('2026-01-31T08:00:00Z')
const from = startMs / 1000

interface Asked {
  readonly source: string
  readonly query: object
  readonly parameters?: object
  readonly step?: number
}

interface Exchange extends Asked {
  readonly title: string
  readonly account: (baseUrl: string) => object
  /** To the question about the baseline. */
  readonly answer: unknown
  /** What was sent, of the question about the baseline. */
  readonly sent: (request: RecordedRequest) => unknown
  readonly expected: unknown
  readonly control: unknown
}

const keys = { apiKey: 'k', applicationKey: 'a' }
const nrqlTimes = `SINCE ${from} UNTIL ${from + 300}`
const newRelic = (baseUrl: string) => ({
  apiKey: 'k',
  applicationKey: '77',
  endpoint: { baseUrl },
  defaultScopeKey: 'group',
})
const aws = { region: 'eu-west-1', awsAccessKeyId: 'AK', awsSecretAccessKey: 'SK' }

const exchanges: Exchange[] = [
  {
    title: 'Datadog, a metric with tags',
    source: 'datadog',
    account: (baseUrl) => ({ ...keys, endpoint: { baseUrl } }),
    query: { metricName: 'avg:system.cpu.user', tags: ['env:prod'] },
    answer: {
      status: 'ok',
      res_type: 'time_series',
      series: [
        {
          ...{
            metric: 'system.cpu.user',
            scope: 'group:web-v001',
            tag_set: ['zone:a'],
            interval: 60,
            length: 3,
            expression: 'x',
          },
          ...{ start: startMs, end: startMs + 239_000 },
          pointlist: [
            [startMs, 1.5],
            [startMs + 60_000, null],
            [startMs + 120_000, 2.5],
          ],
        },
      ],
    },
    sent: ({ path, query, headers }) => [
      path,
      new URLSearchParams(query).get('query'),
      new URLSearchParams(query).get('from'),
      headers['dd-api-key'],
      headers['dd-application-key'],
    ],
    expected: ['/api/v1/query', 'avg:system.cpu.user{web-v001,env:prod}', String(from), 'k', 'a'],
    control: [1.5, 'NaN', 2.5],
  },
  {
    title: 'Datadog, a count by a template',
    source: 'datadog',
    account: (baseUrl) => ({ ...keys, endpoint: { baseUrl } }),
    query: { customInlineTemplate: 'sum:hits{group:${scope}}.as_count()' },
    answer: { status: 'ok', series: [{ interval: 20, pointlist: [[startMs, 7]] }] },
    sent: ({ query }) => new URLSearchParams(query).get('query'),
    expected: 'sum:hits{group:web-v001}.as_count()',
    control: [7],
  },
  {
    title: 'New Relic over NerdGraph',
    source: 'newrelic',
    account: newRelic,
    query: { select: 'SELECT average(duration) FROM Transaction', q: "httpMethod = 'GET'" },
    parameters: { _location_key: 'region', tier: "o'clock" },
    answer: {
      data: {
        actor: {
          account: {
            nrql: {
              results: [
                { 'average.duration': 0.25, beginTimeSeconds: from, endTimeSeconds: from + 60 },
                {
                  'average.duration': null,
                  beginTimeSeconds: from + 60,
                  endTimeSeconds: from + 120,
                },
                {
                  'average.duration': 0.5,
                  beginTimeSeconds: from + 120,
                  endTimeSeconds: from + 180,
                },
              ],
            },
          },
        },
      },
    },
    sent: ({ method, path, headers, body }) => [
      method,
      path,
      headers['api-key'],
      JSON.parse(body).variables,
    ],
    expected: [
      'POST',
      '/graphql',
      'k',
      {
        id: 77,
        nrql:
          `SELECT average(duration) FROM Transaction TIMESERIES 60 seconds ${nrqlTimes} ` +
          "WHERE httpMethod = 'GET' AND tier LIKE 'o\\'clock' AND group LIKE 'web-v001' AND region LIKE 'east'",
      },
    ],
    control: [0.25, 'NaN', 0.5],
  },
  {
    title: 'New Relic with a percentile',
    source: 'newrelic',
    account: newRelic,
    query: {
      customInlineTemplate:
        "SELECT percentile(duration, 95) FROM Transaction WHERE g = '${scope}' SINCE ${startEpochSeconds}",
    },
    answer: {
      data: {
        actor: {
          account: {
            nrql: { results: [{ 'percentile.duration': { 95: 3 }, beginTimeSeconds: from }] },
          },
        },
      },
    },
    sent: ({ body }) => JSON.parse(body).variables.nrql,
    expected: `SELECT percentile(duration, 95) FROM Transaction WHERE g = 'web-v001' SINCE ${from}`,
    control: [3],
  },
  {
    title: 'New Relic over Insights',
    source: 'newrelic',
    account: (baseUrl) => newRelic(`${baseUrl}/insights`),
    query: { select: 'count(*)' },
    answer: {
      timeSeries: [0, 60].map((after) => ({
        ...{
          results: [{ count: 5 + after }],
          beginTimeSeconds: from + after,
          endTimeSeconds: from + after + 60,
          inspectedCount: 9,
        },
      })),
      metadata: { beginTimeMillis: startMs },
    },
    sent: ({ path, query, headers }) => [
      path,
      new URLSearchParams(query).get('nrql'),
      headers['x-query-key'],
    ],
    expected: [
      '/insights/v1/accounts/77/query',
      `SELECT count(*) FROM Transaction TIMESERIES 60 seconds ${nrqlTimes} WHERE group LIKE 'web-v001'`,
      'k',
    ],
    control: [5, 65],
  },
  {
    title: 'CloudWatch, a statistic',
    source: 'cloudwatch',
    account: (baseUrl) => ({ ...aws, endpoint: { baseUrl } }),
    query: {
      metricStat: {
        metric: {
          ...{ namespace: 'AWS/ApplicationELB', metricName: 'HTTPCode_Target_5XX_Count' },
          dimensions: [{ name: 'TargetGroup', value: 'tg/${scope}' }],
        },
        stat: 'Sum',
      },
    },
    step: 90,
    answer: {
      Messages: [],
      MetricDataResults: [
        {
          Id: 'q',
          Label: 'errors',
          StatusCode: 'Complete',
          Timestamps: [from, from + 120],
          Values: [4, 6],
        },
      ],
    },
    sent: ({ headers, body }) => [
      headers['x-amz-target'],
      /^AWS4-HMAC-SHA256 Credential=AK\/\d{8}\/eu-west-1\/monitoring\/aws4_request, SignedHeaders=content-type;host;/.test(
        headers.authorization ?? '',
      ),
      JSON.parse(body),
    ],
    expected: [
      'GraniteServiceVersion20100801.GetMetricData',
      true,
      {
        ...{ StartTime: from, EndTime: from + 300, ScanBy: 'TimestampAscending' },
        MetricDataQueries: [
          {
            Id: 'q',
            MetricStat: {
              Metric: {
                ...{ Namespace: 'AWS/ApplicationELB', MetricName: 'HTTPCode_Target_5XX_Count' },
                Dimensions: [{ Name: 'TargetGroup', Value: 'tg/web-v001' }],
              },
              Period: 120,
              Stat: 'Sum',
            },
          },
        ],
      },
    ],
    control: [4, 6],
  },
]

function orderOf({ source, query, step = 60, parameters: extendedScopeParams = {} }: Asked) {
  const times = {
    start: new Date(startMs).toISOString(),
    end: new Date(startMs + 300_000).toISOString(),
  }
  const side = (scope: string) => ({ scope, location: 'east', ...times, step, extendedScopeParams })
  return {
    canaryConfig: {
      metrics: [
        {
          name: 'm',
          groups: ['all'],
          query: { type: source, ...query },
          analysisConfigurations: {},
        },
      ],
      classifier: { groupWeights: { all: 100 }, scoreThresholds: { pass: 95, marginal: 75 } },
    },
    executionRequest: {
      scopes: { default: { controlScope: side('web-v001'), experimentScope: side('web-v002') } },
    },
  }
}

async function startWith(t: TestContext, source: string, account: object) {
  const accounts = { [source]: [{ name: 'own', ...account }] }
  return startBackends(t, [canariesBackend], { settings: { canaries: { keptDays: 1, accounts } } })
}

function isOfBaseline({ query, body }: RecordedRequest): boolean {
  return decodeURIComponent(query + body).includes('web-v001')
}

for (const exchange of exchanges) {
  test(`an analysis reads ${exchange.title}`, async (t) => {
    const server = await startUpstream(t, () => exchange.answer)
    const backends = await startWith(t, exchange.source, exchange.account(server.url))
    const values = await measureFirst(backends, orderOf(exchange))
    const asked = server.requests.filter(isOfBaseline)
    assert.equal(asked.length, 1)
    assert.deepEqual(exchange.sent(asked[0] as RecordedRequest), exchange.expected)
    assert.deepEqual(typeof values === 'string' ? values : values.control, exchange.control)
  })
}

test('rejections of a source reach the analysis', async (t) => {
  const cases: [
    source: string,
    account: object,
    query: object,
    answer: unknown,
    message: RegExp,
  ][] = [
    [
      'datadog',
      keys,
      { metricName: 'x' },
      new Reply(403, { errors: ['Forbidden'] }),
      /answered with 403: Forbidden\. Correct its credentials/,
    ],
    [
      'datadog',
      keys,
      { metricName: 'x' },
      { status: 'error', error: 'bad scope' },
      /Datadog rejects the query x\{web-v00\d\}: bad scope/,
    ],
    [
      'newrelic',
      newRelic(''),
      { select: 'count(*)' },
      { errors: [{ message: 'NRQL Syntax Error' }] },
      /NRQL Syntax Error/,
    ],
    [
      'newrelic',
      newRelic(''),
      { select: 'SELECT count(*) FROM T' },
      {
        data: {
          actor: {
            account: { nrql: { results: [{ facet: 'a', count: 1, beginTimeSeconds: from }] } },
          },
        },
      },
      /FACET has several series/,
    ],
    ['cloudwatch', aws, { metricStat: {} }, {}, /"metricStat" with a "metric"/],
    [
      'cloudwatch',
      aws,
      { customInlineTemplate: 'SUM(${scope})' },
      new Reply(400, { __type: 'ValidationError', message: 'Invalid metrics expression.' }),
      /CloudWatch\) answered with 400: Invalid metrics expression\./,
    ],
  ]
  for (const [source, account, query, answer, message] of cases) {
    const server = await startUpstream(t, () => answer)
    const backends = await startWith(t, source, { ...account, endpoint: { baseUrl: server.url } })
    assert.match(String(await measureFirst(backends, orderOf({ source, query }))), message)
    await backends.stop()
  }
})

test('credentials of an account may be references to its secrets', async (t) => {
  const server = await startUpstream(t, () => ({
    status: 'success',
    data: { resultType: 'matrix', result: [] },
  }))
  const own = {
    name: 'own',
    endpoint: { baseUrl: server.url },
    username: 'fairlead',
    password: 'secret:prometheus',
  }
  const settings = { canaries: { keptDays: 1, accounts: { prometheus: [own] } } }
  const backends = await startBackends(t, [definitionsBackend, canariesBackend], { settings })
  const order = orderOf({ source: 'prometheus', query: { customInlineTemplate: 'PromQL:up' } })
  assert.match(
    String(await measureFirst(backends, order)),
    /no secret "prometheus" of the account own/,
  )
  await backends.ask('front50', 'PUT', '/secrets/account/own/prometheus', { value: 'hunter-2222' })
  assert.deepEqual(await measureFirst(backends, order), { control: [], experiment: [] })
  assert.equal(
    server.requests[0]?.headers.authorization,
    `Basic ${Buffer.from('fairlead:hunter-2222').toString('base64')}`,
  )
})

test('an analysis reads files of a folder', async (t) => {
  const folder = createFolder('canary-files')
  t.after(() => removeFolder(folder))
  const rows = [0, 60, 180].flatMap((after) => [
    `${new Date(startMs + after * 1000).toISOString()},web-v001,east,${after}`,
    `${from + after},web-v002,east,7`,
    `${startMs + after * 1000},web-v001,west,99`,
  ])
  writeFileSync(
    join(folder, 'latency.csv'),
    ['timestamp,scope,location,value', ...rows, ''].join('\r\n'),
  )
  writeFileSync(join(folder, 'load.json'), JSON.stringify([{ timestamp: from + 60, value: 3 }]))
  const backends = await startWith(t, 'file', { folder })
  const read = (metricName: string) =>
    measureFirst(backends, orderOf({ source: 'file', query: { metricName } }))
  assert.deepEqual(await read('latency'), {
    control: [0, 60, 'NaN', 180],
    experiment: [7, 7, 'NaN', 7],
  })
  assert.deepEqual(await read('load'), { control: [3], experiment: [3] })
  assert.match(String(await read('disk')), /neither a file disk\.csv nor disk\.json/)
  assert.match(String(await read('../secret')), /must be the name of a file/)
  const names = await backends.ask(
    'kayenta',
    'GET',
    '/metadata/metricsService?metricsAccountName=own',
  )
  assert.deepEqual(names.body, [{ name: 'latency' }, { name: 'load' }])
})
