/** Traces, as an OpenTelemetry collector receives them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, loadConfig } from '../../packages/app/config/config.ts'
import type { TracingSettings } from '../../packages/base/telemetry/tracing-settings.ts'
import { type CollectedSpan, type Collector, startCollector } from '../support/collector.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { startServe } from '../support/serve.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { brokenOff, Reply, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const traceId = 'a'.repeat(32)
const parentId = 'b'.repeat(16)
const parent = { traceparent: `00-${traceId}-${parentId}-01`, tracestate: 'vendor=x1' }

const tracedBy = ({ url }: Collector, more: object = {}): GatewaySettings => ({
  otel: { exporter: { otlp: { endpoint: url } }, ...more },
})

const get = async (url: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url, { headers })
  await answer.arrayBuffer()
  return answer.status
}

const spanOf = (spans: readonly CollectedSpan[], name: string) =>
  spans.find((span) => span.name === name) ??
  assert.fail(`${name} among ${spans.map((span) => span.name)}`)

test('each request is a span with its calls', async (t) => {
  const collector = await startCollector(t)
  const clouddriver = await startUpstream(t, {
    'GET /networks': '{"aws":[]}',
    'GET /instanceTypes': new Reply(418),
    'GET /applications/secretapp/clusters/acc/web': [{ name: 'web' }],
    'GET /networks/aws': brokenOff,
  })
  const lines: Record<string, unknown>[] = []
  const gateway = await runGateway(
    t,
    {
      ...tracedBy(collector, { resource: { attributes: 'deployment.environment.name=te%20st' } }),
      services: { clouddriver: { baseUrl: clouddriver.url } },
      server: { servlet: { 'context-path': '/gate' } },
    },
    { log: (line) => void lines.push(line) },
  )
  const { url } = gateway
  assert.equal(
    await get(`${url}/networks?token=secretvalue`, { ...parent, baggage: 'user=mallory' }),
    200,
  )
  assert.equal(
    await get(`${url}/applications/secretapp/clusters/acc/web`, {
      'x-spinnaker-request-id': 'my-id',
    }),
    200,
  )
  assert.equal(
    await get(`${url}/instanceTypes`, { traceparent: 'nonsense', tracestate: 'x=y' }),
    418,
  )
  assert.equal(await get(`${url}/networks/aws`), 502)
  assert.equal(await get(`${url}/nothing/secretapp`), 404)
  assert.equal(await get(url.replace('/gate', '/outside/secretapp')), 404)
  for (const path of ['/health', '/livez', '/readyz', '/spectator/metrics']) await get(url + path)
  await gateway.stop()

  const { spans } = collector
  const network = spanOf(spans, 'GET /networks')
  const call = spans.find((span) => span.parentId === network.spanId)
  assert.deepEqual([network.traceId, network.parentId, network.kind], [traceId, parentId, 'server'])
  assert.deepEqual([call?.traceId, call?.kind, call?.name], [traceId, 'client', 'GET clouddriver'])
  assert.deepEqual(call?.attributes, {
    'http.request.method': 'GET',
    'peer.service': 'clouddriver',
    'http.response.status_code': 200,
  })
  assert.ok(network.start <= call.start && call.end <= network.end)
  const asked = clouddriver.requests.find(({ path }) => path === '/networks')
  assert.equal(asked?.headers['traceparent'], `00-${traceId}-${call.spanId}-01`)
  assert.equal(asked?.headers['tracestate'], 'vendor=x1')
  assert.equal(asked?.headers['baggage'], undefined)
  assert.equal(lines.find(({ path }) => path === '/networks')?.['traceId'], traceId)

  const cluster = spanOf(spans, 'GET /applications/{application}/clusters/{account}/{clusterName}')
  assert.equal(cluster.parentId, '')
  assert.notEqual(cluster.traceId, traceId)
  const { 'fairlead.operation': operation, ...attributes } = cluster.attributes
  assert.match(String(operation), /^\w+UsingGET/)
  assert.deepEqual(attributes, {
    'http.request.method': 'GET',
    'http.route': '/applications/{application}/clusters/{account}/{clusterName}',
    'http.response.status_code': 200,
    'url.scheme': 'http',
    'fairlead.request_id': 'my-id',
  })

  const teapot = spanOf(spans, 'GET /instanceTypes')
  assert.deepEqual([teapot.parentId, teapot.isError], ['', false])
  const refused = spans.find((span) => span.parentId === teapot.spanId)
  assert.deepEqual(
    [refused?.attributes['http.response.status_code'], refused?.isError],
    [418, true],
  )
  const broken = spanOf(spans, 'GET /networks/{cloudProvider}')
  assert.deepEqual(
    [broken.attributes['error.type'], broken.isError],
    ['UPSTREAM_UNREACHABLE', true],
  )
  const tries = spans.filter((span) => span.parentId === broken.spanId)
  assert.ok(
    tries.length > 0 &&
      tries.every((span) => span.isError && span.attributes['error.type'] === 'no_answer'),
  )

  assert.deepEqual(
    spans
      .filter((span) => span.kind === 'server' && span.attributes['http.route'] === undefined)
      .map(({ name }) => name),
    ['GET', 'GET'],
  )
  assert.equal(spans.filter((span) => span.kind === 'server').length, 6)
  assert.ok(
    spans.every(
      (span) => span.kind === 'server' || spans.some(({ spanId }) => spanId === span.parentId),
    ),
  )
  assert.deepEqual(collector.resource, {
    'deployment.environment.name': 'te st',
    'service.name': 'fairlead',
    'service.version': '0.0.0-test',
  })
  assert.doesNotMatch(collector.text(), /secretapp|secretvalue|mallory|anonymous/)
  assert.ok(collector.paths.every((path) => path === '/v1/traces'))
})

test('embedded back ends pass the trace on to what they call', async (t) => {
  const collector = await startCollector(t)
  const definition = { id: 'p1', application: 'web', name: 'main', stages: [] }
  const front50 = await startUpstream(t, ({ path }) => {
    if (path.startsWith('/v2/projects/')) return { config: { applications: [], clusters: [] } }
    if (path.endsWith('/get')) return definition
    return path.startsWith('/pipelines') ? [definition] : []
  })
  const orca = await startUpstream(t, { 'POST /orchestrate': { ref: '/pipelines/1' } })
  const gateway = await runGateway(t, {
    ...tracedBy(collector),
    services: {
      front50: { baseUrl: front50.url },
      orca: { baseUrl: orca.url },
      clouddriver: { enabled: true },
      echo: { enabled: true },
    },
  })
  const traceOf = (text: string | string[] | undefined) => String(text).split('-')[1]
  assert.equal(await get(`${gateway.url}/projects/prod/clusters`, parent), 200)
  const project = [...front50.requests, ...front50.background].find(
    ({ path }) => path === '/v2/projects/prod',
  )
  assert.equal(traceOf(project?.headers['traceparent']), traceId)
  assert.equal(project?.headers['tracestate'], 'vendor=x1')

  // With a body, which is read in other turns of the event loop.
  const other = 'c'.repeat(32)
  const started = await fetch(`${gateway.url}/pipelines/v2/web/main`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${other}-${parentId}-01` },
    body: '{"type":"manual"}',
  })
  assert.ok(started.ok, await started.text())
  await waitUntil(() => orca.requests.some(({ path }) => path === '/orchestrate'), 'the start')
  const orchestrate = orca.requests.find(({ path }) => path === '/orchestrate')
  assert.equal(traceOf(orchestrate?.headers['traceparent']), other)
})

test('traces need an endpoint', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  const settings = { services: { clouddriver: { baseUrl: clouddriver.url } } }
  const { url } = await runGateway(t, { ...settings, otel: { service: { name: 'x' } } })
  assert.equal(await get(`${url}/networks`, parent), 200)
  const [asked] = clouddriver.requests
  assert.deepEqual(
    [asked?.headers['traceparent'], asked?.headers['tracestate']],
    [undefined, undefined],
  )

  const report = `process.on('exit', () => {
    const { loaded } = globalThis
    console.error('loaded:' + loaded.filter((url) => /\\/open-tracing\\b/.test(url)).length)
  })
  globalThis.loaded = []
  const { registerHooks } = await import('node:module')
  registerHooks({ load: (url, context, next) => { globalThis.loaded.push(url); return next(url, context) } })`
  const preload = `data:text/javascript,${encodeURIComponent(report)}`
  const collector = await startCollector(t)
  for (const [env, loads] of [
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SDK_DISABLED: 'true' }, false],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_SERVICE_NAME: 'gate',
        OTEL_BSP_SCHEDULE_DELAY: '50',
      },
      true,
    ],
  ] as const) {
    const gateway = startServe(t, settings, { env, nodeOptions: ['--import', preload] })
    await get(`${await gateway.listening}/networks`)
    if (loads) await waitUntil(() => collector.spans.length >= 2, 'spans of a gateway that runs')
    gateway.signal('SIGTERM')
    assert.equal((await gateway.exited).code, 0)
    const count = Number(/^loaded:(\d+)$/m.exec(gateway.errors())?.[1])
    assert.equal(count > 0, loads, gateway.errors())
  }
  assert.equal(collector.resource['service.name'], 'gate')
})

test('a failing collector harms no request', async (t) => {
  const collector = await startCollector(t)
  collector.status = 400
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  const lines: Record<string, unknown>[] = []
  const warnings = () => lines.filter(({ msg }) => String(msg).startsWith('the collector'))
  const gateway = await runGateway(
    t,
    {
      ...tracedBy(collector, { bsp: { schedule: { delay: 10 } } }),
      services: { clouddriver: { baseUrl: clouddriver.url } },
    },
    { log: (line) => void lines.push(line) },
  )
  for (let sent = 0; sent < 3; sent++) {
    assert.equal(await get(`${gateway.url}/networks`), 200)
    await waitUntil(() => collector.headers.length > sent, 'a transmission')
  }
  await waitUntil(() => warnings().length > 0, 'the warning')
  assert.equal(warnings().length, 1)
  assert.doesNotMatch(JSON.stringify(warnings()), /v1.traces/)

  collector.status = undefined
  assert.equal(await get(`${gateway.url}/networks`), 200)
  await gateway.stop()
  assert.match(
    String(warnings().at(-1)?.['msg']),
    /did not answer in time; the last spans are lost/,
  )
})

/** The settings that standard variables give. */
async function settingsOf(env: Record<string, string>): Promise<TracingSettings | undefined> {
  const folder = createFolder('tracing')
  const { config } = await loadConfig({ cwd: folder, homeDir: folder, systemDir: folder, env })
  return config.telemetry.tracing
}

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }

