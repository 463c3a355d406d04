/** A registry on loopback with the pull part of the OCI distribution protocol, and its token service. */
import { hash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface OciRegistry {
  readonly url: string
  readonly host: string
  /** Method, path and kind of authorization of its requests, in order. */
  readonly requests: string[]
  /** Stores a manifest with layers. @param config Of an image that runs @returns its digest */
  push(repository: string, tag: string, layers: readonly Layer[], config?: Layer): string
  /** Puts another content in the place of a blob. */
  spoil(content: string): void
  /** Tokens that were given out are worth nothing. */
  revoke(): void
}

interface Layer {
  readonly mediaType: string
  readonly content: string | Buffer
  readonly title?: string
}

interface RegistryOptions {
  /** `user:password`; without it everything is public. */
  readonly login?: string
  /** `Basic`: without tokens. */
  readonly scheme?: 'Bearer' | 'Basic'
  readonly realm?: string
  /** Where blobs are, if elsewhere. */
  readonly storage?: string
  readonly pageSize?: number
}

const manifestType = 'application/vnd.oci.image.manifest.v1+json'

export async function startOciRegistry(
  t: TestContext,
  options: RegistryOptions = {},
): Promise<OciRegistry> {
  const registry = new Registry(options)
  const server = createServer((request, response) => registry.answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  registry.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return registry
}

export function digestOf(content: string | Buffer): string {
  return `sha256:${hash('sha256', content, 'hex')}`
}

class Registry implements OciRegistry {
  host = ''
  readonly requests: string[] = []
  readonly #options: RegistryOptions
  readonly #blobs = new Map<string, string | Buffer>()
  readonly #manifests = new Map<string, string>()
  readonly #tags = new Map<string, Map<string, string>>()
  /** Scopes by token. */
  readonly #tokens = new Map<string, string>()

  constructor(options: RegistryOptions) {
    this.#options = options
  }

  get url(): string {
    return `http://${this.host}`
  }

  push(repository: string, tag: string, layers: readonly Layer[], config?: Layer): string {
    const toEntry = ({ mediaType, content, title }: Layer) => {
      this.#blobs.set(digestOf(content), content)
      const annotations =
        title === undefined ? {} : { annotations: { 'org.opencontainers.image.title': title } }
      return {
        mediaType,
        digest: digestOf(content),
        size: Buffer.byteLength(content),
        ...annotations,
      }
    }
    const parts = { ...(config && { config: toEntry(config) }), layers: layers.map(toEntry) }
    const manifest = JSON.stringify({ schemaVersion: 2, mediaType: manifestType, ...parts })
    const digest = digestOf(manifest)
    this.#manifests.set(`${repository}@${digest}`, manifest)
    const tags = this.#tags.get(repository) ?? new Map<string, string>()
    this.#tags.set(repository, tags.set(tag, digest))
    return digest
  }

  spoil(content: string): void {
    this.#blobs.set(digestOf(content), `${content} changed`)
  }

  revoke(): void {
    this.#tokens.clear()
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.url)
    const authorization = request.headers.authorization ?? ''
    this.requests.push(`${url.pathname} ${authorization.split(' ')[0] || 'none'}`)
    if (url.pathname === '/token') this.#giveToken(url, authorization, response)
    else if (!this.#isAllowed(url, authorization)) this.#challenge(url, response)
    else this.#serve(url, request, response)
  }

  #giveToken(url: URL, authorization: string, response: ServerResponse): void {
    const { login = '' } = this.#options
    if (
      authorization !== `Basic ${Buffer.from(login).toString('base64')}` ||
      url.searchParams.get('service') !== 'registry'
    ) {
      response.writeHead(401).end('{}')
      return
    }
    const token = randomBytes(12).toString('hex')
    this.#tokens.set(token, url.searchParams.get('scope') ?? '')
    response.end(JSON.stringify({ token, expires_in: 300 }))
  }

  #isAllowed(url: URL, authorization: string): boolean {
    const { login, scheme = 'Bearer' } = this.#options
    if (login === undefined) return true
    if (scheme === 'Basic')
      return authorization === `Basic ${Buffer.from(login).toString('base64')}`
    return this.#tokens.get(authorization.replace(/^Bearer /, '')) === scopeOf(url)
  }

  #challenge(url: URL, response: ServerResponse): void {
    const { scheme = 'Bearer', realm = `${this.url}/token` } = this.#options
    const bearer = `Bearer realm="${realm}",service="registry",scope="${scopeOf(url)}"`
    response
      .writeHead(401, {
        'www-authenticate': scheme === 'Basic' ? 'Basic realm="registry"' : bearer,
      })
      .end('{}')
  }

  #serve(url: URL, request: IncomingMessage, response: ServerResponse): void {
    const [, repository = '', kind, reference = ''] =
      /^\/v2\/(.+)\/(manifests|blobs|tags)\/(.+)$/.exec(url.pathname) ?? []
    const digest =
      kind === 'manifests' ? (this.#tags.get(repository)?.get(reference) ?? reference) : reference
    const found =
      kind === 'manifests'
        ? this.#manifests.get(`${repository}@${digest}`)
        : this.#blobs.get(digest)
    const isAccepted = kind !== 'manifests' || request.headers.accept?.includes(manifestType)
    const { storage } = this.#options
    if (url.pathname === '/v2/') response.end('{}')
    else if (url.pathname === '/v2/_catalog')
      this.#page(url, 'repositories', [...this.#tags.keys()], response)
    else if (kind === 'tags')
      this.#page(url, 'tags', [...(this.#tags.get(repository)?.keys() ?? [])], response)
    else if (found === undefined || !isAccepted)
      response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
    else if (kind === 'blobs' && storage !== undefined)
      response.writeHead(307, { location: `${storage}/${digest}` }).end()
    else {
      const headers = {
        'content-length': Buffer.byteLength(found),
        'docker-content-digest': digest,
      }
      response.writeHead(200, { 'content-type': manifestType, ...headers }).end(found)
    }
  }

  /** Pages follow one another by the header Link. */
  #page(url: URL, field: string, all: readonly string[], response: ServerResponse): void {
    const names = all.toSorted()
    const start = names.indexOf(url.searchParams.get('last') ?? '') + 1
    const size = Math.min(Number(url.searchParams.get('n')), this.#options.pageSize ?? 1000)
    const page = names.slice(start, start + size)
    const isLast = start + size >= names.length
    const link = isLast
      ? {}
      : { link: `<${url.pathname}?n=${size}&last=${page.at(-1)}>; rel="next"` }
    response
      .writeHead(200, { 'content-type': 'application/json', ...link })
      .end(JSON.stringify({ [field]: page }))
  }
}

function scopeOf({ pathname }: URL): string {
  const repository = /^\/v2\/(.+)\/(?:manifests|blobs|tags)\//.exec(pathname)?.[1]
  return repository === undefined ? 'registry:catalog:*' : `repository:${repository}:pull`
}
