/** A program of an instance whose streams are those of this process. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Client } from './client.ts'
import type { CommandContext } from './command.ts'
import { exitCodes, Failure, misuse } from './failure.ts'
import { toSafeText } from './output.ts'
import { pathOf } from './path-of.ts'

interface Place {
  readonly id: string
  readonly instance: string
}

interface OutputLine {
  readonly stdout?: string
  readonly stderr?: string
  readonly exit?: number
  readonly reason?: string
  readonly error?: string
}

/** Input that waits is sent together. */
const mostBytes = 512 * 1024
/** Fairlead, or the connection to it, has failed. */
const fairleadFailed = 125

interface AttachedOptions {
  readonly application: string
  readonly kind: 'exec' | 'run'
  readonly body: Readonly<Record<string, unknown>>
  /** Undefined: a terminal where standard input and output are terminals. */
  readonly terminal?: boolean | undefined
  readonly timeoutMs?: number | undefined
}

/** @returns the exit code of the program @throws {Failure} when it could not be started */
export async function runAttached(
  { interrupts, output, connect }: CommandContext,
  { application, kind, body, terminal, timeoutMs }: AttachedOptions,
): Promise<number> {
  const { stdin, stdout } = process
  const areTerminals = stdin.isTTY === true && stdout.isTTY === true
  if (terminal === true && !areTerminals)
    throw misuse('-t needs a terminal for input and output.', 'Leave it out in a pipe or script.')
  const client = await connect()
  const path =
    kind === 'exec' ? pathOf`/apps/${application}/exec` : pathOf`/apps/${application}/run`
  const size = areTerminals ? sizeOf(stdout) : undefined
  const session = await client.post<Place>(path, { ...body, ...(size && { terminal: size }) })
  output.detail(`${session.instance} runs it`)
  const input = new Input(client, pathOf`/apps/${application}/sessions/${session.id}/input`)
  const isRaw = size !== undefined
  const restore = () => void (isRaw && stdin.setRawMode(false))
  const undo = [interrupts.beforeEnd(restore)]
  const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
  try {
    if (isRaw) makeRaw(stdin)
    // Ctrl C of a terminal in raw mode is a byte like others.
    undo.push(interrupts.handle((signal) => input.control({ signal })))
    const onResize = () => input.control({ resize: sizeOf(stdout) })
    stdout.on('resize', onResize)
    undo.push(() => void stdout.off('resize', onResize))
    stdin.on('data', (bytes: Buffer) => input.bytes(bytes, stdin))
    stdin.once('end', () => input.control({ end: true }))
    const output = pathOf`/apps/${application}/sessions/${session.id}/output`
    return await show(client.lines<OutputLine>(output, { signal: timeout }))
  } catch (error) {
    if (timeout?.aborted === true)
      throw new Failure(exitCodes.timeout, 'TIMEOUT', 'The time given with --timeout has passed.', {
        remedy: 'The program was ended. Give it more time, or use --detach.',
      })
    throw error
  } finally {
    restore()
    for (const each of undo) each()
    input.close()
    stdin.removeAllListeners('data').pause()
    stdin.unref?.()
  }
}

/** The program's terminal has made lines of its output already: Node alone would add a second carriage return. */
function makeRaw(stdin: NodeJS.ReadStream): void {
  stdin.setRawMode(true)
  spawnSync('stty', ['-opost'], { stdio: [0, 'ignore', 'ignore'] })
}

async function show(lines: AsyncIterable<OutputLine>): Promise<number> {
  try {
    for await (const { stdout, stderr, exit, reason, error } of lines) {
      if (stdout !== undefined) await write(process.stdout, stdout)
      if (stderr !== undefined) await write(process.stderr, stderr)
      const problem = error ?? reason
      if (problem !== undefined) process.stderr.write(`fairlead: ${toSafeText(problem)}\n`)
      if (exit !== undefined) return exit
      if (error !== undefined) return fairleadFailed
    }
  } catch (error) {
    if (!(error instanceof Failure) || error.exit !== exitCodes.unreachable) throw error
  }
  process.stderr.write(
    'fairlead: The connection to the instance broke off, and the program ends with it.\n',
  )
  return fairleadFailed
}

async function write(stream: Writable, base64: string): Promise<void> {
  if (!stream.write(Buffer.from(base64, 'base64'))) await once(stream, 'drain')
}

function sizeOf({ rows, columns }: NodeJS.WriteStream) {
  return { rows: rows || 24, columns: columns || 80 }
}

type Control = Readonly<Record<string, unknown>>

/** One request at a time, in order; bytes that come meanwhile are sent with the next one. */
class Input {
  readonly #client: Client
  readonly #path: string
  readonly #end = new AbortController()
  #bytes: Buffer[] = []
  #length = 0
  #controls: Control[] = []
  #isSending = false
  #source: NodeJS.ReadStream | undefined

  constructor(client: Client, path: string) {
    this.#client = client
    this.#path = path
  }

  bytes(bytes: Buffer, source: NodeJS.ReadStream): void {
    this.#bytes.push(bytes)
    this.#length += bytes.length
    this.#source = source
    if (this.#length >= mostBytes) source.pause()
    void this.#send()
  }

  control(control: Control): void {
    this.#controls.push(control)
    void this.#send()
  }

  close(): void {
    this.#end.abort()
  }

  async #send(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    try {
      while (!this.#end.signal.aborted && this.#length + this.#controls.length > 0) {
        await this.#client.post(this.#path, this.#next(), { signal: this.#end.signal })
        this.#source?.resume()
      }
    } catch {
      // The program has ended, which its output tells.
      this.#end.abort()
    } finally {
      this.#isSending = false
    }
  }

  /** Bytes first: the end of the input follows them. */
  #next(): Control {
    if (this.#length === 0) return this.#controls.shift() ?? {}
    const all = Buffer.concat(this.#bytes)
    const sent = all.subarray(0, mostBytes)
    this.#bytes = all.length > mostBytes ? [all.subarray(mostBytes)] : []
    this.#length = all.length - sent.length
    return { stdin: sent.toString('base64') }
  }
}
