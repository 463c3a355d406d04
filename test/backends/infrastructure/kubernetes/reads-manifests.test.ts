import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  fieldAt,
  fieldOf,
  type JsonObject,
  objectsOf,
  textsOf,
} from '../../../../packages/base/json/values.ts'
import { startFakeKubernetes } from '../../../support/fake-kubernetes.ts'
import { startKubernetesInfrastructure } from '../../../support/kubernetes-infrastructure.ts'
import {
  metadata,
  ownedBy,
  ownerReference,
  pod,
  service,
  workload,
} from '../../../support/kubernetes-objects.ts'

const annotations = ownedBy('shop', 'deployment web')
const pathOf = (name: string, place = 'k8s/n1') => `/manifests/${place}/${encodeURIComponent(name)}`

async function startManifests(
  t: TestContext,
  account: JsonObject = {},
  views?: Record<string, JsonObject>,
) {
  const fake = await startFakeKubernetes(t)
  const infrastructure = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig(), ...account }],
    ...(views !== undefined && { views }),
  })
  return { fake, ...infrastructure }
}

test('kubernetes-scenario 109: a manifest is found by each spelling of its kind', async (t) => {
  const { fake, read } = await startManifests(t)
  fake.objects.put({
    ...workload('Deployment', 'web', { annotations, managedFields: [{ manager: 'x' }] }),
    status: { replicas: 1 },
  })

  const manifest = await read(pathOf('deployment web'))

  assert.deepEqual(
    [manifest['account'], manifest['location'], manifest['name']],
    ['k8s', 'n1', 'deployment web'],
  )
  assert.equal(fieldAt(manifest, 'moniker', 'app'), 'shop')
  assert.equal(fieldAt(manifest, 'manifest', 'kind'), 'Deployment')
  assert.equal(fieldAt(manifest, 'manifest', 'metadata', 'managedFields'), undefined)
  assert.deepEqual(Object.keys(fieldOf(manifest, 'status') as object).sort(), [
    'available',
    'failed',
    'paused',
    'stable',
  ])
  assert.deepEqual(manifest['artifacts'], [
    { type: 'docker/image', name: 'app', reference: 'app:1' },
  ])
  assert.deepEqual([manifest['events'], manifest['warnings'], manifest['metrics']], [[], [], []])
  for (const name of ['Deployment web', 'deploy web', 'deployment.apps web']) {
    assert.equal((await read(pathOf(name)))['name'], 'deployment web', name)
  }
})

test('kubernetes-scenario 110: cluster-wide and qualified kinds are found', async (t) => {
  const { fake, read } = await startManifests(t)
  fake.objects.put({ kind: 'ClusterRole', metadata: { name: 'x' }, rules: [] })
  const spec = { scaleTargetRef: { kind: 'Deployment', name: 'web' } }
  fake.objects.put({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: metadata('web'),
    spec,
  })

  assert.equal((await read(pathOf('clusterRole x', 'k8s/_')))['name'], 'clusterRole x')
  assert.equal((await read(pathOf('clusterRole x', 'k8s')))['location'], '')
  const scaler = await read(pathOf('HorizontalPodAutoscaler.autoscaling web'))
  assert.equal(scaler['name'], 'horizontalpodautoscaler web')
})

test('kubernetes-scenario 111: what does not exist is 404 with its name', async (t) => {
  const { ask } = await startManifests(t, { omitNamespaces: ['kube-system'] })
  const paths = [
    pathOf('deployment none'),
    pathOf('deployment none', 'nope/n1'),
    pathOf('none'),
    pathOf('gadget none'),
    pathOf('deployment none', 'k8s/_'),
    pathOf('deployment none', 'k8s/kube-system'),
  ]
  for (const path of paths) {
    const { status, body } = await ask('GET', path)
    assert.equal(status, 404, path)
    assert.match(String(fieldOf(body, 'message')), /^Unable to find .*none in /)
  }
})

