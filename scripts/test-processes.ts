/** Processes that run test files side by side, each taking the next file when it has finished one, and what they tell. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { processorMs } from './processor-time.ts'
import type { Order, Report } from './run-test-files.ts'
import { TestQueues } from './test-queues.ts'

export interface Results {
  passed: number
  failed: number
  skipped: number
}

interface Skip {
  file: string
  reason: string
}

interface Started {
  file: string
  at: number
}

interface Cost {
  file: string
  processorMs: number
}

/** What the processes share. */
interface Run {
  /** Files that have not begun. */
  queues: TestQueues
  results: Results
  costs: Cost[]
  skips: Skip[]
  failures: string[]
}

const root = resolve(import.meta.dirname, '..')
/** Most tests wait for timers, sockets and other processes, so two cores carry five. */
const concurrency = 5
/** Megabytes of new and old objects: the sources and hundreds of gateways grow a heap that is collected again and again, a seventh of the processor time. */
const heap = [
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--initial-old-space-size=2000',
]
/** A process without results for longer has a handle that it does not close, or waits for something that never comes. */
const timeoutMs = 1_800_000
const shownAsDear = 10

/** Runs the test files, a line for each. Failures are shown in full at the end, and what was skipped by its reason. */
export async function runTests(files: readonly string[]): Promise<Results> {
  const queues = new TestQueues(files)
  const run: Run = {
    queues,
    results: { passed: 0, failed: 0, skipped: 0 },
    costs: [],
    skips: [],
    failures: [],
  }
  const work = async () => {
    // An uncaught error ends a process, as the end of its queue does; what has not begun is not to blame.
    while (queues.size > 0 && (await new TestProcess(run).ended)) {}
  }
  await Promise.all(Array.from({ length: Math.min(files.length, concurrency) }, work))
  for (const failure of run.failures) console.log(`\n${'─'.repeat(100)}\n${failure}`)
  if (files.length > shownAsDear) showDearest(run.costs)
  showSkipped(run.skips)
  return run.results
}

class TestProcess {
  /** Whether it has run a file. */
  readonly ended: Promise<boolean>
  readonly #run: Run
  readonly #process: ChildProcess
  readonly #messages: string[] = []
  #output = ''
  #hasFailed = false
  #hasRun = false
  #current: Started | undefined
  /** Processor time until the end of its last file. */
  #spentMs = 0
  #counts: Results = { passed: 0, failed: 0, skipped: 0 }
  #notes: string[] = []

  constructor(run: Run) {
    this.#run = run
    const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
    this.#process = fork(join(import.meta.dirname, 'run-test-files.ts'), [], {
      cwd: root,
      stdio: [...stdio],
      execArgv: heap,
    })
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString()
      })
    }
    this.ended = this.#awaitEnd()
  }

  async #awaitEnd(): Promise<boolean> {
    const timeout = setTimeout(() => {
      this.#fail(`✗ no test ended for ${seconds(timeoutMs)}: a handle stays open, or a test waits.`)
      this.#process.kill('SIGKILL')
    }, timeoutMs)
    this.#process.on('message', (report: Report) => {
      timeout.refresh()
      this.#hear(report)
    })
    const [code, signal] = (await once(this.#process, 'close')) as [
      number | null,
      NodeJS.Signals | null,
    ]
    clearTimeout(timeout)
    this.#run.queues.leave(this)
    if (code !== 0 && !this.#hasFailed)
      this.#fail(`✗ the process of the tests ended with ${code ?? signal}`)
    this.#finish()
    return this.#hasRun
  }

  #hear(report: Report): void {
    if (report.kind === 'next') {
      this.#finish()
      this.#begin(this.#run.queues.next(this))
    } else if (report.kind === 'note') {
      this.#notes.push(report.text)
    } else if (report.kind === 'failed') {
      this.#fail(report.message)
    } else {
      this.#counts[report.kind] += 1
      const { file } = this.#current ?? {}
      if (report.kind === 'skipped' && file !== undefined)
        this.#run.skips.push({ file, reason: report.reason })
    }
  }

  #fail(message: string): void {
    this.#hasFailed = true
    this.#counts.failed += 1
    this.#messages.push(message.replaceAll(`${root}/`, ''))
  }

  #begin(file: string | undefined): void {
    if (file !== undefined) {
      this.#hasRun = true
      this.#current = { file, at: performance.now() }
    }
    const order: Order = { file: file && resolve(root, file) }
    // A process that has ended meanwhile hears nothing; its end is reported.
    this.#process.send(order, () => undefined)
  }

  /** The end of a file, or of the process: what fails after its last file belongs to none. */
  #finish(): void {
    const { file = 'the end of a process' } = this.#current ?? {}
    if (this.#current !== undefined) {
      if (Object.values(this.#counts).every((count) => count === 0))
        this.#fail(`✗ ${file}: no test ran`)
      // A process that has ended has nothing left to ask for. What it costs between two files counts with the second.
      const beforeMs = this.#spentMs
      this.#spentMs = processorMs(this.#process.pid)
      const spentMs = Math.max(0, this.#spentMs - beforeMs)
      this.#run.costs.push({ file, processorMs: spentMs })
      print(file, this.#counts, performance.now() - this.#current.at, spentMs)
      for (const note of this.#notes) console.log(`    ${note}`)
    }
    if (this.#messages.length > 0) {
      const output = this.#output === '' ? '' : `\n\nOutput of ${file}\n\n${this.#output}`
      this.#run.failures.push(`${this.#messages.splice(0).join('\n\n')}${output}`)
    }
    for (const key of ['passed', 'failed', 'skipped'] as const)
      this.#run.results[key] += this.#counts[key]
    this.#counts = { passed: 0, failed: 0, skipped: 0 }
    this.#notes = []
    this.#output = ''
    this.#current = undefined
  }
}

function print(
  file: string,
  { passed, failed, skipped }: Results,
  ms: number,
  spentMs: number,
): void {
  const counts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ]
  console.log(
    `${failed > 0 ? '✗' : '✓'} ${file} (${counts.join(', ')}, ${seconds(ms)}, processor ${seconds(spentMs)})`,
  )
}

/** Where the suite becomes dearer shows here, on a machine of any speed. */
function showDearest(costs: Cost[]): void {
  const total = costs.reduce((sum, { processorMs }) => sum + processorMs, 0)
  console.log(`\nMost processor time, of ${seconds(total)} for all files:`)
  for (const { file, processorMs } of costs
    .toSorted((a, b) => b.processorMs - a.processorMs)
    .slice(0, shownAsDear)) {
    console.log(`${seconds(processorMs).padStart(8)}  ${file}`)
  }
}

function showSkipped(skips: readonly Skip[]): void {
  for (const [reason, skipped] of Map.groupBy(skips, (skip) => skip.reason)) {
    console.log(`\nSkipped, since ${reason}:`)
    for (const [file, tests] of Map.groupBy(skipped, (skip) => skip.file))
      console.log(`  ${file} (${tests.length})`)
  }
}

/** Of a duration, for people. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
