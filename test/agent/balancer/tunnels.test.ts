import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'undici'
import { freePort } from '../../support/free-port.ts'
import { openRawConnection } from '../../support/raw-connection.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Instance, openRig, startInstance, startProcess, startRawInstance } from './support.ts'

const tcpCheck = { kind: 'tcp', intervalMs: 60_000 } as const

/** Accepts every WebSocket, and says back what it is told in short frames. */
async function startEcho(
  t: TestContext,
  instanceId: string,
  seen: IncomingMessage[] = [],
): Promise<Instance> {
  const instance = await startInstance(t, instanceId)
  instance.server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    seen.push(request)
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    socket.on('error', () => {})
    socket.on('data', (frame: Buffer) => {
      const opcode = (frame[0] ?? 0) & 15
      const length = (frame[1] ?? 0) & 127
      const mask = frame.subarray(2, 6)
      const text = frame.subarray(6, 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0))
      socket.write(Buffer.concat([Buffer.from([128 | opcode, length]), text]))
      if (opcode === 8) socket.end()
    })
  })
  return instance
}

test('a WebSocket passes messages both ways until it is closed', async (t) => {
  const seen: IncomingMessage[] = []
  const instance = await startEcho(t, 'a', seen)
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const socket = new WebSocket(rig.url.replace('http:', 'ws:'))
  await once(socket, 'open')
  assert.equal(rig.member('a')?.inFlight, 1)
  assert.equal(seen[0]?.headers['x-forwarded-for'], '127.0.0.1')

  for (const text of ['one', 'two']) {
    socket.send(text)
    const [event] = (await once(socket, 'message')) as [MessageEvent]
    assert.equal(event.data, text)
  }

  socket.close()
  await once(socket, 'close')
  await waitUntil(() => rig.member('a')?.inFlight === 0, 'the tunnel to end')
})

for (const [name, bounds] of [
  ['stays', {}],
  ['ends after the time to drain', { drainMs: 100 }],
] as const) {
  test(`a WebSocket of an instance out of service ${name}`, async (t) => {
    const instance = await startEcho(t, 'a')
    const rig = await openRig(t, { members: [instance.member] }, bounds)
    await rig.untilUp('a')
    const socket = new WebSocket(rig.url.replace('http:', 'ws:'))
    await once(socket, 'open')

    rig.apply({ members: [{ ...instance.member, inService: false }] })

    if (name === 'stays') {
      socket.send('still here')
      await once(socket, 'message')
      socket.close()
    }
    await once(socket, 'close')
    await waitUntil(() => rig.member('a')?.inFlight === 0, 'the tunnel to end')
  })
}

const handshake =
  'Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 1\r\n\r\n'

