import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer,
  get,
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { createFiles, createIssuers, sslSettings } from '../login/x509/support.ts'
import { startGateway } from '../support/gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { memoryOf, startServe } from '../support/serve.ts'
import { Reply, startUpstream } from '../support/upstream.ts'

const mebibyte = 1024 * 1024
const piece = Buffer.alloc(64 * 1024, '{"n":"01234567"}')

/** A service that writes its answers piece by piece. Everything but `GET /networks` and what is posted is empty. */
async function startService(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    if (incoming.url === '/networks' || incoming.method !== 'GET') listener(incoming, outgoing)
    else outgoing.end('[]')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Writes `bytes` as fast as the other side takes them; returns how much was written so far at any time. */
function writeAll(outgoing: ServerResponse, bytes: number): () => number {
  let written = 0
  const write = () => {
    while (written < bytes) {
      written += piece.length
      if (!outgoing.write(piece)) return void outgoing.once('drain', write)
    }
    outgoing.end()
  }
  write()
  return () => written
}

function open(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) =>
    get(url, { headers, agent: false }, resolve).once('error', reject),
  )
}

async function readAll(answer: IncomingMessage): Promise<number> {
  let bytes = 0
  for await (const chunk of answer) bytes += (chunk as Buffer).length
  return bytes
}

test('eight responses of 30 MB cost bounded memory', async (t) => {
  const clouddriver = await startService(t, (_incoming, outgoing) => {
    outgoing.setHeader('content-type', 'application/json')
    writeAll(outgoing, 30 * mebibyte)
  })
  const gateway = startServe(t, { services: { clouddriver: { baseUrl: clouddriver } } })
  const url = await gateway.listening
  const read = (count: number) =>
    Promise.all(Array.from({ length: count }, async () => readAll(await open(`${url}/networks`))))
  // All is loaded then.
  await read(1)
  const before = memoryOf(gateway.pid, 'VmHWM') / mebibyte

  assert.deepEqual(await read(8), Array(8).fill(30 * mebibyte))
  const most = memoryOf(gateway.pid, 'VmHWM') / mebibyte
  await read(3)

  // What was passed on is garbage until the next collection: some tens of megabytes, not the 240 that went through.
  assert.ok(most - before < 130, `from ${before} to ${most} MB`)
  assert.ok(memoryOf(gateway.pid, 'VmHWM') / mebibyte - most < 40)
})

test('a slow client slows the service, not the memory', async (t) => {
  let written = () => 0
  const clouddriver = await startService(t, (_incoming, outgoing) => {
    written = writeAll(outgoing, 70 * mebibyte)
  })
  const gateway = startServe(t, { services: { clouddriver: { baseUrl: clouddriver } } })
  const url = await gateway.listening
  await (await fetch(`${url}/health`)).text()
  const before = memoryOf(gateway.pid, 'RssAnon')

  const answer = await open(`${url}/networks`)
  answer.pause()
  let stalledAt = -1
  while (stalledAt !== written()) {
    stalledAt = written()
    await pause(300)
  }

  // What stands in the buffers of four sockets; far from what the service wants to send.
  assert.ok(stalledAt < 40 * mebibyte, `${stalledAt / mebibyte} MB`)
  assert.ok(memoryOf(gateway.pid, 'RssAnon') - before < 50 * mebibyte)
  assert.equal(await readAll(answer), 70 * mebibyte)
})

test('a client that leaves early ends the call', async (t) => {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<IncomingMessage>()
  const clouddriver = await startService(t, (incoming) => isAsked(incoming))
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver } } })
  const sent = get(`${gateway}/networks`).on('error', () => {})

  const { socket } = await asked
  const closed = new Promise((resolve) => socket.once('close', resolve))
  sent.destroy()

  await closed
})

test('a client that leaves midway ends the call', async (t) => {
  const { promise: closed, resolve: isClosed } = Promise.withResolvers<void>()
  const clouddriver = await startService(t, (incoming, outgoing) => {
    incoming.socket.once('close', isClosed)
    outgoing.write('{"aws":[')
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver } } })
  const answer = await open(`${gateway}/networks`)
  answer.on('error', () => {})

  answer.destroy()

  await closed
})

test('a client that leaves ends a read that is inspected', async (t) => {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<IncomingMessage>()
  const server = createServer((incoming, outgoing) => {
    if (incoming.url?.includes('/clusters/')) isAsked(incoming)
    else outgoing.end('[]')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl } } })
  const sent = get(`${gateway}/applications/web/clusters/prod/web-main`).on('error', () => {})

  const { socket } = await asked
  const closed = new Promise((resolve) => socket.once('close', resolve))
  sent.destroy()

  await closed
})

