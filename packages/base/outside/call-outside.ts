/** Calls to addresses: those of authors within the restrictions of the configuration, those of the operator without. */

import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type http from 'node:http'
import type https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { ConnectionOptions, SecureContextOptions } from 'node:tls'
import { refusedMethods } from '../names/refused-methods.ts'
import { type Answer, CallError, call, toCallError } from '../net/call.ts'
import { createRegexMeter, matchesWhole } from '../regex/bounded-regex.ts'
import { isInRanges, toRanges } from '../settings/network-range.ts'
import type { OutsideSettings } from './settings.ts'

export interface OutsideRequest {
  readonly method: string
  /** A text is an author's, to whom the restrictions apply. */
  readonly url: string | OperatorAddress
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | undefined
  /** Ends the call. */
  readonly signal?: AbortSignal
}

export interface OutsideAnswer extends Answer {
  readonly text: string
}

/** Certificates for a server of the configuration. */
export type OutsideTls = SecureContextOptions & Pick<ConnectionOptions, 'checkServerIdentity'>

/** An address on a server of the configuration, to which no restriction applies. Made by `operatorAddress` and `addressFrom`. */
export class OperatorAddress {
  readonly url: URL
  readonly tls: OutsideTls

  constructor(url: URL, tls: OutsideTls) {
    this.url = url
    this.tls = tls
  }
}

/**
 * Joins what an author or Fairlead appends to an address of the configuration. The result stays on its scheme, host and port, below
 * its path.
 *
 * @param base Of the configuration, or an instance that the infrastructure has placed
 * @param path Begins with one slash or a question mark
 * @throws {CallError} forbidden, when it would lead elsewhere
 */
export function operatorAddress(base: string, path = '', tls: OutsideTls = {}): OperatorAddress {
  const root = new URL(base)
  const url = URL.parse(base.replace(/\/$/, '') + path)
  const folder = root.pathname.replace(/\/$/, '')
  const stays =
    /^(?:$|\?|\/(?![\\/]))/.test(path) &&
    // A URL drops control characters, after which a slash may follow a slash.
    !/[\p{Cc}\\]/u.test(path) &&
    url !== null &&
    url.origin === root.origin &&
    url.username === root.username &&
    url.password === root.password &&
    (url.pathname === root.pathname ||
      url.pathname.startsWith(`${folder}/`) ||
      url.pathname === folder)
  if (stays) return new OperatorAddress(url, tls)
  const text = `"${path.slice(0, 200)}" is no path below ${root.origin}${folder}. Begin it with one slash, such as /health.`
  throw new CallError('forbidden', text)
}

/** What a server of the operator has answered as address: a redirect, a next page, an entry of a list. Others are as an author's. */
export function addressFrom(
  text: string,
  operators: readonly OperatorAddress[],
): string | OperatorAddress {
  const url = URL.parse(text)
  const own = operators.find((each) => each.url.origin === url?.origin)
  return own === undefined || url === null ? text : new OperatorAddress(url, own.tls)
}

const maxRedirects = 5
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

interface Followed {
  readonly answer: OutsideAnswer
  readonly url: string | OperatorAddress
}

/**
 * Follows redirects of a read. Each address is checked anew; where a server of others leads is theirs, too.
 *
 * @param operators Servers that may lead to each other
 * @param ask Makes one call; credentials are for addresses that it knows
 * @throws {CallError} failed, when they do not end; whatever `ask` throws
 */
export async function followRedirects(
  first: string | OperatorAddress,
  operators: readonly OperatorAddress[],
  ask: (url: string | OperatorAddress) => Promise<OutsideAnswer>,
): Promise<Followed> {
  let url = first
  for (let count = 0; count <= maxRedirects; count++) {
    const answer = await ask(url)
    const { location } = answer.headers
    if (!redirects.has(answer.status) || location === undefined) return { answer, url }
    url = addressFrom(
      URL.parse(location, hrefOf(url))?.href ?? location,
      typeof url === 'string' ? [] : operators,
    )
  }
  const { host, pathname } = new URL(hrefOf(first))
  throw new CallError('failed', `${host}${pathname} redirects more than ${maxRedirects} times.`)
}

