import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../packages/base/json/values.ts'
import type { Environment } from '../../packages/model/environments/declaration.ts'
import {
  changesIn,
  factsOf,
  figuresOf,
  mayDeploy,
  productionOf,
} from '../../packages/model/environments/delivery.ts'

const hourMs = 3_600_000
const beginMs = Date.UTC(2026, 0, 1)
const at = (hour: number) => beginMs + hour * hourMs
const production = { accounts: ['prod'] }

interface Deploys {
  readonly account?: string
  readonly cluster?: string
  readonly status?: string
}

/** A stage that has deployed a version at the end of an hour. */
function deploy(
  version: string,
  hour: number,
  { account = 'prod', cluster = 'shop-web', status = 'SUCCEEDED' }: Deploys = {},
): JsonObject {
  return {
    ...{ id: `s${hour}`, type: 'createServerGroup', name: 'Deploy', status, endTime: at(hour) },
    context: {
      account,
      imageId: `web:${version}`,
      'deploy.server.groups': { local: [`${cluster}-v001`] },
    },
  }
}

function rollback(hour: number, cluster = 'shop-web'): JsonObject {
  const context = { credentials: 'prod', region: 'local', serverGroupName: `${cluster}-v001` }
  return {
    id: `b${hour}`,
    type: 'rollbackServerGroup',
    status: 'SUCCEEDED',
    endTime: at(hour),
    context,
  }
}

const failedCheck = { id: 'v', type: 'verify', name: 'Watch', status: 'TERMINAL', context: {} }

function run(id: string, stages: JsonObject[], more: JsonObject = {}): JsonObject {
  return { id, name: 'release', status: 'SUCCEEDED', trigger: {}, stages, ...more }
}

const built = (number: number, committedAt: number) => ({
  trigger: {
    ...{ type: 'jenkins', master: 'ci', job: 'shop' },
    buildInfo: {
      number,
      scm: [{ sha1: `sha${number}`, timestamp: new Date(committedAt).toISOString() }],
    },
  },
})

const changes = (...runs: JsonObject[]) => changesIn(production, runs.map(factsOf))
const outcomes = (...runs: JsonObject[]) =>
  changes(...runs).map(({ run: { id }, kind, failure, restoredAtMs }) => [
    ...[id, kind, failure],
    restoredAtMs === undefined ? undefined : (restoredAtMs - beginMs) / hourMs,
  ])

test('a deployment is good unless something says otherwise', () => {
  assert.deepEqual(outcomes(run('a', [deploy('1', 1)]), run('b', [deploy('2', 2)])), [
    ['a', 'deployment', undefined, undefined],
    ['b', 'deployment', undefined, undefined],
  ])
})

const rolledBack = 'It was rolled back.'

const failures: readonly [string, JsonObject[], unknown[][]][] = [
  [
    'a rollback fails the deployment before it',
    [run('a', [deploy('1', 1)]), run('b', [deploy('2', 2)]), run('c', [rollback(5)])],
    [
      ['a', 'deployment', undefined, undefined],
      ['b', 'deployment', rolledBack, 5],
    ],
  ],
  [
    'a run that fails after its deployment has failed, until the next good one',
    [run('a', [deploy('1', 1), failedCheck], { status: 'TERMINAL' }), run('b', [deploy('2', 4)])],
    [
      ['a', 'deployment', 'The stage "Watch" failed.', 4],
      ['b', 'deployment', undefined, undefined],
    ],
  ],
  [
    'a rollback by the run itself restores',
    [run('a', [deploy('1', 1), failedCheck, rollback(2)], { status: 'TERMINAL' })],
    [['a', 'deployment', 'The stage "Watch" failed.', 2]],
  ],
  [
    'a deployment that fails after it has changed something counts',
    [run('a', [deploy('1', 1, { status: 'TERMINAL' })], { status: 'TERMINAL' })],
    [['a', 'deployment', 'The stage "Deploy" failed.', 1]],
  ],
  [
    'the version before the latest one restores',
    [run('a', [deploy('1', 1)]), run('b', [deploy('2', 2)]), run('c', [deploy('1', 3)])],
    [
      ['a', 'deployment', undefined, undefined],
      ['b', 'deployment', 'The version before it was deployed again.', 3],
      ['c', 'restoration', undefined, undefined],
    ],
  ],
  [
    'clusters are apart',
    [
      run('a', [deploy('1', 1)]),
      run('b', [deploy('7', 2, { cluster: 'shop-api' })]),
      run('c', [deploy('1', 3), rollback(4, 'shop-api')]),
    ],
    [
      ['a', 'deployment', undefined, undefined],
      ['b', 'deployment', rolledBack, 4],
      ['c', 'deployment', undefined, undefined],
    ],
  ],
  [
    'another environment is another matter',
    [
      run('a', [deploy('1', 1), deploy('1', 2, { account: 'staging', status: 'TERMINAL' })], {
        status: 'TERMINAL',
      }),
      run('b', [deploy('2', 3, { account: 'staging' })]),
    ],
    [['a', 'deployment', undefined, undefined]],
  ],
]
for (const [name, runs, expected] of failures)
  test(name, () => assert.deepEqual(outcomes(...runs), expected))