test('a client that leaves the queue is never forwarded', async (t) => {
  const asked: string[] = []
  const waiting: ServerResponse[] = []
  const kayenta = await startService(t, (incoming, outgoing) => {
    asked.push(incoming.url ?? '')
    waiting.push(outgoing)
  })
  const gateway = await startGateway(t, {
    services: { kayenta: { baseUrl: kayenta } },
    okHttpClient: { maxRequestsPerHost: 1 },
  })
  const post = (name: string) =>
    request(`${gateway}/v2/canaries/canary/c1`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      agent: false,
    })
      .on('error', () => {})
      .end(JSON.stringify({ name }))
  post('first')
  while (asked.length === 0) await pause(10)
  const second = post('second')
  await pause(100)
  second.destroy()
  await pause(100)

  waiting[0]?.end('{}')
  await pause(200)

  assert.equal(asked.length, 1)
})

const cuts = [
  { name: 'with a length', headers: { 'content-length': '1000000' }, accept: 'identity' },
  { name: 'in chunks', headers: {}, accept: 'identity' },
  {
    name: 'with a length, compressed on the way',
    headers: { 'content-length': '1000000' },
    accept: 'gzip',
  },
  { name: 'in chunks, compressed on the way', headers: {}, accept: 'gzip' },
]
for (const { name, headers, accept } of cuts) {
  test(`a broken response ${name} reaches the client broken`, async (t) => {
    const clouddriver = await startService(t, (_incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json', ...headers })
      outgoing.write(piece)
      setTimeout(() => outgoing.destroy(), 50)
    })
    const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver } } })

    const read = async () => {
      const answer = await open(`${gateway}/networks`, { 'accept-encoding': accept })
      assert.equal(answer.statusCode, 200)
      return readAll(answer)
    }
    // Where it is compressed on the way, the beginning may not have left yet.
    await assert.rejects(read(), { code: 'ECONNRESET' })
  })
}

const loginPage = '<!DOCTYPE html><html><title>Log in</title></html>'
/** What a service, or something in between, answers to `GET /networks` with status 200, and what the client is told. */
const misfits: { name: string; reply: Reply; says: RegExp }[] = [
  {
    name: 'a page',
    reply: new Reply(200, loginPage, { 'content-type': 'text/html' }),
    says: /with a page of HTML/,
  },
  {
    name: 'a page under the name of JSON',
    reply: new Reply(200, loginPage),
    says: /with a page of HTML/,
  },
  {
    name: 'a compressed page',
    reply: new Reply(200, gzipSync(loginPage), {
      'content-encoding': 'gzip',
      'content-type': 'text/html',
    }),
    says: /with a page of HTML/,
  },
  { name: 'nothing', reply: new Reply(200), says: /with nothing instead of a JSON object/ },
  { name: 'a list', reply: new Reply(200, []), says: /with a JSON list instead of a JSON object/ },
  {
    name: 'a word',
    reply: new Reply(200, 'OK', { 'content-type': 'text/plain' }),
    says: /with something that is not JSON/,
  },
]
test('an unexpected form of response is 502', async (t) => {
  const clouddriver = await startUpstream(t, {})
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  for (const { name, reply, says } of misfits) {
    clouddriver.answer({ 'GET /networks': reply })
    for (const [header, value] of [
      ['accept', 'application/json'],
      ['accept', 'application/x-yaml'],
      ['accept-encoding', 'identity'],
    ] as const) {
      const answer = await fetch(`${gateway}/networks`, { headers: { [header]: value } })
      const text = await answer.text()
      assert.equal(answer.status, 502, `${name}: ${text}`)
      assert.match(text, /UPSTREAM_UNREADABLE/)
      assert.match(text, says)
      assert.match(text, /clouddriver/)
      assert.ok(!text.includes(new URL(clouddriver.url).host), text)
    }
    assert.equal((await fetch(`${gateway}/networks`, { method: 'HEAD' })).status, 502, name)
  }
})

test('JSON is forwarded under any media type', async (t) => {
  const clouddriver = await startUpstream(t, {})
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  for (const type of [
    'text/plain',
    'application/vnd.spinnaker+json',
    'text/html',
    'application/octet-stream',
  ]) {
    clouddriver.answer({
      'GET /networks': new Reply(200, '\n {"aws":[]}', { 'content-type': type }),
    })
    const answer = await fetch(`${gateway}/networks`)
    assert.deepEqual([answer.status, await answer.text()], [200, '\n {"aws":[]}'], type)
    assert.equal((await fetch(`${gateway}/networks`, { method: 'HEAD' })).status, 200, type)
  }
  clouddriver.answer({ 'GET /networks': new Reply(204) })
  const empty = await fetch(`${gateway}/networks`)
  assert.deepEqual([empty.status, await empty.text()], [200, ''])
})

