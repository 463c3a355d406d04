import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent } from 'node:https'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { RoutingTable } from '../../../packages/agent/front/routing.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { getStream, openFront } from './support.ts'

test('app-scenario 86: applications share ports by host, and the longest path wins', async (t) => {
  const rig = await openFront(t, [
    { owner: 'shop', rules: [{ host: 'shop.example' }] },
    { owner: 'shopapi', rules: [{ host: 'shop.example', path: '/api', strip: true }] },
    { owner: 'blog', rules: [{ host: 'blog.example' }] },
  ])
  rig.apply([rig.certify('shop.example'), rig.certify('blog.example')])

  for (const [host, path, body] of [
    ['shop.example', '/', 'shop /'],
    ['shop.example', '/apis', 'shop /apis'],
    ['shop.example', '/api', 'shopapi /'],
    ['shop.example', '/api/x?y=1', 'shopapi /x?y=1'],
    ['blog.example', '/api', 'blog /api'],
  ] as const)
    assert.equal((await rig.getSecurely(host, path)).body, body)
})

test('app-scenario 97: a host among 500 costs a request what one alone does', async (t) => {
  const hosts = Array.from({ length: 500 }, (_, index) => `host${index}.example`)
  /** Rules that are looked at for the last of so many hosts. */
  const looksAmong = (count: number) => {
    let looks = 0
    const table = new RoutingTable(
      hosts.slice(-count).map((host) => ({
        host,
        get path() {
          looks++
          return '/'
        },
        target: host,
      })),
    )
    looks = 0
    assert.equal(table.find('host499.example', '/shop?a=b'), 'host499.example')
    return looks
  }
  assert.deepEqual([looksAmong(1), looksAmong(500)], [1, 1])

  const rig = await openFront(t, [{ owner: 'shop', rules: hosts.map((host) => ({ host })) }])
  for (const host of [hosts[0], hosts[250], hosts[499]] as string[])
    assert.equal((await rig.get(host, '/x')).body, 'shop /x')
  assert.equal((await rig.get('host500.example')).status, 404)
})

test('app-scenario 138: one connection and one handshake serve many requests, the next one resumes', async (t) => {
  const rig = await openFront(t, [{ owner: 'shop', rules: [{ host: 'shop.example' }] }])
  rig.apply([rig.certify('shop.example')])
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  let handshakes = 0
  agent.on('keylog', (line: Buffer) => {
    if (line.toString().startsWith('SERVER_HANDSHAKE_TRAFFIC_SECRET')) handshakes++
  })
  for (let count = 0; count < 50; count++)
    assert.equal((await rig.getSecurely('shop.example', `/${count}`, { agent })).status, 200)
  assert.equal(handshakes, 1)

  const servername = 'shop.example'
  const first = await rig.handshake({ servername, maxVersion: 'TLSv1.2' })
  const session = first.getSession() ?? assert.fail('a session')
  const second = await rig.handshake({ servername, session, maxVersion: 'TLSv1.2' })
  assert.ok(second.isSessionReused())
})

test('app-scenario 89: a host is the same in any form, and an unknown one gets no page', async (t) => {
  const rig = await openFront(t, [{ owner: 'shop', rules: [{ host: 'shop.example' }] }])

  for (const host of ['SHOP.Example', 'shop.example.', 'shop.example:8080'])
    assert.equal((await rig.get(host)).body, 'shop /')
  assert.equal((await rig.get('other.example')).status, 404)
  await assert.rejects(rig.handshake({ servername: 'other.example' }))
  await assert.rejects(rig.handshake({}))
})

test('app-scenario 90: a host of another owner on one connection is misdirected', async (t) => {
  const rig = await openFront(t, [
    { owner: 'a', rules: [{ host: 'a.example' }, { host: 'www.a.example' }] },
    { owner: 'b', rules: [{ host: 'b.example' }] },
  ])
  rig.apply([rig.certify('a.example'), rig.certify('b.example')])
  const session = rig.openStreams(t, 'a.example')

  assert.equal((await getStream(session, 'a.example')).body, 'a /')
  assert.equal((await getStream(session, 'www.a.example')).body, 'a /')
  assert.equal((await getStream(session, 'b.example')).status, 421)
  const crossed = await rig.getSecurely('b.example', '/', { servername: 'a.example' })
  assert.equal(crossed.status, 421)
})

test('app-scenario 91: a wildcard is for one level, behind exact hosts', async (t) => {
  const rig = await openFront(t, [
    { owner: 'all', rules: [{ host: '*.shop.example' }] },
    { owner: 'one', rules: [{ host: 'one.shop.example' }] },
  ])
  rig.apply([rig.certify('*.shop.example')])

  assert.equal((await rig.getSecurely('any.shop.example')).body, 'all /')
  assert.equal((await rig.getSecurely('one.shop.example')).body, 'one /')
  assert.equal((await rig.get('a.b.shop.example')).status, 404)
  assert.equal((await rig.get('shop.example')).status, 404)
})

