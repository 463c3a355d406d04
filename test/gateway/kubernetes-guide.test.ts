/** The guide about Kubernetes: its manifests and the Containerfile, followed by a process that is restricted as a pod is. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import test from 'node:test'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'
import { startCollector } from '../support/collector.ts'
import { createHome, startServe } from '../support/serve.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'
import { parseExposition } from '../telemetry/exposition.ts'

const docs = resolve(import.meta.dirname, '../../docs')
const guide = readFileSync(join(docs, 'guides/kubernetes.md'), 'utf8')
const containerfile = readFileSync(resolve(docs, '../Containerfile'), 'utf8')
/** What the image sets. */
const image = Object.fromEntries(
  [...(/^ENV (.*)$/m.exec(containerfile)?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [
    String(name),
    String(value),
  ]),
)

interface Probe {
  httpGet: { path: string; port: string }
}

interface Container {
  ports: { name: string; containerPort: number }[]
  env: { name: string; value?: string; valueFrom?: unknown }[]
  readinessProbe: Probe
  livenessProbe: Probe
  securityContext: { readOnlyRootFilesystem: boolean }
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[]
}

interface Workload {
  kind: 'Deployment' | 'StatefulSet'
  spec: {
    selector: { matchLabels: object }
    template: {
      metadata: { labels: object; annotations?: Record<string, string> }
      spec: { terminationGracePeriodSeconds: number; containers: Container[]; volumes?: { name: string }[] }
    }
    volumeClaimTemplates?: { metadata: { name: string } }[]
  }
}

interface Manifest {
  kind: string
  data?: Record<string, string>
  spec: {
    selector?: object
    /** Of a Service. */
    ports?: { name: string; port: number; targetPort: string }[]
    /** Of a ServiceMonitor. */
    endpoints?: { port: string; path: string }[]
  }
}

const manifests = [...guide.matchAll(/```yml\n(.*?)```/gs)].flatMap(([, block = '']) =>
  parseAllDocuments(block).map((document) => {
    assert.deepEqual(document.errors, [])
    return document.toJS() as Manifest
  }),
)
const ofKind = <T = Manifest>(kind: string) => manifests.filter((manifest) => manifest.kind === kind) as T[]
const workloads = [...ofKind<Workload>('Deployment'), ...ofKind<Workload>('StatefulSet')]
const fairleadYml = ofKind('ConfigMap')[0]?.data?.['fairlead.yml'] ?? ''

const containerOf = ({ spec }: Workload) => spec.template.spec.containers[0] ?? assert.fail('a container')

/** The environment of a container; secrets have some value. */
function environmentOf(workload: Workload): Record<string, string> {
  const { env } = containerOf(workload)
  const pod = env.map(({ name, value = 'a-secret-value' }) => [name, value.replace('$(POD_NAME)', 'gate-0')])
  return { ...image, ...Object.fromEntries(pod), KUBERNETES_SERVICE_HOST: '10.0.0.1' }
}

test('the guide has the manifests that its tests look at', () => {
  assert.deepEqual(
    manifests.map(({ kind }) => kind),
    ['ConfigMap', 'Deployment', 'Service', 'PodDisruptionBudget', 'ServiceMonitor', 'StatefulSet'],
  )
})

for (const workload of workloads) {
  const container = containerOf(workload)
  const { spec } = workload.spec.template

  test(`the ${workload.kind} fits its configuration`, async () => {
    const folder = createFolder('kubernetes')
    if (workload.kind === 'Deployment') writeFileSync(join(folder, 'fairlead.yml'), fairleadYml)
    const env = environmentOf(workload)
    const { config } = await loadConfig({ cwd: folder, env, homeDir: folder, systemDir: folder })

    assert.deepEqual(container.ports, [{ name: 'http', containerPort: config.http.port }])
    assert.notEqual(config.http.address, '127.0.0.1')
    assert.ok(spec.terminationGracePeriodSeconds * 1000 >= config.http.drainMs + config.http.shutdownGraceMs + 10_000)
    assert.ok(config.http.drainMs > 0)
    assert.equal(config.telemetry.tracing !== undefined, 'OTEL_EXPORTER_OTLP_ENDPOINT' in env)
    const reference = readFileSync(join(docs, 'reference/settings.md'), 'utf8')
    for (const { name } of container.env.filter((each) => each.name !== 'POD_NAME')) {
      assert.match(reference, new RegExp(`\`${name}\``), `${name} is the variable of a setting`)
    }

    assert.deepEqual(workload.spec.selector.matchLabels, workload.spec.template.metadata.labels)
    const volumes = [...(spec.volumes ?? []), ...(workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)]
    const mounts = container.volumeMounts.map(({ name }) => name)
    assert.deepEqual(mounts.toSorted(), volumes.map(({ name }) => name).sort())
    const writable = container.volumeMounts.filter(({ readOnly }) => !readOnly).map(({ mountPath }) => mountPath)
    assert.deepEqual(writable, [image['FAIRLEAD_DATA_DIR']])
    assert.deepEqual([config.backends.dataDir, image['HOME']], [...writable, ...writable])
    assert.equal(container.securityContext.readOnlyRootFilesystem, true)
  })
}

test('Service, ServiceMonitor and annotations lead to the metrics', () => {
  const [deployment] = ofKind<Workload>('Deployment')
  const { labels, annotations = {} } = deployment?.spec.template.metadata ?? assert.fail('a Deployment')
  const [service, monitor] = [...ofKind('Service'), ...ofKind('ServiceMonitor')]
  assert.deepEqual(service?.spec.selector, labels)
  assert.deepEqual(monitor?.spec.selector, { matchLabels: labels })
  const [endpoint] = monitor?.spec.endpoints ?? []
  const [port] = service?.spec.ports ?? []
  assert.deepEqual([endpoint?.port, port?.name, port?.targetPort], ['http', 'http', 'http'])
  assert.deepEqual([annotations['prometheus.io/path'], annotations['prometheus.io/port']], [endpoint?.path, String(port?.port)])
})

test('a process with read-only files answers probes until its end', async (t) => {
  const [workload = assert.fail('a StatefulSet')] = ofKind<Workload>('StatefulSet')
  const { readinessProbe, livenessProbe } = containerOf(workload)
  const collector = await startCollector(t)
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  const home = createHome(t)
  const data = join(home, 'volume')
  mkdirSync(data)
  const permissions = ['--permission', '--allow-worker', '--allow-net', '--allow-fs-read=*', `--allow-fs-write=${data}`]
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
        ...environmentOf(workload),
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
  const [endpoint] = ofKind('ServiceMonitor')[0]?.spec.endpoints ?? []
  parseExposition(await (await fetch(url + endpoint?.path)).text())
  const authorization = `Basic ${Buffer.from('admin:a-secret-value').toString('base64')}`
  assert.equal((await fetch(`${url}/networks`, { headers: { authorization } })).status, 200)
  assert.equal((await fetch(`${url}/applications`, { headers: { authorization } })).status, 200)

  gateway.signal('SIGTERM')
  await waitUntil(async () => (await statusOf(readinessProbe.httpGet.path)) === 503, 'the drain')
  assert.equal(await statusOf(livenessProbe.httpGet.path), 200)
  gateway.signal('SIGTERM')
  assert.deepEqual(await gateway.exited, { code: 0, signal: null }, gateway.errors())
  assert.doesNotMatch(JSON.stringify(gateway.log()) + gateway.errors(), /ERR_ACCESS_DENIED|EACCES|EROFS/)
  assert.ok(collector.spans.some(({ name }) => name === 'GET /networks'))
})
