import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import {
  fieldAt,
  fieldOf,
  type JsonObject,
  objectsOf,
} from '../../../../packages/base/json/values.ts'
import { ConcurrencyLimit } from '../../../../packages/base/stores/in-turns.ts'
import { OpenKubernetesAccount } from '../../../../packages/providers/kubernetes/account.ts'
import { SharedConnections } from '../../../../packages/providers/kubernetes/api/connections.ts'
import { deployedMigrations } from '../../../../packages/providers/kubernetes/deployed-objects.ts'
import { ReadsUnderWay } from '../../../../packages/providers/kubernetes/parts.ts'
import { Sharing } from '../../../../packages/providers/kubernetes/reads/kept-object.ts'
import { type FakeKubernetes, startFakeKubernetes } from '../../../support/fake-kubernetes.ts'
import {
  kubernetesSettings,
  startKubernetesInfrastructure,
} from '../../../support/kubernetes-infrastructure.ts'
import {
  ingress,
  metadata,
  networkPolicy,
  ownedBy,
  ownerReference,
  pod,
  service,
  workload,
} from '../../../support/kubernetes-objects.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const shop = '/applications/shop'
const annotations = ownedBy('shop', 'replicaSet api')

async function startLists(t: TestContext, account: JsonObject = {}, general: JsonObject = {}) {
  const fake = await startFakeKubernetes(t)
  const infrastructure = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig(), ...account }],
    general,
  })
  return { fake, ...infrastructure }
}

/** A replica set with its pods, which are named after it. */
function putReplicaSet(
  fake: FakeKubernetes,
  name: string,
  given: JsonObject = {},
  pods: readonly boolean[] = [true],
): JsonObject {
  const owner = fake.objects.put(
    workload('ReplicaSet', name, { annotations, app: 'api', ...given }),
  )
  pods.forEach((ready, index) => {
    fake.objects.put(pod(`${name}-${index}`, owner, { annotations, ready }))
  })
  return owner
}

test('services select server groups of every kind by their labels', async (t) => {
  const { fake, read } = await startLists(t)
  putReplicaSet(fake, 'api-v000', {}, [true, false])
  fake.objects.put(workload('StatefulSet', 'store', { annotations, app: 'api' }))
  fake.objects.put(workload('DaemonSet', 'agent', { annotations, app: 'other' }))
  fake.objects.put(service('front', { app: 'api' }, { annotations }))
  fake.objects.put(service('bare', {}, { annotations }))
  fake.objects.put(service('front', { app: 'api' }, { annotations, namespace: 'n2' }))
  fake.objects.put(ingress('edge', 'front', { annotations }))

  const groups = await read<JsonObject[]>(`${shop}/serverGroups`)

  assert.deepEqual(
    groups.map(({ name, loadBalancers, isDisabled }) => [name, loadBalancers, isDisabled]),
    [
      ['daemonSet agent', [], false],
      ['replicaSet api-v000', ['service front'], false],
      ['statefulSet store', ['service front'], false],
    ],
  )
  const balancers = await read<JsonObject[]>(`${shop}/loadBalancers`)
  const shown = balancers.map(({ name, namespace, serverGroups }) => [
    name,
    namespace,
    objectsOf(serverGroups).map((group) => group['name']),
  ])
  assert.deepEqual(shown, [
    ['ingress edge', 'n1', ['replicaSet api-v000', 'statefulSet store']],
    ['service bare', 'n1', []],
    ['service front', 'n1', ['replicaSet api-v000', 'statefulSet store']],
    ['service front', 'n2', []],
  ])
  assert.deepEqual(
    balancers.map(({ addresses }) => addresses),
    [['http://shop.test/'], undefined, undefined, undefined],
  )
  const [group] = objectsOf(balancers[2]?.['serverGroups'])
  assert.deepEqual(
    objectsOf(group?.['instances']).map((instance) => [
      instance['name'],
      fieldAt(instance, 'health', 'state'),
    ]),
    [
      ['pod api-v000-0', 'Up'],
      ['pod api-v000-1', 'Down'],
    ],
  )
})

