/** Connections of all ports: timeouts, bounds, and graceful end. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type TLSSocket, Server as TlsServer } from 'node:tls'
import type { GatewayError } from '@fairlead/base/errors.ts'
import { awaitInvitation } from '@fairlead/base/json/bodies/expect-continue.ts'
import { boundChunks } from '@fairlead/base/json/bodies/tiny-chunks.ts'
import { dropBody, dropRequests } from '@fairlead/base/runtime/drop-input.ts'
import {
  carrierOf,
  replaceEnd,
  stopAccepting,
  unsentBytes,
} from '@fairlead/base/runtime/sockets.ts'
import type { FastifyBaseLogger } from 'fastify'
import {
  connectRefused,
  formatRefusal,
  linger,
  toClientError,
  tooManyConnections,
} from './connection-refusals.ts'
import type { Overload } from './overload.ts'
import { takeInput } from './take-input.ts'

export const connectionTimes = {
  handshakeMs: 30_000,
  /** For the line and the headers of a request, also of the first one. */
  headersMs: 60_000,
  /** For a whole request, however slowly it arrives. */
  requestMs: 300_000,
  /** Between two requests. Longer than balancers keep connections, so that they are the ones who end them. */
  keepAliveMs: 72_000,
  /** For a client that has been refused to read why, before the connection is destroyed. */
  farewellMs: 2000,
  /** For a client that is answered while it still sends, to send the rest. */
  lingerMs: 30_000,
  /** For idle connections after a drain, once the ports are closed: a balancer may have sent a request on one. */
  lastIdleMs: 1000,
  checkMs: 30_000,
}
export type ConnectionTimes = typeof connectionTimes

interface ClientConnectionOptions {
  times: ConnectionTimes
  /** A client that takes nothing of its answer for this long, in milliseconds, is disconnected. 0: never. */
  writeTimeoutMs: number
  /** Bytes of complete answers that clients have not taken yet, over all connections. */
  maxUnreadBytes: number
  /** Open connections of one address; 0: any number. */
  maxPerAddress: number
  maxConnections: number
  overload: Overload
  log: FastifyBaseLogger
}

class ClientConnection {
  readonly socket: Socket
  /** The one beneath TLS; the same without. */
  readonly carrier: Socket
  /** Bytes left of its answer when nothing had moved for a while; and how often in a row it was the same. */
  unsent: { readonly bytes: number; readonly times: number } | undefined = undefined
  /** Requests that are not answered completely, oldest first. Only the first is being worked on. */
  readonly turns: QueuedRequest[] = []
  ends: boolean
  /** Later requests are not answered. */
  last = false
  refused = false
  /** Opened beyond the bound: it gets one answer, and only to what is served always. */
  readonly isReserved: boolean
  /** It has its last answer, and is read to let the client see that. */
  lingers = false
  /** What is left of a complete answer, as far as the client has not taken it. */
  unreadBytes = 0

  constructor(
    socket: Socket,
    carrier: Socket,
    { ends, isReserved }: Pick<ClientConnection, 'ends' | 'isReserved'>,
  ) {
    this.socket = socket
    this.carrier = carrier
    this.ends = ends
    this.isReserved = isReserved
  }
}

interface QueuedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  start(): void
  isRunning: boolean
}

/** Connections beyond the bound that may still ask for what is served always: probes, metrics, logins. */
export const reservedConnections = 32
const maxPipelined = 32
const idleCheckMs = 50
/** Share of the bound; with fewer, a further excess is logged again. */
const calmShare = 0.9
/** A client may take so many times `http.writeTimeout` for what may be a write under way. */
const unsureStalls = 5
/** Times its usual bound that an address may have over TLS, handshakes included. */
const handshakeFactor = 2
/** Several times the body that is accepted by default: a client that has somewhat too much to send sees why. */
const maxLingerBytes = 64 * 1024 * 1024

/**
 * Every server of the gateway belongs here, whatever its port. Requests that a client sends without waiting are answered
 * one after the other, so that a connection never holds more than one complete answer.
 */
export class ClientConnections {
  readonly #options: ClientConnectionOptions
  readonly #servers: Server[] = []
  readonly #handshakes = new Set<Socket>()
  readonly #connections = new Map<Socket, ClientConnection>()
  readonly #unread = new Set<ClientConnection>()
  readonly #addresses = new Map<string, number>()
  #isFull = false
  #unreadBytes = 0
  readonly #empty = Promise.withResolvers<void>()
  #drains = false
  #ending = false