test('kubernetes-scenario 112: a manifest has its events, oldest first', async (t) => {
  const { fake, read } = await startManifests(t)
  const web = fake.objects.put(workload('Deployment', 'web', { annotations }))
  const about = (given: JsonObject) => ({
    kind: 'deployment',
    name: 'web',
    namespace: 'n1',
    uid: web.metadata.uid,
    ...given,
  })
  const events: [string, JsonObject, JsonObject][] = [
    ['untimed', about({}), {}],
    [
      'late',
      about({}),
      { lastTimestamp: '2026-01-03T00:00:00Z', count: 2, type: 'Warning', message: 'm' },
    ],
    ['early', about({}), { firstTimestamp: '2026-01-02T00:00:00Z' }],
    ['former', about({ uid: 'another' }), {}],
    ['other-kind', about({ kind: 'Service' }), {}],
  ]
  for (const [name, involvedObject, fields] of events) {
    fake.objects.put({
      kind: 'Event',
      apiVersion: 'v1',
      metadata: metadata(name),
      involvedObject,
      reason: name,
      ...fields,
    })
  }

  const reasons = (manifest: JsonObject) =>
    objectsOf(manifest['events']).map(({ reason }) => reason)
  assert.deepEqual(reasons(await read(pathOf('deployment web'))), ['early', 'late', 'untimed'])
  assert.deepEqual(reasons(await read(`${pathOf('deployment web')}?includeEvents=false`)), [])
})

test('kubernetes-scenario 113: fields that clients need are there before the controller writes them', async (t) => {
  const { fake, read } = await startManifests(t)
  fake.objects.put(workload('Deployment', 'web', { annotations }))
  fake.objects.put(service('front', { app: 'web' }))

  assert.deepEqual(fieldAt(await read(pathOf('deployment web')), 'manifest', 'status'), {
    conditions: [],
  })
  assert.deepEqual(fieldAt(await read(pathOf('service front')), 'manifest', 'status'), {
    loadBalancer: {},
  })
})

const claim = 'moniker.spinnaker.io/application'
const readsOnly = ['READ']
const all = ['READ', 'WRITE', 'EXECUTE']
const views = {
  alice: {
    accounts: [{ name: 'k8s', authorizations: all }],
    applications: [{ name: 'shop', authorizations: all }],
  },
  bob: {
    accounts: [{ name: 'k8s', authorizations: readsOnly }],
    applications: [{ name: 'shop', authorizations: all }],
  },
  carol: { accounts: [], applications: [{ name: 'shop', authorizations: all }] },
  erin: {
    accounts: [{ name: 'k8s', authorizations: all }],
    applications: ['shop', 'bank'].map((name) => ({ name, authorizations: all })),
  },
  dora: { accounts: [{ name: 'k8s', authorizations: all }], applications: [] },
}

test('kubernetes-scenario 127: manifests need rights on the account and the application', async (t) => {
  const { fake, ask } = await startManifests(t, { permissions: { READ: ['ops'] } }, views)
  const web = fake.objects.put(workload('Deployment', 'web', { annotations }))
  fake.objects.put(
    workload('ReplicaSet', 'web-a', { annotations, ownerReferences: [ownerReference(web)] }),
  )
  fake.objects.put(service('front', { app: 'web' }, { annotations }))
  fake.objects.put(pod('lone', undefined, { annotations }))
  fake.logs.set('n1/lone/main', 'secret output')
  const statusOf = async (user: string, path: string) =>
    (await ask('GET', path, undefined, user)).status
  const cluster = `/manifests/k8s/n1/replicaSet/cluster/shop/${encodeURIComponent('deployment web')}`

  for (const path of [
    pathOf('deployment web'),
    cluster,
    `${cluster}/dynamic/newest`,
    '/instances/k8s/n1/pod%20lone/console',
  ]) {
    assert.equal(await statusOf('alice', path), 200, path)
    assert.equal(await statusOf('carol', path), 403, path)
    assert.equal(await statusOf('dora', path), 403, path)
  }
  for (const list of ['serverGroups', 'serverGroupManagers', 'loadBalancers', 'rawResources']) {
    const shown = async (user: string) =>
      objectsOf((await ask('GET', `/applications/shop/${list}`, undefined, user)).body).length
    assert.ok((await shown('alice')) > 0, list)
    assert.equal(await shown('carol'), 0, list)
  }
})

