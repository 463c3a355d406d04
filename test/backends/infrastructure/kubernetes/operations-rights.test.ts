/** Rights on what operations change: the owners of live objects, and cluster-wide kinds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import {
  configMap,
  service,
  startOperations,
  workload,
} from '../../../support/kubernetes-operations.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const write = ['READ', 'WRITE']
const alice = {
  name: 'alice',
  roles: [{ name: 'users', source: 'LDAP' }],
  accounts: [{ name: 'k8s', authorizations: write }],
  applications: [
    { name: 'shop', authorizations: write },
    { name: 'bank', authorizations: ['READ'] },
  ],
}
const views = { alice }
const owner = 'moniker.spinnaker.io/application'
const nameLabel = 'app.kubernetes.io/name'
const unversioned = { 'strategy.spinnaker.io/versioned': 'false' }

function owned(manifest: JsonObject, app: string): JsonObject {
  return {
    ...manifest,
    metadata: { ...(manifest['metadata'] as JsonObject), annotations: { [owner]: app } },
  }
}

const denied = /Access denied to application bank/

test('objects of other applications are not deployed over', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { plane, path, deploy, failDeploy, get, names } = operations
  await plane.api.create(path('deployments'), owned(workload('Deployment', 'web'), 'bank'))
  assert.match(
    await failDeploy([
      workload('Deployment', 'api'),
      workload('Deployment', 'web', {}, { image: 'app:2' }),
    ]),
    denied,
  )
  assert.equal((await get('deployments/web')).metadata.generation, 1)
  assert.deepEqual(await names('deployments'), ['web'])
  await deploy([workload('Deployment', 'api')])
})

test('claims of manifests need rights', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { deploy, failDeploy, fail, namespace: location } = operations
  assert.match(await failDeploy([owned(workload('Deployment', 'web'), '"bank"')]), denied)
  assert.match(
    await failDeploy([workload('Deployment', 'web')], { moniker: { app: 'bank' } }),
    denied,
  )
  await deploy([workload('Deployment', 'web')])
  const target = { manifestName: 'deployment web', location }
  const merge = {
    options: { mergeStrategy: 'merge' },
    patchBody: { metadata: { annotations: { [owner]: 'bank' } } },
  }
  assert.match(await fail('patchManifest', { ...target, ...merge }), denied)
  const claim = {
    op: 'add',
    path: `/metadata/annotations/${owner.replace('/', '~1')}`,
    value: 'bank',
  }
  assert.match(
    await fail('patchManifest', {
      ...target,
      options: { mergeStrategy: 'json' },
      patchBody: [claim],
    }),
    denied,
  )
})

test('every operation checks the owner first', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { plane, path, fail, failDeploy, get, namespace: location } = operations
  await plane.api.create(path('deployments'), owned(workload('Deployment', 'web'), 'bank'))
  await plane.api.create(path('services'), owned(service('front', { lb: 'front' }), 'bank'))
  const before = (await get('deployments/web')).metadata.generation
  const target = { manifestName: 'deployment web', location }
  const patch = { options: { mergeStrategy: 'merge' }, patchBody: { spec: { replicas: 3 } } }
  const selectors = [{ kind: 'NOT_EXISTS', key: 'none' }]
  const attempts: readonly (readonly [string, JsonObject])[] = [
    ['deleteManifest', target],
    ['deleteManifest', { location, kinds: ['deployment'], labelSelectors: { selectors } }],
    ['patchManifest', { ...target, ...patch }],
    ['scaleManifest', { ...target, replicas: 3 }],
    ['undoRolloutManifest', { ...target, revision: 1 }],
    ['pauseRolloutManifest', target],
    ['resumeRolloutManifest', target],
    ['rollingRestartManifest', target],
    ['enableManifest', { ...target, loadBalancers: ['service front'] }],
    ['disableManifest', { ...target, loadBalancers: ['service front'] }],
    [
      'resizeServerGroup',
      { serverGroupName: 'deployment web', region: location, capacity: { desired: 3 } },
    ],
    ['destroyServerGroup', { serverGroupName: 'deployment web', region: location }],
  ]
  for (const [operation, description] of attempts)
    assert.match(await fail(operation, description), denied, operation)
  assert.match(
    await failDeploy([workload('ReplicaSet', 'api')], { services: ['service front'] }),
    denied,
  )
  assert.equal((await get('deployments/web')).metadata.generation, before)
})

test('pods belong to the owner of their controller', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { plane, path, fail, find, namespace: location } = operations
  const uid = (
    await plane.api.create(
      path('replicasets'),
      owned(workload('ReplicaSet', 'web', { replicas: 0 }), 'bank'),
    )
  ).metadata.uid
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller: true },
  ]
  const finalizers = ['test.fairlead/keep']
  const pod = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'conf', ownerReferences, finalizers },
  }
  await plane.api.create(path('configmaps'), pod)
  t.after(() =>
    plane.api.patch(path('configmaps/conf'), { metadata: { finalizers: null } }).catch(() => {}),
  )
  assert.match(await fail('deleteManifest', { manifestName: 'configMap conf', location }), denied)
  assert.equal((await find('configmaps/conf'))?.metadata.deletionTimestamp, undefined)
})

test('without the check of owners the account decides', async (t) => {
  const operations = await startOperations(t, { views, general: { 'check-owners': false } })
  if (operations === undefined) return
  const { plane, path, run, get, namespace: location } = operations
  await plane.api.create(path('deployments'), owned(workload('Deployment', 'web'), 'bank'))
  await run('scaleManifest', { manifestName: 'deployment web', location, replicas: 2 })
  assert.equal((await get('deployments/web')).spec['replicas'], 2)
})

test('cluster-wide kinds need a role', async (t) => {
  const operations = await startOperations(t, { views, account: { clusterScoped: ['admins'] } })
  if (operations === undefined) return
  const { plane, failDeploy, namespace } = operations
  const name = `test-${namespace}`
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules: [],
  }
  assert.match(
    await failDeploy([configMap('conf', {}), role]),
    /clusterRole test-.*cluster-wide.*clusterScoped/,
  )
  assert.equal(
    await plane.api.find(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`),
    undefined,
  )
})

test('a plan hides objects of other applications', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { plane, path, run, namespace } = operations
  await plane.api.create(
    path('deployments'),
    owned(workload('Deployment', 'web', {}, { image: 'hidden:1' }), 'bank'),
  )
  const manifest = { ...workload('Deployment', 'web'), metadata: { name: 'web', namespace } }
  const { differences } = await run('planManifest', {
    moniker: { app: 'shop' },
    manifests: [manifest],
  })
  assert.match(JSON.stringify(differences), denied)
  assert.doesNotMatch(JSON.stringify(differences), /hidden/)
})

test('a patch is refused for what it leaves of claims', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { deploy, fail, run, get, namespace: location } = operations
  await deploy([
    configMap(
      'conf',
      {},
      { annotations: unversioned, labels: { [owner]: 'bank', [nameLabel]: 'bank' } },
    ),
  ])
  const target = { manifestName: 'configMap conf', location }
  const annotation = `/metadata/annotations/${owner.replace('/', '~1')}`
  const refused: readonly (readonly [string, unknown, RegExp?])[] = [
    ['json', [{ op: 'copy', from: '/metadata/labels', path: '/metadata/annotations' }]],
    [
      'json',
      [{ op: 'copy', from: `/metadata/labels/${owner.replace('/', '~1')}`, path: annotation }],
    ],
    ['json', [{ op: 'copy', from: '/metadata/labels', path: '/metadata' }], /configMap conf/],
    ['json', [{ op: 'remove', path: annotation }]],
    ['merge', { metadata: { annotations: { [owner]: '' } } }],
    ['strategic', { metadata: { annotations: { $patch: 'delete' } } }],
  ]
  for (const [mergeStrategy, patchBody, expected = denied] of refused) {
    const description = { ...target, options: { mergeStrategy }, patchBody }
    assert.match(await fail('patchManifest', description), expected, JSON.stringify(patchBody))
  }
  const patchBody = {
    metadata: { labels: { [nameLabel]: 'shop' }, annotations: { [owner]: null } },
  }
  await run('patchManifest', { ...target, options: { mergeStrategy: 'merge' }, patchBody })
  assert.equal((await get('configmaps/conf')).metadata.annotations?.[owner], undefined)
})

test('blank claims become that of the deployment', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { deploy, get } = operations
  for (const value of ['', '""', ' ', '" "', null]) {
    const annotations = { ...unversioned, [owner]: value }
    await deploy([
      {
        ...configMap('bank-conf', {}),
        metadata: { name: 'bank-conf', annotations, labels: { [nameLabel]: 'bank' } },
      },
    ])
    assert.equal(
      (await get('configmaps/bank-conf')).metadata.annotations?.[owner],
      'shop',
      JSON.stringify(value),
    )
  }
})

test('claims of templates and controllers need rights', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { plane, path, fail, failDeploy, namespace: location } = operations
  const byLabel = { labels: { [nameLabel]: 'bank', 'app.kubernetes.io/managed-by': 'spinnaker' } }
  const byAnnotation = { annotations: { [owner]: ' "bank" ' } }
  const job = (metadata: JsonObject, pod: JsonObject) => ({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'job' },
    spec: { jobTemplate: { metadata, spec: { template: { metadata: pod } } } },
  })
  const volumes = workload('StatefulSet', 'db', {
    volumeClaimTemplates: [{ metadata: { name: 'data', ...byAnnotation } }],
  })
  const uid = (
    await plane.api.create(
      path('replicasets'),
      owned(workload('ReplicaSet', 'web', { replicas: 0 }), 'bank'),
    )
  ).metadata.uid
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller: true },
  ]
  const refused = [
    job(byLabel, {}),
    job({ ...byLabel, annotations: { [owner]: '' } }, {}),
    job({}, byLabel),
    job({}, byAnnotation),
    volumes,
    configMap('conf', {}, { ownerReferences }),
  ]
  for (const manifest of refused)
    assert.match(await failDeploy([manifest]), denied, JSON.stringify(manifest))
  await plane.api.create(
    path('configmaps'),
    configMap('both', {}, { ownerReferences, annotations: { [owner]: 'shop' } }),
  )
  assert.match(await fail('deleteManifest', { manifestName: 'configMap both', location }), denied)
  const gone = [
    { apiVersion: 'test.fairlead/v1', kind: 'Gone', name: 'gone', uid: 'gone', controller: true },
  ]
  await plane.api.create(path('configmaps'), configMap('lost', {}, { ownerReferences: gone }))
  assert.match(
    await fail('deleteManifest', { manifestName: 'configMap lost', location }),
    /controller Gone gone cannot be found/,
  )
  let chain: JsonObject[] = ownerReferences
  for (const name of ['c0', 'c1', 'c2', 'c3', 'c4', 'c5']) {
    const { metadata } = await plane.api.create(
      path('configmaps'),
      configMap(name, {}, { ownerReferences: chain }),
    )
    chain = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid, controller: true }]
  }
  assert.match(
    await fail('deleteManifest', { manifestName: 'configMap c5', location }),
    /controller ReplicaSet web cannot be found/,
  )
})

test('names with a slash reach no other resource', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { infrastructure, failDeploy, fail, namespace: location } = operations
  for (const manifestName of ['deployment web/scale', 'service web/proxy/admin', 'pod a%2Fb']) {
    assert.match(
      await fail('deleteManifest', { manifestName, location }),
      /not a full name/,
      manifestName,
    )
  }
  assert.match(
    await fail('scaleManifest', { manifestName: 'deployment web', location: 'a/b', replicas: 1 }),
    /contains \/ or %/,
  )
  assert.match(
    await failDeploy([configMap('a/../b', {})], { versioned: false }),
    /contains \/ or %/,
  )
  const { status } = await infrastructure.ask(
    'GET',
    `/manifests/k8s/${location}/service%20web%2Fproxy`,
    undefined,
    'alice',
  )
  assert.equal(status, 404)
})

test('a plan shows no earlier version of another application', async (t) => {
  const operations = await startOperations(t, { views })
  if (operations === undefined) return
  const { plane, path, run, namespace } = operations
  const annotations = {
    [owner]: 'bank',
    'artifact.spinnaker.io/name': 'conf',
    'artifact.spinnaker.io/version': 'v000',
  }
  await plane.api.create(
    path('configmaps'),
    configMap('conf-v000', { pin: 'hidden' }, { annotations }),
  )
  const manifests = [configMap('conf', { pin: 'other' }, { namespace })]
  const { differences } = await run('planManifest', { moniker: { app: 'shop' }, manifests })
  assert.doesNotMatch(JSON.stringify(differences), /hidden/)
  assert.match(JSON.stringify(differences), /conf-v001/)
})

test('objects of a kind that was just defined are checked too', async (t) => {
  const operations = await startOperations(t, { views, account: { clusterScoped: ['users'] } })
  if (operations === undefined) return
  const { plane, run, failDeploy, namespace } = operations
  const group = `${namespace}.fairlead.test`
  const definition = definitionOf(group)
  const gadget = {
    apiVersion: `${group}/v1`,
    kind: 'Gadget',
    metadata: { name: 'one', namespace },
    spec: { size: 2 },
  }
  const [definitions, gadgets] = [
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    `/apis/${group}/v1/namespaces/${namespace}/gadgets`,
  ]
  t.after(() => plane.api.delete(`${definitions}/${definition.metadata.name}`).catch(() => {}))
  // Fairlead looks the kind up, finds none, and does so again only after some seconds.
  await run('planManifest', { moniker: { app: 'shop' }, manifests: [definition, gadget] })
  await plane.api.create(definitions, definition)
  await waitUntil(async () => (await plane.api.find(gadgets)) !== undefined, 'the kind')
  await plane.api.create(gadgets, { ...owned(gadget, 'bank'), spec: { size: 1 } })
  assert.match(await failDeploy([definition, gadget]), denied)
  assert.deepEqual((await plane.api.get(`${gadgets}/one`)).spec, { size: 1 })
})

function definitionOf(group: string) {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
}
