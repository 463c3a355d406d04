/** Requests with `Expect: 100-continue`: the body is requested only when needed. */
import type { IncomingMessage, ServerResponse } from 'node:http'

const waiting = new WeakMap<IncomingMessage, { response: ServerResponse; keepsAlive: boolean }>()

/** An answer without an invitation ends the connection, since the body may come or not. */
export function awaitInvitation(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, { response, keepsAlive: response.shouldKeepAlive })
  response.shouldKeepAlive = false
}

/** Asks the client for the body, if it waits to be asked. */
export function inviteBody(request: IncomingMessage): void {
  const client = waiting.get(request)
  if (client === undefined) return
  waiting.delete(request)
  const { response, keepsAlive } = client
  if (response.headersSent || response.destroyed) return
  response.shouldKeepAlive = keepsAlive
  response.writeContinue()
}
