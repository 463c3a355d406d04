/** Calls to build servers, over real connections. */
import assert from 'node:assert/strict'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { PortError } from '../../../packages/base/port-error.ts'
import { createServerCalls, type ServerAccess } from '../../../packages/builds/server-calls.ts'
import { defaults } from '../../support/backend-settings.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { brokenOff, InTurn, Reply, silence, startUpstream } from '../../support/upstream.ts'

const settings = defaults

function callsTo(
  t: TestContext,
  address: string,
  { clock = { ms: 0 }, ...access }: Partial<ServerAccess> & { clock?: { ms: number } } = {},
) {
  const credentials = async () => ({ authorization: 'Bearer s3cret' })
  const calls = createServerCalls(
    { name: 'ci', address, settingKey: 'jenkins.masters', credentials, ...access },
    { settings, steady: () => clock.ms },
  )
  t.after(() => calls.close())
  return calls
}

function failure(status: number, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof PortError)
    assert.deepEqual([error.status, message.test(error.message)], [status, true], error.message)
    assert.doesNotMatch(error.message, /s3cret|token=/)
    return true
  }
}

test('what has not changed is not read again', async (t) => {
  const server = await startUpstream(t, ({ headers }) =>
    headers['if-none-match'] === '"1"'
      ? new Reply(304)
      : new Reply(200, { jobs: [] }, { etag: '"1"' }),
  )
  const calls = callsTo(t, server.url)
  const first = await calls.loadIfChanged('/jobs?token=1')
  const second = await calls.loadIfChanged('/jobs?token=1')
  assert.deepEqual(first, { jobs: [] })
  assert.equal(second, first)
  assert.notEqual(await calls.loadIfChanged('/jobs?token=2'), first, 'another path')
})

test('credentials reach their server only', async (t) => {
  const store = await startUpstream(t, { 'GET /file': 'content' })
  const server = await startUpstream(t, {
    'GET /log': new Reply(302, undefined, { location: '/log2' }),
    'GET /log2': new Reply(302, undefined, { location: `${store.url}/file` }),
  })
  const calls = callsTo(t, server.url)
  await assert.rejects(
    calls.send('/log'),
    failure(502, /redirects to http:\/\/127.*Set its address in jenkins\.masters/),
  )
  // Another server is called within the restrictions for addresses of pipelines.
  await assert.rejects(
    calls.send('/log', { mayLeave: true }),
    failure(502, /must not call 127\.0\.0\.1.*internal/),
  )
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.authorization),
    Array.from({ length: 4 }, () => 'Bearer s3cret'),
  )
  assert.deepEqual(store.requests, [])
})

test('answers are bounded in size and time', async (t) => {
  const server = await startUpstream(t, {
    'GET /large': 'x'.repeat(2000),
    'GET /silent': silence,
    'GET /json': '<html>',
    'GET /down': new Reply(502),
    'POST /down': new Reply(504),
    'POST /broken': brokenOff,
  })
  const calls = callsTo(t, server.url)
  await assert.rejects(
    calls.send('/large', { maxBytes: 1000 }),
    failure(502, /larger than 1000 bytes/),
  )
  await assert.rejects(
    calls.send('/silent', { timeoutMs: 50 }),
    failure(503, /"ci" cannot be reached.*did not answer within/),
  )
  await assert.rejects(calls.load('/json'), failure(502, /something else than JSON/))
  await assert.rejects(calls.send('/down'), failure(503, /502/))
  await assert.rejects(calls.send('/down', { method: 'POST' }), failure(504, /504/))
  await assert.rejects(calls.send('/broken', { method: 'POST' }), failure(504, /cannot be reached/))
  assert.equal(
    server.requests.filter(({ path }) => path === '/broken').length,
    1,
    'a change is not repeated',
  )
})

test('a server that is away fails calls at once', async (t) => {
  const clock = { ms: 0 }
  const server = await startUpstream(t, {
    'GET /x': new InTurn(brokenOff, brokenOff, brokenOff, brokenOff, brokenOff, brokenOff, 'ok'),
  })
  const calls = callsTo(t, server.url, { clock })
  for (let call = 0; call < 3; call++)
    await assert.rejects(calls.send('/x'), failure(503, /cannot be reached/))
  const sent = server.requests.length
  await assert.rejects(calls.send('/x'), failure(503, /did not answer the last calls/))
  assert.equal(server.requests.length, sent)
  clock.ms = 1_000
  assert.equal((await calls.send('/x')).text, 'ok')
  assert.equal((await calls.send('/x')).text, 'ok')
})

test('a server that limits calls is left alone for so long', async (t) => {
  const clock = { ms: 0 }
  const server = await startUpstream(t, {
    'GET /x': new InTurn(new Reply(429, undefined, { 'retry-after': '60' }), 'ok'),
  })
  const calls = callsTo(t, server.url, { clock })
  await assert.rejects(calls.send('/x'), failure(503, /limits calls for 60 s/))
  clock.ms = 30_000
  await assert.rejects(calls.send('/x'), failure(503, /limits calls for 30 s/))
  clock.ms = 60_000
  assert.equal((await calls.send('/x')).text, 'ok')
})

test('a certificate of the configuration is trusted', async (t) => {
  const { certificate, keyPem } = keyPairOf('ci', 'ec')
  const server = https.createServer({ cert: certificate, key: keyPem }, (_request, response) =>
    response.end('{}'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  await assert.rejects(callsTo(t, url).load('/'), failure(503, /self-signed certificate/))
  const tls = { ca: [certificate], checkServerIdentity: () => undefined }
  assert.deepEqual(await callsTo(t, url, { tls }).load('/'), {})
})
