import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, fieldOf, type JsonObject, objectsOf } from '../../../../src/json/values.ts'
import { networkPolicy, service, workload } from '../../../support/kubernetes-objects.ts'
import { type Operations, startOperations } from '../../../support/kubernetes-operations.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const shop = '/applications/shop'

/** Of the test's namespace: others have the same application. */
function listOf({ infrastructure, namespace }: Operations, path: string): Promise<JsonObject[]> {
  return infrastructure.read<JsonObject[]>(path).then((listed) => listed.filter(({ region }) => region === namespace))
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
  assert.deepEqual(group?.['serverGroupManagers'], [{ account: 'k8s', location: namespace, name: 'web' }])
  assert.deepEqual([fieldAt(group, 'capacity', 'desired'), fieldAt(group, 'buildInfo', 'images')], [2, ['app:1']])
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

  const details = await infrastructure.read(`${shop}/serverGroups/k8s/${namespace}/${encodeURIComponent(name.toLowerCase())}`)
  assert.deepEqual([details['kind'], details['namespace'], typeof details['createdTime']], ['replicaSet', namespace, 'number'])
  assert.deepEqual([details['displayName'], objectsOf(details['instances']).length], [name.split(' ')[1], 2])
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
  await deploy([workload('Deployment', 'web', { namespace }), workload('Deployment', 'ill', { namespace, image: 'unready:1' })])
  await waitUntil(async () => {
    const pods = await plane.api.list(operations.path('pods'))
    return pods.length === 2 && pods.every(({ status }) => status['phase'] === 'Running')
  }, 'running pods')
  const podNamed = async (prefix: string) => (await operations.names('pods')).find((pod) => pod.startsWith(prefix)) ?? ''
  const pathOf = (pod: string) => `/instances/k8s/${namespace}/${encodeURIComponent(`pod ${pod}`)}`
  const well = await podNamed('web-')

  const instance = await infrastructure.until(pathOf(well), ({ healthState }) => healthState === 'Up')

  assert.deepEqual([instance['zone'], instance['humanReadableName']], [namespace, `pod ${well}`])
  assert.equal(objectsOf(instance['health'])[0]?.['type'], 'kubernetes/pod')
  await infrastructure.until(pathOf(await podNamed('ill-')), ({ healthState }) => healthState === 'Down')
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
  await deploy([front, service('bare', { app: 'none' }, { namespace }), policy, workload('ReplicaSet', 'api', { namespace })])

  const balancers = await untilListed(operations, `${shop}/loadBalancers`, (listed) =>
    listed.some((balancer) => objectsOf(fieldAt(objectsOf(balancer['serverGroups'])[0], 'instances')).length > 0),
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

test('kubernetes-scenario 34: what other tools create is listed by its name', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, namespace } = operations

  await plane.api.create(path('deployments'), workload('Deployment', 'shop-main-v003', { namespace }))

  const [manager] = await untilListed(operations, `${shop}/serverGroupManagers`, ({ length }) => length === 1)
  assert.deepEqual(
    ['app', 'cluster', 'sequence'].map((field) => fieldAt(manager, 'moniker', field)),
    ['shop', 'shop-main', 3],
  )
})

test('kubernetes-scenario 122: lists show an operation as soon as it has completed', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { namespace, deploy, run } = operations
  const names = async () => (await listOf(operations, `${shop}/serverGroups`)).map(({ name }) => name)
  assert.deepEqual(await names(), [])

  for (const version of ['api-v000', 'api-v001', 'api-v002']) {
    await deploy([workload('ReplicaSet', 'api', { namespace, replicas: 0 })])
    assert.ok((await names()).includes(`replicaSet ${version}`), version)
  }
  await run('deleteManifest', { manifestName: 'replicaSet api-v001', location: namespace, options: { cascading: true } })
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
  await untilListed(operations, `${shop}/serverGroups`, ([group]) => fieldOf(group?.['labels'], 'tier') === 'web')
})
