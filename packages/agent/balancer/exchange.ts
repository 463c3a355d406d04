/** One HTTP request and its response, streamed to an instance, with a retry where safe. */
import type { IncomingMessage } from 'node:http'
import type { Connection, ConnectionFailure, ResponseReceiver } from '@fairlead/proxy/connection.ts'
import {
  Forward,
  type ForwardedRequest,
  type ForwardProgress,
  type RetryDecision,
  type Wait,
} from '@fairlead/proxy/forward.ts'
import { KeptBytes } from '@fairlead/proxy/kept-bytes.ts'
import { LateBody, RequestBody } from '@fairlead/proxy/request-body.ts'
import { toClientHeaders, toTrailers } from '@fairlead/proxy/response-headers.ts'
import { ResponseError, type ResponseHead } from '@fairlead/proxy/response-reader.ts'
import type { Expiring } from '@fairlead/proxy/sweep.ts'
import { type BalancerRefusal, type ClientResponse, isStream, refuse } from './client-response.ts'
import { type Compressor, openCompressor } from './compression.ts'
import { chooseInstance, decideRetry } from './instance-choice.ts'
import type { ListenerContext } from './listener-context.ts'
import type { Member } from './member.ts'
import { type ClientSide, type RequestHead, toRequestHead } from './request-head.ts'
import { Tunnel } from './tunnel.ts'

/** Instances may send this many heads before the final one. */
const maxInformation = 100
const maxTextBytes = 8192
const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])

type ExchangePhase =
  /** The client sends a small body. */
  | 'collecting'
  /** It is the instance's turn. */
  | 'sent'
  /** Everything was written; the client has not taken all of it, or still sends. */
  | 'ending'
  /** The instance has changed the protocol. */
  | 'tunnel'

class Exchange implements ResponseReceiver, ForwardedRequest<Member, ConnectionFailure>, Expiring {
  readonly #context: ListenerContext
  readonly #request: IncomingMessage
  readonly #response: ClientResponse
  readonly #head: RequestHead
  readonly #isIdempotent: boolean
  readonly #forward = new Forward<Member, ConnectionFailure>(this)
  readonly #body: RequestBody | undefined
  #phase: ExchangePhase = 'collecting'
  /** When the instance got the request, in milliseconds of `performance.now()`. */
  #sentMs = 0
  #connection: Connection | undefined
  /** A kept connection has failed: further attempts take new ones. */
  #fresh = false
  /** Why an instance that may have begun with the request did not answer it. */
  #error: (Error & { code?: string }) | undefined
  #clientIsBlocked = false
  #information = 0
  #headIsUnsent = false
  /** When something last moved, by the coarse clock. */
  #movedMs: number
  #answer: ResponseHead | undefined
  /** The beginning of a small response that another instance can still give. */
  #pieces: KeptBytes | undefined
  #compressor: Compressor | undefined

