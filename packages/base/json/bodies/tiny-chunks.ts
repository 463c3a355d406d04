/** Bound on the chunks of a request body: one costs the same whatever its length, which may be a byte. */
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../errors.ts'
import { dropBody } from '../../runtime/drop-input.ts'
import { filterChunks } from '../../runtime/sockets.ts'

/** So many chunks are accepted of any body; more must have so many bytes on average. */
const freeChunks = 500
const minChunkBytes = 16

type ErrorListener = (error: GatewayError) => void

interface Chunks {
  error: GatewayError | undefined
  readonly listeners: Set<ErrorListener>
}

const known = new WeakMap<IncomingMessage, Chunks>()

/**
 * Counts the chunks as the parser finds them: a packet may hold ten thousand, all of which it would make objects of, before any reader of
 * the body has its turn. Those beyond the bound are skipped.
 */
export function boundChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const chunks: Chunks = { error: undefined, listeners: new Set() }
  known.set(request, chunks)
  let [count, bytes] = [0, 0]
  filterChunks(request, ({ length }) => {
    if (chunks.error !== undefined) return false
    bytes += length
    if (++count <= freeChunks + bytes / minChunkBytes) return true
    chunks.error = tooSmall()
    dropBody(request.socket)
    for (const tell of chunks.listeners) tell(chunks.error)
    return false
  })
}

/** Calls `tell` when chunks of the body were skipped, at once where that has happened already. @returns a function that ends this */
export function onTinyChunks(request: IncomingMessage, tell: ErrorListener): () => void {
  const chunks = known.get(request)
  if (chunks?.error !== undefined) tell(chunks.error)
  chunks?.listeners.add(tell)
  return () => void chunks?.listeners.delete(tell)
}

function tooSmall(): GatewayError {
  const message =
    'The body comes in very small chunks. Send it with Content-Length, or in chunks of some kilobytes.'
  return new GatewayError('UNREADABLE_BODY', message, { headers: { connection: 'close' } })
}
