/** Operations that change what is deployed, on a real API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  fieldAt,
  type JsonObject,
  numberOf,
  objectsOf,
} from '../../../../packages/base/json/values.ts'
import {
  configMap,
  type Operations,
  service,
  startOperations,
  workload,
} from '../../../support/kubernetes-operations.ts'
import { createRoute } from '../../../support/kubernetes-routes.ts'
import { waitUntil } from '../../../support/wait-until.ts'

function imageOf(object: JsonObject): unknown {
  return objectsOf(fieldAt(object, 'spec', 'template', 'spec', 'containers'))[0]?.['image']
}

/** Deploys it and waits until its controller has noticed. */
async function roll(
  { deploy, get }: Operations,
  manifest: JsonObject,
  path: string,
): Promise<void> {
  await deploy([manifest])
  await waitUntil(async () => {
    const { metadata, status } = await get(path)
    return (
      metadata.generation === status['observedGeneration'] &&
      numberOf(status['updatedReplicas']) === 1
    )
  }, `the rollout of ${path}`)
}

test('kubernetes-scenario 76 workloads are scaled', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, fail, get, namespace: location } = operations
  await deploy([workload('Deployment', 'web'), service('front', { a: 'b' })])
  await run('scaleManifest', { manifestName: 'deployment web', location, replicas: 3 })
  assert.equal((await get('deployments/web')).spec['replicas'], 3)
  await run('scaleManifest', { manifestName: 'Deployment web', location, replicas: '1' })
  assert.equal((await get('deployments/web')).spec['replicas'], 1)
  await run('resizeServerGroup', {
    serverGroupName: 'deployment web',
    region: location,
    capacity: { desired: 2 },
  })
  assert.equal((await get('deployments/web')).spec['replicas'], 2)
  assert.match(
    await fail('scaleManifest', { manifestName: 'service front', location, replicas: 1 }),
    /scale.*not supported/,
  )
  assert.match(
    await fail('scaleManifest', { manifestName: 'deployment none', location, replicas: 1 }),
    /deployment none/,
  )
})

test('kubernetes-scenario 77 rollouts of deployments are undone', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { run, fail, get, namespace: location, deploy } = operations
  for (const image of ['app:1', 'app:2', 'app:3']) {
    await roll(
      operations,
      workload('Deployment', 'web', {}, { image, env: [{ name: 'V', value: image }] }),
      'deployments/web',
    )
  }
  const target = { manifestName: 'deployment web', location }
  await run('undoRolloutManifest', { ...target, revision: 1 })
  assert.equal(imageOf(await get('deployments/web')), 'app:1')
  await waitUntil(
    async () =>
      (await get('deployments/web')).metadata.annotations?.['deployment.kubernetes.io/revision'] ===
      '4',
    'revision 4',
  )
  await run('undoRolloutManifest', { ...target, numRevisionsBack: '1' })
  assert.equal(imageOf(await get('deployments/web')), 'app:3')
  assert.match(await fail('undoRolloutManifest', { ...target, numRevisionsBack: 9 }), /3 revisions/)
  assert.match(await fail('undoRolloutManifest', target), /empty/)
  await run('undoRolloutManifest', { ...target, revision: 2 })
  assert.ok(JSON.stringify((await get('deployments/web')).spec).includes('"V"'))
  await deploy([workload('Deployment', 'web', {}, { image: 'app:3' })])
  assert.ok(!JSON.stringify((await get('deployments/web')).spec).includes('"V"'))
})

