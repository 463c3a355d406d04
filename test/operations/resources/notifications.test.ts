/** Notifications through the gateway, with the embedded services. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../../support/gateway.ts'

async function send(url: string, method: string, path: string, body?: unknown) {
  const answer = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    headers: answer.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

test('saved notifications that nothing delivers are answered with a warning', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })
  const path = '/notifications/application/shop'

  const saved = await send(url, 'POST', path, {
    slack: [{ address: 'ops', when: ['pipeline.failed'] }],
    email: [],
  })

  assert.equal(saved.status, 200)
  assert.equal(saved.body, undefined)
  const warning =
    'Nothing delivers notifications of the kind "slack". Switch them on with slack.enabled.'
  assert.equal(saved.headers.get('x-fairlead-warnings'), warning)
  assert.equal(
    (await send(url, 'POST', path, { email: [] })).headers.get('x-fairlead-warnings'),
    null,
  )
})

test('a test of a kind that is switched off says how to switch it on', async (t) => {
  const url = await startGateway(t, {}, { embedded: true })

  const tested = await send(url, 'POST', '/notifications/application/shop/test', {
    type: 'email',
    address: 'a@shop.example',
  })

  const reason =
    'Nothing delivers notifications of the kind "email". Switch them on with mail.enabled.'
  assert.deepEqual([tested.status, tested.body], [200, { delivered: false, reason }])
})
