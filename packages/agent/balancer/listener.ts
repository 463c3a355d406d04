/** A port of a load balancer: opened with retries, closed with its connections. */
import type { IncomingMessage, Server as PlainServer, ServerOptions } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import type { Server as TlsServer } from 'node:https'
import {
  createServer as createTcpServer,
  isIPv6,
  type Socket,
  type Server as TcpServer,
} from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import type { DesiredListener, ObservedListener } from '@fairlead/base/net/agent-protocol.ts'
import { http } from '@fairlead/base/runtime/node-http.ts'
import { descriptorOf, stopAccepting } from '@fairlead/base/runtime/sockets.ts'
import {
  type CertificateFiles,
  type CertificatePair,
  loadCertificate,
  watchCertificate,
} from '@fairlead/base/tls/listener-certificate.ts'
import type { TimeoutSweep } from '@fairlead/proxy/sweep.ts'
import type { AgentLog } from '../log.ts'
import type { Bounds } from './bounds.ts'
import { ClientResponse, isStream, refuse } from './client-response.ts'
import type { ConnectionShares } from './connection-shares.ts'
import { beginExchange } from './exchange.ts'
import type { Port, PortService, TlsChoice } from './listener-context.ts'
import { type ClientSide, mayUpgrade } from './request-head.ts'
import { type AllowedSources, shownAddress, toSources } from './sources.ts'
import { createStreamServer } from './stream-response.ts'
import { TcpForward } from './tcp-forward.ts'

export interface ListenerOptions {
  readonly bounds: Bounds
  readonly sweep: TimeoutSweep
  readonly replay: { bytes: number }
  readonly connections: ConnectionShares
  readonly log: AgentLog
  readonly onChange: () => void
  /** Listening sockets of an agent before this one, by host and port; a listener takes its own out. */
  readonly inherited: Map<string, number>
}

/** Listeners with the same one are the same: the rest can be changed while they are open. */
export function listenerKeyOf({ protocol, host, port }: DesiredListener): string {
  return `${protocol} ${host} ${port}`
}

/** Names a listening socket, whatever is spoken on it. */
export function addressKeyOf({ host, port }: DesiredListener): string {
  return `${host} ${port}`
}

/** One request at a time is worked on; what the client has sent ahead waits. */
interface ClientSocket extends Socket {
  clientSide?: ClientSide
  running?: ClientResponse
  waiting?: [IncomingMessage, ClientResponse][]
  /** The connection exceeds the bound of its listener: it gets one answer. */
  isBeyond?: boolean
}

const backlog = 1024
/** Further ones are closed at once. */
const maxRefused = 64
const beyondBound = {
  status: 503,
  text: 'Too many connections are open. Try again in a moment.',
  retryAfterSeconds: 1,
  closes: true,
} as const

type HttpServer = PlainServer<typeof IncomingMessage, typeof ClientResponse>
type HttpsServer = TlsServer<typeof IncomingMessage, typeof ClientResponse>
type PortServer = HttpServer | HttpsServer | TcpServer

export class PortListener implements Port {
  #service: PortService
  closesSince: number | undefined
  readonly bounds: Bounds
  readonly sweep: TimeoutSweep
  readonly replay: { bytes: number }
  readonly #options: ListenerOptions
  readonly #sockets = new Set<Socket>()
  #desired: DesiredListener
  #sources: AllowedSources | undefined
  #server: PortServer | undefined
  #isOpen = false
  #isCrowded = false
  #reason: string | undefined
  readonly #backOff: BackOff
  /** Ends the watch of its files. */
  #forgetCertificate = () => {}
  /** Open HTTP/2 sessions. */
  readonly #sessions = new Set<ServerHttp2Session>()