for (const kind of ['StatefulSet', 'DaemonSet']) {
  test(`kubernetes-scenario 77 rollouts of a ${kind} are undone`, async (t) => {
    const operations = await startOperations(t)
    if (operations === undefined) return
    const { deploy, run, get, namespace: location, plane } = operations
    const path = `${kind.toLowerCase()}s/web`
    const revisions = async () => {
      const all = await plane.api.list(`/apis/apps/v1/namespaces/${location}/controllerrevisions`)
      return all.filter(({ metadata }) =>
        metadata.ownerReferences?.some(({ name }) => name === 'web'),
      ).length
    }
    for (const [index, image] of ['app:1', 'app:2'].entries()) {
      await deploy([workload(kind, 'web', {}, { image })])
      await waitUntil(async () => (await revisions()) === index + 1, `revision ${index + 1}`)
    }
    const observed = async () => {
      const { metadata, status } = await get(path)
      return metadata.generation === status['observedGeneration']
    }
    await waitUntil(observed, 'the controller')
    await run('undoRolloutManifest', { manifestName: `${kind} web`, location, numRevisionsBack: 1 })
    assert.equal(imageOf(await get(path)), 'app:1')
  })
}

test('kubernetes-scenario 78, 79 rollouts pause, resume and restart', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, fail, get, namespace: location } = operations
  await deploy([workload('Deployment', 'web'), workload('ReplicaSet', 'api')])
  const target = { manifestName: 'deployment web', location }
  await run('pauseRolloutManifest', target)
  await run('pauseRolloutManifest', target)
  assert.equal((await get('deployments/web')).spec['paused'], true)
  assert.match(await fail('rollingRestartManifest', target), /paused/)
  assert.match(await fail('undoRolloutManifest', { ...target, revision: 1 }), /paused/)
  await run('resumeRolloutManifest', target)
  await run('resumeRolloutManifest', target)
  assert.notEqual((await get('deployments/web')).spec['paused'], true)
  await run('rollingRestartManifest', target)
  const notes = fieldAt(
    await get('deployments/web'),
    'spec',
    'template',
    'metadata',
    'annotations',
  ) as JsonObject
  assert.match(String(notes['kubectl.kubernetes.io/restartedAt']), /^\d{4}-\d\d-\d\dT/)
  assert.match(
    await fail('pauseRolloutManifest', { manifestName: 'replicaSet api-v000', location }),
    /only for deployment/,
  )
})

test('kubernetes-scenario 80, 81 patches merge, add and record', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, get, namespace: location } = operations
  const two = workload('Deployment', 'web')
  ;(fieldAt(two, 'spec', 'template', 'spec', 'containers') as JsonObject[]).push({
    name: 'side',
    image: 'side:1',
  })
  await deploy([two])
  const patch = (mergeStrategy: string, patchBody: unknown, fields: JsonObject = {}) =>
    run('patchManifest', {
      manifestName: 'deployment web',
      location,
      patchBody,
      options: { mergeStrategy, record: true },
      ...fields,
    })
  const containers = [{ name: 'main', image: 'app:9' }]
  const result = await patch('strategic', [{ spec: { template: { spec: { containers } } } }])
  const live = await get('deployments/web')
  assert.deepEqual(
    objectsOf(fieldAt(live, 'spec', 'template', 'spec', 'containers')).map(({ image }) => image),
    ['app:9', 'side:1'],
  )
  assert.match(
    live.metadata.annotations?.['kubernetes.io/change-cause'] ?? '',
    /patchManifest deployment web/,
  )
  assert.equal(objectsOf(result['manifests'])[0]?.['kind'], 'Deployment')
  assert.deepEqual(result['manifestNamesByNamespace'], { [location]: ['deployment web'] })
  await patch('merge', { metadata: { labels: { x: '1' } } })
  await patch('json', [{ op: 'add', path: '/metadata/labels/y', value: '2' }])
  await patch(
    'merge',
    { metadata: { labels: { x: '1' } } },
    { options: { mergeStrategy: 'merge' } },
  )
  const { labels } = (await get('deployments/web')).metadata
  assert.deepEqual([labels?.['x'], labels?.['y']], ['1', '2'])
})

