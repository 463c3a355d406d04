/** Login, contexts and where tokens go, with the real command line against a real instance. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { startWithTokens, type TokenGateway } from '../login/tokens/support.ts'
import { type CliRun, runCli } from '../support/cli.ts'
import { freePort } from '../support/free-port.ts'
import { keyPairOf } from '../support/self-signed.ts'
import { runInTerminal } from '../support/terminal.ts'

const password = 'correct horse'
const atEnd: (() => unknown)[] = []
after(async () => {
  for (const end of atEnd.reverse()) await end()
})

/** One gateway for all tests of the file. */
let started: Promise<TokenGateway> | undefined
function startShared(): Promise<TokenGateway> {
  started ??= (async () => {
    const gateway = await startWithTokens({
      after: (end: () => unknown) => atEnd.push(end),
    } as unknown as TestContext)
    await gateway.logIn('alice', ['dev'])
    return gateway
  })()
  return started
}

interface Home {
  readonly env: Record<string, string>
  readonly file: string
  run(...args: readonly string[]): Promise<CliRun>
}

function createHome(t: TestContext): Home {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-cli-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const env = { HOME: folder }
  return {
    env,
    file: join(folder, '.config/fairlead/config.json'),
    run: (...args) => runCli(args, { env, cwd: folder }),
  }
}

/** In a terminal, with the password. */
async function logIn(home: Home, url: string, ...more: readonly string[]): Promise<string> {
  const terminal = runInTerminal(['login', url, '--user', 'alice', ...more], { env: home.env })
  await terminal.read(/Password of alice/)
  terminal.type(`${password}\r`)
  assert.equal(await terminal.ended, 0, terminal.shown())
  return terminal.shown()
}

interface StoredContext {
  readonly url: string
  readonly token: string
}

function contextsOf({ file }: Home): Record<string, StoredContext> {
  return (JSON.parse(readFileSync(file, 'utf8')) as { contexts: Record<string, StoredContext> })
    .contexts
}

function store(home: Home, contexts: Record<string, object>, current?: string): void {
  mkdirSync(dirname(home.file), { recursive: true, mode: 0o700 })
  chmodSync(dirname(home.file), 0o700)
  writeFileSync(home.file, JSON.stringify({ current, contexts }), { mode: 0o600 })
}

test('app-scenario 2, app-scenario 4: a login in a terminal keeps a token, and logout revokes it', async (t) => {
  const { url } = await startShared()
  const home = createHome(t)

  const shown = await logIn(home, url, '--name', 'here')
  assert.ok(!shown.includes(password), shown)
  assert.match(shown, /Logged in to .* as alice\./)
  assert.equal(statSync(home.file).mode & 0o777, 0o600)
  assert.equal(statSync(dirname(home.file)).mode & 0o777, 0o700)
  const { token } = contextsOf(home)['here'] as StoredContext
  const ask = () =>
    fetch(`${url}/auth/apiTokens`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal((await ask()).status, 200)

  const { code, stdout } = await home.run('logout', '--output', 'json')
  assert.deepEqual([code, JSON.parse(stdout)], [0, { context: 'here', url, revoked: true }])
  assert.equal((await ask()).status, 401)
  assert.deepEqual(contextsOf(home), {})
})

test('app-scenario 3: a login by address and code keeps a token, and the code counts once', async (t) => {
  const { url, logIn: open } = await startShared()
  const home = createHome(t)
  const terminal = runInTerminal(['login', url], { env: home.env })
  await terminal.read(/confirm the code/)
  const [, path = '', code = ''] =
    /(\/auth\/device\?code=([A-Z]{4}-[A-Z]{4}))/.exec(terminal.shown()) ?? []
  const browser = await open('alice', ['dev'])
  const page = await browser.visit(path)
  assert.match(page.text, /asks for an API token of\s+alice/)
  const decide = (decision: string) =>
    browser.visit('/auth/device/decision', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ code, decision }),
    })

  assert.equal((await decide('allow')).status, 200)
  assert.equal(await terminal.ended, 0, terminal.shown())

  const [{ token }] = Object.values(contextsOf(home)) as [StoredContext]
  const user = await fetch(`${url}/auth/user`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(((await user.json()) as { username: string }).username, 'alice')
  assert.equal((await decide('allow')).status, 409)
})

