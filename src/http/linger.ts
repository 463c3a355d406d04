/** Lingering close: drops the rest of a request before the connection ends. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { dropBody } from '../runtime/drop-input.ts'

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
export function linger(socket: Socket, request: IncomingMessage, { maxBytes, maxMs, farewellMs }: LingerBounds): void {
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
