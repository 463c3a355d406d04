/** Heads of responses whose constant headers are formatted and checked once. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import http from 'node:http'

type StoreHeader = (this: ServerResponse, firstLine: string, headers: unknown) => void

/** Formats the head of every response, between `writeHead` and the connection. */
const { _storeHeader: storeHeader } = http.OutgoingMessage.prototype as unknown as {
  readonly _storeHeader?: StoreHeader
}

class PreparedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends http.ServerResponse<Request> {
  /** Header lines that precede those of `writeHead`, each with its end. */
  preparedLines = ''

  _storeHeader(firstLine: string, headers: unknown): void {
    storeHeader?.call(this, firstLine + this.preparedLines, headers)
  }
}

/** For servers: their responses take prepared heads. Should Node no longer have the method, they take the same headers one by one. */
export const responseOptions = storeHeader !== undefined ? { ServerResponse: PreparedResponse } : {}

const lines = new WeakMap<Readonly<Record<string, string>>, string>()

/**
 * Adds headers to a response before its `writeHead`, which must not name any of them.
 *
 * @param headers One object for many responses: its lines are kept
 * @throws {TypeError} when a name or a value does not fit a header
 */
export function prepareHead(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
): void {
  if (response instanceof PreparedResponse)
    response.preparedLines += lines.getOrInsertComputed(headers, formatLines)
  else for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}

function formatLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => {
      http.validateHeaderName(name)
      http.validateHeaderValue(name, value)
      return `${name}: ${value}\r\n`
    })
    .join('')
}
