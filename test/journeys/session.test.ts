/** What happens to a session in a real browser: logout, expiry, several tabs, and pages that must not use it. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { createClock } from '../sessions/support.ts'
import { openChromium } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { callFrom, isLoggedInAs, signIn, startWebUi, type WebUi } from './support.ts'

const place = '/#/search'
const task = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"application":"web","job":[]}',
}

interface Setting {
  browser: BrowserContext
  ui: WebUi
  clock: { nowMs: number }
  orca: Awaited<ReturnType<typeof startUpstream>>
  /** A tab in which the web UI shows alice. */
  page: Page
}

async function start(t: TestContext): Promise<Setting | undefined> {
  const browser = await (await openChromium(t))?.newContext()
  if (browser === undefined) return undefined
  const clock = createClock(Date.now())
  const orca = await startUpstream(t, {
    'POST /ops': { ref: '/tasks/1' },
    'GET /applications/web/tasks': [],
  })
  const ui = await startWebUi(t)
  ui.gateUrl = await startGateway(
    t,
    {
      security: { basicform: { enabled: true } },
      spring: { security: { user: { name: 'alice', password: 'secret' } } },
      services: { deck: { baseUrl: ui.url }, orca: { baseUrl: orca.url } },
    },
    { now: clock.now },
  )
  const page = await browser.newPage()
  await page.goto(ui.url + place)
  await signIn(page, 'secret')
  await isLoggedInAs(page, ui, place, 'alice')
  return { browser, ui, clock, orca, page }
}

async function userOf(page: Page): Promise<string> {
  const answer = await callFrom(page, '/auth/user')
  if (typeof answer === 'string') return answer
  return answer.text === '' ? 'nobody' : (JSON.parse(answer.text) as { username: string }).username
}

test('auth-scenario 250: the UI on another origin uses the cookie', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const { page, orca } = setting

  const list = await callFrom(page, '/applications/web/tasks')
  assert.ok(typeof list !== 'string' && list.status === 200, JSON.stringify(list))
  const submitted = await callFrom(page, '/tasks', task)
  assert.ok(typeof submitted !== 'string' && submitted.status === 200, JSON.stringify(submitted))
  assert.deepEqual(JSON.parse(submitted.text), { ref: '/tasks/1' })
  const { headers } =
    orca.requests.find(({ method }) => method === 'POST') ?? assert.fail('orca was not asked')
  assert.deepEqual(
    [headers['x-spinnaker-user'], headers['x-spinnaker-user-origin']],
    ['alice', 'deck'],
  )
  assert.equal(headers['cookie'], undefined)
})

test('auth-scenario 251: a foreign page can neither read nor submit', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const { browser, ui, orca } = setting
  for (const host of ['127.0.0.1', 'localhost']) {
    const stranger = await startWebUi(t)
    stranger.gateUrl = ui.gateUrl
    const page = await browser.newPage()
    await page.goto(`${stranger.url.replace('127.0.0.1', host)}/?idle`)

    assert.match(String(await callFrom(page, '/auth/user')), /Failed to fetch/)
    assert.match(String(await callFrom(page, '/tasks', task)), /Failed to fetch/)
    // A form needs no permission to be sent, so the gateway has to refuse what forms can send.
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      await page.evaluate(
        `fetch(${JSON.stringify(`${ui.gateUrl}/tasks`)}, ${JSON.stringify({
          ...task,
          mode: 'no-cors',
          credentials: 'include',
          headers: { 'content-type': type },
        })})`,
      )
    }
  }

  assert.deepEqual(
    orca.requests.filter(({ method }) => method === 'POST'),
    [],
  )
})

test('auth-scenario 239: a logout from the UI ends the session', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const { browser, ui, page } = setting

  const farewell = await callFrom(page, '/auth/logout')
  assert.ok(typeof farewell !== 'string', String(farewell))
  assert.deepEqual([farewell.status, farewell.url], [200, `${ui.gateUrl}/auth/loggedOut`])
  assert.deepEqual(
    (await browser.cookies(ui.gateUrl)).filter(({ name }) => name === 'SESSION'),
    [],
  )
  assert.equal(await userOf(page), 'nobody')
  await page.reload()

  await page.waitForURL(`${ui.gateUrl}/login`)
  await page.goBack()
  await page.waitForURL(`${ui.gateUrl}/login`)
})

test('the farewell page leads back into the web UI', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const { ui, page } = setting

  await page.goto(`${ui.gateUrl}/auth/logout`)
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await signIn(page, 'secret')

  await isLoggedInAs(page, ui, '/', 'alice')
})

test('auth-scenario 3: an expired session leads through the login and back', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const { ui, clock, orca, page } = setting
  clock.nowMs += 2 * 3_600_000

  const list = await callFrom(page, '/applications/web/tasks')
  assert.ok(typeof list !== 'string' && list.url === `${ui.gateUrl}/login`, JSON.stringify(list))
  assert.deepEqual(orca.requests, [])
  assert.equal(await userOf(page), 'nobody')
  await page.evaluate('authenticate()')
  await page.waitForURL(`${ui.gateUrl}/login?expired`)
  await signIn(page, 'secret')

  await isLoggedInAs(page, ui, place, 'alice')
})

test('a second tab shares login and logout', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const { browser, ui, page } = setting
  const second = await browser.newPage()
  await second.goto(`${ui.url}/#/other`)
  await isLoggedInAs(second, ui, '/#/other', 'alice')

  await callFrom(page, '/auth/logout')
  assert.equal(await userOf(second), 'nobody')
  await second.reload()
  await second.waitForURL(`${ui.gateUrl}/login`)
})

test('two tabs at the login both arrive', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const { browser, ui, page } = setting
  await callFrom(page, '/auth/logout')
  const second = await browser.newPage()
  for (const [tab, name] of [
    [page, 'one'],
    [second, 'two'],
  ] as const) {
    await tab.goto(`${ui.url}/?tab=${name}#/${name}`)
    await tab.waitForURL(`${ui.gateUrl}/login`)
  }

  for (const tab of [page, second]) {
    await signIn(tab, 'secret')
    await tab.waitForURL((url) => url.origin === ui.url)
    await tab.waitForFunction("document.title === 'alice'")
  }

  assert.deepEqual([await userOf(page), await userOf(second)], ['alice', 'alice'])
})
