/** Programs of this machine that read what authors wrote: in the sandbox, bounded, and without Fairlead's environment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { findOnPath, isExecutable } from '../runtime/find-program.ts'
import type { Confinement } from '../sandbox/confinement.ts'
import { measureProcesses } from '../sandbox/process-tree.ts'
import { openSandbox } from '../sandbox/sandbox.ts'
import type { SandboxChoice } from '../sandbox/settings.ts'
import { measureTree } from '../storage/directory-trees.ts'

interface ProgramRun extends Pick<Confinement, 'network' | 'readOnly'> {
  readonly sandbox: SandboxChoice
  /** Path of the program, or its name in `PATH`. */
  readonly program: string
  /** Each reaches the program as it is: there is no shell. */
  readonly args: readonly string[]
  /** Its working directory, the only place that it may write. */
  readonly folder: string
  /** Besides `PATH` and `LANG`. */
  readonly environment: Readonly<Record<string, string>>
  readonly timeLimitMs: number
  readonly maxOutputBytes: number
  /** Limit of all its processes together, and of each. */
  readonly maxMemoryBytes?: number
  /** Limit of its folder. */
  readonly maxFolderBytes?: number
  /** Ends the program early. */
  readonly signal?: AbortSignal
}

type ProgramFault =
  /** It is not installed, or may not be executed. */
  | 'missing'
  /** This machine has no sandbox, or starts no program. */
  | 'machine'
  | 'timeout'
  | 'output'
  /** It has used more of the machine than it may. */
  | 'excess'
  | 'ended'
  | 'failed'

export class ProgramError extends Error {
  override readonly name = 'ProgramError'
  readonly fault: ProgramFault
  /** The end of its standard error. */
  readonly errors: string

  constructor(fault: ProgramFault, message: string, errors = '') {
    super(message)
    this.fault = fault
    this.errors = errors
  }
}

const maxErrorBytes = 16 * 1024
const mebibyte = 1024 * 1024
const usualMemoryBytes = 768 * mebibyte
const usualFolderBytes = 1024 * mebibyte
/** Processes and threads. */
const maxTasks = 256
const watchMs = 50
const measureMs = 1000

/** @returns its standard output @throws {ProgramError} unless it ends with 0 */
export async function runProgram(run: ProgramRun): Promise<Buffer> {
  const child = await start(run)
  let reason: [ProgramFault, string] | undefined
  const stop = (fault: ProgramFault, message: string) => {
    reason ??= [fault, message]
    killGroup(child)
  }
  const late = () => stop('timeout', `did not end within ${run.timeLimitMs / 1000} seconds`)
  const timer = setTimeout(late, run.timeLimitMs)
  const abort = () => stop('ended', 'was stopped, because Fairlead stops')
  run.signal?.addEventListener('abort', abort)
  if (run.signal?.aborted === true) abort()
  const endWatch = watch(child, run, (what) => stop('excess', what))
  try {
    const tooMuch = () => stop('output', `wrote more than ${run.maxOutputBytes} bytes`)
    const [output, errors, [code, signal]] = await Promise.all([
      readHead(child.stdout as Readable, run.maxOutputBytes, tooMuch),
      readEnd(child.stderr as Readable),
      once(child, 'close') as Promise<[number | null, string | null]>,
    ])
    if (reason !== undefined) throw new ProgramError(...reason, errors)
    if (code !== 0)
      throw new ProgramError(
        'failed',
        `failed with ${signal ?? `exit code ${code}`}${adviceFor(errors, run)}`,
        errors,
      )
    return output
  } finally {
    clearTimeout(timer)
    endWatch()
    run.signal?.removeEventListener('abort', abort)
    // What it has started itself must not stay.
    killGroup(child)
  }
}

/** Bounds of each process hold at once; those of all together are looked after here. */
function watch(
  { pid = 0 }: ChildProcess,
  run: ProgramRun,
  stop: (what: string) => void,
): () => void {
  const { folder, maxMemoryBytes = usualMemoryBytes, maxFolderBytes = usualFolderBytes } = run
  const look = () => {
    const { tasks, memoryBytes } = measureProcesses(pid, maxTasks)
    if (tasks > maxTasks) stop(`had more than ${maxTasks} processes and threads`)
    if (memoryBytes > maxMemoryBytes)
      stop(`used more than ${maxMemoryBytes / mebibyte} MiB of memory`)
  }
  let measured: Promise<void> | undefined
  const measure = async () => {
    const { bytes } = await measureTree(folder).catch(() => ({ bytes: 0 }))
    measured = undefined
    if (bytes > maxFolderBytes) stop(`wrote more than ${Math.floor(maxFolderBytes / mebibyte)} MiB`)
  }
  const timers = [
    setInterval(look, watchMs),
    setInterval(() => (measured ??= measure()), measureMs),
  ]
  return () => timers.forEach(clearInterval)
}

function adviceFor(
  errors: string,
  { maxMemoryBytes = usualMemoryBytes, network }: ProgramRun,
): string {
  if (/out of memory|cannot allocate memory/i.test(errors))
    return `: it may use ${maxMemoryBytes / mebibyte} MiB of memory`
  if (
    network === 'none' &&
    /network is unreachable|dial tcp|lookup |could not resolve host/i.test(errors)
  )
    return ': it has no network, and gets only what was fetched for it'
  return ''
}

async function start(run: ProgramRun): Promise<ChildProcess> {
  const { args, folder, environment } = run
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8' } = process.env
  const env = { PATH, LANG, ...environment }
  const path = run.program.includes('/') ? run.program : findOnPath(run.program, PATH)
  if (path === undefined || !isExecutable(path))
    throw new ProgramError('missing', 'was not found, or may not be executed')
  try {
    const sandbox = await openSandbox(run.sandbox)
    const [program = '', ...wrapped] = sandbox.wrap([path, ...args], confinementOf(run))
    // In a group of its own, so that it ends with all that it has started.
    const child = spawn(program, wrapped, {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    await once(child, 'spawn')
    return child
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (code === 'E2BIG')
      throw new ProgramError(
        'failed',
        'cannot be started: its arguments are larger than this machine allows',
      )
    throw new ProgramError('machine', `cannot be started: ${message}`)
  }
}

function confinementOf(run: ProgramRun): Confinement {
  const {
    folder,
    network,
    readOnly = [],
    maxMemoryBytes = usualMemoryBytes,
    maxFolderBytes = usualFolderBytes,
  } = run
  return {
    folder,
    network,
    readOnly,
    memoryBytes: maxMemoryBytes,
    processes: maxTasks,
    fileBytes: maxFolderBytes,
  }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

async function readHead(stream: Readable, maxBytes: number, tooMuch: () => void): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) tooMuch()
    else chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function readEnd(stream: Readable): Promise<string> {
  let end = Buffer.alloc(0)
  for await (const chunk of stream as AsyncIterable<Buffer>)
    end = Buffer.concat([end, chunk]).subarray(-maxErrorBytes)
  return end.toString('utf8').trim()
}
