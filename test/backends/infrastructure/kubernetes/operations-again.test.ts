/** Operations that run again after a crash, their order, and what stops them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import type { BackendContext } from '../../../../packages/ports/backend.ts'
import type { OperationRun } from '../../../../packages/providers/infrastructure/operation-type.ts'
import { KubeClient } from '../../../../packages/providers/kubernetes/api/client.ts'
import type { ClusterApi } from '../../../../packages/providers/kubernetes/api/cluster-api.ts'
import { loadKubeconfig } from '../../../../packages/providers/kubernetes/api/kubeconfig.ts'
import { OwnRules } from '../../../../packages/providers/kubernetes/health/own-rules.ts'
import { KindTable } from '../../../../packages/providers/kubernetes/kinds.ts'
import { createKubernetesOperations } from '../../../../packages/providers/kubernetes/operations/all.ts'
import type { KubernetesParts } from '../../../../packages/providers/kubernetes/parts.ts'
import { defaults } from '../../../support/backend-settings.ts'
import { startControlPlane } from '../../../support/kubernetes.ts'
import type { KubernetesClient } from '../../../support/kubernetes-client.ts'
import { kubernetesSettings } from '../../../support/kubernetes-infrastructure.ts'
import { workload } from '../../../support/kubernetes-operations.ts'
import { waitUntil } from '../../../support/wait-until.ts'

interface DirectRun {
  readonly id?: string
  readonly signal?: AbortSignal
  readonly note?: (text: string) => void
}

function operationsOf(api: ClusterApi, changes: string[] = [], owners: string[] = []) {
  const { accounts, ...settings } = kubernetesSettings({ accounts: [{ name: 'k8s' }] })
  const [account] = accounts.map((each) => ({
    settings: each,
    api,
    kinds: new KindTable([]),
    health: { times: settings.health, own: new OwnRules([]), now: Date.now },
    deployed: {
      of: () => [],
      record: () => {},
      ownersOf: () => owners,
      forgetGone: ({ name }: { name: string }) => void changes.push(`forgotten ${name}`),
    },
    lists: {
      observe: ({ kind, metadata }: { kind: string; metadata: { name: string } }) =>
        changes.push(`+ ${kind} ${metadata.name}`),
      forget: ({ kind, metadata }: { kind: string; metadata: { name: string } }) =>
        changes.push(`- ${kind} ${metadata.name}`),
    },
  }))
  assert.ok(account)
  const ports = { definitions: { application: () => Promise.resolve(undefined) } }
  const context = { settings: defaults, steady: () => performance.now(), ports }
  const parts: KubernetesParts = {
    context: context as unknown as BackendContext,
    settings,
    account: (name) => (name === 'k8s' ? account : undefined),
    accounts: () => [account],
    now: Date.now,
  }
  return createKubernetesOperations(parts)
}

async function startDirect(t: TestContext) {
  const plane = await startControlPlane(t)
  if (plane === undefined) return undefined
  const client = new KubeClient(await loadKubeconfig({ contents: plane.kubeconfig() }))
  t.after(() => client.close())
  const namespace = await plane.namespace()
  const changes: string[] = []
  const operations = operationsOf(client, changes)
  const run = (
    name: string,
    description: JsonObject,
    { id = 'task-0', signal = new AbortController().signal, note = () => {} }: DirectRun = {},
  ) => {
    const results: JsonObject[] = []
    const direct: OperationRun = {
      ...{ id, user: 'alice', identity: {}, signal, note, commit: (work) => work() },
      releaseWhile: (wait) => wait(),
      report: (result) => void results.push(result),
    }
    const placed = { account: 'k8s', ...description }
    assert.deepEqual(operations[name]?.check(placed), [])
    return operations[name]!.run(placed, direct).then(() => results)
  }
  const list = async (path: string) =>
    (await plane.api.list(pathIn(namespace, path))).map(({ metadata }) => metadata.name).sort()
  return { api: plane.api as KubernetesClient, namespace, run, list, changes }
}

function pathIn(namespace: string, path: string): string {
  const [group = ''] = path.split('/')
  const api =
    { replicasets: 'apis/apps/v1', deployments: 'apis/apps/v1', jobs: 'apis/batch/v1' }[group] ??
    'api/v1'
  return `/${api}/namespaces/${namespace}/${path}`
}

const job = {
  backoffLimit: 0,
  template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'app:1' }] } },
}

test('kubernetes-scenario 131 a deployment that runs again creates nothing twice', async (t) => {
  const direct = await startDirect(t)
  if (direct === undefined) return
  const { namespace, run, list } = direct
  const metadata = { namespace, generateName: 'run-' }
  const manifests = [
    { ...workload('ReplicaSet', 'api'), metadata: { name: 'api', namespace } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {} },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { other: 'one' } },
  ]
  const description = { moniker: { app: 'shop' }, manifests }
  const [first] = await run('deployManifest', description)
  const [again] = await run('deployManifest', description)
  assert.deepEqual(again?.['manifestNamesByNamespace'], first?.['manifestNamesByNamespace'])
  assert.deepEqual(await list('replicasets'), ['api-v000'])
  assert.equal((await list('configmaps')).filter((name) => name.startsWith('run-')).length, 2)
  await run('deployManifest', description, { id: 'task-1' })
  assert.deepEqual(await list('replicasets'), ['api-v000', 'api-v001'])
})

test('kubernetes-scenario 131 a job that runs again is recreated once', async (t) => {
  const direct = await startDirect(t)
  if (direct === undefined) return
  const { api, namespace, run } = direct
  const manifest = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'run', namespace },
    spec: job,
  }
  const uid = async () => (await api.get(pathIn(namespace, 'jobs/run'))).metadata.uid
  await run('runJob', { application: 'shop', manifest })
  await run('runJob', { application: 'shop', manifest }, { id: 'task-1' })
  const second = await uid()
  await run('runJob', { application: 'shop', manifest }, { id: 'task-1' })
  assert.equal(await uid(), second)
})

test('kubernetes-scenario 131 an undo that runs again goes back once', async (t) => {
  const direct = await startDirect(t)
  if (direct === undefined) return
  const { api, namespace, run } = direct
  const live = () => api.get(pathIn(namespace, 'deployments/web'))
  for (const [index, image] of ['app:1', 'app:2'].entries()) {
    const manifest = {
      ...workload('Deployment', 'web', {}, { image }),
      metadata: { name: 'web', namespace },
    }
    await run(
      'deployManifest',
      { moniker: { app: 'shop' }, manifests: [manifest] },
      { id: `deploy-${index}` },
    )
    const revision = String(index + 1)
    await waitUntil(
      async () =>
        (await live()).metadata.annotations?.['deployment.kubernetes.io/revision'] === revision,
      `revision ${revision}`,
    )
  }
  const undo = () =>
    run(
      'undoRolloutManifest',
      { manifestName: 'deployment web', location: namespace, numRevisionsBack: 1 },
      { id: 'undo' },
    )
  await undo()
  await waitUntil(
    async () => (await live()).metadata.annotations?.['deployment.kubernetes.io/revision'] === '3',
    'revision 3',
  )
  await undo()
  assert.match(JSON.stringify((await live()).spec), /"app:1"/)
  const patchBody = [
    { op: 'add', path: '/spec/template/spec/containers/0/args', value: ['x'] },
    { op: 'add', path: '/metadata/labels/n', value: '1' },
  ]
  const patch = {
    manifestName: 'deployment web',
    location: namespace,
    patchBody,
    options: { mergeStrategy: 'json' },
  }
  await run('patchManifest', patch, { id: 'patch' })
  const { generation } = (await live()).metadata
  await run('patchManifest', patch, { id: 'patch' })
  assert.equal((await live()).metadata.generation, generation)
})

test('kubernetes-scenario 131 a version survives several crashes', async (t) => {
  const direct = await startDirect(t)
  if (direct === undefined) return
  const { namespace, run, list } = direct
  const manifests = [{ ...workload('ReplicaSet', 'api'), metadata: { name: 'api', namespace } }]
  for (let attempt = 0; attempt < 3; attempt++)
    await run('deployManifest', { moniker: { app: 'shop' }, manifests })
  assert.deepEqual(await list('replicasets'), ['api-v000'])
})

test('kubernetes-scenario 131 a clone that runs again keeps its source', async (t) => {
  const direct = await startDirect(t)
  if (direct === undefined) return
  const { namespace: region, run, list } = direct
  const clone = { application: 'shop', stack: 'main', region }
  await run('createServerGroup', { ...clone, manifest: workload('ReplicaSet', 'shop-main') })
  for (let attempt = 0; attempt < 2; attempt++) {
    const results = await run('cloneServerGroup', { ...clone, imageId: 'app:2' }, { id: 'clone' })
    assert.deepEqual(results[0], {
      ancestorServerGroupNameByRegion: { [region]: 'replicaSet shop-main-v000' },
    })
  }
  assert.deepEqual(await list('replicasets'), ['shop-main-v000', 'shop-main-v001'])
})

test('an undo leaves the owner as it is', async (t) => {
  const direct = await startDirect(t)
  if (direct === undefined) return
  const { api, namespace, run } = direct
  const live = () => api.get(pathIn(namespace, 'deployments/web'))
  for (const [index, app] of ['bank', 'shop'].entries()) {
    const manifest = {
      ...workload('Deployment', 'web', {}, { image: `app:${index}` }),
      metadata: { name: 'web', namespace },
    }
    await run(
      'deployManifest',
      { moniker: { app }, manifests: [manifest] },
      { id: `deploy-${index}` },
    )
    await waitUntil(
      async () =>
        (await live()).metadata.annotations?.['deployment.kubernetes.io/revision'] ===
        String(index + 1),
      `revision ${index + 1}`,
    )
  }
  await run(
    'undoRolloutManifest',
    { manifestName: 'deployment web', location: namespace, numRevisionsBack: 1 },
    { id: 'undo' },
  )
  assert.match(JSON.stringify((await live()).spec), /"app:0"/)
  assert.equal((await live()).metadata.annotations?.['moniker.spinnaker.io/application'], 'shop')
})

test('a deletion that waits for finalizers ends with Fairlead and goes on', async (t) => {
  const direct = await startDirect(t)
  if (direct === undefined) return
  const { api, namespace, run, list, changes } = direct
  const path = pathIn(namespace, 'configmaps/held')
  const held = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'held', finalizers: ['test.fairlead/held'] },
  }
  await api.create(pathIn(namespace, 'configmaps'), held)
  const stop = new AbortController()
  const description = { manifestName: 'configMap held', location: namespace }
  const first = run('deleteManifest', description, { signal: stop.signal })
  await waitUntil(
    async () => (await api.get(path)).metadata.deletionTimestamp !== undefined,
    'the deletion',
  )
  stop.abort()
  await assert.rejects(first, { name: 'AbortError' })
  const deleted = Promise.withResolvers<void>()
  const second = run('deleteManifest', description, { note: () => deleted.resolve() })
  await Promise.race([second, deleted.promise])
  await api.patch(path, { metadata: { finalizers: null } })
  await second
  assert.equal((await list('configmaps')).includes('held'), false)
  assert.deepEqual(changes, ['- ConfigMap held'])
})

test('a deletion that cannot look forgets nothing', async () => {
  const changes: string[] = []
  const api: Partial<ClusterApi> = {
    find: () => Promise.reject(new Error('The cluster does not answer.')),
  }
  const { deleteManifest } = operationsOf(api as ClusterApi, changes, ['shop'])
  const deletion = { account: 'k8s', manifestName: 'deployment web', location: 'n1' }
  const { signal } = new AbortController()
  const run: Partial<OperationRun> = { user: 'alice', signal, note: () => {}, report: () => {} }
  const direct = { ...run, releaseWhile: (wait: () => unknown) => wait() } as OperationRun
  await assert.rejects(deleteManifest!.run(deletion, direct), /does not answer/)
  assert.deepEqual(changes, [])
})

test('operations on the same object run in order, and others beside', () => {
  const operations = operationsOf({} as ClusterApi)
  const order = (name: string, description: JsonObject) =>
    operations[name]?.order?.({ account: 'k8s', ...description })
  const web = { ...workload('Deployment', 'web'), metadata: { name: 'web', namespace: 'n1' } }
  const deployed = order('deployManifest', { moniker: { app: 'shop' }, manifests: [web] })
  assert.deepEqual(deployed, ['kubernetes/k8s/n1/deployment web'])
  for (const name of [
    'scaleManifest',
    'deleteManifest',
    'undoRolloutManifest',
    'patchManifest',
    'disableManifest',
  ]) {
    assert.deepEqual(
      order(name, { manifestName: 'Deployment web', location: 'n1' }),
      deployed,
      name,
    )
  }
  assert.deepEqual(
    order('resizeServerGroup', { serverGroupName: 'deploy web', region: 'n1' }),
    deployed,
  )
  assert.notDeepEqual(
    order('deleteManifest', { manifestName: 'deployment web', location: 'n2' }),
    deployed,
  )
  assert.deepEqual(order('planManifest', { manifests: [web] }), [])
  const named = { moniker: { app: 'shop' }, manifests: [workload('Deployment', 'web')] }
  assert.deepEqual(
    order('deployManifest', named),
    order('deleteManifest', { manifestName: 'deployment web', location: 'default' }),
  )
})

test('fields of a description may have other names', () => {
  const operations = operationsOf({} as ClusterApi)
  const source = { asgName: 'replicaSet shop-main-v003', location: 'n1' }
  const same: [operation: string, description: JsonObject][] = [
    ['resizeServerGroup', { serverGroupName: 'replicaSet shop-main', region: 'n1' }],
    ['disableServerGroup', { asgName: 'rs shop-main', region: '', location: 'n1' }],
    ['destroyServerGroup', { serverGroupName: '', asgName: 'rs shop-main', namespace: 'n1' }],
    ['createServerGroup', { application: 'shop', stack: 'main', regions: ['n1'] }],
    ['createServerGroup', { moniker: { app: 'Shop', stack: 'main' }, namespace: 'n1' }],
    ['createServerGroup', { manifest: { metadata: { name: 'shop-main' } }, location: 'n1' }],
    ['cloneServerGroup', { application: 'any', region: '', source }],
    ['cloneServerGroup', { application: 'shop', freeFormDetails: '', stack: 'main', source }],
  ]
  for (const [operation, description] of same) {
    assert.deepEqual(
      operations[operation]?.order?.({ account: 'k8s', ...description }),
      ['kubernetes/k8s/n1/replicaSet shop-main'],
      JSON.stringify(description),
    )
  }
})

test('descriptions are checked before anything runs', () => {
  const operations = operationsOf({} as ClusterApi)
  const problems = (name: string, description: JsonObject) =>
    operations[name]?.check(description).join(' ')
  assert.match(problems('scaleManifest', {}) ?? '', /account\.empty/)
  assert.match(problems('scaleManifest', { account: 'none' }) ?? '', /account\.notFound/)
  const account = 'k8s'
  assert.match(
    problems('scaleManifest', { account, manifestName: 'web', location: 'n1', replicas: 'many' }) ??
      '',
    /full name.*replicas\.empty/,
  )
  assert.match(
    problems('patchManifest', { account, manifestName: 'deployment web', location: 'n1' }) ?? '',
    /mergeStrategy\.empty.*patchBody\.empty/,
  )
  assert.match(
    problems('deployManifest', { account, manifests: [{ kind: 'Pod' }] }) ?? '',
    /moniker\.app\.empty.*number 1 has no apiVersion, no metadata\.name/,
  )
  assert.match(
    problems('deleteManifest', { account, manifestName: 'deployment web' }) ?? '',
    /location/,
  )
})
