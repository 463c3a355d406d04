import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { waitFor } from '../../support/wait-until.ts'
import { executionOf, run, startNotifying, startReceiver, untilDeliveries } from './support.ts'

const types = { webhook: { enabled: true, secret: 'signing-key-1' } }
const passing = [{ type: 'wait', refId: '1', name: 'Pause', waitTime: 0 }]

function hook(url: string, ...when: string[]): JsonObject {
  return { type: 'webhook', address: `${url}/hook?token=hidden-token`, level: 'pipeline', when }
}

test('a webhook gets a signed message with a link', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, {
    types,
    links: { ui: 'console', baseUrl: 'https://cd.example' },
  })

  const id = await run(backends, {
    stages: passing,
    notifications: [hook(receiver.url, 'pipeline.starting', 'pipeline.complete')],
  })
  await untilDeliveries(backends, id, { status: 'delivered', count: 2 })

  const [started, completed] = receiver.received
  assert.ok(started && completed)
  assert.equal(started.body['occasion'], 'pipeline.starting')
  assert.equal(completed.body['subject'], 'shop: pipeline "main" has succeeded')
  assert.equal(completed.body['link'], `https://cd.example/console/executions/${id}`)
  const signature = createHmac('sha256', 'signing-key-1').update(completed.text).digest('hex')
  assert.equal(completed.headers['x-fairlead-signature-256'], `sha256=${signature}`)
  assert.equal(completed.headers['idempotency-key'], completed.body['id'])
})

test('links lead to Deck where it is configured', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, {
    types,
    links: { ui: 'deck', baseUrl: 'https://deck.example' },
  })

  const id = await run(backends, {
    stages: passing,
    notifications: [hook(receiver.url, 'pipeline.complete')],
  })
  await receiver.until(1)

  assert.equal(
    receiver.received[0]?.body['link'],
    `https://deck.example/#/applications/shop/executions/details/${id}`,
  )
})

test('events-scenario 37: the execution shows what became of its notifications, without secrets', async (t) => {
  const lines: string[] = []
  const receiver = await startReceiver(t, (number) => ({ status: number === 0 ? 200 : 410 }))
  const backends = await startNotifying(t, {
    types,
    log: (line) => lines.push(JSON.stringify(line)),
  })

  const notifications = [hook(receiver.url, 'pipeline.starting', 'pipeline.complete')]
  const id = await run(backends, { stages: passing, notifications })
  const deliveries = await untilDeliveries(backends, id, { status: 'failed' })

  const shown = deliveries.map(({ when, status, address, reason, attempts }) => ({
    when,
    status,
    address,
    reason,
    attempts,
  }))
  const host = new URL(receiver.url).host
  assert.deepEqual(shown, [
    {
      when: 'pipeline.starting',
      status: 'delivered',
      address: `http://${host}/…`,
      reason: undefined,
      attempts: 1,
    },
    {
      when: 'pipeline.complete',
      status: 'failed',
      address: `http://${host}/…`,
      reason: `${host} answered with status 410.`,
      attempts: 1,
    },
  ])
  assert.ok(lines.some((line) => line.includes('a notification was not delivered')))
  assert.ok(!lines.join('\n').includes('hidden-token'))
  assert.ok(!lines.join('\n').includes('signing-key-1'))
})

test('events-scenario 36: a server error is tried again until it passes', async (t) => {
  const receiver = await startReceiver(t, (number) => ({ status: number < 3 ? 503 : 200 }))
  const backends = await startNotifying(t, { types })

  const id = await run(backends, {
    stages: passing,
    notifications: [hook(receiver.url, 'pipeline.complete')],
  })
  const [delivery] = await untilDeliveries(backends, id, { status: 'delivered' })

  assert.equal(delivery?.['attempts'], 4)
  assert.equal(new Set(receiver.received.map(({ headers }) => headers['idempotency-key'])).size, 1)
})

