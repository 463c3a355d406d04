/** Versions of deployed objects and artifacts bound in manifests, over the public paths of a gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import type { KubernetesObject } from '../../../support/kubernetes-client.ts'
import {
  configMap,
  deployment,
  replicaSet,
  secret,
  service,
} from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import {
  type Ended,
  type PipelineOptions,
  type Platform,
  startPlatform,
} from '../../../support/kubernetes-platform.ts'

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

async function configMaps(place: Place): Promise<string[]> {
  return (await place.names('configmaps')).filter((name) => name !== 'kube-root-ca.crt')
}

function created({ variables }: Ended): JsonObject | undefined {
  return objectsOf(variables['outputs.createdArtifacts'])[0]
}

/** The pod template's fields that can name a config map or a secret. */
function references(kind: 'configMap' | 'secret', name: string) {
  const named = kind === 'secret' ? { secretName: name } : { name }
  const [ref, keyRef] = [`${kind}Ref`, `${kind}KeyRef`]
  return {
    container: {
      envFrom: [{ [ref]: { name } }],
      env: [{ name: 'A', valueFrom: { [keyRef]: { name, key: 'a' } } }],
      volumeMounts: [
        { name: 'plain', mountPath: '/plain' },
        { name: 'projected', mountPath: '/projected' },
      ],
    },
    pod: {
      volumes: [
        { name: 'plain', [kind]: named },
        { name: 'projected', projected: { sources: [{ [kind]: { name } }] } },
      ],
    },
  }
}

function referencedNames({ spec }: KubernetesObject, kind: 'configMap' | 'secret'): unknown[] {
  const pod = fieldAt(spec, 'template', 'spec')
  const [container] = objectsOf(fieldAt(pod, 'containers'))
  const [plain, projected] = objectsOf(fieldAt(pod, 'volumes'))
  return [
    fieldAt(objectsOf(container?.['envFrom'])[0], `${kind}Ref`, 'name'),
    fieldAt(objectsOf(container?.['env'])[0], 'valueFrom', `${kind}KeyRef`, 'name'),
    fieldAt(plain, kind, kind === 'secret' ? 'secretName' : 'name'),
    fieldAt(objectsOf(fieldAt(projected, 'projected', 'sources'))[0], kind, 'name'),
  ]
}

function imagesOf(pod: unknown): unknown[] {
  return [fieldAt(pod, 'initContainers'), fieldAt(pod, 'containers')]
    .flatMap(objectsOf)
    .map(({ image }) => image)
}

const image = (name: string, version: string) => ({
  type: 'docker/image',
  name,
  version,
  reference: `${name}:${version}`,
})

