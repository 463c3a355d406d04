/** Has the parser of Node skip the rest of a body that no one reads. */
import type { Socket } from 'node:net'

/** Places of its listeners in the parser, see `HTTPParser` of Node. */
const onBody = 3
const onMessageComplete = 4

type Parser = Record<number, unknown>

/**
 * Skips what is left of the body of the request that arrives on a connection. Dropping each chunk would cost as much as reading it, and a
 * packet may have ten thousand. The next request is read as usual.
 */
export function dropBody(socket: Socket & { parser?: Parser | null }): void {
  const { parser } = socket
  const [body, complete] = [parser?.[onBody], parser?.[onMessageComplete]]
  if (parser == null || typeof body !== 'function' || typeof complete !== 'function') return
  const restore = () => {
    parser[onBody] = body
    parser[onMessageComplete] = complete
  }
  parser[onBody] = undefined
  // The next request may lie in the same packet.
  parser[onMessageComplete] = function (this: unknown, ...args: unknown[]): unknown {
    restore()
    socket.off('close', restore)
    return complete.apply(this, args)
  }
  // By then Node keeps the parser for another connection.
  socket.once('close', restore)
}