test('an empty response in gzip is empty for every client', async (t) => {
  const packed = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
  const service = createServer(({ url }, outgoing) => {
    if (url === '/networks') return void outgoing.writeHead(204, packed).end()
    outgoing.writeHead(200, packed).flushHeaders()
    outgoing.end()
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  t.after(() => void service.close())
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const gateway = await startGateway(t, {
    services: { clouddriver: { baseUrl }, keel: { baseUrl } },
  })
  for (const [path, ...methods] of [
    ['/networks', 'GET', 'HEAD'],
    ['/managed/reports/onboarding', 'GET', 'HEAD'],
    ['/managed/application/web/config', 'DELETE'],
  ] as const) {
    for (const [method, coding] of methods.flatMap((one) => [
      [one, 'identity'] as const,
      [one, 'gzip'] as const,
    ])) {
      const asked = request(gateway + path, {
        method,
        headers: { 'accept-encoding': coding },
        agent: false,
      }).end()
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      assert.deepEqual(
        [answer.statusCode, await readAll(answer)],
        [200, 0],
        `${method} ${path} ${coding}`,
      )
    }
  }
})

test('a response reaches the client while the service sends', async (t) => {
  const { promise: read, resolve: haveRead } = Promise.withResolvers<void>()
  const clouddriver = await startService(t, async (_incoming, outgoing) => {
    outgoing.write(' ')
    await pause(20)
    outgoing.write('{"aws":')
    await read
    outgoing.end('[]}')
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver } } })
  const answer = await open(`${gateway}/networks`)
  const [first] = (await once(answer, 'data')) as [Buffer]
  haveRead()
  let rest = first.toString()
  for await (const chunk of answer) rest += String(chunk)
  assert.equal(rest, ' {"aws":[]}')
})

test('an endless error of a service is cut and answered', async (t) => {
  const clouddriver = await startService(t, (_incoming, outgoing) => {
    outgoing.writeHead(503, { 'content-type': 'application/json' })
    writeAll(outgoing, 1000 * mebibyte)
  })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver } } })
  const answer = await fetch(`${gateway}/networks`)
  assert.equal(answer.status, 503)
  assert.equal(((await answer.json()) as { code: string }).code, 'UPSTREAM_FAILED')
})

test('a request body is streamed to the service', async (t) => {
  const { promise: firstBytes, resolve: haveFirst } = Promise.withResolvers<string>()
  const kayenta = await startService(t, (incoming, outgoing) => {
    incoming.once('data', (chunk: Buffer) => haveFirst(chunk.toString()))
    incoming.on('end', () => outgoing.end('{"canaryConfigId":"1"}'))
  })
  const gateway = await startGateway(t, { services: { kayenta: { baseUrl: kayenta } } })
  const connection = await openRawConnection(t, gateway)
  const body = JSON.stringify({ name: 'slow', text: 'x'.repeat(1000) })
  connection.send(
    `POST /v2/canaries/canary/c1 HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 500)}`,
  )

  assert.equal(await firstBytes, body.slice(0, 500))
  connection.send(body.slice(500))
  assert.equal((await connection.next()).body, '{"canaryConfigId":"1"}')
})

test('a broken request body breaks the call', async (t) => {
  const { promise: brokenOff, resolve: isBrokenOff } = Promise.withResolvers<void>()
  const kayenta = await startService(t, (incoming) => {
    incoming.on('data', () => {})
    incoming.once('error', () => isBrokenOff())
  })
  const gateway = await startGateway(t, { services: { kayenta: { baseUrl: kayenta } } })
  const connection = await openRawConnection(t, gateway)
  connection.send(
    'POST /v2/canaries/canary/c1 HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"a":',
  )
  await pause(100)
  connection.socket.destroy()
  await brokenOff
})

test('a sending client learns of a dead service', async (t) => {
  const kayenta = await startService(t, (_incoming, outgoing) => {
    outgoing
      .writeHead(400, { 'content-type': 'application/json' })
      .end('{"message":"not this one"}')
  })
  for (const [baseUrl, status] of [
    ['http://127.0.0.1:1', 502],
    [kayenta, 400],
  ] as const) {
    const gateway = await startGateway(t, { services: { kayenta: { baseUrl } } })
    const answer = await fetch(`${gateway}/v2/canaries/canary/c1`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ names: Array(2).fill('x'.repeat(4 * mebibyte)) }),
    })
    assert.equal(answer.status, status)
    assert.equal(
      ((await answer.json()) as { upstream: { service: string } }).upstream.service,
      'kayenta',
    )
  }
})