export function hrefOf(address: string | OperatorAddress): string {
  return typeof address === 'string' ? address : address.url.href
}

interface OutsideBounds {
  readonly maxAnswerBytes: number
  readonly timeoutMs: number
  /** Who calls, for messages: `Stages`. */
  readonly caller: string
  /** Keeps connections to addresses of the configuration. */
  readonly agents?: { readonly 'http:': http.Agent; readonly 'https:': https.Agent }
}

/** @throws {CallError} */
export type CallOutside = (request: OutsideRequest) => Promise<OutsideAnswer>

const stageBounds: OutsideBounds = {
  maxAnswerBytes: 1024 * 1024,
  timeoutMs: 20_000,
  caller: 'Stages',
}
const key = 'user-configured-url-restrictions'
const localSuffixes = ['.spinnaker', '.local', '.localdomain', '.internal', '.localhost']

/** `private` has what leads to IPv4 addresses of any kind, too: NAT64, 6to4, Teredo and the translations of addresses. */
const internalNetworks = {
  localhost: ['127.0.0.0/8', '::1/128', '0.0.0.0/8', '::/128'],
  linkLocal: ['169.254.0.0/16', 'fe80::/10', '224.0.0.0/4', '255.255.255.255/32', 'ff00::/8'],
  private: [
    ...[
      '10.0.0.0/8',
      '172.16.0.0/12',
      '192.168.0.0/16',
      '100.64.0.0/10',
      '192.0.0.0/24',
      '198.18.0.0/15',
      '240.0.0.0/4',
    ],
    ...[
      'fc00::/7',
      'fec0::/10',
      '::/96',
      '::ffff:0:0:0/96',
      '64:ff9b::/96',
      '64:ff9b:1::/48',
      '2001::/32',
      '2002::/16',
    ],
  ],
} as const

/** Redirects are not followed: their target would be another address. */
export function createOutsideCalls(settings: OutsideSettings, bounds = stageBounds): CallOutside {
  const { timeoutMs, caller, agents, maxAnswerBytes: maxBytes } = bounds
  const rules = new AddressRules(settings, caller)
  return async ({ method, url, headers, body, signal }) => {
    if (refusedMethods.includes(method))
      throw new CallError(
        'forbidden',
        `${caller} must not use the method ${method}. Use one of GET, HEAD, POST, PUT, PATCH, DELETE.`,
      )
    const place =
      typeof url === 'string'
        ? { url: rules.checkUrl(url), lookup: rules.lookup }
        : { url: url.url, tls: url.tls, agent: agents?.[url.url.protocol as 'http:' | 'https:'] }
    const answer = await call({ ...place, method, headers, body, signal, timeoutMs, maxBytes })
    return { ...answer, text: answer.bytes.toString('utf8') }
  }
}

interface OutsideAddress {
  readonly url: URL
  /** Addresses of its host that may be called, in the order of the resolver. */
  readonly addresses: readonly string[]
}

/**
 * The same restrictions for a program that makes its calls itself, and should call only these addresses.
 *
 * @param url Absolute, with a scheme of the configuration
 * @throws {CallError} forbidden, unknown-host
 */
export async function checkOutsideAddress(
  settings: OutsideSettings,
  caller: string,
  url: string,
): Promise<OutsideAddress> {
  const rules = new AddressRules(settings, caller)
  const target = rules.checkUrl(url)
  const host = target.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return { url: target, addresses: [host] }
  const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>()
  rules.lookup(host, { all: true }, (error, found) =>
    error === null ? resolve(found as LookupAddress[]) : reject(error),
  )
  try {
    return { url: target, addresses: (await promise).map(({ address }) => address) }
  } catch (error) {
    throw toCallError(error, target.host)
  }
}

class AddressRules {
  readonly #settings: OutsideSettings
  readonly #caller: string
  readonly #permitted: ReturnType<typeof toRanges>
  readonly #barred: ReturnType<typeof toRanges>

