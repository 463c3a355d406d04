/** Deployments on a real API server: order, names, annotations, versions, artifacts and traffic. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import {
  configMap,
  service,
  startOperations,
  workload,
} from '../../../support/kubernetes-operations.ts'

function mainOf(object: JsonObject): JsonObject {
  return objectsOf(fieldAt(object, 'spec', 'template', 'spec', 'containers'))[0] ?? {}
}

function created(result: JsonObject): JsonObject[] {
  return objectsOf(result['createdArtifacts'])
}

const versioned = 'strategy.spinnaker.io/versioned'

test('kubernetes-scenario 12, 29, 30 objects are annotated and reported', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, get, namespace } = operations
  const result = await deploy([workload('Deployment', 'web')])
  assert.deepEqual(result['manifestNamesByNamespace'], { [namespace]: ['deployment web'] })
  assert.deepEqual(created(result), [
    {
      type: 'kubernetes/deployment',
      name: 'web',
      location: namespace,
      version: '',
      reference: 'web',
      metadata: { account: 'k8s' },
    },
  ])
  const [manifest] = objectsOf(result['manifests'])
  assert.equal(manifest?.['kind'], 'Deployment')
  assert.equal(typeof fieldAt(manifest, 'metadata', 'uid'), 'string')
  const live = await get('deployments/web')
  for (const metadata of [
    live.metadata,
    fieldAt(live, 'spec', 'template', 'metadata') as JsonObject,
  ]) {
    const notes = metadata['annotations'] as JsonObject
    assert.equal(notes['artifact.spinnaker.io/type'], 'kubernetes/deployment')
    assert.equal(notes['artifact.spinnaker.io/name'], 'web')
    assert.equal(notes['artifact.spinnaker.io/location'], namespace)
    assert.equal(notes['artifact.spinnaker.io/version'], '')
    assert.equal(notes['moniker.spinnaker.io/application'], 'shop')
    assert.equal(notes['moniker.spinnaker.io/cluster'], 'deployment web')
    const labels = metadata['labels'] as JsonObject
    assert.equal(labels['app.kubernetes.io/name'], 'shop')
    assert.equal(labels['app.kubernetes.io/managed-by'], 'spinnaker')
  }
})

test('kubernetes-scenario 16, 21 lists are expanded and nulls are ignored', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, names, namespace, run } = operations
  const items = ['a', 'b'].map((name) => ({
    ...configMap(name, {}),
    metadata: { name, namespace, annotations: { [versioned]: 'false' } },
  }))
  await deploy([null, { apiVersion: 'v1', kind: 'List', items }])
  assert.deepEqual(
    (await names('configmaps')).filter((name) => name.length === 1),
    ['a', 'b'],
  )
  const result = await run('deployManifest', { moniker: { app: 'shop' }, manifests: [] })
  assert.deepEqual(result['manifests'], [])
})

test('kubernetes-scenario 17 a namespace override leaves cluster-wide objects alone', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, run } = operations
  const other = await plane.namespace()
  const name = `test-${other}`
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules: [],
  }
  t.after(() => plane.api.delete(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`))
  const web = workload('Deployment', 'web')
  const manifests = [role, { ...web, metadata: { name: 'web', namespace: operations.namespace } }]
  const result = await run('deployManifest', {
    moniker: { app: 'shop' },
    namespaceOverride: other,
    manifests,
  })
  assert.deepEqual(result['manifestNamesByNamespace'], {
    '': [`clusterRole ${name}`],
    [other]: ['deployment web'],
  })
  assert.ok(await plane.api.find(`/apis/apps/v1/namespaces/${other}/deployments/web`))
})

test('kubernetes-scenario 18 a manifest without namespace goes to the default', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, run, namespace } = operations
  const name = `conf-${namespace}`
  const path = `/api/v1/namespaces/default/configmaps/${name}`
  t.after(() => plane.api.delete(path))
  const conf = { ...configMap(name, {}), metadata: { name, annotations: { [versioned]: 'false' } } }
  await run('deployManifest', { moniker: { app: 'shop' }, manifests: [conf] })
  assert.equal(
    (await plane.api.get(path)).metadata.annotations?.['artifact.spinnaker.io/location'],
    'default',
  )
})

test('kubernetes-scenario 19 namespaces outside the account are refused', async (t) => {
  const operations = await startOperations(t, { account: { namespaces: ['one'] } })
  if (operations === undefined) return
  assert.match(await operations.failDeploy([workload('Deployment', 'web')]), /wrongNamespace/)
  assert.match(
    await operations.failDeploy([workload('Deployment', 'web')], { namespaceOverride: 'two' }),
    /wrongNamespace/,
  )
  assert.deepEqual(await operations.names('deployments'), [])
  const omitting = await startOperations(t, { account: { omitNamespaces: ['kube-system'] } })
  const web = {
    ...workload('Deployment', 'web'),
    metadata: { name: 'web', namespace: 'kube-system' },
  }
  assert.match((await omitting?.failDeploy([web])) ?? '', /omittedNamespace/)
})

test('kubernetes-scenario 22 generated names are reported', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, namespace, names } = operations
  const conf = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'run-' }, data: {} }
  const result = await deploy([conf])
  const [name = ''] =
    (result['manifestNamesByNamespace'] as Record<string, string[]>)[namespace] ?? []
  assert.match(name, /^configMap run-./)
  assert.ok((await names('configmaps')).includes(name.slice('configMap '.length)))
})

test('kubernetes-scenario 23 a definition and its object come together', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, deploy, namespace, run } = operations
  const group = `${namespace}.example.test`
  const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`
  t.after(() => plane.api.delete(definition))
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}`, namespace: undefined },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
  const widget = {
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { name: 'w', namespace },
    size: 1,
  }
  const result = await deploy([widget, crd])
  assert.deepEqual(result['manifestNamesByNamespace'], {
    '': [`customResourceDefinition widgets.${group}`],
    [namespace]: [`Widget.${group} w`],
  })
  await deploy([{ ...widget, size: 2 }])
  const path = `/apis/${group}/v1/namespaces/${namespace}/widgets/w`
  assert.equal((await plane.api.get(path))['size'], 2)
  const { size: _size, ...coloured } = { ...widget, colour: 'red' }
  const annotations = { 'strategy.spinnaker.io/client-side-apply': 'true' }
  await deploy([{ ...coloured, metadata: { ...widget.metadata, annotations } }])
  const { size, colour } = await plane.api.get(path)
  assert.deepEqual([size, colour], [undefined, 'red'])
  await run('deleteManifest', { manifestName: `Widget.${group} w`, location: namespace })
  assert.equal(await plane.api.find(path), undefined)
})

test('kubernetes-scenario 24 labels select manifests', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, failDeploy, names } = operations
  const notes = { [versioned]: 'false' }
  const both = ['x', 'y'].map((value) =>
    configMap(`conf-${value}`, {}, { labels: { t: value }, annotations: notes }),
  )
  const select = (value: string) => ({
    labelSelectors: { selectors: [{ kind: 'EQUALS', key: 't', values: [value] }] },
  })
  const result = await deploy(both, select('x'))
  assert.deepEqual(
    created(result).map(({ name }) => name),
    ['conf-x'],
  )
  assert.equal((await names('configmaps')).includes('conf-y'), false)
  assert.match(await failDeploy(both, select('z')), /labelSelectors/)
  await deploy(both, { ...select('z'), allowNothingSelected: true })
})

test('kubernetes-scenario 31, 32 labels and annotations of users stay', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, get } = operations
  const metadata = {
    name: 'web',
    annotations: { 'moniker.spinnaker.io/cluster': 'custom' },
    labels: { 'app.kubernetes.io/name': 'mine' },
  }
  await deploy([{ ...workload('Deployment', 'web'), metadata }], { skipSpecTemplateLabels: true })
  const live = await get('deployments/web')
  assert.equal(live.metadata.annotations?.['moniker.spinnaker.io/cluster'], 'custom')
  assert.equal(live.metadata.labels?.['app.kubernetes.io/name'], 'mine')
  assert.equal(live.metadata.labels?.['app.kubernetes.io/managed-by'], 'spinnaker')
  assert.deepEqual(fieldAt(live, 'spec', 'template', 'metadata', 'labels'), { app: 'web' })
})

test('kubernetes-scenario 33, 39 each deployment of a replica set is a version', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, names, get } = operations
  await deploy([workload('ReplicaSet', 'api')])
  const first = await get('replicasets/api-v000')
  assert.equal(first.metadata.labels?.['moniker.spinnaker.io/sequence'], '0')
  assert.equal(first.metadata.annotations?.['moniker.spinnaker.io/sequence'], '0')
  assert.equal(first.metadata.annotations?.['moniker.spinnaker.io/cluster'], 'replicaSet api')
  await deploy([workload('ReplicaSet', 'api')])
  assert.deepEqual(await names('replicasets'), ['api-v000', 'api-v001'])
})

test('kubernetes-scenario 37, 41, 50 content chooses the version', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, names, plane, path, get } = operations
  const versions = async () => (await names('configmaps')).filter((name) => name.startsWith('conf'))
  const reference = async (data: JsonObject) =>
    created(await deploy([configMap('conf', data)]))[0]?.['reference']
  assert.equal(await reference({ a: '1' }), 'conf-v000')
  assert.equal(await reference({ a: '1' }), 'conf-v000')
  assert.equal(await reference({ a: '2' }), 'conf-v001')
  assert.equal(await reference({ a: '1' }), 'conf-v000')
  assert.deepEqual(await versions(), ['conf-v000', 'conf-v001'])
  const edited = JSON.parse(
    (await get('configmaps/conf-v000')).metadata.annotations?.[
      'kubectl.kubernetes.io/last-applied-configuration'
    ] ?? '',
  ) as JsonObject
  const result = await deploy([{ ...edited, data: { a: '3' } }])
  assert.deepEqual(
    created(result).map(({ name, version }) => [name, version]),
    [['conf', 'v002']],
  )
  const third = await get('configmaps/conf-v002')
  assert.equal(third.metadata.annotations?.['moniker.spinnaker.io/sequence'], '2')
  assert.equal(third.metadata.labels?.['moniker.spinnaker.io/sequence'], '2')
  await plane.api.delete(path('configmaps/conf-v001'))
  assert.equal(await reference({ a: '4' }), 'conf-v003')
})

test('kubernetes-scenario 38 results have no values of secrets', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, get } = operations
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'key' },
    stringData: { token: 'hush' },
  }
  const result = await deploy([secret])
  assert.doesNotMatch(JSON.stringify(result), /hush|aHVzaA/)
  assert.equal(objectsOf(result['manifests'])[0]?.['data'], undefined)
  assert.deepEqual((await get('secrets/key-v000'))['data'], { token: 'aHVzaA==' })
  assert.equal(created(await deploy([secret]))[0]?.['version'], 'v000')
})

test('kubernetes-scenario 40 an annotation decides about versions', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, names } = operations
  const front = {
    ...service('front', { a: 'b' }),
    metadata: { name: 'front', annotations: { [versioned]: 'true' } },
  }
  await deploy([configMap('conf', {}, { annotations: { [versioned]: 'false' } }), front])
  assert.ok((await names('configmaps')).includes('conf'))
  assert.deepEqual(await names('services'), ['front-v000'])
})

test('kubernetes-scenario 42, 43, 44, 47, 48 artifacts are bound', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, get, namespace } = operations
  const volumes = [
    { name: 'one', configMap: { name: 'conf' } },
    { name: 'two', projected: { sources: [{ configMap: { name: 'conf' } }] } },
  ]
  const web = workload(
    'Deployment',
    'web',
    {},
    {
      image: 'reg.test/app:1',
      envFrom: [{ configMapRef: { name: 'conf' } }],
      env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'conf', key: 'a' } } }],
    },
  )
  const withVolumes = { ...web, spec: { ...(web['spec'] as JsonObject) } }
  const podSpec = fieldAt(withVolumes, 'spec', 'template', 'spec') as JsonObject
  podSpec['volumes'] = volumes
  const image = (tag: string) => ({
    type: 'docker/image',
    name: 'reg.test/app',
    reference: `reg.test/app:${tag}`,
  })
  const hpa = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'api' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'api' },
      maxReplicas: 2,
    },
  }
  const request = [hpa, withVolumes, configMap('conf', { a: '1' }), workload('ReplicaSet', 'api')]
  const result = await deploy(request, {
    requiredArtifacts: [image('7')],
    optionalArtifacts: [image('8')],
  })
  const live = await get('deployments/web')
  assert.doesNotMatch(JSON.stringify(live.spec), /"conf"/)
  assert.equal(JSON.stringify(live.spec).match(/"conf-v000"/g)?.length, 4)
  assert.equal(mainOf(live)['image'], 'reg.test/app:7')
  assert.equal(
    fieldAt(await get('horizontalpodautoscalers/api'), 'spec', 'scaleTargetRef', 'name'),
    'api-v000',
  )
  const bound = objectsOf(result['boundArtifacts']).map(({ reference }) => reference)
  assert.deepEqual(bound.sort(), ['api-v000', 'conf-v000', 'reg.test/app:7'])
  const conf = {
    type: 'kubernetes/configMap',
    name: 'conf',
    location: namespace,
    version: 'v000',
    reference: 'conf-v000',
  }
  const later = await deploy([withVolumes], {
    optionalArtifacts: [{ ...conf, metadata: { account: 'k8s' } }],
  })
  assert.equal(objectsOf(later['boundArtifacts'])[0]?.['reference'], 'conf-v000')
})

test('kubernetes-scenario 46 a required artifact must occur', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const requiredArtifacts = [
    { type: 'docker/image', name: 'reg.test/other', reference: 'reg.test/other:1' },
  ]
  assert.match(
    await operations.failDeploy([workload('Deployment', 'web')], { requiredArtifacts }),
    /reg\.test\/other/,
  )
  assert.deepEqual(await operations.names('deployments'), [])
})

test('kubernetes-scenario 61, 62, 63 services send traffic to replica sets', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, get } = operations
  const services = ['service front']
  const request = [workload('ReplicaSet', 'api'), service('front', { lb: 'front' })]
  await deploy(request, { services, enableTraffic: true })
  const first = await get('replicasets/api-v000')
  assert.equal(
    first.metadata.annotations?.['traffic.spinnaker.io/load-balancers'],
    '["service front"]',
  )
  assert.equal(fieldAt(first, 'spec', 'template', 'metadata', 'labels', 'lb'), 'front')
  await deploy([workload('ReplicaSet', 'api')], { services, enableTraffic: false })
  const second = await get('replicasets/api-v001')
  assert.equal(
    second.metadata.annotations?.['traffic.spinnaker.io/load-balancers'],
    '["service front"]',
  )
  assert.equal(fieldAt(second, 'spec', 'template', 'metadata', 'labels', 'lb'), undefined)
})

test('kubernetes-scenario 64, 71 unusable load balancers fail', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, failDeploy, names } = operations
  await deploy([
    service('front', { lb: 'front' }),
    service('bare', {}),
    service('api', { app: 'api' }),
  ])
  const cases = ['service none', 'service bare', 'service api', 'front', 'ingress front']
  for (const name of cases) {
    assert.match(
      await failDeploy([workload('ReplicaSet', 'api')], { services: [name] }),
      new RegExp(name),
    )
  }
  const annotations = { 'strategy.spinnaker.io/max-version-history': '1' }
  const api = { ...workload('ReplicaSet', 'api'), metadata: { name: 'api', annotations } }
  assert.match(
    await failDeploy([api], { services: ['service front'], strategy: 'BLUE_GREEN' }),
    /max-version-history/,
  )
  assert.deepEqual(await names('replicasets'), [])
})
