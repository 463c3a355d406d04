/** The address under which browsers reach the gateway, as far as the configuration tells. */

import { withoutSlash } from '@fairlead/base/settings/setting.ts'
import type { Config } from '../config/config.ts'

export interface PublicAddress {
  /** Scheme, host, port and path, without a trailing slash. */
  readonly url: string
  /** Where it is from; `guessed`: nothing says it, so it is the address of the listener. */
  readonly source: 'named' | 'http.publicUrl' | 'redirect address' | 'guessed'
}

/** @param named As given at the command line */
export function findPublicAddress(
  { http, login }: Config,
  named: string | undefined,
): PublicAddress {
  const { publicUrl, contextPath } = http.origin
  if (named !== undefined) return { url: withoutSlash(named), source: 'named' }
  if (publicUrl !== undefined) return { url: publicUrl, source: 'http.publicUrl' }
  const templates = login.methods.flatMap(
    ({ type, settings }) => type.returnTemplates?.(settings) ?? [],
  )
  const fixed = templates.find((address) => /^https?:\/\//i.test(address) && URL.canParse(address))
  if (fixed !== undefined)
    return { url: new URL(fixed).origin + contextPath, source: 'redirect address' }
  const isAny = /^(?:0\.0\.0\.0|::|127\.[\d.]+|::1|localhost)$/.test(http.address)
  const host = isAny ? 'localhost' : http.address.includes(':') ? `[${http.address}]` : http.address
  const scheme = http.listeners.mainTls ? 'https' : 'http'
  return {
    url: new URL(`${scheme}://${host}:${http.port}`).origin + contextPath,
    source: 'guessed',
  }
}

/** The error in a typed address; undefined when it is valid. */
export function findMistake(address: string): string | undefined {
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '')
    return 'must be an address such as https://gate.example.com'
  if (url.search !== '' || url.hash !== '' || url.username !== '')
    return 'must be an address without user, query and fragment'
  return undefined
}
