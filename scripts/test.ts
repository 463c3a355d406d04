/**
 * The whole check behind `npm test`: types, lint, and every `test/**\/*.test.ts`. The last line counts the results.
 *
 * With patterns (`npm test -- sessions saml`) only the test files whose path contains one of them run, without the checks.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'
import { buildPackage } from './build.ts'

interface Results {
  passed: number
  failed: number
  skipped: number
}

const root = resolve(import.meta.dirname, '..')
/** Test files at a time; most of them wait for timers and sockets, so two cores carry three. */
const concurrency = 3
/** One file that takes longer has a handle that it does not close, or waits for something that never comes. */
const fileTimeoutMs = 600_000
const cache = resolve(root, 'node_modules/.cache')
const bundleMaxAgeMs = 3_600_000
/** Compiled modules are shared by all test files, and by the processes and threads that they start. */
process.env['NODE_COMPILE_CACHE'] ??= join(cache, 'compiled')
/** What the runner reports about itself; everything else of this kind is what a test wants to be seen. */
const countOfRunner = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1

async function main(patterns: string[]): Promise<boolean> {
  const whole = patterns.length === 0
  const results: Results = { passed: 0, failed: 0, skipped: 0 }
  const files = globSync('test/**/*.test.ts', { cwd: root })
    .filter((file) => whole || patterns.some((pattern) => file.includes(pattern)))
    .sort()
  if (whole) {
    installPackages()
    await runCheck('types', ['tsc', '--noEmit'], results)
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
  cpSync(join(root, 'package.json'), join(fresh, 'package.json'))
  const hash = createHash('sha256')
  for (const file of globSync('**/*.{js,json}', { cwd: fresh }).sort()) hash.update(file).update(readFileSync(join(fresh, file)))
  const folder = join(cache, `bundle-${hash.digest('hex').slice(0, 16)}`)
  for (const old of globSync('bundle-*', { cwd: cache }).map((name) => join(cache, name))) {
    if (old !== folder && Date.now() - statSync(old).mtimeMs > bundleMaxAgeMs) rmSync(old, { recursive: true, force: true })
  }
  if (existsSync(folder)) rmSync(fresh, { recursive: true })
  else renameSync(fresh, folder)
  return folder
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
  const queue = [...files]
  const work = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) await runFile(file, results, failures)
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  for (const failure of failures) console.log(`\n${'─'.repeat(100)}\n${failure}`)
  return results.passed + results.failed - before
}

/** Runs one file in a process of its own. Ending it after `fileTimeoutMs` is ours: the runner's own limit is per test. */
async function runFile(file: string, results: Results, failures: string[]): Promise<void> {
  const startedAt = performance.now()
  const found: Results = { passed: 0, failed: 0, skipped: 0 }
  const messages: string[] = []
  const notes: string[] = []
  let output = ''
  const signal = AbortSignal.timeout(fileTimeoutMs)
  for await (const event of run({ cwd: root, files: [resolve(root, file)], signal })) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') output += event.data.message
    else if (event.type === 'test:diagnostic' && !countOfRunner.test(event.data.message)) notes.push(event.data.message)
    else if (event.type === 'test:pass' || event.type === 'test:fail') countTest(event, found, messages)
  }
  if (signal.aborted)
    messages.push(`✗ ${file} did not end within ${seconds(fileTimeoutMs)}: a handle stays open, or a test waits.`)
  if (found.passed + found.failed + found.skipped === 0) {
    found.failed = 1
    messages.push(`✗ ${file} contains no test`)
  }
  if (messages.length > 0) failures.push(`${messages.join('\n\n')}${output === '' ? '' : `\n\nOutput of ${file}\n\n${output}`}`)
  for (const key of ['passed', 'failed', 'skipped'] as const) results[key] += found[key]
  const counts = `${found.passed} passed${found.failed > 0 ? `, ${found.failed} failed` : ''}${found.skipped > 0 ? `, ${found.skipped} skipped` : ''}`
  console.log(`${found.failed > 0 ? '✗' : '✓'} ${file} (${counts}, ${seconds(performance.now() - startedAt)})`)
  for (const note of notes) console.log(`    ${note}`)
}

type TestEvent = ReturnType<typeof run> extends AsyncIterable<infer Event> ? Event : never
type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

function countTest({ type, data }: Finished, results: Results, messages: string[]): void {
  const wrapsOthers = data.details.type === 'suite' || data.name === data.file
  if (wrapsOthers && type === 'test:pass') return
  if (data.skip !== undefined && data.skip !== false) results.skipped += 1
  else if (type === 'test:pass') results.passed += 1
  else {
    results.failed += 1
    const error = data.details.error
    if ('failureType' in error && error.failureType === 'subtestsFailed') return
    const place = `${relative(root, data.file ?? '')}${data.line === undefined ? '' : `:${data.line}`}`
    messages.push(`✗ ${data.name}\n  ${place}\n\n${inspect(error.cause ?? error, { depth: 10, colors: false })}`)
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