  constructor(options: ClientConnectionOptions) {
    this.#options = options
  }

  get times(): ConnectionTimes {
    return this.#options.times
  }

  /** @returns the server, whose handler has to be one of `inTurn` */
  adopt(server: Server): Server {
    const { times, writeTimeoutMs } = this.#options
    server.requestTimeout = times.requestMs
    server.headersTimeout = times.headersMs
    server.keepAliveTimeout = times.keepAliveMs
    server.timeout = writeTimeoutMs
    this.#servers.push(server)
    if (server instanceof TlsServer) {
      server.on('connection', (socket: Socket) => this.#awaitHandshake(socket))
      server.on('secureConnection', (socket: TLSSocket) => {
        const carrier = carrierOf(socket, this.#handshakes) ?? socket
        this.#handshakes.delete(carrier)
        this.#add(socket, carrier)
      })
    } else {
      server.on('connection', (socket: Socket) => this.#add(socket, socket))
    }
    server.on('timeout', (socket: Socket) => this.#endStalled(socket))
    server.on('clientError', (error: Error & { code?: string }, socket: Duplex) =>
      this.#answerClientError(error, socket),
    )
    server.on('checkContinue', (request, response) => {
      awaitInvitation(request, response)
      server.emit('request', request, response)
    })
    // Unknown expectations are ignored (RFC 9110, section 10.1.1); Node would answer past the handler.
    server.on(
      'checkExpectation',
      (request, response) => void server.emit('request', request, response),
    )
    server.on('connect', ({ socket }) => this.#refuseConnect(socket))
    return server
  }

  inTurn(handle: RequestListener): RequestListener {
    return (request, response) => {
      const connection = this.#connections.get(request.socket)
      if (connection === undefined || connection.last) return dropRequests(request.socket)
      boundChunks(request)
      const { turns, isReserved } = connection
      const { overload } = this.#options
      if (isReserved && !overload.isKept(request.url ?? '')) {
        return this.#refuse(
          request.socket,
          tooManyConnections(this.#options.maxConnections, 'http.maxConnections'),
        )
      }
      const turn: QueuedRequest = {
        request,
        response,
        isRunning: false,
        start() {
          overload.enter(request, response, () => {
            this.isRunning = true
            handle(request, response)
          })
        },
      }
      turns.push(turn)
      response.on('close', () => {
        if (turn.isRunning) overload.leave()
        this.#endTurn(connection)
      })
      response.on('prefinish', () => {
        // The handler has not begun to read the body.
        if (!request.complete && request.readableFlowing === null) dropBody(request.socket)
        this.#noteUnread(connection, response.writableLength)
      })
      // Nothing is upgraded. The parser reads nothing behind such a request, so a client that reuses the connection would wait for ever.
      const isLast =
        isReserved || turns.length === maxPipelined || request.headers.upgrade !== undefined
      if (isLast) this.#makeLast(connection)
      if (turns.length === 1) this.#startTurn(connection)
    }
  }

  /**
   * Has every connection that stands now end with its next answer. Later ones are kept: they come from balancers that
   * have not turned away yet, and would only open another one.
   */
  drain(): void {
    this.#drains = true
    this.#endWithNextAnswer()
  }

  /**
   * Accepts no more connections and resolves when those that are open have ended, each with its next answer.
   *
   * @param graceMs After this everything is broken off.
   */
  async end(graceMs: number): Promise<void> {
    const idleMs = this.#drains ? this.#options.times.lastIdleMs : 0
    if (graceMs > 0) await takeInput()
    this.#ending = true
    const ends = this.#servers
      .filter(({ listening }) => listening)
      .map((server) => new Promise<void>((resolve) => stopAccepting(server, resolve)))
    this.#endWithNextAnswer()
    const limit = setTimeout(() => this.#closeAll(), graceMs)
    let idle: NodeJS.Timeout | undefined
    const closeIdle = () => void takeInput().then(() => this.#closeIdle())
    const idleDelay = setTimeout(() => {
      closeIdle()
      idle = setInterval(closeIdle, idleCheckMs)
    }, idleMs)
    this.#noteEnd()
    await Promise.all([...ends, this.#empty.promise])
    clearTimeout(limit)
    clearTimeout(idleDelay)
    clearInterval(idle)
    for (const server of this.#servers) server.close()
  }

  #endWithNextAnswer(): void {
    for (const connection of this.#connections.values()) {
      connection.ends = true
      this.#makeLastIfPossible(connection)
    }
  }

  /** Handshakes cost more than most requests. A client slightly beyond the bound gets the reason once its handshake is over. */
  #awaitHandshake(socket: Socket): void {
    const { maxPerAddress } = this.#options
    if (
      this.#countAddress(socket) > maxPerAddress * handshakeFactor ||
      this.#roomForOne() === 'over'
    )
      socket.destroy()
    this.#handshakes.add(socket)
    socket.once('close', () => {
      this.#handshakes.delete(socket)
      this.#noteEnd()
    })
  }

  #noteEnd(): void {
    if (this.#ending && this.#connections.size === 0 && this.#handshakes.size === 0)
      this.#empty.resolve()
  }

  #add(socket: Socket, carrier: Socket): void {
    const room = this.#roomForOne()
    if (room === 'over') return void socket.destroy()
    const connection = new ClientConnection(socket, carrier, {
      ends: this.#ending,
      isReserved: room === 'reserved',
    })
    this.#connections.set(socket, connection)
    const { maxPerAddress } = this.#options
    const count =
      socket === carrier
        ? this.#countAddress(socket)
        : this.#addresses.get(socket.remoteAddress ?? '')
    if ((count ?? 0) > maxPerAddress)
      this.#refuse(socket, tooManyConnections(maxPerAddress, 'http.maxConnectionsPerAddress'))
    if (connection.isReserved) this.#endUnused(connection)
    replaceEnd(socket, (destroySoon) =>
      this.#maySend(connection) ? this.#linger(connection) : destroySoon(),
    )
    socket.once('close', () => {
      connection.turns.length = 0
      this.#noteRead(connection)
      this.#connections.delete(socket)
      this.#noteEnd()
    })
  }

  #roomForOne(): 'free' | 'reserved' | 'over' {
    const { maxConnections, log } = this.#options
    const count = this.#connections.size + this.#handshakes.size + 1
    if (maxConnections === 0 || count <= maxConnections) {
      if (count < maxConnections * calmShare) this.#isFull = false
      return 'free'
    }
    if (!this.#isFull)
      log.warn(
        { maxConnections },
        'more connections than http.maxConnections: further ones are refused',
      )
    this.#isFull = true
    return count <= maxConnections + reservedConnections ? 'reserved' : 'over'
  }

  /** What is reserved is for requests that come at once. */
  #endUnused({ socket, turns }: ClientConnection): void {
    const limit = setTimeout(
      () => turns.length === 0 && socket.destroy(),
      this.times.farewellMs,
    ).unref()
    socket.once('close', () => clearTimeout(limit))
  }

  /** @returns how many connections its address has with this one; 0 where they are not counted */
  #countAddress(socket: Socket): number {
    const { maxPerAddress } = this.#options
    const { remoteAddress } = socket
    if (maxPerAddress === 0 || remoteAddress === undefined) return 0
    const count = (this.#addresses.get(remoteAddress) ?? 0) + 1
    this.#addresses.set(remoteAddress, count)
    socket.once('close', () => {
      const rest = (this.#addresses.get(remoteAddress) ?? 1) - 1
      if (rest === 0) this.#addresses.delete(remoteAddress)
      else this.#addresses.set(remoteAddress, rest)
    })
    return count
  }

  #maySend({ turns, lingers }: ClientConnection): boolean {
    return turns[0]?.request.complete === false && turns[0].response.writableFinished && !lingers
  }

  #linger(connection: ClientConnection): void {
    const { lingerMs, farewellMs } = this.times
    connection.lingers = true
    const [turn] = connection.turns
    if (turn !== undefined)
      linger(connection.socket, turn.request, {
        maxBytes: maxLingerBytes,
        maxMs: lingerMs,
        farewellMs,
      })
  }

  #startTurn(connection: ClientConnection): void {
    if (connection.ends) this.#makeLastIfPossible(connection)
    connection.turns[0]?.start()
  }

  #endTurn(connection: ClientConnection): void {
    this.#noteRead(connection)
    connection.turns.shift()
    if (connection.turns.length > 0) this.#startTurn(connection)
  }

  #makeLastIfPossible(connection: ClientConnection): void {
    if (connection.turns.length > 0 && connection.turns.at(-1)?.response.headersSent === false)
      this.#makeLast(connection)
  }

  /** A client that has sent more than it is answered finds out from this header, and sends the rest elsewhere. */
  #makeLast(connection: ClientConnection): void {
    connection.last = true
    connection.turns.at(-1)?.response.setHeader('connection', 'close')
  }

  #noteUnread(connection: ClientConnection, bytes: number): void {
    if (bytes === 0) return
    connection.unreadBytes = bytes
    this.#unreadBytes += bytes
    this.#unread.add(connection)
    for (const oldest of this.#unread) {
      if (this.#unreadBytes <= this.#options.maxUnreadBytes || oldest === connection) break
      this.#giveUp(oldest.socket, 'all clients together leave too much of their answers unread')
      this.#noteRead(oldest)
    }
  }

  #noteRead(connection: ClientConnection): void {
    this.#unreadBytes -= connection.unreadBytes
    connection.unreadBytes = 0
    this.#unread.delete(connection)
  }