test('the output of a pod that no list shows needs rights on its owner', async (t) => {
  const { fake, ask } = await startManifests(t, {}, views)
  fake.objects.put(
    pod('lone', undefined, {
      annotations: { ...annotations, 'caching.spinnaker.io/ignore': 'true' },
    }),
  )
  fake.logs.set('n1/lone/main', 'secret output')
  const path = '/instances/k8s/n1/pod%20lone/console?provider=kubernetes'

  const { body } = await ask('GET', path, undefined, 'alice')
  assert.deepEqual(Object.keys(body as object), ['output'])
  assert.equal((await ask('GET', path, undefined, 'dora')).status, 403)
})

test('every claim of a pod and its controllers counts for reads', async (t) => {
  const { fake, ask } = await startManifests(t, {}, views)
  const claimed = (
    kind: string,
    name: string,
    application: string | undefined,
    owner?: JsonObject,
  ) =>
    fake.objects.put(
      workload(kind, name, {
        annotations: application === undefined ? {} : { [claim]: application },
        ...(owner !== undefined && { ownerReferences: [ownerReference(owner)] }),
      }),
    )
  const outer = claimed('Deployment', 'outer', 'bank')
  const owners: Readonly<Record<string, JsonObject>> = {
    own: claimed('ReplicaSet', 'own', 'shop'),
    bank: claimed('ReplicaSet', 'bank', 'bank'),
    outer: claimed('ReplicaSet', 'middle', undefined, outer),
    free: claimed('ReplicaSet', 'free', undefined),
    gone: workload('ReplicaSet', 'gone', { uid: 'gone' }),
  }
  const cases: readonly (readonly [string, string | undefined, readonly string[]])[] = [
    ['own', undefined, ['alice']],
    ['own', '', ['alice']],
    ['own', 'bank', ['erin']],
    ['bank', undefined, ['erin']],
    ['bank', 'shop', ['erin']],
    ['outer', undefined, ['erin']],
    ['free', undefined, ['alice', 'erin', 'dora']],
    ['gone', undefined, []],
    ['gone', 'shop', ['alice', 'erin']],
  ]
  for (const [index, [owner, application, readers]] of cases.entries()) {
    const name = `shop-${index}`
    fake.objects.put(
      pod(name, owners[owner], {
        annotations: application === undefined ? {} : { [claim]: application },
      }),
    )
    fake.logs.set(`n1/${name}/main`, 'secret=output')
    const paths = [
      pathOf(`pod ${name}`),
      `/instances/k8s/n1/pod%20${name}/console?provider=kubernetes`,
      `/applications/shop/kubernetes/pods/k8s/n1/${name}/main`,
    ]
    for (const path of paths) {
      const mayAsk = ['alice', 'erin', ...(path.startsWith('/applications') ? [] : ['dora'])]
      for (const user of ['alice', 'erin', 'dora']) {
        const isShown =
          mayAsk.includes(user) &&
          (readers.includes(user) || (user === 'erin' && readers.includes('alice')))
        assert.equal(
          (await ask('GET', path, undefined, user)).status,
          isShown ? 200 : 403,
          `${user} ${path} ${owner} ${application}`,
        )
      }
    }
  }
  // Lists, which have all of them by now.
  for (const [index, [owner, application, readers]] of cases.entries()) {
    const shown = await Promise.all(
      ['alice', 'erin', 'dora'].map(async (user) => {
        const { status } = await ask(
          'GET',
          `/instances/k8s/n1/pod%20shop-${index}`,
          undefined,
          user,
        )
        return status === 200 ? [user] : []
      }),
    )
    const expected = readers.includes('alice')
      ? ['alice', 'erin', ...readers.filter((user) => user === 'dora')]
      : readers
    assert.deepEqual(shown.flat(), expected, `${owner} ${application}`)
  }
})

