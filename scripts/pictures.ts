/**
 * Takes the pictures of the documents anew: `npm run pictures`. An instance of these sources gets an app with two environments and a few
 * commits by its own command line, and Chromium (Debian's `chromium-headless-shell`) takes each page in both themes.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'

const root = resolve(import.meta.dirname, '..')
const program = join(root, 'bin/fairlead.js')
const pictures = join(root, 'docs/pictures')
const password = 'correct-horse-battery'
const scratch = mkdtempSync(join(tmpdir(), 'fairlead-pictures-'))
const folder = join(scratch, 'storefront')

const appFile = `application: storefront
services:
  web: { command: node server.js, instances: 2, health: /, hosts: [storefront.example] }
environments:
  staging:    { hosts: [staging.storefront.example] }
  production: { promote: { judgment: [] } }
`
const serverFile = (greeting: string) => `require('node:http')
  .createServer((_, response) => response.end('${greeting}'))
  .listen(process.env.PORT)
`
interface Pipeline {
  readonly id: string
  readonly name: string
}

/** What each commit serves, who wrote it, and whether production takes it. */
const commits = [
  { message: 'Greet customers', author: 'Ann Baker', greeting: 'hello', isPromoted: true },
  { message: 'Prices with VAT', author: 'Grace Hill', greeting: 'prices', isPromoted: false },
  { message: 'Basket: keep it for 30 days', author: 'Ann Baker', greeting: 'basket' },
]

const [port, http, https] = await Promise.all([freePort(), freePort(), freePort()])
const url = `http://127.0.0.1:${port}`
const config = join(scratch, 'fairlead.yml')
mkdirSync(folder)
writeFileSync(
  config,
  `server: { port: ${port}, address: 127.0.0.1 }
data: { dir: ${scratch}/data }
local: { accounts: [{ name: local, front: { http: ${http}, https: ${https} } }] }
`,
)
const instance = spawn(process.execPath, [program, 'serve', '--config', config], {
  env: { ...process.env, FAIRLEAD_ADMIN_PASSWORD: password },
  stdio: 'inherit',
})
try {
  await until(async () => (await fetch(`${url}/health`)).ok)
  const { token } = (await ask('/auth/apiTokens', { name: 'pictures' })) as { token: string }
  await fill(token)
  await takeAll()
} finally {
  instance.kill()
  await new Promise((end) => instance.once('exit', end))
  rmSync(scratch, { recursive: true, force: true })
}

async function fill(token: string): Promise<void> {
  write('.fairlead/app.yml', appFile)
  write('package.json', '{ "name": "storefront", "private": true }')
  git('Fairlead', 'init', '--quiet')
  for (const { message, author, greeting, isPromoted } of commits) {
    write('server.js', serverFile(greeting))
    git(author, 'add', '.')
    git(author, 'commit', '--quiet', '--message', message)
    fairlead(token, 'deploy', '--env', 'staging', '--yes')
    if (isPromoted === undefined) continue
    const promotion = fairlead(token, 'promote', '--yes', '--detach', '--output', 'json')
    if (isPromoted) await approve(token, promotion)
  }
}

async function approve(token: string, promotion: string): Promise<void> {
  const [, id = ''] = /"id":\s*"([^"]+)"/.exec(promotion) ?? []
  await until(() => {
    fairlead(token, 'approve', id, '--message', 'Looks well on staging', '--yes')
    return true
  })
  fairlead(token, 'watch', id)
}

async function takeAll(): Promise<void> {
  const executablePath = '/usr/bin/chromium-headless-shell'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  mkdirSync(pictures, { recursive: true })
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({
      colorScheme,
      viewport: { width: 1280, height: 800 },
    })
    await page.goto(`${url}/console/`)
    await page.fill('input[name=username]', 'admin')
    await page.fill('input[name=password]', password)
    await page.keyboard.press('Enter')
    await page.waitForSelector('h1')
    const [run] = (await ask('/applications/storefront/pipelines?limit=1')) as { id: string }[]
    const pipelines = (await ask('/applications/storefront/pipelineConfigs')) as Pipeline[]
    const production = pipelines.find(({ name }) => name === 'deploy production')
    for (const [name, path] of Object.entries({
      release: 'applications/storefront',
      run: `executions/${run?.id}`,
      editor: `applications/storefront/pipelines/${production?.id}/edit`,
    })) {
      await page.goto(`${url}/console/${path}`)
      await page.waitForSelector('h1')
      // Pictures of traffic and instances come a moment after the page.
      await sleep(2000)
      await page.screenshot({ path: join(pictures, `${name}-${colorScheme}.png`) })
    }
    await page.close()
  }
  await browser.close()
}

function fairlead(token: string, ...args: readonly string[]): string {
  return execFileSync(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...process.env, HOME: scratch, FAIRLEAD_URL: url, FAIRLEAD_TOKEN: token },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function git(author: string, ...args: readonly string[]): void {
  const email = `${author.split(' ')[0]?.toLowerCase()}@example.com`
  execFileSync('git', ['-c', `user.name=${author}`, '-c', `user.email=${email}`, ...args], {
    cwd: folder,
  })
}

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), text)
}

async function ask(path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Basic ${btoa(`admin:${password}`)}`,
      'content-type': 'application/json',
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** Tries for a minute; a failure counts as not yet. */
async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
  for (let left = 120; ; left--) {
    try {
      if (await isDone()) return
    } catch (error) {
      if (left === 0) throw error
    }
    await sleep(500)
  }
}

function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  return new Promise((found) =>
    server.once('listening', () => {
      const address = server.address()
      server.close(() => found(typeof address === 'object' && address ? address.port : 0))
    }),
  )
}
