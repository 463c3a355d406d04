/** Watches: objects stay current, through every way in which a watch ends. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  KubeClient,
  type KubeClientOptions,
} from '../../../../packages/providers/kubernetes/api/client.ts'
import {
  type ObjectWatch,
  openObjectWatch,
} from '../../../../packages/providers/kubernetes/api/object-watch.ts'
import type {
  ObjectWatchOptions,
  WatchTimings,
} from '../../../../packages/providers/kubernetes/api/watch-options.ts'
import type { KubeObject } from '../../../../packages/providers/kubernetes/objects.ts'
import { type FakeKubernetes, startFakeKubernetes } from '../../../support/fake-kubernetes.ts'
import { statusBody } from '../../../support/fake-kubernetes-answers.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const recovery = { firstMs: 10, longestMs: 100, maxRequests: 55, windowMs: 500 }
const timings: Partial<WatchTimings> = {
  backOff: { firstMs: 10, longestMs: 200 },
  refusedMs: [20, 50],
  expiryMs: 50,
}

function openClient(
  t: TestContext,
  fake: FakeKubernetes,
  options: KubeClientOptions = {},
): KubeClient {
  const client = new KubeClient(fake.access, {
    retries: { maxAttempts: 1, pauseMs: 1 },
    recovery,
    ...options,
  })
  t.after(() => client.close())
  return client
}

type Options = Partial<ObjectWatchOptions<string>>

/** Keeps the names of pods, with their color. */
async function watchPods(
  t: TestContext,
  client: KubeClient,
  options: Options = {},
): Promise<ObjectWatch<string>> {
  const resource = await client.find({ kind: 'pod' })
  assert.ok(resource)
  const watch = openObjectWatch({ source: client, resource, toEntry: colorOf, timings, ...options })
  t.after(() => watch.close())
  await watch.loaded
  return watch
}

function colorOf({ metadata }: KubeObject): string {
  return `${metadata.name} ${metadata.labels?.['color'] ?? 'plain'}`
}

function pod(name: string, color?: string, namespace = 'n1') {
  return {
    kind: 'Pod',
    metadata: { name, namespace, ...(color !== undefined && { labels: { color } }) },
  }
}

async function holds(watch: ObjectWatch<string>, ...expected: string[]): Promise<void> {
  const shown = () => [...watch.entries()].sort().join(', ')
  await waitUntil(
    () => shown() === expected.join(', '),
    () => `${expected.join(', ')}; there is ${shown()}`,
  )
}

async function isOpen(fake: FakeKubernetes, count = 1): Promise<void> {
  await waitUntil(
    () => fake.watches.size === count,
    () => `${count} watches; there are ${fake.watches.size}`,
  )
}

const podWatches = /^GET \/api\/v1\/pods\?.*watch=true/
const podLists = /^GET \/api\/v1\/pods\?.*limit=/

test('objects that come, change and go are followed', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(pod('a'))
  let changes = 0
  const watch = await watchPods(t, openClient(t, fake), { onChange: () => changes++ })
  assert.equal(watch.state, 'current')
  assert.deepEqual([...watch.entries()], ['a plain'])
  await isOpen(fake)
  const before = changes

  fake.objects.put(pod('b'))
  fake.objects.put(pod('a', 'red'))
  await holds(watch, 'a red', 'b plain')
  fake.objects.remove(fake.objects.kindOf('pods'), 'n1', 'b')
  await holds(watch, 'a red')

  assert.equal(watch.get('n1', 'a'), 'a red')
  assert.equal(watch.size, 1)
  assert.equal(changes - before, 3)
})

test('a watch of one namespace leaves out all others', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(pod('a'))
  fake.objects.put(pod('b', 'red', 'n2'))
  const watch = await watchPods(t, openClient(t, fake), { namespace: 'n2' })
  await isOpen(fake)
  fake.objects.put(pod('c'))
  fake.objects.put(pod('d', 'red', 'n2'))

  await holds(watch, 'b red', 'd red')
})

test('specs stay at the API server where only metadata are wanted', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put({ ...pod('a'), spec: { nodeName: 'node' } })
  const seen: KubeObject[] = []
  const toEntry = (object: KubeObject) => {
    seen.push(object)
    return object.metadata.name
  }
  const watch = await watchPods(t, openClient(t, fake), { toEntry, metadataOnly: true })
  await isOpen(fake)
  fake.objects.put({ ...pod('b'), spec: { nodeName: 'node' } })
  await holds(watch, 'a', 'b')

  assert.deepEqual(
    seen.map(({ apiVersion, kind, spec }) => [apiVersion, kind, spec]),
    [
      ['v1', 'Pod', undefined],
      ['v1', 'Pod', undefined],
    ],
  )
})

