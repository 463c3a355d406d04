import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../packages/base/json/values.ts'
import {
  type Receiver,
  type ReceiverAnswer,
  run,
  startNotifying,
  startReceiver,
  untilDeliveries,
} from './support.ts'

const links = { ui: 'console', baseUrl: 'https://cd.example' } as const
const pause = { type: 'wait', refId: '1', name: 'Pause', waitTime: 0 }
const hash = '6dcb09b5b57875f334f61aebed695e2e4193db5e'
const trigger = {
  type: 'git',
  user: 'ann',
  source: 'github',
  project: 'octocat',
  slug: 'hello-world',
  branch: 'main',
  hash,
}

test('Slack gets messages by the token of a bot', async (t) => {
  const receiver = await startReceiver(t, (_number, { channel }) => ({
    status: 200,
    body: channel === '#gone' ? { ok: false, error: 'channel_not_found' } : { ok: true },
  }))
  const token = 'xoxb-1-secret-token'
  const types = { slack: { token, botName: 'Fairlead', baseUrl: `${receiver.url}/api` } }
  const backends = await startNotifying(t, { types, links, allowsLocal: false })

  const when = ['pipeline.complete']
  const notifications = [
    {
      type: 'slack',
      address: 'deployments',
      when,
      message: { 'pipeline.complete': { text: 'a <b> & c' } },
    },
    { type: 'SLACK', address: '#gone', when },
  ]
  const id = await run(backends, { stages: [pause], notifications })
  const [, failed] = await untilDeliveries(backends, id, { status: 'failed' })
  await receiver.until(2)

  const first = receiver.received.find(({ body }) => body['channel'] !== '#gone')
  assert.equal(first?.path, '/api/chat.postMessage')
  assert.equal(first?.headers.authorization, `Bearer ${token}`)
  const link = `<https://cd.example/console/executions/${id}|shop: pipeline "main" has succeeded>`
  assert.deepEqual(first?.body, {
    username: 'Fairlead',
    channel: '#deployments',
    text: `${link}\na &lt;b&gt; &amp; c`,
    unfurl_links: false,
  })
  assert.equal(failed?.['reason'], 'Slack refused the message: channel_not_found.')
})

test('Slack gets messages by an incoming webhook', async (t) => {
  const receiver = await startReceiver(t)
  const types = {
    slack: { token: 'T0/B0/secret', baseUrl: 'https://slack.com/api', hooksUrl: receiver.url },
  }
  const backends = await startNotifying(t, { types, allowsLocal: false })

  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'slack', address: 'any', when: ['pipeline.complete'] }],
  })
  await untilDeliveries(backends, id, { status: 'delivered' })

  assert.equal(receiver.received[0]?.path, '/services/T0/B0/secret')
  assert.equal(receiver.received[0]?.body['text'], '*shop: pipeline "main" has succeeded*')
})

test('Microsoft Teams gets a card with a link', async (t) => {
  const receiver = await startReceiver(t, () => ({ status: 202 }))
  const backends = await startNotifying(t, { types: { microsoftteams: {} }, links })

  const address = `${receiver.url}/webhookb2/1`
  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'microsoftteams', address, when: ['pipeline.complete'] }],
  })
  await untilDeliveries(backends, id, { status: 'delivered' })

  const [card] = objectsOf(receiver.received[0]?.body['attachments'])
  assert.equal(card?.['contentType'], 'application/vnd.microsoft.card.adaptive')
  assert.deepEqual(fieldAt(card, 'content', 'actions'), [
    { type: 'Action.OpenUrl', title: 'Open', url: `https://cd.example/console/executions/${id}` },
  ])
})

test('Google Chat gets a text with a link', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, { types: { googlechat: {} }, links })

  const address = `${receiver.url}/v1/spaces/A/messages?key=k&token=t`
  const id = await run(backends, {
    stages: [pause],
    notifications: [{ type: 'googlechat', address, when: ['pipeline.complete'] }],
  })
  await untilDeliveries(backends, id, { status: 'delivered' })

  assert.equal(receiver.received[0]?.path, '/v1/spaces/A/messages?key=k&token=t')
  const link = `<https://cd.example/console/executions/${id}|Open>`
  assert.equal(receiver.received[0]?.body['text'], `*shop: pipeline "main" has succeeded*\n${link}`)
})

