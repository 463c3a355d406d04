/** Runs `fairlead serve`, or `fairlead backends`, as an operator does, as a process of its own that tests measure, signal and kill. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { serviceNames } from '../../packages/base/services/services.ts'
import type { GatewaySettings } from './gateway.ts'
import { program, sharedEnvironment } from './program.ts'
import type { TestEnd } from './test-end.ts'

export interface ServeOptions {
  /** A directory that outlives the process, for restarts; by default a temporary one. It holds settings and data. */
  home?: string
  /** Services that are not named in the settings are embedded instead of switched off. */
  embedded?: boolean
  env?: Record<string, string>
  /** What is typed after `fairlead`; `serve` unless given. */
  words?: readonly string[]
  /** Another copy of the program than that of the repository. */
  program?: string
  /** Node options, before the program. */
  nodeOptions?: readonly string[]
}

export interface ServeProcess {
  readonly pid: number
  /** What it wrote to standard error. */
  errors(): string
  /** The lines of its log. */
  log(): Record<string, unknown>[]
  /** The address it listens on; rejects when it ends before it does. */
  readonly listening: Promise<string>
  signal(name: NodeJS.Signals): void
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Starts the process; it is killed with the test. Its data directory is `data` below its home. */
export function startServe(
  t: TestEnd,
  settings: GatewaySettings,
  options: ServeOptions = {},
): ServeProcess {
  const home = options.home ?? createHome(t)
  const file = join(home, 'gate-under-test.yml')
  writeFileSync(file, JSON.stringify(toConfiguration(settings, options)))
  const { nodeOptions = [], program: copy = program, words = ['serve'] } = options
  const child = spawn(process.execPath, [...nodeOptions, copy, ...words, '--config', file], {
    cwd: home,
    env: {
      ...sharedEnvironment,
      HOME: home,
      FAIRLEAD_DATA_DIR: join(home, 'data'),
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((done) => {
    child.once('close', (code, signal) => done({ code, signal }))
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const output = collect(child)
  return {
    pid: child.pid as number,
    errors: () => output.errors,
    log: () => toLines(output.log),
    listening: awaitAddress(child, exited, output),
    signal: (name) => void child.kill(name),
    exited,
  }
}

/** An empty directory for settings and data that ends with the test. */
export function createHome(t: TestEnd): string {
  const home = mkdtempSync(join(tmpdir(), 'fairlead-serve-'))
  mkdirSync(join(home, 'data'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Bytes of a line of /proc/PID/status: `RssAnon` without pages of files now, `VmHWM` with them, the most so far. */
export function memoryOf(pid: number, line: 'RssAnon' | 'VmHWM'): number {
  const match = new RegExp(`^${line}:\\s+(\\d+) kB$`, 'm').exec(
    readFileSync(`/proc/${pid}/status`, 'utf8'),
  )
  return Number(match?.[1]) * 1024
}

function toConfiguration(settings: GatewaySettings, { embedded }: ServeOptions): GatewaySettings {
  const off = embedded ? [] : serviceNames.map((service) => [service, { enabled: false }] as const)
  return {
    anonymous: { enabled: true },
    ...settings,
    // Without a drain of its own a process in a container would take seconds to stop.
    server: {
      port: 0,
      address: '127.0.0.1',
      'drain-ms': 0,
      ...(settings['server'] as object | undefined),
    },
    services: { ...Object.fromEntries(off), ...settings.services },
  }
}

type Child = ChildProcessByStdio<null, Readable, Readable>

function collect(child: Child): { log: string; errors: string } {
  const output = { log: '', errors: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    output.log += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.errors += chunk.toString()
  })
  return output
}

function awaitAddress(
  child: Child,
  exited: Promise<unknown>,
  output: { log: string; errors: string },
): Promise<string> {
  const address = new Promise<string>((found, fail) => {
    child.stdout.on('data', () => {
      const match = /(?:listening on (?=http:)|served on )(https?:\/\/[^\s,;"]+)/.exec(output.log)
      if (match?.[1] !== undefined) found(match[1])
    })
    void exited.then(() =>
      fail(new Error(`it ended before it listened:\n${output.errors}${output.log}`)),
    )
  })
  address.catch(() => {})
  return address
}

function toLines(log: string): Record<string, unknown>[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
