import assert from 'node:assert/strict'
import { get } from 'node:http'
import { test } from 'node:test'
import { Metrics } from '../../packages/base/telemetry/metrics.ts'
import { Browser } from '../login/browser.ts'
import { runGateway, startGateway } from '../support/gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { startRedis } from '../support/redis.ts'
import { brokenOff, Reply, silence, startUpstream } from '../support/upstream.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'
import { type Family, parseExposition } from './exposition.ts'

/** Values by name and labels, as they stand in the exposition: `name{a="b"}`. */
async function readMetrics(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/spectator/metrics`)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  )
}

test('metrics are served where Gate has them', async (t) => {
  const gateway = await startGateway(t, {
    security: { user: { name: 'me', password: 'correct-horse' } },
  })
  const open = await fetch(`${gateway}/spectator/metrics`, { redirect: 'manual' })
  assert.equal(open.status, 200)
  assert.match(String(open.headers.get('content-type')), /^text\/plain; version=0\.0\.4/)
  assert.match(await open.text(), /^# HELP fairlead_requests_total /m)
  assert.equal((await fetch(`${gateway}/metrics`)).status, 401)
  const authorization = `Basic ${Buffer.from('me:correct-horse').toString('base64')}`
  assert.equal((await fetch(`${gateway}/metrics`, { headers: { authorization } })).status, 200)
})

test('requests are counted by operation, method and status', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': '{"aws":[]}',
    'GET /instanceTypes': new Reply(418),
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  for (const path of ['/networks', '/networks', '/instanceTypes', '/nothing', '/networks?limit=1'])
    await (await fetch(gateway + path)).text()
  await fetch(`${gateway}/networks`, { method: 'HEAD' })
  const read = () => readMetrics(gateway)
  // An answer is counted once it is over, which its client may know first.
  const isCounted = async () =>
    (await read()).get('fairlead_request_duration_seconds_count{operation="allUsingGET"}') === 4
  await waitUntil(isCounted, 'four requests')

  const metrics = await read()

  const at = (name: string) => metrics.get(name)
  assert.equal(
    at('fairlead_requests_total{operation="allUsingGET",method="GET",status="200"}') ?? 0,
    3,
    [...metrics.keys()].join('\n'),
  )
  assert.equal(at('fairlead_requests_total{operation="none",method="GET",status="404"}'), 1)
  assert.equal(at('fairlead_response_bytes_total{operation="allUsingGET"}'), 30)
  assert.equal(at('fairlead_request_duration_seconds_count{operation="allUsingGET"}'), 4)
  assert.equal(
    at('fairlead_upstream_requests_total{service="clouddriver",method="GET",status="418"}'),
    1,
  )
  assert.ok(
    (at('fairlead_upstream_requests_total{service="clouddriver",method="GET",status="200"}') ??
      0) >= 4,
  )
  assert.ok((at('fairlead_upstream_response_bytes_total{service="clouddriver"}') ?? 0) >= 30)
  assert.ok((at('fairlead_upstream_duration_seconds_count{service="clouddriver"}') ?? 0) >= 5)
})

test('requests in flight are counted in and out, however they end', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': silence,
    'GET /instanceTypes': brokenOff,
  })
  const gateway = await startGateway(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    server: { servlet: { 'context-path': '/gate' } },
  })
  const untilInFlight = (requests: number, calls: number | undefined) =>
    waitUntil(async () => {
      const metrics = await readMetrics(gateway)
      return (
        metrics.get('fairlead_requests_in_flight') === requests &&
        metrics.get('fairlead_upstream_requests_in_flight{service="clouddriver"}') === calls
      )
    }, `${requests} requests and ${calls} calls in flight`)
  // The request that reads the metrics counts itself.
  assert.equal((await readMetrics(gateway)).get('fairlead_requests_in_flight'), 1)
  const waiting = [1, 2, 3].map(() => get(`${gateway}/networks`).on('error', () => {}))
  await untilInFlight(4, 3)

  for (const request of waiting) request.destroy()
  await fetch(`${gateway}/instanceTypes`)
  await fetch(gateway.replace('/gate', '/outside'))
  await fetch(`${gateway}/a%2Fb`)

  await untilInFlight(1, 0)
  const metrics = await readMetrics(gateway)
  assert.equal(
    metrics.get('fairlead_requests_total{operation="allUsingGET",method="GET",status="499"}'),
    3,
  )
})

/** Samples of one family by the value of their only label. */
function byLabel(
  families: Map<string, Family>,
  name: string,
  label: string,
): Record<string, number> {
  return Object.fromEntries(
    (families.get(name)?.samples ?? []).map(({ labels, value }) => [labels[label], value]),
  )
}

async function scrape(url: string): Promise<Map<string, Family>> {
  return parseExposition(await (await fetch(`${url}/spectator/metrics`)).text())
}

const firstValue = (families: Map<string, Family>, name: string) =>
  families.get(name)?.samples[0]?.value

const usualNames = [
  'process_cpu_seconds_total',
  'process_cpu_user_seconds_total',
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'process_open_fds',
  'process_max_fds',
  'nodejs_eventloop_lag_seconds',
  'nodejs_eventloop_lag_p99_seconds',
  'nodejs_heap_size_total_bytes',
  'nodejs_heap_size_used_bytes',
  'nodejs_heap_space_size_used_bytes',
  'nodejs_gc_duration_seconds',
  'nodejs_active_resources',
  'nodejs_version_info',
]

test('names follow Prometheus, and running executions of the engine are counted', async (t) => {
  const { url } = await runGateway(t, {}, { embedded: true, ownThread: true })
  const job = { type: 'wait', waitTime: 100_000 }
  const body = JSON.stringify({ application: 'web', description: 'a wait', job: [job] })
  const answer = await fetch(`${url}/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  assert.equal(answer.status, 200)

  const families = await waitFor(async () => {
    const found = await scrape(url)
    return byLabel(found, 'fairlead_executions', 'status')['RUNNING'] === 1 ? found : undefined
  }, 'the execution in the metrics')

  for (const name of usualNames) assert.ok(families.has(name), name)
  const own = [...families.keys()].filter(
    (name) => !usualNames.includes(name) && !/^(?:process|nodejs)_/.test(name),
  )
  for (const name of own) assert.match(name, /^fairlead_/)
  assert.deepEqual(families.get('fairlead_build_info')?.samples[0]?.labels, {
    version: '0.0.0-test',
  })
  assert.equal(firstValue(families, 'fairlead_embedded_up'), 1)
  assert.deepEqual(byLabel(families, 'fairlead_executions', 'status'), {
    NOT_STARTED: 0,
    RUNNING: 1,
    PAUSED: 0,
  })
  assert.deepEqual(Object.keys(byLabel(families, 'fairlead_engine_queue_age_seconds', 'queue')), [
    'due',
    'parked',
  ])
  assert.ok(!families.has('fairlead_redis_up'))
})