interface RecordedExchange {
  readonly type: string
  readonly settings: (url: string) => object
  readonly path: string
  readonly header: readonly [string, string]
  readonly bodies: readonly JsonObject[]
  /** As the server has answered, shortened. */
  readonly answer: ReceiverAnswer
}

const subject = (word: string) => `shop: pipeline "main" has ${word}`

/** Recorded exchanges: requests and responses as the documentation of each API shows them, not answers of the servers themselves. */
const recorded: readonly RecordedExchange[] = [
  {
    type: 'githubStatus',
    settings: (url) => ({ token: 'gh-token', endpoint: url }),
    path: `/repos/octocat/hello-world/statuses/${hash}`,
    header: ['authorization', 'Bearer gh-token'],
    bodies: [
      { state: 'pending', context: 'fairlead/shop/pipeline/main', description: subject('started') },
      {
        state: 'success',
        context: 'fairlead/shop/pipeline/main',
        description: subject('succeeded'),
      },
    ],
    answer: {
      status: 201,
      body: { id: 1, state: 'success', context: 'fairlead/shop/pipeline/main' },
    },
  },
  {
    type: 'gitlabStatus',
    settings: (url) => ({ token: 'gl-token', endpoint: url }),
    path: `/api/v4/projects/octocat%2Fhello-world/statuses/${hash}`,
    header: ['private-token', 'gl-token'],
    bodies: [
      { state: 'running', name: 'fairlead/shop/pipeline/main', description: subject('started') },
      { state: 'success', name: 'fairlead/shop/pipeline/main', description: subject('succeeded') },
    ],
    answer: {
      status: 201,
      body: {
        status: 'success',
        sha: hash,
        name: 'fairlead/shop/pipeline/main',
        allow_failure: false,
      },
    },
  },
  {
    type: 'giteaStatus',
    settings: (url) => ({ token: 'gt-token', endpoint: url }),
    path: `/api/v1/repos/octocat/hello-world/statuses/${hash}`,
    header: ['authorization', 'token gt-token'],
    bodies: [
      { state: 'pending', context: 'fairlead/shop/pipeline/main', description: subject('started') },
      {
        state: 'success',
        context: 'fairlead/shop/pipeline/main',
        description: subject('succeeded'),
      },
    ],
    answer: {
      status: 201,
      body: { id: 1, status: 'success', context: 'fairlead/shop/pipeline/main' },
    },
  },
]

for (const { type, settings, path, header, bodies, answer } of recorded) {
  test(`${type} sets the status of the trigger's commit (recorded exchange)`, async (t) => {
    const receiver: Receiver = await startReceiver(t, () => answer)
    const backends = await startNotifying(t, {
      types: { [type]: settings(receiver.url) },
      allowsLocal: false,
    })
    await declare(backends)

    const notifications = [
      { type, when: ['pipeline.starting', 'pipeline.complete', 'pipeline.failed'] },
    ]
    const id = await run(backends, { stages: [pause], trigger, notifications })
    await untilDeliveries(backends, id, { status: 'delivered', count: 2 })

    assert.deepEqual(
      receiver.received.map((each) => each.path),
      [path, path],
    )
    assert.equal(receiver.received[0]?.headers[header[0]], header[1])
    assert.deepEqual(
      receiver.received.map(({ body }) => body),
      bodies,
    )
  })
}

async function declare(
  backends: Awaited<ReturnType<typeof startNotifying>>,
  repoType = '',
): Promise<void> {
  const application = {
    name: 'shop',
    email: 'a@b.c',
    repoType,
    repoProjectKey: 'octocat',
    repoSlug: 'hello-world',
  }
  const { status } = await backends.ask('front50', 'POST', '/v2/applications', application)
  assert.ok(status < 300)
}

