/** Traffic of replica sets, strategies and guards, over the public paths of a gateway. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import type { KubernetesObject } from '../../../support/kubernetes-client.ts'
import { deployment, ingress, replicaSet, service } from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Ended, type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'
import { createRoute } from '../../../support/kubernetes-routes.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const attached = { lb: 'front' }
const front = service('front', attached)

interface Group extends JsonObject {
  readonly name: string
  readonly region: string
  readonly isDisabled: boolean
  readonly loadBalancers: readonly string[]
  readonly capacity: { readonly desired: number }
}

function traffic(options: JsonObject = {}): JsonObject {
  return {
    trafficManagement: {
      enabled: true,
      options: { services: ['service front'], enableTraffic: true, ...options },
    },
  }
}

function api(image = 'app:1', fields = {}): JsonObject {
  return replicaSet('api', image, 1, fields)
}

async function groupsOf({ read }: Platform, { namespace }: Place): Promise<Map<string, Group>> {
  const groups = await read<Group[]>('/applications/shop/serverGroups')
  const own = groups.filter(({ region }) => region === namespace)
  return new Map(own.map((group) => [group.name.replace('replicaSet ', ''), group]))
}

/** Names of the replica sets, the disabled ones in brackets. */
async function statesOf(platform: Platform, place: Place): Promise<string[]> {
  const groups = [...(await groupsOf(platform, place))].sort(([one], [other]) =>
    one < other ? -1 : 1,
  )
  return groups.map(([name, { isDisabled }]) => (isDisabled ? `(${name})` : name))
}

/** A place with its service and the first version, which has traffic. */
async function withFirst(place: Place): Promise<void> {
  await place.deploy([front, api()], traffic())
}

function isServing({ metadata, status }: KubernetesObject): boolean {
  const ready = objectsOf(status['conditions']).find(({ type }) => type === 'Ready')
  return (
    metadata.deletionTimestamp === undefined &&
    metadata.labels?.['lb'] === 'front' &&
    ready?.['status'] === 'True'
  )
}

/** Counts the pods with traffic, at every moment of the work; returns the lowest count. */
async function fewestServing(
  { api: client }: Platform,
  place: Place,
  work: () => Promise<unknown>,
): Promise<number> {
  const path = place.path('pods')
  const { metadata, items } = (await client.get(path)) as KubernetesObject & {
    items: KubernetesObject[]
  }
  const serving = new Set(items.filter(isServing).map((pod) => pod.metadata.uid))
  let [fewest, version] = [serving.size, metadata.resourceVersion]
  const end = new AbortController()
  const watch = client.watch(
    `${path}?watch=true&resourceVersion=${version}`,
    ({ type, object }) => {
      version = object.metadata.resourceVersion
      if (type !== 'DELETED' && isServing(object)) serving.add(object.metadata.uid)
      else serving.delete(object.metadata.uid)
      fewest = Math.min(fewest, serving.size)
    },
    end.signal,
  )
  await work()
  const latest = Math.max(
    ...(await place.list('pods')).map((pod) => Number(pod.metadata.resourceVersion)),
  )
  await waitUntil(() => Number(version) >= latest, 'the watch of pods')
  end.abort()
  await watch.catch(() => {})
  return fewest
}

function strategyCase(strategy: string): (platform: Platform, place: Place) => Promise<void> {
  return async (platform, place) => {
    await withFirst(place)
    const fewest = await fewestServing(platform, place, () =>
      place.deploy([api('app:2')], traffic({ strategy })),
    )
    assert.equal(fewest, 1)
    assert.deepEqual(await statesOf(platform, place), ['(api-v000)', 'api-v001'])
    const [pod, ...others] = await place.pods(attached)
    assert.deepEqual([pod?.metadata.ownerReferences?.[0]?.name, others], ['api-v001', []])
    assert.equal((await place.get('replicasets/api-v000')).spec['replicas'], 1)
    assert.equal((await groupsOf(platform, place)).get('api-v000')?.capacity.desired, 1)
  }
}

function stagesOf({ execution }: Ended): string[] {
  return execution.stages
    .toSorted((one, other) => (one.startTime ?? 0) - (other.startTime ?? 0))
    .map(({ type, context }) =>
      [type, context['manifestName']].filter((part) => part !== undefined).join(' '),
    )
}