test('app-scenario 93: streams, a slow reader and a flood of resets leave others served', async (t) => {
  const large = Buffer.alloc(4 * 1024 * 1024, 'x')
  const rig = await openFront(t, [
    {
      owner: 'shop',
      rules: [{ host: 'shop.example' }],
      handler: (request, response) =>
        response.end(request.url === '/large' ? large : `shop ${request.url}`),
    },
  ])
  rig.apply([rig.certify('shop.example')])
  const slow = rig.openStreams(t, 'shop.example')
  slow.request({ ':authority': 'shop.example', ':path': '/large' }).pause()
  const flood = rig.openStreams(t, 'shop.example')
  const isFloodOver = new Promise((resolve) => flood.once('close', resolve))
  await once(flood, 'connect')
  for (let count = 0; count < 3000 && !flood.destroyed; count++) {
    const stream = flood.request({ ':authority': 'shop.example', ':path': `/flood${count}` })
    stream.on('error', () => {})
    stream.close(8)
    if (count % 100 === 99) await new Promise(setImmediate)
  }

  const session = rig.openStreams(t, 'shop.example')
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => getStream(session, 'shop.example', `/${index}`)),
  )

  assert.deepEqual(
    answers.map(({ body }) => body),
    answers.map((_, index) => `shop /${index}`),
  )
  const posted = session.request({ ':method': 'POST', ':authority': 'shop.example', ':path': '/p' })
  posted.end('x'.repeat(100_000))
  const [head] = await once(posted, 'response')
  assert.equal(head[':status'], 200)
  await isFloodOver
})

test('app-scenario 94: what is beyond the limits of a host is rejected with its status', async (t) => {
  const rig = await openFront(
    t,
    [
      {
        owner: 'shop',
        rules: [{ host: 'shop.example' }],
        limits: { bodyBytes: 1000, headerBytes: 2000, readMs: 150, idleMs: 150 },
        handler: (request, response) => {
          if (request.url === '/silent') return
          request.resume().once('end', () => response.end('read'))
        },
      },
    ],
    { headersMs: 200 },
  )
  rig.apply([rig.certify('shop.example')])
  const post = (headers: Record<string, string>, payload: string) =>
    rig.getSecurely('shop.example', '/', { method: 'POST', headers, payload })

  assert.equal((await post({}, 'x'.repeat(900))).status, 200)
  assert.equal((await post({ 'content-length': '1001' }, 'x'.repeat(1001))).status, 413)
  assert.equal((await post({ 'transfer-encoding': 'chunked' }, 'x'.repeat(5000))).status, 413)
  const wide = await rig.getSecurely('shop.example', '/', { headers: { cookie: 'x'.repeat(3000) } })
  assert.equal(wide.status, 431)
  assert.equal((await rig.getSecurely('shop.example', '/silent')).status, 504)
  const session = rig.openStreams(t, 'shop.example')
  const streamed = session.request({
    ':method': 'POST',
    ':authority': 'shop.example',
    ':path': '/',
  })
  streamed.on('error', () => {})
  streamed.write('x'.repeat(5000))
  assert.equal((await once(streamed, 'response'))[0][':status'], 413)
  const slow = connect(rig.httpPort, '127.0.0.1')
  t.after(() => slow.destroy())
  rig.apply([])
  slow.write('POST / HTTP/1.1\r\nhost: shop.example\r\ncontent-length: 10\r\n\r\nx')
  assert.match(String((await once(slow, 'data'))[0]), /^HTTP\/1.1 408/)
})

test('app-scenario 95: HTTP leads to HTTPS once there is a certificate, challenges do not', async (t) => {
  const hsts = { maxAgeSeconds: 300, subdomains: true }
  const redirects = [{ host: 'www.shop.example', path: '/', to: 'https://shop.example' }]
  const rig = await openFront(t, [
    { owner: 'shop', rules: [{ host: 'shop.example' }], redirects, hsts },
  ])

  const before = await rig.get('shop.example')
  assert.equal(before.body, 'shop /')
  assert.equal(before.headers['strict-transport-security'], undefined)

  const http = { known: 'known.thumb' }
  rig.apply([rig.certify('shop.example', 'www.shop.example')], { http, tls: {} })
  const led = await rig.get('Shop.Example:80', '/a?b=c')
  assert.equal(led.status, 308)
  assert.equal(led.headers.location, `https://shop.example:${rig.httpsPort}/a?b=c`)
  const secure = await rig.getSecurely('shop.example')
  assert.equal(secure.headers['strict-transport-security'], 'max-age=300; includeSubDomains')
  const challenge = '/.well-known/acme-challenge/'
  assert.equal((await rig.get('shop.example', `${challenge}known`)).body, 'known.thumb')
  const unknown = await rig.getSecurely('shop.example', `${challenge}unknown`)
  assert.equal(unknown.body, `shop ${challenge}unknown`)
  const moved = await rig.getSecurely('www.shop.example', '/x?y')
  assert.equal(moved.headers.location, 'https://shop.example/x?y')
})

