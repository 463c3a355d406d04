/** Operations on single objects of a cluster, over the public paths of a gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import {
  configMap,
  deployment,
  replicaSet,
  service,
  widget,
  widgetDefinition,
} from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'

const web = 'deployment web'

async function imageOf(place: Place): Promise<unknown> {
  const { spec } = await place.get('deployments/web')
  return fieldAt(objectsOf(fieldAt(spec, 'template', 'spec', 'containers'))[0], 'image')
}

function patch(patchBody: unknown, options: JsonObject = {}): JsonObject {
  return {
    source: 'text',
    patchBody,
    options: { mergeStrategy: 'strategic', record: true, ...options },
  }
}

function byLabels(kinds: readonly string[], ...selectors: JsonObject[]): JsonObject {
  return { kinds, labelSelectors: { selectors }, manifestName: undefined }
}

async function configMaps(place: Place): Promise<string[]> {
  return (await place.names('configmaps')).filter((name) => name !== 'kube-root-ca.crt')
}

/** Two config maps with a label, and one without. */
async function withLabelled(place: Place): Promise<void> {
  const labelled = { labels: { t: 'x' } }
  await place.deploy([
    configMap('a', { a: '1' }, labelled),
    configMap('b', { a: '1' }, labelled),
    configMap('c', { a: '1' }),
  ])
}

async function removes(place: Place, options: JsonObject, isRemoved = true): Promise<void> {
  await place.deploy([deployment('web')])
  await place.change('deleteManifest', web, { options })
  assert.equal(await place.find('deployments/web'), undefined)
  const left = (await place.list('replicasets')).length
  assert.equal(left, isRemoved ? 0 : 1, JSON.stringify(options))
}