test('a refused upgrade by HEAD ends with its head', async (t) => {
  const instance = await startInstance(t, 'a')
  instance.server.on('upgrade', (_request, socket: Socket) => {
    socket.write('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 3\r\n\r\n')
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send(`HEAD /chat HTTP/1.1\r\n${handshake}`)
  const answer = await connection.next({ toHead: true })

  assert.equal(answer.status, 426)
  await connection.ended
})

test('an upgrade that the instance refuses is an ordinary response', async (t) => {
  const instance = await startInstance(t, 'a')
  instance.server.on('upgrade', (_request, socket: Socket) => {
    socket.end(
      'HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nContent-Length: 3\r\n\r\nold',
    )
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  // What follows must not reach the instance by the side of the load balancer.
  connection.send(`GET /chat HTTP/1.1\r\n${handshake}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n`)
  const answer = await connection.next()

  assert.equal(answer.status, 426)
  assert.equal(answer.headers['sec-websocket-version'], '13')
  assert.equal(answer.body, 'old')
  await connection.ended
  assert.deepEqual(instance.paths, [])
  assert.equal(rig.member('a')?.inFlight, 0)
})

test('bytes sent before the change of protocol are not lost', async (t) => {
  const instance = await startInstance(t, 'a')
  instance.server.on('upgrade', (_request, socket: Socket, head: Buffer) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst ',
    )
    if (head.length > 0) socket.write(head)
    socket.pipe(socket)
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const socket = connect(rig.port, '127.0.0.1')
  t.after(() => socket.destroy())
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString()
  })

  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nsecond')
  await waitUntil(() => received.endsWith('first second'), 'both pieces')
  socket.end(' third')

  await once(socket, 'end')
  assert.match(received, /^HTTP\/1\.1 101 [\s\S]*\r\nupgrade: echo\r\n\r\nfirst second third$/)
})

test('an upgrade goes to another instance where the connection is refused', async (t) => {
  const gone = await startProcess(t, 'gone')
  const instance = await startEcho(t, 'a')
  const rig = await openRig(t, {
    members: [instance.member, gone.member],
    healthCheck: { intervalMs: 60_000 },
  })
  await rig.untilUp('a', 'gone')
  await gone.kill()

  for (let count = 0; count < 3; count++) {
    const socket = new WebSocket(rig.url.replace('http:', 'ws:'))
    await once(socket, 'open')
    socket.close()
    await once(socket, 'close')
  }

  rig.apply({ members: [] })
  const connection = await openRawConnection(t, rig.url)
  connection.send(`GET / HTTP/1.1\r\n${handshake}`)
  assert.equal((await connection.next()).status, 503)
  await connection.ended
})

for (const upgrade of ['h2c', 'TLS/1.2', 'websocket, h2c']) {
  test(`an upgrade to ${upgrade} is ignored`, async (t) => {
    const instance = await startEcho(t, 'a')
    const rig = await openRig(t, { members: [instance.member] })
    await rig.untilUp('a')
    const connection = await openRawConnection(t, rig.url)

    connection.send(
      `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAA\r\nUpgrade: ${upgrade}\r\n\r\n`,
    )

    assert.equal((await connection.next()).body, 'a')
  })
}

test('TCP passes through in both directions, each with its own end', async (t) => {
  const instance = await startRawInstance(t, 'a', (socket) => {
    const pieces: Buffer[] = []
    socket.on('data', (piece: Buffer) => void pieces.push(piece))
    socket.on('end', () => socket.end(`got ${Buffer.concat(pieces).length} bytes`))
  })
  const rig = await openRig(t, {
    listeners: [{ protocol: 'tcp' }],
    members: [instance.member],
    healthCheck: tcpCheck,
  })
  await rig.untilUp('a')
  const socket = connect({ port: rig.port, host: '127.0.0.1', allowHalfOpen: true })

  socket.end(Buffer.alloc(3_000_000))
  const pieces = (await socket.toArray()) as Buffer[]

  assert.equal(Buffer.concat(pieces).toString(), 'got 3000000 bytes')
  await waitUntil(() => rig.member('a')?.inFlight === 0, 'the connection to end')
})

test('TCP connections go to another instance where one refuses', async (t) => {
  const gone = await startProcess(t, 'gone')
  const instance = await startRawInstance(t, 'a', (socket) => void socket.end('a'))
  const members = [instance.member, gone.member]
  const rig = await openRig(t, { listeners: [{ protocol: 'tcp' }], members, healthCheck: tcpCheck })
  await rig.untilUp('a', 'gone')
  await gone.kill()

  for (let count = 0; count < 3; count++) {
    const socket = connect(rig.port, '127.0.0.1')
    assert.equal(((await socket.toArray()) as Buffer[]).join(''), 'a')
  }

  assert.equal(rig.member('gone')?.health, 'down')
})

test('upgrades and TCP connections wait for an instance', async (t) => {
  const port = await freePort()
  const members = [{ instanceId: 'a', host: '127.0.0.1', port, inService: true }]
  const listeners = [{}, { protocol: 'tcp' as const, port: await freePort() }]
  const rig = await openRig(t, { listeners, members, healthCheck: tcpCheck }, { outageMs: 600_000 })
  const upgrade = await openRawConnection(t, rig.url)
  upgrade.send(`GET / HTTP/1.1\r\n${handshake}`)
  const passage = connect(listeners[1]?.port as number, '127.0.0.1')
  await waitUntil(
    () => rig.member('a')?.reason?.includes('nothing listens') === true,
    'a health check',
  )

  await startRawInstance(
    t,
    'a',
    (socket) =>
      void socket
        .on('data', () => {})
        .write('HTTP/1.1 204 No Content\r\nX-Was: here\r\n\r\n', () => socket.end()),
    port,
  )

  assert.equal((await upgrade.next()).headers['x-was'], 'here')
  assert.match(((await passage.toArray()) as Buffer[]).join(''), /x-was/i)
})

test('a TCP connection without an instance is reset', async (t) => {
  const rig = await openRig(t, { listeners: [{ protocol: 'tcp' }], members: [] })
  const socket = connect(rig.port, '127.0.0.1')

  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]

  assert.equal(error.code, 'ECONNRESET')
})

for (const side of ['client', 'instance'] as const) {
  test(`a TCP connection ends when its ${side} goes away`, async (t) => {
    const sockets: Socket[] = []
    const instance = await startRawInstance(t, 'a', (socket) => void sockets.push(socket.resume()))
    const members = [instance.member]
    const rig = await openRig(t, {
      listeners: [{ protocol: 'tcp' }],
      members,
      healthCheck: tcpCheck,
    })
    await rig.untilUp('a')
    const client = connect(rig.port, '127.0.0.1')
    client.on('error', () => {})
    client.write('hello')
    await waitUntil(
      () => rig.member('a')?.inFlight === 1 && sockets.some(({ bytesRead }) => bytesRead > 0),
      'the connection',
    )
    const served = sockets.find(({ bytesRead }) => bytesRead > 0)

    if (side === 'client') client.resetAndDestroy()
    else served?.resetAndDestroy()

    const other = side === 'client' ? served : client
    await waitUntil(
      () => other?.readableEnded === true && rig.member('a')?.inFlight === 0,
      'both sides to end',
    )
  })
}
