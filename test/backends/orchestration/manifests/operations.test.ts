import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at } from '../support.ts'
import { errorOf, operationNames, place, startRig, workload } from './support.ts'

type Fields = Record<string, unknown>

const web = { ...place, manifestName: 'deployment web' }
const annotations = {
  'moniker.spinnaker.io/application': 'shop',
  'moniker.spinnaker.io/cluster': 'replicaSet api',
}
const api = (name: string, parts: Fields = {}) => ({
  manifest: { kind: 'ReplicaSet', metadata: { name, namespace: 'n1', annotations }, ...parts },
})

const waiting = new Set([
  'scaleManifest',
  'undoRolloutManifest',
  'resumeRolloutManifest',
  'enableManifest',
  'disableManifest',
])
const plain: [type: string, fields: Fields, monitor: string][] = [
  ['scaleManifest', { replicas: 3 }, 'monitorScale'],
  ['undoRolloutManifest', { revision: '1' }, 'monitorUndoRollout'],
  ['pauseRolloutManifest', {}, 'monitorPauseRollout'],
  ['resumeRolloutManifest', {}, 'monitorResumeRollout'],
  ['rollingRestartManifest', {}, 'monitorRollingRestart'],
  ['enableManifest', {}, 'monitorEnable'],
  ['disableManifest', { loadBalancers: ['service web'] }, 'monitorDisable'],
]
for (const [type, fields, monitor] of plain) {
  test(`${type} submits its operation and notes its target`, async (t) => {
    const { service, run } = await startRig(t)
    service.add('deployment web')
    const { stages } = await run({ type, ...web, ...fields })
    const [[name, sent]] = service.operations as [[string, Fields]]
    assert.equal(name, type)
    for (const [key, value] of Object.entries({ ...web, ...fields }))
      assert.deepEqual(sent[key], value, key)
    const steps = [
      'resolveTargetManifest',
      type,
      monitor,
      ...(waiting.has(type) ? ['waitForManifestToStabilize'] : []),
    ]
    assert.deepEqual(
      stages[0]?.tasks.map((task) => task.name),
      steps,
    )
    const { context } = stages[0] ?? { context: {} }
    assert.equal(context['manifest.account.name'], 'k8s')
    assert.equal(context['manifest.name'], 'deployment web')
    assert.equal(context['manifest.location'], 'n1')
    assert.deepEqual(context['outputs.manifestNamesByNamespace'], { n1: ['deployment web'] })
  })
}

const dynamic = [
  ...plain.map(([type, fields]) => [type, fields] as const),
  ['deleteManifest', {}] as const,
  ['findArtifactsFromResource', {}] as const,
]
for (const [type, fields] of dynamic) {
  test(`${type} works on the object that criteria choose`, async (t) => {
    const { service, run } = await startRig(t)
    for (const name of ['api-v000', 'api-v001']) service.add(`replicaSet ${name}`, api(name))
    const criteria = {
      mode: 'dynamic',
      kind: 'replicaSet',
      cluster: 'replicaSet api',
      app: 'shop',
      criteria: 'newest',
    }
    const { stages } = await run({ type, ...place, ...criteria, ...fields })
    assert.equal(stages[0]?.context['manifestName'], 'replicaSet api-v001')
    assert.equal(stages[0]?.outputs['manifestName'], 'replicaSet api-v001')
    if (service.operations.length > 0)
      assert.deepEqual(operationNames(service), [`${type} replicaSet api-v001`])
  })
}

test('criteria without a match end the stage', async (t) => {
  const { service, run } = await startRig(t)
  const criteria = {
    kind: 'replicaSet',
    cluster: 'replicaSet api',
    criteria: 'oldest',
    app: 'shop',
  }
  const failed = await run({ type: 'deleteManifest', ...place, ...criteria }, 'TERMINAL')
  assert.match(
    errorOf(failed),
    /no replicaSet for "oldest" of the cluster "replicaSet api" of shop in k8s\/n1/,
  )
  assert.equal(service.asked.filter((each) => each.includes('dynamic')).length, 10)
})