  constructor(settings: OutsideSettings, caller: string) {
    const { allowed, rejected, rejects } = settings
    this.#settings = settings
    this.#caller = caller
    this.#permitted = toRanges(allowed)
    this.#barred = toRanges([
      ...rejected,
      ...(rejects.localhost ? internalNetworks.localhost : []),
      ...(rejects.linkLocal ? internalNetworks.linkLocal : []),
      ...(rejects.private ? internalNetworks.private : []),
    ])
  }

  /** @throws {CallError} forbidden */
  checkUrl(text: string): URL {
    const { hostNames, schemes, allowed, rejects, excluded, excludedPatterns = [] } = this.#settings
    if (!URL.canParse(text))
      throw new CallError(
        'forbidden',
        `"${text.slice(0, 200)}" is not an absolute address such as https://ci.example/build.`,
      )
    const url = new URL(text)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (!(schemes as readonly string[]).includes(url.protocol.slice(0, -1)))
      throw this.#forbidden(
        url.host || text.slice(0, 200),
        `its scheme is not one of ${schemes.join(', ')}`,
        'allowedSchemes',
      )
    if (isIP(host) !== 0) {
      if (this.#isForbidden(host))
        throw this.#forbidden(url.host, 'it is internal', 'allowedAddresses')
      if (rejects.verbatim && !isInRanges(this.#permitted, host))
        throw this.#forbidden(url.host, 'it is written as a number', 'rejectVerbatimIps')
      return url
    }
    if (!matchesWhole(hostNames, host, createRegexMeter()))
      throw this.#forbidden(url.host, 'its name is not allowed', 'allowedHostnamesRegex')
    // A dot at the end says that the name is complete.
    const name = host.replace(/\.$/, '')
    if (excluded.some((domain) => `.${name}`.endsWith(`.${domain.toLowerCase()}`)))
      throw this.#forbidden(url.host, 'its domain is excluded', 'excludedDomains')
    if (excludedPatterns.some((pattern) => matchesWhole(pattern, name, createRegexMeter())))
      throw this.#forbidden(
        url.host,
        'its name is excluded',
        'extraExcludedPatternsFromEnvironment',
      )
    const isLocalName = !name.includes('.') || localSuffixes.some((suffix) => name.endsWith(suffix))
    if (isLocalName && rejects.localhost && allowed.length === 0)
      throw this.#forbidden(url.host, 'its name is one of the local network', 'allowedAddresses')
    return url
  }

  /** Refuses addresses after the name is resolved, so that a name cannot stand for an internal one. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }).then(
      (addresses: LookupAddress[]) => {
        const usable = addresses.filter(({ address }) => !this.#isForbidden(address))
        const [first] = usable
        if (first === undefined)
          return callback(this.#forbidden(hostname, 'it is internal', 'allowedAddresses'), '', 4)
        if (options.all) callback(null, usable)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 4),
    )
  }

  #isForbidden(address: string): boolean {
    const isOwnAddress = this.#settings.rejects.localhost && isOwn(address)
    return (
      (isInRanges(this.#barred, address) || isOwnAddress) && !isInRanges(this.#permitted, address)
    )
  }

  #forbidden(host: string, reason: string, setting: string): CallError {
    return new CallError(
      'forbidden',
      `${this.#caller} must not call ${host}: ${reason}. An operator can allow it by ${key}.${setting}.`,
    )
  }
}

/** An address of this machine, as it has them at this moment. */
function isOwn(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map((each) => each.address),
  )
  return isInRanges(toRanges(own), address)
}

const longestRetryAfterMs = 60 * 60_000

/** Whether the server takes no more calls for now. GitHub says so with 403, too. */
export function isLimiting({
  status,
  headers,
}: Pick<OutsideAnswer, 'status' | 'headers'>): boolean {
  return (
    status === 429 ||
    (status === 403 && (headers['x-ratelimit-remaining'] === '0' || 'retry-after' in headers))
  )
}

/** Seconds, or a date. */
export function retryAfterOf({ headers }: Pick<OutsideAnswer, 'headers'>): number | undefined {
  const value = String(headers['retry-after'] ?? '').trim()
  if (value === '') return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), longestRetryAfterMs) : undefined
}
