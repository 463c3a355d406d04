/** Stages that work on every cloud provider, on the replica sets of a cluster, over the public paths of a gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import { type Kayenta, startKayenta } from '../../../support/kayenta.ts'
import { deployment, replicaSet, service } from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'
import { waitUntil } from '../../../support/wait-until.ts'

function cluster({ namespace }: Place, fields: JsonObject = {}): JsonObject {
  const where = {
    account: 'k8s',
    credentials: 'k8s',
    cloudProvider: 'kubernetes',
    region: namespace,
  }
  return { ...where, application: 'shop', stack: 'main', ...fields }
}

/** The first version, which has traffic. */
async function withFirst({ pipeline }: Platform, place: Place, replicas = 1): Promise<void> {
  await place.deploy([service('front', { lb: 'front' })])
  const manifest = replicaSet('shop-main', 'app:1', replicas)
  await pipeline([
    { type: 'deploy', clusters: [cluster(place, { manifest, loadBalancers: ['service front'] })] },
  ])
}

/** Names of the server groups, the disabled ones in brackets. */
async function groupsOf({ read }: Platform, { namespace }: Place): Promise<string[]> {
  const groups = await read<JsonObject[]>('/applications/shop/serverGroups')
  return groups
    .filter(({ account, region }) => account === 'k8s' && region === namespace)
    .map(({ name, isDisabled }) =>
      (isDisabled === true ? `(${name})` : String(name)).replace('replicaSet ', ''),
    )
    .sort((one, other) => (one.replace('(', '') < other.replace('(', '') ? -1 : 1))
}

async function imageOf(place: Place, name: string): Promise<unknown> {
  const { spec } = await place.get(`replicasets/${name}`)
  return fieldAt(objectsOf(fieldAt(spec, 'template', 'spec', 'containers'))[0], 'image')
}

/** The stages wait for pods, which the status of their replica set counts a moment later. */
async function ready(place: Place, name: string, replicas: number): Promise<void> {
  const status = async () => (await place.get(`replicasets/${name}`)).status
  await waitUntil(
    async () => (await status())['readyReplicas'] === replicas,
    `${replicas} ready replicas of ${name}`,
  )
}

let kayenta: Kayenta