/** A pipeline that is started with artifacts and expects the first of them. */
function received(...artifacts: ReturnType<typeof image>[]): PipelineOptions {
  const [first] = artifacts
  const expected = {
    id: 'wanted',
    matchArtifact: { type: 'docker/image', name: first?.name, version: first?.version },
  }
  return {
    definition: { expectedArtifacts: [expected] },
    trigger: { artifacts, expectedArtifactIds: ['wanted'] },
  }
}

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'kubernetes-scenario 37: contents of a config map have versions': async (_, place) => {
    const conf = (a: string) => place.deploy([configMap('conf', { a })])
    assert.equal(created(await conf('1'))?.['reference'], 'conf-v000')
    assert.equal(created(await conf('1'))?.['version'], 'v000')
    assert.deepEqual(await configMaps(place), ['conf-v000'])
    assert.equal(created(await conf('2'))?.['reference'], 'conf-v001')
    assert.equal(created(await conf('1'))?.['reference'], 'conf-v000')
    assert.deepEqual(await configMaps(place), ['conf-v000', 'conf-v001'])
  },
  'kubernetes-scenario 38: secrets have versions and show no values': async ({ read }, place) => {
    const value = 'correct-horse-battery'
    const conf = (a: string) => place.deploy([secret('conf', { a })])
    const first = await conf(value)
    assert.equal(created(first)?.['reference'], 'conf-v000')
    assert.equal(created(await conf(value))?.['reference'], 'conf-v000')
    assert.equal(created(await conf('2'))?.['reference'], 'conf-v001')
    assert.equal(created(await conf(value))?.['reference'], 'conf-v000')
    assert.deepEqual(await place.names('secrets'), ['conf-v000', 'conf-v001'])
    const [shown] = objectsOf(first.variables['outputs.manifests'])
    assert.equal(shown?.['kind'], 'Secret')
    for (const key of ['data', 'stringData']) assert.equal(shown?.[key], undefined, key)
    assert.equal(fieldAt(shown, 'metadata', 'annotations', lastApplied), undefined)
    const said = JSON.stringify(await read(`/tasks/${first.id}`))
    for (const text of [value, Buffer.from(value).toString('base64')])
      assert.ok(!said.includes(text), text)
  },
  'kubernetes-scenario 39: each deployment of a replica set is a version': async (_, place) => {
    for (let count = 0; count < 2; count++) await place.deploy([replicaSet('api', 'app:1', 1)])
    assert.deepEqual(await place.names('replicasets'), ['api-v000', 'api-v001'])
  },
  'kubernetes-scenario 40: an annotation decides whether there are versions': async (_, place) => {
    const versioned = (value: string) => ({
      annotations: { 'strategy.spinnaker.io/versioned': value },
    })
    await place.deploy([
      configMap('conf', { a: '1' }, versioned('false')),
      service('front', { app: 'a' }, versioned('true')),
    ])
    assert.deepEqual(await configMaps(place), ['conf'])
    assert.deepEqual(await place.names('services'), ['front-v000'])
  },
  'kubernetes-scenario 41: numbers of deleted versions are not used again': async (
    { api },
    place,
  ) => {
    for (const a of ['1', '2', '3']) await place.deploy([configMap('conf', { a })])
    await api.delete(place.path('configmaps/conf-v001'))
    await place.deploy([configMap('conf', { a: '4' })])
    assert.deepEqual(await configMaps(place), ['conf-v000', 'conf-v002', 'conf-v003'])
  },
  'kubernetes-scenario 42: all references to config maps and secrets are bound': async (
    _,
    place,
  ) => {
    const manifests = [
      deployment('maps', 'app:1', 0, references('configMap', 'conf')),
      deployment('secrets', 'app:1', 0, references('secret', 'conf')),
      configMap('conf', { a: '1' }),
      secret('conf', { a: '1' }),
    ]
    await place.deploy(manifests)
    const all = Array(4).fill('conf-v000')
    assert.deepEqual(referencedNames(await place.get('deployments/maps'), 'configMap'), all)
    assert.deepEqual(referencedNames(await place.get('deployments/secrets'), 'secret'), all)
  },
  'kubernetes-scenario 43: a later stage binds what an earlier one deployed': async (
    { pipeline },
    place,
  ) => {
    const { execution } = await pipeline([
      place.stage([configMap('conf', { a: '1' })]),
      place.stage([deployment('web', 'app:1', 0, references('configMap', 'conf'))]),
    ])
    assert.equal(referencedNames(await place.get('deployments/web'), 'configMap')[0], 'conf-v000')
    const bound = objectsOf(execution.stages[1]?.outputs['outputs.boundArtifacts'])
    assert.deepEqual(
      bound.map(({ type, name, reference }) => [type, name, reference]),
      [['kubernetes/configMap', 'conf', 'conf-v000']],
    )
  },
  'kubernetes-scenario 44: an image is bound whatever its tag or digest': async (
    { pipeline },
    place,
  ) => {
    const images = ['reg.test/app', 'reg.test/app:1', `reg.test/app@sha256:${'0'.repeat(64)}`]
    const manifests = images.map((name, index) => deployment(`web-${index}`, name, 0))
    await pipeline([place.stage(manifests)], {
      trigger: { artifacts: [image('reg.test/app', '7')] },
    })
    for (const index of images.keys()) {
      const live = await place.get(`deployments/web-${index}`)
      assert.deepEqual(imagesOf(fieldAt(live.spec, 'template', 'spec')), ['reg.test/app:7'])
    }
  },
  'kubernetes-scenario 45: images with a port and those of plain pods are bound': async (
    { pipeline },
    place,
  ) => {
    const pod = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'lone' } },
      spec: {
        initContainers: [{ name: 'first', image: 'reg.test/app:1' }],
        containers: [{ name: 'main', image: 'reg.test/app:1' }],
      },
    }
    const artifacts = [image('reg.test/app', '7'), image('host.test:5000/app', '8')]
    await pipeline([place.stage([deployment('web', 'host.test:5000/app', 0), pod])], {
      trigger: { artifacts },
    })
    const web = await place.get('deployments/web')
    assert.deepEqual(imagesOf(fieldAt(web.spec, 'template', 'spec')), ['host.test:5000/app:8'])
    assert.deepEqual(imagesOf((await place.get('pods/lone-v000')).spec), [
      'reg.test/app:7',
      'reg.test/app:7',
    ])
  },
  'kubernetes-scenario 46: a required artifact that no manifest uses fails': async (
    { pipeline },
    place,
  ) => {
    const stage = place.stage([configMap('conf', { a: '1' }), deployment('web')], {
      requiredArtifactIds: ['wanted'],
    })
    const { error } = await pipeline([stage], received(image('reg.test/other', '7')), 'TERMINAL')
    assert.match(error, /reg\.test\/other/)
    assert.deepEqual(await configMaps(place), [])
    assert.deepEqual(await place.names('deployments'), [])
  },
  'kubernetes-scenario 47: a required artifact wins over others of its name': async (
    { pipeline },
    place,
  ) => {
    for (const [name, artifacts] of [
      ['one', [image('reg.test/app', '7'), image('reg.test/app', '8')]],
      ['other', [image('reg.test/app', '8'), image('reg.test/app', '7')]],
    ] as const) {
      const stage = place.stage([deployment(name, 'reg.test/app', 0)], {
        requiredArtifactIds: ['wanted'],
      })
      await pipeline([stage], {
        ...received(...artifacts),
        trigger: { artifacts: artifacts.toReversed(), expectedArtifactIds: ['wanted'] },
      })
      const { spec } = await place.get(`deployments/${name}`)
      assert.deepEqual(imagesOf(fieldAt(spec, 'template', 'spec')), [artifacts[0].reference])
    }
  },
  'kubernetes-scenario 48: an autoscaler follows the version of its replica set': async (
    _,
    place,
  ) => {
    const scaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'api' },
      spec: {
        maxReplicas: 2,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'api' },
      },
    }
    await place.deploy([scaler, replicaSet('api', 'app:1', 1)])
    const live = await place.get('horizontalpodautoscalers/api')
    assert.equal(fieldAt(live.spec, 'scaleTargetRef', 'name'), 'api-v000')
  },
  'kubernetes-scenario 49: a version history is cut after a deployment': async (_, place) => {
    const metadata = { annotations: { 'strategy.spinnaker.io/max-version-history': '2' } }
    for (const a of ['1', '2', '3']) {
      const { execution } = await place.deploy([configMap('conf', { a }, metadata)])
      const steps = execution.stages.flatMap(({ tasks }) => tasks.map(({ name }) => name))
      assert.ok(steps.includes('cleanupArtifacts'), steps.join())
    }
    assert.deepEqual(await configMaps(place), ['conf-v001', 'conf-v002'])
  },
  'kubernetes-scenario 50: an edited version becomes the next version': async (_, place) => {
    await place.deploy([configMap('conf', { a: '1' })])
    const { metadata } = await place.get('configmaps/conf-v000')
    const edited = {
      ...(JSON.parse(metadata.annotations?.[lastApplied] ?? '') as JsonObject),
      data: { a: '2' },
    }
    await place.deploy([edited])
    assert.deepEqual(await configMaps(place), ['conf-v000', 'conf-v001'])
    const next = await place.get('configmaps/conf-v001')
    assert.equal(next.metadata.annotations?.['artifact.spinnaker.io/version'], 'v001')
    assert.equal(next.metadata.annotations?.['moniker.spinnaker.io/sequence'], '1')
  },
}

test('versions and artifacts of manifests', { concurrency: 4 }, async (t) => {
  // No controller scales here.
  const platform = await startPlatform(t, {
    settings: { 'kubernetes.health': { 'unattended-seconds': 2 } },
  })
  if (platform === undefined) return
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})