test('kubernetes-scenario 83 artifacts are bound in patches', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, fail, get, namespace: location } = operations
  await deploy([workload('Deployment', 'web')])
  const image = { type: 'docker/image', name: 'app', reference: 'app:7' }
  const description = {
    ...{ manifestName: 'deployment web', location, options: { mergeStrategy: 'strategic' } },
    ...{ requiredArtifacts: [image], allArtifacts: [image] },
  }
  const patchBody = {
    spec: { template: { spec: { containers: [{ name: 'main', image: 'app' }] } } },
  }
  const result = await run('patchManifest', { ...description, patchBody })
  assert.equal(imageOf(await get('deployments/web')), 'app:7')
  assert.deepEqual(result['boundArtifacts'], [image])
  assert.match(
    await fail('patchManifest', { ...description, patchBody: { spec: { replicas: 1 } } }),
    /docker\/image app/,
  )
})

test('kubernetes-scenario 84, 85, 86, 87 deletions end when objects are gone', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, fail, find, names, namespace: location } = operations
  const remove = (options: JsonObject) =>
    run('deleteManifest', { manifestName: 'deployment web', location, options })
  const create = async () => {
    await deploy([workload('Deployment', 'web')])
    await waitUntil(async () => (await names('pods')).length > 0, 'a pod')
  }
  for (const options of [
    { cascading: true },
    { cascading: 'foreground' },
    { gracePeriodSeconds: null },
    { gracePeriodSeconds: '5' },
  ]) {
    await create()
    await remove(options)
    assert.deepEqual(
      [await find('deployments/web'), await names('replicasets'), await names('pods')],
      [undefined, [], []],
    )
  }
  await remove({})
  await create()
  const wrong = await fail('deleteManifest', {
    manifestName: 'deployment web',
    location,
    options: { cascading: 'sideways' },
  })
  assert.match(wrong, /sideways/)
  assert.ok(await find('deployments/web'))
  await remove({ orphanDependants: true })
  assert.equal((await names('replicasets')).length, 1)
})

test('kubernetes-scenario 88, 89, 93 labels select what is deleted', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, fail, names, namespace: location } = operations
  const notes = { 'strategy.spinnaker.io/versioned': 'false' }
  const maps = ['a', 'b', 'c'].map((name) =>
    configMap(name, {}, { annotations: notes, labels: { t: name === 'c' ? 'y' : 'x' } }),
  )
  await deploy(maps)
  const description = { kinds: ['configMap'], location }
  const labels = (...selectors: JsonObject[]) => ({ labelSelectors: { selectors } })
  for (const none of [{}, labels(), labels({ kind: 'ANY' })]) {
    assert.match(await fail('deleteManifest', { ...description, ...none }), /labelSelectors/)
  }
  assert.match(
    await fail('deleteManifest', { manifestName: 'web', location }),
    /such as .*deployment web/,
  )
  const result = await run('deleteManifest', {
    ...description,
    ...labels({ kind: 'EQUALS', key: 't', values: ['x'] }),
  })
  assert.deepEqual(result['manifestNamesByNamespace'], {
    [location]: ['configMap a', 'configMap b'],
  })
  assert.deepEqual(
    (await names('configmaps')).filter((name) => name.length === 1),
    ['c'],
  )
})

test('kubernetes-scenario 73, 74 traffic is switched off and on', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, fail, get, namespace: location, plane, path } = operations
  const request = [
    workload('ReplicaSet', 'api', { replicas: 2 }),
    service('front', { lb: 'front' }),
    workload('ReplicaSet', 'bare'),
  ]
  await deploy(request.slice(0, 2), { services: ['service front'] })
  await deploy(request.slice(2))
  const pods = () => plane.api.list(`${path('pods')}?labelSelector=app%3Dapi`)
  await waitUntil(async () => (await pods()).length === 2, 'pods')
  const labels = async () => [
    fieldAt(await get('replicasets/api-v000'), 'spec', 'template', 'metadata', 'labels', 'lb'),
    ...(await pods()).map(({ metadata }) => metadata.labels?.['lb']),
  ]
  const target = { manifestName: 'replicaSet api-v000', location }
  await run('disableManifest', target)
  assert.deepEqual(await labels(), [undefined, undefined, undefined])
  await run('disableManifest', target)
  await run('enableServerGroup', { serverGroupName: 'replicaSet api-v000', region: location })
  assert.deepEqual(await labels(), ['front', 'front', 'front'])
  await run('disableManifest', { ...target, manifestName: 'replicaSet bare-v000' })
  assert.match(
    await fail('disableManifest', { ...target, loadBalancers: ['service none'] }),
    /service none/,
  )
})

