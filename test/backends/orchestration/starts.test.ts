import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'
import { at, startEngine, type TestEngine, V, W } from './support.ts'

type Json = Record<string, unknown>

async function startAll(
  t: TestContext,
): Promise<TestEngine & { save(pipeline: Json): Promise<string> }> {
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5 })
  const engine = await startEngine(t, { backends: [definitionsBackend, events] })
  const save = async (pipeline: Json) => {
    const { body } = await engine.backends.ask('front50', 'POST', '/pipelines', {
      ...{ application: 'app', stages: [W('1', 0)], ...pipeline },
    })
    return String(at(body, 'id'))
  }
  return Object.assign(engine, { save })
}

async function newestOf({ ask, eventually }: TestEngine, id: string): Promise<Execution> {
  const found = await eventually(async () => {
    const listed = (await ask('GET', `/pipelines?pipelineConfigIds=${id}`)).body as Execution[]
    return listed.find(({ endTime }) => endTime !== undefined)
  })
  assert.ok(found, `no run of ${id} has ended`)
  return found
}

const image = { type: 'docker/image', name: 'web', reference: 'web:7' }
const bystander = { type: 'docker/image', name: 'other', reference: 'other:1' }

/** Reads what has arrived by a parameter that reads another one, and takes the artifact without a trigger that lists it. */
const settling = {
  parameterConfig: [
    { name: 'isMain', default: '${parameters.tag == "7"}' },
    { name: 'tag', default: '${trigger.artifacts[0].reference.substring(4)}' },
    { name: 'whole', default: '${trigger["parameters"].tag}-${parameters.isMain}' },
  ],
  expectedArtifacts: [
    {
      id: 'e1',
      displayName: 'image',
      matchArtifact: { ...image, reference: '.*:${parameters.tag}' },
    },
    { id: 'e2', displayName: 'absent', matchArtifact: { type: 'git/repo' } },
    { id: 'e3', displayName: 'anything', matchArtifact: { name: '' } },
    { id: 'e4', displayName: 'two', matchArtifact: { type: 'docker/image' } },
    {
      id: 'e5',
      displayName: 'default',
      matchArtifact: { type: 'file' },
      useDefaultArtifact: true,
      defaultArtifact: { type: 'file', name: '${parameters.whole}' },
    },
  ],
  stages: [
    V('1', {
      seen: '${parameters.tag.length() + "/" + parameters.isMain + "/" + trigger.parameters.whole}',
      bound: '${#triggerResolvedArtifactByType("docker/image").reference}',
    }),
    {
      ...W('2', 0),
      stageEnabled: {
        type: 'expression',
        expression: 'parameters.isMain && parameters.tag == "7"',
      },
    },
    {
      refId: '3',
      type: 'checkPreconditions',
      preconditions: [{ type: 'expression', context: { expression: 'parameters.isMain' } }],
    },
  ],
}

const arriving = { artifacts: [image, bystander] }

/** Each starts the pipeline in its way. */
const doors: Record<
  string,
  (engine: Awaited<ReturnType<typeof startAll>>, pipeline: typeof settling) => Promise<string>
