/** Deployments on a real API server: how manifests are applied. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import { configMap, startOperations, workload } from '../../../support/kubernetes-operations.ts'

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

function envOf(object: JsonObject): string[] {
  const containers = objectsOf(fieldAt(object, 'spec', 'template', 'spec', 'containers'))
  return objectsOf(containers[0]?.['env']).map(({ name }) => String(name))
}

function imageOf(object: JsonObject): unknown {
  return objectsOf(fieldAt(object, 'spec', 'template', 'spec', 'containers'))[0]?.['image']
}

test('kubernetes-scenario 51 fields dropped from the manifest disappear', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const env = (...names: string[]) => ({ env: names.map((name) => ({ name, value: 'x' })) })
  await operations.deploy([workload('Deployment', 'web', {}, env('A', 'B'))])
  await operations.deploy([workload('Deployment', 'web', {}, env('A'))])
  assert.deepEqual(envOf(await operations.get('deployments/web')), ['A'])
})

test('kubernetes-scenario 51 dropped fields disappear that others changed', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, get } = operations
  const sidecar = { name: 'sidecar', image: 'sidecar:1' }
  const both = workload('Deployment', 'web')
  const containers = fieldAt(both, 'spec', 'template', 'spec', 'containers') as JsonObject[]
  containers.push(sidecar)
  await deploy([both])
  const patch = {
    spec: {
      template: {
        spec: {
          containers: [{ ...sidecar, image: 'sidecar:2', env: [{ name: 'X', value: '1' }] }],
        },
      },
    },
  }
  await plane.api.patch(path('deployments/web'), patch, 'strategic')
  await deploy([workload('Deployment', 'web')])
  const live = objectsOf(
    fieldAt(await get('deployments/web'), 'spec', 'template', 'spec', 'containers'),
  )
  assert.deepEqual(
    live.map(({ name }) => name),
    ['main'],
  )
})

test('kubernetes-scenario 52 fields that were never applied stay', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, get } = operations
  await deploy([workload('Deployment', 'web')])
  await plane.api.patch(path('deployments/web'), {
    metadata: { annotations: { extra: 'yes' } },
    spec: { replicas: 5 },
  })
  await deploy([workload('Deployment', 'web', {}, { image: 'app:2' })])
  const live = await get('deployments/web')
  assert.equal(live.metadata.annotations?.['extra'], 'yes')
  assert.equal(live.spec['replicas'], 5)
  assert.equal(imageOf(live), 'app:2')
})

test('kubernetes-scenario 13, 53, 54 the manifest wins over other writers', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, get } = operations
  await deploy([workload('Deployment', 'web')])
  const first = await get('deployments/web')
  await deploy([workload('Deployment', 'web')])
  assert.equal((await get('deployments/web')).metadata.generation, first.metadata.generation)
  const patch = { spec: { template: { spec: { containers: [{ name: 'main', image: 'app:9' }] } } } }
  await plane.api.patch(path('deployments/web'), patch, 'strategic')
  await deploy([workload('Deployment', 'web')])
  const live = await get('deployments/web')
  assert.equal(imageOf(live), 'app:1')
  const applied = JSON.parse(live.metadata.annotations?.[lastApplied] ?? '{}') as JsonObject
  assert.equal(imageOf(applied), 'app:1')
  assert.equal(fieldAt(applied, 'metadata', 'annotations', 'artifact.spinnaker.io/name'), 'web')
})

test('kubernetes-scenario 55 fields of a client-side apply disappear', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, get } = operations
  const before = workload(
    'Deployment',
    'web',
    { minReadySeconds: 1 },
    { env: [{ name: 'X', value: '1' }] },
  )
  const metadata = { name: 'web', namespace: operations.namespace, labels: { dropped: 'yes' } }
  const applied = JSON.stringify({ ...before, metadata })
  await plane.api.create(path('deployments'), {
    ...before,
    metadata: { ...metadata, annotations: { [lastApplied]: applied } },
  })
  await deploy([workload('Deployment', 'web')])
  const live = await get('deployments/web')
  assert.deepEqual(envOf(live), [])
  assert.equal(live.spec['minReadySeconds'], undefined)
  assert.equal(live.metadata.labels?.['dropped'], undefined)
})

test('kubernetes-scenario 55 fields that kubectl applied disappear', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, namespace, deploy, get } = operations
  const { mkdtempSync, writeFileSync, rmSync } = await import('node:fs')
  const folder = mkdtempSync('/tmp/fairlead-apply-')
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(
    `${folder}/web.json`,
    JSON.stringify(workload('Deployment', 'web', {}, { env: [{ name: 'X', value: '1' }] })),
  )
  await plane.kubectl('apply', '-n', namespace, '-f', `${folder}/web.json`)
  await deploy([workload('Deployment', 'web')])
  assert.deepEqual(envOf(await get('deployments/web')), [])
})

test('kubernetes-scenario 56 a recreated object is another one', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, get } = operations
  const conf = configMap(
    'conf',
    { a: '1' },
    {
      annotations: {
        'strategy.spinnaker.io/recreate': 'true',
        'strategy.spinnaker.io/versioned': 'false',
      },
    },
  )
  await deploy([conf])
  const { uid } = (await get('configmaps/conf')).metadata
  await deploy([conf])
  assert.notEqual((await get('configmaps/conf')).metadata.uid, uid)
})

test('kubernetes-scenario 57 a replaced object loses what others added', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, get, failDeploy, find } = operations
  const annotations = { 'strategy.spinnaker.io/replace': 'true' }
  const front = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'front', annotations },
    spec: { selector: { a: 'b' }, ports: [{ port: 80 }] },
  }
  await deploy([front])
  const { uid } = (await get('services/front')).metadata
  await plane.api.patch(path('services/front'), { metadata: { labels: { extra: 'yes' } } })
  await deploy([front])
  const live = await get('services/front')
  assert.equal(live.metadata.uid, uid)
  assert.equal(live.metadata.labels?.['extra'], undefined)
  const labelSelectors = {
    selectors: [{ kind: 'EQUALS', key: 'app.kubernetes.io/name', values: ['shop'] }],
  }
  const other = { ...front, metadata: { name: 'other', annotations } }
  assert.match(await failDeploy([other], { labelSelectors }), /replace/)
  assert.equal(await find('services/other'), undefined)
})

test('kubernetes-scenario 58 a server-side apply fails on conflicts', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, get, failDeploy } = operations
  const serverSide = (value: string, image: string) => {
    const manifest = workload('Deployment', 'web', {}, { image })
    return {
      ...manifest,
      metadata: { name: 'web', annotations: { 'strategy.spinnaker.io/server-side-apply': value } },
    }
  }
  await deploy([serverSide('true', 'app:1')])
  await plane.api.patch(
    path('deployments/web'),
    workload('Deployment', 'web', {}, { image: 'app:9' }),
    'apply',
  )
  const problem = await failDeploy([serverSide('true', 'app:2')])
  assert.match(
    problem,
    /Conflict: .*containers\[name="main"\]\.image is managed by test.*force-conflicts/,
  )
  assert.equal(imageOf(await get('deployments/web')), 'app:9')
  await deploy([serverSide('force-conflicts', 'app:2')])
  assert.equal(imageOf(await get('deployments/web')), 'app:2')
  await plane.api.patch(
    path('deployments/web'),
    workload('Deployment', 'web', {}, { image: 'app:9' }),
    'apply',
  )
  await deploy([serverSide('false', 'app:3')])
  assert.equal(imageOf(await get('deployments/web')), 'app:3')
})

test('kubernetes-scenario 59 the capacity of the source is taken', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, get } = operations
  const sized = (kind: string, name: string) => {
    const manifest = workload(kind, name, { replicas: 1 })
    return {
      ...manifest,
      metadata: { name, annotations: { 'strategy.spinnaker.io/use-source-capacity': 'true' } },
    }
  }
  await deploy([sized('Deployment', 'web'), sized('ReplicaSet', 'api')])
  assert.equal((await get('deployments/web')).spec['replicas'], 1)
  await plane.api.patch(path('deployments/web'), { spec: { replicas: 4 } })
  await plane.api.patch(path('replicasets/api-v000'), { spec: { replicas: 3 } })
  await deploy([sized('Deployment', 'web'), sized('ReplicaSet', 'api')])
  assert.equal((await get('deployments/web')).spec['replicas'], 4)
  assert.equal((await get('replicasets/api-v001')).spec['replicas'], 3)
})

test('kubernetes-scenario 20, 60 rejected fields fail with the reason', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, failDeploy, find } = operations
  await deploy([workload('Deployment', 'web')])
  const other = workload('Deployment', 'web', { selector: { matchLabels: { app: 'other' } } })
  assert.match(await failDeploy([other]), /deployment web in .*(?:immutable|selector)/)
  const wrong = workload('Deployment', 'bad', { replicas: 'x' })
  assert.match(await failDeploy([configMap('conf', { a: '1' }), wrong]), /deployment bad/)
  assert.notEqual(await find('configmaps/conf-v000'), undefined)
})

test('a client-side apply merges as kubectl does, and drops what was dropped', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, get } = operations
  const client = { annotations: { 'strategy.spinnaker.io/client-side-apply': 'true' } }
  const onClient = (spec: JsonObject, container: JsonObject) => {
    const manifest = workload('Deployment', 'web', spec, container)
    return { ...manifest, metadata: { ...(manifest['metadata'] as JsonObject), ...client } }
  }
  const env = (...names: string[]) => ({ env: names.map((name) => ({ name, value: 'x' })) })
  await deploy([
    onClient(
      { minReadySeconds: 1, strategy: { rollingUpdate: { maxSurge: 2 } } },
      { ...env('A', 'B'), ports: [{ containerPort: 80 }] },
    ),
  ])
  const foreign = {
    spec: {
      replicas: 5,
      template: { spec: { containers: [{ name: 'main', env: [{ name: 'F', value: 'y' }] }] } },
    },
  }
  await plane.api.patch(path('deployments/web'), foreign, 'strategic')

  await deploy([
    onClient(
      { strategy: { type: 'Recreate' } },
      { ...env('A', 'C'), image: 'app:2', ports: [{ containerPort: 81 }] },
    ),
  ])

  const live = await get('deployments/web')
  assert.deepEqual(envOf(live).toSorted(), ['A', 'C', 'F'])
  assert.equal(live.spec['minReadySeconds'], undefined)
  assert.deepEqual(live.spec['strategy'], { type: 'Recreate' })
  assert.equal(live.spec['replicas'], 5)
  assert.equal(imageOf(live), 'app:2')
  const [container] = objectsOf(fieldAt(live, 'spec', 'template', 'spec', 'containers'))
  assert.deepEqual(
    objectsOf(container?.['ports']).map(({ containerPort }) => containerPort),
    [81],
  )
  const managers = objectsOf(live.metadata['managedFields']).filter(
    ({ manager }) => manager === 'fairlead',
  )
  assert.deepEqual([...new Set(managers.map(({ operation }) => operation))], ['Update'])
})

test('a client-side apply takes entries of one name as they are', async (t) => {
  const operations = await startOperations(t, { account: { apply: 'client' } })
  if (operations === undefined) return
  const twice = (value: string) => ({
    env: ['1', value].map((each) => ({ name: 'A', value: each })),
  })
  await operations.deploy([workload('Deployment', 'web', {}, twice('2'))])
  await operations.deploy([workload('Deployment', 'web', {}, twice('3'))])
  const containers = objectsOf(
    fieldAt(await operations.get('deployments/web'), 'spec', 'template', 'spec', 'containers'),
  )
  assert.deepEqual(
    objectsOf(containers[0]?.['env']).map(({ value }) => value),
    ['1', '3'],
  )
})
