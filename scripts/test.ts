/**
 * The whole check behind `npm test`: types, lint, and every `test/**\/*.test.ts`. The last line counts the results.
 *
 * With patterns (`npm test -- sessions saml`) only the test files whose path contains one of them run, without the checks.
 */
import { fork, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { buildPackage, bundle } from './build.ts'
import type { Report } from './run-test-files.ts'

interface Results {
  passed: number
  failed: number
  skipped: number
}

interface FileResults extends Results {
  ms: number
  processorMs: number
  notes: string[]
}

const root = resolve(import.meta.dirname, '..')
/** Processes at a time; most tests wait for timers and sockets, so two cores carry three. */
const concurrency = 3
const filesPerProcess = 100
/** A process without results for longer has a handle that it does not close, or waits for something that never comes. */
const processTimeoutMs = 1_800_000
const cache = resolve(root, 'node_modules/.cache')
const bundleMaxAgeMs = 3_600_000
/** What tests start and kill besides Fairlead, without `.ts`. */
const testPrograms = ['audit/writer', 'backends/definitions/writer', 'backends/orchestration/engine-process', 'sessions/writer']
/** Compiled modules are shared by all test files, and by the processes and threads that they start. */
process.env['NODE_COMPILE_CACHE'] ??= join(cache, 'compiled')

/** Files of tests are in memory where they can be: syncing them to a disk takes a seventh of the processor time. */
const memory = '/dev/shm'
if (process.env['TMPDIR'] === undefined && isRoomy(memory)) process.env['TMPDIR'] = memory

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1

/** Containers often have 64 MB there, and let no program start from it. */
function isRoomy(folder: string): boolean {
  if (process.platform !== 'linux' || !existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === folder)
  return bavail * bsize > 4 * 1024 ** 3 && mount !== undefined && !/\b(?:noexec|ro)\b/.test(mount)
}

async function main(patterns: string[]): Promise<boolean> {
  const whole = patterns.length === 0
  const results: Results = { passed: 0, failed: 0, skipped: 0 }
  const files = globSync('test/**/*.test.ts', { cwd: root })
    .filter((file) => whole || patterns.some((pattern) => file.includes(pattern)))
    .sort()
  if (whole) {
    installPackages()
    // With threads the compiler checks much twice.
    await runCheck('types', ['tsc', '--noEmit', '--singleThreaded'], results)
    await runCheck('types of the console', ['tsc', '--noEmit', '--singleThreaded', '-p', 'console'], results)
    await runCheck('lint', ['biome', 'ci', '--colors=off'], results)
  }
  process.env['TESTED_BUNDLE'] = await bundleProgram()
  const tests = files.length === 0 ? 0 : await runTests(files, results)
  if (tests === 0) {
    results.failed += 1
    console.log(`✗ no test ran in ${files.length} files`)
  }
  console.log(`\n${results.passed} passed, ${results.failed} failed, ${results.skipped} skipped`)
  return results.failed === 0
}

/** A failed installation does not stop the run: the tests that need the packages say so themselves. */
function installPackages(): void {
  if (process.platform === 'linux') spawnSync('bash', ['scripts/install-test-packages.sh'], { cwd: root, stdio: 'inherit' })
}

/**
 * Bundles the program for the tests that start it as a process, for less than half of the processor time of its sources.
 *
 * @returns a folder that is named by its content, so that runs side by side do not disturb each other
 */
async function bundleProgram(): Promise<string> {
  mkdirSync(cache, { recursive: true })
  const fresh = join(cache, `bundle-${process.pid}`)
  await buildPackage(join(fresh, 'dist'))
  await bundle(Object.fromEntries(testPrograms.map((name) => [name, `test/${name}.ts`])), join(fresh, 'test'))
  cpSync(join(root, 'package.json'), join(fresh, 'package.json'))
  const hash = createHash('sha256')
  for (const file of globSync('**/*.{js,json}', { cwd: fresh }).sort()) hash.update(file).update(readFileSync(join(fresh, file)))
  const folder = join(cache, `bundle-${hash.digest('hex').slice(0, 16)}`)
  for (const old of globSync('bundle-*', { cwd: cache }).map((name) => join(cache, name))) {
    if (old !== folder && Date.now() - statSync(old).mtimeMs > bundleMaxAgeMs) rmSync(old, { recursive: true, force: true })
  }
  if (existsSync(folder)) {
    rmSync(fresh, { recursive: true })
  } else {
    renameSync(fresh, folder)
    await warmUp(folder)
  }
  return folder
}

/**
 * Serves once with every back end embedded. The first process to end decides which functions the cache of compiled modules holds;
 * one that had done less would leave the others to compile the rest, each time anew.
 */
async function warmUp(bundle: string): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'fairlead-warm-up-'))
  const env = { ...process.env, HOME: home, SERVER_PORT: '0', SERVER_DRAINMS: '0', FAIRLEAD_DATA_DIR: join(home, 'data') }
  const child = spawn(process.execPath, [join(bundle, 'dist/fairlead.js'), 'serve'], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'close')
  let output = ''
  for await (const chunk of child.stdout) {
    output += String(chunk)
    const [, port] = /listening on https?:\/\/[^\s,"]+:(\d+)/.exec(output) ?? []
    if (port === undefined || child.killed) continue
    for (const path of ['health', 'applications', 'v2/api-docs']) await fetch(`http://127.0.0.1:${port}/${path}`).catch(() => {})
    child.kill('SIGTERM')
  }
  await ended
  rmSync(home, { recursive: true, force: true })
}