test('a server group that no service selects is disabled if it names load balancers', async (t) => {
  const { fake, read, until } = await startLists(t)
  const traffic = { ...annotations, 'traffic.spinnaker.io/load-balancers': '["service front"]' }
  fake.objects.put(workload('ReplicaSet', 'api-v000', { annotations: traffic, app: 'api' }))

  const [before] = await read<JsonObject[]>(`${shop}/serverGroups`)
  assert.deepEqual(
    [before?.['isDisabled'], before?.['disabled'], before?.['loadBalancers']],
    [true, true, ['service front']],
  )

  fake.objects.put(service('front', { app: 'api' }))
  await until<JsonObject[]>(`${shop}/serverGroups`, ([group]) => group?.['isDisabled'] === false)
})

test('a daemon set has the capacity that is scheduled', async (t) => {
  const { fake, read } = await startLists(t)
  fake.objects.put({
    ...workload('DaemonSet', 'agent', { annotations }),
    status: { desiredNumberScheduled: 3 },
  })

  const [group] = await read<JsonObject[]>(`${shop}/serverGroups`)

  assert.deepEqual(group?.['capacity'], { desired: 3 })
})

test('a deployment lists its replica sets by revision', async (t) => {
  const { fake, read } = await startLists(t)
  const web = fake.objects.put(
    workload('Deployment', 'web', { annotations: ownedBy('shop', 'deployment web') }),
  )
  for (const revision of ['1', '2']) {
    fake.objects.put(
      workload('ReplicaSet', `web-${revision}`, {
        annotations: {
          ...ownedBy('shop', 'deployment web'),
          'deployment.kubernetes.io/revision': revision,
        },
        ownerReferences: [ownerReference(web)],
      }),
    )
  }

  const [manager] = await read<JsonObject[]>(`${shop}/serverGroupManagers`)

  assert.deepEqual(
    [manager?.['name'], manager?.['kind'], manager?.['region']],
    ['deployment web', 'deployment', 'n1'],
  )
  assert.deepEqual(
    objectsOf(manager?.['serverGroups']).map((group) => [
      group['name'],
      fieldAt(group, 'moniker', 'sequence'),
    ]),
    [
      ['replicaSet web-1', 1],
      ['replicaSet web-2', 2],
    ],
  )
  assert.deepEqual(await read('/applications/none/serverGroupManagers'), [])
})

test('kubernetes-scenario 35: an account can list only what Spinnaker manages', async (t) => {
  const { fake, read } = await startLists(t, { onlySpinnakerManaged: true })
  fake.objects.put(workload('Deployment', 'shop-main-v003'))
  fake.objects.put(
    workload('Deployment', 'web', { annotations: ownedBy('shop', 'deployment web') }),
  )

  const managers = await read<JsonObject[]>(`${shop}/serverGroupManagers`)

  assert.deepEqual(
    managers.map(({ name }) => name),
    ['deployment web'],
  )
  assert.equal(
    (await read('/manifests/k8s/n1/deployment%20shop-main-v003'))['name'],
    'deployment shop-main-v003',
  )
})

test('kubernetes-scenario 36: an ignored object is not listed', async (t) => {
  const { fake, read, until } = await startLists(t)
  const ignored = { ...annotations, 'caching.spinnaker.io/ignore': 'true' }
  putReplicaSet(fake, 'api-v000', { annotations: ignored })
  putReplicaSet(fake, 'api-v001')

  const names = (groups: JsonObject[]) => groups.map(({ name }) => name)
  assert.deepEqual(names(await read<JsonObject[]>(`${shop}/serverGroups`)), ['replicaSet api-v001'])
  const [found] = await read<JsonObject[]>('/search?q=api&type=serverGroups')
  assert.equal(found?.['totalMatches'], 1)
  assert.equal(
    (await read('/manifests/k8s/n1/replicaSet%20api-v000'))['name'],
    'replicaSet api-v000',
  )

  putReplicaSet(fake, 'api-v001', { annotations: ignored })
  await until<JsonObject[]>(`${shop}/serverGroups`, (groups) => groups.length === 0)
})

