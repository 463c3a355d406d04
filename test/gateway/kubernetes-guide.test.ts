/** Manifests of deploy/kustomize, the guide about Kubernetes and the Containerfile, followed by a process that is restricted as a pod is. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import test from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../packages/app/config/config.ts'
import { startCollector } from '../support/collector.ts'
import { blocksOf, readGuide } from '../support/guide.ts'
import { createHome, startServe } from '../support/serve.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'
import { parseExposition } from '../telemetry/exposition.ts'

const root = resolve(import.meta.dirname, '../..')
const guide = readGuide('kubernetes')
const reference = readFileSync(join(root, 'docs/reference/settings.md'), 'utf8')
const containerfile = readFileSync(join(root, 'Containerfile'), 'utf8')
/** What the image sets. */
const image = Object.fromEntries(
  [...(/^ENV (.*)$/m.exec(containerfile)?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(
    ([, name, value]) => [String(name), String(value)],
  ),
)

/** Keys of the Secret, which are variables. */
const secrets = {
  gateway: ['REDIS_PASSWORD'],
  standalone: ['FAIRLEAD_ADMIN_PASSWORD'],
  apart: ['REDIS_PASSWORD', 'FAIRLEAD_BACKENDS_KEY', 'SPRING_SECURITY_USER_PASSWORD'],
}
type Layout = keyof typeof secrets
const password = 'a-secret-value-of-24-characters'

interface Probe {
  httpGet: { path: string; port: string }
}

interface Container {
  args?: string[]
  ports: { name: string; containerPort: number }[]
  readinessProbe?: Probe
  livenessProbe?: Probe
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[]
}

interface Workload {
  metadata: { name: string }
  spec: {
    selector: { matchLabels: object }
    template: {
      metadata: { labels: object; annotations?: Record<string, string> }
      spec: {
        terminationGracePeriodSeconds: number
        containers: [Container]
        volumes: { name: string }[]
      }
    }
    volumeClaimTemplates?: { metadata: { name: string } }[]
  }
}

interface Manifest {
  kind: string
  spec: {
    selector?: object
    /** Of a Service. */
    ports?: { name: string; port: number; targetPort: string }[]
    /** Of a ServiceMonitor. */
    endpoints?: { port: string; path: string }[]
  }
}

const textOf = (file: string) => readFileSync(join(root, 'deploy/kustomize', file), 'utf8')
const readManifests = (layout: string) =>
  parseAllDocuments(textOf(`${layout}/manifests.yml`)).map(
    (document) => document.toJS() as Manifest,
  )
const ofKind = <T = Manifest>(manifests: Manifest[], kind: string) =>
  manifests.filter((each) => each.kind === kind) as T[]
const workloadsOf = (layout: Layout) => {
  const manifests = readManifests(layout)
  return [
    ...ofKind<Workload>(manifests, 'Deployment'),
    ...ofKind<Workload>(manifests, 'StatefulSet'),
  ]
}
const [endpoint = assert.fail('an endpoint')] =
  ofKind(readManifests('monitoring'), 'ServiceMonitor')[0]?.spec.endpoints ?? []

/** The environment of a pod. */
function environmentOf(layout: Layout): Record<string, string> {
  return {
    ...image,
    ...Object.fromEntries(secrets[layout].map((name) => [name, password])),
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
  }
}

async function configOf(layout: Layout, options: { env?: object; servesBackends?: boolean } = {}) {
  const folder = createFolder('kubernetes')
  writeFileSync(join(folder, 'fairlead.yml'), textOf(`${layout}/fairlead.yml`))
  const env = { ...environmentOf(layout), ...options.env }
  const places = { cwd: folder, env, homeDir: folder, systemDir: folder }
  return (await loadConfig({ ...places, ...(options.servesBackends && { servesBackends: true }) }))
    .config
}

for (const layout of Object.keys(secrets) as Layout[]) {
  for (const workload of workloadsOf(layout)) {
    const { name } = workload.metadata
    const { spec } = workload.spec.template
    const [container] = spec.containers

    test(`the configuration of ${layout} fits ${name}`, async () => {
      const servesBackends = container.args !== undefined
      const config = await configOf(layout, { servesBackends })
      const { listener } = config.upstreams.embedded
      const { port, address } = servesBackends ? listener : config.http
      assert.deepEqual(container.args, servesBackends ? ['backends', '--standby'] : undefined)
      assert.deepEqual(container.ports, [
        { name: servesBackends ? 'backends' : 'http', containerPort: port },
      ])
      assert.equal(address, '0.0.0.0')
      assert.ok(
        spec.terminationGracePeriodSeconds * 1000 >=
          config.http.drainMs + config.http.shutdownGraceMs + 10_000,
      )
      assert.ok(config.http.drainMs > 0)
      for (const variable of secrets[layout])
        assert.match(reference, new RegExp(`\`${variable}\``), `${variable} is of a setting`)

      assert.deepEqual(workload.spec.selector.matchLabels, workload.spec.template.metadata.labels)
      const volumes = [
        ...spec.volumes,
        ...(workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata),
      ]
      const mounts = container.volumeMounts.map((mount) => mount.name)
      assert.deepEqual(mounts.toSorted(), volumes.map((volume) => volume.name).sort())
      const writable = container.volumeMounts
        .filter(({ readOnly }) => !readOnly)
        .map(({ mountPath }) => mountPath)
      assert.deepEqual(writable, [image['FAIRLEAD_DATA_DIR'], '/tmp'])
      assert.deepEqual([config.backends.dataDir, image['HOME']], [writable[0], writable[0]])
    })
  }

  test(`services and annotations of ${layout} lead to the metrics`, () => {
    const manifests = readManifests(layout)
    const [monitor] = ofKind(readManifests('monitoring'), 'ServiceMonitor')
    const gateways = workloadsOf(layout).filter(({ metadata }) => metadata.name === 'fairlead')
    const { labels, annotations = {} } =
      gateways[0]?.spec.template.metadata ?? assert.fail('gateways')
    const service = ofKind(manifests, 'Service').find(
      ({ spec }) => spec.ports?.[0]?.name === 'http',
    )
    assert.deepEqual(service?.spec.selector, labels)
    assert.deepEqual(monitor?.spec.selector, { matchLabels: labels })
    const [port] = service?.spec.ports ?? []
    assert.deepEqual([endpoint.port, port?.name, port?.targetPort], ['http', 'http', 'http'])
    assert.deepEqual(
      [annotations['prometheus.io/path'], annotations['prometheus.io/port']],
      [endpoint.path, String(port?.port)],
    )
  })
}

test('gateways find the engine and its standby by their addresses', async () => {
  const config = await configOf('apart')
  const [engine = assert.fail('an engine')] = ofKind<Workload>(
    readManifests('apart'),
    'StatefulSet',
  )
  const { replicas, serviceName } = engine.spec as unknown as {
    replicas: number
    serviceName: string
  }
  const pods = Array.from(
    { length: replicas },
    (_, index) => `http://${engine.metadata.name}-${index}.${serviceName}:7010`,
  )
  assert.deepEqual(config.upstreams.embedded.remote?.baseUrls, pods)
})

test('the alerts of the Prometheus Operator are those of Prometheus', () => {
  const [rule] = ofKind(readManifests('monitoring'), 'PrometheusRule')
  assert.deepEqual(
    rule?.spec,
    parse(readFileSync(join(root, 'deploy/monitoring/alerts.yml'), 'utf8')),
  )
})

test('the variables of the guide switch traces on', async () => {
  const [values = ''] = blocksOf(guide.slice(guide.indexOf('## Traces')), 'yml')
  const { env } = parse(values) as { env: { name: string; value?: string }[] }
  const pod = env.map(({ name, value = 'gate-0' }) => [
    name,
    value.replace('$(POD_NAME)', 'gate-0'),
  ])
  const config = await configOf('gateway', { env: Object.fromEntries(pod) })
  assert.notEqual(config.telemetry.tracing, undefined)
  for (const { name } of env.filter((each) => each.name !== 'POD_NAME'))
    assert.ok(reference.includes(`\`${name}\``), name)
})

test('a process with read-only files answers probes until its end', async (t) => {
  const [workload] = workloadsOf('standalone')
  const { readinessProbe, livenessProbe } = workload?.spec.template.spec.containers[0] ?? {}
  if (readinessProbe === undefined || livenessProbe === undefined) return assert.fail('probes')
  const collector = await startCollector(t)
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  const home = createHome(t)
  const data = join(home, 'volume')
  mkdirSync(data)
  const permissions = [
    '--permission',
    '--allow-worker',
    '--allow-net',
    '--allow-fs-read=*',
    `--allow-fs-write=${data}`,
  ]
  const gateway = startServe(
    t,
    {
      anonymous: { enabled: false },
      services: { clouddriver: { baseUrl: clouddriver.url } },
      server: { 'drain-ms': '1h' },
    },
    {
      home,
      embedded: true,
      nodeOptions: permissions,
      env: {
        ...environmentOf('standalone'),
        FAIRLEAD_DATA_DIR: data,
        HOME: '/nonexistent',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        SERVER_ADDRESS: '127.0.0.1',
      },
    },
  )
  const url = await gateway.listening
  const statusOf = async (path: string) => (await fetch(url + path)).status
  await waitUntil(async () => (await statusOf(readinessProbe.httpGet.path)) === 200, 'readiness')
  assert.equal(await statusOf(livenessProbe.httpGet.path), 200)
  parseExposition(await (await fetch(url + endpoint.path)).text())
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  assert.equal((await fetch(`${url}/networks`, { headers: { authorization } })).status, 200)
  assert.equal((await fetch(`${url}/applications`, { headers: { authorization } })).status, 200)

  gateway.signal('SIGTERM')
  await waitUntil(async () => (await statusOf(readinessProbe.httpGet.path)) === 503, 'the drain')
  assert.equal(await statusOf(livenessProbe.httpGet.path), 200)
  gateway.signal('SIGTERM')
  assert.deepEqual(await gateway.exited, { code: 0, signal: null }, gateway.errors())
  assert.doesNotMatch(
    JSON.stringify(gateway.log()) + gateway.errors(),
    /ERR_ACCESS_DENIED|EACCES|EROFS/,
  )
  assert.ok(collector.spans.some(({ name }) => name === 'GET /networks'))
})
