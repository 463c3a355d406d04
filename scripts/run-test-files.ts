/**
 * Runs the test files that are its arguments, one after the other in this process, and reports each test to its parent.
 * Loading the sources once for several files costs less than a process for each.
 */
import asyncHooks from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import type { run } from 'node:test'
import { inspect } from 'node:util'

/** A test that ended, or a line that a file wants to be shown. */
export type Report =
  | ({ kind: 'passed' | 'skipped' } & Ended)
  | ({ kind: 'failed'; message: string } & Ended)
  | { kind: 'note'; file: string; text: string }

interface Ended {
  file: string
  ms: number
  /** Processor time since the report before, of this process and of the children that have ended. */
  processorMs: number
}

type Runner = typeof run
type TestEvent = ReturnType<Runner> extends AsyncIterable<infer Event> ? Event : never
type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>
type Started = Extract<TestEvent, { type: 'test:dequeue' }>['data']

/** What the runner reports about itself; every other diagnostic is one that a test wants to be seen. */
const countOfRunner = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /

let reportedMs = processorMs()
let running: Started | undefined

const runFiles = await loadRunner()
process.on('uncaughtException', endWithFailure)
process.on('unhandledRejection', endWithFailure)
for await (const event of runFiles({ files: process.argv.slice(2), isolation: 'none' })) {
  if (event.type === 'test:dequeue') running = event.data
  const report = toReport(event)
  if (report !== undefined) process.send?.(report)
}
process.disconnect?.()

/**
 * Loads the runner without its hook on every promise, which takes a sixth of the processor time. The hook names the test that
 * caused an uncaught error; since tests run one after the other, `running` names it as well.
 */
async function loadRunner(): Promise<Runner> {
  const { createHook } = asyncHooks
  const none: asyncHooks.AsyncHook = { enable: () => none, disable: () => none }
  asyncHooks.createHook = () => none
  const { run } = await import('node:test')
  asyncHooks.createHook = createHook
  return run
}

/** The test may wait for what the error has prevented, so the process ends; files that have not begun run in another one. */
function endWithFailure(error: unknown): void {
  const { file = '', name = 'no test' } = running ?? {}
  const message = `✗ an error that no code caught, while "${name}" ran\n  ${file}\n\n${inspect(error, { depth: 10 })}`
  if (process.send === undefined) console.error(message)
  const end = () => process.exit(1)
  process.send?.({ kind: 'failed', file, ms: 0, processorMs: 0, message } satisfies Report, end) ?? end()
}

function toReport(event: TestEvent): Report | undefined {
  if (event.type === 'test:pass' || event.type === 'test:fail') return toResult(event)
  if (event.type !== 'test:diagnostic' || countOfRunner.test(event.data.message)) return undefined
  return { kind: 'note', file: event.data.file ?? '', text: event.data.message }
}

function toResult({ type, data }: Finished): Report | undefined {
  const { file = '', name, line, details, skip } = data
  // Only the outermost tests count for the duration of their file.
  const ms = data.nesting === 0 ? details.duration_ms : 0
  if (details.type === 'suite' && type === 'test:pass') return undefined
  const before = reportedMs
  reportedMs = processorMs()
  const ended = { file, ms, processorMs: reportedMs - before }
  if (skip !== undefined && skip !== false) return { kind: 'skipped', ...ended }
  if (type === 'test:pass') return { kind: 'passed', ...ended }
  const { error } = data.details
  const text =
    'failureType' in error && error.failureType === 'subtestsFailed' ? '' : inspect(error.cause ?? error, { depth: 10 })
  return { kind: 'failed', ...ended, message: `✗ ${name}\n  ${file}${line === undefined ? '' : `:${line}`}\n\n${text}` }
}

/** Of this process and, on Linux, of its children that have ended. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + childrenMs()
}

/** @see proc_pid_stat(5): cutime and cstime, in hundredths of a second */
function childrenMs(): number {
  if (process.platform !== 'linux') return 0
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return 10 * (Number(fields[13]) + Number(fields[14]))
}
