/** The container image: built by buildah on a base of this machine's own files, run read-only and without rights. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { buildPackage } from '../scripts/build.ts'
import { needs } from './support/debian.ts'
import { freePort } from './support/free-port.ts'
import { waitUntil } from './support/wait-until.ts'

const root = resolve(import.meta.dirname, '..')
const run = promisify(execFile)
/** What the Containerfile runs, and what deployments on the machine of a container need. */
const tools =
  'sh env mkdir chown chmod ln rm cp cat tar find du ls head sed gzip id wc tr timeout'.split(' ')

/** Programs with the libraries that they load. */
async function writeBase(folder: string): Promise<void> {
  for (const name of ['lib', 'lib64', 'bin', 'sbin'])
    mkdirSync(join(folder, 'usr', name), { recursive: true })
  const script =
    'cd "$1" && ln -s usr/lib usr/lib64 usr/bin usr/sbin . && mkdir -p -m 1777 tmp && mkdir -p usr/local/bin etc proc dev var/lib opt && ' +
    'cp -L "$2" usr/local/bin/node && shift 2 && for tool in "$@"; do cp -L "$(command -v "$tool")" usr/bin/; done; ' +
    'for file in usr/bin/* usr/local/bin/node; do ldd "$file"; done 2>/dev/null | grep -o "/[^ ]*" | sort -u | ' +
    'while read -r library; do mkdir -p "./$(dirname "$library")" && cp -L "$library" "./$library"; done'
  await run('bash', ['-c', script, 'bash', folder, process.execPath, ...tools])
}

/** The folder that the first stage of the Containerfile leaves, which needs npm's registry otherwise. */
async function writeBuilt(folder: string): Promise<void> {
  const dist = join(folder, 'fairlead/dist')
  const bundle = process.env['TESTED_BUNDLE']
  if (bundle === undefined) await buildPackage(dist)
  else cpSync(join(bundle, 'dist'), dist, { recursive: true, dereference: true })
}

