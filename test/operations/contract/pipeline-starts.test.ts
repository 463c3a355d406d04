/** Starts of pipelines: the trigger, required parameters, and permissions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reply } from '../../support/upstream.ts'
import { annMayLogIn, asAnn, type ServiceAnswers, startServices } from './contract.ts'

const definition = {
  id: 'p1',
  name: 'Deploy',
  application: 'shop',
  notifications: [{ type: 'email' }],
}
const byName = 'front50 GET /pipelines/shop/name/Deploy?refresh=true'
const accepted = { [byName]: definition, 'orca POST /orchestrate': { ref: '/pipelines/01E' } }
const addresses = ['/pipelines/shop/Deploy', '/applications/shop/pipelineConfigs/Deploy']

test('both addresses start a stored pipeline with the status of Gate', async (t) => {
  const platform = await startServices(t, accepted)
  for (const [index, address] of addresses.entries()) {
    const { status, body } = await platform.ask(`POST ${address}`)
    assert.deepEqual([status, body], [index === 0 ? 202 : 200, { ref: '/pipelines/01E' }])
  }
})

test('the trigger is the body, or its only field', async (t) => {
  const platform = await startServices(t, accepted)
  const defaults = { user: 'anonymous', notifications: [] }
  const rows: [body: unknown, trigger: unknown][] = [
    [undefined, defaults],
    [{}, defaults],
    ['null', defaults],
    [
      { type: 'manual', dryRun: true },
      { type: 'manual', dryRun: true, ...defaults },
    ],
    [
      { trigger: { type: 'manual', user: 'kim' } },
      { type: 'manual', user: 'kim', notifications: [] },
    ],
    [
      { trigger: { type: 'x' }, type: 'manual' },
      { trigger: { type: 'x' }, type: 'manual', ...defaults },
    ],
    [{ user: null, notifications: null }, defaults],
  ]
  for (const [body, trigger] of rows) {
    platform.next()
    assert.equal(
      (await platform.ask('POST /pipelines/shop/Deploy', body)).status,
      202,
      JSON.stringify(body),
    )
    const { user } = trigger as { user: string }
    assert.deepEqual(platform.sent(`orca POST /orchestrate?user=${user}`), {
      ...definition,
      trigger,
    })
  }
})

test('a start with plan answers the definition and starts nothing', async (t) => {
  const planned = { ...definition, stages: [] }
  const platform = await startServices(t, { ...accepted, 'orca POST /orchestrate': planned })
  const bodies: unknown[] = [
    { plan: true },
    { plan: 'true', trigger: { type: 'manual' } },
    { trigger: { plan: true } },
  ]
  for (const address of [...addresses, '/pipelines/v2/shop/Deploy']) {
    for (const body of bodies) {
      platform.next()
      const answer = await platform.ask(`POST ${address}`, body)
      assert.deepEqual([answer.status, answer.body], [200, planned], address)
      const sent = platform.sent('orca POST /orchestrate?user=anonymous') as {
        plan?: unknown
        trigger: object
      }
      assert.equal(sent.plan, true)
      assert.equal('plan' in sent.trigger, false)
    }
  }
  platform.next()
  await platform.ask('POST /pipelines/start', {
    ...definition,
    trigger: { plan: true },
    dryRun: true,
  })
  const given = platform.sent('orca POST /orchestrate?user=anonymous')
  assert.deepEqual(given, { ...definition, plan: true, trigger: { dryRun: true } })
})

test('a task with plan is judged, and one with dryRun says so in its trigger', async (t) => {
  const platform = await startServices(t, { 'orca POST /ops': { ref: '/tasks/1' } })
  const job = [{ type: 'wait', waitTime: 1 }]
  const judged = await platform.ask('POST /tasks', {
    application: 'shop',
    description: 'd',
    job,
    plan: true,
  })
  assert.equal((judged.body as { decision?: unknown }).decision, 'depends')
  await platform.ask('POST /tasks', { application: 'shop', description: 'd', job, dryRun: true })
  const sent = platform.sent('orca POST /ops') as {
    trigger?: { dryRun?: unknown }
    dryRun?: unknown
  }
  assert.deepEqual([sent.trigger?.dryRun, sent.dryRun], [true, undefined])
})

test('notifications of the trigger are added to those of the definition', async (t) => {
  const platform = await startServices(t, accepted)
  await platform.ask('POST /pipelines/shop/Deploy', { notifications: [{ type: 'chat' }] })
  const sent = platform.sent('orca POST /orchestrate?user=anonymous') as {
    notifications: unknown[]
  }
  assert.deepEqual(sent.notifications, [{ type: 'email' }, { type: 'chat' }])
})

test('an external orchestrator gets values beyond the options of a parameter', async (t) => {
  const parameterConfig = [{ name: 'env', hasOptions: true, options: [{ value: 'prod' }] }]
  const platform = await startServices(t, {
    ...accepted,
    [byName]: { ...definition, parameterConfig },
  })
  assert.equal(
    (await platform.ask('POST /pipelines/shop/Deploy', { parameters: { env: 'test' } })).status,
    202,
  )
})

test('numbers of the definition and the trigger keep every digit', async (t) => {
  const platform = await startServices(t, {
    ...accepted,
    [byName]: '{"name":"Deploy","n":12345678901234567890}',
  })
  await platform.ask('POST /pipelines/shop/Deploy', '{"parameters":{"build":98765432109876543210}}')
  const { body = '' } = platform.upstream.requests.at(-1) ?? {}
  assert.match(body, /12345678901234567890/)
  assert.match(body, /98765432109876543210/)
})

test('events-scenario 7: a required parameter needs a value or a default', async (t) => {
  const parameterConfig = [
    { name: 'env', required: true },
    { name: 'size', required: true, default: '3' },
    { name: 'note', required: false },
  ]
  const platform = await startServices(t, {
    ...accepted,
    [byName]: { ...definition, parameterConfig },
  })
  const rows: [parameters: unknown, status: number][] = [
    [undefined, 400],
    [{}, 400],
    [{ env: null }, 400],
    [{ constructor: 'x' }, 400],
    [{ env: '' }, 202],
    [{ env: false }, 202],
    [{ env: 'prod' }, 202],
  ]
  for (const [parameters, status] of rows) {
    const answer = await platform.ask('POST /pipelines/shop/Deploy', { parameters })
    assert.equal(answer.status, status, JSON.stringify(parameters))
    if (status === 400)
      assert.match((answer.body as { message: string }).message, /^The parameter "env"/)
  }
})

test('a trigger that no pipeline can take is refused', async (t) => {
  const platform = await startServices(t, accepted)
  for (const body of [
    { parameters: [1] },
    { notifications: 'all' },
    { user: 7 },
    { trigger: { parameters: 'x' } },
  ]) {
    assert.equal(
      (await platform.ask('POST /pipelines/shop/Deploy', body)).status,
      400,
      JSON.stringify(body),
    )
  }
  assert.deepEqual(platform.calls(), [])
})

test('an error names the pipeline that was to start', async (t) => {
  const rows: [what: string, answers: ServiceAnswers, status: number][] = [
    ['no definition', {}, 404],
    ['the store fails', { [byName]: new Reply(503, { message: 'full' }) }, 503],
    ['the store answers nonsense', { [byName]: 'nonsense' }, 502],
    [
      'the orchestrator refuses',
      { [byName]: definition, 'orca POST /orchestrate': new Reply(400, { message: 'disabled' }) },
      400,
    ],
    [
      'the orchestrator answers nothing',
      { [byName]: definition, 'orca POST /orchestrate': new Reply(200) },
      502,
    ],
  ]
  const platform = await startServices(t, {})
  for (const [what, answers, status] of rows) {
    await t.test(what, async () => {
      platform.next(answers)
      for (const address of addresses) {
        const answer = await platform.ask(`POST ${address}`, {})
        assert.equal(answer.status, status)
        assert.match(
          (answer.body as { message: string }).message,
          /^Pipeline "Deploy" of shop could not be started: /,
        )
      }
    })
  }
})

test("a refused templated pipeline keeps the orchestrator's details", async (t) => {
  const said = {
    status: 400,
    error: 'Bad Request',
    message: 'no such template',
    errors: [{ location: 'config' }],
    timestamp: 12,
  }
  const platform = await startServices(t, { 'orca POST /orchestrate': new Reply(400, said) })
  const templated = await platform.ask('POST /pipelines/start', {
    type: 'templatedPipeline',
    config: {},
  })
  assert.equal(templated.status, 400)
  for (const [field, value] of Object.entries(said))
    assert.deepEqual((templated.body as Record<string, unknown>)[field], value)
  const plain = await platform.ask('POST /pipelines/start', { stages: [] })
  assert.equal(plain.status, 400)
  assert.notEqual((plain.body as Record<string, unknown>)['timestamp'], 12)
})

const guarded = { ...annMayLogIn, services: { fiat: {} } }
const starts: [line: string, body: unknown][] = [
  ...addresses.map((address): [string, unknown] => [`POST ${address}`, {}]),
  ['POST /pipelines/start', definition],
  [
    'POST /pipelines/start',
    { type: 'templatedPipeline', config: { pipeline: { application: 'shop' } } },
  ],
]

for (const [line, body] of starts) {
  for (const [authorizations, status] of [
    [['READ', 'WRITE'], 403],
    [['READ', 'EXECUTE'], line.startsWith('POST /pipelines/shop') ? 202 : 200],
  ] as const) {
    test(`${line} ${JSON.stringify(body)} is ${status} for a user with ${authorizations}`, async (t) => {
      const view = { name: 'ann', applications: [{ name: 'shop', authorizations }] }
      const platform = await startServices(
        t,
        { ...accepted, 'fiat GET /authorize/ann': view },
        guarded,
      )
      const answer = await platform.ask(line, body, asAnn)
      const isStarted = platform.calls().some((call) => call.startsWith('orca POST'))
      assert.equal(isStarted, status !== 403)
      assert.equal(answer.status, status)
      if (isStarted)
        assert.equal(platform.upstream.requests.at(-1)?.headers['x-spinnaker-user'], 'ann')
    })
  }
}

test("the definition's application decides, not the address", async (t) => {
  const view = {
    name: 'ann',
    applications: [
      { name: 'shop', authorizations: ['EXECUTE'] },
      { name: 'bank', authorizations: ['READ'] },
    ],
  }
  const foreign = { id: 'p9', name: 'Transfer', application: 'bank' }
  const platform = await startServices(
    t,
    { ...accepted, 'front50 GET /pipelines/p9/get': foreign, 'fiat GET /authorize/ann': view },
    guarded,
  )
  assert.equal((await platform.ask('POST /pipelines/shop/p9', {}, asAnn)).status, 403)
})

test('a template cannot hide its application', async (t) => {
  const view = {
    name: 'ann',
    applications: [
      { name: 'shop', authorizations: ['EXECUTE'] },
      { name: 'bank', authorizations: [] },
    ],
  }
  const platform = await startServices(t, { ...accepted, 'fiat GET /authorize/ann': view }, guarded)
  const hidden = {
    type: 'templatedPipeline',
    application: 'shop',
    config: { pipeline: { application: 'bank' } },
  }
  assert.equal((await platform.ask('POST /pipelines/start', hidden, asAnn)).status, 403)
  assert.equal((await platform.ask('POST /pipelines/start', { stages: [] }, asAnn)).status, 400)
})