const incomplete: [what: string, job: Fields, says: RegExp][] = [
  [
    'without a name',
    { type: 'undoRolloutManifest', ...place, revision: 1 },
    /names no object: set "manifestName"/,
  ],
  [
    'with a name without kind',
    { type: 'deleteManifest', ...place, manifestName: 'web' },
    /such as "deployment web"/,
  ],
  [
    'with labels',
    { type: 'scaleManifest', ...place, kinds: ['deployment'], labelSelectors: {}, replicas: 1 },
    /cannot select by labels/,
  ],
  ['without replicas', { type: 'scaleManifest', ...web, replicas: 'many' }, /"replicas"/],
  [
    'without an account',
    { type: 'disableManifest', location: 'n1', manifestName: 'deployment web' },
    /names no account/,
  ],
  [
    'with criteria alone',
    { type: 'enableManifest', ...place, criteria: 'newest' },
    /The target has no "kind"/,
  ],
  ['without a patch', { type: 'patchManifest', ...web }, /The stage has no "patchBody"/],
  ['with an empty patch', { type: 'patchManifest', ...web, patchBody: [] }, /The patch is empty/],
  [
    'with two patches',
    { type: 'patchManifest', ...web, patchBody: [{}, {}] },
    /has 2 objects; the merge strategy strategic takes one/,
  ],
  [
    'on a missing object',
    { type: 'findArtifactsFromResource', ...web },
    /deployment web was not found in k8s\/n1/,
  ],
]
for (const [what, job, says] of incomplete) {
  test(`${String(job['type'])} ${what} says what to do`, async (t) => {
    const { service, run } = await startRig(t)
    assert.match(errorOf(await run(job, 'TERMINAL')), says)
    assert.deepEqual(service.operations, [])
  })
}

test('deleting by labels sends no name', async (t) => {
  const { service, run } = await startRig(t)
  const labelSelectors = { selectors: [{ kind: 'EQUALS', key: 't', values: ['x'] }] }
  service.results.set('deleteManifest', { manifestNamesByNamespace: { n1: ['configMap a'] } })
  const { stages } = await run({
    type: 'deleteManifest',
    ...place,
    mode: 'label',
    kinds: ['configMap'],
    labelSelectors,
  })
  const [[, sent]] = service.operations as [[string, Fields]]
  assert.deepEqual(
    [sent['kinds'], sent['labelSelectors'], 'manifestName' in sent],
    [['configMap'], labelSelectors, false],
  )
  assert.deepEqual(stages[0]?.outputs['outputs.manifestNamesByNamespace'], { n1: ['configMap a'] })
})

test('found artifacts come without values of secrets', async (t) => {
  const { service, run } = await startRig(t)
  const copy = {
    'kubectl.kubernetes.io/last-applied-configuration': '{"stringData":{"token":"hunter-4444"}}',
  }
  const metadata = { name: 'db', namespace: 'n1', annotations: { ...copy, note: 'kept' } }
  service.add('secret db', {
    manifest: { apiVersion: 'v1', kind: 'Secret', metadata, data: { token: 'aHVudGVy' } },
  })
  const { stages } = await run({
    type: 'findArtifactsFromResource',
    ...place,
    manifestName: 'secret db',
  })
  const kept = { name: 'db', namespace: 'n1', annotations: { note: 'kept' } }
  assert.deepEqual(stages[0]?.outputs['manifest'], {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: kept,
  })
})

test('a patch takes one object or a list of operations', async (t) => {
  const { service, run } = await startRig(t)
  service.add('deployment web', { manifest: workload('Deployment', 'web') })
  const { stages } = await run({
    type: 'patchManifest',
    ...web,
    patchBody: [[{ spec: { paused: true } }]],
    options: { record: false },
  })
  const operations = [{ op: 'add', path: '/metadata/labels/y', value: '2' }]
  await run({
    type: 'patchManifest',
    ...web,
    patchBody: operations,
    options: { mergeStrategy: 'json' },
  })
  const [[, merged], [, json]] = service.operations as [[string, Fields], [string, Fields]]
  assert.deepEqual(
    [merged['patchBody'], merged['options']],
    [{ spec: { paused: true } }, { record: false, mergeStrategy: 'strategic' }],
  )
  assert.deepEqual(
    [json['patchBody'], json['options']],
    [operations, { record: true, mergeStrategy: 'json' }],
  )
  assert.equal(at(stages[0], 'outputs', 'outputs.manifests', 0, 'metadata', 'name'), 'web')
})

