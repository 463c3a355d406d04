/** Calls to one OCI or Docker registry: manifests, blobs, tags and repositories. */
import { parseJson } from '@fairlead/base/json/json.ts'
import { fieldOf, type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { SourceLogin } from '@fairlead/base/outside/account-credentials.ts'
import { hrefOf, type OutsideAnswer, operatorAddress } from '@fairlead/base/outside/call-outside.ts'
import { type SourceGet, shownAddress } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { checkDigest, formatDigest, parseDigest } from './digests.ts'
import type { ImageReference } from './image-reference.ts'
import { parseChallenge, type RegistryTokens } from './registry-token.ts'

export interface RegistryAccess {
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

/** Pages of lists that are followed. */
const mostPages = 20
const pageSize = 1000

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
    return expected === undefined ? answer.bytes : checkDigest(answer.bytes, expected, this.#shownAddress(path))
  }

  /** Registries that limit what is pulled do not count it. @throws {PortError} 404, 502 */
  async loadDigest(repository: string, tag: string): Promise<string | undefined> {
    const headers = { accept: manifestTypes.join(', ') }
    const answer = await this.#get(`/v2/${repository}/manifests/${tag}`, pullOf(repository), headers, 'HEAD')
    const digest = answer.headers['docker-content-digest']
    return typeof digest === 'string' ? digest : undefined
  }

  /** @throws {PortError} 404, 502 when the content has another digest */
  async loadBlob(repository: string, digest: string): Promise<Buffer> {
    const path = `/v2/${repository}/blobs/${digest}`
    const expected = parseDigest(digest)
    if (expected === undefined) throw new PortError(502, `${this.#shownAddress(path)} has a digest that is not known.`)
    const { bytes } = await this.#get(`/v2/${repository}/blobs/${formatDigest(expected)}`, pullOf(repository))
    return checkDigest(bytes, expected, this.#shownAddress(path))
  }

  async tags(repository: string): Promise<string[]> {
    return this.#list(`/v2/${repository}/tags/list`, 'tags', pullOf(repository))
  }

  /** Not every registry lists its repositories. */
  async repositories(): Promise<string[]> {
    return this.#list('/v2/_catalog', 'repositories', 'registry:catalog:*')
  }

  async #list(path: string, field: string, scope: string): Promise<string[]> {
    const found: string[] = []
    let next: string | undefined = `${path}?n=${pageSize}`
    for (let page = 0; page < mostPages && next !== undefined; page++) {
      const answer: OutsideAnswer = await this.#get(next, scope)
      found.push(...textsOf(fieldOf(this.#readJson(answer), field)))
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
    return get(url, { method, headers, credentials: bearer(await tokens.load(scope, challenge, login, get)) })
  }

  #readJson({ text }: OutsideAnswer): JsonObject {
    try {
      return objectOf(parseJson(text))
    } catch {
      throw new PortError(502, `${shownAddress(this.#access.address)} does not answer as a registry does.`)
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
  const link = textOf(/<([^<>]+)> ?; ?rel="?next"?/.exec(String(headers['link'] ?? ''))?.[1])
  const url = link === undefined ? null : URL.parse(link, current)
  return url !== null && url.origin === new URL(current).origin ? `${url.pathname}${url.search}` : undefined
}