test('kubernetes-scenario 128: secret values need WRITE on the account', async (t) => {
  const { fake, read } = await startManifests(t, {}, views)
  const lastApplied = {
    'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"key":"c2VjcmV0"}}',
  }
  const given = { annotations: { ...annotations, ...lastApplied } }
  fake.objects.put({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadata('conf-v000', given),
    data: { key: 'c2VjcmV0' },
  })

  assert.match(JSON.stringify(await read(pathOf('secret conf-v000'), 'alice')), /c2VjcmV0/)
  const masked = await read(pathOf('secret conf-v000'), 'bob')
  assert.doesNotMatch(JSON.stringify(masked), /c2VjcmV0/)
  assert.equal(masked['name'], 'secret conf-v000')
})

test('kubernetes-scenario 130: an API server that is stopped is a 5xx that names the account', async (t) => {
  const { fake, ask, until } = await startManifests(t, { kubectlRequestTimeoutSeconds: 2 })
  fake.objects.put(workload('Deployment', 'web', { annotations }))
  await fake.stop()

  const { status, body } = await ask('GET', pathOf('deployment web'))

  assert.equal(status, 503)
  assert.match(String(fieldOf(body, 'message')), /account k8s .*(refused|no response)/)
  await fake.start()
  await until(pathOf('deployment web'), ({ name }) => name === 'deployment web')
})

test('criteria choose among the manifests of a cluster', async (t) => {
  const { fake, read, ask } = await startManifests(t)
  const versions: [string, number, string][] = [
    ['api-v000', 3, '2026-01-01T00:00:00Z'],
    ['api-v001', 1, '2026-01-02T00:00:00Z'],
    ['api-v002', 2, '2026-01-02T00:00:00Z'],
  ]
  for (const [name, replicas, creationTimestamp] of versions) {
    const fields = { annotations: ownedBy('shop', 'replicaSet api'), replicas, creationTimestamp }
    fake.objects.put(workload('ReplicaSet', name, fields))
  }
  fake.objects.put(
    workload('ReplicaSet', 'api-v003', { annotations: ownedBy('other', 'replicaSet api') }),
  )
  const cluster = `/manifests/k8s/n1/replicaSet/cluster/shop/${encodeURIComponent('replicaSet api')}`

  const namesOf = (listed: JsonObject[]) => listed.map(({ name }) => name)
  assert.deepEqual(namesOf(await read<JsonObject[]>(cluster)), ['api-v000', 'api-v001', 'api-v002'])
  const chosen = {
    newest: 'api-v002',
    second_newest: 'api-v001',
    oldest: 'api-v000',
    largest: 'api-v000',
    smallest: 'api-v001',
  }
  for (const [criterion, name] of Object.entries(chosen)) {
    assert.deepEqual(
      await read(`${cluster}/dynamic/${criterion}`),
      { kind: 'replicaSet', namespace: 'n1', name },
      criterion,
    )
  }
  assert.equal((await ask('GET', `${cluster}/dynamic/prettiest`)).status, 400)
  assert.equal((await ask('GET', `${cluster.replace('shop', 'none')}/dynamic/newest`)).status, 404)
  assert.deepEqual(await read(cluster.replace('shop', 'none')), [])
  fake.script(
    /replicasets/,
    { status: 500, body: { kind: 'Status', code: 500, message: 'etcd is away' } },
    100,
  )
  assert.ok((await ask('GET', `${cluster}/dynamic/newest`)).status >= 500)
})

test('a pod shows what its containers use', async (t) => {
  const { fake, read } = await startManifests(t)
  fake.objects.put(pod('web-1', undefined))
  const containers = [{ name: 'main', usage: { cpu: '2500001n', memory: '12288Ki' } }]
  fake.script(/metrics\.k8s\.io\/v1beta1\/namespaces\/n1\/pods\/web-1/, {
    status: 200,
    body: { containers },
  })

  const { metrics } = await read(pathOf('pod web-1'))

  assert.deepEqual(metrics, [
    { containerName: 'main', metrics: { 'CPU(cores)': '3m', 'MEMORY(bytes)': '12Mi' } },
  ])
})

