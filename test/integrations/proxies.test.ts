/** Requests below `/proxies`, forwarded to services of the configuration. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { Reply, startUpstream } from '../support/upstream.ts'

async function start(t: TestContext, answers: Record<string, unknown>, proxy: object = {}) {
  const service = await startUpstream(t, answers)
  const gateway = await startGateway(t, {
    proxies: [{ id: 'wiki', uri: `${service.url}/base/`, ...proxy }],
  })
  return { service, gateway }
}

test('path, query, method and body reach the service, cookies do not', async (t) => {
  const { service, gateway } = await start(t, {
    'POST /base/pages/a%20b': new Reply(201, { id: 7 }),
  })
  const answer = await fetch(`${gateway}/proxies/WIKI/pages/a%20b?x=1&x=2`, {
    method: 'POST',
    body: '{"title":"t"}',
    headers: {
      'content-type': 'application/json',
      cookie: 'SESSION=secret',
      authorization: 'Bearer secret',
    },
  })
  assert.deepEqual([answer.status, await answer.json()], [201, { id: 7 }])
  const [request] = [...service.requests, ...service.background]
  assert.deepEqual(
    [request?.path, request?.query, request?.body],
    ['/base/pages/a%20b', 'x=1&x=2', '{"title":"t"}'],
  )
  assert.equal(request?.headers['content-type'], 'application/json')
  assert.deepEqual(
    [request?.headers.cookie, request?.headers.authorization],
    [undefined, undefined],
  )
})

test('the answer carries status, address and a content policy', async (t) => {
  const { service, gateway } = await start(t, {
    'GET /base': new Reply(500, 'broken', { 'content-type': 'text/html' }),
  })
  const answer = await fetch(`${gateway}/proxies/wiki`)
  assert.deepEqual([answer.status, await answer.text()], [502, 'broken'])
  assert.equal(answer.headers.get('x-proxy-status-code'), '500')
  assert.equal(answer.headers.get('x-proxy-url'), `${service.url}/base`)
  assert.equal(answer.headers.get('content-security-policy'), 'sandbox')
})

test('HEAD asks the service HEAD', async (t) => {
  const { service, gateway } = await start(
    t,
    { 'HEAD /base/x': new Reply(204) },
    { methods: ['GET'] },
  )
  assert.equal((await fetch(`${gateway}/proxies/wiki/x`, { method: 'HEAD' })).status, 204)
  assert.deepEqual(
    [...service.requests, ...service.background].map(({ method }) => method),
    ['HEAD'],
  )
})

test('proxies are listed by id and address', async (t) => {
  const { service, gateway } = await start(t, {})
  assert.deepEqual(await (await fetch(`${gateway}/proxies`)).json(), [
    { id: 'wiki', uri: `${service.url}/base` },
  ])
})

test('an unknown proxy is 400, another method 405, a dead service 502', async (t) => {
  const { gateway } = await start(t, {}, { methods: ['GET'] })
  const dead = await startGateway(t, { proxies: [{ id: 'dead', uri: 'http://127.0.0.1:1' }] })
  assert.equal((await fetch(`${gateway}/proxies/other/x`)).status, 400)
  assert.equal((await fetch(`${gateway}/proxies/wiki/x`, { method: 'DELETE' })).status, 405)
  assert.equal((await fetch(`${dead}/proxies/dead/x`)).status, 502)
})

test('redirects are followed within the host only', async (t) => {
  const { service, gateway } = await start(t, {
    'GET /base/old': new Reply(302, undefined, { location: '/base/new' }),
    'GET /base/new': { moved: true },
    'GET /base/away': new Reply(302, undefined, { location: 'http://169.254.169.254/latest/' }),
  })
  const answer = await fetch(`${gateway}/proxies/wiki/old`)
  assert.deepEqual(await answer.json(), { moved: true })
  assert.equal(answer.headers.get('x-proxy-url'), `${service.url}/base/new`)
  assert.equal((await fetch(`${gateway}/proxies/wiki/away`)).status, 502)
})

test('settings of a proxy are checked at the start', async (t) => {
  const proxy = { id: 'a', uri: 'https://wiki.example', keyStore: '/nowhere.p12' }
  await assert.rejects(
    startGateway(t, { proxies: [proxy, { id: 'A', uri: 'wiki' }] }),
    (error: Error) => {
      assert.match(error.message, /proxies\[?\.?1\]?\.uri: must be an absolute address/)
      return true
    },
  )
  await assert.rejects(
    startGateway(t, { proxies: [proxy] }),
    /keyStore: the file \/nowhere\.p12 does not exist/,
  )
})
