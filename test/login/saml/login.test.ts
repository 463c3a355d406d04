/** The login by SAML from the first redirect to the web UI. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRedirect, signOnUrl } from '../../support/saml-identity-provider.ts'
import { gatewayUrl, startPath, ui } from '../support.ts'
import { post, startSaml } from './support.ts'

test('auth-scenario 14, 6, 10, 12, 13: the sequence of the web UI ends logged in on the page that it came from', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()

  const stranger = await browser.visit('/auth/user')
  assert.deepEqual([stranger.status, stranger.text, stranger.cookies.length], [200, '', 0])

  const sent = await browser.visit(startPath)
  assert.deepEqual([sent.status, sent.location], [302, `${gatewayUrl}/login`])

  const start = await browser.visit('/login')
  assert.equal(start.status, 302)
  assert.ok(start.location?.startsWith(`${signOnUrl}&SAMLRequest=`))
  const { id, relayState } = readRedirect(start.location ?? '')

  const before = browser.session
  const done = await post(browser, gateway.provider.answer({ inResponseTo: id }), { RelayState: relayState })
  assert.deepEqual([done.status, done.location], [302, gatewayUrl + startPath])
  assert.notEqual(browser.session, before)

  const back = await browser.visit(startPath)
  assert.deepEqual([back.status, back.location], [302, `${ui}/#/search`])

  const user = await browser.user()
  assert.equal(user?.['username'], 'alice@example.com')
  assert.equal(user?.['email'], 'alice@example.com')
  assert.equal(user?.['enabled'], true)
})
