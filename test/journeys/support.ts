/** What the journeys share: a real browser, and a page on another port that does with the gateway what the web UI does. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { Reply, startUpstream } from '../support/upstream.ts'

export interface WebUi {
  readonly url: string
  /** To be told before the page is opened. */
  gateUrl: string
}

/**
 * The page asks who is logged in, goes to the login when nobody is, and shows the user as its title. `rest(path, init)` calls
 * the gateway with cookies and a header that makes browsers ask first.
 */
export async function startWebUi(t: TestContext): Promise<WebUi> {
  const server = await startUpstream(
    t,
    () => new Reply(200, formatPage(ui.gateUrl), { 'content-type': 'text/html' }),
  )
  const ui: WebUi = { url: server.url, gateUrl: '' }
  return ui
}

function formatPage(gateUrl: string): string {
  return `<!doctype html>
<title>nobody</title>
<link rel="icon" href="data:,">
<script>
  const gate = ${JSON.stringify(gateUrl)}
  async function rest(path, { headers, ...init } = {}) {
    const answer = await fetch(gate + path, {
      credentials: 'include', ...init, headers: { 'X-RateLimit-App': 'deck', ...headers },
    })
    return { status: answer.status, url: answer.url, text: await answer.text() }
  }
  async function authenticate() {
    const { text } = await rest('/auth/user')
    if (text === '') location.href = gate + '/auth/redirect?to=' + encodeURIComponent(location.href)
    else document.title = JSON.parse(text).username
  }
  if (!location.search.includes('idle')) authenticate()
</script>
`
}

export interface Answer {
  readonly status: number
  /** Where the redirects ended. */
  readonly url: string
  readonly text: string
}

/** A call that the page makes; the message of the browser when it does not let the page see the answer. */
export async function callFrom(
  page: Page,
  path: string,
  init: Record<string, unknown> = {},
): Promise<Answer | string> {
  const call = `rest(${JSON.stringify(path)}, ${JSON.stringify(init)}).catch(String)`
  return (await page.evaluate(call)) as Answer | string
}

export async function isLoggedInAs(
  page: Page,
  ui: WebUi,
  place: string,
  username: string,
): Promise<void> {
  await page.waitForURL(`${ui.url}${place}`)
  await page.waitForFunction("document.title !== 'nobody'")
  assert.equal(await page.title(), username)
}

/** Fills the login page of the gateway. */
export async function signIn(page: Page, password: string): Promise<void> {
  await page.getByLabel('User name').fill('alice')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
