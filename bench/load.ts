/**
 * A load generator on plain sockets: connections that each send the same request, wait for the whole answer, and send again.
 * An HTTP client would cost more processor time than what is measured. It reads answers with a content length only.
 */
import { createConnection, type Socket } from 'node:net'
import { connect } from 'node:tls'

export interface LoadRequest {
  port: number
  /** With TLS; any certificate will do. */
  isSecure?: boolean
  /** Default: GET. */
  method?: string
  /** `{connection}` stands for the number of the connection, from 0. */
  path: string
  headers?: Record<string, string>
  connections: number
  seconds: number
  /** Before these, in which answers are not counted: thousands of connections take their time to open. */
  settleSeconds?: number
  /** Requests a second altogether; without it every connection sends as soon as it has its answer. */
  rate?: number
  /** The status that counts, 200 unless given. */
  status?: number
  /** Other statuses, which are counted as refused. */
  tolerated?: readonly number[]
}

export interface LoadResult {
  /** Answered with the status that counts. */
  requests: number
  refused: number
  requestsPerSecond: number
  megabytesPerSecond: number
  /** Milliseconds from sending to the last byte of the answer. */
  p50: number
  p99: number
}

/** @throws {Error} for any other status, and for a connection that breaks off. */
export async function load({
  port,
  isSecure = false,
  method = 'GET',
  path,
  headers = {},
  connections,
  seconds,
  settleSeconds = 0,
  rate,
  status: wanted = 200,
  tolerated = [],
}: LoadRequest): Promise<LoadResult> {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    accept: 'application/json',
    ...headers,
  })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const requestOf = (connection: number) =>
    Buffer.from(
      `${method} ${path.replace('{connection}', String(connection))} HTTP/1.1\r\n${head}\r\n`,
    )
  const latencies: number[] = []
  let bytes = 0
  let refused = 0
  const startedAt = performance.now()
  const countedAt = startedAt + settleSeconds * 1000
  const endsAt = countedAt + seconds * 1000
  const pauseMs = rate === undefined ? 0 : (connections * 1000) / rate
  const onAnswer = (status: number, ms: number, size: number) => {
    if (performance.now() < countedAt) return
    if (status !== wanted) {
      refused++
      return
    }
    latencies.push(ms)
    bytes += size
  }
  await Promise.all(
    Array.from({ length: connections }, (_, index) => {
      const firstAt = startedAt + (pauseMs * index) / connections
      return new Connection({ port, isSecure }, requestOf(index), {
        onAnswer,
        statuses: [wanted, ...tolerated],
      }).run({
        firstAt,
        endsAt,
        pauseMs,
      })
    }),
  )
  const elapsed = (performance.now() - countedAt) / 1000
  const sorted = Float64Array.from(latencies).sort()
  const quantile = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return {
    requests: sorted.length,
    refused,
    requestsPerSecond: sorted.length / elapsed,
    megabytesPerSecond: bytes / 1e6 / elapsed,
    p50: quantile(0.5),
    p99: quantile(0.99),
  }
}

interface Schedule {
  firstAt: number
  endsAt: number
  /** Between the starts of two requests; 0 for none. */
  pauseMs: number
}

interface Expected {
  onAnswer: (status: number, ms: number, bytes: number) => void
  statuses: readonly number[]
}

type Address = Required<Pick<LoadRequest, 'port' | 'isSecure'>>

class Connection {
  readonly #socket: Socket
  readonly #request: Buffer
  readonly #expected: Expected
  #status = 0
  #head: Buffer = Buffer.alloc(0)
  /** Bytes of the body that are still to come; -1 while the head is read. */
  #remaining = -1
  #length = 0
  #sentAt = 0
  #answered: (() => void) | undefined
  #failed: ((error: Error) => void) | undefined

  constructor({ port, isSecure }: Address, request: Buffer, expected: Expected) {
    const socket = createConnection({ port, host: '127.0.0.1', noDelay: true })
    this.#socket = isSecure ? connect({ socket, rejectUnauthorized: false }) : socket
    this.#request = request
    this.#expected = expected
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#socket.on('error', (error) => this.#failed?.(error))
    this.#socket.on('close', () =>
      this.#failed?.(new Error('The connection was closed before the answer was complete.')),
    )
  }

  /** Sends until the time is over; a request that was started is finished. */
  async run({ firstAt, endsAt, pauseMs }: Schedule): Promise<void> {
    try {
      for (let next = firstAt; performance.now() < endsAt && next < endsAt; next += pauseMs) {
        const wait = pauseMs === 0 ? 0 : next - performance.now()
        if (wait > 0.5) await new Promise((resolve) => setTimeout(resolve, wait))
        await this.#ask()
      }
    } finally {
      this.#failed = undefined
      this.#socket.destroy()
    }
  }

  #ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve
      this.#failed = reject
      this.#sentAt = performance.now()
      this.#socket.write(this.#request)
    })
  }

  #read(chunk: Buffer): void {
    let body = chunk
    if (this.#remaining === -1) {
      this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk])
      const end = this.#head.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = this.#head.toString('latin1', 0, end)
      this.#status = Number(head.slice(9, 12))
      const length = this.#status === 304 ? '0' : /^content-length: (\d+)/im.exec(head)?.[1]
      if (!this.#expected.statuses.includes(this.#status) || length === undefined) {
        this.#failed?.(new Error(`Not an answer that can be measured:\n${head}`))
        return
      }
      body = this.#head.subarray(end + 4)
      this.#head = Buffer.alloc(0)
      this.#remaining = this.#length = Number(length)
    }
    this.#remaining -= body.length
    if (this.#remaining > 0) return
    this.#remaining = -1
    this.#expected.onAnswer(this.#status, performance.now() - this.#sentAt, this.#length)
    this.#answered?.()
  }
}
