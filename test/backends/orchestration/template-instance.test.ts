import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallService } from '../../../src/backends/backend.ts'
import { at, startEngine, W } from './support.ts'

const variable = (name: string, type: string, rest: Record<string, unknown> = {}) => ({ name, type, ...rest })

const template = {
  id: 'rope',
  schema: 'v2',
  variables: [
    variable('seconds', 'int', { defaultValue: 0 }),
    variable('ship', 'string'),
    variable('note', 'string', { nullable: true }),
  ],
  pipeline: {
    keepWaitingPipelines: true,
    parameterConfig: [{ name: 'wind', default: 'west' }],
    triggers: [{ id: 't', type: 'git', enabled: true }],
    notifications: [{ id: 'n', type: 'email', address: 'crew@example.com' }],
    stages: [{ ...W('1', 0), name: 'Wait for ${ templateVariables.ship }', waitTime: '${ templateVariables.seconds }' }],
  },
}

const instance = {
  type: 'templatedPipeline',
  schema: 'v2',
  id: 'p1',
  template: { reference: 'spinnaker://rope' },
  variables: { ship: 'Alba' },
}

/** The definition store, which knows one template, and remembers which version was asked for. */
function storeOf(asked: string[]): CallService {
  return async (service, { path }) => {
    if (service !== 'front50' || !path.startsWith('/v2/pipelineTemplates/')) return { status: 404, body: undefined }
    asked.push(path)
    return path.startsWith('/v2/pipelineTemplates/rope') ? { status: 200, body: template } : { status: 404, body: undefined }
  }
}

test('an instance runs the stages of its template with its own variables, and defaults for the others', async (t) => {
  const engine = await startEngine(t, { others: storeOf([]) })
  const id = await engine.run({ ...instance, stages: [] })
  const { stages, templateVariables, name, pipelineConfigId, keepWaitingPipelines, trigger } = await engine.ends(id, 'SUCCEEDED')
  assert.equal(stages[0]?.name, 'Wait for Alba')
  assert.equal(stages[0]?.context['waitTime'], 0)
  assert.deepEqual(templateVariables, { ship: 'Alba', seconds: 0 })
  assert.deepEqual([name, pipelineConfigId, keepWaitingPipelines], ['p', 'p1', true])
  assert.deepEqual(trigger.parameters, { wind: 'west' })
})

test('a plan is the whole definition, and leaves no execution', async (t) => {
  const engine = await startEngine(t, { others: storeOf([]) })
  const { exclude, ...rest } = { ...instance, exclude: ['triggers'], parameterConfig: [{ name: 'tide' }] }
  const { type: _, ...planned } = rest
  const { status, body } = await engine.ask('POST', '/v2/pipelineTemplates/plan', { ...planned, exclude, application: 'app' })
  assert.equal(status, 200)
  assert.deepEqual(at(body, 'triggers'), [])
  assert.deepEqual(at(body, 'notifications'), template.pipeline.notifications)
  assert.deepEqual(at(body, 'parameterConfig'), [...template.pipeline.parameterConfig, { name: 'tide' }])
  assert.equal(at(body, 'stages', 0, 'waitTime'), 0)
  const broken = await engine.ask('POST', '/v2/pipelineTemplates/plan', { ...planned, application: 'app', variables: {} })
  assert.equal(broken.status, 400)
  assert.deepEqual((await engine.ask('GET', '/pipelines?pipelineConfigIds=p1')).body, [])
})

test('an instance names the version of its template by tag or digest', async (t) => {
  const asked: string[] = []
  const engine = await startEngine(t, { others: storeOf(asked) })
  for (const decoration of [':stable', '@sha256:0a1b']) {
    await engine.run({ ...instance, template: { reference: `spinnaker://rope${decoration}` } })
  }
  assert.deepEqual(asked, ['/v2/pipelineTemplates/rope?tag=stable', '/v2/pipelineTemplates/rope?digest=0a1b'])
})

const refused: { name: string; change: Record<string, unknown>; says: RegExp }[] = [
  { name: 'without a variable that has no default', change: { variables: {} }, says: /"ship" has no value/ },
  {
    name: 'with a variable of another type',
    change: { variables: { ship: 1, seconds: 'x' } },
    says: /"seconds" must be of type int.*"ship"/,
  },
  { name: 'with stages of its own', change: { stages: [W('1', 0)] }, says: /no stages of its own/ },
  {
    name: 'of an unknown template',
    change: { template: { reference: 'spinnaker://chain' } },
    says: /no pipeline template "chain"/,
  },
  { name: 'without a template', change: { template: {} }, says: /which template/ },
  { name: 'of a version-1 template', change: { schema: '1' }, says: /version-1/ },
]

for (const { name, change, says } of refused) {
  test(`an instance ${name} is refused, and kept as a failed execution that says why`, async (t) => {
    const engine = await startEngine(t, { others: storeOf([]) })
    const { status, body } = await engine.ask('POST', '/orchestrate', { application: 'app', name: 'p', ...instance, ...change })
    assert.equal(status, 400)
    assert.match(String(at(body, 'message')), says)
    const { body: kept } = await engine.ask('GET', '/pipelines?pipelineConfigIds=p1')
    assert.match(String(at(kept, 0, 'cancellationReason')), says)
  })
}