test('custom kinds are server groups where the account says so', async (t) => {
  const customResources = [{ kubernetesKind: 'Widget.example.test', spinnakerKind: 'serverGroups' }]
  const { fake, read } = await startLists(t, { customResources })
  fake.serve('example.test/v1', 'Widget', 'widgets', 'N', 'wd')
  fake.objects.put({
    ...workload('Widget', 'gear', { annotations, replicas: 2 }),
    apiVersion: 'example.test/v1',
  })

  const [group] = await read<JsonObject[]>(`${shop}/serverGroups`)

  assert.deepEqual(
    [group?.['name'], group?.['capacity']],
    ['Widget.example.test gear', { desired: 2 }],
  )
})

test('network policies are security groups with ports by number and name', async (t) => {
  const { fake, read } = await startLists(t)
  fake.objects.put(
    networkPolicy('shop-np', [
      { port: 80 },
      { port: 'http', protocol: 'UDP' },
      { port: 1000, endPort: 2000 },
    ]),
  )

  const index = await read('/securityGroups')
  assert.deepEqual(
    objectsOf(fieldAt(index, 'k8s', 'kubernetes', 'n1')).map(({ id, name }) => [id, name]),
    [['networkPolicy shop-np', 'networkPolicy shop-np']],
  )
  const details = await read('/securityGroups/k8s/kubernetes/n1/networkPolicy%20shop-np')
  assert.deepEqual(details['inboundRules'], [
    { protocol: 'TCP', portRanges: [{ startPort: 80, endPort: 80 }] },
    { protocol: 'UDP', portRanges: [{ startPortName: 'http', endPortName: 'http' }] },
    { protocol: 'TCP', portRanges: [{ startPort: 1000, endPort: 2000 }] },
  ])
  assert.deepEqual(
    [details['displayName'], details['namespace'], details['account']],
    ['shop-np', 'n1', 'k8s'],
  )
})

test('kubernetes-scenario 124: raw resources have what the application owns, except pods', async (t) => {
  const { fake, read } = await startLists(t, { omitKinds: ['ingress'] })
  putReplicaSet(fake, 'api-v000')
  fake.objects.put(service('front', { app: 'api' }, { annotations, labels: { tier: 'web' } }))
  fake.objects.put(ingress('edge', 'front', { annotations }))
  fake.objects.put(service('foreign', { app: 'api' }))

  const resources = await read<JsonObject[]>(`${shop}/rawResources`)

  assert.deepEqual(resources.map(({ name }) => name).sort(), [
    'replicaSet api-v000',
    'service front',
  ])
  const { moniker, createdTime, ...fields } =
    resources.find(({ name }) => name === 'service front') ?? {}
  assert.deepEqual(fields, {
    name: 'service front',
    displayName: 'front',
    kind: 'service',
    apiVersion: 'v1',
    account: 'k8s',
    cloudProvider: 'kubernetes',
    namespace: 'n1',
    region: 'n1',
    labels: { tier: 'web' },
  })
  assert.deepEqual([fieldOf(moniker, 'app'), typeof createdTime], ['shop', 'number'])
})

test('patterns choose the kinds of raw resources', async (t) => {
  const { fake, read } = await startLists(t, {
    rawResourcesEndpointConfig: { omitKindExpressions: ['replica.*'] },
  })
  putReplicaSet(fake, 'api-v000')
  fake.objects.put(service('front', { app: 'api' }, { annotations }))

  const resources = await read<JsonObject[]>(`${shop}/rawResources`)

  assert.deepEqual(
    resources.map(({ kind }) => kind),
    ['service'],
  )
})

test('kinds without a screen are listed where settings ask for them', async (t) => {
  const all = { cacheAllApplicationRelationships: true }
  const { fake, read } = await startLists(t, all, { 'cache.cacheKinds': ['configMap'] })
  fake.objects.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadata('conf', { annotations }),
    data: { a: '1' },
  })

  assert.deepEqual(
    (await read<JsonObject[]>(`${shop}/rawResources`)).map(({ name }) => name),
    ['configMap conf'],
  )
  const [found] = await read<JsonObject[]>('/search?q=conf&type=configMap')
  assert.deepEqual(
    objectsOf(found?.['results']).map(({ name, id, type }) => [name, id, type]),
    [['configMap conf', 'configMap conf', 'configs']],
  )
})