test('a code that the user rejects, or that was used, gives no token', async () => {
  const { url, logIn: open } = await startShared()
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const browser = await open('alice', ['dev'])
  const decide = (code: string, decision: string) =>
    browser.visit('/auth/device/decision', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ code, decision }),
    })
  const begin = async (name: string) => {
    const answer = await post('/auth/device', { name, device: 'box' })
    assert.equal(answer.status, 201)
    return (await answer.json()) as { deviceCode: string; userCode: string }
  }
  const statusOf = async ({ deviceCode }: { deviceCode: string }) =>
    (await post('/auth/device/token', { deviceCode })).status

  const rejected = await begin('one')
  assert.equal(await statusOf(rejected), 202)
  assert.equal((await decide(rejected.userCode, 'reject')).status, 200)
  assert.equal(await statusOf(rejected), 404)

  const used = await begin('two')
  await decide(used.userCode.toLowerCase().replace('-', ''), 'allow')
  const both = await Promise.all([statusOf(used), statusOf(used)])
  assert.deepEqual(both.toSorted(), [200, 404])
})

test('a wrong password is named, and nothing is kept', async (t) => {
  const { url } = await startShared()
  const home = createHome(t)
  const terminal = runInTerminal(['login', url, '--user', 'alice'], { env: home.env })
  await terminal.read(/Password of alice/)
  terminal.type('wrong\r')

  assert.equal(await terminal.ended, 4)
  assert.match(terminal.shown(), /User name or password is wrong\./)
  assert.ok(!existsSync(home.file))
})

test('without a terminal, the password is asked for in vain', async (t) => {
  const { url } = await startShared()
  const { code, stderr } = await createHome(t).run('login', url, '--user', 'alice')
  assert.equal(code, 7)
  assert.match(stderr, /--token-stdin/)
})

test('app-scenario 5: a configuration that others may read is refused with the chmod', async (t) => {
  const home = createHome(t)
  store(home, { a: { url: 'http://127.0.0.1:9', token: 'spk_x' } }, 'a')
  chmodSync(home.file, 0o644)
  const run = await home.run('context')
  assert.equal(run.code, 3)
  assert.match(run.stderr, new RegExp(`Run: chmod 600 ${home.file}`))

  chmodSync(home.file, 0o600)
  chmodSync(dirname(home.file), 0o755)
  assert.match((await home.run('context')).stderr, /Run: chmod 700 /)
})

test('app-scenario 6: with address and token of variables, no file is read or written', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await listen(t, (request, respond) => {
    seen.push(request.headers.authorization)
    respond(200, '[]')
  })
  const home = createHome(t)
  store(home, {})
  // Reading it would be an error.
  writeFileSync(home.file, 'no JSON')
  chmodSync(home.file, 0o666)

  const { code, stdout, stderr } = await runCli(['runs', '--app', 'none', '--output', 'json'], {
    env: { ...home.env, FAIRLEAD_URL: url, FAIRLEAD_TOKEN: 'spk_given' },
  })

  assert.deepEqual(
    [code, stdout.trim(), [...new Set(seen)]],
    [0, '[]', ['Bearer spk_given']],
    stderr,
  )
  assert.equal(readFileSync(home.file, 'utf8'), 'no JSON')
})

test('app-scenario 7: a redirect to another origin gets no token', async (t) => {
  const seen: (string | undefined)[] = []
  const other = await listen(t, (request, respond) => {
    seen.push(request.headers.authorization)
    respond(200, '[]')
  })
  const first = await listen(t, (request, respond) => {
    seen.push(request.headers.authorization)
    respond(302, '', { location: `${other}${request.url}` })
  })

  const { code } = await runCli(['runs', '--app', 'web'], {
    env: { HOME: tmpdir(), FAIRLEAD_URL: first, FAIRLEAD_TOKEN: 'spk_secret' },
  })

  assert.equal(code, 0)
  assert.deepEqual([...new Set(seen)], ['Bearer spk_secret', undefined])
})

test('app-scenario 9: --context chooses an instance and leaves the other untouched', async (t) => {
  const seen: string[] = []
  const answerAs = (name: string) =>
    listen(t, (request, respond) => {
      seen.push(`${name} ${request.headers.authorization}`)
      respond(200, '[]')
    })
  const home = createHome(t)
  store(
    home,
    {
      one: { url: await answerAs('one'), token: 'spk_1' },
      two: { url: await answerAs('two'), token: 'spk_2' },
    },
    'one',
  )
  const before = readFileSync(home.file, 'utf8')

  assert.equal((await home.run('runs', '--app', 'web', '--context', 'two')).code, 0)
  assert.equal((await home.run('--context', 'one', 'runs', '--app', 'web')).code, 0)

  assert.deepEqual([...new Set(seen)], ['two Bearer spk_2', 'one Bearer spk_1'])
  assert.equal(readFileSync(home.file, 'utf8'), before)
})

