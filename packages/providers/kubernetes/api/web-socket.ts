/** The client's side of a WebSocket on an open connection: messages of bytes. @see RFC 6455 */
import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { written } from '@fairlead/base/net/exec-frames.ts'

const opcodes = { continuation: 0, binary: 2, close: 8, ping: 9, pong: 10 } as const
const finalBit = 0x80
const maskBit = 0x80
/** 1000, as two bytes. */
const normalClosure = Buffer.from([3, 232])
const maxMessageBytes = 4 * 1024 * 1024

/** Headers that ask for an upgrade. */
export function upgradeHeaders(protocol: string): Record<string, string> {
  return {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
    'sec-websocket-protocol': protocol,
  }
}

export class WebSocketClient {
  readonly #connection: Duplex

  constructor(connection: Duplex) {
    this.#connection = connection
    connection.on('error', () => connection.destroy())
  }

  /** Resolves when more can be sent. */
  send(message: Buffer): Promise<void> {
    return written(this.#connection, formatFrame(opcodes.binary, message))
  }

  close(): void {
    const connection = this.#connection
    if (!connection.writable) return void connection.destroy()
    connection.end(formatFrame(opcodes.close, normalClosure), () => connection.destroy())
  }

  /** Ends with the connection. @throws {Error} for a message that is too large */
  async *messages(): AsyncGenerator<Buffer> {
    let parts: Buffer[] = []
    for await (const { opcode, isFinal, payload } of readFrames(this.#connection)) {
      if (opcode === opcodes.close) return
      if (opcode === opcodes.ping)
        await written(this.#connection, formatFrame(opcodes.pong, payload))
      if (opcode >= opcodes.close) continue
      parts.push(payload)
      if (!isFinal) continue
      yield Buffer.concat(parts)
      parts = []
    }
  }
}

interface SocketFrame {
  readonly opcode: number
  readonly isFinal: boolean
  readonly payload: Buffer
}

async function* readFrames(connection: Duplex): AsyncGenerator<SocketFrame> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of connection as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    for (let frame = parseFrame(rest); frame !== undefined; frame = parseFrame(rest)) {
      yield frame
      rest = rest.subarray(frame.length)
    }
  }
}

/** Undefined while it has not arrived as a whole; servers mask nothing. */
function parseFrame(bytes: Buffer): (SocketFrame & { readonly length: number }) | undefined {
  const [first = 0, second = 0] = bytes
  const short = second & 0x7f
  const headBytes = short === 126 ? 4 : short === 127 ? 10 : 2
  if (bytes.length < headBytes) return undefined
  const size =
    short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
  if (size > maxMessageBytes) throw new Error(`A message of ${size} bytes is too large.`)
  if (bytes.length < headBytes + size) return undefined
  return {
    opcode: first & 0x0f,
    isFinal: (first & finalBit) !== 0,
    payload: bytes.subarray(headBytes, headBytes + size),
    length: headBytes + size,
  }
}

function formatFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  const size =
    length < 126
      ? Buffer.from([maskBit | length])
      : length < 0x10000
        ? Buffer.from([maskBit | 126, length >> 8, length & 0xff])
        : Buffer.concat([Buffer.from([maskBit | 127]), bigSize(length)])
  const mask = randomBytes(4)
  const masked = Buffer.from(payload)
  for (let at = 0; at < length; at++) masked[at]! ^= mask[at & 3]!
  return Buffer.concat([Buffer.from([finalBit | opcode]), size, mask, masked])
}

function bigSize(length: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(length))
  return bytes
}
