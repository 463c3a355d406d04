import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  fieldAt,
  fieldOf,
  type JsonObject,
  objectsOf,
} from '../../../../packages/base/json/values.ts'
import {
  kubernetesKeys,
  toKubernetesSettings,
} from '../../../../packages/providers/kubernetes/settings.ts'
import { startFakeKubernetes } from '../../../support/fake-kubernetes.ts'
import { freePort } from '../../../support/free-port.ts'
import { startKubernetesInfrastructure } from '../../../support/kubernetes-infrastructure.ts'
import { ownedBy, workload } from '../../../support/kubernetes-objects.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const token = 'a-secret-token'
const groups = '/applications/shop/serverGroups'

function problemsOf(account: JsonObject): string[] {
  const problems: string[] = []
  const keys = kubernetesKeys.keys.parse({
    'kubernetes.enabled': true,
    'kubernetes.accounts': [{ name: 'k8s', ...account }],
  })
  toKubernetesSettings(keys, {
    problem: (_key, message) => problems.push(message),
    notice: () => {},
    isSet: () => false,
  })
  return problems
}

test('kubernetes-scenario 1, 3, 4: an account shows namespaces, and no secrets', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put({ kind: 'Namespace', metadata: { name: 'n1' } })
  const kubeconfigContents = fake.kubeconfig({ token })
  const { until } = await startKubernetesInfrastructure(t, {
    accounts: [
      { name: 'k8s', kubeconfigContents, omitNamespaces: ['kube-system'] },
      { name: 'k8s-one', kubeconfigContents, namespaces: ['one'] },
    ],
  })

  const [open, one] = await until<JsonObject[]>('/credentials?expand=true', ([first]) =>
    namesOf(first).includes('n1'),
  )

  assert.deepEqual(
    [open?.['type'], open?.['cloudProvider'], open?.['accountId']],
    ['kubernetes', 'kubernetes', null],
  )
  assert.deepEqual(namesOf(open), ['default', 'n1'])
  assert.equal(Object.hasOwn(open ?? {}, 'regions'), false)
  assert.deepEqual(
    [one?.['namespaces'], one?.['environment'], one?.['accountType']],
    [['one'], 'k8s-one', 'k8s-one'],
  )
  assert.doesNotMatch(JSON.stringify([open, one]), /a-secret-token|CERTIFICATE|kubeconfig/i)
})

function namesOf(account: JsonObject | undefined): unknown[] {
  const { namespaces } = account ?? {}
  return Array.isArray(namespaces) ? namespaces : []
}

test('kubernetes-scenario 2, 9: an account maps kinds to those of Spinnaker', async (t) => {
  const customResources = [{ kubernetesKind: 'Widget.example.test', spinnakerKind: 'serverGroups' }]
  const { read } = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', customResources }],
  })

  const [account] = await read<JsonObject[]>('/credentials?expand=true')

  const kinds = fieldOf(account, 'spinnakerKindMap') as Record<string, string>
  const expected = {
    deployment: 'serverGroupManagers',
    ...Object.fromEntries(
      ['replicaSet', 'statefulSet', 'daemonSet', 'job', 'cronJob'].map((kind) => [
        kind,
        'serverGroups',
      ]),
    ),
    pod: 'instances',
    service: 'loadBalancers',
    ingress: 'loadBalancers',
    networkPolicy: 'securityGroups',
    configMap: 'configs',
    secret: 'configs',
    horizontalpodautoscaler: 'unclassified',
    'Widget.example.test': 'serverGroups',
  }
  assert.deepEqual(
    Object.fromEntries(Object.keys(expected).map((kind) => [kind, kinds[kind]])),
    expected,
  )
})

test('kubernetes-scenario 5: a new namespace appears', async (t) => {
  const fake = await startFakeKubernetes(t)
  const { read, until } = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig() }],
  })
  await read(groups)
  await until<JsonObject[]>('/credentials', ([account]) => namesOf(account).length === 2)

  fake.objects.put({ kind: 'Namespace', metadata: { name: 'n9' } })

  await until<JsonObject[]>('/credentials', ([account]) => namesOf(account).includes('n9'))
})

test('kubernetes-scenario 6: lists of what counts and of what does not exclude each other', () => {
  assert.match(
    problemsOf({ namespaces: ['one'], omitNamespaces: ['two'] })[0] ?? '',
    /namespaces and omitNamespaces/,
  )
  assert.match(problemsOf({ kinds: ['pod'], omitKinds: ['job'] })[0] ?? '', /kinds and omitKinds/)
})

test('kubernetes-scenario 7: keys of older releases are accepted', () => {
  assert.deepEqual(
    problemsOf({ providerVersion: 'V2', dockerRegistries: [], liveManifestCalls: true }),
    [],
  )
})