  constructor(desired: DesiredListener, service: PortService, options: ListenerOptions) {
    this.#desired = desired
    this.#service = service
    this.#options = options
    this.bounds = options.bounds
    this.#backOff = new BackOff({
      firstMs: options.bounds.firstReopenMs,
      longestMs: options.bounds.longestReopenMs,
    })
    this.sweep = options.sweep
    this.replay = options.replay
  }

  get isSecure(): boolean {
    return this.#desired.protocol === 'https'
  }

  /** This is behind the port from now on, with these rules; connections stay, as far as their sources may. */
  apply(desired: DesiredListener, service: PortService): void {
    const before = this.#desired
    this.#desired = desired
    this.#service = service
    if (!isDeepStrictEqual(before.allowedSources, desired.allowedSources)) this.#applySources()
    if (!isDeepStrictEqual(before.certificate, desired.certificate)) this.#reopen()
  }

  #applySources(): void {
    if (!this.#isOpen) return void this.#reopen()
    try {
      const sources = toSources(this.#desired.allowedSources)
      this.#sources = sources
      for (const socket of this.#sockets) if (!sources(addressOf(socket))) socket.destroy()
    } catch {
      this.#reopen()
    }
  }

  #reopen(): void {
    this.#backOff.cancel()
    this.#backOff.reset()
    const server = this.#server
    if (server !== undefined) this.#shut(server)
    this.open()
  }

  open(): void {
    const { host, port } = this.#desired
    try {
      this.#sources = toSources(this.#desired.allowedSources)
      const server = this.#createServer()
      this.#server = server
      server.maxConnections = this.bounds.maxConnections + this.#refusable
      server.prependListener('connection', (socket: Socket) => this.#admit(socket))
      server.once('error', (error: NodeJS.ErrnoException) =>
        this.#fail(server, explainFault(error, host, port)),
      )
      const fd = this.#takeInherited()
      server.listen(fd === undefined ? { host, port, backlog } : { fd, backlog }, () =>
        this.#noteOpen(server),
      )
    } catch (error) {
      this.#fail(this.#server, error instanceof Error ? error.message : String(error))
    }
  }

  /** Connections beyond the bound that are told so; with TLS that would take a handshake. */
  get #refusable(): number {
    return this.#desired.protocol === 'http' ? maxRefused : 0
  }

  #takeInherited(): number | undefined {
    const { inherited } = this.#options
    const key = addressKeyOf(this.#desired)
    const fd = inherited.get(key)
    inherited.delete(key)
    return fd
  }

  #createServer(): PortServer {
    const { protocol, certificate } = this.#desired
    if (protocol === 'tcp') {
      const options = {
        allowHalfOpen: true,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: 60_000,
        pauseOnConnect: true,
      }
      return createTcpServer(options, (socket) => {
        const context = this.#service.tcpContextOf?.(this)
        if (context === undefined) socket.destroy()
        else if (!socket.destroyed) new TcpForward(context, socket).start()
      })
    }
    const { tlsOptions } = this.#service
    if (protocol === 'https' && certificate === undefined && tlsOptions === undefined)
      throw new Error('a listener with TLS needs a certificate')
    const { bounds } = this
    const options: ServerOptions<typeof IncomingMessage, typeof ClientResponse> = {
      ServerResponse: ClientResponse,
      maxHeaderSize:
        this.#service.tlsOptions === undefined ? bounds.maxHeaderBytes : bounds.maxFrontHeaderBytes,
      headersTimeout: bounds.headersMs,
      // Bodies may take long; those that stall are found by the sweep.
      requestTimeout: 0,
      keepAliveTimeout: bounds.keepAliveMs,
      connectionsCheckingInterval: bounds.sweepMs,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      optimizeEmptyRequests: true,
      shouldUpgradeCallback: mayUpgrade,
    }
    const server =
      protocol === 'http'
        ? http.createServer(options, this.#onRequest)
        : certificate === undefined
          ? this.#createStreamServer(options, tlsOptions as TlsChoice)
          : this.#createTlsServer(options, certificate)
    // Beyond a number of headers, Node drops them in silence. Their size is bounded.
    server.maxHeadersCount = 0
    server.on('checkContinue', this.#onRequest)
    server.on('upgrade', (request: IncomingMessage, socket, rest) =>
      this.#onUpgrade(request, socket as ClientSocket, rest),
    )
    server.on('connect', (request: IncomingMessage, socket: Socket) => {
      if (isStream(request)) return void refuseConnect(socket)
      socket.on('error', () => socket.destroy())
      if ((socket as ClientSocket).running !== undefined) return void socket.destroy()
      // Node watches such a connection no longer: a client that keeps its half open would hold it for ever.
      socket.once('finish', () => socket.destroy())
      socket.end(
        'HTTP/1.1 405 Method Not Allowed\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
      )
    })
    return server
  }

  #createTlsServer(
    options: ServerOptions<typeof IncomingMessage, typeof ClientResponse>,
    files: CertificateFiles,
  ): HttpsServer {
    const pair = loadCertificate(files)
    const https = process.getBuiltinModule('node:https')
    const server = https.createServer(
      { ...options, ...pair, handshakeTimeout: this.bounds.handshakeMs },
      this.#onRequest,
    )
    this.#forgetCertificate = watchCertificate(files, this.bounds.certificateCheckMs, (result) =>
      this.#useCertificate(server, result),
    )
    return server
  }

  #createStreamServer(
    options: ServerOptions<typeof IncomingMessage, typeof ClientResponse>,
    choice: TlsChoice,
  ): HttpsServer {
    const { bounds } = this
    const server = createStreamServer(options, { ...choice, handshakeTimeout: bounds.handshakeMs })
    server.on('request', this.#onRequest)
    server.on('session', (session) => {
      this.#sessions.add(session)
      session.once('close', () => this.#sessions.delete(session))
      session.on('error', () => session.destroy())
      session.setTimeout(bounds.keepAliveMs, () => session.close())
    })
    // An authority's challenge is over with the handshake, and nothing else is offered.
    server.on('unknownProtocol', (socket) => socket.destroy())
    return server as unknown as HttpsServer
  }

  #useCertificate(server: HttpsServer, result: CertificatePair | Error): void {
    const { log, onChange } = this.#options
    if (result instanceof Error) {
      this.#reason = `The changed certificate cannot be used, so the one before stays: ${result.message}`
      log.error(
        { port: this.#desired.port, err: result },
        'a changed certificate cannot be used; the one before stays',
      )
    } else {
      server.setSecureContext(result)
      this.#reason = undefined
      log.info({ port: this.#desired.port }, 'the changed certificate is used')
    }
    onChange()
  }

  #noteOpen(server: PortServer): void {
    if (this.#server !== server) return
    const { log, onChange } = this.#options
    server.on('error', (error: Error) =>
      log.error({ port: this.#desired.port, err: error }, 'a listener reports an error'),
    )
    this.#isOpen = true
    this.#reason = undefined
    this.#backOff.reset()
    log.info({ port: this.#desired.port, loadBalancer: this.#service.id }, 'a listener is open')
    onChange()
  }

  #fail(server: PortServer | undefined, reason: string): void {
    if (this.#server !== server || this.closesSince !== undefined) return
    this.#forgetCertificate()
    this.#server = undefined
    const { log, onChange } = this.#options
    const isNew = this.#reason !== reason
    this.#reason = reason
    this.#backOff.startLater(() => this.open())
    if (!isNew) return
    log.warn(
      { port: this.#desired.port, loadBalancer: this.#service.id, reason },
      'a listener cannot be opened',
    )
    onChange()
  }

  #admit(socket: Socket): void {
    // The address can be asked for only while the connection stands.
    if (this.#sources?.(addressOf(socket)) !== true) return void socket.destroy()
    const { connections, log } = this.#options
    const { id } = this.#service
    const isAdmitted = connections.take(id)
    if (!isAdmitted && !this.#isCrowded) {
      const { port } = this.#desired
      log.warn(
        { port, loadBalancer: id },
        'a load balancer has its share of all connections: further ones are closed',
      )
    }
    this.#isCrowded = !isAdmitted
    if (!isAdmitted) return void socket.destroy()
    if (this.#refusable > 0 && this.#sockets.size >= this.bounds.maxConnections)
      (socket as ClientSocket).isBeyond = true
    this.#sockets.add(socket)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      connections.leave(id)
    })
  }

  #onRequest = (request: IncomingMessage, response: ClientResponse): void => {
    if (isStream(request)) return void this.#beginStream(request, response)
    const socket = request.socket as ClientSocket
    if (socket.running !== undefined) return void this.#wait(socket, request, response)
    this.#begin(socket, request, response)
  }

  #begin(socket: ClientSocket, request: IncomingMessage, response: ClientResponse): void {
    socket.clientSide ??= this.#toClientSide(socket)
    socket.running = response
    response.port = this
    response.on('close', onResponseClose)
    if (this.closesSince !== undefined) response.shouldKeepAlive = false
    if (socket.isBeyond) {
      refuse(response, beyondBound)
      return
    }
    const context = this.#service.contextOf(this, request, response)
    if (context !== undefined) beginExchange(context, socket.clientSide, request, response)
  }

  /** A stream of HTTP/2: others run beside it on the connection. */
  #beginStream(request: IncomingMessage, response: ClientResponse): void {
    response.on('close', onResponseClose)
    const context = this.#service.contextOf(this, request, response)
    if (context !== undefined)
      beginExchange(context, this.#toClientSide(request.socket), request, response)
  }

  #wait(socket: ClientSocket, request: IncomingMessage, response: ClientResponse): void {
    socket.waiting ??= []
    if (socket.waiting.length >= this.bounds.maxPipelined) return void socket.destroy()
    socket.waiting.push([request, response])
  }

  /** The next request of the connection begins. */
  endTurn(socket: ClientSocket): void {
    socket.running = undefined
    if (socket.destroyed) return
    const [request, response] = socket.waiting?.shift() ?? []
    if (request !== undefined && response !== undefined) this.#begin(socket, request, response)
    // Node closes those that are idle when the port closes, and not those that become so later.
    else if (this.closesSince !== undefined) socket.end()
  }

  /** @param rest What the client has sent after the request */
  #onUpgrade(request: IncomingMessage, socket: ClientSocket, rest: Buffer): void {
    if (socket.running !== undefined) return void socket.destroy()
    socket.on('error', () => socket.destroy())
    const response = new ClientResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => socket.destroySoon())
    response.once('close', () => response.exchange?.onClientClose())
    if (rest.length > 0) socket.unshift(rest)
    const context = this.#service.contextOf(this, request, response)
    if (context !== undefined)
      beginExchange(context, this.#toClientSide(socket), request, response, true)
  }

  #toClientSide(socket: Socket): ClientSide {
    const { protocol, host, port } = this.#desired
    return {
      address: addressOf(socket),
      defaultHost: `${isIPv6(host) ? `[${host}]` : host}:${port}`,
      forwardedLines: `x-forwarded-proto: ${protocol}\r\nx-forwarded-port: ${port}\r\n`,
    }
  }

  observe(): ObservedListener {
    return { port: this.#desired.port, open: this.#isOpen, reason: this.#reason }
  }

  /** Closes the port at once. What runs ends by itself, at the latest after the time for that. @returns whether something runs */
  retire(): boolean {
    this.closesSince = performance.now()
    this.#backOff.cancel()
    const server = this.#server
    if (server === undefined) return false
    this.#endSessions()
    this.#shut(server)
    return this.#sockets.size > 0
  }

  /** The descriptor of the listening socket, for a successor; undefined while the port is closed. */
  get descriptor(): number | undefined {
    return this.#isOpen && this.#server !== undefined ? descriptorOf(this.#server) : undefined
  }

  /** Accepts nothing more, as a successor does. Connections stay until their next response, which says that it is the last. */
  yieldPort(): void {
    // For ever: what runs has all the time that it needs.
    this.closesSince = Number.POSITIVE_INFINITY
    this.#backOff.cancel()
    this.#forgetCertificate()
    this.#endSessions()
    if (this.#server !== undefined) stopAccepting(this.#server)
  }

  /** Streams that run end by themselves. */
  #endSessions(): void {
    for (const session of this.#sessions) session.close()
  }

  #shut(server: PortServer): void {
    this.#isOpen = false
    this.#server = undefined
    this.#forgetCertificate()
    server.close()
  }

  get isIdle(): boolean {
    return this.#sockets.size === 0
  }

  /** Ends everything at once. */
  destroy(): void {
    this.retire()
    for (const socket of this.#sockets) socket.destroy()
  }
}

function onResponseClose(this: ClientResponse): void {
  this.exchange?.onClientClose()
  this.port?.endTurn(this.req.socket)
}

/** @param response In place of a socket, with HTTP/2 */
function refuseConnect(response: unknown): void {
  ;(response as ClientResponse).writeHead(405).end()
}

function addressOf(socket: Socket): string {
  return shownAddress(socket.remoteAddress)
}

function explainFault(
  { code, message }: NodeJS.ErrnoException,
  host: string,
  port: number,
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use by another program. Stop that, or choose another port.`
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one above 1023, or give the process CAP_NET_BIND_SERVICE.`
    case 'EADDRNOTAVAIL':
      return `This machine does not have the address ${host}, so port ${port} is closed.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${host} has no address, so port ${port} is closed.`
    default:
      return `Nothing can listen on ${host}:${port}: ${message}.`
  }
}