test('lists can show stored applications alone', async (t) => {
  const fake = await startFakeKubernetes(t)
  putReplicaSet(fake, 'api-v000')
  fake.objects.put(workload('ReplicaSet', 'other-v000'))
  const { read } = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig() }],
    general: { 'cache.checkApplicationInFront50': true },
    stored: [{ name: 'SHOP' }],
  })

  assert.equal((await read<JsonObject[]>(`${shop}/serverGroups`)).length, 1)
  assert.deepEqual(await read('/applications/other/serverGroups'), [])
})

test('a job tells why it has failed', async (t) => {
  const { fake, read } = await startLists(t)
  const message = 'Job has reached the specified backoff limit'
  const job = fake.objects.put({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: metadata('run', { annotations }),
    spec: { backoffLimit: 0 },
    status: {
      failed: 1,
      conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message }],
    },
  })
  const terminated = {
    exitCode: 3,
    reason: 'Error',
    message: 'no disk',
    finishedAt: '2026-01-01T00:01:00Z',
  }
  fake.objects.put({
    ...pod('run-x', job, { annotations }),
    status: {
      phase: 'Failed',
      startTime: '2026-01-01T00:00:00Z',
      containerStatuses: [{ name: 'main', state: { terminated } }],
    },
  })

  const shown = await read(`${shop}/jobs/k8s/n1/job%20run`)

  assert.deepEqual(
    [shown['name'], shown['jobState'], shown['provider']],
    ['run', 'Failed', 'kubernetes'],
  )
  assert.deepEqual([shown['reason'], shown['message']], ['BackoffLimitExceeded', message])
  assert.equal(
    shown['failureDetails'],
    "Pod: 'run-x'. Container: 'main' exited with code: 3. Status: Error. Message: no disk",
  )
  assert.deepEqual(fieldOf(shown['completionDetails'], 'exitCode'), '3')
  assert.deepEqual(
    [shown['mostRecentPodName'], fieldAt(objectsOf(shown['pods'])[0], 'status', 'phase')],
    ['run-x', 'Failed'],
  )
})

test('properties come from the log of a container of the job', async (t) => {
  const { fake, read } = await startLists(t)
  const job = fake.objects.put({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: metadata('run', { annotations }),
  })
  fake.objects.put(pod('run-x', job, { annotations }))
  fake.logs.set(
    'n1/run-x/main',
    'hello\n12:00 SPINNAKER_PROPERTY_COLOR=blue=1\nSPINNAKER_CONFIG_JSON={"size": 3}\n',
  )

  const properties = { color: 'blue=1', size: 3 }
  assert.deepEqual(await read(`${shop}/jobs/k8s/n1/job%20run/main`), properties)
  assert.deepEqual(await read(`${shop}/kubernetes/pods/k8s/n1/run-x/main`), properties)
  assert.deepEqual(await read(`${shop}/kubernetes/pods/k8s/n1/none/main`), {})

  fake.logs.set('n1/run-x/main', 'SPINNAKER_PROPERTY_COLOR=blue\nSPINNAKER_CONFIG_JSON={broken\n')
  assert.deepEqual(await read(`${shop}/jobs/k8s/n1/job%20run/main`), {})
})

test('a job is removed with its pods', async (t) => {
  const { fake, ask } = await startLists(t)
  fake.objects.put({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: metadata('run', { annotations }),
  })

  const path = `${shop}/jobs/k8s/n1/job%20run`
  assert.equal((await ask('DELETE', path)).status, 200)
  assert.equal((await ask('GET', path)).status, 404)
  const removal = fake.requests.find(({ method }) => method === 'DELETE')
  assert.equal(fieldOf(removal?.body, 'propagationPolicy'), 'Background')
})