test('a watch that ends as usual resumes without a list', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watch = await watchPods(t, openClient(t, fake))
  await isOpen(fake)
  fake.watches.end()
  fake.objects.put(pod('a'))

  await holds(watch, 'a plain')
  assert.equal(fake.count(podLists), 1)
  assert.equal(watch.state, 'current')
})

test('a watch resumes from the version of the last bookmark', async (t) => {
  const fake = await startFakeKubernetes(t)
  await watchPods(t, openClient(t, fake))
  await isOpen(fake)
  for (let index = 0; index < 5; index++)
    fake.objects.put({ kind: 'ConfigMap', metadata: { name: `c${index}` } })
  const version = String(fake.objects.version)
  fake.watches.bookmark()
  fake.watches.end()
  await waitUntil(() => fake.count(podWatches) === 2, 'the second watch')

  assert.equal(fake.requests.at(-1)?.query.get('resourceVersion'), version)
  assert.equal(fake.requests.at(-1)?.query.get('allowWatchBookmarks'), 'true')
  const seconds = Number(fake.requests.at(-1)?.query.get('timeoutSeconds'))
  assert.ok(seconds >= 300 && seconds <= 600)
})

test('an expired watch lists again, once', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(pod('a'))
  fake.objects.put(pod('b'))
  const watch = await watchPods(t, openClient(t, fake))
  await isOpen(fake)
  fake.watches.drop()
  fake.objects.remove(fake.objects.kindOf('pods'), 'n1', 'a')
  fake.objects.compact()

  await holds(watch, 'b plain')
  await isOpen(fake)
  assert.equal(fake.count(podLists), 2)
})

test('an API server whose versions always expire is asked ever less often', async (t) => {
  const fake = await startFakeKubernetes(t)
  const expired = `${JSON.stringify({ type: 'ERROR', object: statusBody(410, 'Expired', 'too old') })}\n`
  fake.script(podWatches, { status: 200, body: expired }, 1000)
  const startedAt = performance.now()
  await watchPods(t, openClient(t, fake), {
    timings: { ...timings, backOff: { firstMs: 40, longestMs: 30_000 } },
  })

  await waitUntil(() => fake.count(podLists) >= 6, 'six lists')

  // The pauses between them, of which jitter takes at most a half.
  assert.ok(performance.now() - startedAt >= (40 + 80 + 160 + 320 + 640) / 2 - 50)
})

test('lines that make no sense are left out', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watch = await watchPods(t, openClient(t, fake))
  await isOpen(fake)
  for (const line of ['{', 'null', '{"type":"NEW","object":{}}', '{"type":"ADDED","object":7}', ''])
    fake.watches.write(`${line}\n`)
  fake.objects.put(pod('a'))

  await holds(watch, 'a plain')
  assert.equal(fake.count(podWatches), 1)
})

test('an object that cannot be read does not end the watch', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(pod('a'))
  fake.objects.put(pod('b'))
  const toEntry = ({ metadata }: KubeObject) => {
    if (metadata.name === 'a') throw new Error('strange')
    return metadata.name
  }
  const watch = await watchPods(t, openClient(t, fake), { toEntry })

  await holds(watch, 'b')
})

test('a lost connection resumes the watch without a list', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watch = await watchPods(t, openClient(t, fake))
  await isOpen(fake)
  await fake.stop()
  await waitUntil(() => watch.state === 'away', 'the loss')
  assert.match(watch.problem ?? '', /connection/)
  assert.ok((watch.sinceMs ?? 0) <= Date.now())
  fake.objects.put(pod('a'))
  await fake.start()

  await holds(watch, 'a plain')
  await waitUntil(() => watch.state === 'current', 'the return')
  assert.equal(watch.problem, undefined)
  assert.equal(fake.count(podLists), 1)
})

test('a server that shuts down gently loses neither requests nor watches', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake)
  const watch = await watchPods(t, client)
  await isOpen(fake)
  fake.script(/configmaps/, 'hang')
  const configMaps = await client.find({ kind: 'configMap' })
  assert.ok(configMaps)
  const held = client.list(configMaps)
  held.catch(() => {})
  await waitUntil(() => fake.count(/configmaps/) === 1, 'a request that runs')

  fake.goAway()
  await Promise.all(
    Array.from({ length: 10 }, () =>
      client.create(configMaps, 'n1', { metadata: { generateName: 'c-' } }),
    ),
  )
  fake.objects.put(pod('a'))
  await holds(watch, 'a plain')

  assert.equal(fake.objects.list(fake.objects.kindOf('configmaps')).length, 10)
  assert.equal(watch.state, 'current')
})

