/** Folders are uploaded by content, and become images that run. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { freePort } from '../../../support/free-port.ts'
import { toArchive, toManifest, uploadSource } from '../../../support/source-upload.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitFor } from '../../../support/wait-until.ts'
import { startLocalBuilds, type TestBuilds } from './support.ts'

let builds: TestBuilds
let last = 0

/** Prints what it would build, in place of one that needs base images of a registry. */
const buildah = `#!/bin/sh
echo "buildah $*"
for word; do
  case $last in --file) cat "$word" ;; --digestfile) echo sha256:0123 >"$word" ;; esac
  last=$word
done
`

async function buildImage(
  application: string,
  files: Readonly<Record<string, string>>,
  repository = '',
): Promise<{ build: JsonObject; log: string; sent: number }> {
  const url = builds.infra.backends.url('igor')
  const { source, sent } = await uploadSource(url, application, files)
  const version = `${++last}-abc1234`
  const build = await builds.build(
    encodeURI(`apps/${application}`),
    `source=${source}&version=${version}&commit=abc1234&repository=${repository}`,
  )
  const log = await builds.log(`apps/${application}`, build['number'])
  return { build, log, sent }
}

/** Folder of the image of a build that has succeeded. */
async function imageOf(
  application: string,
  files: Readonly<Record<string, string>>,
): Promise<{ folder: string; log: string; sent: number }> {
  const { build, log, sent } = await buildImage(application, files)
  assert.equal(build['result'], 'SUCCESS', `${String(build['reason'])}\n${log}`)
  const images = join(builds.infra.dataDir, 'images')
  const [newest = ''] = readdirSync(images)
    .filter((name) => !name.startsWith('.'))
    .map((name) => join(images, name))
    .sort((one, other) => statSync(other).birthtimeMs - statSync(one).birthtimeMs)
  return { folder: newest, log, sent }
}

/** Starts the image as an instance does: in a copy of its own. @returns its address */
async function run(t: { after(work: () => unknown): void }, folder: string): Promise<string> {
  const copy = createFolder('image')
  t.after(() => removeFolder(copy))
  cpSync(folder, copy, { recursive: true, verbatimSymlinks: true })
  const { command, environment } = JSON.parse(
    readFileSync(join(copy, 'fairlead-image.yml'), 'utf8'),
  ) as { command: string[]; environment: Record<string, string> }
  const port = await freePort()
  const { PATH = '' } = process.env
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: copy,
    env: { PATH, ...environment, PORT: String(port), HOST: '127.0.0.1' },
    stdio: 'inherit',
  })
  t.after(async () => {
    const ended = once(child, 'exit')
    if (child.kill('SIGKILL')) await ended
  })
  const address = `http://127.0.0.1:${port}`
  await waitFor(async () => {
    assert.equal(child.exitCode, null, 'it has ended')
    return (await fetch(address).catch(() => undefined))?.status
  }, 'the program of the image')
  return address
}

async function textOf(address: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await fetch(address, { headers })
  return `${answer.status} ${await answer.text()}`
}

const node = {
  'package.json': JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' } }),
  'server.js': `require('node:http').createServer((q, r) => r.end('one ' + process.env.NODE_ENV)).listen(process.env.PORT, process.env.HOST)`,
  'run.sh': '#!/bin/sh\n',
}

