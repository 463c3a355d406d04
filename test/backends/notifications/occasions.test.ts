import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type JsonObject, objectsOf } from '../../../packages/base/json/values.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { waitFor } from '../../support/wait-until.ts'
import { executionOf, run, startNotifying, startReceiver, untilDeliveries } from './support.ts'

const types = { webhook: { enabled: true, secret: 'signing-key-1' } }
const links = { ui: 'console', baseUrl: 'https://cd.example' } as const
const pause = { type: 'wait', refId: '1', name: 'Pause', waitTime: 0 }
const failing = {
  type: 'checkPreconditions',
  refId: '1',
  name: 'Check',
  preconditions: [precondition('false')],
}

function precondition(expression: string): JsonObject {
  return { type: 'expression', context: { expression }, failPipeline: true }
}

function hook(url: string, ...when: string[]): JsonObject {
  return { type: 'webhook', address: url, when }
}

test('events-scenario 33: a notification of failures comes for a failure alone', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types })
  const notifications = [hook(receiver.url, 'pipeline.failed')]

  const good = await run(backends, { stages: [pause], notifications })
  await waitFor(
    async () => ((await executionOf(backends, good))['status'] === 'SUCCEEDED' ? true : undefined),
    'the success',
  )
  const canceled = await run(backends, { stages: [{ ...pause, waitTime: 3_600 }], notifications })
  await backends.ask('orca', 'PUT', `/pipelines/${canceled}/cancel`)
  await waitFor(
    async () =>
      (await executionOf(backends, canceled))['status'] === 'CANCELED' ? true : undefined,
    'the cancellation',
  )
  const bad = await run(backends, { stages: [failing], notifications })
  await untilDeliveries(backends, bad, { status: 'delivered' })

  assert.deepEqual(
    receiver.received.map(({ body }) => [(body['execution'] as JsonObject)['id'], body['subject']]),
    [[bad, 'shop: pipeline "main" has failed']],
  )
})

test('events-scenario 33: an event of an external orchestrator is notified once', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types })
  const execution = {
    id: '01X',
    application: 'shop',
    name: 'main',
    notifications: [hook(receiver.url, 'pipeline.failed')],
  }
  const report = (phase: string, more: JsonObject = {}) =>
    backends.ask('echo', 'POST', '/', {
      details: { source: 'orca', type: `orca:pipeline:${phase}`, application: 'shop' },
      content: { execution: { ...execution, endTime: 1, ...more }, executionId: '01X' },
    })

  await report('complete')
  await report('failed', { canceled: true })
  await report('failed')
  await report('failed')
  await report('failed', { endTime: 2 })
  await receiver.until(2)

  assert.deepEqual(
    receiver.received.map(({ body }) => body['occasion']),
    ['pipeline.failed', 'pipeline.failed'],
  )
})

test('a rollback says from what to what, by whom and why', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types })
  await backends.ask('echo', 'POST', '/', {
    details: { source: 'orca', type: 'orca:rollback:complete', application: 'shop' },
    content: {
      execution: { id: '01X', application: 'shop', name: 'Roll back' },
      stageId: '01S',
      context: { sendNotifications: true, notifications: [hook(receiver.url, 'rollback')] },
      rollback: {
        from: 'shop-v002',
        to: 'shop-v001',
        account: 'prod',
        user: 'ann',
        reason: 'slow',
      },
    },
  })
  await receiver.until(1)
  const { occasion, phase, subject, text } = receiver.received[0]?.body ?? {}
  assert.deepEqual([occasion, phase], ['rollback', 'failed'])
  assert.equal(subject, 'shop: shop-v002 was rolled back to shop-v001 in prod')
  assert.equal(text, `${subject}\n\nBy ann: slow`)
})

test('notifications of the application and of all join those of the pipeline', async (t) => {
  const [own, ofApplication, ofAll] = [
    await startReceiver(t),
    await startReceiver(t),
    await startReceiver(t),
  ]
  const backends = await startNotifying(t, { types })
  const record = {
    webhook: [
      { address: ofApplication.url, when: ['pipeline.complete'] },
      hook(own.url, 'pipeline.complete'),
    ],
  }
  await backends.ask('front50', 'POST', '/notifications/application/shop', record)
  const admin = { 'x-spinnaker-user': 'root' }
  await backends.ask(
    'front50',
    'POST',
    '/notifications/global/global',
    { webhook: [hook(ofAll.url, 'pipeline.complete')] },
    admin,
  )

  const id = await run(backends, {
    stages: [pause],
    notifications: [hook(own.url, 'pipeline.complete')],
  })
  await untilDeliveries(backends, id, { status: 'delivered', count: 3 })

  assert.deepEqual(
    [own.received.length, ofApplication.received.length, ofAll.received.length],
    [1, 1, 1],
  )
})

