import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, createClock } from '../support.ts'
import { deploy, errorOf, operationNames, startRig, workload } from './support.ts'

type Fields = Record<string, unknown>

const rs = workload('ReplicaSet', 'api')

function managed(strategy: string, options: Fields = {}): Fields {
  return {
    trafficManagement: {
      enabled: true,
      options: { services: ['service front'], strategy, ...options },
    },
  }
}

const old = (
  version: string,
  { cluster = 'replicaSet api', app = 'shop', location = 'n1', status = {} } = {},
) => ({
  location,
  manifest: {
    kind: 'ReplicaSet',
    metadata: {
      name: `api-${version}`,
      namespace: location,
      annotations: {
        'moniker.spinnaker.io/application': app,
        'moniker.spinnaker.io/cluster': cluster,
      },
    },
    status,
  },
})

for (const [strategy, name] of [
  ['bluegreen', 'BLUE_GREEN'],
  ['redblack', 'RED_BLACK'],
] as const) {
  test(`${strategy} disables older versions and deletes broken ones`, async (t) => {
    const { service, run } = await startRig(t)
    service.add(
      'replicaSet api-v000',
      old('v000', { status: { readyReplicas: 2, availableReplicas: 2 } }),
    )
    service.add('replicaSet api-v001', { ...old('v001'), state: 'waiting for pods' })
    service.add('replicaSet other-v000', old('v000', { cluster: 'replicaSet other' }))
    service.add('replicaSet api-v000', old('v000', { location: 'n2' }))
    const { stages } = await run(deploy([rs], managed(strategy)))
    const [[, sent]] = service.operations as [[string, Fields]]
    assert.deepEqual(
      [sent['strategy'], sent['enableTraffic'], sent['services']],
      [name, true, ['service front']],
    )
    assert.deepEqual(operationNames(service), [
      'deployManifest',
      'disableManifest replicaSet api-v000',
      'deleteManifest replicaSet api-v001',
    ])
    const after = stages.filter(({ syntheticStageOwner }) => syntheticStageOwner === 'STAGE_AFTER')
    const settings = ['account', 'app', 'cloudProvider', 'location'].map(
      (key) => after[0]?.context[key],
    )
    assert.deepEqual(settings, ['k8s', 'shop', 'kubernetes', 'n1'])
  })
}

const limit = { metadata: { annotations: { 'strategy.spinnaker.io/max-version-history': '9' } } }
const remaining: [what: string, options: Fields, left: string[], parts?: Fields][] = [
  ['two versions stay', {}, ['v002', 'v003']],
  ['as many stay as the stage says', { maxRemainingAsgs: 3 }, ['v001', 'v002', 'v003']],
  ['all stay with 0', { maxRemainingAsgs: 0 }, ['v000', 'v001', 'v002', 'v003']],
  ['all stay where the manifest limits its history', {}, ['v000', 'v001', 'v002', 'v003'], limit],
]
for (const [what, options, left, parts] of remaining) {
  test(`of the versions that a strategy has replaced, ${what}`, async (t) => {
    const { service, run } = await startRig(t)
    const groups = ['v000', 'v001', 'v002'].map((version, createdTime) => {
      service.add(`replicaSet api-${version}`, old(version, { status: { readyReplicas: 1 } }))
      return {
        name: `replicaSet api-${version}`,
        region: 'n1',
        createdTime,
        isDisabled: version !== 'v002',
      }
    })
    const path = '/applications/shop/clusters/k8s/replicaSet%20api/kubernetes'
    service.scripted.set(`GET ${path}`, () => ({ status: 200, body: { serverGroups: groups } }))
    await run(
      deploy(
        [workload('ReplicaSet', 'api', parts)],
        managed('bluegreen', { scaleDown: left.length === 3, ...options }),
      ),
    )
    assert.deepEqual(
      service.names(),
      left.map((version) => `replicaSet api-${version}`),
    )
    const scaled = operationNames(service).filter((name) => name.startsWith('scale'))
    assert.deepEqual(
      scaled,
      left.length === 3
        ? ['scaleManifest replicaSet api-v002', 'scaleManifest replicaSet api-v001']
        : [],
    )
  })
}

test('a cancelled deployment takes its traffic away from the new version alone', async (t) => {
  const { service, engine } = await startRig(t)
  service.newState = 'waiting for pods'
  for (const [strategy, name] of [
    ['bluegreen', 'api-v000'],
    ['none', 'api-v001'],
  ] as const) {
    const id = await engine.task(deploy([rs], managed(strategy)))
    await engine.eventually(async () => service.names().includes(`replicaSet ${name}`))
    await engine.ask('PUT', `/tasks/${id}/cancel`)
    await engine.taskEnds(id, 'CANCELED')
    await engine.eventually(
      async () => operationNames(service).at(-1) === `disableManifest replicaSet ${name}`,
    )
  }
  const created = new Date(0).toISOString()
  service.results.set('deployManifest', {
    manifests: [
      {
        kind: 'ReplicaSet',
        metadata: { name: 'api-v000', namespace: 'n1', creationTimestamp: created },
      },
    ],
    manifestNamesByNamespace: { n1: ['replicaSet api-v000'] },
  })
  const count = service.operations.length
  const again = await engine.task(deploy([rs], managed('bluegreen')))
  await engine.eventually(async () => service.operations.length > count)
  await engine.ask('PUT', `/tasks/${again}/cancel`)
  await engine.taskEnds(again, 'CANCELED')
  assert.deepEqual(operationNames(service).slice(count), ['deployManifest'])
})

