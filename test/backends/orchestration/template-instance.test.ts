import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { at, startEngine, W } from './support.ts'

const variable = (name: string, type: string, rest: Record<string, unknown> = {}) => ({
  name,
  type,
  ...rest,
})

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
    stages: [
      {
        ...W('1', 0),
        name: 'Wait for ${ templateVariables.ship }',
        waitTime: '${ templateVariables.seconds }',
      },
    ],
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
    if (service !== 'front50' || !path.startsWith('/v2/pipelineTemplates/'))
      return { status: 404, body: undefined }
    asked.push(path)
    return path.startsWith('/v2/pipelineTemplates/rope')
      ? { status: 200, body: template }
      : { status: 404, body: undefined }
  }
}

test("an instance runs its template's stages with its own variables", async (t) => {
  const engine = await startEngine(t, { others: storeOf([]) })
  const id = await engine.run({ ...instance, stages: [] })
  const { stages, templateVariables, name, pipelineConfigId, keepWaitingPipelines, trigger } =
    await engine.ends(id, 'SUCCEEDED')
  assert.equal(stages[0]?.name, 'Wait for Alba')
  assert.equal(stages[0]?.context['waitTime'], 0)
  assert.deepEqual(templateVariables, { ship: 'Alba', seconds: 0 })
  assert.deepEqual([name, pipelineConfigId, keepWaitingPipelines], ['p', 'p1', true])
  assert.deepEqual(trigger.parameters, { wind: 'west' })
})

test('a plan is the whole definition, and leaves no execution', async (t) => {
  const engine = await startEngine(t, { others: storeOf([]) })
  const { exclude, ...rest } = {
    ...instance,
    exclude: ['triggers'],
    parameterConfig: [{ name: 'tide' }],
  }
  const { type: _, ...planned } = rest
  const { status, body } = await engine.ask('POST', '/v2/pipelineTemplates/plan', {
    ...planned,
    exclude,
    application: 'app',
  })
  assert.equal(status, 200)
  assert.deepEqual(at(body, 'triggers'), [])
  assert.deepEqual(at(body, 'notifications'), template.pipeline.notifications)
  assert.deepEqual(at(body, 'parameterConfig'), [
    ...template.pipeline.parameterConfig,
    { name: 'tide' },
  ])
  assert.equal(at(body, 'stages', 0, 'waitTime'), 0)
  const broken = await engine.ask('POST', '/v2/pipelineTemplates/plan', {
    ...planned,
    application: 'app',
    variables: {},
  })
  assert.equal(broken.status, 400)
  assert.deepEqual((await engine.ask('GET', '/pipelines?pipelineConfigIds=p1')).body, [])
})

test('an instance refers to its template by tag or digest', async (t) => {
  const asked: string[] = []
  const engine = await startEngine(t, { others: storeOf(asked) })
  for (const decoration of [':stable', '@sha256:0a1b']) {
    await engine.run({ ...instance, template: { reference: `spinnaker://rope${decoration}` } })
  }
  assert.deepEqual(asked, [
    '/v2/pipelineTemplates/rope?tag=stable',
    '/v2/pipelineTemplates/rope?digest=0a1b',
  ])
})

const refused: { name: string; change: Record<string, unknown>; says: RegExp }[] = [
  {
    name: 'without a variable that has no default',
    change: { variables: {} },
    says: /"ship" has no value/,
  },
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
  {
    name: 'of a version-1 template',
    change: { schema: '1' },
    says: /version-1 template.+POST \/v2\/pipelineTemplates\/create/,
  },
]

for (const { name, change, says } of refused) {
  test(`an instance ${name} leaves a failed execution`, async (t) => {
    const engine = await startEngine(t, { others: storeOf([]) })
    const { status, body } = await engine.ask('POST', '/orchestrate', {
      application: 'app',
      name: 'p',
      ...instance,
      ...change,
    })
    assert.equal(status, 400)
    assert.match(String(at(body, 'message')), says)
    const { body: kept } = await engine.ask('GET', '/pipelines?pipelineConfigIds=p1')
    assert.match(String(at(kept, 0, 'cancellationReason')), says)
  })
}

