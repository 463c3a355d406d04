/** Lists of Slack, PagerDuty and Gremlin. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { InTurn, Reply, startUpstream } from '../support/upstream.ts'

test('channels of Slack are collected over its pages and kept', async (t) => {
  const slack = await startUpstream(t, ({ query }: { query: string }) =>
    query.includes('cursor=next')
      ? { ok: true, channels: [{ id: 'C2' }], response_metadata: { next_cursor: '' } }
      : { ok: true, channels: [{ id: 'C1' }], response_metadata: { next_cursor: 'next' } },
  )
  const gateway = await startGateway(t, { slack: { token: 'xoxb', baseUrl: slack.url } })
  for (const _ of [1, 2]) {
    assert.deepEqual(await (await fetch(`${gateway}/slack/channels`)).json(), [
      { id: 'C1' },
      { id: 'C2' },
    ])
  }
  assert.equal(slack.requests.length, 2)
  assert.equal(slack.requests[0]?.headers.authorization, 'Bearer xoxb')
})

test('an error of Slack is told, not an empty list', async (t) => {
  const slack = await startUpstream(t, {
    'GET /conversations.list': { ok: false, error: 'invalid_auth' },
  })
  const gateway = await startGateway(t, { slack: { token: 'xoxb', baseUrl: slack.url } })
  const answer = await fetch(`${gateway}/slack/channels`)
  assert.equal(answer.status, 502)
  assert.match(((await answer.json()) as { message: string }).message, /invalid_auth/)
})

test('a failed refresh keeps the channels of before', async (t) => {
  let nowMs = Date.now()
  const slack = await startUpstream(t, {
    'GET /conversations.list': new InTurn(
      { ok: true, channels: [{ id: 'C1' }] },
      new Reply(500, {}),
    ),
  })
  const gateway = await startGateway(
    t,
    { slack: { token: 'xoxb', baseUrl: slack.url } },
    { now: () => nowMs },
  )
  await fetch(`${gateway}/slack/channels`)
  nowMs += 3_600_000
  assert.deepEqual(await (await fetch(`${gateway}/slack/channels`)).json(), [{ id: 'C1' }])
  assert.equal(slack.requests.length, 2)
})

test('services and people on call of PagerDuty have the fields of Gate', async (t) => {
  const integration = { type: 'generic_events_api_inbound_integration', integration_key: 'key' }
  const policy = { escalation_policy: { id: 'P' } }
  const pagerDuty = await startUpstream(t, {
    'GET /services': {
      services: [
        { id: 'S', name: 'shop', status: 'active', integrations: [integration], ...policy },
      ],
    },
    'GET /oncalls': { oncalls: [2, 1].map((level) => ({ escalation_level: level, ...policy })) },
  })
  const gateway = await startGateway(t, { 'pager-duty': { token: 'pd', baseUrl: pagerDuty.url } })
  assert.deepEqual(await (await fetch(`${gateway}/pagerDuty/services`)).json(), [
    {
      status: 'active',
      integration_key: 'key',
      lastIncidentTimestamp: null,
      name: 'shop',
      id: 'S',
      policy: 'P',
    },
  ])
  const onCalls = (await (await fetch(`${gateway}/pagerDuty/oncalls`)).json()) as {
    P: { escalation_level: number }[]
  }
  assert.deepEqual(
    onCalls.P.map((entry) => entry.escalation_level),
    [1, 2],
  )
  assert.equal(pagerDuty.requests[0]?.headers.authorization, 'Token token=pd')
})

test('templates of Gremlin are read with the key of the user', async (t) => {
  const gremlin = await startUpstream(t, { 'GET /templates/command': [{ guid: 'g' }] })
  const gateway = await startGateway(t, {
    integrations: { gremlin: { enabled: true, baseUrl: gremlin.url } },
  })
  const answer = await fetch(`${gateway}/integrations/gremlin/templates/command`, {
    method: 'POST',
    body: '{"apiKey":"mine"}',
    headers: { 'content-type': 'application/json' },
  })
  assert.deepEqual(await answer.json(), [{ guid: 'g' }])
  assert.equal(gremlin.requests[0]?.headers.authorization, 'Key mine')
})