test('kubernetes-scenario 49 old versions are deleted', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, names, namespace } = operations
  const annotations = { 'strategy.spinnaker.io/max-version-history': '2' }
  let manifests: unknown
  for (const a of ['1', '2', '3'])
    manifests = (await deploy([configMap('conf', { a }, { annotations })]))['manifests']
  const result = await run('cleanupArtifacts', { manifests })
  assert.deepEqual(result['manifestNamesByNamespace'], { [namespace]: ['configMap conf-v000'] })
  assert.deepEqual(
    (await names('configmaps')).filter((name) => name.startsWith('conf')),
    ['conf-v001', 'conf-v002'],
  )
})

test('kubernetes-scenario 99, 101, 103 a job runs again', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { run, fail, get, namespace } = operations
  const spec = {
    backoffLimit: 0,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'app:1' }] } },
  }
  const manifest = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'run', namespace },
    spec,
  }
  const result = await run('runJob', { application: 'shop', manifest })
  assert.deepEqual(result['deployedNamesByLocation'], { [namespace]: ['job run'] })
  const { uid } = (await get('jobs/run')).metadata
  await run('runJob', { application: 'shop', manifest })
  assert.notEqual((await get('jobs/run')).metadata.uid, uid)
  assert.match(
    await fail('runJob', { application: 'shop', manifest: workload('Deployment', 'web') }),
    /no job/,
  )
})

test('server groups are created, cloned, and destroyed', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { plane, path, deploy, run, fail, get, namespace: region, names } = operations
  await deploy([service('front', { lb: 'front' })])
  const created = await run('createServerGroup', {
    ...{
      application: 'shop',
      stack: 'main',
      region,
      capacity: { desired: 2 },
      loadBalancers: ['service front'],
    },
    manifest: workload('ReplicaSet', 'shop-main'),
  })
  assert.deepEqual(created['serverGroupNames'], [`${region}:replicaSet shop-main-v000`])
  assert.deepEqual(created['serverGroupNameByRegion'], { [region]: 'replicaSet shop-main-v000' })
  const first = await get('replicasets/shop-main-v000')
  assert.equal(first.spec['replicas'], 2)
  assert.equal(first.metadata.annotations?.['moniker.spinnaker.io/cluster'], 'shop-main')
  const cloned = await run('cloneServerGroup', {
    ...{
      application: 'shop',
      stack: 'main',
      region,
      imageId: 'app:2',
      startDisabled: true,
      useSourceCapacity: true,
    },
    source: { account: 'k8s', region, serverGroupName: 'replicaSet shop-main-v000' },
  })
  assert.deepEqual(cloned['ancestorServerGroupNameByRegion'], {
    [region]: 'replicaSet shop-main-v000',
  })
  const second = await get('replicasets/shop-main-v001')
  assert.deepEqual([imageOf(second), second.spec['replicas']], ['app:2', 2])
  assert.equal(fieldAt(second, 'spec', 'template', 'metadata', 'labels', 'lb'), undefined)
  const others = workload('ReplicaSet', 'shop-main-v009', { replicas: 0 })
  await plane.api.create(path('replicasets'), others)
  await run('createServerGroup', { application: 'shop', stack: 'main', region, imageId: 'app:3' })
  await run('deleteManifest', { manifestName: 'replicaSet shop-main-v009', location: region })
  assert.equal(
    fieldAt(
      await get('replicasets/shop-main-v002'),
      'spec',
      'template',
      'metadata',
      'labels',
      'lb',
    ),
    'front',
  )
  await run('destroyServerGroup', { serverGroupName: 'replicaSet shop-main-v000', region })
  assert.deepEqual(await names('replicasets'), ['shop-main-v001', 'shop-main-v002'])
  await deploy([workload('Deployment', 'web')])
  await waitUntil(async () => (await names('replicasets')).length === 3, 'the replica set of web')
  const owned = (await names('replicasets')).find((name) => name.startsWith('web'))
  const source = { account: 'k8s', region, serverGroupName: `replicaSet ${owned}` }
  assert.match(
    await fail('cloneServerGroup', { application: 'shop', region, source }),
    /belongs to deployment web/,
  )
})

