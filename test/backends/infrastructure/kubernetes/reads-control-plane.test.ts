import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import {
  fieldAt,
  fieldOf,
  type JsonObject,
  objectsOf,
} from '../../../../packages/base/json/values.ts'
import { needs } from '../../../support/debian.ts'
import { networkPolicy, service, workload } from '../../../support/kubernetes-objects.ts'
import { type Operations, startOperations } from '../../../support/kubernetes-operations.ts'
import { startPrometheus } from '../../../support/prometheus.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const shop = '/applications/shop'

/** Of the test's namespace: others have the same application. */
function listOf({ infrastructure, namespace }: Operations, path: string): Promise<JsonObject[]> {
  return infrastructure
    .read<JsonObject[]>(path)
    .then((listed) => listed.filter(({ region }) => region === namespace))
}

function untilListed(
  { infrastructure, namespace }: Operations,
  path: string,
  holds: (listed: readonly JsonObject[]) => boolean,
): Promise<JsonObject[]> {
  const own = (listed: JsonObject[]) => listed.filter(({ region }) => region === namespace)
  return infrastructure.until<JsonObject[]>(path, (listed) => holds(own(listed))).then(own)
}

function isUp(count: number): (groups: readonly JsonObject[]) => boolean {
  return (groups) => groups.some((group) => fieldAt(group, 'instanceCounts', 'up') === count)
}

test('kubernetes-scenario 114, 115, 116, 125: a deployment is a manager with server groups', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { infrastructure, namespace, deploy } = operations
  await deploy([workload('Deployment', 'web', { replicas: 2, namespace })])

  const [group] = await untilListed(operations, `${shop}/serverGroups`, isUp(2))

  const name = String(group?.['name'])
  assert.match(name, /^replicaSet web-/)
  assert.deepEqual(
    ['cluster', 'type', 'cloudProvider', 'region', 'application'].map((field) => group?.[field]),
    ['deployment web', 'kubernetes', 'kubernetes', namespace, 'shop'],
  )
  assert.deepEqual(group?.['serverGroupManagers'], [
    { account: 'k8s', location: namespace, name: 'web' },
  ])
  assert.deepEqual(
    [fieldAt(group, 'capacity', 'desired'), fieldAt(group, 'buildInfo', 'images')],
    [2, ['app:1']],
  )
  const pods = await operations.names('pods')
  assert.deepEqual(
    objectsOf(group?.['instances'])
      .map((instance) => instance['name'])
      .sort(),
    pods.map((pod) => `pod ${pod}`).sort(),
  )

  const [manager] = await listOf(operations, `${shop}/serverGroupManagers`)
  assert.deepEqual(
    ['name', 'kind', 'account', 'namespace', 'displayName'].map((field) => manager?.[field]),
    ['deployment web', 'deployment', 'k8s', namespace, 'web'],
  )
  assert.equal(fieldAt(manager, 'moniker', 'cluster'), 'deployment web')
  const [owned] = objectsOf(manager?.['serverGroups'])
  assert.deepEqual([owned?.['name'], fieldAt(owned, 'moniker', 'sequence')], [name, 1])

  const details = await infrastructure.read(
    `${shop}/serverGroups/k8s/${namespace}/${encodeURIComponent(name.toLowerCase())}`,
  )
  assert.deepEqual(
    [details['kind'], details['namespace'], typeof details['createdTime']],
    ['replicaSet', namespace, 'number'],
  )
  assert.deepEqual(
    [details['displayName'], objectsOf(details['instances']).length],
    [name.split(' ')[1], 2],
  )
  assert.deepEqual(Object.keys(details['capacity'] as object), ['desired'])

  const clusters = await infrastructure.read(`${shop}/clusters`)
  assert.ok((clusters['k8s'] as string[]).includes('deployment web'))
  const [cluster] = await infrastructure.read<JsonObject[]>(`${shop}/clusters/k8s/deployment%20web`)
  assert.ok(objectsOf(cluster?.['serverGroups']).some((each) => each['name'] === name))
})