test('app-scenario 96: what clients say about forwarding is replaced', async (t) => {
  let seen: IncomingMessage['headers'] = {}
  const rig = await openFront(t, [
    {
      owner: 'shop',
      rules: [{ host: 'shop.example' }],
      handler: (request, response) => {
        seen = request.headers
        response.end()
      },
    },
  ])
  rig.apply([rig.certify('shop.example')])
  const headers = {
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-ssl': 'off',
    'x-real-ip': '203.0.113.9',
    forwarded: 'for=203.0.113.9',
  }

  await rig.getSecurely('shop.example', '/', { headers })

  assert.equal(seen['x-forwarded-for'], '127.0.0.1')
  assert.equal(seen['x-forwarded-proto'], 'https')
  assert.equal(seen['x-forwarded-host'], 'shop.example')
  assert.equal(seen['x-forwarded-port'], String(rig.httpsPort))
  for (const name of ['x-forwarded-ssl', 'x-real-ip', 'forwarded'])
    assert.equal(seen[name], undefined)
})

test('app-scenario 98: only text that is not encoded yet is compressed', async (t) => {
  const text = 'text '.repeat(1000)
  const types: Record<string, Record<string, string>> = {
    '/text': { 'content-type': 'text/html', etag: '"1"' },
    '/image': { 'content-type': 'image/png' },
    '/encoded': { 'content-type': 'text/html', 'content-encoding': 'gzip' },
  }
  const rig = await openFront(t, [
    {
      owner: 'shop',
      compress: 'gzip',
      rules: [{ host: 'shop.example' }],
      handler: (request, response) =>
        void response.writeHead(200, types[request.url ?? '']).end(text),
    },
  ])
  rig.apply([rig.certify('shop.example')])
  const headers = { 'accept-encoding': 'gzip' }
  const session = rig.openStreams(t, 'shop.example')

  const streamed = session.request({ ':authority': 'shop.example', ':path': '/text', ...headers })
  const [head] = await once(streamed, 'response')
  const pieces = await streamed.toArray()
  assert.equal(head['content-encoding'], 'gzip')
  assert.equal(head.etag, 'W/"1"')
  assert.equal(gunzipSync(Buffer.concat(pieces)).toString(), text)
  assert.equal((await rig.getSecurely('shop.example', '/text')).body, text)
  for (const path of ['/image', '/encoded'])
    assert.equal((await rig.getSecurely('shop.example', path, { headers })).body, text)
})

test('a connection for a challenge gets its certificate with TLS 1.2 and 1.3', async (t) => {
  const rig = await openFront(t, [{ owner: 'shop', rules: [{ host: 'shop.example' }] }])
  const { certificate, keyPem: key } = keyPairOf('challenge', 'ec')
  rig.apply([rig.certify('shop.example')], {
    http: {},
    tls: { 'shop.example': { certificate, key } },
  })

  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const authority = await rig.handshake({
      servername: 'shop.example',
      ALPNProtocols: ['acme-tls/1'],
      maxVersion,
    })
    assert.equal(authority.alpnProtocol, 'acme-tls/1')
    assert.equal(authority.getPeerCertificate().subject.CN, 'challenge')
    const client = await rig.handshake({ servername: 'shop.example', maxVersion })
    assert.equal(client.getPeerCertificate().subject.CN, 'shop.example')
  }

  rig.apply([], { http: {}, tls: { 'shop.example': { certificate, key } } })
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const client = { servername: 'shop.example', ALPNProtocols: ['http/1.1'], maxVersion }
    await assert.rejects(rig.handshake(client), maxVersion)
    const authority = await rig.handshake({ ...client, ALPNProtocols: ['acme-tls/1'] })
    assert.equal(authority.getPeerCertificate().subject.CN, 'challenge')
  }
})

test('a certificate is replaced while connections stand, and no handshake fails', async (t) => {
  const rig = await openFront(t, [{ owner: 'shop', rules: [{ host: 'shop.example' }] }])
  const first = rig.certify('shop.example')
  rig.apply([first])
  const standing = rig.openStreams(t, 'shop.example')
  assert.equal((await getStream(standing, 'shop.example')).status, 200)
  let isOver = false
  const handshakes = (async () => {
    let count = 0
    for (; !isOver; count++) (await rig.handshake({ servername: 'shop.example' })).destroy()
    return count
  })()

  const renewed = { ...rig.certify('renewed'), hosts: ['shop.example'] }
  rig.apply([renewed])

  const socket = await rig.handshake({ servername: 'shop.example' })
  assert.equal(socket.getPeerCertificate().subject.CN, 'renewed')
  assert.equal((await getStream(standing, 'shop.example')).status, 200)
  isOver = true
  assert.ok((await handshakes) > 0)
  assert.ok(rig.lines.every((line) => !line.includes('PRIVATE KEY')))
})

test('without an instance, a host answers 503 with its page and Retry-After', async (t) => {
  const page = '<h1>Soon back</h1>'
  const rig = await openFront(t, [
    { owner: 'shop', rules: [{ host: 'shop.example' }], members: [], errorPage: page },
  ])

  const answer = await rig.get('shop.example')

  assert.equal(answer.status, 503)
  assert.equal(answer.body, page)
  assert.match(String(answer.headers['retry-after']), /^\d+$/)
})