test('a deployment that takes itself back has failed, and is restored', () => {
  const stage = deploy('2', 5, { status: 'TERMINAL' })
  const tasks = [
    { status: 'SUCCEEDED', endTime: at(3) },
    { status: 'TERMINAL', endTime: at(4) },
  ]
  const context = { ...(stage['context'] as JsonObject), strategy: 'canary' }
  const [change] = changes(run('a', [{ ...stage, tasks, context }], { status: 'TERMINAL' }))
  assert.deepEqual(
    [change?.atMs, change?.failure, change?.restoredAtMs],
    [at(3), 'The stage "Deploy" failed.', at(5)],
  )
})

test('what an analysis deploys for itself is no deployment', () => {
  const canary = { id: 'k', type: 'kayentaCanary', name: 'Canary', status: 'TERMINAL', context: {} }
  const child = {
    id: 'd',
    type: 'deployCanaryServerGroups',
    parentStageId: 'k',
    status: 'SUCCEEDED',
    context: {},
  }
  const group = { ...deploy('2', 1), parentStageId: 'd' }
  assert.deepEqual(outcomes(run('a', [canary, child, group], { status: 'TERMINAL' })), [])
})

test('a run that deploys to several regions is one deployment', () => {
  const [change, ...others] = changes(
    run('a', [deploy('1', 1), { ...deploy('1', 2), id: 'second' }]),
  )
  assert.deepEqual([change?.atMs, others.length], [at(2), 0])
})

test('manifests deploy by their workloads', () => {
  const manifests = [
    {
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { template: { spec: { containers: [{ image: 'web:1' }] } } },
    },
    { kind: 'Service', metadata: { name: 'web', namespace: 'shop' } },
  ]
  const stage = {
    type: 'deployManifest',
    status: 'SUCCEEDED',
    endTime: at(1),
    context: { account: 'prod' },
    outputs: { manifests },
  }
  const undo = { type: 'undoRolloutManifest', status: 'SUCCEEDED', endTime: at(2) }
  const context = { account: 'prod', location: 'shop', manifestName: 'deployment web' }
  const [change] = changes(run('a', [stage]), run('b', [{ ...undo, context }]))
  assert.deepEqual(
    [change?.clusters, change?.images, change?.failure],
    [['deployment web'], ['web:1'], rolledBack],
  )
  assert.deepEqual(
    changesIn({ ...production, regions: ['other'] }, [factsOf(run('a', [stage]))]),
    [],
  )
})

test('lead times begin with the commit, and count once', () => {
  const [first, again] = changes(
    run('a', [deploy('1', 5)], built(1, at(2))),
    run('b', [deploy('1', 7)], built(1, at(2))),
  )
  assert.deepEqual([first?.leadMs, first?.build?.number, again?.leadMs], [3 * hourMs, 1, undefined])
})

test('the commit of a promoted image is that of the run that built it', () => {
  const [promoted] = changes(
    run('a', [deploy('1', 3, { account: 'staging' })], built(1, at(2))),
    run('b', [deploy('1', 6)]),
  )
  assert.deepEqual([promoted?.commit?.sha, promoted?.leadMs], ['sha1', 4 * hourMs])
})

test('the commit of a pipeline that another one has started is known to that one', () => {
  const trigger = {
    type: 'pipeline',
    parentExecution: { trigger: { type: 'pipeline', parentExecution: { ...built(3, at(1)) } } },
  }
  const [change] = changes(run('a', [deploy('1', 2)], { trigger }))
  assert.deepEqual([change?.commit?.sha, change?.leadMs], ['sha3', hourMs])
})

test('figures are of the time that is asked for', () => {
  const all = changes(
    run('a', [deploy('1', 1)], built(1, at(0))),
    run('b', [deploy('2', 26)], built(2, at(20))),
    run('c', [rollback(28)]),
    run('d', [deploy('3', 30), failedCheck], { status: 'TERMINAL' }),
  )
  assert.deepEqual(figuresOf(all, { sinceMs: at(24), untilMs: at(72) }), {
    deploymentFrequency: { perDay: 1, deployments: 2 },
    leadTime: { medianMs: 6 * hourMs, of: 1 },
    changeFailureRate: { share: 1, failed: 2, of: 2 },
    timeToRestore: { medianMs: 2 * hourMs, of: 1, open: 1 },
  })
  assert.deepEqual(figuresOf([], { sinceMs: at(0), untilMs: at(24) }), {
    deploymentFrequency: { perDay: 0, deployments: 0 },
    leadTime: { medianMs: null, of: 0 },
    changeFailureRate: { share: null, failed: 0, of: 0 },
    timeToRestore: { medianMs: null, of: 0, open: 0 },
  })
})

test('runs that cannot have deployed need not be read', () => {
  assert.equal(mayDeploy(run('a', [{ type: 'wait', status: 'SUCCEEDED' }])), false)
  assert.equal(mayDeploy(run('a', [{ type: 'deploy', status: 'NOT_STARTED' }])), false)
  assert.equal(mayDeploy(run('a', [{ type: 'deployManifest', status: 'TERMINAL' }])), true)
  assert.equal(mayDeploy(run('a', [{ type: 'undoRolloutManifest', status: 'SUCCEEDED' }])), true)
})

test('production is what is named so, or the last that is declared', () => {
  const named = (...names: string[]): Environment[] =>
    names.map((name) => ({ name, accounts: [name], constraints: [] }))
  assert.equal(productionOf(named('dev', 'production', 'disaster'), true)?.name, 'production')
  assert.equal(productionOf(named('dev', 'customers'), true)?.name, 'customers')
  assert.equal(productionOf(named('dev', 'local'), false), undefined)
})
