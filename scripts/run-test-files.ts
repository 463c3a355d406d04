/**
 * Runs the test files that are its arguments, one after the other in this process, and reports each test to its parent.
 * Loading the sources once for several files costs less than a process for each.
 */
import { run } from 'node:test'
import { inspect } from 'node:util'

/** A test that ended, or a line that a file wants to be shown. */
export type Report =
  | { kind: 'passed' | 'skipped'; file: string; ms: number }
  | { kind: 'failed'; file: string; ms: number; message: string }
  | { kind: 'note'; file: string; text: string }

type TestEvent = ReturnType<typeof run> extends AsyncIterable<infer Event> ? Event : never
type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

/** What the runner reports about itself; every other diagnostic is one that a test wants to be seen. */
const countOfRunner = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /

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
  if (skip !== undefined && skip !== false) return { kind: 'skipped', file, ms }
  if (type === 'test:pass') return { kind: 'passed', file, ms }
  const { error } = data.details
  const text =
    'failureType' in error && error.failureType === 'subtestsFailed' ? '' : inspect(error.cause ?? error, { depth: 10 })
  return { kind: 'failed', file, ms, message: `✗ ${name}\n  ${file}${line === undefined ? '' : `:${line}`}\n\n${text}` }
}
