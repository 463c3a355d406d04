/** Deployments of manifests, their annotations, labels and names, over the public paths of a gateway. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { stringify } from 'yaml'
import {
  fieldAt,
  type JsonObject,
  objectOf,
  objectsOf,
} from '../../../../packages/base/json/values.ts'
import {
  clusterRole,
  configMap,
  deployment,
  job,
  namespace,
  replicaSet,
  service,
  widget,
  widgetDefinition,
} from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const unique = (prefix: string) => `${prefix}-${randomBytes(4).toString('hex')}`

function artifactOf(text: string): JsonObject {
  return {
    type: 'embedded/base64',
    name: 'manifests',
    reference: Buffer.from(text).toString('base64'),
  }
}

function fromArtifact(text: string, fields: JsonObject = {}): JsonObject {
  return {
    type: 'deployManifest',
    source: 'artifact',
    moniker: { app: 'shop' },
    manifestArtifact: artifactOf(text),
    manifestArtifactAccount: 'embedded-artifact',
    ...fields,
  }
}

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'kubernetes-scenario 11, 12, 13, 14, 29, 30: a deployment is created, reported, repeated and updated':
    async (_, place) => {
      const web = (image: string) => deployment('web', image, 2)
      const { variables } = await place.deploy([web('app:1')])
      const live = await place.get('deployments/web')
      assert.equal(live.status['readyReplicas'], 2)
      assert.deepEqual(variables['outputs.manifestNamesByNamespace'], {
        [place.namespace]: ['deployment web'],
      })
      const [manifest, ...others] = objectsOf(variables['outputs.manifests'])
      assert.deepEqual(others, [])
      assert.equal(manifest?.['kind'], 'Deployment')
      assert.equal(fieldAt(manifest, 'metadata', 'name'), 'web')
      assert.equal(fieldAt(manifest, 'metadata', 'uid'), live.metadata.uid)
      const artifact = {
        ...{
          type: 'kubernetes/deployment',
          name: 'web',
          location: place.namespace,
          version: '',
          reference: 'web',
        },
        metadata: { account: 'k8s' },
      }
      assert.deepEqual(variables['outputs.createdArtifacts'], [artifact])
      assert.deepEqual(variables['artifacts'], [artifact])

      const wanted = {
        'artifact.spinnaker.io/type': 'kubernetes/deployment',
        'artifact.spinnaker.io/name': 'web',
        'artifact.spinnaker.io/location': place.namespace,
        'artifact.spinnaker.io/version': '',
        'moniker.spinnaker.io/application': 'shop',
        'moniker.spinnaker.io/cluster': 'deployment web',
      }
      const labels = {
        'app.kubernetes.io/name': 'shop',
        'app.kubernetes.io/managed-by': 'spinnaker',
      }
      for (const metadata of [live.metadata, fieldAt(live.spec, 'template', 'metadata')]) {
        assert.partialDeepStrictEqual(metadata, { annotations: wanted, labels })
      }

      await place.deploy([web('app:1')])
      assert.equal(
        (await place.get('deployments/web')).metadata.generation,
        live.metadata.generation,
      )

      await place.deploy([web('app:2')])
      const sets = await place.list('replicasets')
      assert.equal(sets.length, 2)
      for (const { metadata } of sets)
        assert.equal(metadata.ownerReferences?.[0]?.uid, live.metadata.uid)
      const images = (await place.pods()).map(({ spec }) =>
        fieldAt(objectsOf(spec['containers'])[0], 'image'),
      )
      assert.deepEqual(images, ['app:2', 'app:2'])
    },
  'kubernetes-scenario 15: objects are created in the order of kinds': async ({ api }, place) => {
    const third = unique('n3')
    const created: { name: string; version: number }[] = []
    const end = new AbortController()
    const paths = ['configmaps', 'services', 'deployments'].map((plural) => place.path(plural))
    const watches = ['/api/v1/namespaces', ...paths].map(async (path) => {
      const { metadata } = await api.get(path)
      const ends = api.watch(
        `${path}?watch=true&resourceVersion=${metadata.resourceVersion}`,
        ({ type, object }) => {
          if (type === 'ADDED')
            created.push({
              name: object.metadata.name,
              version: Number(object.metadata.resourceVersion),
            })
        },
        end.signal,
      )
      return ends.catch(() => {})
    })
    await place.deploy([
      deployment('web'),
      service('front', { app: 'web' }),
      configMap('conf', { a: '1' }),
      namespace(third),
    ])
    const wanted = [third, 'conf-v000', 'front', 'web']
    await waitUntil(
      () => wanted.every((name) => created.some((each) => each.name === name)),
      'the watches',
    )
    end.abort()
    await Promise.all(watches)
    const seen = created
      .filter(({ name }) => wanted.includes(name))
      .sort((one, other) => one.version - other.version)
    assert.deepEqual(
      seen.map(({ name }) => name),
      wanted,
    )
    await api.delete(`/api/v1/namespaces/${third}`)
  },
  'kubernetes-scenario 16: the items of a list are deployed': async (_, place) => {
    const metadata = { namespace: place.namespace }
    const items = [
      configMap('one', { a: '1' }, metadata),
      service('front', { app: 'web' }, metadata),
    ]
    await place.deploy([{ apiVersion: 'v1', kind: 'List', items }])
    assert.ok((await place.names('configmaps')).includes('one-v000'))
    assert.deepEqual(await place.names('services'), ['front'])
  },
  'kubernetes-scenario 17: an override moves only what has namespaces': async (
    { api, plane },
    place,
  ) => {
    const second = await plane.namespace()
    const name = unique('reader')
    await place.deploy([deployment('web'), clusterRole(name)], { namespaceOverride: second })
    assert.equal(await place.find('deployments/web'), undefined)
    await api.get(`/apis/apps/v1/namespaces/${second}/deployments/web`)
    const live = await api.get(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`)
    assert.equal(live.metadata.namespace, undefined)
    assert.equal(live.metadata.annotations?.['artifact.spinnaker.io/location'], '')
  },
  'kubernetes-scenario 18: a manifest without namespace is in default': async ({ api }, place) => {
    const name = unique('web')
    await place.deploy([service(name, { app: 'web' }, { namespace: null })])
    const path = `/api/v1/namespaces/default/services/${name}`
    const live = await api.get(path)
    assert.equal(live.metadata.annotations?.['artifact.spinnaker.io/location'], 'default')
    await api.delete(path)
  },
  'kubernetes-scenario 19: namespaces outside of the account are refused': async (
    { api, one },
    place,
  ) => {
    const elsewhere = await place.deploy([deployment('web')], { account: 'k8s-one' }, 'TERMINAL')
    assert.match(elsewhere.error, /wrongNamespace/)
    assert.equal(await place.find('deployments/web'), undefined)
    const name = unique('conf')
    const metadata = { namespace: 'kube-system' }
    const omitted = await place.deploy([configMap(name, {}, metadata)], {}, 'TERMINAL')
    assert.match(omitted.error, /omittedNamespace/)
    assert.equal(
      await api.find(`/api/v1/namespaces/kube-system/configmaps/${name}-v000`),
      undefined,
    )
    await place.deploy([configMap(name, {}, { namespace: one })], { account: 'k8s-one' })
  },
  'kubernetes-scenario 20: a failure names object and reason, and keeps what was applied': async (
    _,
    place,
  ) => {
    const { error } = await place.deploy(
      [
        configMap('conf', { a: '1' }),
        deployment('web', 'app:1', undefined, { spec: { replicas: 'x' } }),
      ],
      {},
      'TERMINAL',
    )
    assert.match(error, /deployment web/)
    assert.match(error, /replicas/)
    await place.get('configmaps/conf-v000')
  },
  'kubernetes-scenario 21: nulls are ignored, and no manifests are no error': async (_, place) => {
    await place.deploy([null, configMap('conf', { a: '1' }), null])
    await place.get('configmaps/conf-v000')
    const { variables } = await place.deploy([])
    for (const key of ['outputs.manifests', 'outputs.createdArtifacts'])
      assert.deepEqual(variables[key], [], key)
    assert.deepEqual(variables['outputs.manifestNamesByNamespace'], {})
  },
  'kubernetes-scenario 22: a generated name is reported': async (_, place) => {
    const { metadata: _metadata, ...rest } = job('run', 0)
    const { variables } = await place.deploy([{ ...rest, metadata: { generateName: 'run-' } }])
    const [name = ''] = await place.names('jobs')
    assert.match(name, /^run-./)
    assert.deepEqual(variables['outputs.manifestNamesByNamespace'], {
      [place.namespace]: [`job ${name}`],
    })
  },
  'kubernetes-scenario 23: a definition and its custom resource are deployed together': async (
    { api },
    place,
  ) => {
    const { variables } = await place.deploy([widget('wheel', { size: 3 }), widgetDefinition])
    assert.deepEqual(variables['outputs.manifestNamesByNamespace'], {
      '': ['customResourceDefinition widgets.example.test'],
      [place.namespace]: ['Widget.example.test wheel'],
    })
    await api.get('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.test')
    await place.get('widgets/wheel')
    const shown = await place.manifest('Widget.example.test wheel')
    assert.equal(fieldAt(shown, 'status', 'stable', 'state'), true)
  },
  'kubernetes-scenario 24: label selectors choose what is deployed': async (_, place) => {
    const both = [
      configMap('a', { a: '1' }, { labels: { t: 'x' } }),
      configMap('b', { a: '1' }, { labels: { t: 'y' } }),
    ]
    const selecting = (value: string) => ({
      labelSelectors: { selectors: [{ kind: 'EQUALS', key: 't', values: [value] }] },
    })
    const own = async () =>
      (await place.names('configmaps')).filter((name) => name !== 'kube-root-ca.crt')
    const { variables } = await place.deploy(both, selecting('x'))
    assert.deepEqual(await own(), ['a-v000'])
    assert.deepEqual(
      objectsOf(variables['outputs.createdArtifacts']).map(({ reference }) => reference),
      ['a-v000'],
    )
    const { error } = await place.deploy(both, selecting('z'), 'TERMINAL')
    assert.match(error, /labelSelectors/)
    await place.deploy(both, { ...selecting('z'), allowNothingSelected: true })
    assert.deepEqual(await own(), ['a-v000'])
  },
  'kubernetes-scenario 25: manifests come from an artifact': async ({ pipeline }, place) => {
    const metadata = { namespace: place.namespace }
    const text = [
      configMap('one', { a: '1' }, metadata),
      service('front', { app: 'web' }, metadata),
    ]
      .map((document) => stringify(document))
      .join('---\n')
    await pipeline([fromArtifact(text)])
    await place.get('configmaps/one-v000')
    await place.get('services/front')
    const expected = {
      id: 'manifests',
      matchArtifact: { type: 'embedded/base64', name: 'manifests' },
    }
    const later = artifactOf(stringify(configMap('later', { a: '1' }, metadata)))
    const { manifestArtifact: _artifact, ...stage } = fromArtifact('')
    await pipeline([{ ...stage, manifestArtifactId: 'manifests' }], {
      definition: { expectedArtifacts: [expected] },
      trigger: { artifacts: [later], expectedArtifactIds: ['manifests'] },
    })
    await place.get('configmaps/later-v000')
  },
  'kubernetes-scenario 26: expressions in an artifact are evaluated unless switched off': async (
    { pipeline },
    place,
  ) => {
    const conf = (name: string) =>
      stringify(configMap(name, { color: '${ parameters.color }' }, { namespace: place.namespace }))
    const more = {
      definition: { parameterConfig: [{ name: 'color', required: true }] },
      trigger: { parameters: { color: 'blue' } },
    }
    await pipeline(
      [
        fromArtifact(conf('evaluated')),
        fromArtifact(conf('literal'), { skipExpressionEvaluation: true }),
      ],
      more,
    )
    assert.deepEqual((await place.get('configmaps/evaluated-v000'))['data'], { color: 'blue' })
    assert.deepEqual((await place.get('configmaps/literal-v000'))['data'], {
      color: '${ parameters.color }',
    })
  },
  'kubernetes-scenario 27: a missing manifest artifact is named': async ({ pipeline }) => {
    const { manifestArtifact: _artifact, ...stage } = fromArtifact('')
    const { error } = await pipeline([stage], {}, 'TERMINAL')
    assert.match(error, /manifest artifact/i)
  },
  'kubernetes-scenario 28: a stage with noOutput has no outputs': async ({ pipeline }, place) => {
    const { execution } = await pipeline([
      place.stage([configMap('conf', { a: '1' })], { noOutput: true }),
      place.stage([configMap('conf', { a: '1' })]),
    ])
    const [silent, usual] = execution.stages
    assert.deepEqual(silent?.outputs, {})
    assert.notDeepEqual(usual?.outputs, {})
  },
  'kubernetes-scenario 31: annotations and labels of the manifest stay': async (
    { until },
    place,
  ) => {
    const metadata = {
      annotations: { 'moniker.spinnaker.io/cluster': 'custom' },
      labels: { 'app.kubernetes.io/name': 'mine' },
    }
    await place.deploy([deployment('web', 'app:1', 1, { metadata })])
    const live = await place.get('deployments/web')
    assert.equal(live.metadata.annotations?.['moniker.spinnaker.io/cluster'], 'custom')
    assert.equal(live.metadata.labels?.['app.kubernetes.io/name'], 'mine')
    await until(
      '/applications/shop/clusters',
      ({ k8s }) => Array.isArray(k8s) && k8s.includes('custom'),
    )
  },
  'kubernetes-scenario 32: labels of the pod template can be left out': async (_, place) => {
    await place.deploy([deployment('web')], { skipSpecTemplateLabels: true })
    const { metadata, spec } = await place.get('deployments/web')
    assert.equal(metadata.labels?.['app.kubernetes.io/managed-by'], 'spinnaker')
    assert.deepEqual(fieldAt(spec, 'template', 'metadata', 'labels'), { app: 'web' })
  },
  'kubernetes-scenario 33: a replica set has a version': async (_, place) => {
    await place.deploy([replicaSet('api', 'app:1', 1)])
    const { metadata } = await place.get('replicasets/api-v000')
    assert.equal(metadata.labels?.['moniker.spinnaker.io/sequence'], '0')
    assert.partialDeepStrictEqual(objectOf(metadata.annotations), {
      'moniker.spinnaker.io/sequence': '0',
      'moniker.spinnaker.io/cluster': 'replicaSet api',
      'artifact.spinnaker.io/version': 'v000',
    })
  },
}

test('manifests are deployed', { concurrency: 4 }, async (t) => {
  const platform = await startPlatform(t)
  if (platform === undefined) return
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})