test('kubernetes-scenario 117, 118: an instance has health and logs', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { infrastructure, namespace, deploy, plane } = operations
  await deploy([
    workload('Deployment', 'web', { namespace }),
    workload('Deployment', 'ill', { namespace, image: 'unready:1' }),
  ])
  await waitUntil(async () => {
    const pods = await plane.api.list(operations.path('pods'))
    return pods.length === 2 && pods.every(({ status }) => status['phase'] === 'Running')
  }, 'running pods')
  const podNamed = async (prefix: string) =>
    (await operations.names('pods')).find((pod) => pod.startsWith(prefix)) ?? ''
  const pathOf = (pod: string) => `/instances/k8s/${namespace}/${encodeURIComponent(`pod ${pod}`)}`
  const well = await podNamed('web-')

  const instance = await infrastructure.until(
    pathOf(well),
    ({ healthState }) => healthState === 'Up',
  )

  assert.deepEqual([instance['zone'], instance['humanReadableName']], [namespace, `pod ${well}`])
  assert.equal(objectsOf(instance['health'])[0]?.['type'], 'kubernetes/pod')
  await infrastructure.until(
    pathOf(await podNamed('ill-')),
    ({ healthState }) => healthState === 'Down',
  )
  assert.equal((await infrastructure.ask('GET', pathOf('none'))).status, 404)
  const { output } = await infrastructure.read(`${pathOf(well)}/console?provider=kubernetes`)
  const [log] = objectsOf(output)
  assert.equal(log?.['name'], 'main')
  assert.match(String(log?.['output']), /main is ready/)
  const gone = await infrastructure.read(`${pathOf('none')}/console?provider=kubernetes`)
  assert.deepEqual(
    objectsOf(gone['output']).map(({ name }) => name),
    ['Error'],
  )
})

test('kubernetes-scenario 119, 120: services and network policies are listed', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { infrastructure, namespace, deploy } = operations
  const policy = networkPolicy('shop-np', [{ port: 80 }, { port: 'http' }], { namespace })
  const front = service('front', { app: 'api' }, { namespace })
  await deploy([
    front,
    service('bare', { app: 'none' }, { namespace }),
    policy,
    workload('ReplicaSet', 'api', { namespace }),
  ])

  const balancers = await untilListed(operations, `${shop}/loadBalancers`, (listed) =>
    listed.some(
      (balancer) =>
        objectsOf(fieldAt(objectsOf(balancer['serverGroups'])[0], 'instances')).length > 0,
    ),
  )

  assert.deepEqual(
    balancers.map(({ name, serverGroups }) => [
      name,
      objectsOf(serverGroups).map((group) => [group['name'], group['isDisabled']]),
    ]),
    [
      ['service bare', []],
      ['service front', [['replicaSet api-v000', false]]],
    ],
  )
  const index = await infrastructure.read('/securityGroups')
  assert.deepEqual(
    objectsOf(fieldAt(index, 'k8s', 'kubernetes', namespace)).map(({ id }) => id),
    ['networkPolicy shop-np'],
  )
})

test('kubernetes-scenario 34: what other tools create is listed once it claims an application', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, namespace } = operations

  for (const name of ['shop-main-v003', 'shop-other']) {
    await plane.api.create(path('deployments'), workload('Deployment', name, { namespace }))
  }
  const annotations = { 'moniker.spinnaker.io/application': 'shop' }
  await plane.api.patch(path('deployments/shop-main-v003'), { metadata: { annotations } })

  const managers = await untilListed(
    operations,
    `${shop}/serverGroupManagers`,
    ({ length }) => length > 0,
  )
  assert.deepEqual(
    managers.map((manager) =>
      ['app', 'cluster', 'sequence'].map((field) => fieldAt(manager, 'moniker', field)),
    ),
    [['shop', 'shop-main', 3]],
  )
})

