/** Changes that pages of other origins make a browser send with the login of its user. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { VisitInit } from '../login/browser.ts'
import { basic, startGuarded, ui } from '../login/support.ts'
import { type GatewaySettings, runGateway, startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'

const body = '{"application":"web","job":[]}'
const evil = 'https://evil.example.com'
const types = {
  json: 'application/json',
  text: 'text/plain;charset=UTF-8',
  form: 'application/x-www-form-urlencoded',
  parts: 'multipart/form-data; boundary=x',
}

async function start(t: test.TestContext, settings: GatewaySettings = {}) {
  const orca = await startUpstream(t, {
    'POST /ops': { ref: '/tasks/1' },
    'PUT /pipelines/1/pause': {},
  })
  const guarded = await startGuarded(t, { ...settings, services: { orca: { baseUrl: orca.url } } })
  const browser = guarded.open()
  await browser.login('admin', 'secret')
  return { orca, browser, ...guarded }
}

function post(headers: Record<string, string>): VisitInit {
  // Without a type, as a page sends a Blob that has none.
  return { method: 'POST', headers, body: Buffer.from(body) }
}

test('auth-scenario 254: a change with the cookie alone, and without Origin, is accepted', async (t) => {
  const { browser, orca } = await start(t)

  for (const type of [types.json, types.text]) {
    assert.equal((await browser.visit('/tasks', post({ 'content-type': type }))).status, 200, type)
  }
  assert.equal((await browser.visit('/tasks', post({}))).status, 200)
  assert.equal(orca.requests.length, 3)
})

test('simple cross-origin requests are rejected, except from own pages', async (t) => {
  const { browser, orca } = await start(t)

  const bodies = [
    {},
    ...[types.text, types.form, types.parts].map((type) => ({ 'content-type': type })),
  ]
  for (const origin of [evil, 'null', `${ui}.evil.com`, 'http://gate.example.com']) {
    for (const headers of bodies) {
      const answer = await browser.ask('/tasks', post({ origin, ...headers }))
      assert.deepEqual(
        [answer.status, (JSON.parse(answer.text) as { code: string }).code],
        [403, 'ORIGIN_REFUSED'],
      )
    }
  }
  assert.deepEqual(orca.requests, [])

  const known: Record<string, string>[] = [
    { origin: ui },
    { origin: 'https://gate.example.com' },
    { origin: evil, 'sec-fetch-site': 'same-origin' },
  ]
  for (const headers of known) {
    assert.equal(
      (await browser.visit('/tasks', post({ ...headers, 'content-type': types.text }))).status,
      200,
    )
  }
})

test('a change without body from another origin is rejected', async (t) => {
  const { browser } = await start(t)
  const codeFor = async (headers: Record<string, string>) =>
    (
      JSON.parse(
        (await browser.ask('/auth/deleteSessionCache', { method: 'POST', headers })).text,
      ) as { code: string }
    ).code

  const empty: Record<string, string>[] = [
    {},
    { 'content-type': types.form },
    { 'content-type': types.text },
  ]
  for (const headers of empty) {
    assert.equal(await codeFor({ ...headers, origin: evil }), 'ORIGIN_REFUSED')
    assert.equal(await codeFor({ ...headers, origin: ui }), 'PERMISSION_DENIED')
    assert.equal(await codeFor(headers), 'PERMISSION_DENIED')
  }
})

test('a hidden origin is recognized by fetch metadata', async (t) => {
  const { browser, orca } = await start(t)

  assert.equal(
    (
      await browser.visit(
        '/tasks',
        post({ 'sec-fetch-site': 'cross-site', 'content-type': types.text }),
      )
    ).status,
    403,
  )
  assert.equal(
    (await browser.visit('/tasks', post({ 'sec-fetch-site': 'cross-site', origin: ui }))).status,
    200,
  )
  assert.equal(
    (await browser.visit('/tasks', post({ 'sec-fetch-site': 'none', 'content-type': types.text })))
      .status,
    200,
  )
  assert.equal(orca.requests.length, 2)
})

test('a cross-site change is rejected for any method', async (t) => {
  const { browser, orca } = await start(t)
  const change = (method: string, headers: Record<string, string>) =>
    browser.visit('/pipelines/1/pause', {
      method,
      headers: { 'content-type': types.json, ...headers },
    })

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    assert.equal(
      (await change(method, { 'sec-fetch-site': 'cross-site', origin: evil })).status,
      403,
      method,
    )
  assert.deepEqual(orca.requests, [])
  assert.equal((await change('PUT', { 'sec-fetch-site': 'cross-site', origin: ui })).status, 200)
  assert.equal(
    (
      await change('PUT', {
        'sec-fetch-site': 'same-site',
        origin: 'https://a-proxy-answers-for.example.com',
      })
    ).status,
    200,
  )
})

test('a refusal names the origin and the solution', async (t) => {
  const lines: Record<string, unknown>[] = []
  const { url } = await runGateway(
    t,
    { services: { deck: { baseUrl: ui } } },
    { log: (line) => lines.push(line) },
  )

  const answer = await fetch(`${url}/tasks`, post({ origin: evil, 'content-type': types.text }))
  assert.match(await answer.text(), /cors\.allowedOriginsPattern/)
  assert.equal(
    lines.filter(({ origin, user }) => origin === evil && user === 'anonymous').length,
    1,
  )
})

test('credentials that browsers send by themselves are no excuse; tokens are', async (t) => {
  const { open, orca } = await start(t)
  const headers = { origin: evil, 'content-type': types.text }
  assert.equal(
    (await open().visit('/tasks', post({ ...headers, ...basic('admin', 'secret') }))).status,
    403,
  )
  assert.equal(
    (await open().visit('/tasks', post({ ...headers, authorization: 'Bearer x' }))).status,
    302,
  )

  const everybody = await startGateway(t, {
    services: { deck: { baseUrl: ui }, orca: { baseUrl: orca.url } },
  })
  assert.equal((await fetch(`${everybody}/tasks`, post(headers))).status, 403)
  assert.deepEqual(orca.requests, [])
  const json = { origin: evil, 'content-type': types.json, 'sec-fetch-site': 'cross-site' }
  assert.equal(
    (await fetch(`${everybody}/tasks`, post(json))).status,
    200,
    'where nobody logs in, there is no login to misuse',
  )
})

test('auth-scenario 255: with cors.refuse-foreign-origins, a page of another origin changes nothing at all', async (t) => {
  const { browser, orca } = await start(t, { cors: { 'refuse-foreign-origins': true } })
  const origin = { origin: evil }

  assert.equal(
    (await browser.visit('/tasks', post({ ...origin, 'content-type': types.json }))).status,
    403,
  )
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    assert.equal(
      (await browser.visit('/pipelines/1/pause', { method, headers: origin })).status,
      403,
      method,
    )
  }
  assert.deepEqual(orca.requests, [])
  assert.equal((await browser.visit('/auth/user', { headers: origin })).status, 200)
  assert.equal(
    (await browser.visit('/pipelines/1/pause', { method: 'PUT', headers: { origin: ui } })).status,
    200,
  )
  assert.equal((await browser.visit('/pipelines/1/pause', { method: 'PUT' })).status, 200)
})

const crossSite = { 'sec-fetch-site': 'cross-site' }

test('a page of another site signs nobody in', async (t) => {
  const { open } = await startGuarded(t, { services: {} })
  const foreign: Record<string, string>[] = [
    { ...crossSite, origin: evil },
    { ...crossSite, origin: 'null' },
    { ...crossSite },
    { 'sec-fetch-site': 'same-site', origin: 'https://sister.example.com' },
    { origin: evil },
    { origin: 'null' },
  ]
  for (const headers of foreign) {
    const browser = open()
    const answer = await browser.login('admin', 'secret', headers)
    assert.deepEqual([answer.status, answer.cookies], [403, []], JSON.stringify(headers))
    assert.match(answer.text, /<a class="button" href="\/login">Sign in<\/a>/)
    assert.equal(await browser.user(), undefined)
  }
  const script = await open().login('admin', 'secret', {
    ...crossSite,
    origin: evil,
    accept: '*/*',
  })
  assert.equal((JSON.parse(script.text) as { code: string }).code, 'ORIGIN_REFUSED')

  const known: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'same-origin', origin: 'https://gate.example.com' },
    { 'sec-fetch-site': 'same-origin', origin: 'null' },
    { 'sec-fetch-site': 'none' },
    { ...crossSite, origin: ui },
    { origin: 'https://gate.example.com' },
  ]
  for (const headers of known)
    assert.equal(
      (await open().login('admin', 'secret', headers)).status,
      302,
      JSON.stringify(headers),
    )
})