/** What is wrong with a deployment, by what the failure names. */
const refusals: readonly [services: unknown[], says: RegExp, manifests?: readonly JsonObject[]][] =
  [
    [['service none'], /service none/],
    [['service blind'], /service blind/, [service('blind', undefined)]],
    [['service same'], /service same|app/, [service('same', { app: 'api' })]],
    [['front'], /front/],
    [['ingress door'], /ingress door/, [ingress('door', 'front')]],
  ]

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'kubernetes-scenario 61, 62: traffic is given to a replica set or kept from it': async (
    platform,
    place,
  ) => {
    await place.deploy([front])
    await place.deploy([api()], traffic())
    assert.equal((await place.pods(attached)).length, 1)
    const { metadata } = await place.get('replicasets/api-v000')
    assert.deepEqual(
      JSON.parse(metadata.annotations?.['traffic.spinnaker.io/load-balancers'] ?? ''),
      ['service front'],
    )
    const group = (await groupsOf(platform, place)).get('api-v000')
    assert.equal(group?.isDisabled, false)
    assert.ok(group.loadBalancers.includes('service front'))

    await place.deploy([replicaSet('quiet', 'app:1', 1)], traffic({ enableTraffic: false }))
    assert.deepEqual((await place.pods({ app: 'quiet' })).length, 1)
    assert.deepEqual(await place.pods({ app: 'quiet', ...attached }), [])
    assert.equal((await groupsOf(platform, place)).get('quiet-v000')?.isDisabled, true)
  },
  'kubernetes-scenario 63: the service may be in the same request': async (platform, place) => {
    await place.deploy([api(), front], traffic())
    assert.equal((await place.pods(attached)).length, 1)
    assert.deepEqual(await statesOf(platform, place), ['api-v000'])
  },
  'kubernetes-scenario 64: services that cannot send traffic are named': async (_, place) => {
    await place.deploy([front, ...refusals.flatMap(([, , manifests = []]) => manifests)])
    for (const [services, says] of refusals) {
      const { error } = await place.deploy([api()], traffic({ services }), 'TERMINAL')
      assert.match(error, says)
    }
    assert.deepEqual(await place.names('replicasets'), [])
  },
  'kubernetes-scenario 65: blue/green takes the traffic of the old version':
    strategyCase('bluegreen'),
  'kubernetes-scenario 66: red/black is the same': strategyCase('redblack'),
  'a canary gets its part in steps, then all, and goes when a step fails': async (
    platform,
    place,
  ) => {
    const inSteps = (...steps: JsonObject[]) => traffic({ strategy: 'canary', canary: { steps } })
    const noted = async () =>
      (await place.list('replicasets')).filter(
        ({ metadata }) => metadata.annotations?.['fairlead/traffic-share'] !== undefined,
      )
    const { error: refused } = await place.deploy(
      [deployment('web')],
      inSteps({ percent: 50 }),
      'TERMINAL',
    )
    assert.match(refused, /deploys one ReplicaSet, and the manifests have 0/)
    await place.deploy([front, api()], inSteps({ percent: 50 }))
    assert.deepEqual(await statesOf(platform, place), ['api-v000'])

    const failing = inSteps({ percent: 50, checks: [{ type: 'guess' }] })
    const stopped = await place.deploy([api('app:2')], failing, 'TERMINAL')
    assert.match(
      stopped.error,
      /^The canary replicaSet api-v001 was stopped at 50 % of the traffic by step 1 of 1, "Verify at 50 %": .*no check of the type/m,
    )
    assert.deepEqual(await statesOf(platform, place), ['api-v000', '(api-v001)'])
    assert.deepEqual(await noted(), [])

    const waysOf = ({ execution }: Ended) =>
      execution.stages
        .flatMap(({ context }) => objectsOf(context['kato.tasks']))
        .flatMap(({ resultObjects }) => objectsOf(resultObjects))
        .flatMap(({ trafficShare }) => fieldAt(trafficShare, 'by') ?? [])
    assert.deepEqual([...new Set(waysOf(stopped))], ['replicas'])
    const route = await createRoute(platform.api, place.namespace, [
      { backendRefs: [{ name: 'front', port: 80 }] },
    ])

    const good = inSteps({ percent: 50 }, { percent: 10, pauseSeconds: 0.01 })
    assert.deepEqual([...new Set(waysOf(await place.deploy([api('app:3')], good)))], ['routes'])
    assert.deepEqual(await statesOf(platform, place), ['(api-v000)', 'api-v002'])
    assert.deepEqual(
      [await noted(), (await place.pods(attached)).length, await place.names('services')],
      [[], 1, ['front']],
    )
    const { spec, metadata } = await platform.api.get(route)
    assert.deepEqual(spec['rules'], [{ backendRefs: [{ name: 'front', port: 80, weight: 1 }] }])
    assert.equal(metadata.annotations?.['fairlead/traffic-shares'], undefined)
  },
  'kubernetes-scenario 67: highlander disables and deletes the old versions': async (
    platform,
    place,
  ) => {
    await withFirst(place)
    const ended = await place.deploy([api('app:2')], traffic({ strategy: 'highlander' }))
    assert.deepEqual(await place.names('replicasets'), ['api-v001'])
    assert.deepEqual(await statesOf(platform, place), ['api-v001'])
    const old = stagesOf(ended).filter((stage) => stage.endsWith('api-v000'))
    assert.deepEqual(old, [
      'disableManifest replicaSet api-v000',
      'deleteManifest replicaSet api-v000',
    ])
  },
  'kubernetes-scenario 68: without strategy both versions have traffic': async (
    platform,
    place,
  ) => {
    await withFirst(place)
    await place.deploy([api('app:2')], traffic({ strategy: 'none' }))
    assert.deepEqual(await statesOf(platform, place), ['api-v000', 'api-v001'])
    assert.equal((await place.pods(attached)).length, 2)
  },
  'kubernetes-scenario 69, 70: a failed version keeps the old one, and the next one removes it':
    async (platform, place) => {
      await withFirst(place)
      const fields = { ...traffic({ strategy: 'bluegreen' }), stableManifestTimeoutMinutes: 0.02 }
      await place.deploy([api('bad:1')], fields, 'TERMINAL')
      assert.deepEqual(await place.names('replicasets'), ['api-v000', 'api-v001'])
      assert.equal((await groupsOf(platform, place)).get('api-v000')?.isDisabled, false)
      assert.equal((await place.pods(attached)).filter(isServing).length, 1)
      await place.deploy([api('app:2')], traffic({ strategy: 'bluegreen' }))
      assert.deepEqual(await statesOf(platform, place), ['(api-v000)', 'api-v002'])
    },
  'kubernetes-scenario 71: blue/green needs room for two versions': async (_, place) => {
    await place.deploy([front])
    const metadata = { annotations: { 'strategy.spinnaker.io/max-version-history': '1' } }
    const { error } = await place.deploy(
      [api('app:1', { metadata })],
      traffic({ strategy: 'bluegreen' }),
      'TERMINAL',
    )
    assert.match(error, /strategy\.spinnaker\.io\/max-version-history/)
    assert.deepEqual(await place.names('replicasets'), [])
  },
  'kubernetes-scenario 72: other clusters and namespaces keep their traffic': async (
    platform,
    place,
  ) => {
    const elsewhere = await platform.place()
    await Promise.all([withFirst(place), withFirst(elsewhere)])
    await place.deploy([replicaSet('other', 'app:1', 1)], traffic())
    await place.deploy([api('app:2')], traffic({ strategy: 'bluegreen' }))
    assert.deepEqual(await statesOf(platform, place), ['(api-v000)', 'api-v001', 'other-v000'])
    assert.deepEqual(await statesOf(platform, elsewhere), ['api-v000'])
  },
  'kubernetes-scenario 73, 74: a replica set is disabled and enabled': async (platform, place) => {
    await place.deploy([front, api(), replicaSet('lone', 'app:1', 1)])
    await withFirst(place)
    const name = 'replicaSet api-v001'
    const owner = await place.get('replicasets/api-v001')
    const ownPods = async () =>
      (await place.pods()).filter(
        ({ metadata }) => metadata.ownerReferences?.[0]?.uid === owner.metadata.uid,
      )
    const labelsOf = async () => {
      const { spec } = await place.get('replicasets/api-v001')
      const pods = await ownPods()
      return [
        fieldAt(spec, 'template', 'metadata', 'labels', 'lb'),
        ...pods.map(({ metadata }) => metadata.labels?.['lb']),
      ]
    }
    const before = (await ownPods()).map(({ metadata }) => metadata.uid)
    await place.change('disableManifest', name)
    assert.deepEqual(await labelsOf(), [undefined, undefined])
    assert.deepEqual(
      (await ownPods()).map(({ metadata }) => metadata.uid),
      before,
    )
    assert.equal((await groupsOf(platform, place)).get('api-v001')?.isDisabled, true)
    const { resourceVersion } = (await place.get('replicasets/api-v001')).metadata
    await place.change('disableManifest', name)
    assert.equal(
      (await place.get('replicasets/api-v001')).metadata.resourceVersion,
      resourceVersion,
    )
    await place.change('enableManifest', name)
    assert.deepEqual(await labelsOf(), ['front', 'front'])
    assert.equal((await groupsOf(platform, place)).get('api-v001')?.isDisabled, false)

    const lone = (await place.get('replicasets/lone-v000')).metadata.resourceVersion
    await place.change('disableManifest', 'replicaSet lone-v000')
    assert.equal((await place.get('replicasets/lone-v000')).metadata.resourceVersion, lone)
    const none = { loadBalancers: ['service none'] }
    const { error } = await place.change('disableManifest', name, none, 'TERMINAL')
    assert.match(error, /service none/)
  },
  'a failed version can be taken back': async (platform, place) => {
    await withFirst(place)
    const fields = {
      ...traffic({ strategy: 'bluegreen' }),
      stableManifestTimeoutMinutes: 0.02,
      rollback: { onFailure: true },
    }
    await place.deploy([api('bad:1')], fields, 'TERMINAL')
    assert.deepEqual(await statesOf(platform, place), ['api-v000', '(api-v001)'])
    assert.equal((await place.pods(attached)).filter(isServing).length, 1)
  },
  'a deployment beside a strategy keeps its own way to update': async (platform, place) => {
    await place.deploy([front, api(), deployment('web')], traffic())
    await place.deploy(
      [api('app:2'), deployment('web', 'app:2')],
      traffic({ strategy: 'bluegreen' }),
    )
    const states = await statesOf(platform, place)
    assert.ok(states.includes('(api-v000)') && states.includes('api-v001'), states.join())
    assert.equal((await place.get('deployments/web')).status['readyReplicas'], 1)
  },
}