/** Runs a tool of the project; its output is shown when it fails. */
async function runCheck(name: string, [tool = '', ...args]: string[], results: Results): Promise<void> {
  const startedAt = performance.now()
  const child = spawn(resolve(root, 'node_modules/.bin', tool), args, { cwd: root })
  const output: Buffer[] = []
  child.stdout.on('data', (chunk) => output.push(chunk))
  child.stderr.on('data', (chunk) => output.push(chunk))
  const passed = await new Promise<boolean>((done) => {
    child.on('error', () => done(false))
    child.on('close', (code) => done(code === 0))
  })
  results[passed ? 'passed' : 'failed'] += 1
  console.log(`${passed ? '✓' : '✗'} ${name} (${seconds(performance.now() - startedAt)})`)
  if (!passed) console.log(Buffer.concat(output).toString())
}

/** Runs the test files, a line for each, and returns how many tests ran. Failures are shown in full at the end. */
async function runTests(files: string[], results: Results): Promise<number> {
  const failures: string[] = []
  const before = results.passed + results.failed
  const count = Math.max(Math.min(files.length, concurrency), Math.ceil(files.length / filesPerProcess))
  // Neighbours go to different processes: the dear files of one folder are spread over the run.
  const inBrowser = files.filter(usesBrowser)
  const others = files.filter((file) => !inBrowser.includes(file))
  const batches = Array.from({ length: count }, (_, index) => others.filter((_file, at) => at % count === index))
  // One process starts the one browser, and first: those of a browser wait much, and at the end there would be nothing beside them.
  batches.unshift(inBrowser)
  const work = async () => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      if (batch.length > 0) await runBatch(batch, results, failures)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  for (const failure of failures) console.log(`\n${'─'.repeat(100)}\n${failure}`)
  return results.passed + results.failed - before
}

function usesBrowser(file: string): boolean {
  return readFileSync(join(root, file), 'utf8').includes('support/chromium.ts')
}

/** Runs files in a process, which is ended when no test ends for `processTimeoutMs`. */
async function runBatch(files: string[], results: Results, failures: string[]): Promise<void> {
  const found = new Map(
    files.map((file) => [file, { passed: 0, failed: 0, skipped: 0, ms: 0, processorMs: 0, notes: [] as string[] }]),
  )
  const messages: string[] = []
  const child = fork(
    resolve(import.meta.dirname, 'run-test-files.ts'),
    files.map((file) => resolve(root, file)),
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  )
  const output: Buffer[] = []
  child.stdout?.on('data', (chunk) => output.push(chunk))
  child.stderr?.on('data', (chunk) => output.push(chunk))
  const timeout = setTimeout(() => {
    messages.push(`✗ ${files.join(', ')}: no test ended for ${seconds(processTimeoutMs)}: a handle stays open, or a test waits.`)
    child.kill('SIGKILL')
  }, processTimeoutMs)
  const finished = new Set<string>()
  let running = ''
  child.on('message', (message: Report) => {
    timeout.refresh()
    const name = relative(root, message.file)
    const file = found.get(name)
    if (message.kind === 'failed') messages.push(message.message.replace(`${root}/`, ''))
    if (file === undefined) return
    if (finished.has(name)) {
      if (message.kind !== 'note') results[message.kind] += 1
      return
    }
    // Files run one after the other: the first result of a file is the end of the one before.
    const before = found.get(running)
    if (name !== running && before !== undefined) report(running, before, results)
    if (name !== running) finished.add(running)
    running = name
    if (message.kind === 'note') return void file.notes.push(message.text)
    file[message.kind] += 1
    file.ms += message.ms
    file.processorMs += message.processorMs
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(timeout)

  const missing = files.filter((name) => hasNoResult(found.get(name)))
  // An uncaught error has ended the process: what it has not begun is not to blame.
  const left = signal === null && missing.length < files.length ? missing : []
  for (const name of missing) {
    if (left.includes(name)) found.delete(name)
    else messages.push(`✗ ${name}: no test ran`)
    const file = found.get(name)
    if (file !== undefined) file.failed = 1
  }
  if (code !== 0 && [...found.values()].every(({ failed }) => failed === 0)) {
    results.failed += 1
    messages.push(`✗ the process that ran ${files.join(', ')} ended with ${code ?? signal}`)
  }
  if (messages.length > 0) {
    const text = Buffer.concat(output).toString()
    failures.push(`${messages.join('\n\n')}${text === '' ? '' : `\n\nOutput of ${files.join(', ')}\n\n${text}`}`)
  }
  for (const [name, file] of found) if (!finished.has(name)) report(name, file, results)
  if (left.length > 0) await runBatch(left, results, failures)
}

function hasNoResult(file: FileResults | undefined): boolean {
  return file === undefined || file.passed + file.failed + file.skipped === 0
}

function report(name: string, file: FileResults, results: Results): void {
  const parts = [`${file.passed} passed`]
  for (const key of ['passed', 'failed', 'skipped'] as const) {
    results[key] += file[key]
    if (key !== 'passed' && file[key] > 0) parts.push(`${file[key]} ${key}`)
  }
  console.log(
    `${file.failed > 0 ? '✗' : '✓'} ${name} (${parts.join(', ')}, ${seconds(file.ms)}, processor ${seconds(file.processorMs)})`,
  )
  for (const note of file.notes) console.log(`    ${note}`)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