test('a page of another site cannot log users out', async (t) => {
  const { browser } = await start(t)
  const foreign: Record<string, string>[] = [
    { ...crossSite, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image', accept: 'image/*' },
    { ...crossSite, origin: evil },
    { ...crossSite, referer: `${evil}/x` },
    { 'sec-fetch-site': 'same-site', origin: 'https://sister.example.com' },
    { 'sec-fetch-site': 'same-site', referer: 'https://sister.example.com/' },
    { 'sec-fetch-site': 'same-site' },
    { origin: evil },
  ]
  for (const headers of foreign) {
    for (const method of ['GET', 'POST']) {
      assert.equal(
        (await browser.visit('/auth/logout', { method, headers })).status,
        403,
        JSON.stringify(headers),
      )
    }
  }
  const page = await browser.visit('/auth/logout', { headers: crossSite })
  assert.match(
    page.text,
    /Nothing has happened yet.*<a class="button" href="\/auth\/logout">Sign out<\/a>/s,
  )
  assert.notEqual(await browser.user(), undefined)

  const known: Record<string, string>[] = [
    { 'sec-fetch-site': 'same-origin', referer: 'https://gate.example.com/auth/logout' },
    { ...crossSite, origin: ui, 'sec-fetch-mode': 'cors' },
    { ...crossSite, referer: `${ui}/` },
    { 'sec-fetch-site': 'same-site', referer: `${ui}/` },
    {},
  ]
  for (const headers of known) {
    await browser.login('admin', 'secret')
    assert.equal(
      (await browser.visit('/auth/logout', { headers })).status,
      302,
      JSON.stringify(headers),
    )
    assert.equal(await browser.user(), undefined)
  }
})

test('older browsers are known by host behind a TLS proxy', async (t) => {
  const url = await startGateway(t, {
    security: { user: { name: 'admin', password: 'correct-horse' } },
  })
  const { host } = new URL(url)
  const login = (origin: string) =>
    fetch(`${url}/login`, {
      method: 'POST',
      headers: { origin },
      body: new URLSearchParams({ username: 'admin', password: 'correct-horse' }),
      redirect: 'manual',
    })
  assert.equal((await login(`https://${host}`)).status, 302)
  assert.equal((await login('https://elsewhere.example.com')).status, 403)
})
