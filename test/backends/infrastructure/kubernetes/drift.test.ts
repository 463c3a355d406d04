/** Drift: what others have changed in deployed objects since. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject } from '../../../../packages/base/json/values.ts'
import {
  configMap,
  type Operations,
  service,
  startOperations,
  workload,
} from '../../../support/kubernetes-operations.ts'
import { waitUntil } from '../../../support/wait-until.ts'

interface Drifted {
  readonly account: string
  readonly namespace: string
  readonly name: string
  readonly manager: string | null
  readonly since: string | null
  readonly fields: readonly string[]
}

function driftOf({ infrastructure, namespace }: Operations, app = 'shop'): Promise<Drifted[]> {
  return infrastructure.read<Drifted[]>(`/applications/${app}/drift?location=${namespace}`)
}

/** What is shown in short: name, manager, fields. */
async function summary(operations: Operations, app?: string) {
  return (await driftOf(operations, app)).map(({ name, manager, fields }) => [
    name,
    manager,
    fields,
  ])
}

function patch(
  { plane, namespace }: Operations,
  target: string,
  body: JsonObject,
  ...more: string[]
) {
  return plane.kubectl(
    'patch',
    target,
    '-n',
    namespace,
    '--type=merge',
    '-p',
    JSON.stringify(body),
    ...more,
  )
}

const image = 'spec.template.spec.containers[name=main].image'

test('changes by hand are listed with manager and fields', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, namespace, deploy } = operations
  const manifests = [
    workload('Deployment', 'web', { replicas: 1 }),
    service('front', { app: 'web' }),
  ]
  await deploy(manifests)
  assert.deepEqual(await driftOf(operations), [])
  await plane.kubectl(
    'set',
    'image',
    'deployment/web',
    'main=app:9',
    '-n',
    namespace,
    '--field-manager=kubectl-edit',
  )
  await patch(
    operations,
    'service/front',
    { metadata: { annotations: { note: 'mine' } } },
    '--field-manager=alice',
  )
  const drift = (await driftOf(operations)).toSorted((one, other) =>
    one.name.localeCompare(other.name),
  )
  assert.deepEqual(
    drift.map(({ since: _since, ...shown }) => shown),
    [
      {
        account: 'k8s',
        namespace,
        name: 'deployment web',
        manager: 'kubectl-edit',
        fields: [image],
      },
      {
        account: 'k8s',
        namespace,
        name: 'service front',
        manager: 'alice',
        fields: ['metadata.annotations.note'],
      },
    ],
  )
  for (const { since } of drift) assert.match(String(since), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
})

test('another deployment ends the drift of its fields', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, get } = operations
  const manifests = [workload('Deployment', 'web', { replicas: 1 })]
  await deploy(manifests)
  await patch(
    operations,
    'deployment/web',
    { spec: { replicas: 3, minReadySeconds: 7 } },
    '--field-manager=kubectl-edit',
  )
  assert.deepEqual(await summary(operations), [
    ['deployment web', 'kubectl-edit', ['spec.minReadySeconds', 'spec.replicas']],
  ])
  await deploy(manifests)
  assert.equal((await get('deployments/web')).spec['replicas'], 1)
  const left = (await summary(operations)).flatMap(([, , fields]) => fields)
  assert.equal(left.includes('spec.replicas'), false)
})

test('removed fields are listed without a manager', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, namespace, deploy } = operations
  await deploy([
    {
      ...service('front', { app: 'web' }),
      metadata: { name: 'front', labels: { tier: 'edge', kept: 'yes' } },
    },
  ])
  await plane.kubectl('label', 'service/front', 'tier-', '-n', namespace)
  assert.deepEqual(await summary(operations), [['service front', null, ['metadata.labels.tier']]])
})

test('changes by controllers are no drift', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, get } = operations
  await deploy([workload('Deployment', 'web', { replicas: 2 })])
  await waitUntil(
    async () => fieldAt(await get('deployments/web'), 'status', 'readyReplicas') === 2,
    'ready pods',
  )
  assert.notEqual(
    (await get('deployments/web')).metadata.annotations?.['deployment.kubernetes.io/revision'],
    undefined,
  )
  assert.deepEqual(await driftOf(operations), [])
})

test('scaling drifts by hand, and not by Fairlead or an autoscaler', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, namespace, deploy, run } = operations
  await deploy([workload('Deployment', 'web', { replicas: 1 })])
  await run('scaleManifest', { manifestName: 'deployment web', location: namespace, replicas: 2 })
  assert.deepEqual(await driftOf(operations), [])
  const manager = '--field-manager=kube-controller-manager'
  await patch(
    operations,
    'deployment/web',
    { spec: { replicas: 3 } },
    '--subresource=scale',
    manager,
  )
  assert.deepEqual(await driftOf(operations), [])
  await plane.kubectl('scale', 'deployment/web', '--replicas=4', '-n', namespace)
  assert.deepEqual(await summary(operations), [['deployment web', 'kubectl', ['spec.replicas']]])
  await deploy([workload('Deployment', 'web', { replicas: 1 })])
  assert.deepEqual(await driftOf(operations), [])
  // A manifest without a number leaves it to others.
  await deploy([workload('Deployment', 'web')])
  await plane.kubectl('scale', 'deployment/web', '--replicas=2', '-n', namespace)
  assert.deepEqual(await driftOf(operations), [])
})

test('objects of others are not listed', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, namespace, deploy } = operations
  await deploy([service('front', { app: 'web' })])
  await deploy([service('vault', { app: 'vault' })], { moniker: { app: 'bank' } })
  await plane.api.create(path('services'), service('foreign', { app: 'x' }))
  for (const name of ['front', 'vault', 'foreign']) {
    await patch(
      operations,
      `service/${name}`,
      { metadata: { labels: { by: 'hand' } } },
      '--field-manager=alice',
    )
  }
  const fields = ['metadata.labels.by']
  assert.deepEqual(await summary(operations), [['service front', 'alice', fields]])
  assert.deepEqual(await summary(operations, 'bank'), [['service vault', 'alice', fields]])
  const elsewhere = await operations.infrastructure.read<Drifted[]>(
    '/applications/shop/drift?location=default',
  )
  assert.deepEqual(
    elsewhere.filter((each) => each.namespace === namespace),
    [],
  )
})

test('drift names no values', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy } = operations
  await deploy([
    configMap(
      'conf',
      { color: 'red', size: '1' },
      { annotations: { 'strategy.spinnaker.io/versioned': 'false' } },
    ),
  ])
  await deploy([service('front', { app: 'web' })])
  await patch(
    operations,
    'configmap/conf',
    { data: { color: 'hunter-5555', more: 'x' } },
    '--field-manager=alice',
  )
  assert.deepEqual(await summary(operations), [
    ['configMap conf', 'alice', ['data.color', 'data.more']],
  ])
  assert.doesNotMatch(JSON.stringify(await driftOf(operations)), /hunter/)
})
