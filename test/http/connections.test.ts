/** Connections of clients that do not finish what they begin, or do not read what they are sent, on every port. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { createFiles, createIssuers, sslSettings } from '../login/x509/support.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningGateway, runGateway } from '../support/gateway.ts'
import { openRawConnection, type RawAnswer } from '../support/raw-connection.ts'
import { silence, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const { authority, server: certificate } = await createIssuers()
const client = await authority.issue({ subject: 'CN=ci', usage: 'client' })

type Open = () => Promise<Socket>

/** A connection whose client never ends it; half-open when the gateway does. */
function openPlain(t: TestContext, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  t.after(() => void socket.destroy())
  socket.on('error', () => {})
  return new Promise((resolve) => socket.once('connect', () => resolve(socket)))
}

async function openEncrypted(t: TestContext, url: string): Promise<Socket> {
  const socket = connectTls({
    socket: await openPlain(t, url),
    rejectUnauthorized: false,
    cert: client.cert,
    key: client.key,
  })
  socket.on('error', () => {})
  return new Promise((resolve) => socket.once('secureConnect', () => resolve(socket)))
}

/** What arrives until the connection is gone; a reset is an end, too. */
async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  if (!socket.closed)
    await new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
  return text
}

/** How many connections the main port has. */
function countConnections({ gateway }: RunningGateway): Promise<number> {
  return new Promise((resolve, reject) => {
    gateway.server.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

/** Long enough for a busy machine to do what the test does, and short enough to wait for. */
const short = {
  handshakeMs: 60_000,
  headersMs: 3000,
  requestMs: 4000,
  keepAliveMs: 1000,
  farewellMs: 1000,
  checkMs: 50,
}
const head = 'host: gate\r\n'

test('what a client does not finish', { concurrency: true }, async (t) => {
  const ports = { apiPort: await freePort(), legacyServerPort: await freePort() }
  const otherPorts = { apiPort: await freePort(), legacyServerPort: await freePort() }
  const ssl = sslSettings(createFiles(t), certificate, [authority])
  const encrypted = await runGateway(
    t,
    { server: { ssl }, default: ports },
    { connectionTimes: short },
  )
  const impatient = await runGateway(
    t,
    { server: { ssl }, default: otherPorts },
    { connectionTimes: { ...short, handshakeMs: 300 } },
  )
  const plain = await runGateway(t, {}, { connectionTimes: short })
  const api = `https://127.0.0.1:${ports.apiPort}`
  const opens: Record<string, Open> = {
    'the main port': () => openPlain(t, plain.url),
    'the main port with TLS': () => openEncrypted(t, encrypted.url),
    'the port for certificates': () => openEncrypted(t, api),
    'the extra port without TLS': () => openPlain(t, `http://127.0.0.1:${ports.legacyServerPort}`),
  }

  const cases: Promise<void>[] = []
  for (const [name, url] of [
    ['the main port', impatient.url],
    ['the port for certificates', `https://127.0.0.1:${otherPorts.apiPort}`],
  ] as const) {
    const ended = t.test(`handshakes end on ${name}`, async (t) => {
      const sockets = await Promise.all(Array.from({ length: 20 }, () => openPlain(t, url)))
      // The beginning of a ClientHello, and then a byte now and then.
      const hello = Buffer.from('16030100fa010000f60303', 'hex')
      const trickles = sockets.slice(0, 10).map((socket) => {
        socket.write(hello)
        return setInterval(() => socket.write('a'), 50)
      })
      t.after(() => trickles.forEach(clearInterval))
      await Promise.all(sockets.map(readToEnd))
      if (url === impatient.url)
        await waitUntil(
          async () => (await countConnections(impatient)) === 0,
          'descriptors are given back',
        )
    })
    cases.push(ended)
  }

  for (const [what, sent, expected] of [
    ['nothing', '', /^HTTP\/1\.1 408 /],
    ['half of the headers', `GET /version HTTP/1.1\r\n${head}`, /^HTTP\/1\.1 408 /],
    [
      'half of a body',
      `POST /tasks HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
      /^HTTP\/1\.1 (408|503) /,
    ],
    [
      'an answered request and nothing more',
      `GET /version HTTP/1.1\r\n${head}\r\n`,
      /^HTTP\/1\.1 200 /,
    ],
    ['something else than HTTP', 'EHLO gate\r\n\r\n', /^HTTP\/1\.1 400 .*BAD_ARGUMENT/s],
    [
      'too many headers',
      `GET /version HTTP/1.1\r\nx: ${'a'.repeat(40_000)}\r\n\r\n`,
      /^HTTP\/1\.1 431 .*HEADERS_TOO_LARGE/s,
    ],
    [
      'CONNECT',
      `CONNECT example.com:443 HTTP/1.1\r\n${head}\r\n`,
      /^HTTP\/1\.1 405 .*\r\nallow: GET.*METHOD_NOT_ALLOWED/s,
    ],
  ] as const) {
    const ended = t.test(`a connection with ${what} ends on every port`, async () => {
      const ends = Object.entries(opens).map(async ([port, open]) => {
        const socket = await open()
        socket.write(sent)
        assert.match(await readToEnd(socket), expected, port)
      })
      await Promise.all(ends)
    })
    cases.push(ended)
  }
  await Promise.all(cases)

  await t.test('the gateway keeps no connection whose client stays', async () => {
    for (const running of [plain, encrypted])
      await waitUntil(async () => (await countConnections(running)) === 0, 'none is left')
  })

  await t.test('a request completed after its 408 is not worked on', async (t) => {
    const socket = await openPlain(t, plain.url)
    const text = readToEnd(socket)
    socket.write(`GET /version HTTP/1.1\r\n${head}`)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.write('\r\n')
    assert.doesNotMatch(await text, / 200 /)
  })
})

test('a CONNECT is refused once the requests before it are answered', async (t) => {
  const upstream = await startUpstream(t, { 'GET /networks': silence })
  const { url } = await runGateway(t, { services: { clouddriver: { baseUrl: upstream.url } } })
  const connect = (headers = '') => `CONNECT example.com:443 HTTP/1.1\r\nhost: a\r\n${headers}\r\n`
  const connection = await openRawConnection(t, url)
  const get = requestOf('/networks')
  connection.send(get + get + connect())
  // More than the buffers between client and service hold, and less.
  for (const [index, large] of ['x'.repeat(12_000_000), 'y'].entries()) {
    await waitUntil(() => upstream.requests.length === index + 1, 'the request')
    connection.socket.pause()
    upstream.release({ large })
    await pause(300)
    connection.socket.resume()
    const { status, body } = await connection.next()
    assert.deepEqual([status, (JSON.parse(body) as { large: string }).large === large], [200, true])
  }
  const refused = await connection.next()
  assert.deepEqual([refused.status, refused.headers['connection']], [405, 'close'])
  await connection.ended

  const withBody = await openRawConnection(t, url)
  withBody.send(`${requestOf('/version')}${connect('content-length: 5\r\n')}`)
  assert.deepEqual([(await withBody.next()).status, (await withBody.next()).status], [200, 405])
  await withBody.ended
})

test('a client that reads nothing is disconnected behind a CONNECT, too', async (t) => {
  const upstream = await startUpstream(t, { 'GET /networks': { text: 'x'.repeat(30_000_000) } })
  const running = await runGateway(t, {
    services: { clouddriver: { baseUrl: upstream.url } },
    http: { writeTimeout: '1s' },
  })
  const socket = await openPlain(t, running.url)
  socket.pause()
  socket.write(`${requestOf('/networks')}CONNECT example.com:443 HTTP/1.1\r\nhost: a\r\n\r\n`)
  await waitUntil(() => upstream.requests.length === 1, 'the request')
  await waitUntil(async () => (await countConnections(running)) === 0, 'the disconnection')
})

test('idle connections', { concurrency: true }, async (t) => {
  const keepAliveMs = 3000
  const { url } = await runGateway(
    t,
    { http: { writeTimeout: 0 } },
    { connectionTimes: { keepAliveMs } },
  )

  const announced = t.test('the time is announced, and the connection ends after it', async (t) => {
    const connection = await openRawConnection(t, url)
    // Before the answer, which may be read late.
    const beganMs = performance.now()
    connection.send(requestOf('/version'))
    const { headers } = await connection.next()
    assert.deepEqual([headers['connection'], headers['keep-alive']], ['keep-alive', 'timeout=3'])
    await connection.ended
    assert.ok(performance.now() - beganMs > keepAliveMs - 1000, 'not before that')
  })

  const begun = t.test('a connection with a part of a request is not idle', async (t) => {
    const connection = await openRawConnection(t, url)
    connection.send(requestOf('/version'))
    await connection.next()
    const [first, ...rest] =
      `GET /version HTTP/1.1\r\nx-slow: ${'a'.repeat(60)}\r\n${head}\r\n`.match(/.{1,3}/gs) ?? []
    connection.send(String(first))
    for (const piece of rest) {
      await pause((2 * keepAliveMs) / rest.length)
      connection.send(piece)
    }
    assert.equal((await connection.next()).status, 200)
  })

  const waiting = t.test('a request renews the time', async (t) => {
    const connection = await openRawConnection(t, url)
    for (let count = 0; count < 4; count++) {
      connection.send(requestOf('/version'))
      assert.equal((await connection.next()).status, 200)
      await pause(keepAliveMs / 2)
    }
  })
  await Promise.all([announced, begun, waiting])
})

test('pipelined requests are worked on one after the other', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const { url, gateway } = await runGateway(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
  })
  let parsed = 0
  gateway.server.server.on('request', () => parsed++)
  const connection = await openRawConnection(t, url)
  connection.send(`GET /networks HTTP/1.1\r\n${head}\r\n`.repeat(3000))
  const answers: RawAnswer[] = []
  while (answers.at(-1)?.headers['connection'] !== 'close') {
    await waitUntil(
      () => clouddriver.requests.length === answers.length + 1,
      'the next one is asked for',
    )
    clouddriver.release('{}')
    answers.push(await connection.next())
  }
  await connection.ended
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal(answers.length, 32)
  assert.equal(parsed, 33, 'the rest is skipped')
  assert.equal((await fetch(`${url}/health`)).status, 200)
  assert.equal(clouddriver.requests.length, 32, 'what is not answered is not done')
})

test('what follows a request and cannot be read does not break its answer off', async (t) => {
  const { url } = await runGateway(t, { services: await services(t) })
  for (const [first, next, statuses] of [
    [requestOf('/networks'), 'nonsense\r\n\r\n', ['200', '400']],
    [
      requestOf('/networks', 'transfer-encoding: chunked\r\n').concat('2\r\n{}\r\n0\r\n'),
      'nonsense\r\n\r\n',
      ['200'],
    ],
  ] as const) {
    const socket = await openPlain(t, url)
    socket.write(first)
    // The answer has begun, and is too large to be over.
    await new Promise((resolve) => socket.once('readable', resolve))
    socket.write(next + requestOf('/version').repeat(2))
    const text = await readToEnd(socket.resume())
    socket.destroy()

    assert.deepEqual(
      text.match(/HTTP\/1\.1 \d+/g)?.map((line) => line.slice(-3)),
      statuses,
    )
    assert.ok(text.includes(large.slice(-100)))
  }
})

test('a request that is complete is answered before what follows is refused', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const { url } = await runGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const connection = await openRawConnection(t, url)
  connection.send(`${requestOf('/networks')}nonsense\r\n\r\n`)
  await waitUntil(() => clouddriver.requests.length === 1, 'the service is asked')
  clouddriver.release('{}')
  assert.deepEqual([(await connection.next()).status, (await connection.next()).status], [200, 400])
  await connection.ended
})

test('HTTP/1.0 has no transfer coding', async (t) => {
  const { url } = await runGateway(t, {})
  const connection = await openRawConnection(t, url)
  connection.send(`POST /tasks HTTP/1.0\r\n${head}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`)
  const { status, body, headers } = await connection.next()
  assert.deepEqual([status, headers['connection']], [400, 'close'])
  assert.match(
    body,
    /An HTTP\/1.0 request has no Transfer-Encoding. Send Content-Length, or use HTTP\/1.1/,
  )
  await connection.ended
})

test('a request that asks for an upgrade is the last of its connection', async (t) => {
  const { url } = await runGateway(t, {})
  // Java's client asks for HTTP/2 with its first request; Node reads nothing after that.
  for (const body of ['', 'content-length: 2\r\n\r\n{}']) {
    const connection = await openRawConnection(t, url)
    const upgrade =
      'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n'
    connection.send(
      `${body === '' ? 'GET' : 'POST'} /health HTTP/1.1\r\n${head}${upgrade}${body === '' ? '\r\n' : body}`,
    )
    const { status, headers } = await connection.next()
    assert.deepEqual([status, headers['connection']], [body === '' ? 200 : 405, 'close'])
    await connection.ended
  }
})

/** Far more than the buffers of two sockets hold. */
const large = JSON.stringify([{ name: randomBytes(9_000_000).toString('base64') }])
const services = async (t: TestContext) => {
  const { url } = await startUpstream(t, (request) => {
    if (request.path === '/networks') return `{"aws":${large}}`
    if (request.path.includes('/clusters/')) return large
    return request.path === '/credentials' ? [] : {}
  })
  return { clouddriver: { baseUrl: url } }
}
const requestOf = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${head}${headers}\r\n`

test('clients that do not read their answers are disconnected', {
  concurrency: true,
}, async (t) => {
  const cases: Promise<void>[] = []
  for (const encrypted of [false, true]) {
    const port = encrypted ? 'a port with TLS' : 'a port without TLS'
    const ended = t.test(`on ${port}`, async (t) => {
      const ssl = sslSettings(createFiles(t), certificate, [authority])
      const running = await runGateway(t, {
        services: await services(t),
        http: { writeTimeout: '4s' },
        ...(encrypted && { server: { ssl } }),
      })
      const requests = [
        requestOf('/networks'),
        requestOf('/networks', 'accept-encoding: gzip\r\n'),
        requestOf('/applications/web/clusters/prod/web-main'),
        requestOf('/applications/web/clusters/prod/web-main', 'accept-encoding: gzip\r\n'),
        requestOf('/openapi.json').repeat(60),
        requestOf('/networks').repeat(3),
      ]
      const sockets = await Promise.all(
        requests.map(() => (encrypted ? openEncrypted : openPlain)(t, running.url)),
      )
      const begun = sockets.map(
        (socket) => new Promise((resolve) => socket.once('readable', resolve)),
      )
      for (const [index, socket] of sockets.entries()) socket.write(requests[index] as string)
      await Promise.all(begun)
      for (const socket of sockets) assert.match(String(socket.read(12)), /^HTTP\/1\.1 200/)
      await waitUntil(async () => (await countConnections(running)) === 0, 'all are disconnected')
    })
    cases.push(ended)
  }
  await Promise.all(cases)
})

for (const { kind, encrypted, isCounted } of [
  { kind: 'with TLS', encrypted: true, isCounted: true },
  { kind: 'without TLS', encrypted: false, isCounted: true },
  { kind: 'where Node does not count unsent bytes', encrypted: false, isCounted: false },
]) {
  test(`a slow reader is not a client that takes nothing, ${kind}`, async (t) => {
    const answer = Buffer.from(JSON.stringify([{ name: 'x'.repeat(36_000_000) }]))
    const { url: baseUrl } = await startUpstream(t, ({ path }) =>
      path.includes('/clusters/') ? answer : [],
    )
    const ssl = sslSettings(createFiles(t), certificate, [authority])
    const running = await runGateway(t, {
      services: { clouddriver: { baseUrl } },
      http: { writeTimeout: '1h' },
      ...(encrypted && { server: { ssl } }),
    })
    const { server } = running.gateway.server
    const accepted = new Promise<Socket>((resolve) =>
      server.once(encrypted ? 'secureConnection' : 'connection', resolve),
    )
    const socket = await (encrypted ? openEncrypted : openPlain)(t, running.url)
    const connection = await accepted
    const { _handle: handle } = connection as unknown as { _handle: object }
    if (!isCounted) Object.defineProperty(handle, 'writeQueueSize', { value: undefined })
    const runOut = () => void server.emit('timeout', connection)

    let bytes = 0
    let next = 0
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes >= next) socket.pause()
    })
    socket.write(requestOf('/applications/web/clusters/prod/web-main'))
    for (next = 1; next < 25_000_000; next += 8_000_000) {
      socket.resume()
      await waitUntil(() => bytes >= next, 'the client goes on')
      await pause(50)
      runOut()
      assert.equal(connection.destroyed, false)
    }
    await waitUntil(() => {
      runOut()
      return connection.destroyed
    }, 'a client that has stopped is disconnected')
  })
}

test('a waiting client is not ended by the write timeout', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const { url } = await runGateway(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    http: { writeTimeout: '50ms' },
  })
  const connection = await openRawConnection(t, url)
  connection.send(requestOf('/networks'))
  await waitUntil(() => clouddriver.requests.length === 1, 'the service is asked')
  await pause(300)
  clouddriver.release('{}')
  assert.equal((await connection.next()).status, 200)
})

test('unread answers of all clients together are bounded', async (t) => {
  const lines: string[] = []
  const running = await runGateway(
    t,
    { services: await services(t), http: { maxUnreadBytes: '30MB', writeTimeout: 0 } },
    { log: ({ msg, reason }) => lines.push(`${msg}: ${reason}`) },
  )
  const cut = () => lines.filter((line) => /does not read.*together/.test(line)).length
  for (let index = 0; index < 8; index++) {
    const socket = await openPlain(t, running.url)
    socket.once('readable', () => {}).write(requestOf('/applications/web/clusters/prod/web-main'))
    await new Promise((resolve) => socket.once('readable', resolve))
    assert.equal((await fetch(`${running.url}/health`)).status, 200)
  }
  // Two of 12 MB fit.
  await waitUntil(() => cut() >= 5, `${cut()} were disconnected`)
  await waitUntil(async () => (await countConnections(running)) <= 4, 'the others stay')
})

for (const idle of [false, true]) {
  const title = idle ? 'on idle connections' : 'on new connections'
  test(`a stop answers requests sent ${title} while busy`, async (t) => {
    const lastIdleMs = 300
    const { url, gateway, stop } = await runGateway(
      t,
      { server: { 'drain-ms': '1ms' } },
      { connectionTimes: { lastIdleMs } },
    )
    await gateway.drain()
    const client = new ClientThread(t, { port: Number(new URL(url).port), idle })
    await client.next()
    // A timer of the same length that is set earlier runs right before the one that closes idle connections.
    if (idle) setTimeout(() => client.block(), lastIdleMs)
    else client.block()
    const stopped = stop()
    const expected = idle ? /^HTTP\/1.1 200 .*connection: close/is : /^HTTP\/1.1 200 /
    for (const answer of await client.next()) assert.match(answer, expected)
    await stopped
  })
}

/** A client in a thread of its own, which sends requests on several connections while this process is blocked. */
class ClientThread {
  readonly #turn = new Int32Array(new SharedArrayBuffer(4))
  readonly #worker: Worker

  /** @param options.idle It has connections, whose first answers it has read; otherwise it opens them when it sends. */
  constructor(t: TestContext, options: { port: number; idle: boolean }) {
    this.#worker = new Worker(clientProgram, {
      eval: true,
      workerData: { ...options, turn: this.#turn },
    })
    t.after(() => this.#worker.terminate())
  }

  /** Nothing when it is ready, and then the beginning of each answer, or why there is none. */
  async next(): Promise<string[]> {
    const [answers] = (await once(this.#worker, 'message')) as [string[]]
    return answers
  }

  /** Blocks this process until the client has sent its requests, and a little longer. */
  block(): void {
    Atomics.store(this.#turn, 0, 1)
    Atomics.notify(this.#turn, 0)
    Atomics.wait(this.#turn, 0, 1)
    Atomics.wait(this.#turn, 0, 2, 50)
  }
}

const clientProgram = String.raw`
  const { once } = require('node:events')
  const { connect } = require('node:net')
  const { parentPort, workerData } = require('node:worker_threads')
  const { port, idle, turn } = workerData
  let sockets
  async function open() {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  const openAll = async () => void (sockets = await Promise.all(Array.from({ length: 10 }, open)))
  const toAll = (act) => Promise.all(sockets.map(act))
  const send = (socket) => new Promise((resolve) => socket.write('GET /version HTTP/1.1\r\nhost: gate\r\n\r\n', resolve))
  const answer = (socket) => Promise.race([once(socket, 'data').then(String), once(socket, 'close').then(() => 'closed')]).catch(String)
  async function main() {
    if (idle) {
      await openAll()
      await toAll(send)
      await toAll(answer)
    }
    parentPort.postMessage([])
    Atomics.wait(turn, 0, 0)
    if (!idle) await openAll()
    await toAll(send)
    Atomics.store(turn, 0, 2)
    Atomics.notify(turn, 0)
    parentPort.postMessage(await toAll(answer))
  }
  main().catch((error) => parentPort.postMessage([String(error)]))
`

test('an expectation that nobody knows is ignored', async (t) => {
  const { url } = await runGateway(t, {})
  const connection = await openRawConnection(t, url)
  connection.send('GET /auth/loggedOut HTTP/1.1\r\nhost: x\r\nexpect: a-miracle\r\n\r\n')
  const { status, headers } = await connection.next()
  assert.deepEqual([status, headers['x-content-type-options']], [200, 'nosniff'])
})