test('traffic and strategies', { concurrency: 4 }, async (t) => {
  const platform = await startPlatform(t)
  if (platform === undefined) return
  await Promise.all([
    ...Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
    t.test('kubernetes-scenario 75: guards keep the last group where they are on', (each) =>
      checkGuards(each, platform),
    ),
  ])
})

async function guard({ ask }: Platform, location: string): Promise<void> {
  const rule = { account: 'k8s', location, stack: '*', detail: '*', enabled: true }
  const job = {
    type: 'updateApplication',
    application: { name: 'shop', email: 'team@example.test', trafficGuards: [rule] },
  }
  const { status, body } = await ask('POST', '/tasks', {
    application: 'shop',
    description: 'guards',
    job: [job],
  })
  assert.equal(status, 200, JSON.stringify(body))
}

async function checkGuards(t: TestContext, open: Platform): Promise<void> {
  const guarded = await startPlatform(t, {
    settings: { stages: { manifests: { 'traffic-guards': true } } },
  })
  if (guarded === undefined) return
  const place = await guarded.place()
  await guard(guarded, place.namespace)
  await guarded.until<JsonObject>('/applications/shop', (body) =>
    objectsOf(fieldAt(body, 'attributes', 'trafficGuards')).some(
      ({ location }) => location === place.namespace,
    ),
  )
  await withFirst(place)
  for (const [type, fields] of [
    ['disableManifest', {}],
    ['scaleManifest', { replicas: 0 }],
  ] as const) {
    const { error } = await place.change(type, 'replicaSet api-v000', fields, 'TERMINAL')
    assert.match(error, /replicaSet api/)
  }
  assert.equal((await place.pods(attached)).length, 1)

  const unguarded = await open.place()
  await guard(open, unguarded.namespace)
  await withFirst(unguarded)
  await unguarded.change('disableManifest', 'replicaSet api-v000')
  await unguarded.change('scaleManifest', 'replicaSet api-v000', { replicas: 0 })
}
