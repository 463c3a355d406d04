/** Responses on a connection itself, past the framework. */

import type { IncomingMessage } from 'node:http'
import http from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '@fairlead/base/errors.ts'
import { dropBody } from '@fairlead/base/runtime/drop-input.ts'

export function formatRefusal({ code, status, message, details }: GatewayError): string {
  const reason = http.STATUS_CODES[status] ?? 'Error'
  const body = JSON.stringify({ timestamp: Date.now(), status, error: reason, message, code })
  const headers = {
    ...details.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${body}`
}

export function tooManyConnections(
  max: number,
  setting: 'http.maxConnectionsPerAddress' | 'http.maxConnections',
): GatewayError {
  const whose = setting === 'http.maxConnections' ? '' : ' from this address'
  const message = `More than ${max} connections are open${whose}. Close some, or raise ${setting}.`
  return new GatewayError('TOO_MANY_CONNECTIONS', message, { headers: { 'retry-after': '1' } })
}

export function connectRefused(): GatewayError {
  return new GatewayError(
    'METHOD_NOT_ALLOWED',
    'CONNECT is not offered: this is a gateway, and no proxy.',
    {
      headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
    },
  )
}

export function toClientError(code: string | undefined): GatewayError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new GatewayError(
      'HEADERS_TOO_LARGE',
      'The request line and headers are too large. Send fewer or shorter headers and parameters.',
    )
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayError(
      'REQUEST_TIMEOUT',
      'The request was not complete in time. Send it again.',
    )
  }
  return new GatewayError(
    'BAD_ARGUMENT',
    'The request is not well-formed HTTP. Encode the path and send valid headers.',
  )
}

interface LingerBounds {
  readonly maxBytes: number
  readonly maxMs: number
  readonly farewellMs: number
}

/** Node emits no event for unread input. */
const checkMs = 50

/**
 * Closes the sending side, and the rest when the client closes, has sent its request, or exceeds a bound. A connection that is
 * closed with unread bytes is reset, and many clients then report the reset instead of the answer.
 */
export function linger(
  socket: Socket,
  request: IncomingMessage,
  { maxBytes, maxMs, farewellMs }: LingerBounds,
): void {
  const lastByte = socket.bytesRead + maxBytes
  let timer = setTimeout(() => socket.destroy(), maxMs).unref()
  const check = setInterval(() => {
    if (socket.bytesRead > lastByte) socket.destroy()
  }, checkMs).unref()
  request.once('end', () => {
    clearTimeout(timer)
    timer = setTimeout(() => socket.destroy(), farewellMs).unref()
  })
  socket.once('close', () => {
    clearTimeout(timer)
    clearInterval(check)
  })
  socket.on('error', () => socket.destroy())
  dropBody(socket)
  socket.end()
  request.resume()
}