> = {
  'a definition with its trigger': async ({ run, save }, pipeline) => {
    const id = await save({ ...pipeline, name: 'p' })
    await run({ ...pipeline, id, trigger: arriving }).catch(() => undefined)
    return id
  },
  'the trigger of a stored pipeline': async ({ ask, save }, pipeline) => {
    const id = await save({ ...pipeline, name: 'p' })
    await ask('POST', `/orchestrate/${id}`, arriving)
    return id
  },
  'a user': async ({ backends, save }, pipeline) => {
    const id = await save({ ...pipeline, name: 'p' })
    const content = { application: 'app', pipelineNameOrId: 'p', trigger: arriving }
    await backends.ask('echo', 'POST', '/', { details: { type: 'manual' }, content })
    return id
  },
  'a webhook': async ({ backends, save }, pipeline) => {
    const triggers = [{ type: 'webhook', source: 'ci', enabled: true }]
    const id = await save({ ...pipeline, name: 'p', triggers })
    await backends.ask('echo', 'POST', '/webhooks/webhook/ci', arriving)
    return id
  },
  'a stage': async ({ run, save }, pipeline) => {
    const id = await save({ ...pipeline, name: 'p' })
    const stage = { refId: '1', type: 'pipeline', application: 'app', pipeline: id }
    await run({ stages: [stage], trigger: arriving })
    return id
  },
  'the end of a pipeline': async ({ run, save }, pipeline) => {
    const before = await save({ name: 'before' })
    const triggers = [{ type: 'pipeline', enabled: true, pipeline: before, status: ['successful'] }]
    const id = await save({ ...pipeline, name: 'p', triggers })
    await run({ id: before, stages: [W('1', 0)], trigger: arriving })
    return id
  },
  'the instance of a template': async ({ backends, save }, pipeline) => {
    await backends.ask('front50', 'POST', '/v2/pipelineTemplates', {
      ...{ id: 'rope', schema: 'v2', metadata: { name: 'rope', scopes: ['global'] } },
      variables: [{ name: 'tag', type: 'string' }],
      pipeline: {
        ...pipeline,
        parameterConfig: [
          ...pipeline.parameterConfig.filter(({ name }) => name !== 'tag'),
          { name: 'tag', default: '${templateVariables.tag}' },
        ],
        triggers: [{ id: 't', type: 'webhook', source: 'ci', enabled: true }],
      },
    })
    const id = await save({
      ...{ name: 'p', type: 'templatedPipeline', schema: 'v2', stages: [], triggers: [] },
      ...{ template: { reference: 'spinnaker://rope' }, variables: { tag: '7' } },
    })
    await backends.ask('echo', 'POST', '/webhooks/webhook/ci', arriving)
    return id
  },
  'a former run': async ({ run, ends, save }, pipeline) => {
    const id = await save({ ...pipeline, name: 'p' })
    const { trigger } = await ends(await run({ ...pipeline, id, trigger: arriving }), 'SUCCEEDED')
    await run({ ...pipeline, id, trigger })
    return id
  },
}

for (const [door, open] of Object.entries(doors))
  test(`a start by ${door} settles parameters and artifacts`, async (t) => {
    const engine = await startAll(t)

    const { status, stages, trigger, systemNotifications } = await newestOf(
      engine,
      await open(engine, settling),
    )

    assert.equal(status, 'SUCCEEDED')
    assert.deepEqual(systemNotifications, [])
    assert.deepEqual(trigger.parameters, { isMain: true, tag: '7', whole: '7-true' })
    const resolved = trigger['resolvedExpectedArtifacts'] as Json[]
    assert.deepEqual(
      resolved.map(({ id, boundArtifact }) => [id, at(boundArtifact, 'name')]),
      [
        ['e1', 'web'],
        ['e5', '7-true'],
      ],
    )
    const [first, second] = stages
    assert.deepEqual(first?.outputs, { seen: '1/true/7-true', bound: 'web:7' })
    assert.equal(second?.status, 'SUCCEEDED')
  })

/** A former run has started. */
const { 'a former run': _former, ...failing } = doors

for (const [door, open] of Object.entries(failing))
  test(`a start by ${door} that fails is a whole record`, async (t) => {
    const engine = await startAll(t)
    const missing = {
      id: 'e9',
      displayName: 'chart',
      matchArtifact: { type: 'helm/chart', reference: '' },
      usePriorArtifact: true,
    }
    const expectedArtifacts = [missing as never, ...settling.expectedArtifacts]
    const id = await open(engine, { ...settling, expectedArtifacts })
    const failed = await newestOf(engine, id)

    const { status, buildTime, startTime, endTime, cancellationReason, trigger } = failed
    assert.deepEqual([status, startTime, endTime], ['TERMINAL', buildTime, buildTime])
    assert.match(
      String(cancellationReason),
      /^Failed on startup: The trigger has received no artifact/,
    )
    assert.equal(trigger.parameters['whole'], '7-true')
    assert.ok(trigger.user)
    if (door !== 'a stage') return
    const { body } = await engine.ask('GET', '/applications/app/pipelines/search')
    const parent = (body as Execution[]).find(({ pipelineConfigId }) => pipelineConfigId !== id)
    const [stage] = (await engine.ends(String(parent?.id), 'TERMINAL')).stages
    assert.equal(stage?.context['executionId'], failed.id)
    assert.deepEqual(at(stage?.context, 'exception', 'details', 'errors'), [cancellationReason])
  })

