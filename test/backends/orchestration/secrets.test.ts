/** Secrets that users send with stages reach the services, and no view of an execution shows them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { maskIn } from '../../../packages/engine/orchestration/secrets.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { createCloudService } from './infrastructure/cloud-service.ts'
import { at, J, startEngine, V } from './support.ts'

const secrets = { TOKEN: 's3cr3t-value', PIN: '12' }
const environment = { DB_PASSWORD: 'hunter-2222', MODE: 'fast' }
const place = { cloudProvider: 'local', credentials: 'dev', account: 'dev', region: 'east' }
const deploy = {
  type: 'createServerGroup',
  name: 'Deploy',
  ...place,
  application: 'shop',
  stack: 'main',
  imageId: 'new',
  capacity: { min: 1, max: 1, desired: 1 },
  secrets,
  environment,
  note: 'with ${secrets.TOKEN}',
}

test('secrets reach the service and no view, also when stages change and restart', async (t) => {
  const cloud = createCloudService()
  const events: unknown[] = []
  const others: CallService = async (service, request) => {
    if (service !== 'echo') return cloud.call(service, request)
    events.push(request.body)
    return { status: 200, body: undefined }
  }
  const engine = await startEngine(t, {
    others,
    clock: { now: Date.now, pass: () => {}, settled: async () => {} },
  })
  const copied = "${#stage('Deploy')['context']['secrets']['TOKEN']}"
  const id = await engine.run({
    stages: [
      J('1'),
      { refId: '2', requisiteStageRefIds: ['1'], ...deploy },
      V('3', { copied, plain: 'of ${MODE}' }, '2'),
    ],
  })
  const stage = await engine.eventually(
    async () => (await engine.stage(id, '1')).status === 'RUNNING' && engine.stage(id, '2'),
  )
  assert.ok(stage)
  assert.deepEqual(stage.context['secrets'], { TOKEN: '******', PIN: '******' })
  assert.deepEqual(stage.context['environment'], { DB_PASSWORD: '******', MODE: 'fast' })

  const { secrets: shown } = stage.context
  const changed = await engine.ask('PATCH', `/pipelines/${id}/stages/${stage.id}`, {
    secrets: { ...(shown as object), NEW: 'n3w-value' },
  })
  assert.equal(changed.status, 200)
  const judged = { judgmentStatus: 'continue' }
  await engine.ask('PATCH', `/pipelines/${id}/stages/${(await engine.stage(id, '1')).id}`, judged)
  await engine.ends(id, 'SUCCEEDED')
  await engine.ask('PUT', `/pipelines/${id}/stages/${stage.id}/restart`, {})
  await engine.eventually(
    async () => cloud.operations.filter(([name]) => name === 'createServerGroup').length === 2,
  )
  await engine.ends(id, 'SUCCEEDED')

  for (const [name, fields] of cloud.operations) {
    if (name !== 'createServerGroup') continue
    assert.deepEqual(fields['secrets'], { ...secrets, NEW: 'n3w-value' })
    assert.deepEqual(fields['environment'], environment)
  }

  const asked = [
    'secrets',
    'secrets.TOKEN.substring(1)',
    'note',
    "#stage('Deploy')['context']",
    'execution',
  ].flatMap((text) => {
    const query = new URLSearchParams({ expression: `\${${text}}` })
    return [
      `/pipelines/${id}/evaluateExpression?${query}`,
      `/pipelines/${id}/${stage.id}/evaluateExpression?${query}`,
    ]
  })
  const views = await Promise.all(
    [`/pipelines/${id}`, `/pipelines?executionIds=${id}`, ...asked].map(async (path) => [
      path,
      (await engine.ask('GET', path)).body,
    ]),
  )
  for (const [path, body] of [...views, ['changed', changed.body], ['events', events]]) {
    const text = JSON.stringify(body)
    for (const secret of ['3cr3t', 'hunter', 'n3w-value'])
      assert.ok(!text.includes(secret), `${String(path)}: ${text}`)
  }
  assert.equal((await engine.stage(id, '3')).outputs['copied'], '******')
  assert.ok(events.length > 0)
})

test('secrets of a task are masked in its variables and steps', async (t) => {
  const cloud = createCloudService()
  cloud.failing.set('createServerGroup', 'The value s3cr3t-value is too weak.')
  const engine = await startEngine(t, {
    others: cloud.call,
    clock: { now: Date.now, pass: () => {}, settled: async () => {} },
  })
  const { note: _, ...job } = deploy
  const id = await engine.task(job)
  await engine.taskEnds(id, 'TERMINAL')
  for (const path of [`/tasks/${id}`, '/tasks', '/applications/app/tasks']) {
    const text = JSON.stringify((await engine.ask('GET', path)).body)
    assert.ok(text.includes('******') && !/s3cr3t|hunter/.test(text), `${path}: ${text}`)
  }
})

test('thousands of secrets are masked in thousands of texts within a moment', () => {
  const secrets = Array.from({ length: 5000 }, (_, index) => `s3cret-of-part-${index}`).toSorted(
    (one, other) => other.length - one.length,
  )
  const texts = Array.from({ length: 20_000 }, (_, index) => `line ${index}`)
  const before = process.threadCpuUsage()

  const shown = maskIn([...texts, 'with s3cret-of-part-4711.', 's3cre'], secrets)
  // Not the time on the clock, in which others work, too.
  const tookMs = process.threadCpuUsage(before).user / 1000

  assert.deepEqual(shown, [...texts, 'with ******.', 's3cre'])
  assert.ok(tookMs < 1500, `${tookMs} ms`)
})

test('views mask passwords in addresses, and what proves the sender of a webhook', async (t) => {
  const engine = await startEngine(t)
  const environment = {
    DATABASE_URL: 'postgres://shop:p%40ss-0001@db/shop',
    CACHE: 'redis://:word@0002@cache',
    PORT: '8080',
  }
  const trigger = {
    type: 'webhook',
    payloadConstraints: { secret: '^open-0003$', signature: 'sign-0004', branch: 'main' },
    payload: {
      secret: 'open-0003',
      signature: 'sign-0004',
      branch: 'main',
      text: 'with open-0003',
    },
  }
  const stages = [{ ...V('1', { seen: '${trigger.payload.secret}' }), environment }]
  const id = await engine.run({ stages, trigger })
  await engine.ends(id, 'SUCCEEDED')
  for (const path of [
    `/pipelines/${id}`,
    `/pipelines?executionIds=${id}&expand=false`,
    `/pipelines/${id}/logs`,
  ]) {
    const shown = JSON.stringify((await engine.ask('GET', path)).body)
    assert.deepEqual(shown.match(/ss-0001|word@?0002|open-0003|sign-0004/g), null, path)
  }
  const {
    trigger: seen,
    stages: [stage],
  } = await engine.execution(id)
  assert.deepEqual(
    [at(seen, 'payload', 'branch'), at(seen, 'payloadConstraints', 'branch')],
    ['main', 'main'],
  )
  assert.equal(
    at(stage, 'context', 'environment', 'DATABASE_URL'),
    'postgres://shop:******@db/shop',
  )
  assert.equal(at(stage, 'context', 'environment', 'PORT'), '8080')
})

test('secrets of an execution are masked in those that it starts, and in the one that started it', async (t) => {
  const engine = await startEngine(t, { backends: [definitionsBackend] })
  const store = async (definition: object) =>
    String(
      at(
        (
          await engine.backends.ask('front50', 'POST', '/pipelines', {
            application: 'app',
            ...definition,
          })
        ).body,
        'id',
      ),
    )
  const last = await store({
    name: 'last',
    stages: [V('1', { seen: '${trigger.parameters.given}' })],
  })
  const own = V('1', { copied: '${environment.DB_PASSWORD}' })
  const child = await store({
    name: 'child',
    stages: [
      { ...own, environment: { DB_PASSWORD: 'of-child-0001' } },
      {
        refId: '2',
        type: 'pipeline',
        pipeline: last,
        requisiteStageRefIds: [],
        pipelineParameters: { given: '${trigger.parameters.given}' },
      },
    ],
  })
  const triggers = [
    { type: 'webhook', source: 'ci', payloadConstraints: { token: '^of-definition-0003$' } },
  ]
  const parent = {
    triggers,
    stages: [
      {
        refId: '1',
        type: 'pipeline',
        pipeline: child,
        pipelineParameters: { given: '${environment.API_TOKEN}' },
        environment: { API_TOKEN: 'of-parent-0002' },
      },
      V('2', { received: '${copied}', written: 'by of-definition-0003' }, '1'),
      { ...V('3', { isSame: "${copied == 'of-child-' + '0001'}" }, '1') },
    ],
  }
  const id = await engine.run(parent)
  await engine.ends(id, 'SUCCEEDED')
  assert.equal((await engine.stage(id, '3')).outputs['isSame'], true, 'stages receive true values')
  assert.equal((await engine.stage(id, '2')).outputs['received'], '******')
  assert.equal((await engine.stage(id, '2')).outputs['written'], 'by ******')
  for (const configId of [child, last]) {
    const path = `/pipelines?pipelineConfigIds=${configId}`
    const [run] = (await engine.ask('GET', path)).body as { trigger: { parameters: object } }[]
    assert.deepEqual(run?.trigger.parameters, { given: '******' }, path)
  }
  for (const path of [
    `/pipelines/${id}`,
    `/pipelines/${id}/logs`,
    `/pipelines?pipelineConfigIds=${child},${last}&limit=5`,
  ]) {
    assert.doesNotMatch(
      JSON.stringify((await engine.ask('GET', path)).body),
      /of-(child|parent|definition)-000/,
      path,
    )
  }
})

test('short values and common words are masked in their own place alone', async (t) => {
  const engine = await startEngine(t)
  const environment = { AUTH_ENABLED: 'true', DB_PASSWORD: 'Production', PIN_TOKEN: '12345' }
  const id = await engine.run({
    stages: [{ ...V('1', { text: 'true in production, Production, 12345' }), environment }],
  })
  await engine.ends(id, 'SUCCEEDED')
  const { context, outputs } = await engine.stage(id, '1')
  assert.deepEqual(context['environment'], {
    AUTH_ENABLED: '******',
    DB_PASSWORD: '******',
    PIN_TOKEN: '******',
  })
  assert.equal(outputs['text'], 'true in production, Production, 12345')
})

test('a search by trigger does not find out a secret', async (t) => {
  const engine = await startEngine(t)
  const trigger = {
    type: 'webhook',
    payloadConstraints: { secret: '^hidden-0001$' },
    payload: { secret: 'hidden-0001', branch: 'main', note: 'hidden-0001' },
  }
  const id = await engine.run({ stages: [], trigger })
  const found = async (payload: object) => {
    const pattern = Buffer.from(JSON.stringify({ payload })).toString('base64')
    const path = `/applications/app/pipelines/search?trigger=${encodeURIComponent(pattern)}`
    return ((await engine.ask('GET', path)).body as { id: string }[]).map((each) => each.id)
  }
  assert.deepEqual(await found({ branch: 'ma.*' }), [id])
  for (const guess of [{ secret: 'h.*' }, { note: 'hid.*' }, { secret: 'hidden-0001' }])
    assert.deepEqual(await found(guess), [])
})
