/** Which request a browser is sent back to after the login, and in what form it is remembered. */
import type { FastifyRequest } from 'fastify'

const maxLength = 16_384

/**
 * Path and query of a request that a browser made to show a page; undefined for what a script or a program asked, and for
 * everything but GET. The origin is left out: it comes from the request that completes the login.
 *
 * @see authentication contract, section 1.9
 */
export function toSavedPath(request: FastifyRequest): string | undefined {
  const { method, headers, url, state } = request
  if (method !== 'GET' || state.path === '/favicon.ico' || url.length > maxLength) return undefined
  if (String(headers['x-requested-with'] ?? '').toLowerCase() === 'xmlhttprequest') return undefined
  if (isForPrograms(headers.accept)) return undefined
  const mark = url.indexOf('?')
  return state.path + (mark === -1 ? '' : url.slice(mark))
}

/** The client takes JSON, YAML or events and nothing else, so it is no browser that shows a page. */
export function isForPrograms(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return false
  return accept
    .split(',')
    .every((range) => /^\s*(application\/([\w.-]+\+)?(json|(x-)?yaml)|text\/event-stream)\s*(;|$)/i.test(range))
}
