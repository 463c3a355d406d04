import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, createClock, type SettableClock } from '../support.ts'
import { deploy, errorOf, operationNames, place, startRig, workload } from './support.ts'

const dep = workload('Deployment', 'web')
const yaml = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: n1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: conf, namespace: n1}
data: {color: "\${ parameters.color }", mode: 0644}
---
`
const embedded = {
  type: 'embedded/base64',
  name: 'm',
  reference: Buffer.from(yaml).toString('base64'),
}
const fromArtifact = {
  source: 'artifact',
  manifestArtifact: embedded,
  manifestArtifactAccount: 'embedded-artifact',
}

test('a deployment hands its results on under dotted keys', async (t) => {
  const { service, run } = await startRig(t)
  const { stages } = await run(deploy([null, [dep]], { versioned: null }))
  const [stage] = stages
  assert.deepEqual(
    stage?.tasks.map(({ name }) => name),
    [
      'resolveDeploySourceManifest',
      'deployManifest',
      'monitorDeploy',
      'promoteOutputs',
      'waitForManifestToStabilize',
      'cleanupArtifacts',
      'monitorCleanup',
      'promoteOutputs',
    ],
  )
  for (const holder of [stage?.context, stage?.outputs]) {
    assert.deepEqual(holder?.['outputs.manifestNamesByNamespace'], { n1: ['deployment web'] })
    assert.equal(at(holder, 'outputs.manifests', 0, 'metadata', 'uid'), 'u-web')
    assert.deepEqual(holder?.['artifacts'], holder?.['outputs.createdArtifacts'])
  }
  assert.deepEqual(stage?.context['stableManifests'], [
    { manifestName: 'deployment web', location: 'n1' },
  ])
  assert.deepEqual(stage?.context['messages'], [])
  const [[name, sent]] = service.operations as [[string, Record<string, unknown>]]
  assert.equal(name, 'deployManifest')
  assert.deepEqual(
    [sent['source'], sent['enableTraffic'], sent['account'], sent['credentials']],
    ['text', true, 'k8s', 'k8s'],
  )
  assert.deepEqual(sent['manifests'], [dep])
  assert.ok(
    service.asked.includes('GET /manifests/k8s/n1/deployment web?includeEvents=false&live=true'),
  )
})

test('stages without a provider work on Kubernetes', async (t) => {
  const { service, run } = await startRig(t)
  const { cloudProvider: _provider, ...stage } = deploy([dep])
  await run([
    stage,
    {
      type: 'scaleManifest',
      account: 'k8s',
      location: 'n1',
      manifestName: 'deployment web',
      replicas: '3',
    },
  ])
  assert.deepEqual(operationNames(service), ['deployManifest', 'scaleManifest deployment web'])
})

test('stages that carry the provider in their type are known', async (t) => {
  const { service, pipeline } = await startRig(t)
  await pipeline([
    { refId: '1', ...deploy([dep]), type: 'deployManifest', providerType: 'kubernetes' },
  ])
  assert.deepEqual(operationNames(service), ['deployManifest'])
})

test('no manifests deploy nothing', async (t) => {
  const { run } = await startRig(t)
  const { stages } = await run(deploy([]))
  assert.deepEqual(at(stages[0], 'outputs', 'outputs.manifests'), [])
})

test('an artifact has several documents and expressions', async (t) => {
  const { service, pipeline } = await startRig(t)
  const trigger = { type: 'manual', parameters: { color: 'blue' } }
  await pipeline([{ refId: '1', ...deploy([], fromArtifact) }], { trigger })
  await pipeline(
    [{ refId: '1', ...deploy([], { ...fromArtifact, skipExpressionEvaluation: true }) }],
    { trigger },
  )
  const [evaluated, literal] = service.operations.map(([, { manifests }]) => manifests)
  assert.equal(at(evaluated, 'length'), 2)
  assert.deepEqual(at(evaluated, 1, 'data'), { color: 'blue', mode: 420 })
  assert.equal(at(literal, 1, 'data', 'color'), '${ parameters.color }')
})

test('text is evaluated unless the stage skips it', async (t) => {
  const { service, pipeline } = await startRig(t)
  const map = {
    kind: 'ConfigMap',
    metadata: { name: 'conf', namespace: 'n1' },
    data: { color: '${ parameters.color }' },
  }
  const trigger = { type: 'manual', parameters: { color: 'blue' } }
  await pipeline([{ refId: '1', ...deploy([map]) }], { trigger })
  const literal = await pipeline(
    [{ refId: '1', ...deploy([map], { skipExpressionEvaluation: true }) }],
    { trigger },
  )
  assert.equal(at(service.operations, 0, 1, 'manifests', 0, 'data', 'color'), 'blue')
  assert.equal(
    at(service.operations, 1, 1, 'manifests', 0, 'data', 'color'),
    '${ parameters.color }',
  )
  // What the cluster returns is left alone, too.
  assert.equal(
    at(literal.stages, 0, 'outputs', 'outputs.manifests', 0, 'data', 'color'),
    '${ parameters.color }',
  )
  assert.equal(at(literal.stages, 0, 'context', 'expressionEvaluationSummary'), undefined)
})

test('an unresolved expression of an artifact fails on request', async (t) => {
  const { service, pipeline } = await startRig(t)
  const unknown = {
    ...embedded,
    reference: Buffer.from('a: "${ nothing.there }"').toString('base64'),
  }
  const stage = {
    refId: '1',
    ...deploy([], { ...fromArtifact, manifestArtifact: unknown, failOnFailedExpressions: true }),
  }
  assert.match(errorOf(await pipeline([stage], {}, 'TERMINAL')), /nothing\.there/)
  assert.deepEqual(service.operations, [])
})

test('other artifacts are fetched, after some failures too', async (t) => {
  const { service, run } = await startRig(t)
  let fetches = 0
  service.scripted.set('PUT /artifacts/fetch', (body) => {
    assert.deepEqual(body, { type: 'github/file', reference: 'r', artifactAccount: 'git' })
    return ++fetches < 3
      ? { status: 404, body: { message: 'not yet' } }
      : { status: 200, body: yaml }
  })
  const artifact = { type: 'github/file', reference: 'r' }
  await run(
    deploy([], { source: 'artifact', manifestArtifact: artifact, manifestArtifactAccount: 'git' }),
  )
  assert.equal(fetches, 3)
  assert.equal(at(service.operations, 0, 1, 'manifests', 'length'), 2)
})

const incomplete: [what: string, fields: Record<string, unknown>, says: RegExp][] = [
  [
    'an artifact that is not named',
    { source: 'artifact' },
    /The manifest artifact is not set\. Choose an expected artifact/,
  ],
  [
    'an unknown artifact',
    { source: 'artifact', manifestArtifactId: 'a1' },
    /The manifest artifact with the id "a1" was neither/,
  ],
  [
    'an artifact without an account',
    { source: 'artifact', manifestArtifact: { type: 'http/file', reference: 'http://x' } },
    /The manifest artifact needs an account/,
  ],
  ['text without manifests', { manifests: null }, /The stage has no "manifests": write it there/],
  ['a number', { manifests: [7] }, /Document 1 of "manifests" is no object, but number/],
  [
    'a template that nothing has rendered',
    { manifests: ['kind: ConfigMap\nmetadata: {name: {{ name }}}\n'] },
    /"manifests" is not YAML: a key at line 2 is no text; a value with \{\{…\}\} needs quotes/,
  ],
  ['no account', { account: undefined }, /names no account/],
  [
    'a required artifact that is missing',
    { requiredArtifactIds: ['a2'] },
    /The required artifact with the id "a2"/,
  ],
]
for (const [what, fields, says] of incomplete) {
  test(`a deployment fails with ${what}`, async (t) => {
    const { service, run } = await startRig(t)
    assert.match(errorOf(await run(deploy([dep], fields), 'TERMINAL')), says)
    assert.deepEqual(service.operations, [])
  })
}

test('artifacts of earlier stages and of the trigger reach the operation', async (t) => {
  const { service, pipeline } = await startRig(t)
  const image = { type: 'docker/image', name: 'reg.test/app', reference: 'reg.test/app:7' }
  const other = { ...image, reference: 'reg.test/app:8' }
  const expectedArtifacts = [
    { id: 'e1', matchArtifact: { name: 'reg.test/app', reference: 'reg.test/app:8' } },
  ]
  const trigger = {
    type: 'manual',
    artifacts: [image, other, embedded],
    expectedArtifactIds: ['e1'],
  }
  const conf = { kind: 'ConfigMap', metadata: { name: 'conf', namespace: 'n1' } }
  const stages = [
    { refId: '1', ...deploy([conf]) },
    { refId: '2', requisiteStageRefIds: ['1'], ...deploy([dep], { requiredArtifactIds: ['e1'] }) },
  ]
  const execution = await pipeline(stages, { trigger, expectedArtifacts })
  const [, [, sent]] = service.operations as [unknown, [string, Record<string, unknown>]]
  assert.deepEqual(sent['requiredArtifacts'], [other])
  const optional = sent['optionalArtifacts'] as { type: string; reference: string }[]
  assert.deepEqual(
    optional.map(({ reference }) => reference),
    ['conf', 'reg.test/app:7', 'reg.test/app:8'],
  )
  assert.deepEqual(execution.stages[1]?.outputs['requiredArtifacts'], [other])
})

test('a failed operation ends the stage in its words', async (t) => {
  const { service, run } = await startRig(t)
  service.failing.set('deployManifest', 'deployment web: spec.replicas: Invalid value')
  assert.match(errorOf(await run(deploy([dep]), 'TERMINAL')), /spec\.replicas: Invalid value/)
})

test('noOutput leaves no outputs', async (t) => {
  const { run } = await startRig(t)
  const { stages } = await run(deploy([dep], { noOutput: true }))
  assert.deepEqual(stages[0]?.outputs, {})
  assert.ok(stages[0]?.context['outputs.manifests'])
})

test('versions beyond a limit are cleaned up', async (t) => {
  const { service, run } = await startRig(t)
  const annotations = { 'strategy.spinnaker.io/max-version-history': '2' }
  const limited = {
    kind: 'ConfigMap',
    metadata: { name: 'conf', namespace: 'n1', annotations },
    data: { a: '1' },
  }
  await run(deploy([limited, dep]))
  const [, cleanup] = service.operations
  assert.equal(cleanup?.[0], 'cleanupArtifacts')
  assert.equal(at(cleanup, 1, 'manifests', 'length'), 1)
  assert.deepEqual(
    at(
      cleanup,
      1,
      'manifests',
      0,
      'metadata',
      'annotations',
      'strategy.spinnaker.io/max-version-history',
    ),
    '2',
  )
})

test('expected artifacts are bound to produced ones', async (t) => {
  const { run } = await startRig(t)
  const expectedArtifacts = [
    { id: 'e', matchArtifact: { type: 'kubernetes/deployment', name: 'w.*' } },
  ]
  const { stages } = await run(deploy([dep], { expectedArtifacts }))
  assert.equal(
    at(stages[0], 'outputs', 'resolvedExpectedArtifacts', 0, 'boundArtifact', 'reference'),
    'web',
  )
  const missing = [{ id: 'e', displayName: 'image', matchArtifact: { type: 'docker/image' } }]
  const failed = await run(deploy([dep], { expectedArtifacts: missing }), 'TERMINAL')
  assert.match(errorOf(failed), /no artifact that matches the expected artifact "image"/)
})

test('a deployment can keep its plan', async (t) => {
  const { service, run } = await startRig(t)
  const differences = [
    { account: 'k8s', namespace: 'n1', name: 'deployment web', change: 'create', fields: [] },
  ]
  service.results.set('planManifest', { differences })
  const { stages } = await run(deploy([dep], { plan: true }))
  assert.deepEqual(operationNames(service), ['planManifest', 'deployManifest'])
  assert.deepEqual(stages[0]?.outputs['plan'], differences)
  assert.equal(stages[0]?.outputs['planHasChanges'], true)
  assert.equal(stages[0]?.context['plan'], true)
})

test('a plan changes nothing and shows differences', async (t) => {
  const { service, run } = await startRig(t)
  const none = { name: 'deployment web', namespace: 'n1', change: 'none', fields: [] }
  service.results.set('planManifest', { differences: [none] })
  const { stages } = await run({ ...deploy([dep]), type: 'planManifest' })
  assert.deepEqual(operationNames(service), ['planManifest'])
  assert.deepEqual(stages[0]?.outputs['plan'], [none])
  assert.equal(stages[0]?.context['planHasChanges'], false)
  service.results.set('planManifest', {
    differences: [none, { ...none, change: 'error', message: 'quota exceeded' }],
  })
  const failed = await run({ ...deploy([dep]), type: 'planManifest' }, 'TERMINAL')
  assert.equal(errorOf(failed), 'deployment web in n1 cannot be deployed: quota exceeded')
  await run({ ...deploy([dep]), type: 'planManifest', failOnError: false })
})

test('a restarted stage deploys again with fresh artifacts', async (t) => {
  const { service, engine, pipeline } = await startRig(t)
  const image = { type: 'docker/image', name: 'app', reference: 'app:1' }
  const requiredArtifacts = [{ expectedArtifactId: '', artifact: image }]
  const execution = await pipeline([{ refId: '1', ...deploy([dep], { requiredArtifacts }) }])
  const stageId = execution.stages[0]?.id
  await engine.ask('PUT', `/pipelines/${execution.id}/stages/${stageId}/restart`, {})
  await engine.eventually(
    async () =>
      service.operations.length === 2 &&
      (await engine.execution(execution.id)).status === 'SUCCEEDED',
  )
  const [[, first], [, second]] = service.operations as [[string, unknown], [string, unknown]]
  assert.deepEqual(second, first)
})

test('values of secrets reach the operation and no view', async (t) => {
  const { service, engine, run } = await startRig(t)
  const data = { password: Buffer.from('hunter-2222').toString('base64') }
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'db', namespace: 'n1' },
    data,
  }
  const text = {
    ...secret,
    metadata: { name: 'text', namespace: 'n1' },
    data: undefined,
    stringData: { token: 'hunter-3333' },
  }
  const { id } = await run(deploy([secret, text, dep]))
  assert.deepEqual(at(service.operations, 0, 1, 'manifests', 0, 'data'), data)
  for (const path of [`/tasks/${id}`, `/orchestrations/${id}`, '/tasks']) {
    const shown = JSON.stringify((await engine.ask('GET', path)).body)
    for (const value of [data.password, 'hunter-3333']) assert.ok(!shown.includes(value), path)
  }
  const { stages } = (await engine.view(id)).execution
  assert.deepEqual(at(stages, 0, 'context', 'manifests', 0, 'data'), { password: '******' })
})

test('drift fails the stage with a sentence for each object', async (t) => {
  const { service, run } = await startRig(t)
  const drifted = {
    account: 'k8s',
    namespace: 'n1',
    name: 'deployment web',
    manager: 'kubectl-edit',
    since: '2031-05-06T12:00:00Z',
    fields: ['spec.replicas'],
  }
  service.scripted.set('GET /applications/shop/drift', () => ({ status: 200, body: [drifted] }))
  const stage = { type: 'checkManifestDrift', ...place, app: 'shop' }
  assert.equal(
    errorOf(await run(stage, 'TERMINAL')),
    'deployment web in k8s/n1 has drifted: kubectl-edit changed spec.replicas at 2031-05-06T12:00:00Z.',
  )
  assert.ok(
    service.asked.includes('GET /applications/shop/drift?account=k8s&location=n1&live=true'),
  )
  const { stages } = await run({ ...stage, failOnDrift: false })
  assert.deepEqual(stages[0]?.outputs['drift'], [drifted])
  service.scripted.set('GET /applications/shop/drift', () => ({ status: 200, body: [] }))
  await run(stage)
})

test('expressions read deployed names and labels', async (t) => {
  const { pipeline } = await startRig(t)
  const variables = [
    {
      key: 'deployed',
      value: '${ #stage("Deploy").outputs["outputs.manifests"][0].metadata.name }',
    },
    { key: 'label', value: '${ #manifestLabelValue("Deploy", "Deployment", "app") }' },
  ]
  const execution = await pipeline([
    {
      refId: '1',
      name: 'Deploy',
      ...deploy([], {
        ...fromArtifact,
        manifestArtifact: {
          ...embedded,
          reference: Buffer.from(JSON.stringify(dep)).toString('base64'),
        },
      }),
    },
    { refId: '2', requisiteStageRefIds: ['1'], type: 'evaluateVariables', variables },
  ])
  assert.deepEqual(
    [execution.stages[1]?.outputs['deployed'], execution.stages[1]?.outputs['label']],
    ['web', 'web'],
  )
})

test('a judgement knows what a deployment would do', async (t) => {
  const { engine } = await startRig(t)
  const judge = async (job: unknown) =>
    (await engine.ask('POST', '/ops/judge', { application: 'shop', description: 'd', job: [job] }))
      .body
  const effects = at(await judge(deploy([], fromArtifact)), 'effects')
  assert.deepEqual(effects, [
    {
      job: 0,
      stage: 'deployManifest',
      type: 'deployManifest',
      operation: 'deployManifest',
      account: 'k8s',
      region: 'n1',
      objects: ['Deployment web', 'ConfigMap conf'],
    },
  ])
  const refused = await judge(deploy([dep], { requiredArtifactIds: ['none'] }))
  assert.match(
    String(at(refused, 'objections', 0, 'message')),
    /The required artifact with the id "none"/,
  )
  const external = { type: 'http/file', reference: 'http://x', artifactAccount: 'a' }
  assert.equal(
    at(
      await judge(deploy([], { source: 'artifact', manifestArtifact: external })),
      'effects',
      'length',
    ),
    1,
  )
})

/** Lets time pass until the execution has ended. */
async function passUntilEnd(clock: SettableClock, isOver: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 300 && !(await isOver()); round++) {
    clock.pass(5)
    await clock.settled()
  }
}

test('what is not stable in time is named with its reason, after it what is to be known of the others', async (t) => {
  const clock = createClock()
  const { service, engine } = await startRig(t, { clock })
  service.newState = 'waiting for 2 replicas'
  const health = { state: 'unattended', warning: 'No controller acts on it.' }
  service.scripted.set('GET /manifests/k8s/n1/deployment%20api', () => ({
    status: 200,
    body: { status: { stable: { state: true } }, health },
  }))
  const manifests = [dep, workload('Deployment', 'api')]
  const id = await engine.task(deploy(manifests, { stableManifestTimeoutMinutes: '1' }))
  await engine.eventually(async () =>
    at((await engine.view(id)).execution, 'stages', 0, 'context', 'messages', 0),
  )
  await passUntilEnd(clock, async () => (await engine.view(id)).status === 'TERMINAL')
  const { execution } = await engine.view(id)
  const message = "'deployment web' in 'n1' for account k8s: waiting for 2 replicas"
  const remark = `'deployment api' in 'n1' for account k8s: ${health.warning}`
  assert.deepEqual(execution.stages[0]?.context['messages'], [message, remark])
  assert.equal(
    errorOf(execution),
    `The step "waitForManifestToStabilize" did not end within 60 s: ${message}.`,
  )
})

test('a failed object ends the stage once all are decided', async (t) => {
  const { service, engine } = await startRig(t)
  service.newState = 'failed to progress'
  const id = await engine.task(deploy([dep, workload('Deployment', 'api')]))
  const api = await engine.eventually(async () =>
    service.objects.find(({ name }) => name === 'deployment api'),
  )
  if (api !== undefined) api.state = 'stable'
  const { execution } = await engine.taskEnds(id, 'TERMINAL')
  assert.match(errorOf(execution), /'deployment web' in 'n1' for account k8s: failed to progress/)
  assert.ok(at(execution.stages[0], 'context', 'failedManifests', 0))
})

test('hopeless objects fail early unless the stage is patient', async (t) => {
  const { service, engine, run } = await startRig(t)
  const more = { hopeless: true, reasons: ['The image bad:1 does not exist.'] }
  service.scripted.set('GET /manifests/k8s/n1/deployment%20web', () => ({
    status: 200,
    body: { status: { stable: { state: false, message: 'Waiting for 1 replica.' } }, ...more },
  }))
  const failed = await run(deploy([dep]), 'TERMINAL')
  assert.equal(
    errorOf(failed),
    "'deployment web' in 'n1' for account k8s: Waiting for 1 replica. The image bad:1 does not exist",
  )
  const id = await engine.task(deploy([dep], { failFast: false }))
  await engine.eventually(async () =>
    at((await engine.view(id)).execution, 'stages', 0, 'context', 'messages', 0),
  )
  assert.equal((await engine.view(id)).status, 'RUNNING')
})

test('an object that disappears ends the wait', async (t) => {
  const clock = createClock()
  const { service, engine } = await startRig(t, { clock })
  service.newState = 'waiting'
  const id = await engine.task(deploy([dep]))
  await engine.eventually(async () =>
    at((await engine.view(id)).execution, 'stages', 0, 'context', 'messages', 0),
  )
  service.objects.length = 0
  const begun = clock.now()
  await passUntilEnd(clock, async () => (await engine.view(id)).status === 'TERMINAL')
  assert.match(
    errorOf((await engine.view(id)).execution),
    /'deployment web' in 'n1' .* does not exist for 60 s/,
  )
  assert.ok(clock.now() - begun < 120_000)
})

test('reads that fail for a while only delay', async (t) => {
  const { service, engine } = await startRig(t)
  let reads = 0
  service.scripted.set('GET /manifests/k8s/n1/deployment%20web', () => {
    return ++reads < 3
      ? { status: 500, body: { message: 'boom' } }
      : { status: 200, body: { status: { stable: { state: true } } } }
  })
  await engine.taskEnds(await engine.task(deploy([dep])), 'SUCCEEDED')
  assert.equal(reads, 3)
})

test('a megabyte of baked manifests is deployed', async (t) => {
  const { service, pipeline } = await startRig(t)
  const data = Object.fromEntries(
    Array.from({ length: 1000 }, (_, index) => [`key-${index}`, 'x'.repeat(900)]),
  )
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(data) }
  const large = {
    kind: 'ConfigMap',
    metadata: { name: 'conf', namespace: 'n1', annotations },
    data,
  }
  const baked = {
    type: 'embedded/base64',
    name: 'baked',
    reference: Buffer.from(JSON.stringify({ ...large, metadata: { name: 'conf' } })).toString(
      'base64',
    ),
  }
  service.scripted.set('POST /api/v2/manifest/bake/HELM3', () => ({ status: 200, body: baked }))
  service.results.set('deployManifest', {
    manifests: [large],
    manifestNamesByNamespace: { n1: ['configMap conf'] },
  })
  service.add('configMap conf')
  const chart = { type: 'git/repo', reference: 'r', artifactAccount: 'git' }
  const expectedArtifacts = [{ id: 'baked', matchArtifact: { name: 'baked' } }]
  const bake = {
    refId: '1',
    type: 'bakeManifest',
    templateRenderer: 'HELM3',
    inputArtifacts: [{ artifact: chart }],
    expectedArtifacts,
  }
  const next = {
    refId: '2',
    requisiteStageRefIds: ['1'],
    ...deploy([], { source: 'artifact', manifestArtifactId: 'baked' }),
  }
  const { stages } = await pipeline([bake, next])
  assert.equal(at(stages[1], 'outputs', 'outputs.manifests', 0, 'data', 'key-999', 'length'), 900)
  assert.deepEqual(at(stages[1], 'outputs', 'outputs.manifests', 0, 'metadata', 'annotations'), {})
})
