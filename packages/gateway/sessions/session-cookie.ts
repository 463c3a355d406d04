/** Parser and formatter of the session cookie. */
import { isHostOnly, needsSecure, readCookies } from '../http/cookies.ts'
import type { SessionSettings } from './settings.ts'

export interface CookieRules {
  readonly settings: SessionSettings['cookie']
  readonly contextPath: string
}

/** 256 bits in base64url. Anything else was not given out by this gateway and is not looked up. */
const identifier = /^[A-Za-z0-9_-]{43}$/
/** A browser sends several cookies of one name when domains or paths overlap. */
const maxCandidates = 3

export function parseSessionCookie(header: string | undefined, name: string): string[] {
  const values = readCookies(header, (one) => one === name).map(({ value }) => value)
  return values.filter((value) => identifier.test(value)).slice(0, maxCandidates)
}

/** @see docs/contracts/authentication.md#session: no SameSite and no Max-Age unless they are configured. */
export function formatSessionCookie(id: string, secure: boolean, rules: CookieRules): string {
  const { maxAgeSeconds, sameSite } = rules.settings
  return formatCookie(
    { name: rules.settings.name, value: id, maxAgeSeconds, sameSite },
    secure,
    rules,
  )
}

export function formatClearedCookie(secure: boolean, rules: CookieRules): string {
  const { name, sameSite } = rules.settings
  return formatCookie({ name, value: '', maxAgeSeconds: 0, sameSite }, secure, rules)
}

/**
 * A cookie beside that of the session, for the login. An identity provider may send the browser back by a form, with which
 * browsers send only cookies that are explicitly meant for other sites; they accept such cookies over TLS alone.
 */
export function formatLoginCookie(
  cookie: { name: string; value: string; maxAgeSeconds: number },
  secure: boolean,
  rules: CookieRules,
): string {
  return formatCookie(
    { ...cookie, sameSite: isSecure(secure, rules) ? 'none' : undefined },
    secure,
    rules,
  )
}

interface CookieParts {
  readonly name: string
  readonly value: string
  readonly maxAgeSeconds: number | undefined
  readonly sameSite: SessionSettings['cookie']['sameSite']
}

const sameSiteNames = { none: 'None', lax: 'Lax', strict: 'Strict' } as const

function formatCookie(
  { name, value, maxAgeSeconds, sameSite }: CookieParts,
  requestIsSecure: boolean,
  rules: CookieRules,
): string {
  const { settings, contextPath } = rules
  return [
    `${name}=${value}`,
    ...(maxAgeSeconds === undefined ? [] : [`Max-Age=${maxAgeSeconds}`]),
    ...(maxAgeSeconds === 0 ? ['Expires=Thu, 01 Jan 1970 00:00:00 GMT'] : []),
    ...(settings.domain === undefined ? [] : [`Domain=${settings.domain}`]),
    `Path=${isHostOnly(settings.name) ? '' : contextPath}/`,
    ...(isSecure(requestIsSecure, rules) ? ['Secure'] : []),
    'HttpOnly',
    ...(sameSite === undefined ? [] : [`SameSite=${sameSiteNames[sameSite]}`]),
  ].join('; ')
}

function isSecure(requestIsSecure: boolean, { settings }: CookieRules): boolean {
  if (needsSecure(settings.name)) return true
  return settings.secure === 'auto' ? requestIsSecure : settings.secure
}