test("a source resolves to its template and that one's parents", async (t) => {
  const engine = await startEngine(t, { backends: [definitionsBackend] })
  const store = (path: string, body: unknown) => engine.backends.ask('front50', 'POST', path, body)
  const base = {
    id: 'base',
    schema: '1',
    variables: [variable('a', 'int'), variable('b', 'int')],
    stages: [{ id: 's', type: 'wait' }],
  }
  const leaf = {
    id: 'leaf',
    schema: '1',
    source: 'spinnaker://base',
    variables: [variable('b', 'string'), variable('c', 'list')],
  }
  for (const one of [
    base,
    leaf,
    { id: 'x', source: 'spinnaker://y' },
    { id: 'y', source: 'spinnaker://x' },
  ]) {
    await store('/pipelineTemplates', one)
  }
  await store('/v2/pipelineTemplates?tag=stable', template)
  const { body: versions } = await engine.backends.ask(
    'front50',
    'GET',
    '/v2/pipelineTemplates/versions',
  )
  const { digest } =
    (at(versions, 'rope') as { digest?: string }[]).find(
      (version) => version.digest !== undefined,
    ) ?? {}
  const resolve = (source: string) =>
    engine.ask('GET', `/pipelineTemplate?source=${encodeURIComponent(source)}`)

  for (const source of [
    'spinnaker://rope:stable',
    'Spinnaker://rope:latest',
    `spinnaker://rope@sha256:${digest}`,
  ]) {
    const { status, body } = await resolve(source)
    assert.deepEqual(
      [status, at(body, 'id'), at(body, 'pipeline')],
      [200, 'rope', template.pipeline],
      source,
    )
  }
  const { body: merged } = await resolve('spinnaker://leaf')
  assert.deepEqual([at(merged, 'id'), at(merged, 'stages')], ['leaf', base.stages])
  assert.deepEqual(at(merged, 'variables'), [
    variable('a', 'int'),
    variable('b', 'string'),
    variable('c', 'list'),
  ])

  for (const [source, says] of [
    ['spinnaker://none', /no pipeline template "none"/],
    ['spinnaker://rope:odd', /tag|no pipeline template/],
    ['spinnaker://x', /in a circle/],
    ['spinnaker://', /spinnaker:\/\/<id>/],
    ['http://127.0.0.1:1/template.yml', /spinnaker:\/\/<id>/],
    ['file:///etc/passwd', /spinnaker:\/\/<id>/],
    ['spinnaker://{{ trigger.x }}', /spinnaker:\/\/<id>/],
    ['', /spinnaker:\/\/<id>/],
  ] as const) {
    const { status, body } = await resolve(source)
    assert.equal(status, 400, source)
    assert.match(String(at(body, 'message')), says)
  }
})

test('a template is resolved only for those who may read it', async (t) => {
  const others: CallService = async (_service, { path }) => {
    const readers = path.endsWith('/ann')
      ? [{ name: 'secret', authorizations: ['READ'] }]
      : [{ name: 'secret', authorizations: [] }]
    return { status: 200, body: { applications: readers } }
  }
  const engine = await startEngine(t, {
    backends: [definitionsBackend],
    others,
    authorization: true,
  })
  const secret = { ...template, id: 'secret', metadata: { scopes: ['secret'] } }
  await engine.backends.ask('front50', 'POST', '/v2/pipelineTemplates', secret)
  const resolve = (user: string) =>
    engine.ask('GET', '/pipelineTemplate?source=spinnaker://secret', undefined, user)
  assert.equal((await resolve('ann')).status, 200)
  const refused = await resolve('bob')
  assert.equal(refused.status, 403)
  assert.match(String(at(refused.body, 'message')), /READ on the application secret/)
})
