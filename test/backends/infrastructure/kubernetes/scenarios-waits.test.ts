/** Waits for stability, what fails early, what a failure undoes, plans and drift, over the public paths of a gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  fieldAt,
  type JsonObject,
  objectsOf,
  textsOf,
} from '../../../../packages/base/json/values.ts'
import type { KubernetesObject } from '../../../support/kubernetes-client.ts'
import {
  configMap,
  daemonSet,
  deployment,
  job,
  replicaSet,
  secret,
  service,
  statefulSet,
} from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Ended, type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'

const web = 'deployment web'
const shortly = { stableManifestTimeoutMinutes: 0.02 }

function messagesOf(execution: unknown): string[] {
  return objectsOf(fieldAt(execution, 'stages')).flatMap(({ context }) =>
    textsOf(fieldAt(context, 'messages')),
  )
}

/** States of an object by the keys of its status. */
async function statesOf(place: Place, name: string): Promise<Record<string, unknown>> {
  const { status } = await place.manifest(name)
  return Object.fromEntries(
    Object.entries(status as JsonObject).map(([key, value]) => [key, fieldAt(value, 'state')]),
  )
}

/** Waits until the stage of a task says all of it, then cancels the task. */
async function saysWhileWaiting(
  { ask, ends, submit, until }: Platform,
  deploy: JsonObject,
  says: RegExp[],
): Promise<string[]> {
  const id = await submit(deploy)
  const task = await until(`/tasks/${id}`, ({ execution }) => {
    const messages = messagesOf(execution)
    return says.every((each) => messages.some((message) => each.test(message)))
  })
  await ask('PUT', `/tasks/${id}/cancel`)
  await ends(id, 'CANCELED')
  return messagesOf(task['execution'])
}

function create(
  { api }: Platform,
  place: Place,
  plural: string,
  manifest: JsonObject,
): Promise<KubernetesObject> {
  return api.create(place.path(plural), manifest)
}

