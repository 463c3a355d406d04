/** What a body may be at most: of users and of strangers, read and streamed, one alone and many at once. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { definitionsBackend } from '../../packages/engine/definitions/definitions.ts'
import { eventsBackend } from '../../packages/engine/events/events.ts'
import { orchestrationBackend } from '../../packages/engine/orchestration-backend.ts'
import { createBodyBounds, uncountedBytes } from '../../packages/gateway/http/body-bounds.ts'
import { startBackends } from '../support/backends.ts'
import { startGateway } from '../support/gateway.ts'
import { openRawConnection, type RawConnection } from '../support/raw-connection.ts'
import { startUpstream } from '../support/upstream.ts'

const asAnn = {
  authorization: `Basic ${Buffer.from('ann:correct horse battery').toString('base64')}`,
}
const annMayLogIn = {
  security: { basicform: { enabled: true } },
  spring: { security: { user: { name: 'ann', password: 'correct horse battery' } } },
}
const bounds = {
  maxBodyBytes: '200KB',
  maxBodyValues: 2000,
  maxBodyTextBytes: '180KB',
  openPaths: { maxBodyBytes: '100KB', maxBodyValues: 200, maxBodyBytesAtOnce: '40KB' },
}

/** A gateway with one user, and services that accept everything. */
async function startBounded(
  t: TestContext,
  settings: Record<string, unknown> = annMayLogIn,
  http: Record<string, unknown> = bounds,
) {
  const service = await startUpstream(t, ({ path }) =>
    path.startsWith('/webhooks') ? { eventProcessed: true } : { ref: '/tasks/1' },
  )
  const services = Object.fromEntries(
    ['echo', 'orca', 'kayenta'].map((name) => [name, { baseUrl: service.url }]),
  )
  const url = await startGateway(t, { ...settings, services, http })
  const post = async (
    path: string,
    body: string | Buffer,
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      body: typeof body === 'string' ? body : new Uint8Array(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
    return { status: answer.status, text: await answer.text() }
  }
  return { url, service, post }
}

const listOf = (values: number) =>
  `{"list":[${Array(values - 2)
    .fill('{}')
    .join(',')}]}`
const textOf = (bytes: number) => `{"t":"${'x'.repeat(bytes - 8)}"}`

const rows: { path: string; user: boolean; body: string; status: number; says?: RegExp }[] = [
  { path: '/webhooks/webhook/ci', user: false, body: listOf(200), status: 200 },
  {
    path: '/webhooks/webhook/ci',
    user: false,
    body: listOf(201),
    status: 413,
    says: /200 values.*http\.openPaths\.maxBodyValues/,
  },
  { path: '/webhooks/webhook/ci', user: false, body: textOf(102_400), status: 200 },
  {
    path: '/webhooks/webhook/ci',
    user: false,
    body: textOf(102_401),
    status: 413,
    says: /102400 bytes.*http\.openPaths\.maxBodyBytes/,
  },
  {
    path: '/webhooks/webhook/ci',
    user: false,
    body: '['.repeat(5000),
    status: 413,
    says: /200 values/,
  },
  {
    path: '/webhooks/cdevents/ci',
    user: false,
    body: listOf(201),
    status: 413,
    says: /200 values/,
  },
  {
    path: '/notifications/callbacks/slack',
    user: false,
    body: textOf(102_401),
    status: 413,
    says: /102400 bytes/,
  },
  { path: '/webhooks/webhook/ci', user: true, body: listOf(201), status: 200 },
  { path: '/tasks', user: true, body: listOf(2000), status: 200 },
  {
    path: '/tasks',
    user: true,
    body: listOf(2001),
    status: 413,
    says: /2000 values.*http\.maxBodyValues/,
  },
  {
    path: '/tasks',
    user: true,
    body: textOf(204_801),
    status: 413,
    says: /204800 bytes.*http\.maxBodyBytes/,
  },
  ...['/tasks', '/v2/canaryConfig'].flatMap((path) => [
    { path, user: true, body: textOf(184_320 + 8), status: 200 },
    {
      path,
      user: true,
      body: `{"a":["${'x'.repeat(100_000)}","${'x'.repeat(100_000)}"]}`,
      status: 200,
    },
    {
      path,
      user: true,
      body: textOf(184_320 + 9),
      status: 413,
      says: /184320 bytes.*http\.maxBodyTextBytes/,
    },
    { path, user: true, body: `{"${'\\"'.repeat(92_161)}":1}`, status: 413, says: /184320 bytes/ },
  ]),
  { path: '/v2/canaryConfig', user: true, body: listOf(2000), status: 200 },
  {
    path: '/v2/canaryConfig',
    user: true,
    body: listOf(2001),
    status: 413,
    says: /2000 values.*http\.maxBodyValues/,
  },
  {
    path: '/v2/canaryConfig',
    user: true,
    body: `{"a":${'['.repeat(1500)}`,
    status: 400,
    says: /deeper than 1000/,
  },
  {
    path: '/v2/canaryConfig',
    user: true,
    body: '{"a":[1.0,1e999]}',
    status: 400,
    says: /larger than 1\.8e308/,
  },
]

test('bodies have separate limits with and without login', async (t) => {
  const { post } = await startBounded(t)
  for (const { path, user, body, status, says } of rows) {
    const answer = await post(path, body, user ? asAnn : {})
    assert.equal(
      answer.status,
      status,
      `${path}: ${body.slice(0, 40)} of ${body.length}: ${answer.text}`,
    )
    if (says !== undefined) assert.match(answer.text, says)
  }
})

test('a text beyond its bound is rejected before its body has come', async (t) => {
  const { url, service } = await startBounded(t, annMayLogIn, { maxBodyTextBytes: '180KB' })
  for (const path of ['/tasks', '/v2/canaryConfig']) {
    const connection = await openRawConnection(t, url)
    const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${asAnn.authorization}\r\ncontent-type: application/json\r\n`
    connection.send(`${head}content-length: 900000\r\n\r\n{"name":"${'x'.repeat(300_000)}`)
    assert.equal((await connection.next()).status, 413, path)
  }
  assert.ok(service.requests.every(({ path }) => path !== '/ops'))
})

test('webhooks are bounded like those of strangers where everyone is anonymous', async (t) => {
  const { post } = await startBounded(t, {})
  assert.equal((await post('/webhooks/webhook/ci', listOf(201))).status, 413)
  assert.equal((await post('/tasks', listOf(2000))).status, 200)
})

const pack: Record<string, (text: string) => Buffer> = {
  gzip: gzipSync,
  'X-Gzip': gzipSync,
  deflate: deflateSync,
  'deflate ': deflateRawSync,
  // The usual quality takes seconds for a bomb.
  br: (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  identity: Buffer.from,
}

test('compressed bodies are read within the bounds of what they hold', async (t) => {
  const { post, service } = await startBounded(t)
  for (const [coding, compress] of Object.entries(pack)) {
    const compressedBomb = compress(textOf(20_000_000))
    for (const path of ['/webhooks/webhook/ci', '/tasks', '/v2/canaryConfig']) {
      const user = path.startsWith('/webhooks') ? {} : asAnn
      const sendPacked = (body: Buffer) => post(path, body, { ...user, 'content-encoding': coding })
      const send = (text: string) => sendPacked(compress(text))
      const sound = await send('{"application":"a","job":[],"n":1.0}')
      assert.equal(sound.status, 200, `${path} ${coding}: ${sound.text}`)
      const received = (path.startsWith('/webhooks') ? service.background : service.requests).at(-1)
      assert.equal(received?.body, '{"application":"a","job":[],"n":1.0}')
      assert.equal(received?.headers['content-encoding'], undefined)
      assert.equal((await send(listOf(2001))).status, 413, `${path} ${coding}`)
      if (coding === 'identity') continue
      const bomb = await sendPacked(compressedBomb)
      assert.equal(bomb.status, 413, `${path} ${coding}`)
      assert.match(bomb.text, /maxBodyBytes/)
      const broken = await post(path, '{"application":"a"}', {
        ...user,
        'content-encoding': coding,
      })
      assert.deepEqual([broken.status, /UNREADABLE_BODY/.test(broken.text)], [400, true])
    }
  }
})

test('an unknown content coding is 415 with the known ones', async (t) => {
  const { url } = await startBounded(t)
  for (const coding of ['zstd', 'gzip, gzip', 'constructor']) {
    const headers = { ...asAnn, 'content-type': 'application/json', 'content-encoding': coding }
    const answer = await fetch(`${url}/tasks`, { method: 'POST', body: '{}', headers })
    assert.equal(answer.headers.get('accept-encoding'), 'gzip, deflate, br')
    assert.deepEqual(
      [answer.status, ((await answer.json()) as { code: string }).code],
      [415, 'UNSUPPORTED_CONTENT_CODING'],
    )
  }
})

const hook = '/webhooks/webhook/ci'

/** Beyond what is not counted; two of them are too many. */
const large = uncountedBytes + 30_000

/** A client that has sent all of a large webhook but the last byte, once the gateway holds it. */
async function holdPart(
  t: TestContext,
  { url, post }: Awaited<ReturnType<typeof startBounded>>,
): Promise<RawConnection> {
  for (;;) {
    const connection = await openRawConnection(t, url)
    const head = `POST ${hook} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${large}\r\n\r\n`
    connection.send(head + textOf(large).slice(0, -1))
    await pause(20)
    if ((await post(hook, textOf(large))).status === 503) return connection
    // The two have met in another order: either was first, or this one was refused.
    connection.socket.destroy()
  }
}

test('bodies without login share a limit of their own', async (t) => {
  const bounded = await startBounded(t)
  const slow = await holdPart(t, bounded)
  const refused = await bounded.post(hook, textOf(large))
  assert.equal(refused.status, 503, refused.text)
  assert.match(refused.text, /TOO_MANY_BODIES/)
  assert.match(refused.text, /40960 bytes.*http\.openPaths\.maxBodyBytesAtOnce/)
  assert.equal((await bounded.post(hook, textOf(uncountedBytes))).status, 200)
  assert.equal((await bounded.post('/tasks', textOf(150_000), asAnn)).status, 200)

  slow.send('}')
  assert.equal((await slow.next()).status, 200)
  assert.equal((await bounded.post(hook, textOf(large))).status, 200)
})

test('a client that goes away gives back what its body held', async (t) => {
  const bounded = await startBounded(t)
  for (let round = 0; round < 3; round++) {
    const slow = await holdPart(t, bounded)
    slow.socket.destroy()
    while ((await bounded.post(hook, textOf(large))).status === 503) await pause(5)
  }
})

test('bytes of an answer that is over already are not counted', () => {
  const one = {
    maxBytes: 10,
    maxValues: 10,
    maxTextBytes: 10,
    maxBytesAtOnce: 10,
    prefix: 'http',
  } as const
  const boundsOf = createBodyBounds({ known: one, open: one })
  const over = { destroyed: true, once: () => assert.fail('nobody tells when it is closed') }
  for (let round = 0; round < 3; round++)
    boundsOf('known', over as never).hold?.(uncountedBytes + 8)
})

test('embedded back ends have limits of their own', async (t) => {
  const backends = await startBackends(
    t,
    [definitionsBackend, eventsBackend, orchestrationBackend],
    {
      settings: { bodies: { maxBytes: 1000, maxValues: 50 } },
    },
  )
  for (const [service, path] of [
    ['front50', '/pipelines'],
    ['orca', '/ops'],
    ['echo', '/webhooks/webhook/ci'],
  ] as const) {
    const post = (body: string) =>
      fetch(backends.url(service) + path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      })
    const tooMany = await post(listOf(201))
    assert.equal(tooMany.status, 413, service)
    assert.match(await tooMany.text(), /200 values.*http\.maxBodyValues/)
    const tooLong = await post(textOf(4001))
    assert.equal(tooLong.status, 413, service)
    assert.match(await tooLong.text(), /4000 bytes.*http\.maxBodyBytes/)
    assert.equal((await post(`{"a":${'1'.repeat(1001)}}`)).status, 400, service)
    assert.ok((await fetch(`${backends.url(service)}/health`)).ok)
  }
})
