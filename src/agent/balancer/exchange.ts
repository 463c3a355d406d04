/** One HTTP request and its response, streamed to an instance, with a retry where safe. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { http } from '../../node-http.ts'
import type { Bounds } from './bounds.ts'
import type { LoadBalancer } from './load-balancer.ts'
import type { Member } from './member.ts'
import type { ConnectionFailure, ConnectionUser, MemberConnection } from './member-connection.ts'
import { type ClientSide, type RequestHead, toRequestHead } from './request-head.ts'
import { toClientHeaders, toTrailerLines, toTrailers } from './response-headers.ts'
import { ResponseError, type ResponseHead } from './response-reader.ts'
import type { Sweep, Swept } from './sweep.ts'

/** The port that a request came in on. */
export interface Entrance {
  readonly balancer: LoadBalancer
  readonly bounds: Bounds
  readonly sweep: Sweep
  /** Bytes of bodies that are held to be sent again, over all ports. */
  readonly replay: { bytes: number }
  /** Since the port is no longer wanted, in milliseconds of `performance.now()`. */
  readonly closesSince: number | undefined
  /** The response to the present request of a connection is over. */
  endTurn(socket: Socket): void
}

/** A response that knows its exchange, so that no function has to be made for each request. */
export class ClientResponse extends http.ServerResponse {
  exchange: Exchange | undefined
  entrance: Entrance | undefined
}

/** Instances may send this many heads before the final one. */
const maxInformation = 100
const maxTextBytes = 8192
const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])
const nothingTried: readonly Member[] = []

type Phase =
  /** The client sends a small body. */
  | 'collecting'
  | 'connecting'
  /** For the head of the response. */
  | 'waiting'
  | 'answering'
  /** Everything was written; the client has not taken all of it, or still sends. */
  | 'ending'

export class Exchange implements ConnectionUser, Swept {
  readonly #entrance: Entrance
  readonly #request: IncomingMessage
  readonly #response: ClientResponse
  readonly #head: RequestHead
  #phase: Phase = 'collecting'
  #member: Member | undefined
  #connection: MemberConnection | undefined
  #attempts = 0
  #tried: readonly Member[] = nothingTried
  /** The next attempt takes a new connection. */
  #fresh = false
  /** Why an instance that may have begun with the request did not answer it. */
  #error: (Error & { code?: string }) | undefined
  /** A small body, complete. */
  #body: Buffer | undefined
  #pieces: Buffer[] | undefined
  #replayBytes = 0
  /** The body goes from the client to the instance as it comes, and cannot be sent again. */
  #streams = false
  #isSent = false
  #clientIsBlocked = false
  #instanceIsBlocked = false
  #information = 0
  #headIsUnsent = false
  /** When something last moved, by the coarse clock. */
  #movedMs: number
  #answer: ResponseHead | undefined

  constructor(entrance: Entrance, request: IncomingMessage, response: ClientResponse, head: RequestHead) {
    this.#entrance = entrance
    this.#request = request
    this.#response = response
    this.#head = head
    this.#movedMs = entrance.sweep.nowMs
  }

  start(): void {
    const { sweep, balancer, bounds, replay } = this.#entrance
    sweep.add(this)
    const { body } = this.#head
    const isSmall = typeof body === 'number' && body <= bounds.maxReplayBytes && replay.bytes + body <= bounds.maxReplayTotalBytes
    if (!isSmall) this.#dispatch()
    else if (!balancer.hasInstance) this.#refuseForNow()
    else this.#collect(body)
  }

