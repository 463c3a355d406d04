/** Calls to one OCI or Docker registry: manifests, blobs, tags and repositories. */

import { parseIfJson, parseJson } from '@fairlead/base/json/json.ts'
import { or, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import {
  authorizationHeader,
  type SourceLogin,
} from '@fairlead/base/outside/account-credentials.ts'
import {
  addressFrom,
  hrefOf,
  type OutsideAnswer,
  operatorAddress,
} from '@fairlead/base/outside/call-outside.ts'
import { type SourceGet, shownAddress } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { LRUCache } from 'lru-cache'
import { checkDigest, formatDigest, parseDigest } from './digests.ts'
import type { ImageReference } from './image-reference.ts'

interface Challenge {
  readonly scheme: 'basic' | 'bearer'
  readonly realm: string | undefined
  readonly service: string | undefined
  readonly scope: string | undefined
}

const maxChallengeLength = 2000

/** @param header Value of `WWW-Authenticate` */
export function parseChallenge(header: string): Challenge | undefined {
  const [, scheme = '', rest = ''] =
    /^(basic|bearer)\s+(.*)$/is.exec(header.trim().slice(0, maxChallengeLength)) ?? []
  if (scheme === '') return undefined
  const pairs = [...rest.matchAll(/(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))/g)]
  const values = new Map(
    pairs.map(([, name = '', quoted, plain]) => [name.toLowerCase(), quoted ?? plain]),
  )
  return {
    scheme: scheme.toLowerCase() as Challenge['scheme'],
    realm: values.get('realm'),
    service: values.get('service'),
    scope: values.get('scope'),
  }
}

interface RegistryToken {
  readonly text: string
  /** By the monotonic clock. */
  readonly endMs: number
}

const mostTokens = 200
const maxLifetimeS = 3600
/** Lifetime by the protocol, for tokens that do not say theirs. */
const defaultLifetimeS = 60
/** A token is used no more this short before its end. */
const reserveS = 10

const toToken = shape({
  text: [textOf, 'token', 'access_token'],
  lifetimeS: [or(numberOf, defaultLifetimeS), 'expires_in'],
})

export class RegistryTokens {
  readonly #tokens = new LRUCache<string, RegistryToken>({ max: mostTokens })
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  /** @returns undefined when there is none, or it has ended */
  find(scope: string): string | undefined {
    const token = this.#tokens.get(scope)
    return token === undefined || token.endMs <= performance.now() ? undefined : token.text
  }

  forget(scope: string): void {
    this.#tokens.delete(scope)
  }