for (const [address, host] of [
  ['bank/payments', 'gitea'],
  ['octocat/hello-world2', ''],
  ['octocat/hello-world/x', ''],
  ['octocat/hello-world.git', ''],
  ['octocat/hello-world', 'github'],
] as const) {
  test(`the commits of ${address}, which the application does not declare at Gitea, are not marked`, async (t) => {
    const receiver = await startReceiver(t)
    const backends = await startNotifying(t, {
      types: { giteaStatus: { token: 'x', endpoint: receiver.url } },
    })
    await declare(backends, host)
    const notifications = [{ type: 'giteaStatus', address, when: ['pipeline.complete'] }]
    const id = await run(backends, { stages: [pause], trigger, notifications })
    const [failed] = await untilDeliveries(backends, id, { status: 'failed' })
    assert.match(
      String(failed?.['reason']),
      /does not declare the repository .* Set its attributes repoProjectKey/,
    )
    assert.equal(receiver.received.length, 0)
  })
}

test('a commit status of a run without commit fails with the reason', async (t) => {
  const backends = await startNotifying(t, {
    types: { githubStatus: { token: 'x', endpoint: 'http://127.0.0.1:1' } },
  })

  const notifications = [{ type: 'githubStatus', when: ['pipeline.complete'] }]
  const id = await run(backends, { stages: [pause], notifications })
  const [failed] = await untilDeliveries(backends, id, { status: 'failed' })

  assert.match(String(failed?.['reason']), /^The run has no commit: /)
})

test('a repository in the address cannot lead elsewhere', async (t) => {
  const receiver = await startReceiver(t)
  const backends = await startNotifying(t, {
    types: { githubStatus: { token: 'x', endpoint: receiver.url } },
  })

  const notifications = [
    { type: 'githubStatus', address: 'shop/../admin', when: ['pipeline.complete'] },
  ]
  const id = await run(backends, { stages: [pause], trigger, notifications })
  await untilDeliveries(backends, id, { status: 'failed' })

  assert.equal(receiver.received.length, 0)
})

test('the metadata name the kinds that are switched on', async (t) => {
  const backends = await startNotifying(t, {
    types: { webhook: { secret: 's' }, microsoftteams: {} },
  })

  const { body } = await backends.ask('echo', 'GET', '/notifications/metadata')

  const parameters = (label: string, description: string) => [
    { name: 'address', type: 'string', label, description, defaultValue: '' },
  ]
  assert.deepEqual(body, [
    {
      notificationType: 'microsoftteams',
      uiType: 'CUSTOM',
      label: 'Microsoft Teams',
      parameters: parameters('Webhook', 'Address of the webhook of a channel.'),
    },
    {
      notificationType: 'webhook',
      uiType: 'BASIC',
      label: 'Webhook',
      parameters: parameters('Address', 'Receives JSON by POST.'),
    },
  ])
})

test('a test says whether the receiver took it', async (t) => {
  const receiver = await startReceiver(t, (number) => ({ status: number === 0 ? 200 : 404 }))
  const backends = await startNotifying(t, { types: { webhook: { secret: 's' } } })
  const send = async (body: JsonObject) =>
    (
      await backends.ask(
        'echo',
        'POST',
        '/notifications/test',
        { application: 'shop', ...body },
        { 'x-spinnaker-user': 'ann' },
      )
    ).body

  const good = await send({ type: 'webhook', address: receiver.url })
  const bad = await send({ type: 'webhook', address: receiver.url })
  const unknown = await send({ type: 'slack', address: 'ops' })
  const incomplete = await backends.ask('echo', 'POST', '/notifications/test', { type: 'webhook' })

  assert.deepEqual(good, { delivered: true })
  assert.match(String(receiver.received[0]?.body['text']), /ann has sent it/)
  assert.deepEqual(bad, {
    delivered: false,
    reason: `${new URL(receiver.url).host} answered with status 404.`,
  })
  assert.match(String((unknown as JsonObject)['reason']), /slack\.enabled/)
  assert.equal(incomplete.status, 400)
})