test('an object that is not stable tells the reasons', async (t) => {
  const { fake, read } = await startManifests(t)
  const web = fake.objects.put(workload('Deployment', 'web', { annotations }))
  const replicaSet = (name: string, revision: string) =>
    fake.objects.put(
      workload('ReplicaSet', name, {
        app: 'web',
        labels: { app: 'web' },
        annotations: { 'deployment.kubernetes.io/revision': revision },
        ownerReferences: [ownerReference(web)],
      }),
    )
  const put = (name: string, owner: JsonObject, state: JsonObject) =>
    fake.objects.put({
      ...pod(name, owner, { labels: { app: 'web' } }),
      status: { phase: 'Pending', containerStatuses: [{ name: 'main', ready: false, ...state }] },
    })
  put('web-1-x', replicaSet('web-1', '1'), {
    state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } },
  })
  const lastState = { terminated: { exitCode: 3, reason: 'Error' } }
  const waiting = { reason: 'CrashLoopBackOff' }
  put('web-2-x', replicaSet('web-2', '2'), { restartCount: 4, state: { waiting }, lastState })
  fake.logs.set('n1/web-2-x/main/previous', 'starting\nno database\n')

  const manifest = await read(pathOf('deployment web'))

  const [reason, ...others] = textsOf(manifest['reasons'])
  assert.match(reason ?? '', /exit code 3 .*web-2-x.*4 restarts.*no database/s)
  assert.deepEqual([others, manifest['hopeless']], [[], false])
})

test('kubernetes-scenario 118: a console has the containers in order', async (t) => {
  const { fake, read } = await startManifests(t)
  fake.objects.put(pod('web-1', undefined))
  fake.logs.set('n1/web-1/setup', 'ready\n')
  fake.logs.set('n1/web-1/main', 'one\ntwo\nthree\n')
  fake.logs.set('n1/web-1/main/previous', 'before\n')
  const console = '/instances/k8s/n1/pod%20web-1/console?provider=kubernetes'

  assert.deepEqual((await read(console))['output'], [
    { name: 'setup', output: 'ready\n' },
    { name: 'main', output: 'one\ntwo\nthree\n' },
  ])
  assert.deepEqual((await read(`${console}&container=main&tail=2`))['output'], [
    { name: 'main', output: 'two\nthree\n' },
  ])
  assert.deepEqual((await read(`${console}&container=main&previous=true`))['output'], [
    { name: 'main', output: 'before\n' },
  ])
  const [missing] = objectsOf((await read(console.replace('web-1', 'none')))['output'])
  assert.equal(missing?.['name'], 'Error')
})

test('a long log is cut, and says so', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(pod('web-1', undefined))
  fake.logs.set(
    'n1/web-1/main',
    Array.from({ length: 100 }, (_, index) => `line ${index}\n`).join(''),
  )
  const consoleWith = async (general: JsonObject) => {
    const accounts = [{ name: 'k8s', kubeconfigContents: fake.kubeconfig() }]
    const { read } = await startKubernetesInfrastructure(t, { accounts, general })
    const { output } = await read(
      '/instances/k8s/n1/pod%20web-1/console?provider=kubernetes&container=main',
    )
    return String(objectsOf(output)[0]?.['output']).split('\n')
  }

  const byLines = await consoleWith({ 'logs.max-lines': 2 })
  assert.match(byLines[0] ?? '', /Older lines are left out/)
  assert.deepEqual(byLines.slice(1), ['line 98', 'line 99', ''])

  const byBytes = await consoleWith({ 'logs.max-bytes': 200 })
  assert.match(byBytes[0] ?? '', /Older lines are left out/)
  assert.deepEqual(byBytes.slice(-2), ['line 99', ''])
  assert.ok(byBytes.slice(1).join('\n').length <= 200)
})
