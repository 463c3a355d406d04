/** The request that a browser returns to after the login. */
import type { FastifyRequest } from 'fastify'
import { isNavigation } from '../http/caller.ts'

export interface SavedRequest {
  /** Path and query, without context path and origin: that comes from the request that completes the login. */
  readonly path: string
  /** The web UI has asked to be returned to; no other request takes its place. */
  readonly isReturn: boolean
}

/** The path by which the web UI starts a login; it names the page to come back to. */
const returnPath = '/auth/redirect'

/**
 * The page that a browser was about to open; undefined for what a script or a program asked, and for everything but GET.
 *
 * @see docs/contracts/authentication.md#saved-request
 */
export function toSavedRequest({
  method,
  headers,
  url,
  state,
}: FastifyRequest): SavedRequest | undefined {
  if (
    method !== 'GET' ||
    state.path === '/favicon.ico' ||
    !isNavigation(headers) ||
    isPrefetch(headers)
  )
    return undefined
  const mark = url.indexOf('?')
  return {
    path: state.path + (mark === -1 ? '' : url.slice(mark)),
    isReturn: state.path === returnPath,
  }
}

/** The browser guesses what its user will open next. */
function isPrefetch(headers: FastifyRequest['headers']): boolean {
  return ['sec-purpose', 'purpose', 'x-moz'].some((name) =>
    /\bprefetch\b/.test(String(headers[name] ?? '')),
  )
}
