/** Responses to clients: their exchange, and those of the load balancer itself. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { http } from '@fairlead/base/runtime/node-http.ts'

/** A response that knows its exchange, so that no function has to be made for each request. */
export class ClientResponse extends http.ServerResponse {
  exchange: { onClientClose(): void } | undefined
  port: { endTurn(socket: Socket): void } | undefined
}

/** A request of HTTP/2. Its version does not tell: a client of HTTP/1.1 may name any. */
export function isStream(request: IncomingMessage): boolean {
  return 'stream' in request
}

export interface BalancerRefusal {
  readonly status: number
  readonly text: string
  readonly retryAfterSeconds?: number
  readonly closes: boolean
  /** Names and values in turn. */
  readonly headers?: readonly string[]
  /** HTML in place of the text. */
  readonly page?: string
}

export function refuse(
  response: ClientResponse,
  { status, text, retryAfterSeconds, closes, headers: further = [], page }: BalancerRefusal,
): void {
  const body = page ?? `${status} ${http.STATUS_CODES[status]}\n${text}\n`
  const headers = [
    'content-type',
    page === undefined ? 'text/plain; charset=utf-8' : 'text/html; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(body)),
    ...further,
  ]
  if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds))
  if (closes) headers.push('connection', 'close')
  response.writeHead(status, headers)
  response.end(body)
}
