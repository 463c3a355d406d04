/** The session cookie as text: what is sent to the browser, and the identifiers found in what a browser sends. */
import type { SessionSettings } from './settings.ts'

export interface CookieRules {
  readonly settings: SessionSettings['cookie']
  /** Empty, or a prefix such as `/api/v1`. */
  readonly contextPath: string
}

/** 256 bits in base64url. Anything else was not given out by this gateway and is not looked up. */
const identifier = /^[A-Za-z0-9_-]{43}$/
/** A browser sends several cookies of one name when domains or paths overlap. */
const maxCandidates = 3

/**
 * The identifiers in a `Cookie` header that could be sessions, in the order in which the browser sends them.
 * Never fails: a header that nobody can read holds none.
 */
export function parseSessionCookie(header: string | undefined, name: string): string[] {
  if (header === undefined) return []
  const found: string[] = []
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals === -1 || pair.slice(0, equals).trim() !== name) continue
    const value = pair.slice(equals + 1).trim()
    if (identifier.test(value) && found.push(value) === maxCandidates) break
  }
  return found
}

/** @see authentication contract, section 1.10: no SameSite and no Max-Age unless they are configured. */
export function formatSessionCookie(id: string, secure: boolean, rules: CookieRules): string {
  const { maxAgeSeconds } = rules.settings
  return formatCookie(id, maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`, secure, rules)
}

export function formatClearedCookie(secure: boolean, rules: CookieRules): string {
  return formatCookie('', '; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT', secure, rules)
}

function formatCookie(value: string, lifetime: string, requestIsSecure: boolean, { settings, contextPath }: CookieRules): string {
  const secure = settings.secure === 'auto' ? requestIsSecure : settings.secure
  const sameSite = { none: 'None', lax: 'Lax', strict: 'Strict' } as const
  return [
    `${settings.name}=${value}${lifetime}`,
    ...(settings.domain === undefined ? [] : [`Domain=${settings.domain}`]),
    `Path=${contextPath}/`,
    ...(secure ? ['Secure'] : []),
    'HttpOnly',
    ...(settings.sameSite === undefined ? [] : [`SameSite=${sameSite[settings.sameSite]}`]),
  ].join('; ')
}