  constructor(
    context: ListenerContext,
    request: IncomingMessage,
    response: ClientResponse,
    head: RequestHead,
  ) {
    this.#context = context
    this.#request = request
    this.#response = response
    this.#head = head
    this.#isIdempotent = !head.upgrades && idempotentMethods.has(head.method)
    this.#movedMs = context.sweep.nowMs
    const { body } = head
    if (body === 'none') return
    const maySuffice = body === 'chunked' || body <= context.bounds.maxReplayBytes
    this.#body = new RequestBody(
      context,
      request,
      body === 'chunked',
      this.#isIdempotent && maySuffice,
    )
    const { site } = context
    if (site !== undefined)
      this.#body.limit(site.maxBodyBytes, () => this.#refuseBody(site.maxBodyBytes))
  }

  start(): void {
    const { sweep, balancer, bounds, replay } = this.#context
    sweep.add(this)
    const { body } = this.#head
    const isSmall =
      typeof body === 'number' &&
      body <= bounds.maxReplayBytes &&
      replay.bytes + body <= bounds.maxReplayTotalBytes
    if (!isSmall) this.#forward.attempt()
    else if (!balancer.hasInstance && !balancer.mayWait) this.giveUp()
    else this.#collect(body)
  }

  /** A slow client keeps no instance busy, and the request can be sent again. */
  #collect(bytes: number): void {
    this.#body?.collect(bytes, () => {
      if (this.#phase === 'collecting') this.#forward.attempt()
    })
    if (this.#head.expectsContinue) this.#response.writeContinue()
  }

  choose(progress: ForwardProgress<Member>): Member | Wait<Member> | undefined {
    return chooseInstance(this.#context, progress)
  }

  send(member: Member): void {
    const usual = this.#isIdempotent ? 'any' : 'fresh'
    const connection = member.take(this.#head.upgrades ? 'tunnel' : this.#fresh ? 'new' : usual)
    this.#sentMs = performance.now()
    this.#connection = connection
    this.#movedMs = this.#context.sweep.nowMs
    this.#phase = 'sent'
    const { instanceStallMs } = this.#context.bounds
    connection.send(this.#head, this.#body, this, instanceStallMs)
  }

  onInformation(head: ResponseHead): void {
    this.#movedMs = this.#context.sweep.nowMs
    if (++this.#information > maxInformation)
      throw new ResponseError('The instance sends one 1xx response after the other.')
    if (this.#isOldClient || this.#head.upgrades) return
    if (head.status !== 100)
      this.#response.writeInformation(head.status, toClientHeaders(head, false))
    else if (this.#head.expectsContinue && this.#body?.isPassedOn) this.#response.writeContinue()
  }

  onHead(head: ResponseHead): void {
    if (head.status === 101) return void this.#join(head)
    this.#movedMs = this.#context.sweep.nowMs
    this.#answer = head
    const { body } = head
    // A small response is not begun before it is complete: until then, another instance can give it.
    const isHeld =
      this.#isIdempotent &&
      body.kind === 'length' &&
      body.length <= this.#context.bounds.maxReplayBytes
    if (!isHeld) this.#sendHead(head)
  }

  #join(head: ResponseHead): void {
    const connection = this.#connection
    const protocol = findHeader(head.headers, 'upgrade')
    if (protocol === undefined)
      throw new ResponseError('The instance does not say which protocol it changes to.')
    const member = connection && this.#forward.handOver()
    if (connection === undefined || member === undefined) return
    const { socket } = this.#request
    this.#phase = 'tunnel'
    this.#connection = undefined
    this.#context.sweep.delete(this)
    this.#response.detachSocket(socket)
    const headers = [...toClientHeaders(head, false), 'connection', 'upgrade', 'upgrade', protocol]
    let text = 'HTTP/1.1 101 Switching Protocols\r\n'
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
    socket.write(`${text}\r\n`, 'latin1')
    new Tunnel(this.#context, member, socket, connection.release()).open()
  }

  get #isOldClient(): boolean {
    const { httpVersionMajor, httpVersionMinor } = this.#request
    return httpVersionMajor === 1 && httpVersionMinor === 0
  }

  #sendHead(head: ResponseHead): void {
    const { site } = this.#context
    let headers = toClientHeaders(head, head.body.kind === 'chunked' && !this.#isOldClient)
    if (site !== undefined) {
      headers.push(...site.responseHeaders)
      if (site.compress !== undefined) {
        const message = { request: this.#request, head, headers, response: this.#response }
        this.#compressor = openCompressor(site.compress, message)
        headers = this.#compressor?.headers ?? headers
      }
    }
    if (this.#mustClose()) headers.push('connection', 'close')
    this.#response.writeHead(head.status, head.statusText, headers)
    this.#headIsUnsent = true
  }

  /** After an invitation that never came, the client may leave the body out: then the next request would be taken for it. */
  #mustClose(): boolean {
    const { expectsContinue, upgrades } = this.#head
    return (
      upgrades ||
      this.#context.closesSince !== undefined ||
      (expectsContinue && !this.#request.complete)
    )
  }

  onBody(piece: Buffer, isLast: boolean): void {
    const response = this.#response
    this.#movedMs = this.#context.sweep.nowMs
    if (response.headersSent) this.#passOn(piece, isLast)
    else if (isLast) this.#endHeld(piece)
    else {
      this.#pieces ??= new KeptBytes()
      this.#pieces.add(Buffer.from(piece))
    }
  }

  #endHeld(last: Buffer): void {
    if (this.#answer === undefined) return
    this.#sendHead(this.#answer)
    this.#pieces?.add(last)
    this.#passOn(this.#pieces?.bytes ?? last, true)
    this.#pieces = undefined
  }

  #passOn(piece: Buffer, isLast: boolean): void {
    const response = this.#compressor?.stream ?? this.#response
    this.#headIsUnsent = false
    if (this.#compressor !== undefined && isLast) response.end(Buffer.from(piece))
    else if (isLast) {
      // As text, a short body and its head are one write of one string.
      if (piece.length <= maxTextBytes) response.end(piece.toString('latin1'), 'latin1')
      else response.end(Buffer.from(piece))
    } else if (!response.write(Buffer.from(piece)) && !this.#clientIsBlocked) {
      this.#clientIsBlocked = true
      this.#connection?.pause()
      response.once('drain', () => {
        this.#clientIsBlocked = false
        this.#movedMs = this.#context.sweep.nowMs
        this.#connection?.resume()
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
    if (this.#phase === 'tunnel') return
    this.#phase = 'ending'
    // A held response without a body.
    if (!response.headersSent && this.#answer !== undefined) this.#sendHead(this.#answer)
    this.#headIsUnsent = false
    this.#connection = undefined
    this.#forward.server?.count((this.#answer?.status ?? 500) >= 500, this.#sentMs)
    this.#forward.leave()
    this.#body?.discard()
    if (this.#compressor !== undefined) return void this.#compressor.stream.end()
    if (response.writableEnded) return
    if (trailers.length > 0 && response.chunkedEncoding) response.addTrailers(toTrailers(trailers))
    response.end()
  }

  #dropConnection(): void {
    this.#connection?.destroy()
    this.#connection = undefined
    this.#forward.leave()
  }

  leave(member: Member): void {
    member.leave()
  }

  onFailure(failure: ConnectionFailure): void {
    this.#connection = undefined
    if (failure.wasConnected) this.#error = failure.error
    this.#forward.fail(failure)
  }

  decideRetry(
    member: Member,
    failure: ConnectionFailure,
    { number }: ForwardProgress<Member>,
  ): RetryDecision {
    const { wasConnected, wasKept } = failure
    if (wasConnected && !wasKept) member.count(true, this.#sentMs)
    const mayRepeat = !this.#response.headersSent && this.#mayRepeat(failure)
    const decision = decideRetry(this.#context, member, failure, { number, mayRepeat })
    if (decision.retryMs === undefined) return decision
    this.#fresh ||= wasKept
    this.#body?.detach()
    this.#answer = undefined
    this.#pieces = undefined
    this.#phase = 'sent'
    return decision
  }

  #mayRepeat({ error, wasConnected }: ConnectionFailure): boolean {
    if (this.#body?.isRepeatable === false) return false
    if (!wasConnected) return true
    return this.#isIdempotent && error.code !== 'ETIMEDOUT' && !(error instanceof ResponseError)
  }

  giveUp(): void {
    if (this.#response.headersSent) {
      // A response that is cut off must not look complete.
      this.#phase = 'ending'
      return void this.#response.destroy()
    }
    const error = this.#error
    const { balancer, site } = this.#context
    if (error === undefined)
      this.#refuse(503, balancer.explain(), balancer.retryAfterSeconds, site?.errorPage)
    else if (error.code === 'ETIMEDOUT') this.#refuse(504, 'The instance did not answer in time.')
    else if (error instanceof ResponseError)
      this.#refuse(502, `The instance sent no valid HTTP response. ${error.message}`)
    else
      this.#refuse(
        502,
        'The instance closed the connection before it answered. The request may have had an effect.',
      )
  }

  #refuse(status: number, text: string, retryAfterSeconds?: number, page?: string): void {
    this.#phase = 'ending'
    this.#body?.discard()
    const headers = this.#context.site?.responseHeaders ?? []
    const closes = this.#mustClose()
    refuse(this.#response, { status, text, retryAfterSeconds, closes, headers, page })
  }

  /** The body is longer than its site allows, and did not say so. */
  #refuseBody(maxBytes: number): void {
    this.#dropConnection()
    this.#body?.discard()
    this.#phase = 'ending'
    if (this.#response.headersSent) return void this.#response.destroy()
    refuse(this.#response, tooLarge(maxBytes))
    if (isStream(this.#request)) this.#response.once('finish', () => this.#response.destroy())
  }

  /** The response is over, or the client has gone away. */
  onClientClose(): void {
    const { sweep } = this.#context
    sweep.delete(this)
    this.#phase = 'ending'
    this.#body?.discard()
    if (!isStream(this.#request) && !this.#request.complete && !this.#request.socket.destroyed)
      sweep.add(new LateBody(sweep, this.#request))
    this.#connection?.destroy()
    this.#connection = undefined
    this.#forward.abandon()
    this.#compressor?.stream.destroy()
  }

  check(nowMs: number): void {
    const { bounds, closesSince } = this.#context
    const drains = [closesSince, this.#forward.server?.drainsSince]
    if (drains.some((since) => since !== undefined && nowMs - since > bounds.drainMs))
      return void this.#response.destroy()
    if (this.#forward.isWaiting) return
    const stalledMs = nowMs - Math.max(this.#movedMs, this.#body?.movedMs ?? 0)
    if (this.#waitsForClient() && stalledMs > bounds.clientStallMs) this.#endSlowClient()
  }

  #waitsForClient(): boolean {
    if (this.#phase === 'collecting' || this.#phase === 'ending' || this.#clientIsBlocked)
      return true
    const body = this.#body
    return body?.isPassedOn === true && !body.isBlocked
  }

  #endSlowClient(): void {
    if (this.#response.headersSent) return void this.#response.destroy()
    this.#dropConnection()
    this.#body?.discard()
    this.#phase = 'ending'
    this.#movedMs = this.#context.sweep.nowMs
    refuse(this.#response, {
      status: 408,
      text: 'The body of the request did not arrive in time.',
      closes: true,
    })
  }
}

/** Begins the exchange of a request, or answers one that cannot be passed on. */
export function beginExchange(
  context: ListenerContext,
  client: ClientSide,
  request: IncomingMessage,
  response: ClientResponse,
  upgrades = false,
): void {
  const { site } = context
  const head = toRequestHead(request, client, upgrades, site)
  if ('problem' in head)
    return void refuse(response, { status: head.status, text: head.problem, closes: true })
  if (site !== undefined) {
    if (headerBytesOf(request) > site.maxHeaderBytes)
      return void refuse(response, {
        status: 431,
        text: `The headers of the request have more than ${site.maxHeaderBytes} bytes.`,
        closes: true,
      })
    if (typeof head.body === 'number' && head.body > site.maxBodyBytes)
      return void refuse(response, tooLarge(site.maxBodyBytes))
  }
  const exchange = new Exchange(context, request, response, head)
  response.exchange = exchange
  exchange.start()
}

function headerBytesOf({ rawHeaders, url = '' }: IncomingMessage): number {
  let bytes = url.length
  for (const part of rawHeaders) bytes += part.length + 2
  return bytes
}

function tooLarge(maxBytes: number): BalancerRefusal {
  return {
    status: 413,
    text: `The body of the request has more than ${maxBytes} bytes, which is the limit of this host.`,
    closes: true,
  }
}

function findHeader(headers: readonly string[], name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]?.toLowerCase() === name) return headers[at + 1]
  return undefined
}