test('a patch binds artifacts of the execution', async (t) => {
  const { service, pipeline } = await startRig(t)
  service.add('deployment web')
  const image = { type: 'docker/image', name: 'app', reference: 'app:9' }
  const required = { ...image, name: 'side', reference: 'side:1' }
  const stage = {
    type: 'patchManifest',
    ...web,
    patchBody: { a: 1 },
    requiredArtifacts: [{ artifact: required }],
  }
  await pipeline([{ refId: '1', ...stage }], { trigger: { type: 'manual', artifacts: [image] } })
  assert.deepEqual(at(service.operations, 0, 1, 'requiredArtifacts'), [required])
  assert.deepEqual(at(service.operations, 0, 1, 'allArtifacts'), [required, image])
})

test('an object is read with its artifacts', async (t) => {
  const { service, run } = await startRig(t)
  const artifacts = [{ type: 'docker/image', name: 'app', reference: 'app:1' }]
  const manifest = { kind: 'Deployment', data: '${ HOME }' }
  service.add('deployment web', { manifest, more: { artifacts } })
  const { stages } = await run({ type: 'findArtifactsFromResource', ...web })
  assert.deepEqual(
    [stages[0]?.outputs['manifest'], stages[0]?.outputs['artifacts']],
    [manifest, artifacts],
  )
})

test('what has no namespace is read under an underscore', async (t) => {
  const { service, run } = await startRig(t)
  service.add('namespace n3', { location: '' })
  await run({
    type: 'enableManifest',
    account: 'k8s',
    cloudProvider: 'kubernetes',
    manifestName: 'namespace n3',
  })
  assert.equal(at(service.operations, 0, 1, 'location'), '')
  assert.ok(service.asked.some((each) => each.startsWith('GET /manifests/k8s/_/namespace n3')))
})

test('traffic guards cover single objects when they are on', async (t) => {
  const instances = [{ id: 'u1', healthState: 'Up' }]
  const group = {
    name: 'replicaSet api-v000',
    account: 'k8s',
    region: 'n1',
    cloudProvider: 'kubernetes',
    isDisabled: false,
    instances,
  }
  const owned = { ...group, serverGroupManagers: [{ name: 'api' }] }
  const guarded = {
    name: 'shop',
    trafficGuards: [{ account: 'k8s', location: 'n1', stack: '*', detail: '*' }],
  }
  for (const guards of [true, false]) {
    const { service, run } = await startRig(t, { manifests: { guards } })
    service.add('replicaSet api-v000', api('api-v000'))
    service.add('deployment api', api('api'))
    service.scripted.set('front50', () => ({ status: 200, body: guarded }))
    service.scripted.set('GET /applications/shop/clusters/k8s/replicaSet%20api/kubernetes', () => ({
      status: 200,
      body: { serverGroups: [owned] },
    }))
    const jobs = [
      { type: 'disableManifest', ...place, manifestName: 'replicaSet api-v000' },
      { type: 'scaleManifest', ...place, manifestName: 'deployment api', replicas: 0 },
      { type: 'deleteManifest', ...place, manifestName: 'replicaSet api-v000' },
    ]
    for (const job of jobs) {
      const execution = await run(job, guards ? 'TERMINAL' : 'SUCCEEDED')
      if (guards)
        assert.match(
          errorOf(execution),
          /The traffic guard of the cluster replicaSet api in k8s\/n1 forbids/,
        )
    }
    assert.equal(service.operations.length, guards ? 0 : 3)
    await run(
      { type: 'scaleManifest', ...place, manifestName: 'deployment api', replicas: 2 },
      'SUCCEEDED',
    )
  }
})
