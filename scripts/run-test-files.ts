/**
 * Runs the test files that are its arguments, one after the other in this process, and reports each test to its parent.
 * Loading the sources once for several files costs less than a process for each.
 */
import { readFileSync } from 'node:fs'
import { run } from 'node:test'
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

type TestEvent = ReturnType<typeof run> extends AsyncIterable<infer Event> ? Event : never
type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

/** What the runner reports about itself; every other diagnostic is one that a test wants to be seen. */
const countOfRunner = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /

let reportedMs = processorMs()

for await (const event of run({ files: process.argv.slice(2), isolation: 'none' })) {
  const report = toReport(event)
  if (report !== undefined) process.send?.(report)
}
process.disconnect?.()

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