test('kubernetes-scenario 122: lists show an operation as soon as it has completed', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { namespace, deploy, run } = operations
  const names = async () =>
    (await listOf(operations, `${shop}/serverGroups`)).map(({ name }) => name)
  assert.deepEqual(await names(), [])

  for (const version of ['api-v000', 'api-v001', 'api-v002']) {
    await deploy([workload('ReplicaSet', 'api', { namespace, replicas: 0 })])
    assert.ok((await names()).includes(`replicaSet ${version}`), version)
  }
  await run('deleteManifest', {
    manifestName: 'replicaSet api-v001',
    location: namespace,
    options: { cascading: true },
  })
  assert.deepEqual(await names(), ['replicaSet api-v000', 'replicaSet api-v002'])
})

test('kubernetes-scenario 123: changes by other tools are seen', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { infrastructure, namespace, deploy, plane, path } = operations
  await deploy([workload('ReplicaSet', 'api', { namespace, replicas: 0 })])
  await listOf(operations, `${shop}/serverGroups`)

  await plane.api.patch(path('replicasets/api-v000'), { metadata: { labels: { tier: 'web' } } })

  const manifest = await infrastructure.read(`/manifests/k8s/${namespace}/replicaSet%20api-v000`)
  assert.equal(fieldAt(manifest, 'manifest', 'metadata', 'labels', 'tier'), 'web')
  await untilListed(
    operations,
    `${shop}/serverGroups`,
    ([group]) => fieldOf(group?.['labels'], 'tier') === 'web',
  )
})

test('a server group has metrics of its pods and of a Prometheus', async (t) => {
  const program = needs(t, 'prometheus')
  if (program === undefined) return
  const place = { namespace: '' }
  let scrapes = 0
  const counting = createServer(({ url }, response) => {
    const print = url === '/ingress' ? ingressMetrics : meshMetrics
    response
      .setHeader('content-type', 'text/plain; version=0.0.4')
      .end(print(place.namespace, ++scrapes))
  }).listen(0, '127.0.0.1')
  t.after(() => counting.close())
  await once(counting, 'listening')
  const url = new URL(`http://127.0.0.1:${(counting.address() as AddressInfo).port}/metrics`)
  // As a ServiceMonitor reads the controller.
  const ofController = { namespace: 'ingress-nginx', service: 'ingress-nginx-controller-metrics' }
  const targets = [
    { job: 'mesh', url },
    { job: 'ingress', url: new URL('/ingress', url), labels: ofController },
  ]
  const baseUrl = await startPrometheus(t, program, { targets })
  const operations = await startOperations(t, {
    account: { prometheus: { baseUrl, queries: { cpu: 'absent(nothing)' } } },
  })
  if (operations === undefined) return
  const { infrastructure, namespace, deploy, plane } = operations
  place.namespace = namespace
  await serveUsage(plane)
  await deploy([
    service('web-front', { app: 'web' }, { namespace }),
    workload('ReplicaSet', 'web', { namespace, replicas: 2 }),
  ])
  await untilListed(operations, `${shop}/serverGroups`, isUp(2))
  for (const name of await operations.names('pods')) {
    await plane.api.create(`/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`, {
      apiVersion: 'metrics.k8s.io/v1beta1',
      kind: 'PodMetrics',
      metadata: { name },
      containers: [{ name: 'main', usage: { cpu: '250m', memory: '3Mi' } }],
    })
  }
  const pathOf = (metric: string) =>
    `/cloudMetrics/kubernetes/k8s/${namespace}/${metric}/statistics?serverGroup=${encodeURIComponent('replicaSet web-v000')}`
  const latest = async (metric: string) => {
    const { datapoints } = await infrastructure.until(
      pathOf(metric),
      (read) => objectsOf(read['datapoints']).length > 0,
    )
    return objectsOf(datapoints).at(-1)
  }

  assert.equal((await latest('memory'))?.['average'], 6 * 1024 ** 2)
  assert.equal((await latest('cpu'))?.['average'], 1, 'a query of the account')
  /** As counted in the same moment. */
  const traffic = async () => {
    const [requests, errors] = [
      Number((await latest('requests'))?.['sum']),
      Number((await latest('errors'))?.['sum']),
    ]
    return { share: errors / requests, latencyMs: Number((await latest('latency'))?.['average']) }
  }
  const isNear = (one: number, other: number) => Math.abs(one - other) < 0.01
  const inMesh = await traffic()
  assert.ok(isNear(inMesh.share, 1 / 5) && isNear(inMesh.latencyMs, 40), JSON.stringify(inMesh))
  assert.equal((await infrastructure.ask('GET', pathOf('constructor'))).status, 404)
  const [account] = await infrastructure.read<JsonObject[]>('/credentials?expand=true')
  assert.deepEqual(account?.['metrics'], ['requests', 'errors', 'latency', 'memory', 'cpu'])

  infrastructure.reload([
    {
      name: 'k8s',
      kubeconfigContents: plane.kubeconfig(),
      prometheus: { baseUrl, source: 'ingress-nginx' },
    },
  ])
  await waitUntil(async () => {
    const { share, latencyMs } = await traffic()
    return isNear(share, 1 / 4) && isNear(latencyMs, 50)
  }, 'what the ingress counts')
})

