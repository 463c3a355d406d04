import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request as nodeRequest } from 'node:http'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openRawConnection } from '../../support/raw-connection.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { openRig, startInstance, startRawInstance } from './support.ts'

test('requests go to the instance with the least of them', async (t) => {
  const held: (() => void)[] = []
  const slow = await startInstance(
    t,
    'slow',
    (_request, response) => void held.push(() => response.end('slow')),
  )
  const quick = await startInstance(t, 'quick')
  const rig = await openRig(t, { members: [slow.member, quick.member] })
  await rig.untilUp('quick', 'slow')
  const first = [fetch(rig.url), fetch(rig.url)]
  await waitUntil(() => slow.paths.length === 1, 'a request at the slow instance')

  for (let count = 0; count < 6; count++) assert.equal(await (await fetch(rig.url)).text(), 'quick')

  assert.equal(rig.member('slow')?.inFlight, 1)
  for (const end of held) end()
  await Promise.all(first)
  await waitUntil(() => rig.member('slow')?.inFlight === 0, 'the slow instance to be idle')
})

test('idle instances take turns', async (t) => {
  const instances = await Promise.all(['a', 'b', 'c'].map((name) => startInstance(t, name)))
  const rig = await openRig(t, { members: instances.map(({ member }) => member) })
  await rig.untilUp('a', 'b', 'c')

  for (let count = 0; count < 9; count++) await (await fetch(rig.url)).text()

  assert.deepEqual(
    instances.map(({ paths }) => paths.length),
    [3, 3, 3],
  )
})

test('connections to instances are kept', async (t) => {
  const instance = await startInstance(t, 'a')
  const rig = await openRig(t, {
    members: [instance.member],
    healthCheck: { kind: 'tcp', intervalMs: 60_000 },
  })
  await rig.untilUp('a')
  const before = instance.connections()

  for (let count = 0; count < 5; count++)
    await (await fetch(rig.url, { headers: { connection: 'close' } })).text()

  assert.equal(instance.connections() - before, 1)
})