test('kubernetes-scenario 8: an account that does not answer harms no other', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(
    workload('ReplicaSet', 'web-v000', { annotations: ownedBy('shop', 'replicaSet web') }),
  )
  const lost = fake.kubeconfig().replaceAll(new URL(fake.url).host, `127.0.0.1:${await freePort()}`)
  const { read, until } = await startKubernetesInfrastructure(t, {
    accounts: [
      { name: 'lost', kubeconfigContents: lost },
      { name: 'broken', kubeconfigContents: 'no kubeconfig' },
      { name: 'k8s', kubeconfigContents: fake.kubeconfig() },
    ],
  })

  const shown = await read<JsonObject[]>(groups)

  assert.deepEqual(
    shown.map(({ account, name }) => [account, name]),
    [['k8s', 'replicaSet web-v000']],
  )
  const accounts = await until<JsonObject[]>('/credentials', (listed) =>
    listed.slice(0, 2).every((account) => fieldOf(account, 'unreachable') !== undefined),
  )
  assert.deepEqual(accounts.map(namesOf).slice(0, 2), [[], []])
  assert.match(String(fieldAt(accounts[0], 'unreachable', 'reason')), /refused/)
  assert.match(String(fieldAt(accounts[1], 'unreachable', 'reason')), /kubeconfig/)
  assert.equal(typeof fieldAt(accounts[0], 'unreachable', 'since'), 'number')
  assert.equal(fieldOf(accounts[2], 'unreachable'), undefined)
})

test('an account that answers again is reachable', async (t) => {
  const fake = await startFakeKubernetes(t)
  const { ask, read, until } = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig() }],
  })
  fake.objects.put(
    workload('ReplicaSet', 'web-v000', { annotations: ownedBy('shop', 'replicaSet web') }),
  )
  assert.equal((await read<JsonObject[]>(groups)).length, 1)

  await fake.stop()
  await until<JsonObject[]>(
    '/credentials',
    ([account]) => fieldOf(account, 'unreachable') !== undefined,
  )
  assert.equal((await read<JsonObject[]>(groups)).length, 1, 'the last state is shown')
  assert.equal((await ask('GET', '/manifests/k8s/n1/replicaSet%20web-v000')).status, 503)

  await fake.start()
  await until<JsonObject[]>(
    '/credentials',
    ([account]) => fieldOf(account, 'unreachable') === undefined,
  )
})

test('kubernetes-scenario 10: permissions come with the account, in the older form as well', async (t) => {
  const { read } = await startKubernetesInfrastructure(t, {
    accounts: [
      { name: 'open' },
      { name: 'k8s-ro', permissions: { READ: ['readers', 'ops'], WRITE: ['ops'] } },
      { name: 'older', requiredGroupMembership: ['Team'] },
      { name: 'both', permissions: { READ: ['readers'] }, requiredGroupMembership: ['team'] },
      { name: 'closed', permissions: { EXECUTE: ['team'] } },
    ],
  })

  const accounts = await read<JsonObject[]>('/credentials')

  assert.deepEqual(
    accounts.map(({ permissions, requiredGroupMembership }) => [
      permissions,
      requiredGroupMembership,
    ]),
    [
      [{}, []],
      [{ READ: ['readers', 'ops'], WRITE: ['ops'] }, []],
      [null, ['team']],
      [{ READ: ['readers'], WRITE: [] }, []],
      [{ READ: [], WRITE: [], EXECUTE: ['team'] }, []],
    ],
  )
})

test('an account that is not looked at costs one list', async (t) => {
  const fake = await startFakeKubernetes(t)
  const { read, until } = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig() }],
  })

  await until<JsonObject[]>('/credentials', ([account]) => namesOf(account).length === 2)
  await read('/applications?restricted=false&expand=true')
  await read('/tags')

  assert.equal(fake.count(/^GET \/api\/v1\/namespaces/), 1)
  assert.equal(fake.count(/watch/), 0)
})

test('accounts change while Fairlead runs', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(
    workload('ReplicaSet', 'web-v000', { annotations: ownedBy('shop', 'replicaSet web') }),
  )
  const kubeconfigContents = fake.kubeconfig()
  const kept = { name: 'kept', kubeconfigContents }
  const { read, reload } = await startKubernetesInfrastructure(t, {
    accounts: [kept, { name: 'gone', kubeconfigContents }],
  })
  const accountsOf = (shown: JsonObject[]) => shown.map(({ account }) => account)
  assert.deepEqual(accountsOf(await read(groups)), ['kept', 'gone'])
  const watches = fake.count(/replicasets\?.*watch/)

  reload([kept, { name: 'new', kubeconfigContents, namespaces: ['n1'] }])

  assert.deepEqual(accountsOf(await read(groups)), ['kept', 'new'])
  await waitUntil(
    () => fake.count(/\/n1\/replicasets\?.*watch/) === 1,
    'the watch of the new account',
  )
  assert.equal(fake.count(/apps\/v1\/replicasets\?.*watch/), watches, 'the other one is left alone')
  assert.deepEqual(
    objectsOf(await read('/credentials')).map(({ name }) => name),
    ['kept', 'new'],
  )
})

test('a kubeconfig that has changed counts with the next reload', async (t) => {
  const [before, after] = [await startFakeKubernetes(t), await startFakeKubernetes(t)]
  const folder = createFolder('kubeconfig')
  t.after(() => removeFolder(folder))
  const kubeconfigFile = join(folder, 'config')
  writeFileSync(kubeconfigFile, before.kubeconfig())
  after.objects.put(
    workload('ReplicaSet', 'web-v000', { annotations: ownedBy('shop', 'replicaSet web') }),
  )
  const accounts = [{ name: 'k8s', kubeconfigFile }]
  const { read, reload, until } = await startKubernetesInfrastructure(t, { accounts })
  assert.deepEqual(await read(groups), [])

  writeFileSync(kubeconfigFile, after.kubeconfig())
  reload(accounts)

  await until<JsonObject[]>(groups, ({ length }) => length === 1)
  await waitUntil(() => before.relay.open === 0, 'the end of the old connections')
})