test('contexts are listed, chosen, renamed and removed; an end within seven days is a warning', async (t) => {
  const home = createHome(t)
  const expiresAt = new Date(Date.now() + 3 * 86_400_000).toISOString()
  store(
    home,
    { a: { url: 'https://a.example', user: 'ann', expiresAt }, b: { url: 'https://b.example' } },
    'a',
  )
  const listed = await home.run('context')
  assert.match(listed.stdout, /^\* +a +https:\/\/a\.example +ann +ends /m)
  assert.match(listed.stderr, /^Your token for https:\/\/a\.example ends in [23]d/)
  assert.equal((await home.run('context', 'b')).code, 0)
  assert.equal((await home.run('context', 'rename', 'b', 'c')).code, 0)
  assert.equal((await home.run('context', 'remove', 'a')).code, 0)
  const { current, contexts } = JSON.parse(readFileSync(home.file, 'utf8')) as Record<
    string,
    object
  >
  assert.deepEqual(
    { current, contexts },
    { current: 'c', contexts: { c: { url: 'https://b.example' } } },
  )
})

test('app-scenario 10: a token that has ended is 4, and login is named', async () => {
  const { url } = await startShared()
  const { code, stderr } = await runCli(['runs', '--app', 'web'], {
    env: { HOME: tmpdir(), FAIRLEAD_URL: url, FAIRLEAD_TOKEN: `spk_${'a'.repeat(47)}` },
  })
  assert.equal(code, 4)
  assert.ok(stderr.includes(`fairlead login ${url}`), stderr)
})

test('app-scenario 11: an instance that is down, or not trusted, is 5', async (t) => {
  const home = createHome(t)
  const down = await home.run(
    'runs',
    '--app',
    'web',
    '--url',
    `http://127.0.0.1:${await freePort()}`,
  )
  assert.equal(down.code, 5)
  assert.match(down.stderr, /cannot be reached: nothing listens there\./)

  const { certificate, keyPem } = keyPairOf('localhost', 'ec')
  const server = createTlsServer({ cert: certificate, key: keyPem }, (_, response) =>
    response.end('[]'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const strange = await home.run('runs', '--app', 'web', '--url', `https://localhost:${port}`)
  assert.equal(strange.code, 5)
  assert.match(strange.stderr, /NODE_EXTRA_CA_CERTS/)
})

test('app-scenario 12: a pipe gets no escape codes, and NO_COLOR none for colour', async (t) => {
  const home = createHome(t)
  store(home, { a: { url: 'https://a.example' } }, 'a')
  const piped = await home.run('context')
  assert.ok(!(piped.stdout + piped.stderr).includes('\u001b'))

  const coloured = runInTerminal(['context'], { env: home.env })
  await coloured.ended
  assert.ok(coloured.shown().includes('\u001b[1m'), coloured.shown())
  const plain = runInTerminal(['context'], { env: { ...home.env, NO_COLOR: '1' } })
  await plain.ended
  assert.ok(!plain.shown().includes('\u001b['), plain.shown())
})

test('app-scenario 16: completion of bash offers commands and services', async (t) => {
  const home = createHome(t)
  const { code, stdout } = await home.run('completion', 'bash')
  assert.equal(code, 0)
  assert.match(stdout, /complete -o default -F _fairlead fairlead/)
  const folder = dirname(dirname(dirname(home.file)))
  mkdirSync(join(folder, '.fairlead'))
  writeFileSync(
    join(folder, '.fairlead/app.yml'),
    'application: shop\nservices:\n  web:\n    command: node server.js\n  worker: { command: node w.js }\nenv:\n  A: b\n',
  )
  assert.equal((await home.run('complete', '--', 'logs', '')).stdout, 'web\nworker\n')
  assert.equal((await home.run('complete', '--', 'logi')).stdout, 'login\n')
  for (const shell of ['zsh', 'fish']) assert.equal((await home.run('completion', shell)).code, 0)
})

type Respond = (status: number, body: string, headers?: Record<string, string>) => void

async function listen(
  t: TestContext,
  answer: (
    request: { url?: string; headers: { authorization?: string } },
    respond: Respond,
  ) => void,
): Promise<string> {
  const server = createServer((request, response) =>
    answer(request, (status, body, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
