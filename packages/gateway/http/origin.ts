/** Client address, scheme and base URL of a request, through trusted proxies. */
import type { IncomingHttpHeaders } from 'node:http'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import {
  type ForwardedHeaders,
  type ForwardedOrigin,
  plainAddress,
  readForwarded,
} from './forwarded.ts'

export interface OriginSettings {
  /** The address that browsers use, when it is configured; it then replaces everything derived. Without a trailing slash. */
  publicUrl: string | undefined
  contextPath: string
  trustForwarded: boolean
  trustedProxies: RegExp
  headers: ForwardedHeaders
}

const proxyKeys = [
  'server.tomcat.remoteip.internal-proxies',
  'server.tomcat.internalProxies',
] as const

export function namesProxies(report: SettingsReport): boolean {
  return proxyKeys.some((key) => report.isSet(key))
}

/** Addresses reserved for documentation, and so of no proxy: a pattern that covers them covers every client. */
const strangers = ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1']

export function trustsEveryAddress({
  trustedProxies,
}: Pick<OriginSettings, 'trustedProxies'>): boolean {
  return strangers.some((address) => trustedProxies.test(address))
}

export interface RequestOrigin {
  readonly clientAddress: string
  readonly scheme: 'http' | 'https'
  readonly baseUrl: string
}

class DerivedOrigin implements RequestOrigin {
  readonly clientAddress: string
  readonly scheme: 'http' | 'https'
  readonly #raw: RawRequest
  readonly #forwarded: ForwardedOrigin | undefined
  readonly #contextPath: string

  constructor(
    raw: RawRequest,
    peer: string,
    forwarded: ForwardedOrigin | undefined,
    contextPath: string,
  ) {
    this.clientAddress = forwarded?.clientAddress ?? peer
    this.scheme = forwarded?.scheme ?? (raw.socket.encrypted === true ? 'https' : 'http')
    this.#raw = raw
    this.#forwarded = forwarded
    this.#contextPath = contextPath
  }

  get baseUrl(): string {
    const forwarded = this.#forwarded
    const host = withPort(forwarded?.host ?? this.#raw.headers.host, forwarded?.port, this.scheme)
    return `${this.scheme}://${host ?? localHost(this.#raw)}${this.#contextPath}`
  }
}

export interface RawRequest {
  readonly headers: IncomingHttpHeaders
  readonly socket: {
    readonly remoteAddress?: string
    readonly localAddress?: string
    readonly localPort?: number
    readonly encrypted?: boolean
  }
}

/** @see docs/contracts/authentication.md#base-address */
export function originOf(raw: RawRequest, settings: OriginSettings): RequestOrigin {
  const peer = plainAddress(raw.socket.remoteAddress ?? '')
  const trusted = settings.trustForwarded && settings.trustedProxies.test(peer)
  const forwarded = trusted
    ? readForwarded(raw.headers, settings.headers, { peer, proxies: settings.trustedProxies })
    : undefined
  const { publicUrl, contextPath } = settings
  if (publicUrl === undefined) return new DerivedOrigin(raw, peer, forwarded, contextPath)
  const clientAddress = forwarded?.clientAddress ?? peer
  return {
    clientAddress,
    scheme: publicUrl.startsWith('https:') ? 'https' : 'http',
    baseUrl: publicUrl,
  }
}

export function isTrustedPeer(
  raw: Pick<RawRequest, 'socket'>,
  { trustForwarded, trustedProxies }: OriginSettings,
): boolean {
  return trustForwarded && trustedProxies.test(plainAddress(raw.socket.remoteAddress ?? ''))
}

const hostForm = /^(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

const maxHostLength = 260

function withPort(
  host: string | undefined,
  port: string | undefined,
  scheme: string,
): string | undefined {
  if (host === undefined || host.length > maxHostLength || !hostForm.test(host)) return undefined
  const url = URL.parse(`${scheme}://${host}`)
  if (url === null) return undefined
  if (port !== undefined && /^\d{1,5}$/.test(port)) url.port = port
  return url.host
}

function localHost(raw: RawRequest): string {
  const address = plainAddress(raw.socket.localAddress ?? '127.0.0.1')
  return `${address.includes(':') ? `[${address}]` : address}:${raw.socket.localPort ?? 80}`
}

export function toBrowserAddress(
  address: string,
  { publicUrl, contextPath }: OriginSettings,
): string {
  return (
    publicUrl ?? address.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, '//localhost') + contextPath
  )
}