test('the image serves as a user without rights, on a read-only file system', async (t) => {
  const buildah = needs(t, 'buildah')
  if (buildah === undefined) return
  if (process.getuid?.() !== 0) return t.skip('only root can mount the image')
  // The image is too large for a temporary folder in memory.
  const folder = mkdtempSync('/var/tmp/fairlead-container-')
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const storage = [
    '--root',
    join(folder, 'storage'),
    '--runroot',
    join(folder, 'run'),
    '--storage-driver',
    'vfs',
  ]
  const build = async (...words: string[]) =>
    (await run(buildah, [...storage, ...words], { cwd: root })).stdout.trim()
  const [base, built] = [join(folder, 'base'), join(folder, 'built')]
  await Promise.all([writeBase(base), writeBuilt(built)])
  const scratch = await build('from', 'scratch')
  await build('copy', '--quiet', scratch, base, '/')
  await build('commit', '--quiet', scratch, 'localhost/node')
  const given = ['--build-arg', 'BASE=localhost/node', '--build-context', `built=${built}`]
  await build(
    'build',
    '--isolation',
    'chroot',
    '--format',
    'docker',
    ...given,
    '--file',
    'Containerfile',
    '--tag',
    'fairlead',
    '.',
  )
  const container = await build('from', 'fairlead')
  const mount = await build('mount', container)

  await t.test('it says how to run it', async () => {
    const { Docker } = JSON.parse(await build('inspect', '--type', 'image', 'fairlead')) as {
      Docker: { config: Record<string, unknown> }
    }
    const { User, Entrypoint, Cmd, StopSignal, Volumes, ExposedPorts, Healthcheck } = Docker.config
    assert.deepEqual(
      { User, Entrypoint, Cmd, StopSignal, Volumes, ExposedPorts },
      {
        User: '10001:0',
        Entrypoint: ['fairlead'],
        Cmd: ['serve'],
        StopSignal: 'SIGTERM',
        Volumes: { '/var/lib/fairlead': {} },
        ExposedPorts: { '8084/tcp': {} },
      },
    )
    assert.deepEqual((Healthcheck as { Test: unknown }).Test, ['CMD', 'fairlead', 'health'])
  })

  await t.test('it has the compiled code of a start', () => {
    const [folder = ''] = readdirSync(join(mount, 'opt/fairlead/compiled'))
    // Of both threads.
    assert.ok(readdirSync(join(mount, 'opt/fairlead/compiled', folder)).length > 40)
    assert.ok(!existsSync(join(mount, 'tmp/start')))
  })

  await t.test('it lists what it consists of', () => {
    const bill = JSON.parse(
      readFileSync(join(mount, 'opt/fairlead/dist/sbom.cdx.json'), 'utf8'),
    ) as {
      components: { name: string; version: string; purl: string }[]
    }
    const { version } = JSON.parse(
      readFileSync(join(root, 'node_modules/undici/package.json'), 'utf8'),
    ) as { version: string }
    assert.equal(
      bill.components.find(({ name }) => name === 'undici')?.purl,
      `pkg:npm/undici@${version}`,
    )
    assert.ok(!existsSync(join(mount, 'opt/fairlead/node_modules')))
  })

  await t.test('it starts, answers its health check, and ends with SIGTERM', async (t) => {
    const port = await freePort()
    const started = startContained(t, mount, port)
    await waitUntil(
      async () =>
        (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200,
      () => `the container: ${started.output()}`,
    )
    const pid = started.firstProcess()
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    assert.match(status, /^Uid:\t10001\t10001\t/m)
    assert.match(status, /^NSpid:\t\d+\t1$/m)
    assert.match(status, /^CapEff:\t0+$/m)
    const inside = (...words: string[]) =>
      run('nsenter', [
        `--target=${pid}`,
        '--mount',
        '--pid',
        '--root',
        '--wd',
        'env',
        `SERVER_PORT=${port}`,
        ...environment,
        ...words,
      ])
    assert.equal(
      (await inside('fairlead', 'health', '--ready')).stdout,
      `http://127.0.0.1:${port} answers with 200.\n`,
    )
    await assert.rejects(inside('sh', '-c', 'echo > /opt/fairlead/new'), /Read-only file system/)
    await assert.rejects(
      inside('env', 'SERVER_PORT=1', 'fairlead', 'health'),
      /127\.0\.0\.1:1 does not answer \(ECONNREFUSED\)/,
    )
    process.kill(pid, 'SIGTERM')
    assert.deepEqual(await started.ended, { code: 0, signal: null }, started.output())
  })
})

/** As the image sets them. */
const environment = [
  'NODE_ENV=production',
  'HOME=/var/lib/fairlead',
  'FAIRLEAD_DATA_DIR=/var/lib/fairlead',
  'NODE_OPTIONS=--max-semi-space-size=16',
  'MALLOC_MMAP_THRESHOLD_=131072',
  'NODE_COMPILE_CACHE=/opt/fairlead/compiled',
]

/** The image's program as the first process of its own process and mount namespaces; its data directory is in memory. */
function startContained(t: TestContext, mount: string, port: number) {
  const script =
    'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/tmp" && ' +
    'mount -t tmpfs -o mode=0770,uid=10001,gid=0 tmpfs "$1/var/lib/fairlead" && mount --rbind /dev "$1/dev" && ' +
    'exec chroot --userspec=10001:0 "$1" env -i -C /var/lib/fairlead "PATH=/usr/local/bin:/usr/bin" "SERVER_PORT=$2" SERVER_ADDRESS=127.0.0.1 ' +
    `${environment.join(' ')} fairlead serve`
  const child = spawn('unshare', [
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    'sh',
    '-c',
    script,
    'sh',
    mount,
    String(port),
  ])
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => {
      said += piece.toString()
    })
  }
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((done) => {
    child.once('close', (code, signal) => done({ code, signal }))
  })
  /** With it, every process of the namespace ends. */
  const firstProcess = () =>
    Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')[0])
  t.after(async () => {
    if (child.exitCode === null) process.kill(firstProcess(), 'SIGKILL')
    await ended
  })
  return { output: () => said, ended, firstProcess }
}
