import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { probe } from '../../packages/agent/probe.ts'

test('a path that HTTP cannot carry is an unhealthy instance', async () => {
  for (const path of ['/€', '/a b', '/\r\nHost: x']) {
    const result = await probe({ kind: 'http', host: '127.0.0.1', port: 1, timeoutMs: 1000, path })
    assert.equal(result.kind, 'unhealthy', path)
  }
})

test('a connection that is closed at once has nothing behind it', async (t) => {
  const behaviours: Record<string, (socket: Socket) => void> = {
    healthy: () => {},
    'healthy, after a greeting': (socket) => void socket.end('220 ready'),
    unhealthy: (socket) => void socket.end(),
    'unhealthy, by a reset': (socket) => void socket.resetAndDestroy(),
  }
  for (const [expected, behave] of Object.entries(behaviours)) {
    const server = createServer(behave).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const target = { kind: 'tcp', host: '127.0.0.1', port, timeoutMs: 300_000 } as const
    const { kind } = await probe(target, undefined, 100)
    assert.ok(expected === kind || expected.startsWith(`${kind},`), expected)
  }
})
