/** The look of the login page: name, text and logo by configuration, nothing that runs, and readable for everyone. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { checkConfig } from '../config/given.ts'
import { findBarriers, findPale } from '../support/barriers.ts'
import { openChromium } from '../support/chromium.ts'
import { startGuarded, startPath } from './support.ts'

const svg =
  '<?xml version="1.0"?>\n<!-- a logo -->\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>alert(1)</script></svg>'
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

function writeFile(t: TestContext, name: string, content: string | Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-page-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

test('by default the page shows Fairlead', async (t) => {
  const { open } = await startGuarded(t)
  const { text } = await open().visit('/login')
  assert.match(text, /<title>Sign in · Fairlead<\/title>/)
  assert.match(text, /<svg class="mark".*to Fairlead, the gateway of your delivery platform/s)
})

test('name, text and logo come from the settings', async (t) => {
  for (const [name, content, type] of [
    ['logo.svg', svg, 'image/svg+xml'],
    ['logo.png', png, 'image/png'],
  ] as const) {
    const ui = {
      name: 'R&D <b>',
      loginText: 'Trouble?\nAsk <script>alert(1)</script>',
      logo: writeFile(t, name, content),
    }
    const { open } = await startGuarded(t, { ui })
    const { text, headers } = await open().visit('/login')
    assert.match(text, /<title>Sign in · R&#38;D &#60;b&#62;<\/title>/)
    assert.match(text, /to R&#38;D &#60;b&#62;<\/p>/)
    assert.match(text, /Trouble\?\nAsk &#60;script&#62;/)
    assert.ok(
      text.includes(
        `<img class="logo" src="data:${type};base64,${Buffer.from(content).toString('base64')}"`,
      ),
    )
    assert.equal(text.split('<script').length, 2, 'its own script alone')
    assert.doesNotMatch(text, /class="mark"/)
    assert.match(
      headers.get('content-security-policy') ?? '',
      /default-src 'none'; style-src 'sha256-[^']+'; img-src data:;/,
    )
  }
})

test("the policy admits the page's style and script only", async (t) => {
  const { open } = await startGuarded(t)
  const { text, headers } = await open().visit('/login')
  const style = /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  const script = /<script>(.*?)<\/script>/s.exec(text)?.[1] ?? ''
  const scriptHash = createHash('sha256').update(script).digest('base64')
  const policy = headers.get('content-security-policy') ?? ''
  assert.match(
    policy,
    new RegExp(`^default-src 'none'; style-src 'sha256-${RegExp.escape(hash)}'; img-src data:;`),
  )
  assert.ok(policy.includes(`; script-src 'sha256-${scriptHash}'`))
})

const mistakes: [name: string, ui: (t: TestContext) => Record<string, unknown>, said: RegExp][] = [
  [
    'a logo that does not exist',
    () => ({ logo: '/nowhere/logo.svg' }),
    /ui\.logo: the file .* does not exist/,
  ],
  ['a folder', () => ({ logo: tmpdir() }), /ui\.logo: the file .* is a directory; name a file/],
  [
    'a logo of another kind',
    (t) => ({ logo: writeFile(t, 'a.gif', 'GIF89a') }),
    /neither SVG nor PNG/,
  ],
  [
    'a page as logo',
    (t) => ({ logo: writeFile(t, 'a.svg', '<html><svg></svg></html>') }),
    /neither SVG nor PNG/,
  ],
  [
    'a large logo',
    (t) => ({ logo: writeFile(t, 'a.png', Buffer.concat([png, Buffer.alloc(102_400)])) }),
    /102\d\d\d bytes, and 102400 are allowed/,
  ],
  ['a long name', () => ({ name: 'x'.repeat(61) }), /ui\.name/],
]

for (const [name, ui, said] of mistakes) {
  test(`${name} is refused before the start`, async (t) => {
    const file = writeFile(t, 'gate.yml', JSON.stringify({ ui: ui(t) }))
    const { ok, text } = await checkConfig({
      cwd: tmpdir(),
      env: {},
      homeDir: '/nowhere',
      systemDir: '/nowhere',
      files: [file],
    })
    assert.equal(ok, false)
    assert.match(text, said)
  })
}

const sizes = [
  { width: 320, height: 568 },
  { width: 390, height: 844 },
  { width: 1440, height: 900 },
]
const notices = [
  '',
  '?error',
  '?error=wait&minutes=15',
  '?error=unavailable',
  '?error=expired',
  '?expired',
  '?logout',
]

test('every page is accessible and fits its screen', { timeout: 300_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { url } = await startGuarded(t, {
    ui: { name: 'Acme production', logo: writeFile(t, 'logo.png', png) },
  })
  const pages = [...notices.map((query) => `/login${query}`), '/auth/loggedOut', '/no/such/page']
  for (const colorScheme of ['light', 'dark'] as const) {
    const tab = await browser.newPage({ colorScheme })
    const complaints: string[] = []
    tab.on('console', (message) => {
      // The browser itself tells of a page with an error status.
      if (!message.text().includes('404 (Not Found)')) complaints.push(message.text())
    })
    for (const path of pages) {
      await tab.goto(url + path)
      // Everything but colours is the same in dark.
      const find = colorScheme === 'dark' ? findPale : findBarriers
      assert.deepEqual(await find(tab), [], `${path} ${colorScheme}`)
      for (const viewport of sizes) {
        await tab.setViewportSize(viewport)
        const place = `${path} ${colorScheme} ${viewport.width}`
        assert.equal(
          await tab.evaluate('document.documentElement.scrollWidth - innerWidth > 0'),
          false,
          `${place}: sideways`,
        )
        if (path.startsWith('/login'))
          assert.equal(
            await tab.evaluate('document.documentElement.scrollHeight <= innerHeight'),
            true,
            `${place}: too high`,
          )
      }
    }
    assert.deepEqual(complaints, [])
    await tab.close()
  }
})

test('the form keeps its place under any message', async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { url } = await startGuarded(t)
  const tab = await browser.newPage()
  for (const viewport of sizes) {
    await tab.setViewportSize(viewport)
    const tops: number[] = []
    for (const query of notices) {
      await tab.goto(`${url}/login${query}`)
      tops.push((await tab.locator('form').boundingBox())?.y ?? 0)
    }
    assert.deepEqual([...new Set(tops)], [tops[0]], `${viewport.width}`)
  }
})

test('a rejected login keeps the name', async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { url } = await startGuarded(t, { services: { deck: {} } })
  const tab = await browser.newPage()
  await tab.goto(`${url}/auth/rawUser`)
  assert.match((await tab.textContent('main')) ?? '', /You continue to the page that you opened\./)
  await tab.fill('#username', 'admin" onfocus="x')
  await tab.fill('#password', 'wrong')
  await tab.getByRole('button', { name: 'Show password' }).click()
  assert.equal(await tab.getAttribute('#password', 'type'), 'text')
  await tab.getByRole('button', { name: 'Hide password' }).click()
  assert.equal(await tab.getAttribute('#password', 'type'), 'password')
  await tab.keyboard.press('Enter')

  await tab.getByRole('alert').waitFor()
  assert.equal(tab.url(), `${url}/login?error`)
  assert.equal(await tab.textContent('[role=alert]'), 'User name or password is wrong.')
  assert.equal(await tab.inputValue('#username'), 'admin" onfocus="x')
  assert.equal(await tab.evaluate('document.activeElement.id'), 'password')
  await tab.reload()
  assert.equal(await tab.inputValue('#username'), '', 'kept for one page')
  assert.equal(await tab.evaluate('document.activeElement.id'), 'username')
})

test('without script the form works, and offers nothing that needs one', async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { url } = await startGuarded(t, { services: { deck: {} } })
  const tab = await browser.newPage({ javaScriptEnabled: false })
  await tab.goto(`${url}/auth/rawUser`)
  assert.equal(await tab.locator('#show').isVisible(), false)
  await tab.fill('#username', 'admin')
  await tab.fill('#password', 'secret')
  await tab.click('button[type=submit]')
  await tab.waitForURL(`${url}/auth/rawUser`)
})

test('a browser whose session is over is told so', async (t) => {
  const { open } = await startGuarded(t)
  const browser = open()
  assert.match((await browser.visit('/credentials')).location ?? '', /\/login$/)
  browser.plant('SESSION', 'A'.repeat(43))
  const { location } = await browser.visit('/credentials')
  assert.match(location ?? '', /\/login\?expired$/)
  assert.match(
    (await browser.visit('/login?expired')).text,
    /Your session has expired\. Sign in again\./,
  )
  assert.equal((await browser.ask('/credentials')).status, 401)
})

test('the page shows the destination and no foreign text', async (t) => {
  const { open } = await startGuarded(t)
  const rows: [path: string, destination: RegExp | undefined][] = [
    [startPath, /You continue to deck\.example\.com\./],
    ['/credentials?call=0800-SCAM', /You continue to the page that you opened\./],
    ['/auth/redirect?to=https://evil.example', undefined],
  ]
  for (const [path, destination] of rows) {
    const browser = open()
    await browser.visit(path)
    const { text } = await browser.visit('/login')
    if (destination === undefined) assert.doesNotMatch(text, /You continue/)
    else assert.match(text, destination)
    assert.doesNotMatch(text, /SCAM|evil/)
  }
})

test('with the keyboard alone: name, password, Enter', async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { url } = await startGuarded(t, { services: { deck: {} } })
  const tab = await browser.newPage()
  await tab.goto(`${url}/auth/rawUser`)
  await tab.waitForSelector('input[name=username]:focus')
  await tab.keyboard.type('admin')
  await tab.keyboard.press('Tab')
  await tab.keyboard.type('secret')
  await tab.keyboard.press('Enter')
  await tab.waitForURL(`${url}/auth/rawUser`)
  assert.match((await tab.textContent('body')) ?? '', /"username":"admin"/)
})
