/** Rights, and what goes on after faults: kills, other writers, a restart of the API server, over the public paths of a gateway. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import { startControlPlane } from '../../../support/kubernetes.ts'
import {
  clusterRole,
  configMap,
  deployment,
  job,
  replicaSet,
  service,
} from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Platform, startPlatform, type User } from '../../../support/kubernetes-platform.ts'
import { createHome, type ServeProcess, startServe } from '../../../support/serve.ts'
import { startRelay } from '../../../support/tcp-relay.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const web = 'deployment web'

function imagesOf(object: JsonObject): unknown[] {
  return objectsOf(fieldAt(object, 'spec', 'template', 'spec', 'containers')).map(
    ({ image }) => image,
  )
}

/** Why a job is refused, at once or by its task. */
async function refusal({ ask, ends }: Platform, job: JsonObject, user: User): Promise<string> {
  const task = {
    application: 'shop',
    description: 'refused',
    job: [{ cloudProvider: 'kubernetes', account: 'k8s', ...job }],
  }
  const { status, body } = await ask(
    'POST',
    '/tasks',
    { ...task, application: job['application'] ?? 'shop' },
    user,
  )
  if (status >= 400) return JSON.stringify(body)
  return (await ends(String(fieldAt(body, 'ref')).split('/').at(-1) ?? '', 'TERMINAL')).error
}

