import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { freePort } from '../../support/free-port.ts'
import { openRawConnection } from '../../support/raw-connection.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { openRig, type Rig, startInstance, startRawInstance } from './support.ts'

const end = '\r\n\r\n'
/** Would be a request of its own where the two sides disagree about the one before. */
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'

const requests: [name: string, text: string, status: number][] = [
  [
    'a length and chunks',
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked${end}0${end}${smuggled}`,
    400,
  ],
  [
    'two lengths',
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2${end}xx${smuggled}`,
    400,
  ],
  [
    'a length that is a list',
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1${end}x${smuggled}`,
    400,
  ],
  ['a negative length', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1${end}${smuggled}`, 400],
  [
    'a length with a sign',
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1${end}x${smuggled}`,
    400,
  ],
  [
    'another encoding',
    `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked${end}0${end}`,
    501,
  ],
  [
    'two encodings',
    `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked${end}0${end}`,
    400,
  ],
  [
    'an encoding that is not last',
    `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip${end}0${end}`,
    400,
  ],
  [
    'an encoding with a vertical tab',
    `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked${end}0${end}`,
    400,
  ],
  [
    'a space before the colon',
    `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked${end}0${end}`,
    400,
  ],
  ['a folded header', `GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\r\n two${end}`, 400],
  ['a bare line feed', `GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\nX-Two: 2${end}`, 400],
  ['a bare carriage return', `GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\rX-Two: 2${end}`, 400],
  ['a NUL', `GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\x002${end}`, 400],
  ['no host', `GET / HTTP/1.1${end}`, 400],
  ['two hosts', `GET / HTTP/1.1\r\nHost: a\r\nHost: b${end}`, 400],
  ['a space in the path', `GET /a b HTTP/1.1\r\nHost: a${end}`, 400],
  ['a control character in the path', `GET /a\x01b HTTP/1.1\r\nHost: a${end}`, 400],
  ['a path that is a word', `GET word HTTP/1.1\r\nHost: a${end}`, 400],
  ['a target with a user', `GET http://user@evil/ HTTP/1.1\r\nHost: a${end}`, 400],
  ['CONNECT', `CONNECT other:443 HTTP/1.1\r\nHost: a${end}`, 405],
  ['HTTP/0.9 with headers', `GET / HTTP/0.9\r\nHost: a${end}`, 505],
  ['HTTP/2.0 with headers', `GET / HTTP/2.0\r\nHost: a${end}`, 505],
  [
    'chunks of HTTP/1.0',
    `POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked${end}0${end}`,
    400,
  ],
  ['HTTP/2 without agreement', `PRI * HTTP/2.0\r\n\r\nSM${end}`, 400],
  [
    'headers that are too large',
    `GET / HTTP/1.1\r\nHost: a\r\nX-Large: ${'x'.repeat(40_000)}${end}`,
    431,
  ],
  ['TLS on a plain port', '\x16\x03\x01\x02\x00\x01\x00\x01', 400],
]

test('hostile requests are refused and reach no instance', async (t) => {
  const instance = await startInstance(t, 'a')
  const rig = await openRig(t, {
    members: [instance.member],
    healthCheck: { kind: 'tcp', intervalMs: 60_000 },
  })
  await rig.untilUp('a')
  for (const [name, text, status] of requests) {
    await t.test(name, async (t) => {
      const connection = await openRawConnection(t, rig.url)

      connection.send(Buffer.from(text, 'latin1'))

      assert.equal((await connection.next()).status, status)
      await connection.ended
      assert.deepEqual(instance.paths, [])
      assert.equal(rig.member('a')?.inFlight, 0)
    })
  }
})

test('a malformed chunk size ends the request at the instance', async (t) => {
  const broken: string[] = []
  const instance = await startInstance(t, 'a', (request) => {
    request.on('data', () => {})
    request.on('error', () => void broken.push(request.url ?? ''))
  })
  const rig = await openRig(t, {
    members: [instance.member],
    healthCheck: { kind: 'tcp', intervalMs: 60_000 },
  })
  await rig.untilUp('a')
  for (const size of ['x', '1\n', '-1', '0x1', 'fffffffffffffffffff']) {
    const connection = await openRawConnection(t, rig.url)
    connection.send(
      `POST /${encodeURI(size)} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n${size}\r\n${smuggled}`,
    )
    await connection.ended
  }
  assert.ok(!instance.paths.includes('/smuggled'))
})

test('an absolute target decides about the host', async (t) => {
  let host: string | undefined
  const instance = await startInstance(t, 'a', (request, response) => {
    host = request.headers.host
    response.end(request.url)
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send('GET http://shop.example?q=1 HTTP/1.1\r\nHost: other.example\r\n\r\n')

  assert.equal((await connection.next()).body, '/?q=1')
  assert.equal(host, 'shop.example')
})

test('thousands of headers all reach the instance', async (t) => {
  const instance = await startInstance(t, 'a', (request, response) => {
    response.end(
      `${request.rawHeaders.filter((name) => name === 'h').length} ${request.headers['content-length']}`,
    )
  })
  instance.server.maxHeadersCount = 0
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send(
    `PUT / HTTP/1.1\r\nHost: a\r\n${'h:1\r\n'.repeat(2500)}Content-Length: 2\r\n\r\nok`,
  )

  assert.equal((await connection.next()).body, '2500 2')
})

const ok = 'HTTP/1.1 200 OK\r\n'
const responses: [name: string, text: string][] = [
  ['no HTTP', 'SSH-2.0-server\r\n\r\n'],
  ['another version', `HTTP/2 200 OK${end}`],
  ['a status that is none', `HTTP/1.1 20 OK${end}`],
  ['a length and chunks', `${ok}Content-Length: 3\r\nTransfer-Encoding: chunked${end}0${end}`],
  ['two lengths', `${ok}Content-Length: 1\r\nContent-Length: 2${end}ab`],
  ['a length that is a list', `${ok}Content-Length: 1, 1${end}a`],
  ['another encoding', `${ok}Transfer-Encoding: gzip${end}`],
  ['a folded header', `${ok}X-One: 1\r\n two${end}`],
  ['a bare line feed', `${ok}X-One: 1\nSet-Cookie: a=1${end}`],
  ['a bare carriage return', `${ok}X-One: 1\rSet-Cookie: a=1${end}`],
  ['a NUL', `${ok}X-One: \x00${end}`],
  ['a space before the colon', `${ok}Content-Length : 5${end}`],
  ['an unasked change of protocol', `HTTP/1.1 101 Switching Protocols\r\nUpgrade: a${end}`],
  ['endless headers', `${ok}X-Large: ${'x'.repeat(70_000)}`],
  ['endless information', `HTTP/1.1 102 Processing${end}`.repeat(200)],
]

test('responses that are not HTTP become 502', async (t) => {
  let text = ''
  const instance = await startRawInstance(t, 'a', (socket) => {
    socket.once('data', () => void socket.write(Buffer.from(text, 'latin1')))
  })
  const rig = await openRig(t, {
    members: [instance.member],
    healthCheck: { kind: 'tcp', intervalMs: 60_000 },
  })
  await rig.untilUp('a')
  for (const [name, response] of responses) {
    await t.test(name, async () => {
      text = response

      const answer = await fetch(rig.url)

      assert.equal(answer.status, 502)
      assert.match(await answer.text(), /sent no valid HTTP response/)
      assert.equal(rig.member('a')?.inFlight, 0)
    })
  }
})

test('what follows a response is not taken for the next one', async (t) => {
  let count = 0
  const instance = await startRawInstance(t, 'a', (socket) => {
    socket.on('data', () => {
      count++
      socket.write(`${ok}Content-Length: 5${end}right${ok}Content-Length: 5${end}wrong`)
    })
  })
  const rig = await openRig(t, {
    members: [instance.member],
    healthCheck: { kind: 'tcp', intervalMs: 60_000 },
  })
  await rig.untilUp('a')

  for (let sent = 1; sent <= 4; sent++) assert.equal(await textOf(rig), 'right')

  assert.equal(count, 4)
})

test('a response in single bytes is the same response', async (t) => {
  const bytes = Buffer.from(
    `${ok}Transfer-Encoding: chunked\r\nTrailer: x${end}5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y${end}`,
  )
  const instance = await startRawInstance(t, 'a', (socket) => {
    socket.setNoDelay(true)
    socket.once('data', async () => {
      for (const byte of bytes)
        await new Promise<unknown>((resolve) => socket.write(Buffer.from([byte]), resolve))
    })
  })
  const rig = await openRig(t, {
    members: [instance.member],
    healthCheck: { kind: 'tcp', intervalMs: 60_000 },
  })
  await rig.untilUp('a')

  assert.equal(await textOf(rig), 'hello!')
})

async function textOf(rig: Rig): Promise<string> {
  return (await fetch(rig.url)).text()
}

test('responses that have no body announce none', async (t) => {
  let text = ''
  const instance = await startRawInstance(t, 'a', (socket) => {
    socket.on('data', () => void socket.write(text))
  })
  const rig = await openRig(t, {
    members: [instance.member],
    healthCheck: { kind: 'tcp', intervalMs: 60_000 },
  })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)
  let received = ''
  connection.socket.on('data', (piece: Buffer) => {
    received += piece.toString('latin1')
  })

  text = `HTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\nLink: </a>${end}HTTP/1.1 204 No Content\r\nContent-Length: 5${end}`
  connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')

  assert.equal((await connection.next()).status, 204)
  assert.match(received, /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n/)
  assert.doesNotMatch(received, /content-length/i)
})

test('a client that keeps a refused CONNECT half open is disconnected', async (t) => {
  const instance = await startInstance(t, 'a')
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const socket = connect({ port: rig.port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => void socket.destroy())
  socket.on('error', () => {})

  socket.write('CONNECT other:443 HTTP/1.1\r\nHost: a\r\n\r\n')
  socket.resume()
  await once(socket, 'end')

  // Writing fails only where the other side is closed in both directions.
  const timer = setInterval(() => socket.write('x'), 20)
  t.after(() => clearInterval(timer))
  await new Promise((resolve) => socket.once('close', resolve))
})

test('CONNECT behind a request that runs ends the connection', async (t) => {
  const instance = await startInstance(t, 'a', () => {})
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send(
    'GET /first HTTP/1.1\r\nHost: a\r\n\r\nCONNECT other:443 HTTP/1.1\r\nHost: a\r\n\r\n',
  )

  await assert.rejects(connection.next(), /ended within an answer: ""/)
})

test('a load balancer with many connections leaves the others theirs', async (t) => {
  const [one, other] = [await startInstance(t, 'one'), await startInstance(t, 'other')]
  const rig = await openRig(t, { members: [one.member] }, { maxTotalConnections: 8 })
  const port = await freePort()
  rig.apply(
    { members: [one.member] },
    { id: 'dev:east:other', listeners: [{ port }], members: [other.member] },
  )
  await rig.untilUp('one', 'other')
  const flood = Array.from({ length: 8 }, () =>
    connect(rig.port, '127.0.0.1').on('error', () => {}),
  )
  t.after(() => flood.forEach((socket) => void socket.destroy()))
  const isClosed = (socket: Socket) => socket.destroyed || socket.readableEnded
  for (const socket of flood) socket.resume()
  await waitUntil(() => flood.filter(isClosed).length === 4, 'those beyond the share to be closed')

  const answers = await Promise.all([1, 2, 3].map(() => fetch(`http://127.0.0.1:${port}/`)))

  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.equal(flood.filter(isClosed).length, 4)
  assert.equal(rig.lines.filter((line) => line.includes('its share of all connections')).length, 1)
  for (const socket of flood) socket.destroy()
  await waitUntil(
    async () => (await fetch(rig.url).catch(() => undefined))?.status === 200,
    'room again',
  )
})

test('a body in chunks of one byte takes hardly more memory than its bytes', async (t) => {
  let arrived = 0
  const instance = await startInstance(t, 'a', (request) => {
    request.on('error', () => {})
    request.on('data', (piece: Buffer) => {
      arrived += piece.length
    })
  })
  const rig = await openRig(t, {
    members: [instance.member],
    healthCheck: { kind: 'tcp', intervalMs: 60_000 },
  })
  await rig.untilUp('a')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const bodies = 4
  const bytes = 60_000
  collect()
  const before = memoryBytes()

  for (let count = 0; count < bodies; count++) {
    const connection = await openRawConnection(t, rig.url)
    connection.send(
      `PUT /${count} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(bytes)}`,
    )
  }
  await waitUntil(() => arrived === bodies * bytes, 'the bodies to arrive')

  collect()
  assert.ok(memoryBytes() - before < bodies * bytes * 60, `${memoryBytes() - before} bytes more`)
})

function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