  #giveUp(socket: Socket, reason: string): void {
    this.#options.log.info(
      { address: socket.remoteAddress, reason },
      'a client that does not read its answer was disconnected',
    )
    socket.destroy()
  }

  /**
   * Nothing has moved for a while: since the last answer for longer than announced, or within one. Until the first answer, the time for headers
   * counts. A client that waits for its answer may be silent for as long as that takes.
   */
  #endStalled(socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (connection === undefined || isIdle(connection)) {
      socket.destroy()
    } else if (connection.turns.length > 0 && socket.writableLength > 0) {
      const { bytes, isExact } = unsentBytes(socket, connection.carrier)
      const times = connection.unsent?.bytes === bytes ? connection.unsent.times + 1 : 1
      connection.unsent = { bytes, times }
      if (times <= (isExact ? 1 : unsureStalls)) socket.setTimeout(this.#options.writeTimeoutMs)
      else this.#giveUp(socket, 'it has taken nothing for http.writeTimeout')
    }
  }

  #answerClientError(error: Error & { code?: string }, socket: Duplex): void {
    if (error.code === 'ECONNRESET') return void socket.destroy()
    this.#refuseInTurn(socket, toClientError(error.code))
  }

  /** Node hands over the whole connection, and leaves the answers that are still under way to this one. */
  #refuseConnect(socket: Socket): void {
    socket.on('drain', () => this.#connections.get(socket)?.turns[0]?.response.emit('drain'))
    socket.on('timeout', () => this.#endStalled(socket))
    this.#refuseInTurn(socket, connectRefused())
  }

  #refuseInTurn(socket: Duplex, error: GatewayError): void {
    const connection = this.#connections.get(socket as Socket)
    const newest = connection?.turns.at(-1)
    if (connection === undefined || newest === undefined || !endsWithoutInput(newest)) {
      this.#refuse(socket, error)
      return
    }
    if (connection.last) return
    connection.last = true
    const { response } = newest
    response.on('close', () =>
      newest.request.complete ? this.#refuse(socket, error) : socket.end(),
    )
  }

  #refuse(socket: Duplex, error: GatewayError): void {
    const connection = this.#connections.get(socket as Socket)
    // Before the end of a handshake nothing can be said, and within an answer it would become part of that.
    if (connection === undefined || connection.turns[0]?.response.headersSent)
      return void socket.destroy()
    if (connection.refused) return
    connection.refused = true
    connection.last = true
    socket.on('error', () => socket.destroy())
    if (!socket.writable) return void socket.destroy()
    socket.end(formatRefusal(error))
    // A connection with unread bytes that is destroyed at once is reset, and the client may not see the answer.
    socket.resume()
    const farewell = setTimeout(() => socket.destroy(), this.#options.times.farewellMs).unref()
    socket.once('close', () => clearTimeout(farewell))
  }

  #closeIdle(): void {
    for (const server of this.#servers) server.closeIdleConnections()
    for (const socket of this.#handshakes) socket.destroy()
    // To Node, a connection is busy until its first request.
    for (const { socket, turns, lingers } of this.#connections.values()) {
      if (lingers || (turns.length === 0 && socket.bytesRead === 0)) socket.destroy()
    }
  }

  #closeAll(): void {
    for (const socket of [...this.#handshakes, ...this.#connections.keys()]) socket.destroy()
  }
}

function isIdle({ socket, turns, lingers }: ClientConnection): boolean {
  return turns.length === 0 && socket.bytesWritten > 0 && !lingers
}

/** What comes next on the connection cannot be read, and this request needs nothing of it: its answer is not broken off. */
function endsWithoutInput({ request, response }: QueuedRequest): boolean {
  return request.complete || (response.headersSent && request.readableFlowing === null)
}