const rights: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'kubernetes-scenario 126: an account without WRITE changes nothing': async (platform, place) => {
    await place.deploy([deployment('web')], { account: 'k8s-ro' })
    const job = {
      type: 'deleteManifest',
      account: 'k8s-ro',
      manifestName: web,
      location: place.namespace,
    }
    assert.match(await refusal(platform, job, 'bob'), /k8s-ro/)
    await place.get('deployments/web')
    await platform.run(job)
    assert.equal(await place.find('deployments/web'), undefined)
  },
  'objects of another application are not changed without rights on it': async (
    platform,
    place,
  ) => {
    const { run } = platform
    const owned = [deployment('web'), service('front', { lb: 'front' })]
    const vault = { application: 'vault', moniker: { app: 'vault' } }
    await run({ ...place.stage(owned), ...vault }, 'SUCCEEDED', 'bob')
    const before = await place.get('deployments/web')
    const on = (type: string, fields: JsonObject) => ({
      type,
      manifestName: web,
      location: place.namespace,
      ...fields,
    })
    const claims = { metadata: { annotations: { 'moniker.spinnaker.io/application': 'vault' } } }
    const traffic = { enabled: true, options: { services: ['service front'], enableTraffic: true } }
    const selector = { kind: 'EQUALS', key: 'app.kubernetes.io/name', values: ['vault'] }
    const attempts: JsonObject[] = [
      place.stage([deployment('web', 'app:2')]),
      place.stage([deployment('other', 'app:2', 1, claims)]),
      place.stage([replicaSet('api')], { trafficManagement: traffic }),
      on('scaleManifest', { replicas: 3 }),
      on('patchManifest', { source: 'text', patchBody: [{ spec: { replicas: 3 } }] }),
      on('rollingRestartManifest', {}),
      on('pauseRolloutManifest', {}),
      on('deleteManifest', { options: { cascading: true } }),
      on('deleteManifest', {
        manifestName: undefined,
        kinds: ['deployment'],
        labelSelectors: { selectors: [selector] },
      }),
      on('disableManifest', { loadBalancers: ['service front'] }),
    ]
    for (const attempt of attempts)
      assert.match(await refusal(platform, attempt, 'alice'), /vault/, JSON.stringify(attempt))
    const after = await place.get('deployments/web')
    assert.deepEqual([after.spec, after.metadata.uid], [before.spec, before.metadata.uid])
    assert.deepEqual(await place.names('deployments'), ['web'])
    await run({ ...on('scaleManifest', { replicas: 2 }), application: 'vault' }, 'SUCCEEDED', 'bob')
  },
  'cluster-wide objects need a right of their own': async (platform, place) => {
    const name = `reader-${place.namespace}`
    const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`
    const deploy = (account: string) => place.stage([clusterRole(name)], { account })
    assert.match(await refusal(platform, deploy('k8s-ro'), 'alice'), /clusterScoped/)
    assert.equal(await platform.api.find(path), undefined)
    await platform.run(deploy('k8s-wide'))
    const remove = { type: 'deleteManifest', manifestName: `clusterRole ${name}`, location: '' }
    assert.match(
      await refusal(platform, { ...remove, account: 'k8s-ro' }, 'alice'),
      /clusterScoped/,
    )
    await platform.api.get(path)
    await platform.run({ ...remove, account: 'k8s-wide' })
    assert.equal(await platform.api.find(path), undefined)
  },
}

test('rights on objects', { concurrency: 4 }, async (t) => {
  const permissions = { READ: ['ops'], WRITE: ['ops'] }
  const wide = (kubeconfigFile: string) => ({
    name: 'k8s-wide',
    kubeconfigFile,
    permissions,
    clusterScoped: ['ops'],
  })
  const platform = await startPlatform(t, { accounts: (kubeconfigFile) => [wide(kubeconfigFile)] })
  if (platform === undefined) return
  const owners = { READ: ['ops', 'readers'], WRITE: ['readers'], EXECUTE: ['readers'] }
  const vault = {
    name: 'vault',
    email: 'team@example.test',
    cloudProviders: 'kubernetes',
    permissions: owners,
  }
  await platform.run({ type: 'createApplication', application: vault }, 'SUCCEEDED', 'bob')
  await Promise.all(
    Object.entries(rights).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})

test('a deployment goes on', async (t) => {
  const platform = await startPlatform(t)
  if (platform === undefined) return
  await t.test('beside another Fairlead that deploys versions', (subtest) =>
    deployBeside(platform, subtest),
  )
  await t.test('while another one writes', () => deployAmongWrites(platform))
  await t.test('when the API server restarts in its middle', () => deployAcrossRestart(platform))
})

async function deployBeside(one: Platform, t: TestContext): Promise<void> {
  const other = await startPlatform(t)
  assert.ok(other !== undefined)
  const place = await one.place()
  const tags = Array.from({ length: 6 }, (_, index) => `app:${index}`)
  await Promise.all(
    tags.map((image, index) => {
      const conf = configMap('conf', { image })
      return (index % 2 === 0 ? one : other).run(place.stage([replicaSet('api', image, 1), conf]))
    }),
  )
  const sets = await place.list('replicasets')
  assert.deepEqual(sets.flatMap(imagesOf).sort(), tags)
  const confs = (await place.list('configmaps')).filter(({ metadata }) =>
    metadata.name.startsWith('conf-v'),
  )
  assert.deepEqual(confs.map((conf) => fieldAt(conf, 'data', 'image')).sort(), tags)
}

async function deployAmongWrites(platform: Platform): Promise<void> {
  const place = await platform.place()
  await place.deploy(
    [service('front', { lb: 'front' }), deployment('web'), replicaSet('api', 'app:1', 1)],
    {
      trafficManagement: { enabled: true, options: { services: ['service front'] } },
    },
  )
  let [isOver, count] = [false, 0]
  const write = async () => {
    while (!isOver) {
      // Controllers copy annotations, and would be held up themselves.
      const metadata = { labels: { count: String(++count) } }
      for (const path of ['deployments/web', 'replicasets/api-v000'])
        await platform.api.patch(place.path(path), { metadata })
      // Controllers and watches see each.
      await sleep(20)
    }
  }
  const writing = write()
  const steps = [{ op: 'add', path: '/metadata/labels/y', value: '2' }]
  await place.deploy([deployment('web', 'app:2')])
  await place.change('scaleManifest', web, { replicas: 2 })
  await place.change('patchManifest', web, {
    source: 'text',
    patchBody: steps,
    options: { mergeStrategy: 'json' },
  })
  await place.change('undoRolloutManifest', web, { revision: 1 })
  await place.change('disableManifest', 'replicaSet api-v000')
  await place.change('enableManifest', 'replicaSet api-v000')
  isOver = true
  await writing
  assert.ok(count > 0)
  assert.deepEqual(imagesOf(await place.get('deployments/web')), ['app:1'])
}

async function deployAcrossRestart(platform: Platform): Promise<void> {
  const place = await platform.place()
  const { plane } = platform
  const ready = plane.nodes.behave(({ metadata }) => metadata.namespace === place.namespace, {
    kind: 'unready',
  })
  const id = await platform.submit(place.stage([replicaSet('api', 'app:1', 1)]))
  await place.getUntil('replicasets/api-v000', ({ status }) => status['replicas'] === 1)
  await plane.restart()
  ready()
  await platform.ends(id)
  assert.deepEqual(await place.names('replicasets'), ['api-v000'])
  const groups = () => platform.read<JsonObject[]>('/applications/shop/serverGroups')
  await waitUntil(
    async () => (await groups()).some(({ region }) => region === place.namespace),
    'the server group',
  )
}

/** A server that hangs would answer after its time, which is 30 s; that answers come before it speaks again is what counts. */
test('while an API server is away, reads show the last state and its age', async (t) => {
  const plane = await startControlPlane(t)
  if (plane === undefined) return
  const relay = await startRelay(t, Number(new URL(plane.server).port))
  const kubeconfigFile = join(createHome(t), 'far.yaml')
  const address = `https://127.0.0.1:${relay.port}`
  writeFileSync(kubeconfigFile, plane.kubeconfig().replace(plane.server, address))
  const platform = await startPlatform(t, {
    silenceSeconds: 0.8,
    accounts: () => ['far', 'new'].map((name) => ({ name, kubeconfigFile })),
  })
  if (platform === undefined) return
  const place = await platform.place()
  const manifests = [deployment('web'), service('front', { app: 'web' })]
  await place.deploy(manifests, { account: 'far' })
  const [pod] = await place.pods()
  const at = `far/${place.namespace}`
  const single = ['deployment web', 'service front', `pod ${pod?.metadata.name}`].map(
    (name) => `/manifests/${at}/${encodeURIComponent(name)}`,
  )
  const lists = [
    ...['serverGroups', 'loadBalancers', 'serverGroupManagers', 'rawResources'].map(
      (list) => `/applications/shop/${list}`,
    ),
    '/applications/shop/drift?account=far',
    `/instances/${at}/pod%20${pod?.metadata.name}`,
  ]
  const get = async (path: string) => {
    const answer = await fetch(platform.url() + path, { headers: { 'X-SPINNAKER-USER': 'alice' } })
    const all: unknown = await answer.json()
    // Other tests leave objects of the application, which go meanwhile.
    const body = (
      Array.isArray(all) ? objectsOf(all).filter(({ account }) => account === 'far') : all
    ) as JsonObject
    return { status: answer.status, headers: answer.headers, body, path }
  }
  const all = [...single, ...lists]
  /** What is deployed is in every answer but that of drift, which is none. */
  const isWhole = ({ status, body, path }: Awaited<ReturnType<typeof get>>) =>
    status === 200 && (path.includes('/drift') || JSON.stringify(body).includes(place.namespace))
  for (const path of all) {
    await waitUntil(async () => {
      const answer = await get(path)
      return answer.headers.get('age') === null && isWhole(answer)
    }, `a live answer of ${path}`)
  }
  for (const fault of ['silence', 'stop'] as const) {
    await relay[fault]()
    await waitUntil(
      async () => (await get(lists[0] ?? '')).headers.get('warning') !== null,
      'the age of a list that is read alone',
    )
    for (const { path, status, headers, body } of await Promise.all(single.map(get))) {
      assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
      assert.equal(typeof fieldAt(body, 'unreachable', 'readAt'), 'number', path)
      assert.match(headers.get('age') ?? '', /^\d+$/, path)
      assert.match(headers.get('warning') ?? '', /^110 .*account far has not answered since/, path)
    }
    for (const shown of await Promise.all(lists.map(get))) {
      assert.ok(isWhole(shown), `${shown.path}: ${JSON.stringify(shown.body)}`)
      assert.match(shown.headers.get('warning') ?? '', /^110/, shown.path)
    }
    for (const name of ['configMap none', `pod ${pod?.metadata.name}/console`]) {
      const never = await get(
        name.endsWith('console')
          ? `/instances/${at}/${encodeURIComponent(name.slice(0, -8))}/console?provider=kubernetes`
          : `/manifests/${at}/${encodeURIComponent(name)}`,
      )
      assert.equal(never.status, 503)
      assert.match(String(never.body['message']), /has not answered since|fails:/)
    }
    const unread = fault === 'stop' ? 'service%20front' : 'deployment%20web'
    assert.equal((await get(`/manifests/new/${place.namespace}/${unread}`)).status, 503)
    const id = await platform.submit({
      type: 'scaleManifest',
      account: 'far',
      manifestName: web,
      location: place.namespace,
      replicas: fault === 'stop' ? 3 : 1,
    })
    await platform.until(`/tasks/${id}`, (task) =>
      /does not answer/.test(JSON.stringify(task['execution'])),
    )
    if (fault === 'stop') await relay.listen()
    else relay.speak()
    await platform.ends(id)
    for (const path of single) {
      await waitUntil(
        async () => (await get(path)).headers.get('age') === null,
        () => `a live answer of ${path}`,
      )
    }
  }
})

