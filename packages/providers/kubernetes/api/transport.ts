/** Requests to an API server and their responses, read as a whole or piece by piece. */
import type { IncomingHttpHeaders } from 'node:http'
import { parseJson, RawNumber } from '@fairlead/base/json/json.ts'
import type { Dispatcher } from 'undici'
import { ApiError } from './api-error.ts'
import type { ApiConnection } from './connection.ts'
import type { LeasedConnections } from './connections.ts'

/** For objects that are written back: every digit is kept. @throws {ApiError} */
export function parseExactly(text: string): unknown {
  return parse(() => parseJson(text))
}

const longNumber = /\d{16}/

/** For lists and events, of which one strange object must not hide the others; keys of any name are kept. @throws {ApiError} */
export function parseLoosely(text: string): unknown {
  return parse(() => (longNumber.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)))
}

function parse(read: () => unknown): unknown {
  try {
    return read()
  } catch (cause) {
    const reason =
      cause instanceof SyntaxError
        ? 'it is no JSON; check whether its address leads to an API server'
        : (cause as Error).message
    throw new ApiError(`The response of the API server cannot be read: ${reason}`, {
      status: 502,
      cause,
    })
  }
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context?.source === undefined)
    return value
  return /^-?\d+$/.test(context.source) ? new RawNumber(context.source) : value
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Includes the query; below the path of the server. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body?: string | undefined
}

interface SendBounds {
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export interface StreamHandler {
  start(): void
  /** What it throws ends the request. */
  data(piece: Buffer): void
}

interface StreamEnd {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

const maxErrorBytes = 64 * 1024

/** Without HTTP/2 there are no pings: watches have bookmarks each minute. */
const plainSilenceMs = 150_000

export class Transport {
  readonly #basePath: string
  readonly #connections: Pick<LeasedConnections, 'give'>

  /** @param server Its path is put before those of requests */
  constructor(server: string, connections: Pick<LeasedConnections, 'give'>) {
    this.#basePath = new URL(server).pathname.replace(/\/$/, '')
    this.#connections = connections
  }

  /** @throws {ConnectFault}, the reason of the signal, or what undici reports */
  async send(
    request: ApiRequest,
    { maxBytes, signal }: SendBounds,
  ): Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }> {
    const pieces: Buffer[] = []
    let bytes = 0
    const data = (piece: Buffer) => {
      bytes += piece.length
      if (bytes > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`)
      pieces.push(piece)
    }
    const { status, headers, text } = await this.stream(request, { start() {}, data }, signal)
    return { status, headers, body: status < 400 ? Buffer.concat(pieces) : Buffer.from(text) }
  }

  /** Resolves when the response is over. @throws as `send` */
  stream(request: ApiRequest, handler: StreamHandler, signal: AbortSignal): Promise<StreamEnd> {
    return this.#give(signal, (connection) => {
      const reader = new StreamReader(handler, signal)
      const bodyTimeout = connection.isMultiplexed ? 0 : plainSilenceMs
      try {
        connection.dispatch({ ...this.#toOptions(request), bodyTimeout }, reader)
      } catch (error) {
        reader.fail(error)
      }
      return reader.over.promise
    })
  }

  /** A request may wait for a connection, or within one that is lost: the signal ends that, too. */
  #give<T>(signal: AbortSignal, use: (connection: ApiConnection) => Promise<T>): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    const leave = () => signal.removeEventListener('abort', abort)
    this.#connections
      .give((connection) => {
        signal.throwIfAborted()
        return use(connection)
      })
      .then(resolve, reject)
      .finally(leave)
    return promise
  }

  #toOptions({ method, path, headers, body }: ApiRequest): Dispatcher.DispatchOptions {
    return { method, path: this.#basePath + path, headers, ...(body !== undefined && { body }) }
  }
}

class StreamReader implements Dispatcher.DispatchHandler {
  readonly over = Promise.withResolvers<StreamEnd>()
  readonly #handler: StreamHandler
  readonly #signal: AbortSignal
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: IncomingHttpHeaders = {}
  readonly #error: Buffer[] = []
  #errorBytes = 0

  constructor(handler: StreamHandler, signal: AbortSignal) {
    this.#handler = handler
    this.#signal = signal
    signal.addEventListener('abort', this)
  }

  handleEvent(): void {
    this.#controller?.abort(this.#signal.reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) this.handleEvent()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    if (status < 400) this.#handler.start()
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#status < 400) return void this.#handler.data(piece)
    this.#errorBytes += piece.length
    if (this.#errorBytes <= maxErrorBytes) this.#error.push(piece)
  }

  onResponseEnd(): void {
    this.#leave()
    this.over.resolve({
      status: this.#status,
      headers: this.#headers,
      text: Buffer.concat(this.#error).toString('utf8'),
    })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error)
  }

  fail(error: unknown): void {
    this.#leave()
    this.over.reject(error)
  }

  #leave(): void {
    this.#signal.removeEventListener('abort', this)
  }
}
