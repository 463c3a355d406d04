/** Answers of services in content and transfer codings, also where Fairlead has not asked for any. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createRawServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { startGateway } from '../support/gateway.ts'

const text = '{"aws":[{"name":"main"}]}'
const packed = gzipSync(text)
const long = JSON.stringify({
  aws: Array.from({ length: 20_000 }, (_, index) => ({ id: Math.sin(index) })),
})
const longPacked = gzipSync(long)

interface Sent {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly pieces: readonly (string | Buffer)[]
}

/** A service that sends the same whatever the request accepts, piece by piece. */
async function startService(
  t: TestContext,
  { status = 200, headers = { 'content-encoding': 'gzip' }, pieces }: Sent,
) {
  const server = createServer(async (incoming, outgoing) => {
    if (!incoming.url?.startsWith('/networks')) return void outgoing.end('[]')
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers })
    for (const piece of pieces) await new Promise((resolve) => outgoing.write(piece, resolve))
    outgoing.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return startGateway(t, {
    services: {
      clouddriver: { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    },
  })
}

async function ask(gateway: string, encoding: 'gzip' | 'identity', accept = 'application/json') {
  const answer = await fetch(`${gateway}/networks`, {
    headers: { 'accept-encoding': encoding, accept },
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

const broken: [name: string, sent: Sent][] = [
  ['what is no gzip', { pieces: [text] }],
  ['long text that is no gzip', { pieces: [long] }],
  ['a cut answer', { pieces: [packed.subarray(0, packed.length - 9)] }],
  [
    'a cut answer of known length',
    { headers: lengthOf(packed.subarray(0, 20)), pieces: [packed.subarray(0, 20)] },
  ],
  [
    'a cut answer byte by byte',
    { pieces: [...packed.subarray(0, 20)].map((byte) => Buffer.of(byte)) },
  ],
  ['the beginning of a header', { pieces: [packed.subarray(0, 4)] }],
  ['an answer with a wrong checksum', { pieces: [packed.subarray(0, -8), Buffer.alloc(8)] }],
]

function lengthOf(bytes: Buffer): Record<string, string> {
  return { 'content-encoding': 'gzip', 'content-length': String(bytes.length) }
}

for (const [name, sent] of broken) {
  test(`${name} under the name of gzip is an error of the service`, async (t) => {
    const gateway = await startService(t, sent)
    for (const accept of ['application/json', 'application/x-yaml']) {
      const answer = await ask(gateway, 'identity', accept)
      assert.equal(answer.status, 502, answer.text)
      assert.match(answer.text, /UPSTREAM_UNREADABLE/)
    }
  })
}

test('what is no gzip is not passed on as gzip either', async (t) => {
  const gateway = await startService(t, { pieces: [text] })
  const answer = await ask(gateway, 'gzip')
  assert.equal(answer.status, 502, answer.text)
})

const good: [name: string, sent: Sent, expected: string][] = [
  ['a short answer', { pieces: [packed] }, text],
  ['an answer byte by byte', { pieces: [...packed].map((byte) => Buffer.of(byte)) }, text],
  [
    'a long answer',
    {
      pieces: [
        longPacked.subarray(0, 50),
        longPacked.subarray(50, 5000),
        longPacked.subarray(5000),
      ],
    },
    long,
  ],
  [
    'an answer under the old name of the coding',
    { headers: { 'content-encoding': 'X-GZip' }, pieces: [packed] },
    text,
  ],
  [
    'an answer with a validator',
    { headers: { 'content-encoding': 'gzip', etag: '"a"' }, pieces: [packed] },
    text,
  ],
]

for (const [name, sent, expected] of good) {
  test(`${name} is unpacked for clients that do not understand gzip, and read`, async (t) => {
    const gateway = await startService(t, sent)
    const answer = await ask(gateway, 'identity')
    assert.deepEqual([answer.status, answer.text], [200, expected])
    assert.equal(answer.headers.get('content-encoding'), null)
    if (sent.headers?.['etag'] !== undefined) assert.equal(answer.headers.get('etag'), 'W/"a"')
    assert.equal((await ask(gateway, 'identity', 'application/x-yaml')).status, 200)
  })
}

test('an answer that breaks later breaks the connection, as its status is gone', async (t) => {
  const gateway = await startService(t, { pieces: [longPacked.subarray(0, -20)] })
  await assert.rejects(ask(gateway, 'identity'), /terminated/)
})

test('an answer of which nothing is left unpacked is an empty one', async (t) => {
  const gateway = await startService(t, { pieces: [gzipSync('')] })
  assert.equal((await ask(gateway, 'identity')).status, 502)
})

for (const encoding of ['gzip', 'identity'] as const) {
  test(`a compressed error keeps its status and its message (${encoding})`, async (t) => {
    const said = gzipSync('{"message":"The region is gone."}')
    const gateway = await startService(t, { status: 409, pieces: [said] })
    for (const accept of ['application/json', 'application/x-yaml']) {
      const answer = await ask(gateway, encoding, accept)
      assert.equal(answer.status, 409)
      assert.match(answer.text, /The region is gone\./)
    }
  })

  test(`an error whose compression is broken keeps its status (${encoding})`, async (t) => {
    const gateway = await startService(t, { status: 409, pieces: ['no gzip'] })
    for (const accept of ['application/json', 'application/x-yaml']) {
      assert.equal((await ask(gateway, encoding, accept)).status, 409)
    }
  })
}

for (const [coding, status] of [
  ['gzip, chunked', 502],
  ['chunked, chunked', 502],
  ['gzip', 502],
  ['chunked', 200],
  ['Chunked', 200],
  ['identity', 200],
] as const) {
  test(`an answer in the transfer coding "${coding}" is ${status === 200 ? 'passed on' : 'an error of the service'}`, async (t) => {
    const body = coding.includes('gzip') ? packed : Buffer.from(text)
    const size = Buffer.from(`${body.length.toString(16)}\r\n`)
    const sent = /chunked/i.test(coding)
      ? Buffer.concat([size, body, Buffer.from('\r\n0\r\n\r\n')])
      : body
    const server = createRawServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.end(
          Buffer.concat([
            Buffer.from(
              `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: ${coding}\r\n\r\n`,
            ),
            sent,
          ]),
        )
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const gateway = await startGateway(t, {
      services: {
        clouddriver: { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
      },
    })
    for (const accept of ['application/json', 'application/x-yaml']) {
      for (const encoding of ['gzip', 'identity'] as const) {
        const answer = await ask(gateway, encoding, accept)
        assert.equal(answer.status, status, answer.text)
      }
    }
  })
}

test('a client that understands gzip gets the bytes of the service', async (t) => {
  const gateway = await startService(t, { headers: lengthOf(packed), pieces: [packed] })
  const answer = await fetch(`${gateway}/networks`, { headers: { 'accept-encoding': 'gzip' } })
  assert.equal(answer.headers.get('content-length'), String(packed.length))
  assert.equal(gunzipSync(packed).toString(), await answer.text())
})
