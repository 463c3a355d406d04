/** States of objects that a controller moves on, over the public paths of a gateway, on a real control plane. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import { deployment, job, service } from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Ended, type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'

const group = 'health.test'
const definition: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `gadgets.${group}`, namespace: null },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { size: { type: 'integer', default: 1 }, color: { type: 'string' } },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
}

function gadget(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name, ...metadata }, spec }
}

/** What the controller of the kind would write. */
function report({ api }: Platform, place: Place, name: string, status: JsonObject) {
  return api.patch(place.path(`gadgets/${name}/status`), { status }, 'merge')
}

const ready = (status: string, observedGeneration: number) => ({
  observedGeneration,
  conditions: [{ type: 'Ready', status, reason: 'Tried', message: 'no disk' }],
})
const stateOf = (view: JsonObject) => fieldAt(view, 'health', 'state')
const messagesOf = ({ execution }: Ended) =>
  JSON.stringify(execution.stages.map(({ context }) => context['messages']))

/** Deploys, and reports a status once the object is there. */
async function deployAndReport(
  platform: Platform,
  place: Place,
  name: string,
  { status, ends, fields = {} }: { status: JsonObject; ends: string; fields?: JsonObject },
): Promise<Ended> {
  const manifest = { ...gadget(name), metadata: { name, namespace: place.namespace } }
  const stage = { type: 'deployManifest', source: 'text', moniker: { app: 'shop' } }
  const id = await platform.submit({ ...stage, manifests: [manifest], ...fields })
  await place.getUntil(`gadgets/${name}`, () => true)
  await report(platform, place, name, status)
  return platform.ends(id, ends)
}

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'objects-scenario 33 jobs that are collected at once succeed': async (_, place) => {
    const jobs = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      job(name, 0, { spec: { ttlSecondsAfterFinished: 0 } }),
    )
    await place.deploy(jobs)
    await place.gone('jobs')
  },
  'objects-scenario 34 a failed job that is collected fails the stage': async (_, place) => {
    const failing = job('bad', 1, { spec: { ttlSecondsAfterFinished: 0 } })
    const { error } = await place.deploy([failing], {}, 'TERMINAL')
    assert.match(error, /Failed is True \(BackoffLimitExceeded\)/)
  },
  'objects-scenario 35 a job that goes before its end is seen fails the stage': async (
    { plane, submit, ends },
    place,
  ) => {
    const id = await submit(place.stage([job('lost', undefined)]))
    await place.getUntil('jobs/lost', ({ status }) => status['active'] === 1)
    await plane.kubectl('delete', 'job', 'lost', '-n', place.namespace)
    const { error } = await ends(id, 'TERMINAL')
    assert.match(error, /'job lost' .*it was collected before its result was seen/)
  },
  'objects-scenario 32 a suspended job is green with a word, and can be awaited': async (
    { submit, until, ask, ends },
    place,
  ) => {
    const suspended = job('later', 0, { spec: { suspend: true } })
    assert.match(messagesOf(await place.deploy([suspended])), /The job is suspended/)
    const stage = place.stage([suspended], { awaitSuspended: true })
    const id = await submit(stage)
    await until(`/tasks/${id}`, (task) => /is suspended/.test(JSON.stringify(task['execution'])))
    await ask('PUT', `/tasks/${id}/cancel`)
    await ends(id, 'CANCELED')
  },
  'objects-scenario 6, 1 a resource is green once its controller says so': async (
    platform,
    place,
  ) => {
    await deployAndReport(platform, place, 'one', { status: ready('True', 1), ends: 'SUCCEEDED' })
    const view = await place.manifest(`Gadget.${group} one`)
    assert.equal(stateOf(view), 'healthy')
    const changed = await place.deploy(
      [gadget('one', { size: 2 })],
      { stableManifestTimeoutMinutes: 0.02 },
      'TERMINAL',
    )
    assert.match(messagesOf(changed), /has seen generation 1, not 2/)
  },
  'objects-scenario 2, 3 trouble fails after the grace, a stall at once': async (
    platform,
    place,
  ) => {
    const slow = await deployAndReport(platform, place, 'slow', {
      status: ready('False', 1),
      ends: 'TERMINAL',
    })
    assert.match(slow.error, /Ready is False \(Tried\): no disk/)
    const stalled = { conditions: [{ type: 'Stalled', status: 'True', message: 'no way' }] }
    const over = await deployAndReport(platform, place, 'over', {
      status: stalled,
      ends: 'TERMINAL',
    })
    assert.match(over.error, /Stalled is True: no way/)
  },
  'objects-scenario 7, 8, 71 a resource without a controller is green unless health is strict':
    async (_, place) => {
      const free = await place.deploy([gadget('free')])
      assert.match(messagesOf(free), /No controller acts on it/)
      const strict = { strictHealth: true, stableManifestTimeoutMinutes: 0.05 }
      const { error } = await place.deploy([gadget('free')], strict, 'TERMINAL')
      assert.match(error, /No controller acts on it|time/i)
      const view = await place.manifest(`Gadget.${group} free`)
      assert.match(String(objectsOf(view['warnings'])[0]?.['message']), /No controller acts/)
      assert.ok(messagesOf(free).includes(String(fieldAt(view, 'health', 'sentence'))))
    },
  'objects-scenario 10 a held deletion names the finalizer': async ({ plane }, place) => {
    await place.deploy([gadget('held', {}, { finalizers: ['health.test/hold'] })])
    const name = `gadgets.${group}/held`
    await plane.kubectl('delete', name, '-n', place.namespace, '--wait=false')
    const view = await place.manifestUntil(`Gadget.${group} held`, (body) =>
      /finalizer/.test(String(fieldAt(body, 'health', 'sentence'))),
    )
    assert.equal(stateOf(view), 'terminating')
    assert.match(String(fieldAt(view, 'health', 'sentence')), /finalizer health\.test\/hold/)
    const patch = '{"metadata":{"finalizers":null}}'
    await plane.kubectl('patch', name, '-n', place.namespace, '--type=merge', '-p', patch)
  },
  'objects-scenario 13 the account judges a kind': async (platform, place) => {
    const fields = { account: 'k8s-rules' }
    const status = { phase: 'Broken' }
    const { error } = await deployAndReport(platform, place, 'judged', {
      ...{ status, ends: 'TERMINAL', fields },
    })
    assert.match(error, /the phase is Broken/)
  },
  'objects-scenario 13 the application and the object judge before the account': async (
    platform,
    place,
  ) => {
    const { run, plane } = platform
    const health = [{ group, kind: 'Gadget', suspended: 'spec.color == "grey"' }]
    const application = { name: 'greys', email: 'team@example.test', health }
    await run({ type: 'createApplication', application })
    await place.deploy([gadget('one', { color: 'grey' })], { moniker: { app: 'greys' } })
    const [name, inPlace] = ['Gadget.health.test one', ['-n', place.namespace]]
    const isIn = (state: string) => (view: JsonObject) => stateOf(view) === state
    await place.manifestUntil(name, isIn('suspended'))
    const rule = JSON.stringify({ failed: 'spec.color == "grey"' })
    await plane.kubectl(
      'annotate',
      `gadget.${group}/one`,
      `health.fairlead.io/rule=${rule}`,
      ...inPlace,
    )
    await place.manifestUntil(name, isIn('failed'))
  },
  'objects-scenario 47 a load balancer without controller is green': async (_, place) => {
    const balancer = service('edge', { app: 'web' })
    const spec = { ...(balancer['spec'] as JsonObject), type: 'LoadBalancer' }
    const ended = await place.deploy([{ ...balancer, spec }])
    assert.match(messagesOf(ended), /No controller assigned an address/)
  },
  'objects-scenario 50 a claim that waits for its pod does not hold it up': async (
    { plane },
    place,
  ) => {
    const name = `lazy-${place.namespace}`
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'disk' },
      spec: {
        storageClassName: name,
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
      },
    }
    const lazy = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name, namespace: null },
      provisioner: 'example.test/none',
      volumeBindingMode: 'WaitForFirstConsumer',
    }
    await place.deploy([lazy, claim, deployment('web', 'app:1', 1)])
    const view = await place.manifest('persistentVolumeClaim disk')
    assert.match(String(fieldAt(view, 'health', 'sentence')), /first pod/)
    await plane.kubectl('delete', 'storageclass', name)
  },
  'objects-scenario 19 a quota is named': async ({ api }, place) => {
    const hard = { pods: '0' }
    const metadata = { name: 'small' }
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard } }
    await api.create(place.path('resourcequotas'), quota)
    const status = { hard, used: { pods: '0' } }
    await api.patch(place.path('resourcequotas/small/status'), { status }, 'merge')
    const { error } = await place.deploy([deployment('web', 'app:1', 1)], {}, 'TERMINAL')
    assert.match(error, /exceeded quota: small/)
  },
  'objects-scenario 95, 105 a resource drifts by its own fields, and its definition does not':
    async ({ plane, read }, place) => {
      await place.deploy([gadget('drifting', { color: 'red' }), gadget('usual')], {})
      const drift = async () =>
        (await read<JsonObject[]>('/applications/shop/drift?account=k8s'))
          .filter(({ name }) => /drifting|usual|gadgets/.test(String(name)))
          .map(({ name, fields }) => [name, fields])
      assert.deepEqual(await drift(), [])
      const patch = '{"spec":{"color":"blue","size":7}}'
      const name = `gadgets.${group}/drifting`
      await plane.kubectl('patch', name, '-n', place.namespace, '--type=merge', '-p', patch)
      assert.deepEqual(await drift(), [[`Gadget.${group} drifting`, ['spec.color']]])
    },
}

test('states on a control plane', { concurrency: 4 }, async (t) => {
  const health = { 'grace-seconds': 2, 'first-status-seconds': 4, 'unattended-seconds': 4 }
  const rules = [
    {
      ...{ group, kind: 'Gadget', failed: 'status.phase == "Broken"' },
      message: '"the phase is " + status.phase',
    },
  ]
  const platform = await startPlatform(t, {
    accounts: (kubeconfigFile) => [{ name: 'k8s-rules', kubeconfigFile, health: rules }],
    settings: { 'kubernetes.health': health, 'stages.manifests.absence-seconds': 20 },
  })
  if (platform === undefined) return
  const first = await platform.place()
  await first.deploy([definition])
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})
