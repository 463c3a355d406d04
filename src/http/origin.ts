/** Client address, scheme and base URL of a request, through trusted proxies. */
import type { IncomingHttpHeaders } from 'node:http'
import { BoundedMap } from '../bounded-map.ts'
import { type ForwardedHeaders, plainAddress, readForwarded } from './forwarded.ts'

export interface OriginSettings {
  /** The address that browsers use, when it is configured; it then replaces everything derived. Without a trailing slash. */
  publicUrl: string | undefined
  /** Prefix of every path, such as `/gate`, or empty. */
  contextPath: string
  /** Whether headers of trusted peers are believed at all. */
  trustForwarded: boolean
  /** Matches the whole address of a peer whose headers are believed. */
  trustedProxies: RegExp
  headers: ForwardedHeaders
}

interface Origin {
  clientAddress: string
  scheme: 'http' | 'https'
  baseUrl: string
}

/** The parts of a request that show its origin. */
export interface RawRequest {
  readonly headers: IncomingHttpHeaders
  readonly socket: {
    readonly remoteAddress?: string | undefined
    readonly localAddress?: string | undefined
    readonly localPort?: number | undefined
    /** Of TLS connections. */
    readonly encrypted?: boolean
  }
}

/** @see docs/contracts/authentication.md#base-address */
export function originOf(raw: RawRequest, settings: OriginSettings): Origin {
  const peer = plainAddress(raw.socket.remoteAddress ?? '')
  const trusted = isTrustedPeer(raw, settings)
  const forwarded = trusted ? readForwarded(raw.headers, settings.headers, { peer, proxies: settings.trustedProxies }) : undefined
  const clientAddress = forwarded?.clientAddress ?? peer
  if (settings.publicUrl !== undefined) {
    return { clientAddress, scheme: settings.publicUrl.startsWith('https:') ? 'https' : 'http', baseUrl: settings.publicUrl }
  }
  const scheme = forwarded?.scheme ?? (raw.socket.encrypted === true ? 'https' : 'http')
  const host = withPort(forwarded?.host ?? raw.headers.host, forwarded?.port, scheme)
  return { clientAddress, scheme, baseUrl: `${scheme}://${host ?? localHost(raw)}${settings.contextPath}` }
}

/** Whether the other end of the connection is a proxy whose headers are believed. */
export function isTrustedPeer(raw: Pick<RawRequest, 'socket'>, { trustForwarded, trustedProxies }: OriginSettings): boolean {
  return trustForwarded && trustedProxies.test(plainAddress(raw.socket.remoteAddress ?? ''))
}

const hostForm = /^(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

/** Nearly every request names a host that an earlier one has named. Strangers can name any, so few are kept. */
const knownHosts = new BoundedMap<string, string | undefined>(100)
const maxKnownLength = 260

/** A host with the port that a proxy names, the default port left out; undefined when it is no host at all. */
function withPort(host: string | undefined, port: string | undefined, scheme: string): string | undefined {
  if (host === undefined || host.length > maxKnownLength) return undefined
  const key = `${scheme} ${port ?? ''} ${host}`
  if (knownHosts.has(key)) return knownHosts.get(key)
  const parsed = parseHost(host, port, scheme)
  knownHosts.set(key, parsed)
  return parsed
}

function parseHost(host: string, port: string | undefined, scheme: string): string | undefined {
  if (!hostForm.test(host)) return undefined
  const url = URL.parse(`${scheme}://${host}`)
  if (url === null) return undefined
  if (port !== undefined && /^\d{1,5}$/.test(port)) url.port = port
  return url.host
}

function localHost(raw: RawRequest): string {
  const address = plainAddress(raw.socket.localAddress ?? '127.0.0.1')
  return `${address.includes(':') ? `[${address}]` : address}:${raw.socket.localPort ?? 80}`
}
