import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, createClock } from '../support.ts'
import { deploy, errorOf, operationNames, startRig, workload } from './support.ts'

type Fields = Record<string, unknown>

const rs = workload('ReplicaSet', 'api')

function managed(strategy: string, options: Fields = {}): Fields {
  return { trafficManagement: { enabled: true, options: { services: ['service front'], strategy, ...options } } }
}

const old = (version: string, { cluster = 'replicaSet api', app = 'shop', location = 'n1', status = {} } = {}) => ({
  location,
  manifest: {
    kind: 'ReplicaSet',
    metadata: {
      name: `api-${version}`,
      namespace: location,
      annotations: { 'moniker.spinnaker.io/application': app, 'moniker.spinnaker.io/cluster': cluster },
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
    service.add('replicaSet api-v000', old('v000', { status: { readyReplicas: 2, availableReplicas: 2 } }))
    service.add('replicaSet api-v001', { ...old('v001'), state: 'waiting for pods' })
    service.add('replicaSet other-v000', old('v000', { cluster: 'replicaSet other' }))
    service.add('replicaSet api-v000', old('v000', { location: 'n2' }))
    const { stages } = await run(deploy([rs], managed(strategy)))
    const [[, sent]] = service.operations as [[string, Fields]]
    assert.deepEqual([sent['strategy'], sent['enableTraffic'], sent['services']], [name, true, ['service front']])
    assert.deepEqual(operationNames(service), [
      'deployManifest',
      'disableManifest replicaSet api-v000',
      'deleteManifest replicaSet api-v001',
    ])
    const after = stages.filter(({ syntheticStageOwner }) => syntheticStageOwner === 'STAGE_AFTER')
    const settings = ['account', 'app', 'cloudProvider', 'location'].map((key) => after[0]?.context[key])
    assert.deepEqual(settings, ['k8s', 'shop', 'kubernetes', 'n1'])
  })
}

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
  ['without traffic management', { trafficManagement: { enabled: false, options: { strategy: 'highlander' } } }, 'ReplicaSet'],
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
  assert.match(errorOf(await run(deploy([rs], managed('bluegreen')), 'TERMINAL')), /'replicaSet api-v001' in 'n1'/)
  assert.deepEqual(operationNames(service), ['deployManifest', 'disableManifest replicaSet api-v001'])
  assert.deepEqual(service.names(), ['replicaSet api-v000', 'replicaSet api-v001'])
})

test('a failed deployment is rolled back', async (t) => {
  const { service, engine } = await startRig(t)
  const revision = (number: string) => ({ metadata: { annotations: { 'deployment.kubernetes.io/revision': number } } })
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
  const web = workload('Deployment', 'web', { metadata: { annotations: { 'deployment.kubernetes.io/revision': '2' } } })
  const id = await engine.task(
    deploy([web, workload('Deployment', 'api')], { rollback: { onFailure: true }, stableManifestTimeoutMinutes: 1 }),
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
  assert.deepEqual(operationNames(service), ['deployManifest', 'undoRolloutManifest deployment web'])
})
