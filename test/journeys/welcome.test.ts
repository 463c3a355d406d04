/** What a newcomer's browser finds after the login to a platform without Deck. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../support/gateway.ts'

const asBrowser = { headers: { accept: 'text/html' }, redirect: 'manual' } as const

test('without a UI address a browser is sent to the console', async (t) => {
  const gateway = await startGateway(t, {}, { embedded: true })
  const answer = await fetch(`${gateway}/`, asBrowser)
  assert.equal(answer.status, 302)
  assert.equal(answer.headers.get('location'), `${gateway}/console/`)
})

test('without UI and console Fairlead shows a welcome page', async (t) => {
  const gateway = await startGateway(t, { console: { enabled: false } }, { embedded: true })
  const page = await fetch(`${gateway}/`, asBrowser)
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  const html = await page.text()
  assert.match(html, /Welcome, anonymous/)
  for (const [, link = ''] of html.matchAll(/href="((?:swagger-ui|auth)[^"]*)"/g)) {
    assert.ok((await fetch(`${gateway}/${link}`)).ok, link)
  }
  const program = await fetch(`${gateway}/`, { redirect: 'manual' })
  assert.equal(program.status, 302)
  assert.equal(program.headers.get('location'), `${gateway}/auth/user`)
})

test('a client that follows redirects after the form login arrives', async (t) => {
  const user = { name: 'ada', password: 'correct horse' }
  for (const enabled of [true, false]) {
    const settings = { spring: { security: { user } }, console: { enabled } }
    const gateway = await startGateway(t, settings, { embedded: true })
    const body = new URLSearchParams({ username: user.name, password: user.password })
    const login = await fetch(`${gateway}/login`, { method: 'POST', body, redirect: 'manual' })
    const cookie = login.headers
      .getSetCookie()
      .map((line) => line.split(';', 1)[0])
      .join('; ')
    const landed = await fetch(new URL(login.headers.get('location') ?? '', gateway), {
      headers: { cookie },
    })
    assert.equal(landed.status, 200)
    assert.equal(new URL(landed.url).pathname, enabled ? '/console/' : '/auth/user')
  }
})

test('a configured web UI is where a browser is sent', async (t) => {
  const settings = { services: { deck: { baseUrl: 'http://localhost:9000' } } }
  const gateway = await startGateway(t, settings, { embedded: true })
  const answer = await fetch(`${gateway}/`, asBrowser)
  assert.equal(answer.status, 302)
  assert.equal(answer.headers.get('location'), 'http://localhost:9000')
})
