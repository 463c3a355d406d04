/** Lingering close: reads and drops the rest of a request before the connection ends. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

interface LingerBounds {
  readonly maxBytes: number
  /** In all. */
  readonly maxMs: number
  /** After the last byte of the request, for the client to close. */
  readonly farewellMs: number
}

/**
 * Closes the sending side, and the rest when the client closes, has sent its request, or exceeds a bound. A connection that is
 * closed with unread bytes is reset, and many clients then report the reset instead of the answer.
 */
export function linger(socket: Socket, request: IncomingMessage, { maxBytes, maxMs, farewellMs }: LingerBounds): void {
  let left = maxBytes
  let timer = setTimeout(() => socket.destroy(), maxMs).unref()
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
  request.once('end', () => {
    clearTimeout(timer)
    timer = setTimeout(() => socket.destroy(), farewellMs).unref()
  })
  socket.once('close', () => clearTimeout(timer))
  socket.on('error', () => socket.destroy())
  socket.end()
  request.resume()
}