const behindFront = (name: string, replicas: number, lb = 'front') => {
  const labels = { app: name, lb }
  return workload('Deployment', name, {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'app:1' }] } },
  })
}

test('a share of the traffic without routes is a number of replicas', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, fail, get, find, infrastructure, namespace: region } = operations
  await deploy([service('front', { lb: 'front' }), behindFront('web', 9)])
  await deploy([workload('ReplicaSet', 'canary')], { services: ['service front'] })
  const target = { serverGroupName: 'replicaSet canary-v000', region }
  const share = async (percent: number | null) => {
    const { trafficShare } = await run('shareTraffic', { ...target, percent })
    const sizes = [
      (await get('replicasets/canary-v000')).spec['replicas'],
      (await get('deployments/web')).spec['replicas'],
    ]
    return [sizes, fieldAt(trafficShare, 'by'), fieldAt(trafficShare, 'reached')]
  }
  assert.deepEqual(await share(20), [[2, 8], 'replicas', 20])
  const { body } = await infrastructure.ask(
    'GET',
    `/serverGroups/k8s/${region}/${encodeURIComponent(target.serverGroupName)}`,
  )
  assert.equal(fieldAt(body, 'trafficPercent'), 20)
  assert.deepEqual(await share(5), [[1, 9], 'replicas', 10])
  assert.deepEqual(await share(0), [[1, 10], 'replicas', 0])
  assert.equal(
    fieldAt(await get('replicasets/canary-v000'), 'spec', 'template', 'metadata', 'labels', 'lb'),
    undefined,
  )
  assert.deepEqual(await share(100), [[10, 0], 'replicas', 100])
  assert.deepEqual(await share(null), [[1, 9], undefined, undefined])
  assert.equal(
    (await get('deployments/web')).metadata.annotations?.['fairlead/traffic-share'],
    undefined,
  )

  await share(30)
  await run('destroyServerGroup', target)
  assert.deepEqual(
    [(await get('deployments/web')).spec['replicas'], await find('replicasets/canary-v000')],
    [9, undefined],
  )

  assert.match(await fail('shareTraffic', { ...target, percent: 101 }), /from 0 to 100/)
  await deploy([workload('ReplicaSet', 'lonely')])
  const lonely = { serverGroupName: 'replicaSet lonely-v000', region, percent: 5 }
  assert.match(await fail('shareTraffic', lonely), /behind no service/)
})