test('the standard variables of OpenTelemetry count', async () => {
  assert.equal(await settingsOf({ OTEL_SERVICE_NAME: 'x' }), undefined)
  assert.equal(await settingsOf({ ...endpoint, OTEL_SDK_DISABLED: 'true' }), undefined)
  assert.equal(await settingsOf({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }), undefined)
  assert.equal(await settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }), undefined)
  assert.deepEqual(await settingsOf(endpoint), {
    url: 'http://collector:4318/v1/traces',
    headers: {},
    timeoutMs: 10_000,
    compression: 'none',
    resource: { 'service.name': 'fairlead' },
    sampler: { kind: 'on', ratio: 1, followsParent: true },
    propagators: ['tracecontext'],
    delayMs: 5000,
  })
  const all = await settingsOf({
    ...endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://other/path',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%2Cb, x-tenant = one',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-tenant=two=2',
    OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=gate,k8s.pod.name=gate-0',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_PROPAGATORS: 'baggage,tracecontext',
  })
  assert.deepEqual(all, {
    url: 'https://other/path',
    headers: { 'api-key': 'a,b', 'x-tenant': 'two=2' },
    timeoutMs: 2500,
    compression: 'none',
    resource: { 'service.name': 'gate', 'k8s.pod.name': 'gate-0' },
    sampler: { kind: 'ratio', ratio: 0.25, followsParent: false },
    propagators: ['tracecontext', 'baggage'],
    delayMs: 5000,
  })
})

