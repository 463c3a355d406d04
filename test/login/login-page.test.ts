/** The look of the login page: name, text and logo by configuration, nothing that runs, and readable for everyone. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { AxeResults } from 'axe-core'
import { chromium, type Page } from 'playwright-core'
import { checkConfig } from '../../src/config/config.ts'
import { needs } from '../support/debian.ts'
import { startGuarded } from './support.ts'

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

test('without settings the page shows the mark and the name of Fairlead', async (t) => {
  const { open } = await startGuarded(t)
  const { text } = await open().visit('/login')
  assert.match(text, /<title>Sign in · Fairlead<\/title>/)
  assert.match(text, /<svg class="mark".*to Fairlead, the gateway of your delivery platform/s)
})

test('name, text and logo come from the settings, as text and as an image that cannot run', async (t) => {
  for (const [name, content, type] of [
    ['logo.svg', svg, 'image/svg+xml'],
    ['logo.png', png, 'image/png'],
  ] as const) {
    const page = { title: 'R&D <b>', text: 'Trouble?\nAsk <script>alert(1)</script>', logo: writeFile(t, name, content) }
    const { open } = await startGuarded(t, { login: { page } })
    const { text, headers } = await open().visit('/login')
    assert.match(text, /<title>Sign in · R&#38;D &#60;b&#62;<\/title>/)
    assert.match(text, /to R&#38;D &#60;b&#62;<\/p>/)
    assert.match(text, /Trouble\?\nAsk &#60;script&#62;/)
    assert.ok(text.includes(`<img class="logo" src="data:${type};base64,${Buffer.from(content).toString('base64')}"`))
    assert.doesNotMatch(text, /<script|class="mark"/)
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'; style-src 'sha256-[^']+'; img-src data:;/)
  }
})

test('the policy admits exactly the style of the page', async (t) => {
  const { open } = await startGuarded(t)
  const { text, headers } = await open().visit('/login')
  const style = /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  assert.ok(headers.get('content-security-policy')?.includes(`style-src 'sha256-${hash}'`))
})

const mistakes: [name: string, page: (t: TestContext) => Record<string, unknown>, said: RegExp][] = [
  ['a logo that does not exist', () => ({ logo: '/nowhere/logo.svg' }), /login\.page\.logo: the file .* does not exist/],
  ['a folder', () => ({ logo: tmpdir() }), /login\.page\.logo: the file .* is a directory; name a file/],
  ['a logo of another kind', (t) => ({ logo: writeFile(t, 'a.gif', 'GIF89a') }), /neither SVG nor PNG/],
  ['a page as logo', (t) => ({ logo: writeFile(t, 'a.svg', '<html><svg></svg></html>') }), /neither SVG nor PNG/],
  [
    'a large logo',
    (t) => ({ logo: writeFile(t, 'a.png', Buffer.concat([png, Buffer.alloc(102_400)])) }),
    /102\d\d\d bytes, and 102400 are allowed/,
  ],
  ['a long title', () => ({ title: 'x'.repeat(61) }), /login\.page\.title/],
]

for (const [name, page, said] of mistakes) {
  test(`${name} is refused before the start`, async (t) => {
    const file = writeFile(t, 'gate.yml', JSON.stringify({ login: { page: page(t) } }))
    const { ok, text } = await checkConfig({ cwd: tmpdir(), env: {}, homeDir: '/nowhere', systemDir: '/nowhere', files: [file] })
    assert.equal(ok, false)
    assert.match(text, said)
  })
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const results = (await page.evaluate('axe.run()')) as AxeResults
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

test('on a phone and on a desk, by day and by night, the page has no barriers and breaks no rule of its policy', async (t) => {
  const executablePath = needs(t, 'chromium')
  if (executablePath === undefined) return
  const page = { title: 'Acme', text: 'Use your company account.', logo: writeFile(t, 'logo.png', png) }
  const { url } = await startGuarded(t, { login: { page } })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  t.after(() => browser.close())
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const viewport of [
      { width: 320, height: 568 },
      { width: 1280, height: 800 },
    ]) {
      const tab = await browser.newPage({ colorScheme, viewport })
      const complaints: string[] = []
      tab.on('console', (message) => complaints.push(message.text()))
      for (const path of ['/login', '/login?error', '/login?logout', '/auth/loggedOut']) {
        await tab.goto(url + path)
        assert.deepEqual(await findBarriers(tab), [], `${path} ${colorScheme} ${viewport.width}`)
        const sideways = await tab.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
        assert.equal(sideways, false)
      }
      assert.deepEqual(complaints, [])
      await tab.close()
    }
  }
})

test('with the keyboard alone: name, password, Enter', async (t) => {
  const executablePath = needs(t, 'chromium')
  if (executablePath === undefined) return
  const { url } = await startGuarded(t, { services: { deck: {} } })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  t.after(() => browser.close())
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
