/**
 * The check behind `npm test`: types, lint, and every `test/**\/*.test.ts`, or the short run (`test-plan.ts`). The last line counts the results.
 *
 * With patterns (`npm test -- sessions saml`) only the test files whose path contains one of them run, without the checks.
 */
import { spawn } from 'node:child_process'
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
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildPackage, bundle } from './build.ts'
import { planRun } from './test-plan.ts'
import { type Results, runTests, seconds } from './test-processes.ts'

const root = resolve(import.meta.dirname, '..')
const cache = resolve(root, 'node_modules/.cache')
const bundleMaxAgeMs = 3_600_000
/** What the checks printed that failed. */
const failures: string[] = []
/** What tests start and kill besides Fairlead, without `.ts`. */
const testPrograms = [
  'audit/writer',
  'backends/definitions/writer',
  'backends/events/polling-process',
  'backends/infrastructure/certificates/certificates-process',
  'backends/notifications/notifying-process',
  'backends/orchestration/engine-process',
  'sessions/writer',
]
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
  const isNamed = patterns.length > 0
  const found = globSync('test/**/*.test.ts', { cwd: root })
    .filter((file) => !isNamed || patterns.some((pattern) => file.includes(pattern)))
    .sort()
  const plan = isNamed ? { files: found, announcement: '', omission: '' } : planRun(found)
  if (plan.announcement !== '') console.log(`${plan.announcement}\n`)
  const checks: Results = { passed: 0, failed: 0, skipped: 0 }
  const checked = isNamed ? undefined : runChecks(checks)
  process.env['TESTED_BUNDLE'] = await bundleProgram()
  const tests = await runTests(plan.files)
  await checked
  if (tests.passed + tests.failed === 0) {
    checks.failed += 1
    console.log(`✗ no test ran in ${plan.files.length} files`)
  }
  const failed = checks.failed + tests.failed
  for (const failure of failures) console.log(`\n${failure}`)
  if (plan.omission !== '') console.log(`\n${plan.omission}`)
  console.log(
    `\n${checks.passed + tests.passed} passed, ${failed} failed, ${tests.skipped} skipped`,
  )
  return failed === 0
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
  await bundle(
    Object.fromEntries(testPrograms.map((name) => [name, `test/${name}.ts`])),
    join(fresh, 'test'),
  )
  cpSync(join(root, 'package.json'), join(fresh, 'package.json'))
  const hash = createHash('sha256')
  for (const file of globSync('**/*.{js,json}', { cwd: fresh }).sort())
    hash.update(file).update(readFileSync(join(fresh, file)))
  const folder = join(cache, `bundle-${hash.digest('hex').slice(0, 16)}`)
  for (const old of globSync('bundle-*', { cwd: cache }).map((name) => join(cache, name))) {
    if (old !== folder && isLeft(old)) rmSync(old, { recursive: true, force: true })
  }
  const isNew = !existsSync(folder)
  if (isNew) renameSync(fresh, folder)
  else rmSync(fresh, { recursive: true })
  hold(folder)
  setInterval(() => hold(folder), bundleMaxAgeMs / 6).unref()
  if (isNew) await warmUp(folder)
  return folder
}

/** Whether no run has held it for long. */
function isLeft(bundle: string): boolean {
  const { mtimeMs } = statSync(bundle, { throwIfNoEntry: false }) ?? {}
  return mtimeMs !== undefined && Date.now() - mtimeMs > bundleMaxAgeMs
}

/** Other runs remove what is old, and this one may take longer. */
function hold(bundle: string): void {
  const now = new Date()
  utimesSync(bundle, now, now)
}

/**
 * Serves once with every back end embedded: tests that begin side by side find a full cache of compiled modules.
 */
async function warmUp(bundle: string): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'fairlead-warm-up-'))
  const env = {
    ...process.env,
    HOME: home,
    SERVER_PORT: '0',
    SERVER_DRAINMS: '0',
    FAIRLEAD_DATA_DIR: join(home, 'data'),
  }
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
    for (const path of ['health', 'applications', 'v2/api-docs'])
      await fetch(`http://127.0.0.1:${port}/${path}`).catch(() => {})
    child.kill('SIGTERM')
  }
  await ended
  rmSync(home, { recursive: true, force: true })
}

/** Beside the tests, one after the other. */
async function runChecks(results: Results): Promise<void> {
  // With threads the compiler checks much twice.
  await runCheck('types', ['tsc', '--noEmit', '--singleThreaded'], results)
  await runCheck(
    'types of the console',
    ['tsc', '--noEmit', '--singleThreaded', '-p', 'console'],
    results,
  )
  await runCheck('lint', ['biome', 'ci', '--colors=off'], results)
}

/** Runs a tool of the project; its output is shown at the end when it fails. */
async function runCheck(
  name: string,
  [tool = '', ...args]: string[],
  results: Results,
): Promise<void> {
  const startedAt = performance.now()
  // The compiler would spend half of its time on collecting memory; it takes 1.6 GB.
  const env = { ...process.env, GOGC: 'off', GOMEMLIMIT: '2GiB' }
  const child = spawn(resolve(root, 'node_modules/.bin', tool), args, { cwd: root, env })
  const output: Buffer[] = []
  child.stdout.on('data', (chunk) => output.push(chunk))
  child.stderr.on('data', (chunk) => output.push(chunk))
  const passed = await new Promise<boolean>((done) => {
    child.on('error', () => done(false))
    child.on('close', (code) => done(code === 0))
  })
  results[passed ? 'passed' : 'failed'] += 1
  console.log(`${passed ? '✓' : '✗'} ${name} (${seconds(performance.now() - startedAt)})`)
  if (!passed) failures.push(`✗ ${name}\n\n${Buffer.concat(output).toString()}`)
}