/** The API server itself answers in place of what measures. */
async function serveUsage({ api }: Operations['plane']): Promise<void> {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: 'pods.metrics.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group: 'metrics.k8s.io',
      scope: 'Namespaced',
      names: { plural: 'pods', singular: 'pod', kind: 'PodMetrics' },
      versions: [{ name: 'v1beta1', served: true, storage: true, schema }],
    },
  })
  const path = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods'
  await waitUntil(async () => (await api.call(path)).status === 200, 'usage that is served')
}

/** As a mesh counts: of five requests to two pods one fails, and all take 40 ms; requests to another server group take 9 ms. */
function meshMetrics(namespace: string, count: number): string {
  const series = [
    ['web-v000-aaaaa', 200, 3, 40],
    ['web-v000-bbbbb', 200, 1, 40],
    ['web-v000-bbbbb', 503, 1, 40],
    ['web-v001-ccccc', 500, 9, 9],
  ] as const
  return series
    .flatMap(([pod, code, requests, latency]) => {
      const labels = `{reporter="destination",namespace="${namespace}",pod="${pod}",response_code="${code}"}`
      return [
        `istio_requests_total${labels} ${requests * count}`,
        `istio_request_duration_milliseconds_sum${labels} ${requests * count * latency}`,
        `istio_request_duration_milliseconds_count${labels} ${requests * count}\n`,
      ]
    })
    .join('\n')
}

/** As ingress-nginx counts: of eight requests to the service two fail, and all take 50 ms; those to another one take a second. */
function ingressMetrics(namespace: string, count: number): string {
  const series = [
    ['web-front', 200, 6, 0.05],
    ['web-front', 503, 2, 0.05],
    ['web-front-2', 500, 9, 1],
  ] as const
  const controller =
    'canary="",controller_class="k8s.io/ingress-nginx",controller_namespace="ingress-nginx",controller_pod="controller-0",host="shop.test"'
  return series
    .flatMap(([name, status, requests, seconds]) => {
      const labels = `{${controller},ingress="shop",method="GET",namespace="${namespace}",path="/",service="${name}",status="${status}"}`
      return [
        `nginx_ingress_controller_requests${labels} ${requests * count}`,
        `nginx_ingress_controller_request_duration_seconds_sum${labels} ${requests * count * seconds}`,
        `nginx_ingress_controller_request_duration_seconds_count${labels} ${requests * count}\n`,
      ]
    })
    .join('\n')
}
