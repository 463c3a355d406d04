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
const doors: Record<string, (engine: Awaited<ReturnType<typeof startAll>>) => Promise<string>> = {
  'a definition with its trigger': async ({ run, save }) => {
    const id = await save({ ...settling, name: 'p' })
    await run({ ...settling, id, trigger: arriving })
    return id
  },
  'the trigger of a stored pipeline': async ({ ask, save }) => {
    const id = await save({ ...settling, name: 'p' })
    await ask('POST', `/orchestrate/${id}`, arriving)
    return id
  },
  'a user': async ({ backends, save }) => {
    const id = await save({ ...settling, name: 'p' })
    const content = { application: 'app', pipelineNameOrId: 'p', trigger: arriving }
    await backends.ask('echo', 'POST', '/', { details: { type: 'manual' }, content })
    return id
  },
  'a webhook': async ({ backends, save }) => {
    const triggers = [{ type: 'webhook', source: 'ci', enabled: true }]
    const id = await save({ ...settling, name: 'p', triggers })
    await backends.ask('echo', 'POST', '/webhooks/webhook/ci', arriving)
    return id
  },
  'a stage': async ({ run, save }) => {
    const id = await save({ ...settling, name: 'p' })
    const stage = { refId: '1', type: 'pipeline', application: 'app', pipeline: id }
    await run({ stages: [stage], trigger: arriving })
    return id
  },
  'the end of a pipeline': async ({ run, save }) => {
    const before = await save({ name: 'before' })
    const triggers = [{ type: 'pipeline', enabled: true, pipeline: before, status: ['successful'] }]
    const id = await save({ ...settling, name: 'p', triggers })
    await run({ id: before, stages: [W('1', 0)], trigger: arriving })
    return id
  },
  'the instance of a template': async ({ backends, save }) => {
    await backends.ask('front50', 'POST', '/v2/pipelineTemplates', {
      ...{ id: 'rope', schema: 'v2', metadata: { name: 'rope', scopes: ['global'] } },
      variables: [{ name: 'tag', type: 'string' }],
      pipeline: {
        ...settling,
        parameterConfig: [
          ...settling.parameterConfig.filter(({ name }) => name !== 'tag'),
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
  'a former run': async ({ run, ends, save }) => {
    const id = await save({ ...settling, name: 'p' })
    const { trigger } = await ends(await run({ ...settling, id, trigger: arriving }), 'SUCCEEDED')
    await run({ ...settling, id, trigger })
    return id
  },
}

for (const [door, open] of Object.entries(doors))
  test(`a start by ${door} settles parameters and artifacts`, async (t) => {
    const engine = await startAll(t)

    const { status, stages, trigger } = await newestOf(engine, await open(engine))

    assert.equal(status, 'SUCCEEDED')
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
