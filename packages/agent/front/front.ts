/** A front: shared listeners for HTTP and HTTPS, which choose a load balancer by host and path. */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { DesiredFront, FrontSite } from '@fairlead/base/net/agent-protocol.ts'
import { type ClientResponse, refuse } from '../balancer/client-response.ts'
import {
  type ListenerContext,
  type Port,
  PortContext,
  type PortService,
  type TlsChoice,
} from '../balancer/listener-context.ts'
import type { RunningBalancer } from '../balancer/load-balancer.ts'
import { type AllowedSources, shownAddress, toSources } from '../balancer/sources.ts'
import type { FrontCertificates } from './certificates.ts'
import { type RoutedPath, RoutingTable, toRoutedHost } from './routing.ts'

const challengePath = '/.well-known/acme-challenge/'
const httpsPort = 443

/** Where a rule leads. */
interface Route {
  readonly site: FrontSite
  readonly sources: AllowedSources
  readonly goal: Redirection | Forwarding
}

interface Redirection {
  readonly kind: 'redirect'
  readonly path: string
  readonly to: string
}

interface Forwarding {
  readonly kind: 'forward'
  readonly balancer: RunningBalancer
  readonly strippedPath: string
  /** Made at the first request. */
  readonly contexts: Map<Port, ListenerContext>
}

export class Front implements PortService {
  readonly id: string
  readonly tlsOptions: TlsChoice
  readonly #certificates: FrontCertificates
  #desired: DesiredFront
  #table = new RoutingTable<Route>([])

  constructor(desired: DesiredFront, certificates: FrontCertificates) {
    this.id = desired.id
    this.#desired = desired
    this.#certificates = certificates
    this.tlsOptions = certificates.tlsOptions(['h2', 'http/1.1'])
  }

  /** @param balancers By id */
  apply(desired: DesiredFront, balancers: ReadonlyMap<string, RunningBalancer>): void {
    this.#desired = desired
    this.#table = new RoutingTable(desired.sites.flatMap((site) => toRoutes(site, balancers)))
  }

  contextOf(
    port: Port,
    request: IncomingMessage,
    response: ClientResponse,
  ): ListenerContext | undefined {
    const { authority, path } = targetOf(request)
    const host = toRoutedHost(authority)
    if (port.isSecure) {
      if (!this.#isDirected(request.socket as TLSSocket, host)) {
        return answer(response, 421, `This connection was opened for another host than ${host}.`)
      }
    } else if (path.startsWith(challengePath)) {
      const content = this.#certificates.httpContent(path.slice(challengePath.length))
      if (content !== undefined) return answerChallenge(response, content)
    }
    const route = this.#table.find(host, path)
    if (route === undefined) return answer(response, 404, 'Nothing is served at this address.')
    if (!route.sources(shownAddress(request.socket.remoteAddress)))
      return answer(response, 403, 'This address may not connect.')
    if (!port.isSecure && this.#certificates.has(host))
      return redirect(response, `https://${host}${this.#portSuffix}${path}`)
    const { goal } = route
    if (goal.kind === 'redirect')
      return redirect(
        response,
        this.#addressOf(goal.to, port) + path.slice(goal.path === '/' ? 0 : goal.path.length),
      )
    return goal.contexts.getOrInsertComputed(port, () => toContext(port, route.site, goal))
  }

  /** A target without a scheme is on this front, too. */
  #addressOf(target: string, port: Port): string {
    if (!target.startsWith('//')) return target
    const { httpPort } = this.#desired
    const [host = '', ...below] = target.slice(2).split('/')
    const path = below.map((part) => `/${part}`).join('')
    if (port.isSecure || this.#certificates.has(host))
      return `https://${host}${this.#portSuffix}${path}`
    return `http://${host}${httpPort === 80 ? '' : `:${httpPort}`}${path}`
  }

  get #portSuffix(): string {
    const { httpsPort: port } = this.#desired
    return port === httpsPort ? '' : `:${port}`
  }

  /** The connection was opened for this host, or for another one of the same owner. */
  #isDirected(socket: TLSSocket, host: string): boolean {
    const name = (socket.servername || '').toLowerCase()
    return name === host || this.#ownerOf(name) === this.#ownerOf(host)
  }

  #ownerOf(host: string): string | undefined {
    return this.#table.pathsOf(host)?.[0]?.target.site.owner
  }
}

function toRoutes(
  site: FrontSite,
  balancers: ReadonlyMap<string, RunningBalancer>,
): RoutedPath<Route>[] {
  const balancer = balancers.get(site.loadBalancer)
  if (balancer === undefined) return []
  const sources = sourcesOf(site)
  const forwards = site.rules.map(({ host, path, strip }) => ({
    host,
    path,
    target: {
      site,
      sources,
      goal: {
        kind: 'forward',
        balancer,
        strippedPath: strip && path !== '/' ? path : '',
        contexts: new Map(),
      } as const,
    },
  }))
  const redirects = site.redirects.map(({ host, path, to }) => ({
    host,
    path,
    target: { site, sources, goal: { kind: 'redirect', path, to } as const },
  }))
  return [...forwards, ...redirects]
}

/** Networks that cannot be read admit no client. */
function sourcesOf({ allowedSources }: FrontSite): AllowedSources {
  try {
    return toSources(allowedSources)
  } catch {
    return () => false
  }
}

function toContext(
  port: Port,
  site: FrontSite,
  { balancer, strippedPath }: Forwarding,
): ListenerContext {
  const { limits, hsts, compress, errorPage } = site
  return new PortContext(port, balancer, {
    bounds: {
      ...port.bounds,
      clientStallMs: limits.readMs,
      instanceStallMs: limits.idleMs,
      tunnelIdleMs: limits.websocketMs,
      drainMs: limits.drainMs ?? port.bounds.drainMs,
    },
    site: {
      maxBodyBytes: limits.bodyBytes,
      maxHeaderBytes: limits.headerBytes,
      strippedPath,
      compress,
      errorPage,
      responseHeaders: hsts !== undefined && port.isSecure ? toHsts(hsts) : [],
    },
  })
}

function toHsts({ maxAgeSeconds, subdomains }: NonNullable<FrontSite['hsts']>): string[] {
  const scope = subdomains ? '; includeSubDomains' : ''
  return ['strict-transport-security', `max-age=${maxAgeSeconds}${scope}`]
}

/** The address of a request counts more than its Host header. @see RFC 9112, section 3.2.2 */
function targetOf(request: IncomingMessage): { authority: string; path: string } {
  const url = request.url ?? '/'
  const [, authority, rest = ''] = /^https?:\/\/([^/?#@]+)([/?].*)?$/i.exec(url) ?? []
  if (authority !== undefined) return { authority, path: rest.startsWith('/') ? rest : `/${rest}` }
  return { authority: hostOf(request.rawHeaders), path: url }
}

/** Without the object of all headers, which costs more than the rest of the choice. */
function hostOf(rawHeaders: readonly string[]): string {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name === ':authority' || (name.length === 4 && name.toLowerCase() === 'host'))
      return rawHeaders[at + 1] as string
  }
  return ''
}

function answer(response: ClientResponse, status: number, text: string): undefined {
  refuse(response, { status, text, closes: false })
}

function redirect(response: ClientResponse, location: string): undefined {
  const text = `The address is ${location}`
  refuse(response, { status: 308, text, closes: false, headers: ['location', location] })
}

function answerChallenge(response: ClientResponse, content: string): undefined {
  response.writeHead(200, [
    'content-type',
    'application/octet-stream',
    'content-length',
    String(Buffer.byteLength(content)),
  ])
  response.end(content)
}
