/** `deploy` in a folder, against an instance that builds it and deploys it to this machine. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { listFolder } from '../../packages/cli/deploy/folder.ts'
import { findRemedy } from '../../packages/cli/deploy/remedies.ts'
import { withRevision } from '../../packages/cli/deploy/upload.ts'
import { type CliRun, runCli } from '../support/cli.ts'
import { startDeployments } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

function folderOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = createFolder('app')
  t.after(() => removeFolder(folder))
  write(folder, files)
  return folder
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function git(folder: string, ...args: readonly string[]): void {
  const identity = ['-c', 'user.name=dev', '-c', 'user.email=dev@example.org']
  execFileSync('git', [...identity, ...args], { cwd: folder, stdio: 'ignore' })
}

const pathsOf = async (folder: string) => (await listFolder(folder)).files.map(({ path }) => path)

const mixed = {
  '.gitignore': 'ignored.txt\nout/\n',
  '.fairleadignore': 'docs/\n',
  '.fairlead/app.yml': 'application: shop',
  '.fairlead/backends.db': 'data',
  '.env': 'SECRET=1',
  '.env.local': 'SECRET=2',
  'docs/page.txt': 'page',
  'ignored.txt': 'no',
  'node_modules/x/index.js': 'no',
  'out/built.js': 'no',
  'server.js': 'yes',
  'sub/.gitignore': '*.log\n',
  'sub/a.log': 'no',
  'sub/a.txt': 'yes',
}
const sent = [
  '.fairlead/app.yml',
  '.fairleadignore',
  '.gitignore',
  'server.js',
  'sub/.gitignore',
  'sub/a.txt',
]

test('app-scenario 38: ignored files and secrets are never sent', async (t) => {
  const folder = folderOf(t, mixed)
  assert.deepEqual(await pathsOf(folder), sent, 'without Git')
  git(folder, 'init', '--quiet')
  git(folder, 'add', 'server.js')
  assert.deepEqual(await pathsOf(folder), sent, 'untracked files as well')
})

test('files of submodules and of repositories in the folder are sent', async (t) => {
  const module = folderOf(t, { 'x.js': 'x' })
  const folder = folderOf(t, { 'server.js': 'y', 'other/z.js': 'z' })
  for (const each of [module, join(folder, 'other'), folder]) git(each, 'init', '--quiet')
  git(module, 'add', '.')
  git(module, 'commit', '--message', 'a module')
  git(folder, '-c', 'protocol.file.allow=always', 'submodule', 'add', module, 'sub')
  git(folder, 'commit', '--message', 'a submodule')
  const all = ['.gitmodules', 'other/z.js', 'server.js', 'sub/x.js']
  assert.deepEqual(await pathsOf(folder), all)
  assert.deepEqual(await withRevision(folder, 'HEAD', pathsOf), ['.gitmodules', 'sub/x.js'])
  git(folder, 'submodule', 'deinit', '--force', 'sub')
  const advice = /sub is a submodule of Git without its files/
  await assert.rejects(pathsOf(folder), { exit: 3, message: advice })
  await assert.rejects(withRevision(folder, 'HEAD', pathsOf), { exit: 3, message: advice })
  writeFileSync(join(folder, '.fairleadignore'), 'sub/\n')
  const rest = ['.fairleadignore', '.gitmodules', 'other/z.js', 'server.js']
  assert.deepEqual(await pathsOf(folder), rest)
})

test('app-scenario 39: links out of the folder and large folders are errors', async (t) => {
  const folder = folderOf(t, { 'a.txt': 'a', 'd/b.txt': 'b' })
  symlinkSync('../a.txt', join(folder, 'd/in'))
  assert.deepEqual((await listFolder(folder)).links, [{ path: 'd/in', target: '../a.txt' }])
  symlinkSync('/etc/passwd', join(folder, 'out'))
  await assert.rejects(listFolder(folder), { exit: 3, message: /out is a link to \/etc\/passwd/ })
  const large = folderOf(t, { 'a.txt': 'a' })
  execFileSync('truncate', ['--size=600M', join(large, 'big.bin')])
  await assert.rejects(listFolder(large), { exit: 3, message: /big\.bin \(600 MiB\)/ })
})

for (const [reason, remedy] of [
  ['The program "gunicorn" was not found: it is neither in …', /"gunicorn" is not in the image/],
  ['It ended with exit code 127: …. Its output: exec: nodde: not found; ', /"nodde" is not in/],
  ['exit code 127: …. Its output: sh: 1: exec: ./start.sh: not found', /"\.\/start\.sh" .*CRLF/],
  [
    "exit code 1. Its output: Error: Cannot find module '@my/ui'",
    /"@my\/ui" .*without build\.from/,
  ],
  ["ModuleNotFoundError: No module named 'flask.views'", /"flask" is not in the image/],
  ['exit code 126: …. Its output: exec: ./start.sh: Permission denied', /chmod \+x/],
  [
    'It did not become ready within 60s: nothing listens on port 15507; it listens on port 3000 instead. Its output: room not found',
    /PORT, which was 15507; it opened 3000/,
  ],
  [
    'nothing listens on port 7001; it listens there on another address than 127.0.0.1, the value of HOST.',
    /the variable HOST/,
  ],
  [
    'It did not become ready within 20 s: nothing in its container listens on the value of PORT.',
    /on all addresses; or write its own port as "port"/,
  ],
  ['GET /health on port 7001 answered with status 400', /\/health answered 400 with "Host: shop/],
  ['GET /up on port 7001 answered with status 404', /let it answer 200, or name another path/],
  ['Its output: listen EADDRINUSE: address already in use :::80', /the port in the variable PORT/],
  ['It needed more memory than its limit of 64 MiB, and the system ended it.', /Raise "memory"/],
] as const) {
  test(`the reason ${reason.slice(0, 30)} has a remedy`, () => {
    assert.match(findRemedy(reason, { step: 'Deploy web', host: 'shop.example' }) ?? '', remedy)
  })
}

test('a build that cannot fetch names what the account needs', () => {
  const remedy = (reason: string, step = 'Build 1-folder') => findRemedy(reason, { step }) ?? ''
  assert.match(remedy('npm error code SELF_SIGNED_CERT_IN_CHAIN'), /"ca-file" of the account/)
  assert.match(remedy('getaddrinfo ENOTFOUND registry.npmjs.org'), /"proxy" of the account/)
  assert.doesNotMatch(remedy('getaddrinfo ENOTFOUND db; exit code 1', 'Deploy web'), /proxy/)
})

/** The users of the instance come from a proxy: it takes their tokens for their names. */
async function startProxy(t: TestContext, target: string): Promise<string> {
  const server = createServer((request, response) => {
    const { authorization = '', ...headers } = request.headers
    const passed = httpRequest(`${target}${request.url}`, {
      method: request.method,
      headers: { ...headers, 'x-spinnaker-user': authorization.slice('Bearer '.length) },
    })
    passed.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const program = (text: string) => `
const server = require('node:http').createServer((request, response) => {
  if (request.url === '/end') process.exit(3)
  response.end('${text}')
})
server.listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

test('deploy', async (t) => {
  const port = await freePort()
  const front = { http: port, https: await freePort() }
  const fairlead = await startDeployments(t, { hasThread: true, front })
  const folder = folderOf(t, {
    '.fairlead/app.yml': `application: site\naccount: dev\nservices:\n  web: { hosts: [site.example], health: { path: /, start: 10s } }\n`,
    'package.json': JSON.stringify({ name: 'site', scripts: { start: 'node server.js' } }),
    'server.js': program('one'),
  })
  const home = folderOf(t, {})
  const env = {
    HOME: home,
    FAIRLEAD_URL: await startProxy(t, fairlead.url()),
    FAIRLEAD_TOKEN: 'alice',
  }
  const cli = (...args: string[]): Promise<CliRun> => runCli(args, { env, cwd: folder })
  const page = async (path = '/') => {
    const headers = { host: 'site.example' }
    const request = httpRequest({ host: '127.0.0.1', port, path, headers, agent: false }).end()
    const [answer] = (await once(request, 'response')) as [IncomingMessage]
    return (await answer.setEncoding('utf8').toArray()).join('')
  }

  await t.test('a port that another program has is named until it is free', async (t) => {
    const other = createServer().listen(port, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    const shut = folderOf(t, {
      '.fairlead/app.yml': `application: shut\naccount: dev\nservices:\n  web: { hosts: [shut.example], health: { path: /, start: 10s } }\n`,
      'package.json': JSON.stringify({ name: 'shut', scripts: { start: 'node server.js' } }),
      'server.js': program('shut'),
    })
    const cause = new RegExp(`Port ${port} is in use by another program.*front\\.http`)
    const first = await runCli(['deploy'], { env, cwd: shut })
    assert.equal(first.code, 3, first.stderr)
    assert.match(first.stderr, cause)
    const second = await runCli(['deploy'], { env, cwd: shut })
    assert.equal(second.code, 1, second.stderr)
    assert.match(
      second.stderr,
      /^Error: shut 1-folder runs in production, but clients cannot reach it/m,
    )
    assert.match(second.stderr, cause)
    assert.doesNotMatch(second.stderr, /Edited elsewhere/)
  })

  await t.test(
    'app-scenario 34, 48: the folder serves; without a terminal, lines are plain',
    async () => {
      const { code, stdout, stderr } = await cli('deploy')
      assert.equal(code, 0, stderr)
      assert.match(stdout, /http:\/\/site\.example:\d+ serves 1-folder after/)
      assert.match(stderr, /Sent 3 of 3 files/)
      assert.ok(!(stderr + stdout).includes('\u001b['), 'no codes of terminals')
      assert.equal(await page(), 'one')
    },
  )

  await t.test(
    'app-scenario 36: a changed file is deployed under load without a loss',
    async () => {
      write(folder, { 'server.js': program('two') })
      let isOver = false
      const texts = new Set<string>()
      const load = (async () => {
        for (; !isOver; await sleep(10)) texts.add(await page())
      })()
      const { code, stderr } = await cli('deploy', '--output', 'json')
      isOver = true
      await load
      assert.equal(code, 0, stderr)
      assert.equal(await page(), 'two')
      texts.add('two')
      assert.deepEqual([...texts].sort(), ['one', 'two'])
    },
  )

  await t.test('status says what was started again, and why', async () => {
    // The front repeats it at the next start.
    await page('/end')
    await waitUntil(async () => {
      const { stdout } = await cli('status')
      return /^web: It was started again .*It ended with exit code 3/m.test(stdout)
    }, 'the reason')
    await waitUntil(async () => (await page()) === 'two', 'the program')
  })

  await t.test('app-scenario 40, 41: what fails keeps the old version and says why', async () => {
    write(folder, { 'server.js': `console.log('cannot open the database')\nprocess.exit(4)\n` })
    const { code, stderr } = await cli('deploy')
    assert.equal(code, 1, stderr)
    assert.match(stderr, /exit code 4/)
    assert.match(stderr, /cannot open the database/)
    assert.equal(await page(), 'two')
    write(folder, {
      'package.json': '{"scripts":{"build":"echo compiling; exit 3","start":"node server.js"}}',
    })
    const broken = await cli('deploy')
    assert.equal(broken.code, 1)
    assert.match(broken.stderr, /compiling/)
    assert.equal(await page(), 'two')
  })
})
