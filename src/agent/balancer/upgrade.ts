/** Upgrades, such as to WebSocket: 101 opens a tunnel, other responses are passed on. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ClientResponse } from './client-response.ts'
import type { Entrance } from './entrance.ts'
import { beginExchange } from './exchange.ts'
import type { ClientSide } from './request-head.ts'

/** HTTP itself is no other protocol: requests on such a connection would pass by the load balancer. */
export function mayUpgrade({ headers, method }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  const isHttp = /(?:^|,)\s*(?:h2c?|http|tls)\b/i.test(headers.upgrade ?? '')
  return !hasBody && !isHttp && method !== 'CONNECT' && /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(headers.connection ?? '')
}

export interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly socket: Socket
  /** What the client has sent after the request. */
  readonly rest: Buffer
}

export function beginUpgrade(entrance: Entrance, client: ClientSide, { request, socket, rest }: UpgradeRequest): void {
  socket.on('error', () => socket.destroy())
  const response = new ClientResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  response.once('close', () => response.exchange?.onClientClose())
  if (rest.length > 0) socket.unshift(rest)
  beginExchange(entrance, client, request, response, true)
}
