/** Responses whose constant headers are formatted and checked once. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { http } from '../node-http.ts'

type StoreHeader = (this: ServerResponse, firstLine: string, headers: unknown) => void

/** Formats the head of every response, between `writeHead` and the connection. It has no public counterpart. */
const { _storeHeader: storeHeader } = http.OutgoingMessage.prototype as unknown as { _storeHeader: StoreHeader }

/** What the ports make of each request. */
export class PreparedResponse<Request extends IncomingMessage = IncomingMessage> extends http.ServerResponse<Request> {
  /** Header lines that precede those of `writeHead`, each with its end. They are not checked again. */
  preparedLines = ''
  /** Milliseconds that Node announces to a client that may keep the connection. */
  declare _keepAliveTimeout: number

  _storeHeader(firstLine: string, headers: unknown): void {
    storeHeader.call(this, firstLine + this.preparedLines, headers)
  }
}

/** Headers that are the same for many responses. */
export class PreparedHeaders {
  readonly values: Readonly<Record<string, string>>
  /** As they are sent. */
  readonly lines: string

  /** @throws {TypeError} when a name or a value does not fit a header */
  constructor(values: Readonly<Record<string, string>>) {
    this.values = values
    this.lines = Object.entries(values).map(toLine).join('')
  }
}

function toLine([name, value]: [string, string]): string {
  http.validateHeaderName(name)
  http.validateHeaderValue(name, value)
  return `${name}: ${value}\r\n`
}
