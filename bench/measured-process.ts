/** A process under measurement: started, asked for its processor time and memory (Linux, `/proc`), stopped. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ProcessOptions {
  command: string
  args: string[]
  env?: Record<string, string>
  /** Working directory and home; what the process writes goes into a file there. */
  dir: string
  /** Instead of those of this process. */
  uid?: number
  gid?: number
}

const samplePauseMs = 100

export class MeasuredProcess {
  readonly #child: ChildProcess
  readonly #outputFile: string
  readonly startedAt: number

  constructor({ command, args, env = {}, dir, ...as }: ProcessOptions) {
    this.#outputFile = join(dir, 'output.log')
    const output = openSync(this.#outputFile, 'w')
    this.startedAt = performance.now()
    this.#child = spawn(command, args, {
      cwd: dir,
      env: { PATH: process.env['PATH'], HOME: dir, ...env },
      stdio: ['ignore', output, output],
      ...as,
    })
    closeSync(output)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Resolves as soon as `url` answers without an error. @throws {Error} with its output when it ends or takes too long */
  async answers(url: string, limitMs = 180_000): Promise<void> {
    for (const until = performance.now() + limitMs; performance.now() < until; await sleep(3)) {
      if (this.hasEnded) break
      const answer = await fetch(url, { signal: AbortSignal.timeout(limitMs) }).catch(
        () => undefined,
      )
      await answer?.arrayBuffer()
      if (answer?.ok) return
    }
    await this.stop()
    throw new Error(
      `${url} does not answer:\n${readFileSync(this.#outputFile, 'utf8').slice(-4000)}`,
    )
  }

  /** Processor time used so far, in microseconds, user and system, of all threads that live, those of the processes that it has started included. */
  cpuUs(): number {
    return [this.pid, ...this.children()].reduce((sum, pid) => sum + cpuUsOf(pid), 0)
  }

  /** Of this, what the thread with the event loop of the process itself has used: as long as a request runs there, all others wait. */
  mainThreadUs(): number {
    return Number(readSchedule(`/proc/${this.pid}/task/${this.pid}`)) / 1000
  }

  /** Processes that it has started. */
  children(): number[] {
    const tasks = `/proc/${this.pid}/task`
    const lists = readdirSync(tasks).map((task) =>
      readFileSync(`${tasks}/${task}/children`, 'utf8'),
    )
    return lists
      .flatMap((list) => list.trim().split(' '))
      .flatMap((pid) => (pid === '' ? [] : [Number(pid)]))
  }

  /** Resident memory without pages of files, in MiB: the system could take back the others, and all processes of Node share them. */
  ownMebibytes(): number {
    return (
      Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))?.[1]) /
      1024
    )
  }

  /** Calls `work`. @returns its result, and the most memory meanwhile */
  async watchMemory<Result>(
    work: () => Promise<Result>,
  ): Promise<{ result: Result; peak: number }> {
    let peak = this.ownMebibytes()
    const sampling = setInterval(() => (peak = Math.max(peak, this.ownMebibytes())), samplePauseMs)
    try {
      const result = await work()
      return { result, peak: Math.max(peak, this.ownMebibytes()) }
    } finally {
      clearInterval(sampling)
    }
  }

  /** Keeps all its threads, and the processes that it has started, on one core, where the system has the tool for that. */
  pin(core: number): void {
    for (const pid of [this.pid, ...this.children()])
      spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)])
  }

  /** Ends it without warning. */
  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await ended
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGTERM')
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), 8000)
    await ended
    clearTimeout(kill)
  }
}

function cpuUsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks).reduce(
    (sum, task) => sum + Number(readSchedule(`${tasks}/${task}`)) / 1000,
    0,
  )
}

/** Nanoseconds on a processor; a thread may end while the list of them is read. */
function readSchedule(task: string): string {
  try {
    return readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0] ?? ''
  } catch {
    return '0'
  }
}
