/** The client of an API server: requests, retries, pages, discovery. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ApiError } from '../../../../packages/providers/kubernetes/api/api-error.ts'
import {
  KubeClient,
  type KubeClientOptions,
} from '../../../../packages/providers/kubernetes/api/client.ts'
import type { ClusterAccess } from '../../../../packages/providers/kubernetes/api/cluster-access.ts'
import type { ApiResource } from '../../../../packages/providers/kubernetes/api/cluster-api.ts'
import { type FakeKubernetes, startFakeKubernetes } from '../../../support/fake-kubernetes.ts'
import { statusBody } from '../../../support/fake-kubernetes-answers.ts'

function openClient(
  t: TestContext,
  access: ClusterAccess,
  options: KubeClientOptions = {},
): KubeClient {
  const client = new KubeClient(access, { retries: { maxAttempts: 3, pauseMs: 5 }, ...options })
  t.after(() => client.close())
  return client
}

async function resourceOf(client: KubeClient, kind: string): Promise<ApiResource> {
  const resource = await client.find({ kind })
  assert.ok(resource)
  return resource
}

function configMap(name: string, data: Record<string, string> = {}) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n1' }, data }
}

test('objects are created, read, replaced, patched, listed and removed', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  const resource = await resourceOf(client, 'configMap')
  const place = { resource, namespace: 'n1', name: 'one' }

  const created = await client.create(resource, 'n1', configMap('one', { a: '1' }), {
    fieldManager: 'fairlead',
  })
  await client.replace(place, { ...created, data: { a: '2' } })
  await client.patch(place, { data: { b: '3' } }, { type: 'merge' })
  const read = await client.get(place)
  const [listed] = await client.list(resource, { namespace: 'n1' })

  assert.deepEqual(read?.['data'], { a: '2', b: '3' })
  assert.equal(listed?.kind, 'ConfigMap')
  assert.equal(listed?.apiVersion, 'v1')
  assert.equal(fake.count(/^POST .*fieldManager=fairlead/), 1)
  assert.equal(await client.remove(place, { propagation: 'Background' }), true)
  assert.equal(await client.remove(place, { propagation: 'Background' }), false)
  assert.equal(await client.get(place), undefined)
})

test('each type of patch has its content type', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  const resource = await resourceOf(client, 'Deployment')
  fake.objects.put({
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'n1' },
    spec: { replicas: 1 },
  })
  const place = { resource, namespace: 'n1', name: 'web' }

  await client.patch(
    place,
    { apiVersion: 'apps/v1', kind: 'Deployment' },
    { type: 'apply', force: true, fieldManager: 'fairlead' },
  )
  await client.patch(place, { spec: { replicas: 2 } }, { type: 'strategic' })
  await client.patch(place, { spec: { replicas: 3 } }, { type: 'merge', subresource: 'scale' })
  await client.patch(place, [{ op: 'replace', path: '/spec/replicas', value: 4 }], {
    type: 'json',
    dryRun: true,
  })

  const patches = fake.requests.filter(({ method }) => method === 'PATCH')
  assert.deepEqual(
    patches.map(({ headers, path, query }) => [
      headers['content-type'],
      path.split('/').at(-1),
      query.toString(),
    ]),
    [
      ['application/apply-patch+yaml', 'web', 'fieldManager=fairlead&force=true'],
      ['application/strategic-merge-patch+json', 'web', ''],
      ['application/merge-patch+json', 'scale', ''],
      ['application/json-patch+json', 'web', 'dryRun=All'],
    ],
  )
})

test('whole numbers of 64 bits keep every digit', async (t) => {
  const fake = await startFakeKubernetes(t)
  const widgets = fake.serve('example.test/v1', 'Widget', 'widgets', 'N', 'wd')
  const text =
    '{"apiVersion":"example.test/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":9223372036854775807}}'
  fake.script(/GET .*widgets/, { status: 200, body: text }, 1)
  fake.script(/GET .*widgets/, { status: 200, body: `{"items":[${text}]}` }, 1)
  const client = openClient(t, fake.access)
  const resource = await resourceOf(client, widgets.kind)

  const read = await client.get({ resource, namespace: 'n1', name: 'w' })
  const [listed] = await client.list(resource)

  assert.match(JSON.stringify(read), /9223372036854775807/)
  assert.match(JSON.stringify(listed), /9223372036854775807/)
})

test('a removal of one very object spares another of its name', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  const resource = await resourceOf(client, 'configMap')
  fake.objects.put(configMap('one'))

  const isRemoved = await client.remove(
    { resource, namespace: 'n1', name: 'one' },
    { propagation: 'Background', uid: 'older' },
  )

  assert.equal(isRemoved, false)
  assert.equal(fake.objects.list(fake.objects.kindOf('configmaps')).length, 1)
})

test('a refusal keeps status, reason, message and details', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  const resource = await resourceOf(client, 'configMap')
  fake.objects.put(configMap('one'))

  await assert.rejects(client.create(resource, 'n1', configMap('one')), (error) => {
    assert.ok(error instanceof ApiError)
    assert.deepEqual(
      [error.status, error.reason, error.message],
      [409, 'AlreadyExists', 'configmaps "one" already exists'],
    )
    assert.equal(error.details['name'], 'one')
    return true
  })
})

test('logs come by container, previous ones and last lines, too', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  fake.objects.put({ kind: 'Pod', metadata: { name: 'web', namespace: 'n1' } })
  fake.logs.set('n1/web/main', 'one\ntwo\nthree\n')
  fake.logs.set('n1/web/main/previous', 'crashed\n')
  const pod = { namespace: 'n1', name: 'web' }

  assert.equal(await client.log(pod, { container: 'main', tailLines: 2 }), 'two\nthree\n')
  assert.equal(await client.log(pod, { container: 'main', previous: true }), 'crashed\n')
})

test('lists come in pages of 500 objects', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  for (let index = 0; index < 1201; index++) fake.objects.put(configMap(`c${index}`))

  const listed = await client.list(await resourceOf(client, 'configMap'), { namespace: 'n1' })

  assert.equal(listed.length, 1201)
  assert.equal(fake.count(/^GET .*configmaps\?limit=500/), 3)
})

test('a list that expires on the way is started again', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  for (let index = 0; index < 700; index++) fake.objects.put(configMap(`c${index}`))
  fake.script(/configmaps.*continue=/, { status: 410, body: statusBody(410, 'Expired', 'too old') })

  const listed = await client.list(await resourceOf(client, 'configMap'))

  assert.equal(new Set(listed.map(({ metadata }) => metadata.name)).size, 700)
  assert.equal(listed.length, 700)
  assert.equal(fake.count(/^GET .*configmaps/), 4)
})

test('a list that expires each time fails after three attempts', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  fake.script(/configmaps/, { status: 410, body: statusBody(410, 'Expired', 'too old') }, 100)

  await assert.rejects(client.list(await resourceOf(client, 'configMap')), { status: 410 })
  assert.equal(fake.count(/^GET .*configmaps/), 3)
})

test('lists pass on selectors, and may leave out specs', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  for (const app of ['a', 'b']) {
    fake.objects.put({
      kind: 'Pod',
      metadata: { name: app, namespace: 'n1', labels: { app } },
      spec: { nodeName: 'node' },
    })
  }
  const pods = await resourceOf(client, 'pod')

  const [pod, ...others] = await client.list(pods, {
    labelSelector: 'app in (a)',
    metadataOnly: true,
  })

  assert.deepEqual(others, [])
  assert.deepEqual(
    [pod?.kind, pod?.apiVersion, pod?.metadata.name, pod?.['spec']],
    ['Pod', 'v1', 'a', undefined],
  )
  assert.equal((await client.list(pods, { fieldSelector: 'metadata.name=b' })).length, 1)
})

for (const method of ['GET', 'POST'] as const) {
  test(`a ${method} that is rejected as one too many is repeated`, async (t) => {
    const fake = await startFakeKubernetes(t)
    const client = openClient(t, fake.access, { requestTimeoutMs: 60_000 })
    const resource = await resourceOf(client, 'configMap')
    fake.script(/configmaps/, { status: 429, body: 'too many', headers: { 'retry-after': '1' } })
    const startedAt = performance.now()

    if (method === 'GET') await client.list(resource)
    else await client.create(resource, 'n1', configMap('one'))

    assert.equal(fake.count(new RegExp(`^${method} .*configmaps`)), 2)
    assert.ok(performance.now() - startedAt >= 1000)
  })
}

test('a request is not repeated for ever', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  const resource = await resourceOf(client, 'configMap')
  fake.script(
    /configmaps/,
    { status: 429, body: statusBody(429, 'TooManyRequests', 'slow down') },
    100,
  )

  await assert.rejects(client.list(resource), { status: 429, message: 'slow down' })
  assert.equal(fake.count(/configmaps/), 3)
})

test('only reads are repeated when the server is unavailable or the connection lost', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  const resource = await resourceOf(client, 'configMap')
  const unavailable = { status: 503, body: 'starting', headers: { 'retry-after': '1' } }

  fake.script(/^POST .*configmaps/, unavailable)
  await assert.rejects(client.create(resource, 'n1', configMap('one')), { status: 503 })
  fake.script(/^POST .*configmaps/, 'break')
  await assert.rejects(client.create(resource, 'n1', configMap('one')), {
    status: 0,
    message: /connection was/,
  })
  fake.script(/^GET .*configmaps/, unavailable)
  fake.script(/^GET .*configmaps/, 'break')
  await client.list(resource)

  assert.equal(fake.count(/^POST/), 2)
  assert.equal(fake.count(/^GET .*configmaps/), 3)
})

test('a request without response ends in time', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access, { requestTimeoutMs: 500 })
  fake.script(/version/, 'hang')

  await assert.rejects(client.read('/version'), {
    status: 0,
    message: 'there was no response within 0.5 s',
  })
})

test('a server that refuses connections is named in plain words', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  await fake.stop()

  await assert.rejects(client.read('/version'), {
    status: 0,
    message: 'the connection was refused',
  })
})

test('a closed client rejects requests, and opens nothing before the first', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  assert.equal(fake.relay.accepted, 0)
  await client.read('/version')
  await client.close()

  await assert.rejects(client.read('/version'), { status: 0 })
  assert.equal(fake.relay.accepted, 1)
})

for (const isAggregated of [true, false]) {
  const form = isAggregated ? 'aggregated discovery' : 'older discovery'

  test(`kinds are found by any of their names with ${form}`, async (t) => {
    const fake = await startFakeKubernetes(t, { isAggregated })
    fake.serve('example.test/v1', 'Deployment', 'deployments', 'N', 'po')
    const client = openClient(t, fake.access)

    for (const kind of ['Deployment', 'deployments', 'DEPLOYMENT', 'deploy']) {
      const found = await client.find({ kind })
      assert.deepEqual([found?.group, found?.version, found?.plural], ['apps', 'v1', 'deployments'])
    }
    const [pod, own, hpa, older] = await Promise.all([
      client.find({ kind: 'po' }),
      client.find({ kind: 'deployment', group: 'example.test' }),
      client.find({ kind: 'hpa' }),
      client.find({ kind: 'HorizontalPodAutoscaler', group: 'autoscaling', version: 'v1' }),
    ])
    assert.deepEqual(
      [pod?.plural, pod?.isNamespaced, pod?.subresources.includes('log')],
      ['pods', true, true],
    )
    assert.equal(own?.group, 'example.test')
    assert.deepEqual([hpa?.version, older?.version], ['v2', 'v1'])
    assert.equal((await client.find({ kind: 'namespace' }))?.isNamespaced, false)
    assert.equal(await client.find({ kind: 'pod', version: 'v7' }), undefined)
    const kinds = (await client.resources()).map(({ kind }) => kind)
    assert.equal(kinds.filter((kind) => kind === 'HorizontalPodAutoscaler').length, 1)
  })

  test(`a group that does not answer hides no other with ${form}`, async (t) => {
    const fake = await startFakeKubernetes(t, { isAggregated })
    fake.serve('metrics.example.test/v1', 'PodMetrics', 'podmetrics', 'N', '')
    fake.brokenGroups.add('metrics.example.test')
    const client = openClient(t, fake.access)

    assert.ok(await client.find({ kind: 'ingress' }))
    assert.equal(await client.find({ kind: 'podmetrics' }), undefined)
  })
}

test('an unknown kind is looked up again, but not at once', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  await client.resources()
  fake.serve('example.test/v1', 'Widget', 'widgets', 'N', '')

  assert.equal(await client.find({ kind: 'widget' }), undefined)
  assert.equal(fake.count(/^GET \/apis$/), 1)
})

test('more than a hundred requests at once do not wait for each other', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)
  const resource = await resourceOf(client, 'configMap')
  fake.script(/configmaps\/held/, 'hang', 150)
  const held = Array.from({ length: 150 }, () =>
    client.get({ resource, namespace: 'n1', name: 'held' }),
  )
  for (const each of held) each.catch(() => {})

  await Promise.all(Array.from({ length: 50 }, () => client.read('/version')))

  assert.equal(fake.relay.accepted, 2)
})

test('many requests at a start share one connection', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake.access)

  await Promise.all(Array.from({ length: 60 }, () => client.read('/version')))

  assert.equal(fake.relay.accepted, 1)
})

for (const protocol of ['h1', 'http'] as const) {
  test(`a server with ${protocol === 'h1' ? 'HTTP/1.1 over TLS' : 'HTTP without TLS'} is served, too`, async (t) => {
    const fake: FakeKubernetes = await startFakeKubernetes(t, { protocol })
    const client = openClient(t, fake.access)
    fake.script(/configmaps\/held/, 'hang')
    const resource = await resourceOf(client, 'configMap')
    client.get({ resource, namespace: 'n1', name: 'held' }).catch(() => {})

    await client.create(resource, 'n1', configMap('one'))

    assert.equal((await client.list(resource)).length, 1)
    assert.equal(fake.requests[0]?.httpVersion, '1.1')
  })
}

test('a path prefix of the server is kept', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.script(/GET \/clusters\/c-1\/version/, { status: 200, body: { major: '1' } })
  const client = openClient(t, { ...fake.access, server: `${fake.url}/clusters/c-1` })

  assert.deepEqual(await client.read('/version'), { major: '1' })
})

test('a page of a proxy is no response of an API server', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.script(/version/, { status: 200, body: '<html>log in</html>' })

  await assert.rejects(openClient(t, fake.access).read('/version'), { message: /is no JSON/ })
})