test('every metric is described, with the labels that it has', async () => {
  const metrics = new Metrics('1.2.3')
  const ended = (['execution', 'stage'] as const).map((level) => ({
    level,
    type: 'a',
    status: 'SUCCEEDED',
    count: 1,
  }))
  const accounts = [{ provider: 'local', account: 'dev', isReachable: true }]
  const engine = {
    executions: { RUNNING: 2 },
    queueAgesMs: { due: 1500 },
    ended,
    accounts,
    lease: { holder: 'a', term: 1 },
    storedBytes: { events: 5 },
    certificates: [{ host: 'a.example', state: 'valid', times: { notBeforeMs: 1, notAfterMs: 2 } }],
  }
  const delivered = {
    deploymentFrequency: { deployments: 3 },
    leadTime: { medianMs: 1500 },
    changeFailureRate: { share: 0.5 },
    timeToRestore: { medianMs: 2000 },
  }
  metrics.watch({
    upstreams: {
      pending: () => [['orca', { pending: 1, waiting: 1 }]],
      endpoints: () => [{ service: 'orca', instance: 1, circuit: 'open' }],
    },
    liveSessions: () => undefined,
    delivery: () => new Map([['shop', delivered]]),
    redis: { isReachable: () => false },
    embedded: { isListening: () => true, observe: async () => engine },
  })
  metrics.requestAnswered({ operation: 'a', method: 'GET', status: 200, seconds: 1, bytes: 1 })
  metrics.upstreamAnswered({
    service: 'orca',
    method: 'GET',
    status: undefined,
    durationMs: 1,
    bytes: 1,
  })
  metrics.callRetried('orca', 'retried')
  metrics.circuitOpened('orca')
  metrics.readShared('orca')
  metrics.requestShed('delay')
  metrics.requestLimited({ kind: 'user', enforced: true })
  metrics.loginEnded({ method: 'form', result: 'error' })
  metrics.loggedOut('form')
  metrics.rolesSynchronised('done')
  metrics.redisAnswered({ command: 'get', ok: false, durationMs: 2 })

  const families = parseExposition((await metrics.print()).text)

  const own = [...families.values()].filter(({ name }) => name.startsWith('fairlead_'))
  const found = own.map(({ name, type, help, samples }) => {
    const labels = Object.keys(samples[0]?.labels ?? {}).filter((label) => label !== 'le')
    return { name, type, labels: labels.sort(), help }
  })
  const described = metrics.descriptions.map(({ labels, ...rest }) => ({
    ...rest,
    labels: labels.toSorted(),
  }))
  assert.deepEqual(
    new Map(found.map((each) => [each.name, each])),
    new Map(described.map((each) => [each.name, each])),
  )
  assert.equal(firstValue(families, 'fairlead_engine_queue_age_seconds'), 1.5)
  assert.equal(firstValue(families, 'fairlead_delivery_lead_time_seconds'), 1.5)
  assert.equal(firstValue(families, 'fairlead_sessions'), Number.NaN)
})

