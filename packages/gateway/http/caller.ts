/** Kinds of clients without login: browsers, scripts of the web UI, programs. */
import type { IncomingHttpHeaders } from 'node:http'
import { rangesOf } from './parse-accept.ts'

/**
 * `page`: a browser opens it, so the login page helps. `web-ui`: a script of Deck, which notices the end of a session by the
 * login page that it is redirected to, and by nothing else. `program`: everything else; it needs a status that says what is wrong.
 */
type CallerKind = 'page' | 'web-ui' | 'program'

export function callerOf(headers: IncomingHttpHeaders): CallerKind {
  if (isNavigation(headers)) return 'page'
  return String(headers['x-ratelimit-app'] ?? '').toLowerCase() === 'deck' ? 'web-ui' : 'program'
}

export function isNavigation(headers: IncomingHttpHeaders): boolean {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers
  if (String(headers['x-requested-with'] ?? '').toLowerCase() === 'xmlhttprequest') return false
  if ((mode ?? 'navigate') !== 'navigate' || (destination ?? 'document') !== 'document')
    return false
  return acceptsPages(headers.accept)
}

function acceptsPages(accept = ''): boolean {
  return rangesOf(accept).some(
    ({ type, weight }) => /^(?:text\/html|application\/xhtml\+xml)$/.test(type) && weight > 0,
  )
}

/** A browser sends the request, whether it opens a page or runs a script. It shows a dialog of its own for `Basic` challenges. */
export function isBrowser(headers: IncomingHttpHeaders): boolean {
  const named = ['sec-fetch-mode', 'origin', 'x-requested-with'].some((name) =>
    Boolean(headers[name]),
  )
  return named || /^Mozilla\//.test(headers['user-agent'] ?? '')
}