test('kubernetes-scenario 121: searches go by kinds of Kubernetes and of Spinnaker', async (t) => {
  const { fake, read } = await startLists(t)
  putReplicaSet(fake, 'api-v000')
  putReplicaSet(fake, 'api-v001')
  fake.objects.put(service('front', { app: 'api' }, { annotations }))

  const resultsOf = async (query: string) => {
    const [set] = await read<JsonObject[]>(`/search?${query}`)
    return { total: set?.['totalMatches'], results: objectsOf(set?.['results']) }
  }
  const [found] = (await resultsOf('q=n1&type=service&pageSize=500')).results
  assert.deepEqual(found, {
    provider: 'kubernetes',
    account: 'k8s',
    namespace: 'n1',
    region: 'n1',
    kubernetesKind: 'service',
    group: 'service',
    name: 'service front',
    type: 'loadBalancers',
    loadBalancer: 'service front',
    application: 'shop',
    cluster: 'replicaSet api',
  })
  const page = await resultsOf('q=api&type=serverGroups&pageSize=1')
  assert.deepEqual([page.total, page.results.length], [2, 1])
  assert.deepEqual(
    [page.results[0]?.['application'], page.results[0]?.['serverGroup']],
    ['shop', 'replicaSet api-v000'],
  )
  assert.equal((await resultsOf('q=shop&type=instances')).total, 2)
  assert.equal((await resultsOf('q=api&type=replicaSet&namespace=n2')).total, 0)
})

test('kubernetes-scenario 129, objects-scenario 126: a kind that may not be listed is empty', async (t) => {
  const { fake, read } = await startLists(t)
  const body = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'ingresses is forbidden' }
  fake.script(/\/ingresses/, { status: 403, body }, 100)
  fake.objects.put(service('front', { app: 'api' }, { annotations }))

  const balancers = await read<JsonObject[]>(`${shop}/loadBalancers`)

  assert.deepEqual(
    balancers.map(({ name }) => name),
    ['service front'],
  )
})

test('lists show an object with those that claim it, never by its name', async (t) => {
  const { fake, read } = await startLists(t)
  const claim = 'moniker.spinnaker.io/application'
  const manager = fake.objects.put(
    workload('Deployment', 'web', { annotations: { [claim]: ' "shop" ' } }),
  )
  const followed = fake.objects.put(
    workload('ReplicaSet', 'other-v000', { ownerReferences: [ownerReference(manager)] }),
  )
  fake.objects.put(pod('other-v000-a', followed))
  const blank: Record<string, Record<string, string>> = {
    'shop-a': {},
    'shop-b': { [claim]: '' },
    'shop-c': { [claim]: ' ' },
  }
  for (const [name, annotations] of Object.entries(blank)) {
    fake.objects.put(
      pod(`${name}-pod`, fake.objects.put(workload('ReplicaSet', name, { annotations })), {
        annotations,
      }),
    )
    fake.objects.put(service(name, {}, { annotations }))
    fake.objects.put(ingress(name, name, { annotations }))
    fake.objects.put(networkPolicy(name, [], { annotations }))
    fake.objects.put(pod(`${name}-lone`, undefined, { annotations }))
  }

  const groups = await read<JsonObject[]>(`${shop}/serverGroups`)
  assert.deepEqual(
    groups.map(({ name }) => name),
    ['replicaSet other-v000'],
  )
  assert.deepEqual(await read(`${shop}/clusters`), { k8s: ['other'] })
  assert.deepEqual(await read(`${shop}/loadBalancers`), [])
  const { moniker, application } = await read('/instances/k8s/n1/pod%20other-v000-a')
  assert.deepEqual([fieldOf(moniker, 'app'), application], ['shop', 'shop'])
  const found = await read<JsonObject[]>(
    '/search?q=shop-&type=serverGroups,instances,loadBalancers,securityGroups&pageSize=100',
  )
  const results = objectsOf(found[0]?.['results'])
  assert.ok(results.length > 8)
  assert.ok(results.every((result) => (result['application'] ?? null) === null))
})

