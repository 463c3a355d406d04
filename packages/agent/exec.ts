/** Programs that clients run beside that of an instance: same user, variables, folder, limits; with a terminal or without. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { shellWord } from '@fairlead/base/names/shell-word.ts'
import type { Program } from '@fairlead/base/net/agent-protocol.ts'
import {
  type ExecRequest,
  type Frame,
  formatFrame,
  formatJsonFrame,
  readFrames,
  type TerminalSize,
  written,
} from '@fairlead/base/net/exec-frames.ts'
import { findOnPath } from '@fairlead/base/runtime/find-program.ts'
import { isRunning } from '@fairlead/base/sandbox/container-runtime.ts'
import { joinGroup } from './control-groups.ts'
import { type ProcessTable, signalProcess } from './processes.ts'
import { defaultPath, findProgram, StartError, toEnvironment } from './start-program.ts'

/** A program that cannot be run; the code is as a shell and its relatives have it: 125, 126 or 127. */
export class ExecError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export interface ProgramSurroundings {
  readonly program: Program
  readonly work: string
  /** Finds its processes, to end them with the instance. */
  readonly mark: string
  readonly controlGroup: string | undefined
  readonly table: ProcessTable
}

/** Time between SIGHUP and SIGKILL when the client has gone. */
const graceMs = 2_000
/** Time after which an instance that does not run yet is given up. */
const startMs = 3_000
const lookMs = 50
const containerStartMs = 30_000
const notFound = 127
const notExecutable = 126
/** File descriptor on which the shell in the terminal names its process and the terminal. */
const placeDescriptor = 3

/** The shell waits for a line, so that the program begins in its control group. */
const begin = 'read -r go || exit 125; '
/** Its arguments: rows, columns, then the command. */
const inTerminal = `echo "$$ $(tty)" >&3; exec 3>&-; stty rows "$0" cols "$1" 2>/dev/null; shift; exec "$@"`

/** Runs until the program ends or the connection does; answers on the connection alone. */
export async function serveExec(
  connection: Duplex,
  find: () => ProgramSurroundings,
): Promise<void> {
  const frames = readFrames(connection)
  try {
    const first = await frames.next()
    if (first.done === true) return
    const request = JSON.parse(String(first.value.bytes)) as ExecRequest
    const run = new ExecRun(await whenRunning(find), request)
    await run.serve(connection, frames)
  } catch (error) {
    const code = error instanceof ExecError ? error.code : 125
    connection.end(formatJsonFrame({ exit: code, reason: (error as Error).message }))
  }
}

/** An instance that is just being started runs in a moment. @throws {ExecError} */
async function whenRunning(find: () => ProgramSurroundings): Promise<ProgramSurroundings> {
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    try {
      return await inContainer(find)
    } catch (error) {
      if (waitedMs >= startMs) throw error
    }
    await sleep(lookMs)
  }
}

/** The runtime is a process before its container runs. @throws {ExecError} as `find`, also once it has ended */
async function inContainer(find: () => ProgramSurroundings): Promise<ProgramSurroundings> {
  const endMs = performance.now() + containerStartMs
  for (;;) {
    const found = find()
    const { container, command, user } = found.program
    if (container === undefined || performance.now() > endMs) return found
    const { name, runtimeEnvironment: environment } = container
    if (await isRunning({ name, runtime: command[0] ?? '', environment, user })) return found
    await sleep(lookMs)
  }
}

class ExecRun {
  readonly #surroundings: ProgramSurroundings
  readonly #child: ChildProcess
  /** Leader of the session in the terminal, and the terminal. */
  #place: { readonly pid: number; readonly terminal: string } | undefined
  #hasEnded = false