test('a silent engine has no metrics', async () => {
  const metrics = new Metrics('')
  const states = [{ executions: { RUNNING: 1 }, queueAgesMs: { due: 0 } }, undefined]
  metrics.watch({
    upstreams: { pending: () => [], endpoints: () => [] },
    embedded: { isListening: () => false, observe: async () => states.shift() },
  })

  const [before, after] = [
    parseExposition((await metrics.print()).text),
    parseExposition((await metrics.print()).text),
  ]

  assert.equal(before.get('fairlead_executions')?.samples.length, 3)
  assert.deepEqual(after.get('fairlead_executions')?.samples, [])
  assert.equal(firstValue(after, 'fairlead_embedded_up'), 0)
})

test('logins are counted without labels of clients', async (t) => {
  const gateway = await startGateway(t, {
    security: { user: { name: 'mallory', password: 'correct-horse' } },
    server: { servlet: { 'context-path': '/gate' } },
  })
  const browser = new Browser(gateway)
  await browser.login('mallory', 'wrong')
  await browser.login('mallory', 'correct-horse')
  assert.equal((await browser.user())?.['username'], 'mallory')
  const other = new Browser(gateway)
  await other.login('mallory', 'correct-horse')
  await other.visit('/auth/logout')
  const authorization = `Basic ${Buffer.from('mallory:guess').toString('base64')}`
  assert.equal((await fetch(`${gateway}/version`, { headers: { authorization } })).status, 401)
  for (const path of ['/applications/mallory', '/mallory', '/health?mallory=1'])
    await fetch(gateway + path)
  const strange = await openRawConnection(t, gateway)
  strange.send(
    'PROPFIND /gate/mallory HTTP/1.1\r\nhost: mallory\r\nx-ratelimit-app: mallory\r\n\r\n',
  )
  await strange.next()

  const families = await waitFor(async () => {
    const found = await scrape(gateway)
    const methods = found
      .get('fairlead_requests_total')
      ?.samples.map(({ labels }) => labels['method'])
    return methods?.includes('_OTHER') ? found : undefined
  }, 'the last request in the metrics')

  const method = 'form'
  assert.deepEqual(
    families
      .get('fairlead_logins_total')
      ?.samples.map(({ labels, value }) => ({ ...labels, value })),
    [
      { method, result: 'refused', value: 2 },
      { method, result: 'success', value: 2 },
    ],
  )
  assert.deepEqual(byLabel(families, 'fairlead_logouts_total', 'method'), { [method]: 1 })
  assert.equal(firstValue(families, 'fairlead_sessions_started_total'), 2)
  assert.equal(firstValue(families, 'fairlead_sessions'), 1)
  const labels = [...families.values()].flatMap(({ samples }) =>
    samples.flatMap((sample) => Object.values(sample.labels)),
  )
  assert.deepEqual(
    labels.filter((value) => /mallory|PROPFIND/.test(value)),
    [],
  )
})

test('metrics show Redis commands and outages', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const gateway = await startGateway(t, {
    redis: { connection: redis.url },
    security: { user: { name: 'me', password: 'correct-horse' } },
  })
  const browser = new Browser(gateway)
  const isUp = async (expected: number) =>
    firstValue(await scrape(gateway), 'fairlead_redis_up') === expected
  await waitUntil(() => isUp(1), 'Redis')
  await browser.login('me', 'correct-horse')

  const before = await scrape(gateway)
  await redis.kill()
  await waitUntil(() => isUp(0), 'the end of Redis')
  await redis.start()
  await waitUntil(() => isUp(1), 'Redis again')
  const after = await scrape(gateway)

  const commands = before.get('fairlead_redis_commands_total')?.samples ?? []
  assert.ok(
    commands.some(({ labels, value }) => labels['result'] === 'ok' && value > 0),
    JSON.stringify(commands),
  )
  assert.ok(
    commands.every(({ labels }) => /^[a-z]+$/.test(labels['command'] ?? '')),
    JSON.stringify(commands),
  )
  const count = (families: Map<string, Family>) =>
    families
      .get('fairlead_redis_command_duration_seconds')
      ?.samples.find(({ name }) => name.endsWith('_count'))?.value ?? 0
  assert.ok(count(before) > 0)
  assert.equal(firstValue(before, 'fairlead_redis_reconnects_total'), 0)
  assert.ok((firstValue(after, 'fairlead_redis_reconnects_total') ?? 0) >= 1)
  assert.ok(!before.has('fairlead_sessions'))
})