test('a silent connection is noticed and replaced', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watch = await watchPods(t, openClient(t, fake, { pingMs: 50 }))
  await isOpen(fake)
  fake.relay.silence()
  await waitUntil(() => watch.state === 'away', 'the silence is noticed')
  fake.relay.speak()
  fake.objects.put(pod('a'))

  await holds(watch, 'a plain')
  assert.equal(fake.count(podLists), 1)
})

test('a quiet connection stays open', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watch = await watchPods(t, openClient(t, fake, { pingMs: 20 }))
  await isOpen(fake)
  let ticks = 0
  const timer = setInterval(() => ticks++, 20)
  t.after(() => clearInterval(timer))
  await waitUntil(() => ticks > 20, 'some pings')

  assert.equal(watch.state, 'current')
  assert.equal(fake.relay.accepted, 1)
  assert.equal(fake.count(podWatches), 1)
})

async function watchMany(
  t: TestContext,
  client: KubeClient,
  count: number,
): Promise<ObjectWatch<string>[]> {
  const watches: ObjectWatch<string>[] = []
  for (let index = 0; index < count; index++)
    watches.push(await watchPods(t, client, { namespace: `n${index}` }))
  return watches
}

const watchesOrLists = /\/pods\?/

for (const isExpired of [false, true]) {
  const versions = isExpired ? 'forgets versions' : 'knows versions'

  test(`50 watches come back after a restart that ${versions}, with 60 requests at most`, async (t) => {
    const fake = await startFakeKubernetes(t)
    // The window outlasts the test, so that a slow machine cannot count a second one.
    const client = openClient(t, fake, { recovery: { ...recovery, windowMs: 3_600_000 } })
    const watches = await watchMany(t, client, 50)
    await isOpen(fake, 50)
    const before = fake.requests.length

    await fake.stop()
    await waitUntil(() => watches.every(({ state }) => state === 'away'), 'the loss')
    assert.equal(fake.requests.length, before)
    if (isExpired) fake.objects.compact()
    for (let index = 0; index < 50; index++) fake.objects.put(pod('a', undefined, `n${index}`))
    await fake.start()
    await waitUntil(
      () => watches.every(({ state, size }) => state === 'current' && size === 1),
      'all current again',
    )

    const asked = fake.requests
      .slice(before)
      .filter(({ path, query }) => watchesOrLists.test(`${path}?${query}`))
    assert.ok(asked.length <= 60, `${asked.length} requests`)
    assert.equal(asked.filter(({ query }) => query.has('limit')).length, isExpired ? 50 : 0)
    assert.equal(fake.relay.accepted, 2)
  })
}

test('watches that listed after a restart watch again with the next window', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watches = await watchMany(t, openClient(t, fake), 50)
  await isOpen(fake, 50)
  await fake.stop()
  fake.objects.compact()
  await fake.start()
  await isOpen(fake, 50)

  assert.ok(watches.every(({ state }) => state === 'current'))
})

test('while a cluster is away, one attempt at a time looks for it', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watches = await watchMany(t, openClient(t, fake), 20)
  await isOpen(fake, 20)
  fake.script(watchesOrLists, 'hang', 1000)
  const before = fake.requests.length
  fake.relay.breakConnections()
  await waitUntil(() => watches.every(({ state }) => state === 'away'), 'the loss')
  await waitUntil(() => fake.requests.length > before, 'an attempt')

  assert.equal(fake.requests.length, before + 1)
})

test('lists of a cluster run four at a time', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake)
  const resource = await client.find({ kind: 'pod' })
  assert.ok(resource)
  fake.script(/\/pods\?/, 'hang', 1000)
  for (let index = 0; index < 12; index++) {
    const watch = openObjectWatch({
      source: client,
      resource,
      namespace: `n${index}`,
      toEntry: colorOf,
      timings,
    })
    t.after(() => watch.close())
  }
  await waitUntil(() => fake.count(/\/pods\?/) >= 4, 'four lists')
  await client.read('/version')

  assert.equal(fake.count(/\/pods\?/), 4)
})

test('a refused kind is forbidden, and tried again later', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(pod('a'))
  fake.script(podLists, { status: 403, body: statusBody(403, 'Forbidden', 'pods is forbidden') })
  const watch = await watchPods(t, openClient(t, fake))

  assert.equal(watch.state, 'forbidden')
  assert.equal(watch.problem, 'pods is forbidden')
  await holds(watch, 'a plain')
  assert.equal(watch.state, 'current')
})

