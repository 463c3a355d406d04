/** Calls of services elsewhere. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import test from 'node:test'
import { createServiceCalls } from '../../packages/external/call-service.ts'
import { Reply, startUpstream } from '../support/upstream.ts'

test('a page instead of an answer fails the call', async (t) => {
  const front50 = await startUpstream(t, {
    'GET /page': new Reply(200, '<html>Log in</html>', { 'content-type': 'text/html' }),
    'GET /refused': new Reply(403, '<html>No</html>', { 'content-type': 'text/html' }),
    'GET /text': new Reply(200, 'bare text'),
  })
  const { call, close } = createServiceCalls({
    services: { front50: front50.url },
    timeoutMs: 60_000,
    maxAnswerBytes: 1000,
  })
  t.after(close)
  await assert.rejects(
    call('front50', { method: 'GET', path: '/page' }),
    /front50 answered with a page of HTML/,
  )
  assert.deepEqual(await call('front50', { method: 'GET', path: '/refused' }), {
    status: 403,
    body: '<html>No</html>',
  })
  assert.deepEqual(await call('front50', { method: 'GET', path: '/text' }), {
    status: 200,
    body: 'bare text',
  })
})

test('a call that wants bytes gets them unchanged', async (t) => {
  const content = Buffer.from([0x1f, 0x8b, 0xff, 0x00, 0x0a])
  const clouddriver = await startUpstream(t, {
    'PUT /file': new Reply(200, content),
    'PUT /none': new Reply(404, { message: 'no' }),
  })
  const services = { clouddriver: clouddriver.url } as const
  const { call, close } = createServiceCalls({ services, timeoutMs: 60_000, maxAnswerBytes: 1000 })
  t.after(close)
  const ask = (path: string) =>
    call('clouddriver', { method: 'PUT', path, body: {}, wantsBytes: true })
  assert.deepEqual(await ask('/file'), { status: 200, body: content })
  assert.deepEqual(await ask('/none'), { status: 404, body: { message: 'no' } })
})

test('a service that switches protocols fails the call', async (t) => {
  const switched = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'
  const server = createTcpServer((socket) =>
    socket.on('error', () => {}).once('data', () => socket.write(switched)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { call, close } = createServiceCalls({
    services: { orca: `http://127.0.0.1:${port}` },
    timeoutMs: 60_000,
    maxAnswerBytes: 1000,
  })
  t.after(() => {
    close()
    server.close()
  })
  await assert.rejects(call('orca', { method: 'GET', path: '/x' }), /switched protocols/)
})

test('a service whose address is IPv6 is called', async (t) => {
  const server = createServer((_request, answer) => answer.end('{}'))
  await new Promise<void>((resolve) => server.listen(0, '::1', resolve))
  const { port } = server.address() as AddressInfo
  const { call, close } = createServiceCalls({
    services: { orca: `http://[::1]:${port}` },
    timeoutMs: 60_000,
    maxAnswerBytes: 1000,
  })
  t.after(() => {
    close()
    server.close()
  })

  assert.equal((await call('orca', { method: 'GET', path: '/' })).status, 200)
})