  /** A slow client keeps no instance busy, and the request can be sent again. */
  #collect(bytes: number): void {
    const request = this.#request
    this.#replayBytes = bytes
    this.#entrance.replay.bytes += bytes
    const pieces: Buffer[] = []
    this.#pieces = pieces
    request.on('data', (piece: Buffer) => {
      this.#movedMs = this.#entrance.sweep.nowMs
      pieces.push(piece)
    })
    request.once('end', () => {
      if (this.#pieces === undefined) return
      this.#body = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
      this.#pieces = undefined
      this.#dispatch()
    })
    if (this.#head.expectsContinue) this.#response.writeContinue()
  }

  #dispatch(): void {
    const { balancer } = this.#entrance
    this.#attempts++
    // The only instance is asked again where nothing but an old connection has failed.
    const member = balancer.pick(this.#tried) ?? (this.#fresh ? balancer.pick(nothingTried) : undefined)
    if (member === undefined) return void this.#giveUp()
    const isIdempotent = idempotentMethods.has(this.#head.method)
    const connection = member.take(this.#fresh ? 'new' : isIdempotent ? 'any' : 'fresh')
    this.#member = member
    this.#connection = connection
    this.#movedMs = this.#entrance.sweep.nowMs
    connection.begin(this, this.#head.method === 'HEAD')
    if (connection.isConnected) this.#send(connection)
    else this.#phase = 'connecting'
  }

  onConnected(): void {
    if (this.#connection !== undefined) this.#send(this.#connection)
  }

  #send({ socket }: MemberConnection): void {
    this.#phase = 'waiting'
    const { text, body, expectsContinue } = this.#head
    const isWhole = body === 'none' || this.#body !== undefined
    if (this.#body !== undefined) {
      socket.cork()
      socket.write(`${text}\r\n`, 'latin1')
      socket.write(this.#body)
      socket.uncork()
    } else {
      socket.write(expectsContinue && !isWhole ? `${text}expect: 100-continue\r\n\r\n` : `${text}\r\n`, 'latin1')
    }
    this.#isSent = isWhole
    if (!isWhole) this.#stream()
  }

  #stream(): void {
    const request = this.#request
    this.#streams = true
    request.on('data', (piece: Buffer) => this.#passPiece(piece))
    request.once('end', () => this.#passEnd())
  }

  #passPiece(piece: Buffer): void {
    this.#movedMs = this.#entrance.sweep.nowMs
    const socket = this.#connection?.socket
    if (socket === undefined) return
    let isTaken: boolean
    if (this.#head.body === 'chunked') {
      socket.cork()
      socket.write(`${piece.length.toString(16)}\r\n`, 'latin1')
      socket.write(piece)
      isTaken = socket.write('\r\n', 'latin1')
      socket.uncork()
    } else {
      isTaken = socket.write(piece)
    }
    if (isTaken) return
    this.#instanceIsBlocked = true
    this.#request.pause()
  }

  #passEnd(): void {
    if (this.#connection === undefined) return
    this.#isSent = true
    this.#movedMs = this.#entrance.sweep.nowMs
    if (this.#head.body === 'chunked') {
      this.#connection.socket.write(`0\r\n${toTrailerLines(this.#request.rawTrailers)}\r\n`, 'latin1')
    }
  }

  onDrain(): void {
    if (!this.#instanceIsBlocked) return
    this.#instanceIsBlocked = false
    this.#movedMs = this.#entrance.sweep.nowMs
    this.#request.resume()
  }

  onInformation(head: ResponseHead): void {
    this.#movedMs = this.#entrance.sweep.nowMs
    if (++this.#information > maxInformation) throw new ResponseError('The instance sends one 1xx response after the other.')
    if (this.#request.httpVersionMinor === 0) return
    if (head.status !== 100) this.#response.writeInformation(head.status, toClientHeaders(head, false))
    else if (this.#head.expectsContinue && this.#streams) this.#response.writeContinue()
  }

  onHead(head: ResponseHead): void {
    if (head.status === 101) throw new ResponseError('The instance changes the protocol although nothing asked for it.')
    this.#movedMs = this.#entrance.sweep.nowMs
    this.#phase = 'answering'
    this.#answer = head
    const isOld = this.#request.httpVersionMinor === 0
    const headers = toClientHeaders(head, head.body.kind === 'chunked' && !isOld)
    if (this.#mustClose()) headers.push('connection', 'close')
    this.#response.writeHead(head.status, head.statusText, headers)
    this.#headIsUnsent = true
  }

  /** After an invitation that never came, the client may leave the body out: then the next request would be taken for it. */
  #mustClose(): boolean {
    return this.#entrance.closesSince !== undefined || (this.#head.expectsContinue && !this.#request.complete)
  }

  onBody(piece: Buffer, isLast: boolean): void {
    const response = this.#response
    this.#movedMs = this.#entrance.sweep.nowMs
    this.#headIsUnsent = false
    if (isLast) {
      // As text, a short body and its head are one write of one string.
      if (piece.length <= maxTextBytes) response.end(piece.toString('latin1'), 'latin1')
      else response.end(Buffer.from(piece))
    } else if (!response.write(Buffer.from(piece)) && !this.#clientIsBlocked) {
      this.#clientIsBlocked = true
      this.#connection?.socket.pause()
      response.once('drain', () => {
        this.#clientIsBlocked = false
        this.#movedMs = this.#entrance.sweep.nowMs
        this.#connection?.socket.resume()
      })
    }
  }

  onReadEnd(): void {
    if (!this.#headIsUnsent) return
    this.#headIsUnsent = false
    this.#response.flushHeaders()
  }

  onEnd(trailers: readonly string[]): void {
    const response = this.#response
    this.#phase = 'ending'
    this.#keepConnection()
    if (response.writableEnded) return
    if (trailers.length > 0 && response.chunkedEncoding) response.addTrailers(toTrailers(trailers))
    response.end()
  }

  #keepConnection(): void {
    const connection = this.#connection
    const answer = this.#answer
    if (connection === undefined) return
    this.#connection = undefined
    if (answer?.keepsAlive === true && this.#isSent) this.#member?.keep(connection, answer.keepAliveSeconds)
    else connection.destroy()
    this.#leaveMember()
  }

  #leaveMember(): void {
    const member = this.#member
    this.#member = undefined
    member?.leave()
  }

  onFailure({ error, wasConnected }: ConnectionFailure): void {
    const member = this.#member
    const wasUsed = this.#connection?.wasUsed === true
    this.#connection = undefined
    this.#leaveMember()
    if (member !== undefined) noteFailure(member, error, wasConnected)
    if (wasConnected) this.#error = error
    if (this.#response.headersSent) {
      // A response that is cut off must not look complete.
      this.#phase = 'ending'
      this.#response.destroy()
    } else if (member !== undefined && this.#mayRepeat(error, wasConnected)) {
      this.#tried = [...this.#tried, member]
      this.#fresh = wasUsed
      this.#dispatch()
    } else {
      this.#giveUp()
    }
  }

  #mayRepeat(error: Error & { code?: string }, wasConnected: boolean): boolean {
    if (this.#attempts >= this.#entrance.bounds.maxAttempts || this.#streams) return false
    if (!wasConnected) return true
    return idempotentMethods.has(this.#head.method) && error.code !== 'ETIMEDOUT' && !(error instanceof ResponseError)
  }

  #giveUp(): void {
    const error = this.#error
    if (error === undefined) this.#refuseForNow()
    else if (error.code === 'ETIMEDOUT') this.#refuse(504, 'The instance did not answer in time.')
    else if (error instanceof ResponseError) this.#refuse(502, `The instance sent no valid HTTP response. ${error.message}`)
    else this.#refuse(502, 'The instance closed the connection before it answered. The request may have had an effect.')
  }

  #refuseForNow(): void {
    const { balancer } = this.#entrance
    this.#refuse(503, balancer.explain(), balancer.retryAfterSeconds)
  }

  #refuse(status: number, text: string, retryAfterSeconds?: number): void {
    this.#phase = 'ending'
    refuse(this.#response, { status, text, retryAfterSeconds, closes: this.#mustClose() })
  }

  /** The response is over, or the client has gone away. */
  onClientClose(): void {
    const { sweep, replay } = this.#entrance
    sweep.delete(this)
    replay.bytes -= this.#replayBytes
    this.#replayBytes = 0
    this.#pieces = undefined
    if (!this.#request.complete && !this.#request.socket.destroyed) sweep.add(new LateBody(sweep, this.#request))
    if (this.#connection === undefined) return
    this.#connection.destroy()
    this.#connection = undefined
    this.#leaveMember()
  }

  check(nowMs: number): void {
    const { bounds, closesSince } = this.#entrance
    const drainsSince = earliest(closesSince, this.#member?.drainsSince)
    if (drainsSince !== undefined && nowMs - drainsSince > bounds.drainMs) return void this.#response.destroy()
    const stalledMs = nowMs - this.#movedMs
    if (this.#phase === 'connecting') {
      if (stalledMs > bounds.connectMs) this.#connection?.fail(timedOut())
    } else if (this.#waitsForClient()) {
      if (stalledMs > bounds.clientStallMs) this.#endSlowClient()
    } else if (stalledMs > bounds.instanceStallMs) {
      this.#connection?.fail(timedOut())
    }
  }

  #waitsForClient(): boolean {
    if (this.#phase === 'collecting' || this.#phase === 'ending' || this.#clientIsBlocked) return true
    return this.#streams && !this.#isSent && !this.#instanceIsBlocked
  }

  #endSlowClient(): void {
    if (this.#response.headersSent) return void this.#response.destroy()
    this.#connection?.destroy()
    this.#connection = undefined
    this.#leaveMember()
    this.#phase = 'ending'
    this.#movedMs = this.#entrance.sweep.nowMs
    refuse(this.#response, { status: 408, text: 'The body of the request did not arrive in time.', closes: true })
  }
}

/** Time for a client to send the rest of a request that has its response; a connection that is closed before may lose that. */
const lateBodyMs = 30_000

class LateBody implements Swept {
  readonly #sweep: Sweep
  readonly #request: IncomingMessage
  readonly #sinceMs: number

  constructor(sweep: Sweep, request: IncomingMessage) {
    this.#sweep = sweep
    this.#request = request
    this.#sinceMs = sweep.nowMs
  }

  check(nowMs: number): void {
    const { complete, socket } = this.#request
    if (!complete && !socket.destroyed && nowMs - this.#sinceMs <= lateBodyMs) return
    if (!complete) socket.destroy()
    this.#sweep.delete(this)
  }
}

export interface Refusal {
  readonly status: number
  readonly text: string
  readonly retryAfterSeconds?: number | undefined
  readonly closes: boolean
}

/** The load balancer answers by itself. */
export function refuse(response: ServerResponse, { status, text, retryAfterSeconds, closes }: Refusal): void {
  const body = `${status} ${http.STATUS_CODES[status]}\n${text}\n`
  const headers = ['content-type', 'text/plain; charset=utf-8', 'content-length', String(Buffer.byteLength(body))]
  if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds))
  if (closes) headers.push('connection', 'close')
  response.writeHead(status, headers)
  response.end(body)
}

/** Begins the exchange of a request, or answers one that cannot be passed on. */
export function beginExchange(entrance: Entrance, client: ClientSide, request: IncomingMessage, response: ClientResponse): void {
  const head = toRequestHead(request, client, false)
  if ('problem' in head) return void refuse(response, { status: head.status, text: head.problem, closes: true })
  const exchange = new Exchange(entrance, request, response, head)
  response.exchange = exchange
  exchange.start()
}

export function noteFailure(member: Member, error: Error & { code?: string }, wasConnected: boolean): void {
  if (!wasConnected && error.code === 'ECONNREFUSED') member.health.noteRefused()
  else member.health.probeSoon()
}

function timedOut(): Error & { code: string } {
  return Object.assign(new Error('the instance did not answer in time'), { code: 'ETIMEDOUT' })
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}