/** A canary of the deployment `shop-main`, whose analysis has one interval of 60 ms. */
function canary(place: Place, image: string): JsonObject {
  const member = { ...cluster(place), capacity: { desired: 1 } }
  return {
    type: 'kayentaCanary',
    analysisType: 'realTimeAutomatic',
    canaryConfig: {
      canaryConfigId: 'config-1',
      scopes: [{ scopeName: 'default' }],
      scoreThresholds: { pass: 80, marginal: 50 },
      lifetimeDuration: 'PT0.06S',
    },
    deployments: {
      baseline: { cloudProvider: 'kubernetes', account: 'k8s', cluster: 'deployment shop-main' },
      serverGroupPairs: [
        {
          control: { ...member, freeFormDetails: 'baseline' },
          experiment: { ...member, freeFormDetails: 'canary', imageId: image },
          trafficPercent: 20,
        },
      ],
    },
  }
}

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'red/black of replica sets with the stage deploy, and a rollback': async (platform, place) => {
    await withFirst(platform, place)
    const next = cluster(place, {
      imageId: 'app:2',
      strategy: 'redblack',
      loadBalancers: ['service front'],
    })
    await platform.pipeline([{ type: 'deploy', clusters: [next] }])
    assert.deepEqual(await groupsOf(platform, place), ['(shop-main-v000)', 'shop-main-v001'])
    assert.equal(await imageOf(place, 'shop-main-v001'), 'app:2')
    assert.deepEqual(
      (await place.pods({ lb: 'front' })).map(
        ({ metadata }) => metadata.ownerReferences?.[0]?.name,
      ),
      ['shop-main-v001'],
    )
    const rollback = {
      type: 'rollbackCluster',
      regions: [place.namespace],
      cluster: 'shop-main',
      targetHealthyRollbackPercentage: 100,
    }
    await platform.pipeline([
      cluster(place, {
        ...rollback,
        moniker: { app: 'shop', cluster: 'shop-main', stack: 'main' },
      }),
    ])
    assert.deepEqual(await groupsOf(platform, place), ['shop-main-v000', '(shop-main-v001)'])
  },
  'a canary of a deployment, with a share of its traffic': async (platform, place) => {
    const replicas = 8
    const labels = { app: 'shop-main' }
    await place.deploy([service('front', labels), deployment('shop-main', 'app:1', replicas)])
    await place.getUntil(
      'deployments/shop-main',
      ({ status }) => status['readyReplicas'] === replicas,
    )
    kayenta.verdicts.push({ score: 0, metrics: { latency: 'High' } })
    const { execution, error } = await platform.pipeline([canary(place, 'app:2')], {}, 'TERMINAL')
    assert.match(
      error,
      /Interval 1 of 1 has the score 0, which is not above the marginal threshold 50: latency is High/,
    )
    const shares = execution.stages.find(({ type }) => type === 'deployCanaryServerGroups')
      ?.context['kato.tasks']
    const made = objectsOf(shares).flatMap(({ resultObjects }) => objectsOf(resultObjects))
    assert.deepEqual(
      made.map(({ trafficShare }) => [
        fieldAt(trafficShare, 'by'),
        fieldAt(trafficShare, 'reached'),
        fieldAt(trafficShare, 'of'),
      ]),
      [
        ['replicas', 25, 8],
        ['replicas', 25, 8],
      ],
    )
    const scopes = fieldAt(kayenta.started.at(-1)?.body, 'scopes', 'default')
    assert.deepEqual(
      [
        fieldAt(scopes, 'controlScope', 'scope'),
        fieldAt(scopes, 'experimentScope', 'scope'),
        fieldAt(scopes, 'experimentScope', 'location'),
      ],
      ['replicaSet shop-main-baseline-v000', 'replicaSet shop-main-canary-v000', place.namespace],
    )
    const { metadata, spec } = await place.get('deployments/shop-main')
    assert.deepEqual(
      [spec['replicas'], metadata.annotations?.['fairlead/traffic-share']],
      [replicas, undefined],
    )
    assert.equal((await place.names('replicasets')).length, 1)
  },
  'a canary in steps, which goes back by itself': async (platform, place) => {
    await withFirst(platform, place, 5)
    const steps = [
      { percent: 20 },
      { checks: [{ type: 'logs', pattern: 'never', seconds: 1, intervalSeconds: 1 }] },
    ]
    const next = (canary: JsonObject) =>
      cluster(place, {
        imageId: 'app:2',
        loadBalancers: ['service front'],
        strategy: 'canary',
        capacity: { desired: 5 },
        canary,
      })
    const { error } = await platform.pipeline(
      [{ type: 'deploy', clusters: [next({ steps })] }],
      {},
      'TERMINAL',
    )
    assert.match(error, /was stopped at 20 % of the traffic by step 2 of 2/)
    assert.deepEqual(await groupsOf(platform, place), ['shop-main-v000', '(shop-main-v001)'])
    assert.equal((await place.get('replicasets/shop-main-v000')).spec['replicas'], 5)

    await platform.pipeline([
      { type: 'deploy', clusters: [next({ steps: [{ percent: 20 }, { percent: 60 }] })] },
    ])
    assert.deepEqual(await groupsOf(platform, place), ['(shop-main-v000)', 'shop-main-v002'])
    const sizes = ['v000', 'v002'].map(
      async (name) => (await place.get(`replicasets/shop-main-${name}`)).spec['replicas'],
    )
    assert.deepEqual(await Promise.all(sizes), [0, 5])
    assert.equal((await place.pods({ lb: 'front' })).length, 5)
  },
  'rolling red/black, highlander and a strategy of users': async (platform, place) => {
    await withFirst(platform, place, 2)
    const next = (image: string, fields: JsonObject) => {
      const deployed = cluster(place, {
        imageId: image,
        loadBalancers: ['service front'],
        ...fields,
      })
      return platform.pipeline([{ type: 'deploy', clusters: [deployed] }])
    }
    await next('app:2', { strategy: 'rollingredblack', targetPercentages: [50, 100] })
    assert.deepEqual(await groupsOf(platform, place), ['(shop-main-v000)', 'shop-main-v001'])
    await ready(place, 'shop-main-v001', 2)
    await next('app:3', { strategy: 'highlander' })
    assert.deepEqual(await groupsOf(platform, place), ['shop-main-v002'])

    const stages = [
      {
        refId: '1',
        requisiteStageRefIds: [],
        type: 'deploy',
        name: 'Deploy',
        trafficOptions: 'enable',
      },
      {
        ...{ refId: '2', requisiteStageRefIds: ['1'], type: 'shrinkCluster', name: 'Shrink' },
        ...{ shrinkToSize: 1, allowDeleteActive: true, retainLargerOverNewer: false },
        ...{
          cloudProvider: 'kubernetes',
          credentials: '${trigger.parameters.credentials}',
          cluster: '${trigger.parameters.cluster}',
        },
        regions: ['${trigger.parameters.region}'],
      },
    ]
    const saved = await platform.ask('POST', '/strategies', {
      application: 'shop',
      name: 'mine',
      stages,
      strategy: true,
    })
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const configs = await platform.read<JsonObject[]>('/applications/shop/strategyConfigs')
    const strategyPipeline = configs.find(({ name }) => name === 'mine')?.['id']
    await next('app:4', { strategy: 'custom', strategyApplication: 'shop', strategyPipeline })
    assert.deepEqual(await groupsOf(platform, place), ['shop-main-v003'])
  },
  'a clone keeps its pods, and a cluster is disabled, scaled down and shrunk': async (
    platform,
    place,
  ) => {
    await withFirst(platform, place)
    const source = {
      account: 'k8s',
      region: place.namespace,
      asgName: 'replicaSet shop-main-v000',
      serverGroupName: 'replicaSet shop-main-v000',
    }
    await platform.run(
      cluster(place, { type: 'cloneServerGroup', source, loadBalancers: ['service front'] }),
    )
    assert.deepEqual(await groupsOf(platform, place), ['shop-main-v000', 'shop-main-v001'])
    assert.equal(await imageOf(place, 'shop-main-v001'), 'app:1')
    const on = (type: string, fields: JsonObject) =>
      platform.run(
        cluster(place, {
          type,
          cluster: 'shop-main',
          regions: [place.namespace],
          moniker: { app: 'shop', cluster: 'shop-main' },
          ...fields,
        }),
      )
    await on('disableCluster', { remainingEnabledServerGroups: 1 })
    assert.deepEqual(await groupsOf(platform, place), ['(shop-main-v000)', 'shop-main-v001'])
    await on('scaleDownCluster', { remainingFullSizeServerGroups: 1 })
    assert.equal((await place.get('replicasets/shop-main-v000')).spec['replicas'], 0)
    await on('shrinkCluster', { shrinkToSize: 1 })
    assert.deepEqual(await groupsOf(platform, place), ['shop-main-v001'])
  },
  'a cluster of a deployment goes back by its rollout': async (platform, place) => {
    for (const tag of ['1', '2']) await place.deploy([deployment('web', `app:${tag}`)])
    const moniker = { app: 'shop', cluster: 'deployment web' }
    const rollback = {
      type: 'rollbackCluster',
      cluster: 'deployment web',
      regions: [place.namespace],
      moniker,
    }
    await platform.run(cluster(place, { ...rollback, stack: undefined }))
    const { spec } = await place.get('deployments/web')
    assert.equal(
      fieldAt(objectsOf(fieldAt(spec, 'template', 'spec', 'containers'))[0], 'image'),
      'app:1',
    )
  },
  'red/black without a service has no traffic to move': async (platform, place) => {
    const manifest = replicaSet('shop-main', 'app:1', 1)
    await platform.pipeline([{ type: 'deploy', clusters: [cluster(place, { manifest })] }])
    await platform.pipeline([
      { type: 'deploy', clusters: [cluster(place, { imageId: 'app:2', strategy: 'redblack' })] },
    ])
    assert.deepEqual(await groupsOf(platform, place), ['shop-main-v000', 'shop-main-v001'])
  },
  'a deployment is promoted to another namespace, as it was deployed there, and its drift is seen':
    async (platform, place) => {
      const { pipeline, read, until, plane } = platform
      const production = await platform.place()
      const environments = [place, production].map(({ namespace }) => {
        return { name: `in-${namespace}`, accounts: ['k8s'], regions: [namespace] }
      })
      await platform.run({ type: 'updateApplication', application: { name: 'shop', environments } })
      interface Answer {
        readonly environments: readonly {
          versions: JsonObject[]
          drift: JsonObject[]
          promotion?: JsonObject
          health: JsonObject
        }[]
      }
      const list = '/applications/shop/environments'
      await place.deploy([deployment('promoted', 'app:2', 1)])
      await pipeline([production.stage([deployment('promoted', 'app:1', 2)])])
      const { environments: before } = await until<Answer>(
        list,
        (answer) => answer.environments[1]?.versions[0]?.['label'] === '1',
      )
      assert.deepEqual(before[1]?.promotion?.['images'], [{ image: 'app', from: '1', to: '2' }])

      const { execution } = await pipeline([{ type: 'promote', to: environments[1]?.name }])
      assert.deepEqual(execution.stages[0]?.outputs['promotedImages'], ['app:2'])
      const { spec } = await production.get('deployments/promoted')
      assert.equal(spec['replicas'], 2, 'as it was deployed there')
      assert.equal(
        fieldAt(objectsOf(fieldAt(spec, 'template', 'spec', 'containers'))[0], 'image'),
        'app:2',
      )
      const isPromoted = ({ environments: [, after] }: Answer) =>
        after?.versions[0]?.['label'] === '2' && after.versions.length === 1
      const promoted = (await until<Answer>(list, isPromoted)).environments[1]
      assert.deepEqual([promoted?.drift, promoted?.promotion?.['images']], [[], []])

      await plane.kubectl(
        'scale',
        'deployment/promoted',
        '--replicas=3',
        '-n',
        production.namespace,
      )
      const { environments: drifted } = await until<Answer>(
        list,
        (answer) => (answer.environments[1]?.drift.length ?? 0) > 0,
      )
      assert.match(
        String(drifted[1]?.drift[0]?.['text']),
        /has changed spec\.replicas of deployment promoted\.$/,
      )
      assert.deepEqual(drifted[0]?.drift, [])

      const again = await pipeline([{ type: 'promote', to: environments[1]?.name }])
      assert.equal(again.execution.stages[0]?.outputs['isPromoted'], false, 'it runs there already')
      assert.equal((await read<Answer>(list)).environments.length, 2)
    },
  'a replica set is resized, disabled, enabled and destroyed': async (platform, place) => {
    await withFirst(platform, place)
    const on = (type: string, fields: JsonObject = {}) =>
      platform.run(
        cluster(place, { type, serverGroupName: 'replicaSet shop-main-v000', ...fields }),
      )
    const size = (desired: number) => ({
      capacity: { min: desired, max: desired, desired },
      action: 'scale_exact',
    })
    await on('resizeServerGroup', size(3))
    await ready(place, 'shop-main-v000', 3)
    await on('disableServerGroup')
    assert.deepEqual(await groupsOf(platform, place), ['(shop-main-v000)'])
    assert.deepEqual(await place.pods({ lb: 'front' }), [])
    await on('enableServerGroup')
    assert.deepEqual(await groupsOf(platform, place), ['shop-main-v000'])
    assert.equal((await place.pods({ lb: 'front' })).length, 3)
    await on('destroyServerGroup')
    assert.deepEqual(await place.names('replicasets'), [])
    assert.deepEqual(await groupsOf(platform, place), [])
  },
}

test('neutral stages', { concurrency: 4 }, async (t) => {
  kayenta = await startKayenta(t)
  const platform = await startPlatform(t, {
    settings: { services: { kayenta: { baseUrl: kayenta.url } } },
  })
  if (platform === undefined) return
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})
