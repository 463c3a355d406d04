/** Has the parser of Node skip unread input: the rest of a body, or requests that get no answer. */
import type { Socket } from 'node:net'

/** Places of its listeners in the parser, see `HTTPParser` of Node. */
const onHeaders = 1
const onHeadersComplete = 2
const onBody = 3
const onMessageComplete = 4

type Parser = Record<number, unknown>
type ParsedSocket = Socket & { parser?: Parser | null }

/**
 * Skips what is left of the body of the request that arrives on a connection. Dropping each chunk would cost as much as reading it, and a
 * packet may have ten thousand. The next request is read as usual.
 */
export function dropBody(socket: ParsedSocket): void {
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

/**
 * Skips all further requests of a connection. Pausing it does not help: Node reads from the system past the stream, and makes objects of ten
 * thousand requests in one packet.
 */
export function dropRequests(socket: ParsedSocket): void {
  const { parser } = socket
  if (parser == null) return
  const listeners = [onHeaders, onHeadersComplete, onBody, onMessageComplete].map(
    (place) => [place, parser[place]] as const,
  )
  for (const [place] of listeners) parser[place] = undefined
  // By then Node keeps the parser for another connection.
  socket.once('close', () => {
    for (const [place, listener] of listeners) parser[place] = listener
  })
}
