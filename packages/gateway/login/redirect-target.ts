/** Checks redirect targets from query parameters: addresses of the web UI and of Fairlead's own console. */
import { GatewayError } from '@fairlead/base/errors.ts'

export interface UiAddress {
  /** `services.deck.baseUrl`; empty when it is not configured. */
  readonly uiUrl: string
  /** Matches a whole host name; undefined: only the host of `uiUrl`. */
  readonly uiHostPattern: RegExp | undefined
  /** Fairlead serves its own console at `/console`. */
  readonly servesConsole: boolean
}

const maxLength = 8192

/**
 * The checked target, byte for byte. The numbers are the steps of the rule.
 *
 * @param baseUrl Of this gateway as the browser sees it, with the context path.
 * @throws {GatewayError} REDIRECT_REFUSED; the message does not repeat the address
 * @see docs/contracts/authentication.md#redirect-targets
 */
export function checkRedirectTarget(
  targets: readonly string[],
  ui: UiAddress,
  baseUrl: string,
): string {
  const [to] = targets
  if (to === undefined || targets.length > 1) refuse('must be given once') // 1
  if (to === '' || to.length > maxLength) refuse(`must have 1 to ${maxLength} characters`) // 1
  if (/[^\x21-\x7e]|\\/.test(to)) refuse('must be an encoded URL') // 2
  if (ui.servesConsole && isConsoleAddress(to, baseUrl)) return to
  const match = /^(https?):\/\/([^/?#]+)(?:[/?#]|$)/i.exec(to)
  const [, scheme = '', authority = ''] = match ?? refuse('must be an absolute http or https URL') // 3
  if (/[@%]/.test(authority)) refuse('must not name a user') // 4
  const host = hostOf(authority)
  const url = URL.parse(to) ?? refuse('must be a URL')
  if (host === '' || url.hostname !== host) refuse('must name a host in its plain form') // 5
  if (ui.uiHostPattern === undefined) checkSameSite(scheme.toLowerCase(), url, ui.uiUrl)
  else if (!matchesWhole(ui.uiHostPattern, host)) refuse('is not an address of the web UI') // 9
  return to
}

/**
 * Whether the target is an address of the console: the path alone, or with the origin of `baseUrl`. A browser must read it as
 * it is written, so that no `..` or second slash leads to another place.
 */
function isConsoleAddress(to: string, baseUrl: string): boolean {
  const { origin, pathname } = new URL(baseUrl)
  const path = to.startsWith('/')
    ? to
    : to.startsWith(`${origin}/`)
      ? to.slice(origin.length)
      : undefined
  const root = `${pathname.replace(/\/$/, '')}/console`
  if (path === undefined || !path.startsWith(root) || !/^(?:$|[/?#])/.test(path.slice(root.length)))
    return false
  const [written = ''] = path.split(/[?#]/, 1)
  if (/\/\/|%(?:2e|2f|5c|25|00)/i.test(written)) return false
  const url = URL.parse(path, origin)
  return url?.origin === origin && url.pathname === written
}

/** The host as written, lower case, without port; IPv6 keeps its brackets. */
function hostOf(authority: string): string {
  return authority.replace(/:\d*$/, '').toLowerCase()
}

function checkSameSite(scheme: string, url: URL, uiUrl: string): void {
  const ui =
    URL.parse(uiUrl) ??
    refuse('cannot be checked: the address of the web UI (services.deck.baseUrl) is not configured') // 10
  const upgraded = scheme === 'https' && ui.protocol === 'http:'
  if (url.protocol !== ui.protocol && !upgraded) refuse('is not an address of the web UI') // 6
  if (url.hostname !== ui.hostname) refuse('is not an address of the web UI') // 7
  const samePort = portOf(url) === portOf(ui) || (upgraded && url.port === '' && ui.port === '')
  if (!samePort) refuse('is not an address of the web UI') // 8
}

function portOf(url: URL): string {
  if (url.port !== '') return url.port
  return url.protocol === 'https:' ? '443' : '80'
}

function matchesWhole(pattern: RegExp, host: string): boolean {
  return new RegExp(`^(?:${pattern.source})$`, pattern.flags.replace(/[gy]/g, '')).test(host)
}

function refuse(problem: string): never {
  throw new GatewayError('REDIRECT_REFUSED', `The query parameter "to" ${problem}.`)
}