test('the first read waits for the lists that it needs, and only those', async (t) => {
  const { fake, read } = await startLists(t)
  putReplicaSet(fake, 'api-v000')
  assert.equal(fake.count(/replicasets/), 0)

  assert.equal((await read<JsonObject[]>(`${shop}/serverGroups`)).length, 1)
  assert.equal(fake.count(/ingresses|networkpolicies|deployments/), 0)

  const requests = fake.count(/replicasets|pods/)
  await read(`${shop}/serverGroups`)
  assert.equal(fake.count(/replicasets|pods/), requests, 'later reads are answered from memory')
})

test('kubernetes-scenario 132: many server groups are read with one list', async (t) => {
  const { fake, read } = await startLists(t)
  for (let index = 0; index < 500; index++)
    fake.objects.put(workload('ReplicaSet', `api-v${index}`, { annotations }))

  assert.equal((await read<JsonObject[]>(`${shop}/serverGroups`)).length, 500)
  assert.equal(fake.count(/replicasets\?.*limit/), 1)
  assert.equal(fake.count(/replicasets\/|pods\//), 0)
})

test('an account that hangs holds up the first read only', async (t) => {
  const { fake, read } = await startLists(t, { kubectlRequestTimeoutSeconds: 1 })
  fake.script(/replicasets/, 'hang', 1000)
  fake.objects.put(service('front', { app: 'api' }, { annotations }))

  assert.deepEqual(await read(`${shop}/serverGroups`), [])
  assert.equal((await read<JsonObject[]>(`${shop}/loadBalancers`)).length, 1)
})

test('changes are announced and give the application another version', async (t) => {
  const { fake, read, changes } = await startLists(t)
  const owner = putReplicaSet(fake, 'api-v000')
  const versionOf = async () => (await read<string[]>('/versions?application=shop'))[0]
  let [version, count] = [await versionOf(), changes()]
  const unlike = async (what: string) => {
    await waitUntil(async () => changes() > count && (await versionOf()) !== version, what)
    ;[version, count] = [await versionOf(), changes()]
  }

  fake.objects.put(pod('api-v000-0', owner, { annotations, ready: false }))
  await unlike('the pod that is not ready')
  fake.objects.put(workload('ReplicaSet', 'api-v001', { annotations }))
  await unlike('the new replica set')
  const conditions = [{ type: 'Progressing', status: 'False' }]
  fake.objects.put({ ...workload('Deployment', 'web', { annotations }), status: {} })
  await unlike('the new deployment')
  fake.objects.put({ ...workload('Deployment', 'web', { annotations }), status: { conditions } })
  await unlike('the condition')
})

test('what no read has needed for an hour is let go', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(workload('ReplicaSet', 'api-v000', { annotations }))
  let nowMs = 0
  const { accounts, ...provider } = kubernetesSettings({
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig() }],
  })
  const underWay = new ReadsUnderWay()
  const log = pino({ level: 'silent' })
  const told = { changed: () => {}, rejected: () => {} }
  const db = new DatabaseSync(':memory:')
  db.exec(deployedMigrations.join('\n'))
  const connections = new SharedConnections()
  const general = {
    provider,
    underWay,
    sharing: new Sharing(),
    connections,
    loads: new ConcurrencyLimit(10),
    log,
    db,
    ...told,
  }
  const account = new OpenKubernetesAccount({
    ...general,
    settings: accounts[0]!,
    now: () => nowMs,
  })
  t.after(() => account.close())
  const read = async () => {
    const missing = underWay.track()
    account.reads.serverGroups('shop')
    await missing(false)
    return account.reads.serverGroups('shop').length
  }
  assert.equal(await read(), 1)

  nowMs += 3_000_000
  await account.closeUnused()
  assert.equal(account.reads.knownServerGroups().length, 1)

  nowMs += 1_000_000
  await account.closeUnused()
  assert.equal(account.reads.knownServerGroups().length, 0)
  await waitUntil(() => fake.relay.open === 0, 'the end of all connections')

  assert.equal(await read(), 1)
})