  /** @throws {ExecError} */
  constructor(surroundings: ProgramSurroundings, { command, terminal }: ExecRequest) {
    this.#surroundings = surroundings
    const { program, work, mark } = surroundings
    const environment = toEnvironment(program, mark)
    const inner = innerCommand(surroundings, command, { environment, terminal })
    const whole = terminal === undefined ? inner : wrapInTerminal(inner, terminal)
    const { openFiles } = program.limits
    const limit = openFiles === undefined ? '' : `ulimit -n ${Math.floor(openFiles)} || exit 126; `
    this.#child = spawn('/bin/sh', ['-c', `${begin}${limit}exec "$@"`, 'sh', ...whole], {
      cwd: work,
      detached: true,
      env: { ...environment, ...(terminal !== undefined && terminalVariables(environment)) },
      stdio: ['pipe', 'pipe', 'pipe', ...(terminal === undefined ? [] : ['pipe' as const])],
      ...program.user,
    })
    // A program that does not read ends with its input open.
    this.#child.stdin?.on('error', () => {})
  }

  async serve(connection: Duplex, frames: AsyncIterable<Frame>): Promise<void> {
    const child = this.#child
    const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
    ended.catch(() => {})
    await once(child, 'spawn')
    const { controlGroup } = this.#surroundings
    if (controlGroup !== undefined) joinGroup(controlGroup, child.pid as number)
    child.stdin?.write('\n')
    const place = child.stdio[placeDescriptor] as Readable | undefined
    place?.on('data', (line: Buffer) => this.#learnPlace(String(line)))
    pass(child.stdout, 'stdout', connection)
    pass(child.stderr, 'stderr', connection)
    connection.once('close', () => void this.#end())
    connection.on('error', () => connection.destroy())
    this.#take(frames).catch(() => connection.destroy())
    const [code, signal] = await ended
    this.#hasEnded = true
    connection.end(formatJsonFrame({ exit: toShellCode(code, signal) }))
  }

  async #take(frames: AsyncIterable<Frame>): Promise<void> {
    const { stdin } = this.#child
    for await (const { channel, bytes } of frames) {
      if (channel === 'stdin') {
        if (stdin !== null) await written(stdin, bytes)
        continue
      }
      const control = JSON.parse(String(bytes)) as {
        readonly end?: true
        readonly resize?: TerminalSize
        readonly signal?: string
      }
      if (control.end === true) stdin?.end()
      if (control.resize !== undefined) this.#resize(control.resize)
      if (control.signal !== undefined) this.#signal(control.signal)
    }
  }

  #learnPlace(line: string): void {
    const [pid = '', terminal = ''] = line.trim().split(' ')
    if (terminal.startsWith('/dev/')) this.#place = { pid: Number(pid), terminal }
  }

  #resize({ rows, columns }: TerminalSize): void {
    if (this.#place === undefined) return
    const size = ['rows', String(Math.trunc(rows)), 'cols', String(Math.trunc(columns))]
    execFile('stty', ['-F', this.#place.terminal, ...size], () => {})
  }

  #signal(name: string): void {
    if (!(name in constants.signals)) return
    const pid = this.#place?.pid ?? this.#child.pid
    if (pid !== undefined && !this.#hasEnded) signalGroup(pid, name as NodeJS.Signals)
  }

  /** The client has gone. */
  async #end(): Promise<void> {
    const { pid } = this.#child
    if (this.#hasEnded || pid === undefined) return
    const { table } = this.#surroundings
    const leaders = new Set([pid, ...(this.#place === undefined ? [] : [this.#place.pid])])
    const members = () =>
      table.list().filter((each) => leaders.has(each.group) || leaders.has(each.session))
    const before = members()
    for (const each of before) signalProcess(each.pid, 'SIGHUP')
    this.#child.stdin?.destroy()
    await Promise.race([
      once(this.#child, 'exit'),
      new Promise((resolve) => setTimeout(resolve, graceMs).unref()),
    ])
    // Processes of a group whose leader has ended are found by what was seen before.
    for (const each of [...before, ...members()]) {
      if (table.find(each.pid)?.start === each.start) signalProcess(each.pid, 'SIGKILL')
    }
  }
}

/** A shell of the instance where the command is empty. @throws {ExecError} */
function innerCommand(
  { program, work }: ProgramSurroundings,
  command: readonly string[],
  {
    environment,
    terminal,
  }: {
    readonly environment: Readonly<Record<string, string>>
    readonly terminal: TerminalSize | undefined
  },
): string[] {
  const given = command.length === 0 ? ['/bin/sh', ...(terminal ? ['-i'] : [])] : [...command]
  const [name = '', ...args] = given
  if (program.container !== undefined) {
    const flags = terminal === undefined ? ['-i'] : ['-i', '-t']
    return [program.command[0] ?? '', 'exec', ...flags, program.container.name, ...given]
  }
  try {
    return [findProgram(name, work, environment['PATH'] ?? defaultPath), ...args]
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const code = error.message.includes('may not be executed') ? notExecutable : notFound
    throw new ExecError(code, error.message)
  }
}

/** `script` of util-linux, which every Debian has, opens the terminal. @throws {ExecError} */
function wrapInTerminal(command: readonly string[], { rows, columns }: TerminalSize): string[] {
  const script = findOnPath('script', process.env['PATH'] ?? defaultPath)
  if (script === undefined)
    throw new ExecError(
      125,
      'A terminal needs the program "script". Install it: apt install bsdutils.',
    )
  const size = [rows, columns].map((count) => String(Math.trunc(count)))
  const quoted = ['/bin/sh', '-c', inTerminal, ...size, ...command].map(shellWord).join(' ')
  return [script, '--quiet', '--return', '--flush', '--command', `exec ${quoted}`, '/dev/null']
}

function terminalVariables(environment: Readonly<Record<string, string>>): Record<string, string> {
  return { TERM: environment['TERM'] ?? 'xterm-256color', SHELL: '/bin/sh' }
}

function pass(stream: Readable | null, channel: 'stdout' | 'stderr', connection: Duplex): void {
  stream?.on('data', (bytes: Buffer) => {
    if (!connection.writable || connection.write(formatFrame(channel, bytes))) return
    stream.pause()
    connection.once('drain', () => stream.resume())
  })
}

function toShellCode(code: number | null, signal: NodeJS.Signals | null): number {
  return signal === null ? (code ?? 125) : 128 + constants.signals[signal]
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  signalProcess(-pid, signal)
}
