import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openChromium } from '../../support/chromium.ts'
import { startGateway } from '../../support/gateway.ts'

interface Visited {
  page: Page
  /** Addresses that the page asked for. */
  requested: string[]
  /** What it complained about. */
  complaints: string[]
}

/** Undefined where there is no browser; the test is skipped then. */
async function openBrowser(t: TestContext): Promise<Visited | undefined> {
  const page = await (await openChromium(t))?.newPage()
  if (page === undefined) return undefined
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => void requested.push(request.url()))
  page.on('pageerror', (error) => void complaints.push(String(error)))
  page.on(
    'console',
    (message) => void (message.type() === 'error' && complaints.push(message.text())),
  )
  return { page, requested, complaints }
}

test('the reference page requests its own origin only', { timeout: 300_000 }, async (t) => {
  const visited = await openBrowser(t)
  if (visited === undefined) return
  const { page, requested, complaints } = visited
  const gateway = await startGateway(t, {
    server: { servlet: { 'context-path': '/gate' } },
    security: { user: { name: 'me', password: 'correct-horse' } },
  })
  await page.goto(`${gateway}/login`)
  await page.fill('input[name=username]', 'me')
  await page.fill('input[name=password]', 'correct-horse')
  await Promise.all([
    page.waitForURL((url) => !url.pathname.endsWith('/login')),
    page.click('button[type=submit]'),
  ])
  requested.length = 0

  await page.goto(`${gateway}/swagger-ui/index.html#tag/applications/GET/applications`)
  await page.getByRole('heading', { name: 'Fairlead', exact: true }).first().waitFor()
  // The page after the login asks services that are not there.
  complaints.length = 0
  await page
    .getByRole('button', { name: /Test Request/ })
    .first()
    .click()
  const answered = page.waitForResponse(`${gateway}/applications`)
  await page.getByRole('button', { name: /^Send/ }).first().click()
  assert.equal((await answered).status(), 200)

  const screenshot = process.env['FAIRLEAD_SCREENSHOT']
  if (screenshot !== undefined) await page.screenshot({ path: screenshot })
  const elsewhere = requested.filter(
    (url) => !url.startsWith(gateway) && !/^(?:data|blob):/.test(url),
  )
  assert.deepEqual(elsewhere, [])
  assert.deepEqual(
    requested.filter((url) => url.endsWith('/openapi.json')),
    [`${gateway}/openapi.json`],
  )
  assert.deepEqual(complaints, [])
})

for (const path of ['/swagger-ui.html', '/reference']) {
  test(`the page is found at ${path}, too`, async (t) => {
    const gateway = await startGateway(t, {})
    const answer = await fetch(gateway + path)
    assert.equal(answer.status, 200)
    assert.match(
      String(answer.headers.get('content-security-policy')),
      /default-src 'none'.*connect-src 'self'/,
    )
    const page = await answer.text()
    assert.match(page, /<title>Fairlead API<\/title>/)
    // Whatever name the gateway goes by, the page reaches its own origin only.
    assert.ok(page.includes('&quot;servers&quot;:[{&quot;url&quot;:&quot;/&quot;}]'))
  })
}

test('the page is for logged-in users only', async (t) => {
  const guarded = await startGateway(t, {
    security: { user: { name: 'me', password: 'correct-horse' } },
  })
  for (const path of [
    '/swagger-ui/index.html',
    '/swagger-ui/reference.js',
    '/openapi.json',
    '/v3/api-docs',
  ]) {
    assert.equal((await fetch(guarded + path)).status, 401, path)
  }
  const open = await startGateway(t, {})
  assert.equal((await fetch(`${open}/swagger-ui/other.js`)).status, 404)
})