test('entries go when a kind is refused twice', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(pod('a'))
  const watch = await watchPods(t, openClient(t, fake))
  await isOpen(fake)
  fake.script(/\/pods/, { status: 404, body: '404 page not found' }, 1000)
  fake.watches.end()
  await waitUntil(() => watch.state === 'forbidden', 'the refusal')
  assert.equal(watch.problem, 'the API server does not serve pods')

  await waitUntil(() => watch.size === 0, 'the second refusal')
})

test('a first list that fails lets readers go on, and is repeated', async (t) => {
  const fake = await startFakeKubernetes(t)
  fake.objects.put(pod('a'))
  fake.script(podLists, { status: 500, body: statusBody(500, 'InternalError', 'etcd is away') })
  const watch = await watchPods(t, openClient(t, fake))

  assert.equal(watch.state, 'away')
  assert.equal(watch.problem, 'etcd is away')
  assert.equal(watch.sinceMs, undefined)
  await holds(watch, 'a plain')
})

test('an own change is seen at once, and an older event does not undo it', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake)
  const watch = await watchPods(t, client)
  await isOpen(fake)
  const [older, newer] = [fake.objects.put(pod('a', 'old')), fake.objects.put(pod('a', 'new'))]

  watch.observe(newer as unknown as KubeObject)
  watch.observe(older as unknown as KubeObject)

  assert.equal(watch.get('n1', 'a'), 'a new')
  fake.objects.put(pod('b'))
  await holds(watch, 'a new', 'b plain')
})

test('an own removal is not undone by events and lists from before', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watch = await watchPods(t, openClient(t, fake))
  await isOpen(fake)
  const gone = fake.objects.put(pod('a'))
  await holds(watch, 'a plain')

  watch.forget(gone as unknown as KubeObject)
  assert.equal(watch.size, 0)
  fake.objects.put(pod('a', 'red'))
  fake.objects.put(pod('b'))
  await holds(watch, 'b plain')
  fake.watches.expire()
  await waitUntil(() => fake.count(podLists) === 2, 'another list')
  await isOpen(fake)

  assert.deepEqual([...watch.entries()], ['b plain'])
})

test('an own object that is newer than a list survives it', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake)
  const version = String(fake.objects.version)
  fake.script(
    podLists,
    { status: 200, body: { metadata: { resourceVersion: version }, items: [] } },
    2,
  )
  const watch = await watchPods(t, client)
  await isOpen(fake)
  const own = fake.objects.put(pod('a'))
  watch.observe(own as unknown as KubeObject)
  fake.watches.expire()
  await waitUntil(() => fake.count(podLists) === 2, 'the older list')
  await isOpen(fake)

  assert.equal(watch.get('n1', 'a'), 'a plain')
})

test('long lines in many pieces are read', async (t) => {
  const fake = await startFakeKubernetes(t)
  const watch = await watchPods(t, openClient(t, fake), {
    toEntry: ({ metadata }) => `${metadata.name} ${metadata.annotations?.['text']?.length ?? 0}`,
  })
  await isOpen(fake)
  fake.objects.put({
    kind: 'Pod',
    metadata: { name: 'a', annotations: { text: 'ä'.repeat(1_000_000) } },
  })
  fake.objects.put({ kind: 'Pod', metadata: { name: 'b' } })

  await holds(watch, 'a 1000000', 'b 0')
})

for (const protocol of ['h1', 'http'] as const) {
  test(`watches of a server with ${protocol} do not keep requests waiting`, async (t) => {
    const fake = await startFakeKubernetes(t, { protocol })
    const client = openClient(t, fake)
    const watches = await watchMany(t, client, 5)
    await isOpen(fake, 5)
    fake.objects.put(pod('a', undefined, 'n3'))

    await waitUntil(() => watches[3]?.size === 1, 'the event')
    assert.ok(await client.read('/version'))
  })
}

test('more than a hundred watches share two connections', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake)
  await watchMany(t, client, 120)
  await isOpen(fake, 120)

  assert.ok(await client.read('/version'))
  assert.equal(fake.relay.accepted, 2)
})

test('a server that takes few streams gets more connections', async (t) => {
  const fake = await startFakeKubernetes(t, { maxStreams: 5 })
  const client = openClient(t, fake)
  await watchMany(t, client, 12)
  await isOpen(fake, 12)

  assert.ok(await client.read('/version'))
})

test('a closed watch and its client leave nothing open', async (t) => {
  const fake = await startFakeKubernetes(t)
  const client = openClient(t, fake)
  const watch = await watchPods(t, client)
  await isOpen(fake)

  watch.close()
  await isOpen(fake, 0)
  await client.close()

  await waitUntil(() => fake.relay.open === 0, 'the connection is closed')
})