/** The version that goes, by criterion; versions have 3, 1 and 2 replicas. */
const criteria: Readonly<Record<string, string>> = {
  newest: 'v002',
  second_newest: 'v001',
  oldest: 'v000',
  largest: 'v000',
  smallest: 'v001',
}

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'kubernetes-scenario 76: a deployment is scaled, and what has no replicas is not': async (
    _,
    place,
  ) => {
    await place.deploy([deployment('web', 'app:1', 2), service('front', { app: 'web' })])
    await place.change('scaleManifest', web, { replicas: 3 })
    assert.equal((await place.get('deployments/web')).status['readyReplicas'], 3)
    await place.change('scaleManifest', web, { replicas: '1' })
    assert.equal((await place.get('deployments/web')).spec['replicas'], 1)
    const refused = await place.change(
      'scaleManifest',
      'service front',
      { replicas: 1 },
      'TERMINAL',
    )
    assert.match(refused.error, /scale .*service front.* not supported/)
    const missing = await place.change(
      'scaleManifest',
      'deployment none',
      { replicas: 1 },
      'TERMINAL',
    )
    assert.match(missing.error, /deployment none .*does not exist/)
  },
  'kubernetes-scenario 77: a rollout goes back to a revision or by a number': async (_, place) => {
    for (const tag of ['1', '2', '3']) await place.deploy([deployment('web', `app:${tag}`)])
    await place.change('undoRolloutManifest', web, { revision: 1 })
    assert.equal(await imageOf(place), 'app:1')
    await place.change('undoRolloutManifest', web, { numRevisionsBack: 1 })
    assert.equal(await imageOf(place), 'app:3')
    const far = await place.change('undoRolloutManifest', web, { numRevisionsBack: 9 }, 'TERMINAL')
    assert.match(far.error, /3 revisions/)
    const open = await place.change('undoRolloutManifest', web, {}, 'TERMINAL')
    assert.match(open.error, /numRevisionsBack/)
    assert.equal(await imageOf(place), 'app:3')
  },
  'kubernetes-scenario 78: a rollout is paused and resumed, also twice': async (_, place) => {
    await place.deploy([deployment('web')])
    for (let count = 0; count < 2; count++) await place.change('pauseRolloutManifest', web)
    assert.equal((await place.get('deployments/web')).spec['paused'], true)
    await place.manifestUntil(web, (body) => fieldAt(body, 'status', 'paused', 'state') === true)
    for (let count = 0; count < 2; count++) await place.change('resumeRolloutManifest', web)
    const { status } = await place.manifest(web)
    assert.equal(fieldAt(status, 'paused', 'state'), false)
    assert.equal(fieldAt(status, 'stable', 'state'), true)
  },
  'kubernetes-scenario 79: a restart makes new pods, unless the rollout is paused': async (
    _,
    place,
  ) => {
    await place.deploy([deployment('web')])
    const [before] = await place.pods()
    await place.change('rollingRestartManifest', web)
    const { spec } = await place.get('deployments/web')
    const restartedAt = fieldAt(
      spec,
      'template',
      'metadata',
      'annotations',
      'kubectl.kubernetes.io/restartedAt',
    )
    assert.ok(!Number.isNaN(Date.parse(String(restartedAt))), String(restartedAt))
    await place.manifestUntil(web, (body) => fieldAt(body, 'status', 'stable', 'state') === true)
    assert.ok(!(await place.pods()).some(({ metadata }) => metadata.uid === before?.metadata.uid))
    await place.change('pauseRolloutManifest', web)
    const { error } = await place.change('rollingRestartManifest', web, {}, 'TERMINAL')
    assert.match(error, /paused/)
  },
  'kubernetes-scenario 80: a strategic patch changes what it names': async (_, place) => {
    const second = { name: 'side', image: 'app:2' }
    const containers = [{ name: 'main', image: 'app:1', env: [{ name: 'A', value: '1' }] }, second]
    await place.deploy([deployment('web', 'app:1', 1, { pod: { containers } })])
    const body = [
      { spec: { template: { spec: { containers: [{ name: 'main', image: 'app:9' }] } } } },
    ]
    const { variables } = await place.change('patchManifest', web, patch(body))
    const live = await place.get('deployments/web')
    const [main, side] = objectsOf(fieldAt(live.spec, 'template', 'spec', 'containers'))
    assert.partialDeepStrictEqual(main, {
      name: 'main',
      image: 'app:9',
      env: [{ name: 'A', value: '1' }],
    })
    assert.partialDeepStrictEqual(side, second)
    assert.ok(live.metadata.annotations?.['kubernetes.io/change-cause'])
    const [patched] = objectsOf(variables['outputs.manifests'])
    assert.equal(patched?.['apiVersion'], 'apps/v1')
    assert.equal(fieldAt(patched, 'metadata', 'uid'), live.metadata.uid)
  },
  'kubernetes-scenario 81: merge and JSON patches are applied': async (_, place) => {
    await place.deploy([deployment('web')])
    await place.change(
      'patchManifest',
      web,
      patch([{ metadata: { labels: { x: '1' } } }], { mergeStrategy: 'merge' }),
    )
    const steps = [{ op: 'add', path: '/metadata/labels/y', value: '2' }]
    await place.change('patchManifest', web, patch(steps, { mergeStrategy: 'json' }))
    await place.change(
      'patchManifest',
      web,
      patch([{ metadata: { labels: { x: '1' } } }], { mergeStrategy: 'merge' }),
    )
    assert.partialDeepStrictEqual((await place.get('deployments/web')).metadata.labels, {
      app: 'web',
      x: '1',
      y: '2',
    })
  },
  'kubernetes-scenario 82: patches that cannot work fail': async (_, place) => {
    await place.deploy([deployment('web'), widgetDefinition, widget('wheel', { size: 3 })])
    const two = await place.change(
      'patchManifest',
      web,
      patch([{ metadata: {} }, { metadata: {} }]),
      'TERMINAL',
    )
    assert.match(two.error, /2 objects/)
    await place.change('patchManifest', web, patch(undefined), 'TERMINAL')
    await place.change('patchManifest', web, patch([]), 'TERMINAL')
    const name = 'Widget.example.test wheel'
    const custom = await place.change(
      'patchManifest',
      name,
      patch([{ spec: { size: 4 } }]),
      'TERMINAL',
    )
    assert.match(custom.error, /wheel/)
    await place.change(
      'patchManifest',
      name,
      patch([{ spec: { size: 4 } }], { mergeStrategy: 'merge' }),
    )
    assert.deepEqual((await place.get('widgets/wheel')).spec, { size: 4 })
  },
  'kubernetes-scenario 83: a required artifact is bound in a patch': async (
    { pipeline },
    place,
  ) => {
    await place.deploy([deployment('web')])
    const stage = (image: string) => ({
      type: 'patchManifest',
      ...{ manifestName: web, location: place.namespace, requiredArtifactIds: ['wanted'] },
      ...patch([{ spec: { template: { spec: { containers: [{ name: 'main', image }] } } } }]),
    })
    const matchArtifact = { type: 'docker/image', name: 'reg.test/app' }
    const received = {
      definition: { expectedArtifacts: [{ id: 'wanted', matchArtifact }] },
      trigger: {
        artifacts: [{ ...matchArtifact, reference: 'reg.test/app:7' }],
        expectedArtifactIds: ['wanted'],
      },
    }
    await pipeline([stage('reg.test/app')], received)
    assert.equal(await imageOf(place), 'reg.test/app:7')
    const { error } = await pipeline([stage('reg.test/other')], received, 'TERMINAL')
    assert.match(error, /reg\.test\/app/)
    assert.equal(await imageOf(place), 'reg.test/app:7')
  },
  'kubernetes-scenario 84: a deleted deployment is gone with what it owns': async (_, place) => {
    await place.deploy([deployment('web', 'app:1', 2)])
    await place.change('deleteManifest', web, { options: { cascading: true } })
    for (const plural of ['deployments', 'replicasets', 'pods'])
      assert.deepEqual(await place.names(plural), [], plural)
    await place.change('deleteManifest', web, { options: { cascading: true } })
  },
  'kubernetes-scenario 85, 86: options decide about what a deployment owns': async (
    { place: newPlace },
    place,
  ) => {
    await Promise.all([
      removes(place, { cascading: false }, false),
      newPlace().then((other) => removes(other, { cascading: 'foreground' })),
      newPlace().then((other) => removes(other, { orphanDependants: true }, false)),
    ])
    await place.deploy([deployment('web')])
    const { error } = await place.change(
      'deleteManifest',
      web,
      { options: { cascading: 'sideways' } },
      'TERMINAL',
    )
    assert.match(error, /sideways/)
    await place.get('deployments/web')
  },
  'kubernetes-scenario 87: a period of grace is a number, a text or null': async (_, place) => {
    for (const gracePeriodSeconds of [null, '5']) {
      await place.deploy([configMap('conf', { a: '1' })])
      await place.change('deleteManifest', 'configMap conf-v000', {
        options: { cascading: true, gracePeriodSeconds },
      })
      assert.deepEqual(await configMaps(place), [])
    }
  },
  'kubernetes-scenario 88, 89: labels select what is deleted, and never everything': async (
    _,
    place,
  ) => {
    await withLabelled(place)
    for (const selectors of [[], [{ kind: 'ANY' }]]) {
      const { error } = await place.change(
        'deleteManifest',
        '',
        byLabels(['configMap'], ...selectors),
        'TERMINAL',
      )
      assert.match(error, /labelSelectors/)
    }
    assert.deepEqual(await configMaps(place), ['a-v000', 'b-v000', 'c-v000'])
    const selector = { kind: 'EQUALS', key: 't', values: ['x'] }
    const { variables } = await place.change(
      'deleteManifest',
      '',
      byLabels(['configMap'], selector),
    )
    assert.deepEqual(await configMaps(place), ['c-v000'])
    const names = fieldAt(variables['outputs.manifestNamesByNamespace'], place.namespace)
    assert.deepEqual((names as string[]).toSorted(), ['configMap a-v000', 'configMap b-v000'])
  },
  'kubernetes-scenario 90, 91: a criterion chooses the version': async ({ pipeline }, place) => {
    const clusters = Object.keys(criteria).map((criterion) => criterion.replace('_', '-'))
    for (const replicas of [3, 1, 2])
      await place.deploy(clusters.map((cluster) => replicaSet(cluster, 'app:1', replicas)))
    const before = await place.names('replicasets')
    const stages = Object.keys(criteria).map((criterion, index) => ({
      ...{
        type: 'deleteManifest',
        mode: 'dynamic',
        kind: 'replicaSet',
        app: 'shop',
        location: place.namespace,
      },
      ...{
        cluster: `replicaSet ${clusters[index]}`,
        criteria: criterion,
        options: { cascading: true },
      },
    }))
    const { execution } = await pipeline(stages)
    const wanted = Object.values(criteria).map((version, index) => `${clusters[index]}-${version}`)
    const after = await place.names('replicasets')
    assert.deepEqual(before.filter((name) => !after.includes(name)).sort(), wanted.toSorted())
    assert.deepEqual(
      execution.stages.map(({ context }) => context['manifestName']),
      wanted.map((name) => `replicaSet ${name}`),
    )
    const { error } = await pipeline([{ ...stages[0], cluster: 'replicaSet none' }], {}, 'TERMINAL')
    assert.match(error, /replicaSet none/)
  },
  'kubernetes-scenario 92: undo and restart work on a chosen object': async (
    { pipeline },
    place,
  ) => {
    for (const tag of ['1', '2']) await place.deploy([deployment('web', `app:${tag}`)])
    const target = {
      ...{
        mode: 'dynamic',
        kind: 'deployment',
        cluster: web,
        criteria: 'newest',
        app: 'shop',
        location: place.namespace,
      },
    }
    await pipeline([
      { type: 'undoRolloutManifest', ...target, numRevisionsBack: 1 },
      { type: 'rollingRestartManifest', ...target },
    ])
    assert.equal(await imageOf(place), 'app:1')
    const { spec } = await place.get('deployments/web')
    assert.ok(
      fieldAt(spec, 'template', 'metadata', 'annotations', 'kubectl.kubernetes.io/restartedAt'),
    )
  },
  'kubernetes-scenario 93: a name without its kind is refused with an example': async (
    _,
    place,
  ) => {
    const { error } = await place.change('deleteManifest', 'web', {}, 'TERMINAL')
    assert.match(error, /deployment web/)
  },
}

test('objects of a cluster are changed', { concurrency: 4 }, async (t) => {
  const platform = await startPlatform(t)
  if (platform === undefined) return
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})
