/**
 * Runs the test files that its parent names, one after the other in this process, and reports each test.
 * Loading the sources once for several files costs less than a process for each.
 */
import asyncHooks from 'node:async_hooks'
import { resolve } from 'node:path'
import type { run } from 'node:test'
import { inspect } from 'node:util'
import '../packages/base/runtime/own-imports.ts'

/** A test that ended, a line that a file wants to be shown, or that all results so far are told and the next file is awaited. */
export type Report =
  | { kind: 'passed'; file: string }
  | { kind: 'skipped'; file: string; reason: string }
  | { kind: 'failed'; file: string; message: string }
  | { kind: 'note'; file: string; text: string }
  | { kind: 'next' }

/** What the parent answers to `next`: no file when there is none left. */
export interface Order {
  file?: string | undefined
}

type Runner = typeof run
type TestEvent = ReturnType<Runner> extends AsyncIterable<infer Event> ? Event : never
type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>
type Started = Extract<TestEvent, { type: 'test:dequeue' }>['data']

/** What the runner reports about itself; every other diagnostic is one that a test wants to be seen. */
const countOfRunner = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /
/** Its tests load the files; a file that cannot be loaded fails one of them. */
const queue = resolve(import.meta.dirname, 'queued-test-files.ts')

let running: Started | undefined

// The parent was cut off.
const end = () => process.exit(1)
for (const signal of ['SIGHUP', 'SIGINT'] as const) process.on(signal, end)
// Listening for 'disconnect' would keep the process alive.
const watch = setInterval(() => process.connected || end(), 500).unref()
const runFiles = await loadRunner()
process.on('uncaughtException', endWithFailure)
process.on('unhandledRejection', endWithFailure)
for await (const event of runFiles({ files: [queue], isolation: 'none' })) {
  if (event.type === 'test:dequeue') running = event.data
  const report = toReport(event)
  if (report !== undefined) process.send?.(report)
}
clearInterval(watch)
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
  process.send?.({ kind: 'failed', file, message } satisfies Report, end) ?? end()
}

function toReport(event: TestEvent): Report | undefined {
  if (event.type === 'test:pass' || event.type === 'test:fail') return toResult(event)
  if (event.type === 'test:dequeue') return event.data.file === queue ? { kind: 'next' } : undefined
  if (event.type !== 'test:diagnostic' || countOfRunner.test(event.data.message)) return undefined
  return { kind: 'note', file: event.data.file ?? '', text: event.data.message }
}

function toResult({ type, data }: Finished): Report | undefined {
  const { file = '', name, line, details, skip } = data
  if (type === 'test:pass' && (details.type === 'suite' || file === queue)) return undefined
  if (skip !== undefined && skip !== false)
    return { kind: 'skipped', file, reason: skip === true ? 'it says no reason' : skip }
  if (type === 'test:pass') return { kind: 'passed', file }
  const { error } = data.details
  const text =
    'failureType' in error && error.failureType === 'subtestsFailed'
      ? ''
      : inspect(error.cause ?? error, { depth: 10 })
  return {
    kind: 'failed',
    file,
    message: `✗ ${name}\n  ${file}${line === undefined ? '' : `:${line}`}\n\n${text}`,
  }
}
