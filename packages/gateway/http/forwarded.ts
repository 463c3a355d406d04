/** `Forwarded` and `X-Forwarded-*` headers of trusted proxies. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { commaList } from '@fairlead/base/names/comma-list.ts'

export interface ForwardedHeaders {
  readonly scheme: string
  readonly address: string
  readonly host: string
  readonly port: string
}

export interface ForwardedOrigin {
  readonly clientAddress: string
  readonly scheme: 'http' | 'https' | undefined
  readonly host: string | undefined
  readonly port: string | undefined
}

/** More proxies than any deployment has in a row. */
const maxHops = 50

/**
 * Read from the right: each proxy adds its part at the end, so what precedes the part of the last trusted one may come from a
 * stranger.
 *
 * @param peer Address of the trusted proxy at the other end of the connection
 * @see RemoteIpValve of Tomcat; RFC 7239, section 4
 */
export function readForwarded(
  headers: IncomingHttpHeaders,
  names: ForwardedHeaders,
  trusted: { peer: string; proxies: RegExp },
): ForwardedOrigin {
  const isStandard = names.address.toLowerCase() === 'forwarded'
  return isStandard
    ? readStandard(headerText(headers, 'forwarded'), trusted)
    : readUsual(headers, names, trusted)
}

function readUsual(
  headers: IncomingHttpHeaders,
  names: ForwardedHeaders,
  { peer, proxies }: { peer: string; proxies: RegExp },
): ForwardedOrigin {
  let clientAddress = peer
  for (const hop of lastFirst(headerText(headers, names.address).split(','))) {
    const address = parseAddress(hop)
    // A value that is no address does not come from a real peer of the next proxy.
    if (address === undefined) break
    clientAddress = address
    if (!proxies.test(address)) break
  }
  const schemes = commaList(headerText(headers, names.scheme).toLowerCase())
  return {
    clientAddress,
    // Tomcat: encrypted all the way, or not at all.
    scheme: toScheme(schemes.find((scheme) => scheme !== 'https') ?? schemes[0]),
    host: commaList(headerText(headers, names.host)).at(-1),
    port: commaList(headerText(headers, names.port)).at(-1),
  }
}

function readStandard(
  header: string,
  { peer, proxies }: { peer: string; proxies: RegExp },
): ForwardedOrigin {
  let read: ForwardedOrigin = {
    clientAddress: peer,
    scheme: undefined,
    host: undefined,
    port: undefined,
  }
  for (const element of lastFirst(splitUnquoted(header, ','))) {
    const pairs = parsePairs(element)
    const address = parseAddress(pairs?.get('for') ?? '')
    if (pairs === undefined) break
    const clientAddress = address ?? read.clientAddress
    read = {
      clientAddress,
      scheme: toScheme(pairs.get('proto')?.toLowerCase()),
      host: pairs.get('host'),
      port: undefined,
    }
    if (address === undefined || !proxies.test(address)) break
  }
  return read
}

function headerText(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name.toLowerCase()] ?? '')
}

function lastFirst(hops: readonly string[]): string[] {
  return hops
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '')
    .slice(-maxHops)
    .reverse()
}

function toScheme(text: string | undefined): 'http' | 'https' | undefined {
  return text === 'http' || text === 'https' ? text : undefined
}

export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

/** An address with or without port and brackets; undefined for names, `unknown` and identifiers that hide an address. */
function parseAddress(text: string): string | undefined {
  const [, bracketed, withPort] =
    /^(?:\[([^\]]{1,45})\](?::\d{1,5})?|([\d.]{7,15}):\d{1,5})$/.exec(text) ?? []
  const address = plainAddress(bracketed ?? withPort ?? text)
  return address.length <= 45 && isIP(address) > 0 ? address : undefined
}

function parsePairs(element: string): Map<string, string> | undefined {
  const pairs = new Map<string, string>()
  for (const pair of splitUnquoted(element, ';')) {
    if (pair.trim() === '') continue
    const [, name, token, quoted] =
      /^([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~:-]+)|"((?:[^"\\]|\\.)*)")$/.exec(pair.trim()) ??
      []
    if (name === undefined || pairs.has(name.toLowerCase())) return undefined
    pairs.set(name.toLowerCase(), token ?? (quoted ?? '').replaceAll(/\\(.)/g, '$1'))
  }
  return pairs
}

function splitUnquoted(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let from = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (quoted && character === '\\') at++
    else if (character === '"') quoted = !quoted
    else if (character === separator && !quoted) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  return [...parts, text.slice(from)]
}

/** A client with one IPv6 address has the 2^64 of its network; an IPv4 address is used as it is. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing =
    tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  return [...groups, ...Array(Math.max(0, missing)).fill('0')].slice(0, 4).join(':')
}
