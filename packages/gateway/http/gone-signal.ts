/** Ends what is done for a client that goes away. */
import type { ServerResponse } from 'node:http'

export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (response.destroyed) gone.abort()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  return gone.signal
}