test('a body beyond the limit is 413 while it is sent', async (t) => {
  const kayenta = await startUpstream(t, {})
  const gateway = await startGateway(t, {
    services: { kayenta: { baseUrl: kayenta.url } },
    http: { maxBodyBytes: '1MB' },
  })
  for (const path of ['/v2/canaries/canary/c1', '/pipelines', '/webhooks/git/x']) {
    for (const announced of [true, false]) {
      const { status, body } = await upload(gateway + path, 20 * mebibyte, announced)
      assert.equal(status, 413, `${path} ${announced}`)
      assert.equal((JSON.parse(body) as { code: string }).code, 'BODY_TOO_LARGE')
    }
  }
  assert.deepEqual(kayenta.requests, [])
  assert.equal((await fetch(`${gateway}/health`)).status, 200)
})

const oversized =
  'POST /v2/canaries/canary/c1 HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
const uploads: { name: string; head: string; chunked?: true; secure?: true; keepAlive?: true }[] = [
  { name: 'with a length', head: `${oversized}content-length: ${20 * mebibyte}\r\n\r\n` },
  { name: 'in chunks', head: `${oversized}transfer-encoding: chunked\r\n\r\n`, chunked: true },
  { name: 'over TLS', head: `${oversized}content-length: ${20 * mebibyte}\r\n\r\n`, secure: true },
  {
    name: 'in chunks over TLS',
    head: `${oversized}transfer-encoding: chunked\r\n\r\n`,
    chunked: true,
    secure: true,
  },
  {
    name: 'on a connection that was used before',
    head: `${oversized}content-length: ${20 * mebibyte}\r\n\r\n`,
    keepAlive: true,
  },
  {
    name: 'with Expect, sent without waiting',
    head: `${oversized}expect: 100-continue\r\ncontent-length: ${20 * mebibyte}\r\n\r\n`,
  },
]

test('a client that reads late still sees the 413', async (t) => {
  const settings = {
    services: { kayenta: { baseUrl: 'http://127.0.0.1:1' } },
    http: { maxBodyBytes: '1MB' },
  }
  const plain = await startGateway(t, settings)
  const issuers = await createIssuers()
  const secured = await startGateway(t, {
    ...settings,
    server: { ssl: sslSettings(createFiles(t), issuers.server, [issuers.authority]) },
  })
  for (const { name, head, chunked, secure, keepAlive } of uploads) {
    await t.test(name, async (t) => {
      const connection = await openRawConnection(t, secure ? secured : plain)
      if (keepAlive) {
        connection.send('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
        assert.equal((await connection.next()).status, 200)
      }
      const { socket } = connection
      socket.pause()
      const write = (piece: string) =>
        new Promise<unknown>((resolve) => socket.write(piece, resolve))
      const outcomes = [await write(head)]
      const piece = 'x'.repeat(mebibyte)
      for (let sent = 0; sent < 20; sent++) {
        outcomes.push(await write(chunked ? `${mebibyte.toString(16)}\r\n${piece}\r\n` : piece))
      }
      if (chunked) outcomes.push(await write('0\r\n\r\n'))
      socket.resume()
      const answer = await connection.next()
      assert.deepEqual(
        [answer.status, (JSON.parse(answer.body) as { code: string }).code],
        [413, 'BODY_TOO_LARGE'],
      )
      assert.deepEqual(outcomes.filter(Boolean), [])
      await connection.ended
    })
  }
})

test('an oversized body is not invited by 100-continue', async (t) => {
  const gateway = await startGateway(t, {
    services: { kayenta: { baseUrl: 'http://127.0.0.1:1' } },
    http: { maxBodyBytes: '1MB' },
  })
  for (const [request, status] of [
    [`${oversized}expect: 100-continue\r\ncontent-length: ${20 * mebibyte}\r\n\r\n`, 413],
    ['POST /nothing HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n', 404],
  ] as const) {
    const connection = await openRawConnection(t, gateway)
    const first = once(connection.socket, 'data')
    connection.send(request)
    assert.match(String((await first)[0]), new RegExp(`^HTTP/1.1 ${status} `))
    assert.equal((await connection.next()).headers['connection'], 'close')
    await connection.ended
  }
})

test('an endless body ends with its connection', async (t) => {
  const gateway = await startGateway(t, {
    services: { kayenta: { baseUrl: 'http://127.0.0.1:1' } },
    http: { maxBodyBytes: '1MB' },
  })
  const connection = await openRawConnection(t, gateway)
  connection.send(
    'POST /v2/canaries/canary/c1 HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  const endless = setInterval(() => connection.send(`10000\r\n${'x'.repeat(0x10000)}\r\n`), 1)
  t.after(() => clearInterval(endless))
  assert.equal((await connection.next()).status, 413)
  await connection.ended
})

function upload(
  url: string,
  bytes: number,
  announced: boolean,
): Promise<{ status: number; body: string }> {
  const length: Record<string, string> = announced ? { 'content-length': String(bytes) } : {}
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json', ...length }, agent: false },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.once('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        )
      },
    )
    sent.once('error', reject)
    sent.write('"')
    for (let left = bytes - 2; left > 0; left -= mebibyte)
      sent.write('x'.repeat(Math.min(left, mebibyte)))
    sent.end('"')
  })
}

