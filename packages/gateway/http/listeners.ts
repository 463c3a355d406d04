/** The ports of the gateway: the main one, plain or encrypted, and further ones. */
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { responseOptions } from '@fairlead/base/runtime/response-head.ts'
import { carrierOf } from '@fairlead/base/runtime/sockets.ts'
import { clientCertificateOf } from '@fairlead/base/tls/client-certificate.ts'
import { findRevocation } from '@fairlead/base/tls/revocation.ts'
import type { ListenerSettings } from '@fairlead/base/tls/settings.ts'
import type { TlsFiles } from '@fairlead/base/tls/tls-files.ts'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { ClientConnections } from './connections.ts'
import type { ListenerKind, PortKind } from './request-state.ts'
import { maxUnaccepted } from './take-input.ts'

export interface ServerOptions {
  maxHeaderBytes: number
  connections: ClientConnections
  onCertificateRefused?: (address: string | undefined, reason: string) => void
}

/** A request without a body has none that would have to be read to its end: that costs several turns of the tick queue. */
const requestOptions = { ...responseOptions, requireHostHeader: false, optimizeEmptyRequests: true }

const kinds = new WeakMap<IncomingMessage, ListenerKind>()

export function listenerOf(raw: IncomingMessage): ListenerKind {
  return kinds.get(raw) ?? 'main'
}

export function createPlainServer(
  handler: RequestListener,
  { maxHeaderBytes, connections }: ServerOptions,
): Server {
  const { checkMs } = connections.times
  const options = {
    ...requestOptions,
    maxHeaderSize: maxHeaderBytes,
    connectionsCheckingInterval: checkMs,
  }
  return connections.adopt(http.createServer(options, connections.inTurn(handler)))
}

/** An encrypted server. With `need`, a connection without a certificate that counts ends before its first request. */
export function createEncryptedServer(
  handler: RequestListener,
  tls: TlsFiles,
  clientCertificates: ListenerSettings['clientCertificates'],
  log: FastifyBaseLogger,
  options: ServerOptions,
): Server {
  const asks = clientCertificates !== 'none'
  const needs = clientCertificates === 'need'
  const { connections } = options
  const server = https.createServer(
    {
      ...requestOptions,
      ...tls.contextFor(asks),
      requestCert: asks,
      rejectUnauthorized: needs,
      handshakeTimeout: connections.times.handshakeMs,
      connectionsCheckingInterval: connections.times.checkMs,
      maxHeaderSize: options.maxHeaderBytes,
    },
    connections.inTurn(handler),
  )
  const tell = ({ address, reason, forItsCertificate }: RefusedConnection) => {
    log[forItsCertificate ? 'info' : 'debug']({ address, reason }, 'a TLS connection was refused')
    if (forItsCertificate) options.onCertificateRefused?.(address, reason)
  }
  // An address is stored only if code has read it while the connection was open.
  server.on('connection', (socket: Socket) => void socket.remoteAddress)
  server.on('tlsClientError', (error, socket) => tell(toRefusal(error, socket)))
  if (needs) server.prependListener('secureConnection', (socket) => endRevoked(socket, tls, tell))
  tls.follow(server, asks)
  return connections.adopt(server as unknown as Server)
}

interface RefusedConnection {
  address: string | undefined
  reason: string
  /** A rejected client certificate is worth a log line; noise of scanners is not. */
  forItsCertificate: boolean
}

function toRefusal(error: Error & { code?: string }, socket: TLSSocket): RefusedConnection {
  const reason = String(socket.authorizationError ?? error.code ?? error.message)
  const forItsCertificate = socket.authorizationError != null || /CERTIFICATE/.test(reason)
  return { address: addressOf(socket), reason, forItsCertificate }
}

/** Once TLS has ended the connection, only the one beneath it still knows where it came from. */
function addressOf(socket: TLSSocket): string | undefined {
  const address = socket.remoteAddress ?? carrierOf(socket)?.remoteAddress
  return address?.replace(/^::ffff:/, '')
}

/** OpenSSL knows nothing of the block list, and does not look again when a client takes up an earlier connection. */
function endRevoked(
  socket: TLSSocket,
  tls: TlsFiles,
  tell: (refusal: RefusedConnection) => void,
): void {
  const found = clientCertificateOf({ socket })
  const reason =
    found.kind === 'verified'
      ? findRevocation(tls.revocations, found.certificate)
      : 'no certificate that counts'
  if (reason === undefined) return
  tell({ address: addressOf(socket), reason, forItsCertificate: true })
  socket.destroy()
}

interface ExtraListener {
  kind: PortKind
  scheme: string
  port: number
  server: Server
}

export function createExtraListeners(
  main: FastifyInstance,
  settings: ListenerSettings,
  tls: TlsFiles | undefined,
  log: FastifyBaseLogger,
  options: ServerOptions,
): ExtraListener[] {
  const listeners: ExtraListener[] = []
  const handle = (kind: ListenerKind): RequestListener => {
    return (request, response) => {
      kinds.set(request, kind)
      main.routing(request, response)
    }
  }
  const { apiPort, legacyPort, managementPort } = settings
  if (apiPort !== undefined && tls !== undefined) {
    const server = createEncryptedServer(handle('api'), tls, 'need', log, options)
    listeners.push({ kind: 'api', scheme: 'https', port: apiPort, server })
  }
  if (legacyPort !== undefined) {
    const server = createPlainServer(handle('legacy'), options)
    listeners.push({ kind: 'legacy', scheme: 'http', port: legacyPort, server })
  }
  if (managementPort !== undefined) {
    const server = createPlainServer(answerProbes(main), options)
    listeners.push({ kind: 'management', scheme: 'http', port: managementPort, server })
  }
  return listeners
}

export async function listenOn(
  listeners: readonly ExtraListener[],
  host: string,
): Promise<{ kind: PortKind; address: string }[]> {
  for (const { server, port } of listeners)
    await once(server.listen({ port, host, backlog: maxUnaccepted }), 'listening')
  const name = host.includes(':') ? `[${host}]` : host
  return listeners.map(({ kind, scheme, port }) => ({
    kind,
    address: `${scheme}://${name}:${port}`,
  }))
}

/** Paths of probes and scrapers below any base path, as Spring has them, and where they are served. */
const probes =
  /^(?:\/[\w.-]+)*?\/(?:(health|livez|readyz)|health\/(liveness|readiness)|(?:aop-)?prometheus|metrics|spectator\/metrics)(\?.*)?$/

function answerProbes(main: FastifyInstance): RequestListener {
  return (request, response) => {
    const [found, own, part, query = ''] = probes.exec(request.url ?? '') ?? []
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end(
        '{"message":"This port serves health and metrics only (management.server.port)."}',
      )
      return
    }
    const probe = part === undefined ? own : { liveness: 'livez', readiness: 'readyz' }[part]
    request.url = `/${probe ?? 'spectator/metrics'}${query}`
    main.routing(request, response)
  }
}