test('a receiver that asks for a pause gets it', async (t) => {
  const receiver = await startReceiver(t, () => ({
    status: 429,
    headers: { 'retry-after': '1800' },
  }))
  const backends = await startNotifying(t, { types, pauses: { maxAgeMs: 3_600_000 } })

  const id = await run(backends, {
    stages: passing,
    notifications: [hook(receiver.url, 'pipeline.complete')],
  })
  await receiver.until(1)
  const waiting = await waitFor(async () => {
    const [delivery] = (await executionOf(backends, id))['notificationDeliveries'] as JsonObject[]
    return delivery?.['reason'] === undefined ? undefined : delivery
  }, 'an attempt')

  assert.match(String(waiting['reason']), /answered with status 429/)
  assert.ok(Number(waiting['nextAttemptTime']) - Number(waiting['changedTime']) >= 1_799_000)
  assert.equal(receiver.received.length, 1)
})

test('a receiver that hangs holds up no other', async (t) => {
  const hanging = await startReceiver(t, () => undefined)
  const prompt = await startReceiver(t)
  const backends = await startNotifying(t, { types, pauses: { timeoutMs: 300 } })

  const notifications = [
    hook(hanging.url, 'pipeline.complete'),
    hook(prompt.url, 'pipeline.complete'),
  ]
  const id = await run(backends, { stages: passing, notifications })
  await untilDeliveries(backends, id, { status: 'delivered' })
  await hanging.until(2)

  const [late] = (await executionOf(backends, id))['notificationDeliveries'] as JsonObject[]
  assert.equal(late?.['status'], 'waiting')
  assert.match(String(late?.['reason']), /did not answer within 0.3 s/)
})

test('a delivery that never succeeds fails with its reason', async (t) => {
  const receiver = await startReceiver(t, () => ({ status: 500 }))
  const backends = await startNotifying(t, { types, pauses: { maxAgeMs: 100 } })

  const id = await run(backends, {
    stages: passing,
    notifications: [hook(receiver.url, 'pipeline.complete')],
  })
  const [failed] = await untilDeliveries(backends, id, { status: 'failed' })

  assert.match(
    String(failed?.['reason']),
    /answered with status 500\. It was given up after \d+ attempts\./,
  )
})

test('a redirect is not followed', async (t) => {
  const receiver = await startReceiver(t, () => ({
    status: 302,
    headers: { location: 'http://127.0.0.1:1/' },
  }))
  const backends = await startNotifying(t, { types })

  const id = await run(backends, {
    stages: passing,
    notifications: [hook(receiver.url, 'pipeline.complete')],
  })
  const [failed] = await untilDeliveries(backends, id, { status: 'failed' })

  assert.match(String(failed?.['reason']), /redirects \(302\), which is not followed/)
})

test('an internal address is refused unless it is allowed', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types, allowsLocal: false })

  const id = await run(backends, {
    stages: passing,
    notifications: [hook(receiver.url, 'pipeline.complete')],
  })
  const [failed] = await untilDeliveries(backends, id, { status: 'failed' })

  assert.match(
    String(failed?.['reason']),
    /^Notifications must not call 127\.0\.0\.1:\d+: it is internal/,
  )
  assert.equal(receiver.received.length, 0)
})

test('events-scenario 39: a kind that nothing delivers is seen in the execution', async (t) => {
  const backends = await startNotifying(t, { types })

  const notifications = [
    { type: 'slack', address: '#ops', when: ['pipeline.complete'] },
    { type: 'sms', address: '123', when: ['pipeline.complete'] },
  ]
  const id = await run(backends, { stages: passing, notifications })
  const failed = await untilDeliveries(backends, id, { status: 'failed', count: 2 })

  assert.deepEqual(
    failed.map(({ reason }) => reason),
    [
      'Nothing delivers notifications of the kind "slack". Switch them on with slack.enabled.',
      'Nothing delivers notifications of the kind "sms". Use one of email, slack, microsoftteams, googlechat, webhook, githubStatus, ' +
        'gitlabStatus, giteaStatus.',
    ],
  )
})
