/** The guide about permissions, followed where it is about a fiat of one's own, about trouble, and about explanations. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { basic } from '../login/support.ts'
import { createClock } from '../sessions/support.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { blocksOf } from '../support/guide.ts'
import { program } from '../support/program.ts'
import { type RecordedRequest, Reply, startUpstream } from '../support/upstream.ts'
import { startSeeded } from './support.ts'

const root = resolve(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/guides/permissions.md'), 'utf8')

/** The text below a heading of the second level. */
function chapter(title: string): string {
  const [text = ''] = guide.split(/^## \d+\. /m).filter((part) => part.startsWith(title))
  assert.notEqual(text, '', title)
  return text
}

/** The example in a chapter that holds a word, with the addresses of the test. */
function configuration(
  title: string,
  word: string,
  addresses: Record<string, string>,
): GatewaySettings {
  const blocks = blocksOf(chapter(title), 'yaml')
  const yaml = blocks.find((block) => block.includes(word))
  assert.ok(yaml, word)
  const replaced = Object.entries(addresses).reduce(
    (text, [from, to]) => text.replaceAll(from, to),
    yaml,
  )
  return parse(replaced) as GatewaySettings
}

/** Paths of the requests that a chapter has somebody make with curl, in order. */
function requestsIn(title: string): string[] {
  return [...chapter(title).matchAll(/^curl .*http:\/\/localhost:8084([^'\s]*)/gm)].map(
    ([, path = '']) => path,
  )
}

const fiatUrl = 'http://fiat.example.com:7003'
const password = 'battery staple'
const users = { fairlead: { admin: { password } } }
const headers = basic('admin', password)

function alive({ method, path }: RecordedRequest): unknown {
  if (path === '/roles/sync') return 1
  return method === 'GET'
    ? { name: 'admin', admin: true, accounts: [], applications: [], serviceAccounts: [], roles: [] }
    : new Reply(200)
}

test('an external fiat is used as configured', async (t) => {
  const fiat = await startUpstream(t, alive)
  const { services, ...settings } = configuration('In front of', 'enforce', { [fiatUrl]: fiat.url })
  const { url } = await runGateway(t, { ...users, ...settings, services: { ...services } })
  const [path] = requestsIn('In front of')
  assert.equal((await fetch(url + path, { method: 'POST', headers })).status, 200)
  const explained = await fetch(`${url}/auth/explain?operation=GET+/pipelines/x`, { headers })
  assert.equal(
    ((await explained.json()) as { enforcement: { by: string } }).enforcement.by,
    'gateway',
  )
})

test('a fiat for logins of its own gets them', async (t) => {
  const reads = await startUpstream(t, alive)
  const logins = await startUpstream(t, alive)
  const { services } = configuration('In front of', 'dynamicEndpoints', {
    [fiatUrl]: reads.url,
    'http://fiat-login.example.com:7003': logins.url,
  })
  const { url } = await runGateway(t, { ...users, services: { ...services } })
  assert.equal((await fetch(`${url}/credentials`, { headers })).status, 200)
  assert.deepEqual([...new Set(reads.background.map(({ method }) => method))], ['GET'])
  assert.deepEqual([...new Set(logins.background.map(({ method }) => method))], ['PUT'])
})

test('last known rights apply while fiat is down', async (t) => {
  const fiat = await startUpstream(t, alive)
  const clock = createClock()
  const { services, ...settings } = configuration('When fiat is', 'lastKnownForSeconds', {
    [fiatUrl]: fiat.url,
  })
  const { url } = await runGateway(
    t,
    { ...users, ...settings, services: { ...services } },
    { now: clock.now },
  )
  const login = await fetch(`${url}/login`, {
    method: 'POST',
    body: new URLSearchParams({ username: 'admin', password }),
    redirect: 'manual',
  })
  const cookie = login.headers.getSetCookie().map((set) => set.split(';')[0])
  const ask = () =>
    fetch(`${url}/credentials`, { headers: { cookie: cookie.join('; ') }, redirect: 'manual' })
  assert.equal((await ask()).status, 200)
  fiat.answer(() => new Reply(400))
  clock.nowMs += 600_000
  assert.equal((await ask()).status, 200)
  clock.nowMs += 30_000
  assert.equal((await ask()).status, 503)
})

test('users and administrators learn why access is denied', async (t) => {
  const { dataDir, ask, add, createApplication } = await startSeeded(t)
  await add('rita', ['readers'])
  await createApplication('web', { READ: ['readers'], WRITE: ['writers'] })
  const [own = '', other = ''] = requestsIn('Why may I')
  const [, example = ''] = /```json\n(.*?)```/s.exec(chapter('Why may I')) ?? []
  assert.deepEqual((await ask('rita', `GET ${own}`)).json(), JSON.parse(example))
  const { decision, resources } = (await ask('admin', `GET ${other}`)).json() as Record<
    string,
    unknown
  >
  assert.equal(decision, 'denied')
  assert.deepEqual(resources, [
    { kind: 'application', name: 'web', permissions: { READ: ['readers'], WRITE: ['writers'] } },
  ])

  const [, command = ''] = /^fairlead (explain access .*)$/m.exec(chapter('Why may I')) ?? []
  const args = [...command.matchAll(/"([^"]+)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  )
  const env = { ...process.env, FAIRLEAD_DATA_DIR: dataDir }
  const run = promisify(execFile)(process.execPath, [program, ...args], { env, cwd: dataDir })
  await assert.rejects(run, (error: { code: number; stdout: string }) => {
    assert.equal(error.code, 1)
    assert.match(
      error.stdout,
      /no {2}WRITE on the application web: no role of the user has WRITE on the application/,
    )
    return true
  })
})
