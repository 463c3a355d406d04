/** Frames of a program that is run for a client: its streams and what controls it, over one connection. */
import type { Duplex, Writable } from 'node:stream'

/** What a client wants to run in an instance. */
export interface ExecRequest {
  readonly command: readonly string[]
  /** Undefined: streams without a terminal. */
  readonly terminal?: TerminalSize
}

export interface TerminalSize {
  readonly rows: number
  readonly columns: number
}

/** What a client sends to a program that runs. */
export type ExecInput =
  | { readonly kind: 'stdin'; readonly bytes: Buffer }
  | { readonly kind: 'end' }
  | { readonly kind: 'resize'; readonly size: TerminalSize }
  | { readonly kind: 'signal'; readonly name: string }

/** What a program gives; `exit` is the last. */
export type ExecOutput =
  | { readonly kind: 'stdout' | 'stderr'; readonly bytes: Buffer }
  /** `code` as a shell reports it: 128 and its number for a signal. */
  | { readonly kind: 'exit'; readonly code: number; readonly reason?: string }

/** A program that runs for a client. */
export interface ExecConnection {
  /** Ends with `exit`, or when the connection breaks. */
  readonly output: AsyncIterable<ExecOutput>
  /** Resolves when more can be taken. */
  send(input: ExecInput): Promise<void>
  /** Ends the program. */
  close(): void
}

/** The protocol of the connection to the agent, for the header `Upgrade`. */
export const execProtocol = 'fairlead-exec'

const channels = { json: 0, stdin: 1, stdout: 2, stderr: 3 } as const
type ChannelName = keyof typeof channels
const headBytes = 5
const maxFrameBytes = 1024 * 1024

export interface Frame {
  readonly channel: ChannelName
  readonly bytes: Buffer
}

/** One byte for the channel, four for the length, then the bytes. */
export function formatFrame(channel: ChannelName, bytes: Buffer): Buffer {
  const head = Buffer.alloc(headBytes)
  head[0] = channels[channel]
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

export function formatJsonFrame(value: object): Buffer {
  return formatFrame('json', Buffer.from(JSON.stringify(value)))
}

/** Ends with the connection. @throws {Error} for what is no frame */
export async function* readFrames(connection: Duplex): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of connection as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    while (rest.length >= headBytes) {
      const length = rest.readUInt32BE(1)
      if (length > maxFrameBytes) throw new Error(`A frame of ${length} bytes is too large.`)
      if (rest.length < headBytes + length) break
      yield { channel: channelOf(rest[0]), bytes: rest.subarray(headBytes, headBytes + length) }
      rest = rest.subarray(headBytes + length)
    }
  }
}

function channelOf(byte: number | undefined): ChannelName {
  const found = Object.entries(channels).find(([, number]) => number === byte)
  if (found === undefined) throw new Error(`There is no channel ${byte}.`)
  return found[0] as ChannelName
}

/** Resolves when the stream can take more, also where it takes nothing any more. */
export function written(stream: Writable, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (!stream.writable || stream.write(bytes, () => resolve())) resolve()
  })
}