test('a stage notifies of its start and its end, if it is switched on', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types, links })
  const notifications = [hook(receiver.url, 'stage.starting', 'stage.complete')]

  const stages = [
    { ...pause, sendNotifications: true, notifications },
    { ...pause, refId: '2', name: 'Silent', requisiteStageRefIds: ['1'], notifications },
  ]
  const id = await run(backends, { stages })
  await untilDeliveries(backends, id, { status: 'delivered', count: 2 })
  const { stages: ran } = await executionOf(backends, id)

  const stageId = String(objectsOf(ran)[0]?.['id'])
  assert.deepEqual(
    receiver.received.map(({ body }) => [body['subject'], body['link']]),
    [
      [
        'shop: stage "Pause" of pipeline "main" has started',
        `https://cd.example/console/executions/${id}?stage=${stageId}`,
      ],
      [
        'shop: stage "Pause" of pipeline "main" has succeeded',
        `https://cd.example/console/executions/${id}?stage=${stageId}`,
      ],
    ],
  )
})

test('events-scenario 38: a judgment notifies when it waits, with a link that opens it', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types, links })
  const stage = {
    type: 'manualJudgment',
    refId: '1',
    name: 'Approve',
    instructions: 'Look at the canary.',
    sendNotifications: true,
    notifications: [
      {
        ...hook(receiver.url, 'manualJudgment', 'manualJudgmentContinue', 'manualJudgmentStop'),
        message: { manualJudgment: { text: 'Please decide.' } },
      },
    ],
  }

  const id = await run(backends, { stages: [stage] })
  await receiver.until(1)
  const stageId = String(objectsOf((await executionOf(backends, id))['stages'])[0]?.['id'])
  await backends.ask('orca', 'PATCH', `/pipelines/${id}/stages/${stageId}`, {
    judgmentStatus: 'continue',
  })
  await untilDeliveries(backends, id, { status: 'delivered', count: 2 })

  const [asked, given] = receiver.received
  assert.equal(
    asked?.body['text'],
    'shop: stage "Approve" of pipeline "main" waits for a judgment\n\nLook at the canary.\n\nPlease decide.',
  )
  assert.equal(asked?.body['link'], `https://cd.example/console/executions/${id}?stage=${stageId}`)
  assert.equal(given?.body['occasion'], 'manualJudgmentContinue')
})

test('texts of the author have their expressions evaluated, and secrets masked', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types })
  const text =
    '${parameters.version} by ${trigger.user}: ${#stage("Pause").context.headers.authorization}'
  const message = { 'pipeline.complete': { text } }

  const id = await run(backends, {
    stages: [{ ...pause, headers: { authorization: 'Bearer very-secret-token' } }],
    trigger: { type: 'manual', user: 'ann', parameters: { version: '1.2.3' } },
    notifications: [{ ...hook(receiver.url, 'pipeline.complete'), message }],
  })
  await untilDeliveries(backends, id, { status: 'delivered' })

  const sent = String(receiver.received[0]?.body['text'])
  assert.match(sent, /\n\n1\.2\.3 by ann: /)
  assert.ok(!sent.includes('very-secret-token'))
})

test('a custom message replaces the usual one', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types, links })
  const customMessage = 'Done: {{executionId}} at {{link}}'

  const id = await run(backends, {
    stages: [pause],
    notifications: [{ ...hook(receiver.url, 'pipeline.complete'), customMessage }],
  })
  await receiver.until(1)

  assert.equal(
    receiver.received[0]?.body['text'],
    `Done: ${id} at https://cd.example/console/executions/${id}`,
  )
})

test('events-scenario 39: a definition with a kind that nothing delivers is warned of', async (t) => {
  const lines: Record<string, unknown>[] = []
  const backends = await startNotifying(t, { types, log: (line) => lines.push(line) })
  await backends.ask('front50', 'POST', '/v2/applications', { name: 'shop', email: 'a@b.example' })

  const definition = {
    application: 'shop',
    name: 'main',
    notifications: [{ type: 'slack', address: 'ops', when: [] }, hook('https://x.example')],
    stages: [{ ...pause, sendNotifications: true, notifications: [{ type: 'email' }] }],
  }
  const { body } = await backends.ask('orca', 'POST', '/findings/pipeline', definition)

  const advice = (kind: string, key: string) =>
    `Nothing delivers notifications of the kind "${kind}". Switch them on with ${key}.`
  const found = (body as { place: string; message: string }[]).filter(
    ({ place }) => place === 'notifications',
  )
  assert.deepEqual(
    found.map(({ message }) => message),
    [advice('slack', 'slack.enabled'), advice('email', 'mail.enabled')],
  )
})

test('stored notifications that nothing delivers are logged at the start', async (t) => {
  const dataDir = createFolder('notifications')
  const first = await startNotifying(t, { types, dataDir })
  const record = { slack: [{ address: 'ops', when: ['pipeline.failed'] }] }
  await first.ask('front50', 'POST', '/notifications/application/shop', record)
  await first.stop()
  const lines: Record<string, unknown>[] = []

  await startNotifying(t, { types, dataDir, log: (line) => lines.push(line) })
  const line = await waitFor(
    () => lines.find(({ msg }) => msg === 'notifications are not delivered'),
    'the line',
  )

  assert.equal(
    line['problem'],
    'Nothing delivers notifications of the kind "slack". Switch them on with slack.enabled.',
  )
  assert.deepEqual(line['examples'], ['application shop'])
})