test('a canary of a deployment gets its share by weights of a route', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, fail, get, find, names, plane, path, namespace: region } = operations
  const backendRefs = [
    { name: 'front', port: 80 },
    { name: 'other', port: 80, weight: 3 },
  ]
  const route = await createRoute(plane.api, region, [
    { backendRefs },
    { backendRefs: [{ name: 'else', port: 80 }] },
  ])
  await deploy([service('front', { lb: 'front' }), behindFront('shop', 1)])
  await waitUntil(
    async () => (await names('replicasets')).length === 1,
    'the replica set of the deployment',
  )
  const source = {
    account: 'k8s',
    region,
    serverGroupName: `replicaSet ${(await names('replicasets'))[0]}`,
  }
  const weights = async () =>
    objectsOf(fieldAt(await plane.api.get(route), 'spec', 'rules')).map(({ backendRefs }) =>
      objectsOf(backendRefs).map(({ name, weight }) => `${name} ${weight ?? '-'}`),
    )
  const made = { application: 'shop', region, capacity: { desired: 1 }, trafficPercent: 5, source }
  await run('createServerGroup', { ...made, freeFormDetails: 'baseline' })
  await run('createServerGroup', { ...made, freeFormDetails: 'canary', imageId: 'app:2' })
  const [baseline, canary] = ['shop--baseline-v000', 'shop--canary-v000'] as const
  assert.deepEqual(await weights(), [
    ['front 90', `front-${baseline} 5`, `front-${canary} 5`, 'other 300'],
    ['else -'],
  ])
  const group = await get(`replicasets/${canary}`)
  assert.deepEqual(
    [imageOf(group), fieldAt(group, 'spec', 'template', 'metadata', 'labels', 'lb')],
    ['app:2', undefined],
  )
  assert.equal(group.metadata.ownerReferences, undefined, 'the deployment leaves it alone')
  const own = await get(`services/front-${canary}`)
  assert.equal(own.metadata.ownerReferences?.[0]?.uid, group.metadata.uid)
  const chosen = Object.entries(own.spec['selector'] as Record<string, string>).map(
    ([key, value]) => `${encodeURIComponent(key)}%3D${value}`,
  )
  await waitUntil(
    async () => (await plane.api.list(`${path('pods')}?labelSelector=${chosen}`)).length === 1,
    'the pod of its service',
  )
  assert.equal((await get('deployments/shop')).spec['replicas'], 1)

  const target = { serverGroupName: `replicaSet ${canary}`, region }
  assert.match(
    await fail('shareTraffic', { ...target, percent: 98 }),
    /would be 103 % together, as replicaSet shop--base.* has 5 %/,
  )
  await run('shareTraffic', { ...target, percent: 0 })
  assert.deepEqual((await weights())[0], [
    'front 95',
    `front-${baseline} 5`,
    `front-${canary} 0`,
    'other 300',
  ])
  await run('disableServerGroup', target)
  assert.deepEqual(
    [(await weights())[0], await find(`services/front-${canary}`)],
    [['front 95', `front-${baseline} 5`, 'other 300'], undefined],
  )
  assert.match(
    await fail('shareTraffic', { ...target, percent: 5 }),
    /is disabled and takes no requests\. Enable it first/,
  )
  await run('shareTraffic', { serverGroupName: `replicaSet ${baseline}`, region, percent: null })
  assert.deepEqual(await weights(), [['front 1', 'other 3'], ['else -']])
  assert.equal(
    fieldAt(await get(`replicasets/${baseline}`), 'spec', 'template', 'metadata', 'labels', 'lb'),
    'front',
  )
  await run('shareTraffic', { serverGroupName: `replicaSet ${baseline}`, region, percent: 10 })
  // By hand: its service goes with it, and no request may go there any more.
  await plane.api.delete(path(`replicasets/${baseline}`))
  await run('shareTraffic', { serverGroupName: `replicaSet ${baseline}`, region, percent: 0 })
  await waitUntil(
    async () => (await names('services')).join() === 'front',
    'the end of its service',
  )
  assert.deepEqual((await weights())[0], ['front 1', 'other 3'])
  assert.match(
    await fail('createServerGroup', {
      ...made,
      source: undefined,
      manifest: workload('ReplicaSet', 'lone'),
    }),
    /trafficPercent: no service could give the share/,
  )
  assert.equal(await find('replicasets/lone-v000'), undefined)

  // Two services of two deployments, as other tools want them.
  await plane.api.patch(route, {
    spec: {
      rules: [
        {
          backendRefs: [
            { name: 'front', port: 80 },
            { name: 'next', port: 80, weight: 0 },
          ],
        },
      ],
    },
  })
  await deploy([service('next', { lb: 'next' }), behindFront('shop-next', 1, 'next')])
  const next = { serverGroupName: 'deployment shop-next', region }
  const { template } = (await get('deployments/shop-next')).spec
  const { trafficShare } = await run('shareTraffic', { ...next, percent: 10 })
  assert.deepEqual(
    [fieldAt(trafficShare, 'by'), await weights()],
    ['routes', [['front 90', 'next 10']]],
  )
  await run('shareTraffic', { ...next, percent: 100 })
  assert.deepEqual(await weights(), [['front 0', 'next 1']])
  await run('shareTraffic', { ...next, percent: null })
  assert.deepEqual(await weights(), [['front 1', 'next 0']])
  assert.deepEqual(
    [(await get('deployments/shop-next')).spec['template'], await names('services')],
    [template, ['front', 'next']],
  )
  await run('shareTraffic', { ...next, percent: 10 })
  await plane.api.delete(path('deployments/shop-next'))
  await run('shareTraffic', { ...next, percent: null })
  assert.deepEqual(await weights(), [['front 1', 'next 0']])
})

