/** Versions in environments: their order, how they differ, and what brings a version from one to the next. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  differenceOf,
  environmentOf,
  toDeclared,
  toDeployed,
  wayOf,
} from '../../console/src/model/deployments.ts'
import {
  artifactsFor,
  pipelinesThatDeploy,
  whyNoImage,
} from '../../console/src/model/infrastructure.ts'
import { deploymentsOf, toEnvironments } from '../../console/src/model/run-deployments.ts'
import { imageLabelOf } from '../../packages/model/environments/images.ts'
import { inOrder } from '../../packages/model/environments/order.ts'
import { runningOf, toGroup } from '../../packages/model/environments/running.ts'

const accounts = ['prod', 'stage', 'test'].map((name) => ({
  name,
  type: 'local',
  authorized: true,
  environment: `${name}-1`,
}))
const environments = toEnvironments(accounts)

function deploying(name: string, ...to: readonly string[]) {
  const stages = to.map((account) => ({
    type: 'deploy',
    clusters: [{ account, imageId: 'web:${parameters.version}' }],
  }))
  return { id: name, name, application: 'web', stages }
}

test('environments stand in the order of promotion, else by the meaning of their names', () => {
  const names = [...environments.values()]
  const ways = (...pipelines: readonly Parameters<typeof wayOf>[0][]) =>
    pipelines.map((each) => wayOf(each, environments))
  assert.deepEqual(inOrder(names, []), ['test-1', 'stage-1', 'prod-1'])
  assert.deepEqual(inOrder(names, ways(deploying('odd', 'prod', 'test'))), [
    'prod-1',
    'test-1',
    'stage-1',
  ])
  const bothWays = [deploying('odd', 'prod', 'test'), deploying('usual', 'test', 'prod')]
  assert.deepEqual(inOrder(names, ways(...bothWays)), ['test-1', 'stage-1', 'prod-1'])
  const declared = [['stage-1', 'edge', 'test-1']]
  assert.deepEqual(inOrder([...names, 'edge'], declared), ['stage-1', 'edge', 'test-1', 'prod-1'])
})

test('an application has the environments that it declares, and those of accounts for the rest', () => {
  const eu = { name: 'eu', accounts: ['prod'], regions: ['r'], clusters: ['web-prod'] }
  const web = { name: 'WEB', environments: [{ name: 'lab', accounts: ['test'] }, eu] }
  const { declared, claimed } = toDeclared([web, { name: 'OTHER', accounts: 'test,stage' }])
  const nameOf = (account: string) =>
    environmentOf(group(account, '1', 100), declared, environments)
  assert.deepEqual(['test', 'stage', 'prod'].map(nameOf), ['lab', 'stage-1', 'eu'])
  assert.deepEqual([[...declared.keys()], [...claimed]], [['web'], ['prod']])
  const reaching = { ...deploying('release', 'prod'), application: 'other' }
  assert.deepEqual(
    [...toDeclared([web, { name: 'OTHER' }], [reaching, deploying('own', 'test')]).claimed],
    ['test'],
  )
})

test('a version is the tag, the digest or the name of an image', () => {
  const images = [
    'web:2.4.0',
    'registry:5000/shop/web:1@sha256:abc',
    'shop/web@sha256:0123456789ab',
    'ami-1',
  ]
  assert.deepEqual(images.map(imageLabelOf), ['2.4.0', '1', '01234567', 'ami-1'])
})

function group(account: string, version: string, createdTime: number, isDisabled = false) {
  const instanceCounts = { total: 2, up: 2 }
  const name = `web-${account}-v00${createdTime}`
  return {
    name,
    account,
    region: 'r',
    application: 'web',
    createdTime,
    isDisabled,
    instanceCounts,
    buildInfo: { images: [`web:${version}`] },
  }
}

test('a version is behind by as many as came after it', () => {
  const found = toDeployed(
    [
      group('test', '3', 3),
      group('test', '2', 2, true),
      group('test', '1', 1, true),
      group('stage', '1', 4),
      group('prod', '9', 5),
    ],
    (each) => environmentOf(each, new Map(), environments),
  ).get('web')
  const [testing, stage, prod] = ['test-1', 'stage-1', 'prod-1'].map((name) => found?.get(name))
  assert.ok(testing && stage && prod)
  assert.deepEqual([testing.versions, testing.up, testing.total], [['3'], 2, 2])
  assert.equal(differenceOf(stage, testing), 'behind test-1 by 2 versions')
  assert.equal(differenceOf(prod, testing), 'differs from test-1')
  assert.equal(differenceOf(testing, testing), undefined)
})

test('a version that never came up is no history, and a rollback says from what', () => {
  const kept = (
    version: string,
    at: number,
    since: number | null | undefined,
    isDisabled: boolean,
    more: object = {},
  ) => ({
    ...{ ...group('prod', version, at, isDisabled), ...more },
    ...(since !== undefined && { servingSinceMs: since }),
  })
  const of = (...groups: ReturnType<typeof kept>[]) => {
    const { versions, history, rolledBackFrom, sinceMs } = runningOf(groups.map(toGroup))
    return [versions.map(({ label }) => label), history, rolledBackFrom, sinceMs]
  }
  const failing = { instanceCounts: { total: 2, up: 0, down: 2 } }
  const launched = { instances: [{ launchTime: 9 }, { launchTime: 8 }] }
  const sequence = (number: number) => ({ moniker: { sequence: number } })
  const cases: readonly [ReturnType<typeof of>, ReturnType<typeof of>][] = [
    [
      of(kept('1', 1, 2, true), kept('2', 3, 4, false), kept('3', 5, null, true)),
      [['2'], ['2', '1'], [], 4],
    ],
    [
      of(kept('1', 1, 7, false), kept('2', 3, 4, true), kept('3', 5, null, true)),
      [['1'], ['2', '1'], ['2'], 7],
    ],
    [of(kept('1', 1, 7, false), kept('1', 3, 4, true)), [['1'], ['1'], [], 7]],
    // A cluster that creates both in one second numbers them.
    [
      of(kept('1', 5, 7, true, sequence(1)), kept('2', 5, 7, false, sequence(2))),
      [['2'], ['2', '1'], [], 7],
    ],
    // Of a provider that records nothing.
    [
      of(kept('1', 1, undefined, false), kept('2', 3, undefined, true, failing)),
      [['1'], ['1'], [], 1],
    ],
    [
      of(kept('1', 1, undefined, false, launched), kept('2', 3, undefined, true)),
      [['1'], ['2', '1'], ['2'], 8],
    ],
    [of(kept('1', 1, undefined, false, failing)), [['1'], ['1'], [], 1]],
  ]
  for (const [found, wanted] of cases) assert.deepEqual(found, wanted)
})

test('a pipeline promotes to an environment if it deploys there', () => {
  const manifests = [{ spec: { containers: [{ image: 'shop/web:${parameters["tag"]}' }] } }]
  const all = [deploying('release', 'test', 'prod'), deploying('trial', 'test')]
  const found = pipelinesThatDeploy('web:3', all, (account) => account === 'prod')
  const fills = { 'p.version': '3', image: 'web:3' }
  assert.deepEqual(found, [{ id: 'release', name: 'release', application: 'web', fills }])
  const rollout = {
    id: 'k',
    name: 'k',
    application: 'web',
    stages: [{ type: 'deployManifest', account: 'prod', manifests }],
  }
  assert.deepEqual(pipelinesThatDeploy('shop/web:3', [rollout])[0]?.fills, {
    'p.tag': '3',
    image: 'shop/web:3',
  })
})

test('a pipeline takes an image as the artifact that it expects, or finds it where it runs', () => {
  const isIn = (name: string) => (account: string) => account === name
  const stages = [{ type: 'deploy', clusters: [{ account: 'prod' }] }]
  const matchArtifact = { type: 'docker/image', name: 'shop/web' }
  const expecting = {
    id: 'a',
    name: 'a',
    application: 'web',
    stages,
    expectedArtifacts: [{ id: 'x', matchArtifact }],
  }
  const taking = (stage: object[], image = 'shop/web:3') =>
    pipelinesThatDeploy(
      image,
      [{ ...expecting, stages: [...stage, ...stages] } as never],
      isIn('prod'),
      isIn('test'),
    )
  assert.deepEqual(taking([])[0]?.fills, { image: 'shop/web:3' })
  assert.deepEqual(artifactsFor('shop/web:3', expecting as never), [
    {
      id: 'x',
      title: 'shop/web',
      artifact: { ...matchArtifact, version: '3', reference: 'shop/web:3' },
    },
  ])
  assert.deepEqual(taking([], 'shop/other:3'), [], 'an artifact of another name')
  assert.deepEqual(taking([{ type: 'bake' }]), [], 'its own image wins')
  assert.equal(taking([{ type: 'findImage', credentials: 'test' }], 'ami-1').length, 1)
  assert.deepEqual(taking([{ type: 'findImage', credentials: 'dev' }], 'ami-1'), [])
  assert.match(whyNoImage({ stages: [{ type: 'bake' }] as never }), /bakes an image/)
  const manifests = [{ spec: { containers: [{ image: 'shop/web' }] } }]
  const rollout = { ...expecting, stages: [{ type: 'deployManifest', account: 'prod', manifests }] }
  assert.equal(pipelinesThatDeploy('shop/web:3', [rollout as never]).length, 1)
})

test('a run says what it put where', () => {
  const made = (account: string) => ({
    imageId: 'web:3',
    account,
    'deploy.server.groups': { r: ['web-v001'] },
  })
  const stages = [
    { type: 'createServerGroup', status: 'SUCCEEDED', context: made('test'), outputs: {} },
    { type: 'createServerGroup', status: 'SUCCEEDED', context: made('prod'), outputs: {} },
    { type: 'createServerGroup', status: 'TERMINAL', context: made('stage'), outputs: {} },
  ]
  assert.deepEqual(deploymentsOf({ stages } as never), [
    { image: 'web:3', accounts: ['test', 'prod'] },
  ])
})