/** Fairlead as a process that is killed. */
async function startKillable(
  t: TestContext,
): Promise<{ platform: Platform; kill: () => Promise<void> } | undefined> {
  const home = createHome(t)
  const running: { url: string; serve?: ServeProcess } = { url: '' }
  let start = async () => {}
  const platform = await startPlatform(t, {
    start: async (end, settings) => {
      start = async () => {
        running.serve = startServe(
          end,
          { ...settings, anonymous: { enabled: false } },
          { home, embedded: true },
        )
        running.url = await running.serve.listening
        const headers = { 'X-SPINNAKER-USER': 'alice' }
        await waitUntil(
          async () => (await fetch(`${running.url}/credentials`, { headers })).status === 200,
          'the back ends',
        )
      }
      await start()
      return running
    },
  })
  if (platform === undefined) return undefined
  const kill = async () => {
    running.serve?.signal('SIGKILL')
    await running.serve?.exited
    await start()
  }
  return { platform, kill }
}

test('kubernetes-scenario 131: after a kill everything goes on, and nothing is done twice', async (t) => {
  const killable = await startKillable(t)
  if (killable === undefined) return
  const { platform, kill } = killable
  const place = await platform.place()
  const ready = platform.plane.nodes.behave(
    ({ metadata }) => metadata.labels?.['app'] === 'waits',
    { kind: 'unready' },
  )
  const waiting = await platform.submit(
    place.stage([replicaSet('waits', 'app:1', 1), configMap('conf', { a: '1' })]),
  )
  await place.getUntil('replicasets/waits-v000', ({ status }) => status['replicas'] === 1)
  await kill()
  ready()
  await platform.ends(waiting)
  assert.deepEqual(await place.names('replicasets'), ['waits-v000'])

  const traffic = (strategy: string) => ({
    trafficManagement: {
      enabled: true,
      options: { services: ['service front'], enableTraffic: true, strategy },
    },
  })
  for (const steps of [3, 6]) {
    const round = await platform.place()
    const first = [
      deployment('web'),
      deployment('old'),
      deployment('gone'),
      replicaSet('blue', 'app:1', 1),
      replicaSet('high', 'app:1', 1),
    ]
    await round.deploy([service('front', { lb: 'front' }), ...first], traffic('none'))
    await round.deploy([deployment('old', 'app:2')])
    const on = (type: string, manifestName: string, fields: JsonObject = {}) => ({
      type,
      manifestName,
      location: round.namespace,
      ...fields,
    })
    const ids = await Promise.all(
      [
        round.stage([replicaSet('blue', 'app:2', 1)], traffic('bluegreen')),
        round.stage([replicaSet('high', 'app:2', 1)], traffic('highlander')),
        round.stage([{ ...job('made', 0), metadata: { generateName: 'made-' } }]),
        on('scaleManifest', web, { replicas: 2 }),
        on('undoRolloutManifest', 'deployment old', { numRevisionsBack: 1 }),
        on('deleteManifest', 'deployment gone', { options: { cascading: true } }),
        {
          type: 'runJobManifest',
          alias: 'runJob',
          source: 'text',
          manifest: { ...job('run', 0), metadata: { name: 'run', namespace: round.namespace } },
        },
      ].map((each) => platform.submit(each)),
    )
    await Promise.any(ids.map((id) => reached(platform, id, steps)))
    await kill()
    for (const id of ids) await platform.ends(id)
    assert.deepEqual(
      await round
        .names('replicasets')
        .then((names) => names.filter((name) => /^(blue|high)/.test(name))),
      ['blue-v000', 'blue-v001', 'high-v001'],
    )
    assert.deepEqual(
      (await round.pods({ lb: 'front', app: 'blue' })).map(
        ({ metadata }) => metadata.ownerReferences?.[0]?.name,
      ),
      ['blue-v001'],
    )
    assert.equal((await round.names('jobs')).filter((name) => name.startsWith('made-')).length, 1)
    assert.equal((await round.get('deployments/web')).status['readyReplicas'], 2)
    assert.deepEqual(imagesOf(await round.get('deployments/old')), ['app:1'])
    assert.equal(await round.find('deployments/gone'), undefined)
    assert.equal((await round.get('jobs/run')).status['succeeded'], 1)
  }
})

/** Waits until so many steps of a task have begun. */
async function reached({ until }: Platform, id: string, steps: number): Promise<void> {
  await until<JsonObject>(`/tasks/${id}`, ({ execution }) => {
    const tasks = objectsOf(fieldAt(execution, 'stages')).flatMap((stage) =>
      objectsOf(stage['tasks']),
    )
    return tasks.filter(({ status }) => status !== 'NOT_STARTED').length >= steps
  })
}