  /** @throws {PortError} 502 when the registry asks for it at a place that must not get credentials, or there is no token */
  async load(
    scope: string,
    { realm, service, scope: asked }: Challenge,
    login: SourceLogin,
    get: SourceGet,
  ): Promise<string> {
    const url = realm === undefined ? null : URL.parse(realm)
    const isSafe = url?.protocol === 'https:' || url?.origin === new URL(this.#address).origin
    if (url === null || !isSafe)
      throw new PortError(
        502,
        `${shownAddress(this.#address)} asks for a token of "${realm}", which is no https address.`,
      )
    if (service !== undefined) url.searchParams.set('service', service)
    url.searchParams.set('scope', asked ?? scope)
    const answer = await get(addressFrom(url.href, [operatorAddress(this.#address)]), {
      credentials: authorizationHeader(login),
    })
    const { text, lifetimeS } = toToken(parseIfJson(answer.text))
    if (text === undefined)
      throw new PortError(502, `${shownAddress(url.href)} answered without a token.`)
    const usedS = Math.min(lifetimeS, maxLifetimeS) - reserveS
    if (usedS > 0) this.#tokens.set(scope, { text, endMs: performance.now() + usedS * 1000 })
    return text
  }
}

interface RegistryAccess {
  readonly address: string
  readonly login: SourceLogin
  readonly tokens: RegistryTokens
  readonly get: SourceGet
}

const manifestTypes = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]

const mostPages = 20
const pageSize = 1000

const toTags = shape({ names: [textsOf, 'tags'] })
const toRepositories = shape({ names: [textsOf, 'repositories'] })

export class RegistryClient {
  readonly #access: RegistryAccess

  constructor(access: RegistryAccess) {
    this.#access = access
  }

  /** The manifest as it is stored; its digest is checked. @throws {PortError} 404, 502 */
  async loadManifest({ repository, tag = 'latest', digest }: ImageReference): Promise<Buffer> {
    const path = `/v2/${repository}/manifests/${digest ?? tag}`
    const answer = await this.#get(path, pullOf(repository), { accept: manifestTypes.join(', ') })
    const named = digest ?? answer.headers['docker-content-digest']
    const expected = typeof named === 'string' ? parseDigest(named) : undefined
    return expected === undefined
      ? answer.bytes
      : checkDigest(answer.bytes, expected, this.#shownAddress(path))
  }

  /** HEAD requests do not count against pull limits. @throws {PortError} 404, 502 */
  async loadDigest(repository: string, tag: string): Promise<string | undefined> {
    const headers = { accept: manifestTypes.join(', ') }
    const answer = await this.#get(
      `/v2/${repository}/manifests/${tag}`,
      pullOf(repository),
      headers,
      'HEAD',
    )
    const digest = answer.headers['docker-content-digest']
    return typeof digest === 'string' ? digest : undefined
  }

  /** @throws {PortError} 404, 502 when the content has another digest */
  async loadBlob(repository: string, digest: string): Promise<Buffer> {
    const path = `/v2/${repository}/blobs/${digest}`
    const expected = parseDigest(digest)
    if (expected === undefined)
      throw new PortError(502, `${this.#shownAddress(path)} has a digest that is not known.`)
    const { bytes } = await this.#get(
      `/v2/${repository}/blobs/${formatDigest(expected)}`,
      pullOf(repository),
    )
    return checkDigest(bytes, expected, this.#shownAddress(path))
  }

  async tags(repository: string): Promise<string[]> {
    return this.#list(`/v2/${repository}/tags/list`, toTags, pullOf(repository))
  }

  /** Not every registry lists its repositories. */
  async repositories(): Promise<string[]> {
    return this.#list('/v2/_catalog', toRepositories, 'registry:catalog:*')
  }

  async #list(path: string, read: typeof toTags, scope: string): Promise<string[]> {
    const found: string[] = []
    let next: string | undefined = `${path}?n=${pageSize}`
    for (let page = 0; page < mostPages && next !== undefined; page++) {
      const answer: OutsideAnswer = await this.#get(next, scope)
      found.push(...read(this.#parse(answer)).names)
      next = nextPage(answer, `${this.#access.address}${next}`)
    }
    return found
  }

  /** The first call finds out what the registry asks for, unless a token is at hand. */
  async #get(
    path: string,
    scope: string,
    headers: Readonly<Record<string, string>> = {},
    method: 'GET' | 'HEAD' = 'GET',
  ): Promise<OutsideAnswer> {
    const { address, tokens, login, get } = this.#access
    const url = operatorAddress(address, path)
    const known = tokens.find(scope)
    const first = await get(url, { method, headers, credentials: bearer(known), expects: [401] })
    if (first.status !== 401) return first
    tokens.forget(scope)
    const challenge = parseChallenge(String(first.headers['www-authenticate'] ?? ''))
    if (challenge?.scheme === 'basic' && login.basic !== undefined)
      return get(url, { method, headers, credentials: { authorization: login.basic } })
    if (challenge?.scheme !== 'bearer')
      throw new PortError(
        502,
        `The artifact cannot be fetched: ${shownAddress(hrefOf(url))} answered with 401. Give the account a login.`,
      )
    return get(url, {
      method,
      headers,
      credentials: bearer(await tokens.load(scope, challenge, login, get)),
    })
  }

  #parse({ text }: OutsideAnswer): unknown {
    try {
      return parseJson(text)
    } catch {
      throw new PortError(
        502,
        `${shownAddress(this.#access.address)} does not answer as a registry does.`,
      )
    }
  }

  #shownAddress(path: string): string {
    return shownAddress(`${this.#access.address}${path}`)
  }
}

function pullOf(repository: string): string {
  return `repository:${repository}:pull`
}

function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** Path and query of the next page, which must be of the same registry. */
function nextPage({ headers }: OutsideAnswer, current: string): string | undefined {
  const link = /<([^<>]+)> ?; ?rel="?next"?/.exec(String(headers['link'] ?? ''))?.[1]
  const url = link === undefined ? null : URL.parse(link, current)
  return url !== null && url.origin === new URL(current).origin
    ? `${url.pathname}${url.search}`
    : undefined
}