test('uploaded folders', async (t) => {
  const programs = createFolder('programs')
  t.after(() => removeFolder(programs))
  writeFileSync(join(programs, 'buildah'), buildah, { mode: 0o755 })
  writeFileSync(join(programs, 'cargo'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const variables = { PATH: `${programs}:${process.env['PATH']}` }
  builds = await startLocalBuilds(t, {
    settings: { readable: [programs] },
    local: { accounts: [{ name: 'local', variables, 'container-runtime': '/nowhere/podman' }] },
  })

  await t.test('app-scenario 37: unchanged content is not sent again', async (t) => {
    const first = await imageOf('shop', node)
    assert.equal(first.sent, 3)
    assert.equal(await textOf(await run(t, first.folder)), '200 one production')
    assert.equal((await imageOf('shop', { ...node, 'more.txt': 'x' })).sent, 1)
    assert.equal((await imageOf('shop', node)).sent, 0)
    assert.equal(
      (await imageOf('other', node)).sent,
      3,
      'another application has contents of its own',
    )
  })

  await t.test('hostile lists and archives are refused', async () => {
    const address = `${builds.infra.backends.url('igor')}/apps/shop/sources`
    const post = async (manifest: unknown) =>
      (await fetch(address, { method: 'POST', body: JSON.stringify(manifest) })).status
    const [file] = toManifest({ a: 'a' }).files
    for (const path of ['../a', '/a', 'a/../b', './a', 'a//b', '.fairlead/backends.db', 'a\\..\\b'])
      assert.equal(await post({ files: [{ ...file, path }] }), 400, path)
    for (const target of ['/etc/passwd', '../a', 'a/../../b', 'x/../a'])
      assert.equal(await post({ files: [file], links: [{ path: 'l', target }] }), 400, target)
    assert.equal(await post({ files: [file, file] }), 400, 'twice')
    assert.equal(await post({ files: [file, { ...file, path: 'a/b' }] }), 400, 'below a file')
    assert.equal(await post({ files: [file], links: [{ path: 'd/l', target: '../a' }] }), 200)
    assert.equal(await post({ files: [{ ...file, size: 600 * 1024 ** 2 }] }), 413)
    const answer = await fetch(address, {
      method: 'POST',
      body: JSON.stringify(toManifest({ b: 'one', c: 'two' })),
    })
    const { source } = (await answer.json()) as { source: string }
    const put = async (body: Buffer) =>
      (
        await fetch(`${address}/${source}`, {
          method: 'PUT',
          body: body as Uint8Array<ArrayBuffer>,
        })
      ).status
    assert.equal(await put(await toArchive(['three'])), 400, 'another content')
    assert.equal(await put(Buffer.from('no archive')), 400)
    assert.equal(await put((await toArchive(['one', 'two'])).subarray(0, 60)), 400, 'cut off')
    assert.equal(await put(await toArchive(['one'])), 200)
    assert.equal(await put(await toArchive(['two'])), 200)
  })

  await t.test('app-scenario 34, 81: a Go program runs', async (t) => {
    const { folder } = await imageOf('gopher', {
      'go.mod': 'module example.org/gopher\n\ngo 1.21\n',
      'cmd/web/main.go': `package main

import (
	"net"
	"os"
)

func main() {
	server, _ := net.Listen("tcp", os.Getenv("HOST")+":"+os.Getenv("PORT"))
	for {
		client, _ := server.Accept()
		client.Read(make([]byte, 4096))
		client.Write([]byte("HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: 7\\r\\n\\r\\nfrom Go"))
		client.Close()
	}
}
`,
    })
    assert.equal(await textOf(await run(t, folder)), '200 from Go')
  })

  await t.test('app-scenario 34, 82: pages have a server of their own', async (t) => {
    const { folder } = await imageOf('pages', {
      'public/index.html': '<h1>home</h1>',
      'public/404.html': 'gone',
      'public/docs/index.html': 'docs',
      'public/about.html': 'about',
      'public/.secret': 'hidden',
      'secret.txt': 'outside',
    })
    const address = await run(t, folder)
    assert.equal(await textOf(`${address}/`), '200 <h1>home</h1>')
    assert.equal(await textOf(`${address}/docs`), '200 docs', 'redirected')
    assert.equal(await textOf(`${address}/about`), '200 about')
    for (const path of ['/none', '/.secret', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '/%00'])
      assert.equal(await textOf(address + path), '404 gone', path)
    const { headers } = await fetch(address)
    const etag = headers.get('etag') ?? ''
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal((await fetch(address, { headers: { 'if-none-match': etag } })).status, 304)
    assert.equal(await textOf(address, { range: 'bytes=4-7' }), '206 home')
    assert.equal(await textOf(address, { range: 'bytes=-5' }), '206 </h1>')
    assert.equal((await fetch(address, { headers: { range: 'bytes=99-' } })).status, 416)
    assert.equal((await fetch(address, { method: 'POST' })).status, 405)
    const [missing = ''] = globSync('**/404.html', { cwd: folder })
    rmSync(join(folder, missing))
    const app = await run(t, folder)
    const browser = { accept: 'text/html,*/*' }
    assert.equal(await textOf(`${app}/users/7`, browser), '200 <h1>home</h1>')
    assert.equal(await textOf(`${app}/users/7`), '404 Not found\n')
    for (const path of ['/app.js', '/.secret', '/%00'])
      assert.equal(await textOf(app + path, browser), '404 Not found\n', path)
  })

  await t.test('app-scenario 77: a virtual environment runs where it is copied to', async (t) => {
    const files = {
      'requirements.txt': '',
      '.fairlead/app.yml':
        'application: snake\nservices: {web: {command: python3 -m http.server $PORT --bind 127.0.0.1}}\n',
      'page.html': 'python',
    }
    const { folder } = await imageOf('snake', files)
    const address = await run(t, folder)
    assert.equal(await textOf(`${address}/page.html`), '200 python')
    assert.equal(existsSync(join(folder, '.venv/bin/python3')), true)
    const again = await imageOf('snake', { ...files, 'page.html': 'changed' })
    assert.match(again.log, /\.venv is that of an earlier build/)
  })

  await t.test('a folder becomes an image of a registry', async () => {
    const repository = 'registry.example/shop'
    const { build, log } = await buildImage('shop', node, repository)
    assert.equal(build['result'], 'SUCCESS', log)
    assert.match(log, /FROM docker\.io\/library\/node:\d+-slim\n/)
    assert.match(
      log,
      /ENV NODE_ENV="production"\n[\s\S]*CMD \["sh","-c","exec node server\.js"\]\n/,
    )
    assert.match(log, /buildah push .* docker:\/\/registry\.example\/shop:\d+-abc1234\n/)
    const [artifact] = build['artifacts'] as JsonObject[]
    assert.match(
      String(artifact?.['reference']),
      /^registry\.example\/shop:\d+-abc1234@sha256:0123$/,
    )
    const files = {
      'deploy/Dockerfile': 'FROM scratch',
      '.fairlead/app.yml':
        'application: shop\nbuild: {dockerfile: deploy/Dockerfile}\nservices: {web: {}}\n',
    }
    const own = await buildImage('shop', files, repository)
    assert.equal(own.build['result'], 'SUCCESS', own.log)
    assert.match(own.log, /--file \S+\/deploy\/Dockerfile [\s\S]*FROM scratch/)
  })

  for (const [name, files, problem] of [
    [
      'app-scenario 73: Dockerfile',
      { Dockerfile: 'FROM scratch' },
      /^Dockerfile is built .*is not installed\. Install it \(apt-get install podman/,
    ],
    [
      'app-scenario 75: two locks',
      { 'package.json': '{}', 'yarn.lock': '', 'package-lock.json': '{}' },
      /yarn\.lock and package-lock\.json/,
    ],
    [
      'app-scenario 76: no start',
      { 'package.json': '{"name":"x"}', 'lib.js': '' },
      /how the app is started: package\.json has no script "start"/,
    ],
    [
      'app-scenario 81: two commands',
      { 'go.mod': 'module a', 'cmd/a/a.go': 'package main', 'cmd/b/b.go': 'package main' },
      /several programs: cmd\/a, cmd\/b/,
    ],
    ['app-scenario 83: Ruby', { Gemfile: '' }, /Not detected\. Add a Dockerfile/],
    [
      'app-scenario 85: Node',
      { ...node, 'package.json': '{"engines":{"node":">=99"},"main":"server.js"}' },
      /wants Node >=99 \(engines\.node\), and this machine has \d+\.\d+.* build: \{ node: VERSION \}/,
    ],
    [
      'a Cargo that needs the home of a user',
      { 'Cargo.toml': '[package]\nname = "x"\n', 'Cargo.lock': '', 'src/main.rs': '' },
      /does not run in builds.*\/cargo\)\. .*RUSTUP_HOME/,
    ],
  ] as const) {
    await t.test(`${name} fails with a remedy`, async () => {
      const { build } = await buildImage('failing', files)
      assert.equal(build['result'], 'FAILURE')
      assert.match(String(build['reason']), problem)
    })
  }

  await t.test('app-scenario 40: a failing step shows its lines', async () => {
    const { build, log } = await buildImage('failing', {
      '.fairlead/app.yml':
        'application: failing\nbuild: {steps: ["echo before; exit 3"]}\nservices: {web: {command: sh}}\n',
    })
    assert.equal(build['result'], 'FAILURE')
    assert.match(log, /before[\s\S]*exit code 3/)
  })

  await t.test('sources beyond those that are kept are swept', async () => {
    for (let index = 0; index < 12; index++)
      await uploadSource(builds.infra.backends.url('igor'), 'swept', { a: String(index) })
    const folder = join(builds.infra.dataDir, 'builds/sources/swept')
    assert.equal(readdirSync(join(folder, 'manifests')).length, 10)
    assert.equal(readdirSync(join(folder, 'contents')).length, 10)
  })
})
