/** Programs of this machine that run for a request: bounded in time and output, without Fairlead's environment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'

interface ProgramRun {
  /** Path of the program, or its name in `PATH`. */
  readonly program: string
  /** Each reaches the program as it is: there is no shell. */
  readonly args: readonly string[]
  readonly folder: string
  /** Besides `PATH` and `LANG`. */
  readonly environment: Readonly<Record<string, string>>
  readonly timeLimitMs: number
  readonly maxOutputBytes: number
  /** Ends the program early. */
  readonly signal?: AbortSignal | undefined
}

type ProgramFault =
  /** It is not installed, or may not be executed. */
  'missing' | 'timeout' | 'output' | 'ended' | 'failed'

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
const missingCodes: ReadonlySet<string> = new Set(['ENOENT', 'EACCES', 'ENOEXEC', 'ENOTDIR'])

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
  try {
    const tooMuch = () => stop('output', `wrote more than ${run.maxOutputBytes} bytes`)
    const [output, errors, [code, signal]] = await Promise.all([
      readHead(child.stdout as Readable, run.maxOutputBytes, tooMuch),
      readEnd(child.stderr as Readable),
      once(child, 'close') as Promise<[number | null, string | null]>,
    ])
    if (reason !== undefined) throw new ProgramError(...reason, errors)
    if (code !== 0) throw new ProgramError('failed', `failed with ${signal ?? `exit code ${code}`}`, errors)
    return output
  } finally {
    clearTimeout(timer)
    run.signal?.removeEventListener('abort', abort)
    // What it has started itself must not stay.
    killGroup(child)
  }
}

async function start({ program, args, folder, environment }: ProgramRun): Promise<ChildProcess> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8' } = process.env
  const env = { PATH, LANG, ...environment }
  try {
    // In a group of its own, so that it ends with all that it has started.
    const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    await once(child, 'spawn')
    return child
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (missingCodes.has(code)) throw new ProgramError('missing', 'was not found, or may not be executed')
    if (code === 'E2BIG') throw new ProgramError('failed', 'cannot be started: its arguments are larger than this machine allows')
    throw new ProgramError('failed', `cannot be started: ${message}`)
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
  for await (const chunk of stream as AsyncIterable<Buffer>) end = Buffer.concat([end, chunk]).subarray(-maxErrorBytes)
  return end.toString('utf8').trim()
}