for (const [name, value] of [
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'nonsense'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz'],
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_TRACES_SAMPLER_ARG', '7'],
  ['OTEL_TRACES_SAMPLER_ARG', 'a tenth'],
  ['OTEL_PROPAGATORS', 'b3'],
] as const) {
  test(`${name}=${value} is a mistake`, async () => {
    await assert.rejects(
      settingsOf({
        ...endpoint,
        ...(name.endsWith('_ARG') && { OTEL_TRACES_SAMPLER: 'traceidratio' }),
        [name]: value,
      }),
      (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        assert.equal(error.problems.length, 1)
        assert.equal(error.problems[0]?.origin?.source, `environment variable ${name}`)
        return true
      },
    )
  })
}

test('variables for other programs are ignored without traces', async () => {
  const foreign = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_EXPORTER: 'zipkin',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: 'endpoint=http://jaeger',
    OTEL_PROPAGATORS: 'b3multi',
    OTEL_EXPORTER_OTLP_HEADERS: 'nonsense',
  }
  assert.equal(await settingsOf(foreign), undefined)
  assert.equal(await settingsOf({ ...foreign, ...endpoint, OTEL_SDK_DISABLED: 'true' }), undefined)
})

test('samplers decide what is sent, and services learn of it', async (t) => {
  const collector = await startCollector(t)
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  const gateway = await runGateway(t, {
    ...tracedBy(collector, {
      traces: { sampler: 'parentbased_always_off' },
      propagators: 'tracecontext,baggage',
    }),
    services: { clouddriver: { baseUrl: clouddriver.url } },
  })
  await get(`${gateway.url}/networks`, { baggage: 'a=b' })
  await get(`${gateway.url}/networks`, parent)
  await gateway.stop()
  const [first, second] = clouddriver.requests
  assert.match(String(first?.headers['traceparent']), /^00-\w{32}-\w{16}-00$/)
  assert.equal(first?.headers['baggage'], 'a=b')
  assert.match(String(second?.headers['traceparent']), new RegExp(`^00-${traceId}-\\w{16}-01$`))
  assert.deepEqual([...new Set(collector.spans.map((span) => span.traceId))], [traceId])
})
