import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepareHead, responseOptions } from '../../src/runtime/response-head.ts'
import { declareHeaders, SingleClient } from '../../src/runtime/undici-client.ts'

async function listen(t: TestContext, server: http.Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a client tells how long it may idle, and reads again after a longer pause', async (t) => {
  const service = createServer(({ rawHeaders }, response) => response.end(`answer to ${rawHeaders.slice(-2).join(' ')}`))
  service.keepAliveTimeout = 1000
  declareHeaders(['X-NAME'])
  const client = new SingleClient(await listen(t, service), {})
  t.after(() => client.close())
  const read = async () => (await client.request({ path: '/', method: 'GET', headers: ['X-NAME', 'sent'] })).body.text()
  assert.equal(await read(), 'answer to X-NAME sent')
  assert.ok(client.maxIdleMs > 0 && client.maxIdleMs < 5000)
  await sleep(1200)
  assert.equal(await read(), 'answer to X-NAME sent')
})

test('prepared heads and written ones are one head', async (t) => {
  const server = http.createServer(responseOptions, (_request, response) => {
    prepareHead(response, { pragma: 'no-cache', expires: '0' })
    prepareHead(response, { 'x-frame-options': 'DENY' })
    response.writeHead(201, ['vary', 'Origin', 'vary', 'Accept-Encoding', 'content-length', '0']).end()
  })
  const { status, headers } = await fetch(await listen(t, server))
  const own = [...headers].filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name))
  assert.deepEqual(
    [status, Object.fromEntries(own)],
    [
      201,
      { 'content-length': '0', expires: '0', pragma: 'no-cache', vary: 'Origin, Accept-Encoding', 'x-frame-options': 'DENY' },
    ],
  )
})
