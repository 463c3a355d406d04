/** Cookies of requests and responses. */
import type { RequestState } from './request-state.ts'

export interface Cookie {
  readonly name: string
  readonly value: string
}

/** Cookies of a `Cookie` header whose names fit, in the browser's order. Never fails: nonsense is left out. */
export function readCookies(header: string | undefined, fits: (name: string) => boolean): Cookie[] {
  const found: Cookie[] = []
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    const name = pair.slice(0, Math.max(0, equals)).trim()
    if (name !== '' && fits(name)) found.push({ name, value: pair.slice(equals + 1).trim() })
  }
  return found
}

export function setCookie(state: RequestState, cookie: string): void {
  const others = state.answerHeaders['set-cookie'] ?? []
  state.answerHeaders['set-cookie'] = [...(Array.isArray(others) ? others : [others]), cookie]
}

/**
 * Whether browsers take a cookie of this name only with `Secure`. They drop it otherwise, without a word.
 *
 * @see RFC 6265bis, section 4.1.3
 */
export function needsSecure(name: string): boolean {
  return /^__(?:secure|host)-/i.test(name)
}

export function isHostOnly(name: string): boolean {
  return /^__host-/i.test(name)
}
