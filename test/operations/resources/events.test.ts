/** Starts by way of the event service, webhooks, callbacks of chat tools, timer checks. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Reply } from '../../support/upstream.ts'
import { startPlatform } from './platform.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ulid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

test('events-scenario 1: a start by name becomes an event', async (t) => {
  const platform = await startPlatform(t, { answers: { 'POST /echo/': new Reply(200) } })

  const answer = await platform.ask('POST /pipelines/v2/demo/build', {
    type: 'manual',
    parameters: { a: '1' },
  })

  const { eventId, ref } = answer.body as { eventId: string; ref: string }
  assert.equal(answer.status, 202)
  assert.match(eventId, uuid)
  assert.match(ref, /^\/pipelines\/[^/]+$/)
  const executionId = ref.slice('/pipelines/'.length)
  assert.match(executionId, ulid)
  const [sent] = platform.requests()
  assert.deepEqual(platform.calls(), ['echo POST /'])
  assert.equal(sent?.headers['x-spinnaker-application'], 'demo')
  assert.deepEqual(JSON.parse(sent?.body ?? ''), {
    details: { type: 'manual' },
    eventId,
    content: {
      application: 'demo',
      pipelineNameOrId: 'build',
      user: 'anonymous',
      trigger: { type: 'manual', parameters: { a: '1' }, eventId, executionId },
    },
  })
})

test('a start needs no body, and names may hold spaces', async (t) => {
  const platform = await startPlatform(t, { answers: { 'POST /echo/': new Reply(200) } })
  const answer = await platform.ask('POST /pipelines/v2/demo/build%20v1.0')
  assert.equal(answer.status, 202)
  const sent = JSON.parse(platform.requests()[0]?.body ?? '') as {
    content: { pipelineNameOrId: string }
  }
  assert.equal(sent.content.pipelineNameOrId, 'build v1.0')
})

test('ids that a client sends in the trigger are replaced', async (t) => {
  const platform = await startPlatform(t, { answers: { 'POST /echo/': new Reply(200) } })
  await platform.ask('POST /pipelines/v2/demo/build', { executionId: 'chosen', eventId: 'chosen' })
  assert.doesNotMatch(platform.requests()[0]?.body ?? '', /chosen/)
})

test('a start that the event service refuses keeps its status', async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'POST /echo/': new Reply(503, { message: 'later' }) },
  })
  assert.equal((await platform.ask('POST /pipelines/v2/demo/build', {})).status, 503)
})

for (const body of ['[]', '"text"', '{']) {
  test(`a start with the body ${body} is refused without a call`, async (t) => {
    const platform = await startPlatform(t)
    assert.equal((await platform.ask('POST /pipelines/v2/demo/build', body)).status, 400)
    assert.deepEqual(platform.calls(), [])
  })
}

const webhookAnswer = { eventProcessed: true, eventId: 'e1' }

test('events-scenario 12: a webhook without a body is an empty object', async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'POST /echo/webhooks/webhook/ci': webhookAnswer },
  })

  const answer = await platform.ask('POST /webhooks/webhook/ci')

  assert.deepEqual([answer.status, answer.body], [200, webhookAnswer])
  assert.equal(platform.requests()[0]?.body, '{}')
})

test('events-scenario 15: a webhook is passed on byte for byte', async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'POST /echo/webhooks/git/github': webhookAnswer },
  })
  const body = '{ "z": 1.10,\n "a": 12345678901234567890, "é": "\\u00e9" }'
  const signature = `sha1=${createHmac('sha1', 's').update(body).digest('hex')}`

  const answer = await platform.ask('POST /webhooks/git/github', body, {
    'x-hub-signature': signature,
    'x-github-event': 'push',
    'x-event-key': 'repo:push',
    'x-other': 'no',
    cookie: 'SESSION=secret',
  })

  assert.equal(answer.status, 200)
  const [sent] = platform.requests()
  assert.equal(sent?.body, body)
  const { headers } = sent
  assert.equal(headers['x-hub-signature'], signature)
  assert.equal(headers['x-github-event'], 'push')
  assert.equal(headers['x-event-key'], 'repo:push')
  assert.equal(headers['x-spinnaker-anonymous'], 'anonymous')
  assert.deepEqual([headers['x-other'], headers.cookie], [undefined, undefined])
})

for (const [type, body, sent] of [
  ['text/plain', 'new version', 'text/plain'],
  ['application/json', '[1]', 'application/json'],
  ['application/xml', '<a/>', 'application/xml'],
  ['text/plain', ' {"a": 1}', 'application/json; charset=UTF-8'],
] as const) {
  test(`a webhook with ${body.trim()} as ${type} reaches the event service as ${sent}`, async (t) => {
    const platform = await startPlatform(t, {
      answers: { 'POST /echo/webhooks/webhook/ci': webhookAnswer },
    })
    await platform.ask('POST /webhooks/webhook/ci', body, { 'content-type': type })
    const [request] = platform.requests()
    assert.deepEqual([request?.headers['content-type'], request?.body], [sent, body])
  })
}

test("a webhook with curl's form type is passed on", async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'POST /echo/webhooks/webhook/ci': webhookAnswer },
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal(
    (await platform.ask('POST /webhooks/webhook/ci', '{"parameters":{}}', headers)).status,
    200,
  )
  assert.equal(platform.requests()[0]?.headers['content-type'], 'application/json; charset=UTF-8')
})

test("an unknown source keeps the event service's status", async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'POST /echo/webhooks/git/svn': new Reply(400, { message: 'svn is unknown' }) },
  })
  const answer = await platform.ask('POST /webhooks/git/svn', {})
  assert.equal(answer.status, 400)
  assert.match((answer.body as { message: string }).message, /svn is unknown/)
})

const event = { id: '1', specversion: '1.0', type: 'dev.cdevents.x', source: '/ci' }
const data = { customData: { name: 'é' } }

for (const [form, body, headers] of [
  ['whole', { ...event, data }, { 'content-type': 'application/cloudevents+json' }],
  [
    'binary',
    data,
    { 'ce-id': '1', 'ce-specversion': '1.0', 'ce-type': 'dev.cdevents.x', 'ce-source': '/ci' },
  ],
] as const) {
  test(`the event service gets attributes and data of ${form} CloudEvents`, async (t) => {
    const platform = await startPlatform(t, {
      answers: { 'POST /echo/webhooks/cdevents/ci': webhookAnswer },
    })

    const answer = await platform.ask('POST /webhooks/cdevents/ci', body, headers)

    assert.equal(answer.status, 200)
    const [sent] = platform.requests()
    assert.deepEqual(JSON.parse(String(sent?.headers['ce-data'])), data)
    assert.deepEqual(
      [sent?.headers['ce-type'], sent?.headers['ce-source']],
      ['dev.cdevents.x', '/ci'],
    )
    assert.deepEqual(JSON.parse(sent?.body ?? ''), data)
  })
}

test('an event that is not a JSON object is refused', async (t) => {
  const platform = await startPlatform(t)
  for (const body of ['{', '[1]', 'null'])
    assert.equal((await platform.ask('POST /webhooks/cdevents/ci', body)).status, 400)
  assert.deepEqual(platform.calls(), [])
})

for (const [service, line, path] of [
  ['echo', 'POST /notifications/callbacks/slack', '/notifications/callbacks/slack'],
  ['keel', 'POST /managed/notifications/callbacks/slack', '/slack/notifications/callbacks'],
] as const) {
  test(`${line} relays body and headers, but no credentials`, async (t) => {
    const platform = await startPlatform(t, {
      answers: { [`POST /${service}${path}`]: { ok: true } },
    })
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-signature': 'v0=abc',
      authorization: 'Bearer secret',
      cookie: 'SESSION=secret',
      'x-spinnaker-user': 'admin',
    }

    const answer = await platform.ask(line, 'payload=%7B%7D', headers)

    assert.deepEqual([answer.status, answer.body], [200, { ok: true }])
    const [sent] = platform.requests()
    assert.equal(sent?.body, 'payload=%7B%7D')
    assert.equal(sent?.headers['content-type'], 'application/x-www-form-urlencoded')
    assert.equal(sent?.headers['x-slack-signature'], 'v0=abc')
    assert.doesNotMatch(JSON.stringify(sent?.headers), /secret|"admin"/)
  })
}

test('events-scenario 26: a valid timer expression is described', async (t) => {
  const answers = {
    'GET /echo/validateCronExpression': { response: 'valid', description: 'at noon' },
  }
  const platform = await startPlatform(t, { answers })
  const answer = await platform.ask('GET /cron/validate?expression=0%200%2012%20*%20*%20%3F')
  assert.deepEqual(
    [answer.status, answer.body],
    [200, { valid: true, response: 'valid', description: 'at noon' }],
  )
  assert.deepEqual(platform.calls(), [
    'echo GET /validateCronExpression?cronExpression=0%200%2012%20*%20*%20%3F',
  ])
})

test('a wrong timer expression is explained', async (t) => {
  const answers = {
    'GET /echo/validateCronExpression': new Reply(400, { message: 'x is no minute' }),
  }
  const platform = await startPlatform(t, { answers })
  const answer = await platform.ask('GET /cron/validate?expression=x')
  assert.deepEqual([answer.status, answer.body], [200, { valid: false, message: 'x is no minute' }])
})

test('a cleared timer expression is an answer, too', async (t) => {
  const answers = { 'GET /echo/validateCronExpression': new Reply(400, { message: 'it is empty' }) }
  const platform = await startPlatform(t, { answers })
  const answer = await platform.ask('GET /cron/validate?expression=')
  assert.deepEqual([answer.status, answer.body], [200, { valid: false, message: 'it is empty' }])
  assert.deepEqual(platform.calls(), ['echo GET /validateCronExpression?cronExpression='])
})

test('a timer expression is required', async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'GET /echo/validateCronExpression': new Reply(500) },
  })
  assert.equal((await platform.ask('GET /cron/validate')).status, 400)
  assert.equal((await platform.ask('GET /cron/validate?expression=x')).status, 500)
})

test('a webhook sent as a form is refused with the remedy', async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'POST /echo/webhooks/git/github': webhookAnswer },
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
  const form = await platform.ask(
    'POST /webhooks/git/github',
    'payload=%7B%22ref%22%3A1%7D',
    headers,
  )
  assert.equal(form.status, 415)
  assert.match(
    (form.body as { message: string }).message,
    /content type of the webhook to application\/json/,
  )
  assert.deepEqual(platform.calls(), [])

  // The content type that curl gives to everything.
  for (const body of ['{"ref": "a=b"}', ' {"ref":1}', '']) {
    assert.equal((await platform.ask('POST /webhooks/git/github', body, headers)).status, 200, body)
  }
})
