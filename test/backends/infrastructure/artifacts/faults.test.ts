import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { operatorAddress } from '../../../../packages/base/outside/call-outside.ts'
import { defaultOutsideSettings } from '../../../../packages/base/outside/settings.ts'
import { createSource } from '../../../../packages/base/outside/source-calls.ts'
import { PortError } from '../../../../packages/base/port-error.ts'
import {
  ContentCache,
  checkDigest,
  formatDigest,
  parseDigest,
} from '../../../../packages/providers/artifacts/digests.ts'
import { InTurn, Reply, silence, startUpstream } from '../../../support/upstream.ts'

const loopback = { ...defaultOutsideSettings, allowed: ['127.0.0.1/32'] }

async function refusal(work: Promise<unknown>): Promise<PortError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof PortError, String(error))
  return error
}

test('a source that does not answer in time is a 504', async (t) => {
  const source = await startUpstream(t, { 'GET /a': silence })
  const open = createSource({ outside: loopback, timeoutMs: 50 })
  assert.equal((await refusal(open()(operatorAddress(source.url, '/a')))).status, 504)
})

/** Answers without an end. */
async function startDripping(t: TestContext): Promise<string> {
  const server = createServer((_request, response) => {
    const timer = setInterval(() => response.write('x'), 5)
    response.on('close', () => clearInterval(timer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`
}

test('the time limit holds for an answer that goes on and on', async (t) => {
  const url = await startDripping(t)
  const open = createSource({ outside: loopback, timeoutMs: 100 })
  assert.equal((await refusal(open()(url))).status, 504)
})

test('a content that is too large is not read to its end', async (t) => {
  const url = await startDripping(t)
  const { status, message } = await refusal(createSource({ outside: loopback, maxBytes: 3 })()(url))
  assert.equal(status, 502)
  assert.match(message, /larger than 3 bytes/)
})

test('a redirect to an internal address is refused, also from a configured one', async (t) => {
  const internal = await startUpstream(t, () => 'secret')
  const source = await startUpstream(t, {
    'GET /a': new Reply(302, undefined, { location: `${internal.url}/b` }),
  })
  const open = createSource({ outside: defaultOutsideSettings, configured: source.url })
  const { status, message } = await refusal(open()(operatorAddress(source.url, '/a')))
  assert.equal(status, 400)
  assert.match(message, /must not call 127\.0\.0\.1/)
  assert.equal(internal.requests.length, 0)
})

test("a server of others cannot lead back to the operator's", async (t) => {
  const internal = createServer((_request, response) => response.end('secret')).listen(
    0,
    '127.0.0.2',
  )
  t.after(() => internal.close())
  await once(internal, 'listening')
  const configured = `http://127.0.0.2:${(internal.address() as AddressInfo).port}`
  const others = await startUpstream(t, {
    'GET /chart.tgz': new Reply(302, undefined, { location: `${configured}/admin` }),
  })
  const get = createSource({ outside: loopback, configured })()
  assert.equal((await get(operatorAddress(configured, '/index.yaml'))).text, 'secret')
  assert.match(
    (await refusal(get(`${others.url}/chart.tgz`))).message,
    /must not call 127\.0\.0\.2/,
  )
})

test('another server gets no credentials, and endless redirects end', async (t) => {
  const other = await startUpstream(t, () => new Reply(200, 'content'))
  const source = await startUpstream(t, {
    'GET /a': new Reply(302, undefined, { location: '/b' }),
    'GET /b': new Reply(302, undefined, { location: `${other.url}/c` }),
    'GET /loop': new Reply(302, undefined, { location: '/loop' }),
  })
  const get = createSource({ outside: loopback })()
  const credentials = { authorization: 'Bearer t0ken' }
  assert.equal((await get(`${source.url}/a`, { credentials })).text, 'content')
  assert.deepEqual(
    [...source.requests, ...other.requests].map(({ headers }) => headers.authorization),
    ['Bearer t0ken', 'Bearer t0ken', undefined],
  )
  assert.match((await refusal(get(`${source.url}/loop`))).message, /redirects more than 5 times/)
})

test('a source that limits calls is asked again when it says so', async (t) => {
  const limited = new Reply(429, 'slow down', { 'retry-after': '0' })
  const source = await startUpstream(t, {
    'GET /soon': new InTurn(limited, limited, new Reply(200, 'content')),
    'GET /never': limited,
    'GET /later': new Reply(429, 'slow down', { 'retry-after': '3600' }),
    'GET /github': new Reply(403, 'limit', {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1924992000',
    }),
  })
  const get = createSource({ outside: loopback })()
  assert.equal((await get(`${source.url}/soon`)).text, 'content')
  for (const [path, calls, says] of [
    ['/never', 3, /limits calls for 0 s/],
    ['/later', 1, /limits calls for 3600 s/],
    ['/github', 1, /limits calls until 2031-01-01T00:00:00\.000Z/],
  ] as const) {
    source.requests.length = 0
    const { status, message } = await refusal(get(source.url + path))
    assert.equal(status, 503)
    assert.match(message, says)
    assert.equal(source.requests.length, calls)
  }
})

test('a denied access names what to do, and no query', async (t) => {
  const source = await startUpstream(t, { 'GET /a': new Reply(401), 'GET /b': new Reply(500) })
  const get = createSource({ outside: loopback })()
  const { status, message } = await refusal(get(`${source.url}/a?token=t0ken`))
  assert.equal(status, 502)
  assert.match(message, /\/a answered with 401\. Choose an artifact account/)
  assert.doesNotMatch(message, /t0ken/)
  assert.match((await refusal(get(`${source.url}/b`))).message, /answered with 500\.$/)
})

test('digests are parsed in the forms of registries, packages and files', () => {
  const hex = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
  const digest = parseDigest(hex)
  assert.deepEqual(digest, { algorithm: 'sha256', hex })
  assert.deepEqual(parseDigest(`sha256:${hex.toUpperCase()}`), digest)
  assert.deepEqual(parseDigest('sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ='), digest)
  assert.equal(digest && formatDigest(digest), `sha256:${hex}`)
  assert.equal(digest && checkDigest(Buffer.from('hello'), digest, 'it').toString(), 'hello')
  for (const text of [
    '',
    'md5:900150983cd24fb0d6963f7d28e17f72',
    `sha512:${hex}`,
    'sha256-AAAA',
    'hello',
  ]) {
    assert.equal(parseDigest(text), undefined, text)
  }
})

test('contents are kept for their account alone, within bounds', async () => {
  const cache = new ContentCache()
  const loads: string[] = []
  const ask = (account: string, content: Buffer) => {
    const digest = parseDigest(hash('sha256', content, 'hex'))
    assert.ok(digest)
    return cache.fetch(account, digest, 'it', async () => {
      loads.push(account)
      return content
    })
  }
  for (const account of ['a', 'a', 'b']) await ask(account, Buffer.from('small'))
  assert.deepEqual(loads, ['a', 'b'])
  for (const account of ['c', 'c']) await ask(account, Buffer.alloc(5 * 1024 * 1024))
  assert.deepEqual(loads, ['a', 'b', 'c', 'c'])
})