test('a client that waits for 100-continue is told to go on', async (t) => {
  const kayenta = await startUpstream(t, { 'POST /canary/c1': { canaryExecutionId: '1' } })
  const gateway = await startGateway(t, { services: { kayenta: { baseUrl: kayenta.url } } })
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(`${gateway}/v2/canaries/canary/c1`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': '12',
        expect: '100-continue',
      },
      agent: false,
    })
    sent.once('continue', () => sent.end('{"name":"a"}'))
    sent.once('response', resolve).once('error', reject)
    sent.flushHeaders()
  })
  assert.equal(answer.statusCode, 200)
  await readAll(answer)
  assert.equal(kayenta.requests[0]?.body, '{"name":"a"}')
})

const head = (line: string, headers = '') => `${line} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`
const json = (body: string, type = 'application/json') =>
  `content-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
/** Requests that end in every kind of answer, with bodies that nobody reads among them. */
const exchanges: { send: string; status: number; toHead?: true; body?: string }[] = [
  { send: head('GET /networks'), status: 200, body: '{"aws":[]}' },
  { send: head('HEAD /networks'), status: 200, toHead: true },
  { send: head('GET /nothing'), status: 404 },
  { send: `POST /pipelines HTTP/1.1\r\nhost: x\r\n${json('{"broken')}`, status: 400 },
  {
    send: `POST /pipelines HTTP/1.1\r\nhost: x\r\n${json('<xml/>', 'application/xml')}`,
    status: 415,
  },
  { send: `POST /nothing HTTP/1.1\r\nhost: x\r\n${json('{"unread":true}')}`, status: 404 },
  { send: `DELETE /networks HTTP/1.1\r\nhost: x\r\n${json('null')}`, status: 405 },
  { send: head('GET /bakery/options'), status: 502 },
  { send: head('HEAD /bakery/options'), status: 502, toHead: true },
  { send: head('GET /instanceTypes'), status: 500 },
  { send: `GET /networks HTTP/1.1\r\nhost: x\r\n${json('null')}`, status: 200, body: '{"aws":[]}' },
  { send: head('GET /networks', 'accept: image/png\r\n'), status: 406 },
  { send: head('OPTIONS /networks'), status: 200, body: '' },
  {
    send: `POST /v2/canaries/canary/c1 HTTP/1.1\r\nhost: x\r\n${json('{"name":"dead"}')}`,
    status: 502,
  },
  { send: head('GET /networks'), status: 200, body: '{"aws":[]}' },
]

for (const pipelined of [false, true]) {
  test(`a connection stays in step through every kind of answer${pipelined ? ', requests sent all at once' : ''}`, async (t) => {
    const clouddriver = await startUpstream(t, {
      'GET /networks': '{"aws":[]}',
      'GET /instanceTypes': new Reply(500, '{"message":"no"}'),
    })
    const gateway = await startGateway(t, {
      services: {
        clouddriver: { baseUrl: clouddriver.url },
        rosco: { baseUrl: 'http://127.0.0.1:1' },
        kayenta: { baseUrl: 'http://127.0.0.1:1' },
      },
    })
    const connection = await openRawConnection(t, gateway)
    if (pipelined) connection.send(exchanges.map(({ send }) => send).join(''))
    for (const { send, status, toHead, body } of exchanges) {
      if (!pipelined) connection.send(send)
      const answer = await connection.next({ toHead })
      assert.equal(answer.status, status, send)
      if (body !== undefined) assert.equal(answer.body, body)
    }
  })
}