test('pods are terminated by id and by name', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, namespace: region, plane, path } = operations
  await deploy([workload('ReplicaSet', 'api', { replicas: 2 })])
  const pods = () => plane.api.list(path('pods'))
  await waitUntil(async () => (await pods()).length === 2, 'pods')
  const [one, other] = await pods()
  await run('terminateInstances', {
    region,
    instanceIds: [one?.metadata.uid, `pod ${other?.metadata.name}`],
  })
  const left = (await pods()).map(({ metadata }) => metadata.uid)
  assert.equal(
    left.includes(one?.metadata.uid ?? '') || left.includes(other?.metadata.uid ?? ''),
    false,
  )
})

test('a plan shows what a deployment would change', async (t) => {
  const operations = await startOperations(t)
  if (operations === undefined) return
  const { deploy, run, namespace, get, names } = operations
  const secret = (token: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'key',
      namespace,
      annotations: { 'strategy.spinnaker.io/versioned': 'false' },
    },
    stringData: { token },
  })
  await deploy([
    workload('Deployment', 'web', {}, { env: [{ name: 'A', value: '1' }] }),
    secret('one'),
    configMap('conf', { a: '1' }),
  ])
  await waitUntil(
    async () => (await get('deployments/web')).status['readyReplicas'] === 1,
    'a ready pod',
  )
  const before = await get('deployments/web')
  const placed = (manifest: JsonObject) => ({
    ...manifest,
    metadata: { namespace, ...(manifest['metadata'] as JsonObject) },
  })
  const manifests = [
    placed(workload('Deployment', 'web', {}, { image: 'app:2' })),
    placed(service('front', { a: 'b' })),
    placed(configMap('conf', { a: '2' })),
    secret('two'),
  ]
  const { differences } = await run('planManifest', { moniker: { app: 'shop' }, manifests })
  const byName = new Map(
    objectsOf(differences).map((difference) => [difference['name'], difference]),
  )
  const web = byName.get('deployment web')
  assert.equal(web?.['change'], 'update')
  const main = 'spec.template.spec.containers[name=main]'
  assert.deepEqual(
    objectsOf(web?.['fields'])
      .map(({ path, change }) => [path, change])
      .sort(),
    [
      [`${main}.env`, 'removed'],
      [`${main}.image`, 'changed'],
    ],
  )
  assert.equal(byName.get('service front')?.['change'], 'create')
  const conf = byName.get('configMap conf-v001')
  assert.equal(conf?.['comparedWith'], 'configMap conf-v000')
  assert.deepEqual(conf?.['fields'], [
    { path: 'data.a', change: 'changed', before: '1', after: '2' },
  ])
  assert.deepEqual(byName.get('secret key')?.['fields'], [
    { path: 'data.token', change: 'changed', before: '***', after: '***' },
  ])
  const after = await get('deployments/web')
  assert.deepEqual(
    [after.spec, after.metadata.annotations],
    [before.spec, before.metadata.annotations],
  )
  assert.deepEqual(await names('services'), [])
  const again = await run('planManifest', {
    moniker: { app: 'shop' },
    manifests: [placed(workload('Deployment', 'web', {}, { env: [{ name: 'A', value: '1' }] }))],
  })
  assert.deepEqual(
    objectsOf(again['differences']).map(({ change }) => change),
    ['none'],
  )
})