function planOf({ execution }: Ended): JsonObject[] {
  return execution.stages.flatMap(({ outputs }) => objectsOf(outputs['plan']))
}

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'kubernetes-scenario 94: a wait that takes too long names what it waits for': async (
    _,
    place,
  ) => {
    const { execution, error } = await place.deploy(
      [deployment('web', 'bad:1')],
      shortly,
      'TERMINAL',
    )
    const messages = messagesOf(execution)
    assert.match(messages.join('\n'), new RegExp(`'deployment web' in '${place.namespace}'`))
    assert.match(error, /deployment web/)
  },
  'kubernetes-scenario 95: an exceeded deadline of a rollout fails the stage': async (_, place) => {
    const late = deployment('web', 'bad:1', 1, { spec: { progressDeadlineSeconds: 1 } })
    const { variables } = await place.deploy([late], {}, 'TERMINAL')
    assert.equal((await statesOf(place, web))['failed'], true)
    const [error] = textsOf(fieldAt(variables['exception'], 'details', 'errors'))
    assert.match(error ?? '', /'deployment web'/)
    assert.ok(error?.includes(place.namespace), `the error names the namespace: ${error}`)
  },
  'kubernetes-scenario 96: a rollout is unstable until it is over': async (
    { plane, submit, ends },
    place,
  ) => {
    const ready = plane.nodes.behave(({ metadata }) => metadata.namespace === place.namespace, {
      kind: 'unready',
    })
    const id = await submit(place.stage([deployment('web')]))
    await place.manifestUntil(web, ({ status }) => {
      const message = fieldAt(status, 'stable', 'message')
      return (
        fieldAt(status, 'stable', 'state') === false &&
        /0 of 1 pod is available/.test(String(message))
      )
    })
    assert.partialDeepStrictEqual(await statesOf(place, web), {
      available: false,
      paused: false,
      failed: false,
    })
    ready()
    await ends(id)
    assert.deepEqual(await statesOf(place, web), {
      stable: true,
      available: true,
      paused: false,
      failed: false,
    })
  },
  'kubernetes-scenario 97: each kind has its own rules of stability': async (platform, place) => {
    await create(platform, place, 'replicasets', replicaSet('api', 'unready:1', 1))
    const untilStates = (name: string, states: JsonObject) =>
      place.manifestUntil(name, ({ status }) =>
        Object.entries(states).every(([key, value]) => fieldAt(status, key, 'state') === value),
      )
    await place.getUntil('replicasets/api', ({ status }) => status['replicas'] === 1)
    assert.partialDeepStrictEqual(await statesOf(place, 'replicaSet api'), {
      stable: false,
      available: false,
    })
    await create(platform, place, 'daemonsets', daemonSet('agent'))
    await untilStates('daemonSet agent', { stable: true })
    assert.equal(
      (await place.get('daemonsets/agent')).status['numberReady'],
      platform.plane.nodes.names.length,
    )
    await create(
      platform,
      place,
      'statefulsets',
      statefulSet('db', 'app:1', 1, { spec: { updateStrategy: { type: 'OnDelete' } } }),
    )
    await untilStates('statefulSet db', { stable: true })
    await create(platform, place, 'jobs', job('busy', undefined))
    await place.getUntil('jobs/busy', ({ status }) => status['active'] === 1)
    assert.partialDeepStrictEqual(await statesOf(place, 'job busy'), {
      stable: false,
      failed: false,
    })
    await create(platform, place, 'jobs', job('bad', 3))
    await untilStates('job bad', { failed: true })
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'api' }
    const scaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'api' },
    }
    await create(platform, place, 'horizontalpodautoscalers', {
      ...scaler,
      spec: { maxReplicas: 3, scaleTargetRef },
    })
    const blind = {
      ...{ type: 'ScalingActive', status: 'False', reason: 'FailedGetResourceMetric' },
      lastTransitionTime: new Date().toISOString(),
    }
    const status = { desiredReplicas: 2, currentReplicas: 1, conditions: [blind] }
    await platform.api.patch(place.path('horizontalpodautoscalers/api/status'), { status })
    assert.equal((await statesOf(place, 'horizontalpodautoscaler api'))['stable'], false)
    await create(platform, place, 'services', service('front', { app: 'api' }))
    assert.equal((await statesOf(place, 'service front'))['stable'], true)
  },
  'kubernetes-scenario 98: a deployment that is deleted meanwhile ends the wait': async (
    { api, submit, ends },
    place,
  ) => {
    const id = await submit(place.stage([deployment('web', 'bad:1')]))
    await place.getUntil('deployments/web', ({ status }) => status['unavailableReplicas'] === 1)
    await api.delete(place.path('deployments/web'))
    const { error } = await ends(id, 'TERMINAL')
    assert.match(error, /'deployment web' .*something has deleted it/)
  },
  'a waiting stage says in one sentence why': async (platform, place) => {
    await platform.api.create(place.path('resourcequotas'), {
      ...{
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'pods' },
        spec: { hard: { 'requests.cpu': '1' } },
      },
    })
    const status = { hard: { 'requests.cpu': '1' }, used: { 'requests.cpu': '0' } }
    await platform.api.patch(place.path('resourcequotas/pods/status'), { status })
    const needs = (cpu: string) => ({ container: { resources: { requests: { cpu } } } })
    const of = (name: string, image: string, fields = {}) =>
      deployment(name, image, 1, { ...needs('1m'), ...fields })
    const deploy = place.stage([
      of('image', 'bad:1'),
      of('crash', 'crash:1', {
        podAnnotations: { 'test.fairlead/previous-log': 'first line\nno database\n' },
      }),
      of('probe', 'unready:1'),
      of('place', 'unschedulable:1'),
      of('quota', 'app:1', needs('5')),
    ])
    const messages = await saysWhileWaiting(platform, deploy, [
      /'deployment image' .*The image bad:1 of the container main cannot be pulled in pod image-\S+: [^.]+/,
      /'deployment crash' .*The container main ended with exit code 3 in pod crash-\S+ .*Its last output: .*no database/s,
      /'deployment probe' .*The container main runs and is not ready|A probe of the container main fails/,
      /'deployment place' .*No node can run pod place-\S+: 0\/2 nodes are available: 2 Insufficient cpu/,
      /'deployment quota' .*cannot create pods because of a quota: .*exceeded quota: pods/,
    ])
    assert.equal(messages.length, 5)
  },
  'a wait that cannot end fails at once': async (platform, place) => {
    const id = await platform.submit(place.stage([deployment('web', 'bad:1')]))
    await place.getUntil('deployments/web', ({ status }) => status['unavailableReplicas'] === 1)
    const [pod] = await place.pods()
    const waiting = { reason: 'InvalidImageName', message: 'couldn’t parse image name "bad:1"' }
    await place.getUntil(
      `pods/${pod?.metadata.name}`,
      ({ status }) => objectsOf(status['containerStatuses']).length > 0,
    )
    const containerStatuses = [
      {
        name: 'main',
        image: 'bad:1',
        imageID: '',
        ready: false,
        restartCount: 0,
        state: { waiting },
      },
    ]
    await platform.api.patch(place.path(`pods/${pod?.metadata.name}/status`), {
      status: { containerStatuses },
    })
    const { error } = await platform.ends(id, 'TERMINAL')
    assert.match(error, /'deployment web' .*The image bad:1 of the container main cannot be pulled/)
  },
  'a failed rollout goes back where the stage says so': async (_, place) => {
    await place.deploy([deployment('web')])
    const fields = { ...shortly, rollback: { onFailure: true } }
    await place.deploy([deployment('web', 'bad:1')], fields, 'TERMINAL')
    const { spec, status } = await place.get('deployments/web')
    assert.equal(
      fieldAt(objectsOf(fieldAt(spec, 'template', 'spec', 'containers'))[0], 'image'),
      'app:1',
    )
    assert.equal(status['readyReplicas'], 1)
    // What runs for the first time has nothing to go back to, and nothing waits for it.
    await place.deploy([deployment('first', 'bad:1')], fields, 'TERMINAL')
  },
  'a plan shows what a deployment would change, and changes nothing': async (
    { ask, pipeline },
    place,
  ) => {
    await place.deploy([deployment('web', 'app:1', 1), service('front', { app: 'web' })])
    const before = (await place.get('deployments/web')).metadata.resourceVersion
    const manifests = [
      deployment('web', 'app:2', 2),
      service('front', { app: 'web' }),
      configMap('conf', { a: '1' }),
      secret('key', { a: 'hidden' }),
    ]
    const { type: _type, ...fields } = place.stage(manifests)
    const plan = planOf(await pipeline([{ ...fields, type: 'planManifest' }]))
    assert.deepEqual(
      plan.map(({ name, change }) => [name, change]),
      [
        ['configMap conf-v000', 'create'],
        ['secret key-v000', 'create'],
        ['service front', 'none'],
        [web, 'update'],
      ],
    )
    const changes = objectsOf(plan[3]?.['fields']).map(({ path, change, before: old, after }) => [
      path,
      change,
      old,
      after,
    ])
    assert.deepEqual(changes, [
      ['spec.replicas', 'changed', 1, 2],
      ['spec.template.spec.containers[name=main].image', 'changed', 'app:1', 'app:2'],
    ])
    assert.ok(!JSON.stringify(plan).includes('hidden'))
    assert.equal((await place.get('deployments/web')).metadata.resourceVersion, before)
    assert.deepEqual(await place.names('secrets'), [])
    const answer = await ask('POST', '/manifests/plan', { ...fields, application: 'shop' })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.deepEqual(
      objectsOf(answer.body).map(({ change }) => change),
      ['create', 'create', 'none', 'update'],
    )
    const deployed = await pipeline([{ ...fields, type: 'deployManifest', plan: true }])
    assert.deepEqual(
      planOf(deployed).map(({ change }) => change),
      ['create', 'create', 'none', 'update'],
    )
    assert.equal((await place.get('deployments/web')).spec['replicas'], 2)
  },
  'drift names the object, the field and its manager, and fails a stage': async (
    { api, pipeline, read },
    place,
  ) => {
    const drift = () =>
      read<JsonObject[]>(`/applications/shop/drift?account=k8s&location=${place.namespace}`)
    const check = { type: 'checkManifestDrift', account: 'k8s', location: place.namespace }
    await place.deploy([deployment('web', 'app:1', 1), service('front', { app: 'web' })])
    assert.deepEqual(await drift(), [])
    await pipeline([check])
    const containers = [{ name: 'main', image: 'app:9' }]
    const path = `${place.path('deployments/web')}?fieldManager=kubectl-edit`
    await api.patch(path, { spec: { template: { spec: { containers } } } }, 'strategic')
    const [found, ...others] = await drift()
    assert.deepEqual(others, [])
    const fields = ['spec.template.spec.containers[name=main].image']
    assert.partialDeepStrictEqual(found, {
      account: 'k8s',
      namespace: place.namespace,
      name: web,
      manager: 'kubectl-edit',
      fields,
    })
    assert.ok(!Number.isNaN(Date.parse(String(found?.['since']))))
    const { error, execution } = await pipeline([check], {}, 'TERMINAL')
    assert.match(
      error,
      /deployment web .*kubectl-edit changed spec\.template\.spec\.containers\[name=main\]\.image/,
    )
    assert.equal(objectsOf(execution.stages[0]?.outputs['drift']).length, 1)
    await pipeline([{ ...check, failOnDrift: false }])
    await place.deploy([deployment('web', 'app:1', 1)])
    assert.deepEqual(await drift(), [])
  },
}

test('waits, plans and drift', { concurrency: 4 }, async (t) => {
  const platform = await startPlatform(t, {
    settings: { stages: { manifests: { 'absence-seconds': 1 } } },
  })
  if (platform === undefined) return
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})