test('an instance gets the request head without hop-by-hop headers', async (t) => {
  let seen: IncomingMessage | undefined
  const instance = await startInstance(t, 'a', (request, response) => {
    seen = request
    response.end()
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send(
    'GET /path?a=%20b HTTP/1.1\r\nHost: shop.example\r\nX-Two: 1\r\nX-Two: 2\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\n' +
      'TE: trailers, gzip\r\nForwarded: for=1.2.3.4\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n\r\n',
  )
  assert.equal((await connection.next()).status, 200)

  assert.equal(seen?.url, '/path?a=%20b')
  const { connection: options, ...headers } = seen?.headersDistinct ?? {}
  assert.deepEqual(options, ['te'])
  assert.deepEqual(
    { ...headers },
    {
      host: ['shop.example'],
      'x-two': ['1', '2'],
      te: ['trailers'],
      'x-forwarded-for': ['1.2.3.4, 127.0.0.1'],
      'x-forwarded-proto': ['http'],
      'x-forwarded-host': ['shop.example'],
      'x-forwarded-port': [String(rig.port)],
    },
  )
})

test('a client gets the response head as it was sent', async (t) => {
  const instance = await startRawInstance(t, 'a', (socket) => {
    socket.once('data', () => {
      socket.write(
        'HTTP/1.1 299 Quite Fine\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: X-Inner\r\nX-Inner: 1\r\nX-Name: \xc3\xa0\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\nok',
        'latin1',
      )
    })
  })
  const rig = await openRig(t, { members: [instance.member], healthCheck: { kind: 'tcp' } })
  await rig.untilUp('a')

  const answer = await fetch(rig.url)

  assert.equal(answer.status, 299)
  assert.equal(answer.statusText, 'Quite Fine')
  assert.deepEqual(answer.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal(answer.headers.get('x-inner'), null)
  assert.equal(Buffer.from(answer.headers.get('x-name') ?? '', 'latin1').toString(), 'à')
  assert.equal(await answer.text(), 'ok')
})

const bodiless: [name: string, method: string, status: number, headers: Record<string, string>][] =
  [
    ['a response to HEAD', 'HEAD', 200, { 'content-length': '1234' }],
    ['204', 'GET', 204, {}],
    ['304', 'GET', 304, { etag: '"1"' }],
  ]
for (const [name, method, status, headers] of bodiless) {
  test(`${name} has no body and keeps both connections`, async (t) => {
    const instance = await startInstance(
      t,
      'a',
      (_request, response) => void response.writeHead(status, headers).end(),
    )
    const rig = await openRig(t, {
      members: [instance.member],
      healthCheck: { kind: 'tcp', intervalMs: 60_000 },
    })
    await rig.untilUp('a')
    const before = instance.connections()
    const connection = await openRawConnection(t, rig.url)

    for (let count = 0; count < 3; count++) {
      connection.send(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`)
      const answer = await connection.next({ toHead: true })
      assert.equal(answer.status, status)
      for (const [header, value] of Object.entries(headers))
        assert.equal(answer.headers[header], value)
    }

    assert.equal(instance.connections() - before, 1)
  })
}

test('bodies stream both ways at the same time', async (t) => {
  const instance = await startInstance(t, 'a', (request, response) => {
    response.flushHeaders()
    request.pipe(response)
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const sent = nodeRequest(rig.url, { method: 'POST' })
  sent.flushHeaders()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]

  for (const piece of ['one', 'two', 'three']) {
    sent.write(piece)
    const [echo] = (await once(answer, 'data')) as [Buffer]
    assert.equal(echo.toString(), piece)
  }

  sent.end()
  answer.resume()
  await once(answer, 'end')
})

test('a large body arrives whole in both directions', async (t) => {
  const size = 24 * 1024 * 1024
  let received = 0
  const instance = await startInstance(t, 'a', (request, response) => {
    request.on('data', (piece: Buffer) => {
      received += piece.length
    })
    request.on('end', () => response.end(Buffer.alloc(size, 7)))
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')

  const answer = await fetch(rig.url, { method: 'PUT', body: Buffer.alloc(size, 5) })
  const body = Buffer.from(await answer.arrayBuffer())

  assert.equal(received, size)
  assert.equal(body.length, size)
  assert.ok(body.every((byte) => byte === 7))
})

test('an instance waits while the client does not read', async (t) => {
  let written = 0
  let isBlocked = false
  const instance = await startInstance(t, 'a', (_request, response) => {
    const write = () => {
      while (written < 512 * 1024 * 1024) {
        written += 1024 * 1024
        if (!response.write(Buffer.alloc(1024 * 1024))) {
          isBlocked = true
          response.once('drain', () => {
            isBlocked = false
            write()
          })
          return
        }
      }
    }
    write()
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)
  connection.socket.pause()
  connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  let last = -1
  await waitUntil(() => {
    const isStill = isBlocked && written === last
    last = written
    return isStill
  }, 'the instance to be held back')
  assert.ok(written < 64 * 1024 * 1024, `${written} bytes are under way`)

  connection.socket.destroy()

  await waitUntil(() => rig.member('a')?.inFlight === 0, 'the instance to be released')
})

test('a client that goes away ends the request at the instance', async (t) => {
  let isEnded = false
  const instance = await startInstance(t, 'a', (_request, response) => {
    response.once('close', () => {
      isEnded = true
    })
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)
  connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await waitUntil(() => instance.paths.length === 1, 'the request')

  connection.socket.destroy()

  await waitUntil(() => isEnded && rig.member('a')?.inFlight === 0, 'the request to end')
})

test('informational responses and an invitation to send reach the client', async (t) => {
  const instance = await startInstance(t, 'a')
  instance.server.on('checkContinue', (request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' })
    response.writeContinue()
    request.resume().on('end', () => response.end('read'))
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const sent = nodeRequest(rig.url, {
    method: 'POST',
    headers: { expect: '100-continue', 'transfer-encoding': 'chunked' },
  })
  const statuses: number[] = []
  sent.on('information', ({ statusCode }) => void statuses.push(statusCode))
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.end('body')
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]

  assert.equal((await answer.toArray()).join(''), 'read')
  assert.deepEqual(statuses, [103, 100])
})

test('an instance may refuse a body that it has not invited', async (t) => {
  const instance = await startInstance(t, 'a')
  instance.server.on('checkContinue', (_request, response) => void response.writeHead(417).end())
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send(
    'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n',
  )
  const answer = await connection.next()

  assert.equal(answer.status, 417)
  assert.equal(answer.headers['connection'], 'close')
  await connection.ended
})

test('trailers pass in both directions', async (t) => {
  let trailers: NodeJS.Dict<string> = {}
  const instance = await startInstance(t, 'a', (request, response) => {
    request.resume().on('end', () => {
      trailers = request.trailers
      response.writeHead(200, { trailer: 'x-sum' })
      response.write('body')
      response.addTrailers({ 'x-sum': '42' })
      response.end()
    })
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const sent = nodeRequest(rig.url, {
    method: 'POST',
    headers: { 'transfer-encoding': 'chunked', trailer: 'x-check' },
  })
  sent.write('body')
  sent.addTrailers({ 'x-check': '7', 'x-forwarded-for': '1.2.3.4' })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  await answer.toArray()

  assert.deepEqual({ ...answer.trailers }, { 'x-sum': '42' })
  assert.deepEqual({ ...trailers }, { 'x-check': '7' })
})

test('a client of HTTP/1.0 gets a body without chunks', async (t) => {
  const instance = await startInstance(t, 'a', (_request, response) => {
    response.write('one ')
    response.end('two')
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)
  const received: Buffer[] = []
  connection.socket.on('data', (piece: Buffer) => void received.push(piece))

  connection.send('GET / HTTP/1.0\r\n\r\n')
  await connection.ended

  const text = Buffer.concat(received).toString()
  assert.match(text, /\r\n\r\none two$/)
  assert.doesNotMatch(text, /chunked/i)
})

test('pipelined requests are answered in order', async (t) => {
  let running = 0
  let most = 0
  const instance = await startInstance(t, 'a', async (request, response) => {
    most = Math.max(most, ++running)
    for (let count = 0; count < 5; count++) await turn()
    running--
    response.end(request.url)
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send(
    ['/1', '/2', '/3', '/4'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''),
  )

  for (const path of ['/1', '/2', '/3', '/4']) assert.equal((await connection.next()).body, path)
  assert.equal(most, 1)
})

test('a client that sends too many requests ahead is disconnected', async (t) => {
  const instance = await startInstance(t, 'a', () => {})
  const rig = await openRig(t, { members: [instance.member] }, { maxPipelined: 3 })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(5))

  await connection.ended
  assert.ok(instance.paths.length <= 1)
})

test('without an instance the answer is 503 and says why', async (t) => {
  const instance = await startInstance(t, 'a')
  instance.server
    .removeAllListeners('request')
    .on('request', (_request, response) => void response.writeHead(500).end())
  const out = await startInstance(t, 'b')
  const rig = await openRig(t, { members: [instance.member, { ...out.member, inService: false }] })
  await waitUntil(() => rig.member('b')?.health === 'up', 'the other instance to be up')

  const answer = await fetch(rig.url, { method: 'POST', body: 'x' })

  assert.equal(answer.status, 503)
  assert.equal(answer.headers.get('retry-after'), '1')
  assert.equal(
    await answer.text(),
    '503 Service Unavailable\nNo instance of this load balancer is healthy: 1 starting, 1 out of service.\n',
  )
  rig.apply({ members: [] })
  assert.match(await (await fetch(rig.url)).text(), /No instance is registered/)
})

test('clients keep their connection over many requests', async (t) => {
  const instance = await startInstance(t, 'a')
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())

  const ports = new Set<number | undefined>()
  for (let count = 0; count < 4; count++) {
    const sent = nodeRequest(rig.url, { agent }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    ports.add(answer.socket.localPort)
    await answer.toArray()
  }

  assert.equal(ports.size, 1)
})

test('requests and errors of an instance are counted until they are taken', async (t) => {
  const instance = await startInstance(t, 'a', ({ url }, response) => {
    response.statusCode = url === '/broken' ? 500 : 200
    response.end()
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')

  for (const path of ['/', '/broken', '/']) await (await fetch(new URL(path, rig.url))).text()

  assert.partialDeepStrictEqual(rig.balancers.takeCounts(), [['a', { requests: 3, errors: 1 }]])
  assert.deepEqual(rig.balancers.takeCounts(), [['a', { requests: 0, errors: 0, latencyUs: 0 }]])
})
