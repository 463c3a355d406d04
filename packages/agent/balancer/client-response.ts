/** Responses to clients: their exchange, and those of the load balancer itself. */
import type { ServerResponse } from 'node:http'
import { http } from '@fairlead/base/runtime/node-http.ts'
import type { Entrance } from './entrance.ts'

/** A response that knows its exchange, so that no function has to be made for each request. */
export class ClientResponse extends http.ServerResponse {
  exchange: { onClientClose(): void } | undefined
  entrance: Entrance | undefined
}

export interface BalancerRefusal {
  readonly status: number
  readonly text: string
  readonly retryAfterSeconds?: number | undefined
  readonly closes: boolean
}

export function refuse(
  response: ServerResponse,
  { status, text, retryAfterSeconds, closes }: BalancerRefusal,
): void {
  const body = `${status} ${http.STATUS_CODES[status]}\n${text}\n`
  const headers = [
    'content-type',
    'text/plain; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(body)),
  ]
  if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds))
  if (closes) headers.push('connection', 'close')
  response.writeHead(status, headers)
  response.end(body)
}
