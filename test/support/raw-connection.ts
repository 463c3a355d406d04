/** One connection, with TLS where the address says so, that speaks HTTP as the test writes it, byte by byte, and reads the answers in order. */
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'

export interface RawAnswer {
  status: number
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>
  body: string
}

/** Answers are read in order; the connection ends with the test. */
export interface RawConnection {
  send(text: string | Buffer): void
  /** The next answer; rejects when the connection ends before it is complete. @param toHead It has headers only. */
  next(options?: { toHead?: boolean }): Promise<RawAnswer>
  /** Resolves when the other side has closed the connection. */
  readonly ended: Promise<void>
  readonly socket: Socket
}

const firstRoomBytes = 65_536

export async function openRawConnection(t: TestContext, base: string): Promise<RawConnection> {
  const { hostname: host, port, protocol } = new URL(base)
  const isSecure = protocol === 'https:'
  const target = { port: Number(port), host }
  const socket: Socket = isSecure
    ? connectTls({ ...target, rejectUnauthorized: false })
    : connect(target)
  const ready = isSecure ? 'secureConnect' : 'connect'
  await new Promise<void>((resolve, reject) => socket.once(ready, resolve).once('error', reject))
  // Of twice the size when it is full: an answer of megabytes is not copied with each piece.
  let room = Buffer.alloc(firstRoomBytes)
  let [begin, end] = [0, 0]
  let over = false
  let wake = () => {}
  socket.on('data', (chunk: Buffer) => {
    if (end + chunk.length > room.length) {
      const larger = Buffer.alloc(2 * (end - begin + chunk.length))
      room.copy(larger, 0, begin, end)
      room = larger
      ;[begin, end] = [0, end - begin]
    }
    end += chunk.copy(room, end)
    wake()
  })
  socket.on('error', () => {})
  const ended = new Promise<void>((resolve) => {
    socket.once('close', () => {
      over = true
      wake()
      resolve()
    })
  })
  t.after(() => void socket.destroy())

  async function next({ toHead = false } = {}): Promise<RawAnswer> {
    for (;;) {
      const parsed = parse(room.subarray(begin, end), toHead)
      if (parsed !== undefined) {
        begin += parsed.length
        if (parsed.answer.status >= 200) return parsed.answer
        continue
      }
      if (over)
        throw new Error(
          `the connection ended within an answer: ${JSON.stringify(room.toString('latin1', begin, end))}`,
        )
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { send: (text) => void socket.write(text), next, ended, socket }
}

function parse(bytes: Buffer, toHead: boolean): { answer: RawAnswer; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const status = Number(statusLine.split(' ')[1])
  const from = end + 4
  const body =
    toHead || status < 200 ? { text: '', length: 0 } : parseBody(bytes.subarray(from), headers)
  return body && { answer: { status, headers, body: body.text }, length: from + body.length }
}

function parseBody(
  bytes: Buffer,
  headers: Record<string, string>,
): { text: string; length: number } | undefined {
  if (headers['transfer-encoding'] === 'chunked') return parseChunks(bytes)
  const length = Number(headers['content-length'] ?? 0)
  return bytes.length < length
    ? undefined
    : { text: bytes.subarray(0, length).toString('utf8'), length }
}

function parseChunks(bytes: Buffer): { text: string; length: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line === -1) return undefined
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16)
    if (Number.isNaN(size)) throw new Error('a chunk has no size')
    const end = line + 2 + size + 2
    if (bytes.length < end) return undefined
    if (size === 0) return { text: Buffer.concat(chunks).toString('utf8'), length: end }
    chunks.push(bytes.subarray(line + 2, line + 2 + size))
    at = end
  }
}