test('a start that failed is no prior run, and is listed where it was', async (t) => {
  const { ask, clock, run, ends, execution } = await startEngine(t)
  const pipeline = (artifact: string, more: Json) => ({
    ...{ id: 'C', stages: [W('1', 0)] },
    expectedArtifacts: [{ id: 'e', matchArtifact: { name: artifact }, ...more }],
  })
  const first = await run({
    ...pipeline('web', { usePriorArtifact: true }),
    trigger: { artifacts: [{ name: 'web', version: '1' }] },
  })
  await ends(first, 'SUCCEEDED')
  clock.pass(1)
  const failing = { application: 'app', ...pipeline('none', { usePriorArtifact: true }) }
  assert.equal((await ask('POST', '/orchestrate', failing)).status, 400)
  clock.pass(1)

  const third = await run(
    pipeline('web', {
      ...{ usePriorArtifact: true, useDefaultArtifact: true },
      defaultArtifact: { name: 'default' },
    }),
  )

  const { trigger } = await execution(third)
  assert.deepEqual(at(trigger, 'resolvedExpectedArtifacts', 0, 'boundArtifact', 'version'), '1')
  await ends(third, 'SUCCEEDED')
  const listed = (await ask('GET', '/pipelines?pipelineConfigIds=C&limit=3')).body as Execution[]
  assert.deepEqual(
    listed.map(({ status }) => status),
    ['SUCCEEDED', 'TERMINAL', 'SUCCEEDED'],
  )
})

test('a start without the event service reads the build that it names', async (t) => {
  const answers: Json = {
    '/builds/status/7/ci/app': { number: 7 },
    '/builds/artifacts/7/ci/app': [],
    '/artifacts/maven/lib/1': { name: 'lib', version: '1', location: 'maven', reference: 'r' },
  }
  const engine = await startEngine(t, {
    others: async (service, { path }) =>
      service === 'igor' && answers[path] !== undefined
        ? { status: 200, body: answers[path] }
        : { status: 404, body: undefined },
  })
  const expectedArtifacts = [{ id: 'e', matchArtifact: { name: 'lib' } }]
  const pipeline = { id: 'C', expectedArtifacts, stages: [W('1', 0)] }
  const artifacts = [{ name: 'lib', version: '1', location: 'maven' }]
  const build = { master: 'ci', job: 'app', buildNumber: 7 }

  const id = await engine.run({ ...pipeline, trigger: { ...build, artifacts } })

  const { trigger } = await engine.execution(id)
  assert.deepEqual(trigger['buildInfo'], { number: 7 })
  assert.deepEqual(at(trigger, 'resolvedExpectedArtifacts', 0, 'boundArtifact', 'reference'), 'r')
  const refused = await engine.ask('POST', '/orchestrate', {
    ...{ application: 'app', ...pipeline },
    trigger: { ...build, type: 'jenkins', buildNumber: 8 },
  })
  assert.match(String(at(refused.body, 'message')), /app 8 on ci/)
  const [newest] = (await engine.ask('GET', '/pipelines?pipelineConfigIds=C')).body as Execution[]
  assert.equal(newest?.status, 'TERMINAL')
})

test('a parameter that cannot be evaluated stays its text, and the execution says why', async (t) => {
  const { run, ends } = await startEngine(t)
  const parameterConfig = [
    { name: 'sha', default: "${trigger['payload']['sha']}" },
    { name: 'here', default: '${parameters.there}' },
    { name: 'there', default: '${parameters.here}' },
    { name: 'all', default: '${#toJson(trigger)}' },
  ]

  const { trigger, systemNotifications } = await ends(
    await run({ parameterConfig, stages: [W('1', 0)] }),
    'SUCCEEDED',
  )

  assert.equal(trigger.parameters['sha'], "${trigger['payload']['sha']}")
  assert.match(String(at(systemNotifications, 0, 'message')), /^The parameter "sha" stays the text/)
  assert.match(
    String(at(systemNotifications, 1, 'message')),
    /^The parameter "here" refers to itself/,
  )
})