test('highlander disables every older version before it deletes', async (t) => {
  const { service, run } = await startRig(t)
  service.add('replicaSet api-v000', old('v000'))
  service.add('replicaSet api-v001', old('v001'))
  await run(deploy([rs], managed('highlander')))
  assert.deepEqual(operationNames(service).slice(1), [
    'disableManifest replicaSet api-v000',
    'disableManifest replicaSet api-v001',
    'deleteManifest replicaSet api-v000',
    'deleteManifest replicaSet api-v001',
  ])
  assert.deepEqual(service.names(), ['replicaSet api-v002'])
})

const untouched: [what: string, fields: Fields, kind: string][] = [
  ['without a strategy', managed('none'), 'ReplicaSet'],
  [
    'without traffic management',
    { trafficManagement: { enabled: false, options: { strategy: 'highlander' } } },
    'ReplicaSet',
  ],
  ['of other kinds', managed('highlander'), 'Deployment'],
]
for (const [what, fields, kind] of untouched) {
  test(`deployments ${what} leave older versions alone`, async (t) => {
    const { service, run } = await startRig(t)
    service.add('replicaSet api-v000', old('v000'))
    await run(deploy([workload(kind, 'api')], fields))
    assert.deepEqual(operationNames(service), ['deployManifest'])
  })
}

test('traffic is off with management unless the stage asks for it', async (t) => {
  const { service, run } = await startRig(t)
  await run(deploy([rs], managed('none')))
  await run(deploy([rs], managed('none', { enableTraffic: true })))
  assert.deepEqual(
    service.operations.map(([, fields]) => fields['enableTraffic']),
    [false, true],
  )
})

test('a failed deployment is disabled, and leaves the older version enabled', async (t) => {
  const { service, run } = await startRig(t)
  service.add('replicaSet api-v000', old('v000'))
  service.newState = 'failed: no pods'
  assert.match(
    errorOf(await run(deploy([rs], managed('bluegreen')), 'TERMINAL')),
    /'replicaSet api-v001' in 'n1'/,
  )
  assert.deepEqual(operationNames(service), [
    'deployManifest',
    'disableManifest replicaSet api-v001',
  ])
  assert.deepEqual(service.names(), ['replicaSet api-v000', 'replicaSet api-v001'])
})

test('a failed deployment is rolled back', async (t) => {
  const { service, engine } = await startRig(t)
  const revision = (number: string) => ({
    metadata: { annotations: { 'deployment.kubernetes.io/revision': number } },
  })
  service.newState = 'failed to progress'
  const manifests = [
    { ...workload('Deployment', 'web', revision('3')) },
    { ...workload('Deployment', 'new', revision('1')) },
    { ...workload('StatefulSet', 'db'), status: { currentRevision: 'a', updateRevision: 'b' } },
    { kind: 'ConfigMap', metadata: { name: 'conf', namespace: 'n1' } },
    rs,
  ]
  // What is rolled back becomes stable; a new version without traffic need not.
  const id = await engine.task(deploy(manifests, managed('bluegreen')))
  const { execution } = await engine.taskEnds(id, 'TERMINAL')
  assert.deepEqual(operationNames(service), [
    'deployManifest',
    'undoRolloutManifest deployment web',
    'undoRolloutManifest statefulSet db',
    'disableManifest replicaSet api-v000',
  ])
  assert.deepEqual(at(service.operations, 1, 1, 'numRevisionsBack'), 1)
  assert.match(errorOf(execution), /'deployment web' in 'n1' for account k8s: failed to progress/)
})

test('a timeout is rolled back as well, of what is not stable', async (t) => {
  const clock = createClock()
  const { service, engine } = await startRig(t, { clock })
  service.newState = 'waiting'
  const web = workload('Deployment', 'web', {
    metadata: { annotations: { 'deployment.kubernetes.io/revision': '2' } },
  })
  const id = await engine.task(
    deploy([web, workload('Deployment', 'api')], {
      rollback: { onFailure: true },
      stableManifestTimeoutMinutes: 1,
    }),
  )
  await engine.eventually(async () => service.objects.length === 2)
  for (const each of service.objects) if (each.name === 'deployment api') each.state = 'stable'
  await engine.eventually(async () => {
    clock.pass(2)
    await clock.settled()
    return service.operations.length > 1
  })
  for (const each of service.objects) each.state = 'stable'
  await engine.eventually(async () => {
    clock.pass(2)
    await clock.settled()
    return (await engine.view(id)).status === 'TERMINAL'
  })
  assert.deepEqual(operationNames(service), [
    'deployManifest',
    'undoRolloutManifest deployment web',
  ])
})
