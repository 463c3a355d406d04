/** Headers of the security layer, pages that may call, and the one configured user. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { basic, formSettings, gatewayUrl, startGuarded, ui } from './support.ts'

test('auth-scenario 252: a pattern of origins decides alone, and matches the whole origin', async (t) => {
  const pattern = String.raw`^https?://(?:localhost|[^/]+\.x\.net)(?::[1-9]\d*)?/?$`
  const { open } = await startGuarded(t, { cors: { allowedOriginsPattern: pattern } })
  const allowedFor = async (origin: string) =>
    (await open().visit('/auth/user', { headers: { origin } })).headers.get(
      'access-control-allow-origin',
    )

  for (const origin of ['https://a.x.net', 'http://localhost:9000'])
    assert.equal(await allowedFor(origin), origin)
  for (const origin of ['https://a.x.net.evil.com', ui, 'https://evil.com/.x.net'])
    assert.equal(await allowedFor(origin), '*')
})

test('auth-scenario 253: in list mode only listed origins may call', async (t) => {
  const allowedOrigins = ['https://a.test', 'https://b.test']
  const { open } = await startGuarded(t, {
    cors: { allowMode: 'list', allowedOrigins: allowedOrigins.join(',') },
  })
  const ask = (origin: string) => open().visit('/auth/user', { headers: { origin } })

  for (const origin of allowedOrigins)
    assert.equal((await ask(origin)).headers.get('access-control-allow-origin'), origin)
  const third = await ask('https://c.test')
  assert.deepEqual([third.status, third.headers.get('access-control-allow-origin')], [403, null])
})

test('auth-scenario 256: TLS responses carry the security headers', async (t) => {
  const { open } = await startGuarded(t)
  for (const path of [
    '/credentials',
    '/login',
    '/auth/user',
    '/auth/loggedOut',
    '/auth/redirect',
    '/nothing',
  ]) {
    const { headers } = await open().visit(path)
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
    assert.equal(headers.get('x-frame-options'), 'DENY', path)
    assert.match(String(headers.get('cache-control')), /no-store/, path)
    assert.match(String(headers.get('strict-transport-security')), /max-age=31536000/, path)
  }
  const plain = await startGateway(t, formSettings)
  assert.equal((await fetch(`${plain}/login`)).headers.get('strict-transport-security'), null)
})

test('auth-scenario 175: the configured user logs in with the form', async (t) => {
  const browser = (await startGuarded(t)).open()

  assert.equal((await browser.visit('/credentials')).location, `${gatewayUrl}/login`)
  assert.equal((await browser.login('admin', 'secret')).location, `${gatewayUrl}/credentials`)
  assert.equal((await browser.visit('/credentials')).status, 200)
})

test('auth-scenario 179: there is no well-known default password', async (t) => {
  const { open } = await startGuarded(t, {
    spring: { security: { user: { name: 'admin' } } },
    fairlead: { admin: { user: 'root', password: 'correct horse' } },
  })
  for (const name of ['admin', 'user', 'root']) {
    for (const password of ['secret', 'undefined', name]) {
      assert.equal(
        (await open().visit('/credentials', { headers: basic(name, password) })).status,
        302,
        `${name} ${password}`,
      )
      assert.equal((await open().login(name, password)).location, `${gatewayUrl}/login?error`)
    }
  }
})
