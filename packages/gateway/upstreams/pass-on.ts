/** Streams responses of services to clients, without buffering, with back-pressure. */
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { CallSpan } from '@fairlead/base/telemetry/open-tracing.ts'
import type { Connection, ConnectionFailure, ResponseReceiver } from '@fairlead/proxy/connection.ts'
import {
  Forward,
  type ForwardedRequest,
  type ForwardProgress,
  type RetryDecision,
  type Wait,
} from '@fairlead/proxy/forward.ts'
import { toHeaderRecord } from '@fairlead/proxy/response-headers.ts'
import type { ResponseHead } from '@fairlead/proxy/response-reader.ts'
import { goneSignal } from '../http/gone-signal.ts'
import { isEmptyByStatus } from './answer-form.ts'
import {
  type AnswerHead,
  type AnswerPhase,
  ErrorBody,
  Matching,
  type PassedAnswer,
  type PassedAnswerOptions,
  Streaming,
} from './answer-phases.ts'
import {
  createTarget,
  maxRedirects,
  redirectPath,
  sendTarget,
  type UpstreamTarget,
} from './call-target.ts'
import { ClientAnswer } from './client-answer.ts'
import type { Endpoint } from './endpoint.ts'
import type { IdentityHeaders } from './identity.ts'
import type { UpstreamCall } from './upstream-call.ts'
import {
  clientGone,
  maxInformational,
  onlyInformational,
  toGatewayError,
  unfollowed,
} from './upstream-errors.ts'
import type { Upstreams } from './upstreams.ts'

interface PassOnOptions extends PassedAnswerOptions {
  readonly call: UpstreamCall
  readonly identity: IdentityHeaders
}

export function passOn(upstreams: Upstreams, options: PassOnOptions): void {
  new PassedCall(upstreams, options).start()
}

/** A call for a client: one attempt, or several where one fails or is redirected. */
class PassedCall implements ForwardedRequest<Endpoint, unknown> {
  readonly upstreams: Upstreams
  readonly options: PassOnOptions
  call: UpstreamCall
  clientIsGone = false
  readonly #forward = new Forward<Endpoint, unknown>(this)
  #attempt: PassOnAttempt | undefined
  #redirects = 0

  constructor(upstreams: Upstreams, options: PassOnOptions) {
    this.upstreams = upstreams
    this.options = options
    this.call = options.call
    // From now on a client that goes away ends the call, even while it waits for a connection.
    if (options.client.destroyed) this.clientIsGone = true
    else options.client.on('close', this.#clientClosed)
  }

  start(): void {
    this.#forward.attempt()
  }

  choose({ tried }: ForwardProgress<Endpoint>): Endpoint | Wait<Endpoint> {
    const { service, identity, client } = this.options
    return this.upstreams.enter(service, this.call, {
      identity,
      failed: tried,
      signal: () => goneSignal(client),
    })
  }

  send(endpoint: Endpoint): void {
    this.#attempt = new PassOnAttempt(this, endpoint)
    this.#attempt.send()
  }

  leave(endpoint: Endpoint): void {
    endpoint.leave()
  }

  succeed(): void {
    this.#noteAnswer()
    this.#end()
  }

  /** The service has answered, whatever came of it. */
  #noteAnswer(): void {
    const { server } = this.#forward
    if (server !== undefined) this.upstreams.noteAnswer(server, undefined)
    this.#forward.leave()
  }

  fail(error: unknown): void {
    this.#forward.fail(error)
  }

  decideRetry(
    endpoint: Endpoint,
    error: unknown,
    { number, firstFailedMs }: ForwardProgress<Endpoint>,
  ): RetryDecision {
    const { client, call } = this.options
    if (client.destroyed || client.headersSent) return { retryMs: undefined }
    // What was read of a streamed body is gone.
    const attempt = call.rawBody instanceof Readable ? Number.POSITIVE_INFINITY : number
    const failure = { error, method: this.call.method ?? 'GET', attempt, firstAtMs: firstFailedMs }
    return { retryMs: this.upstreams.noteFailure(endpoint, failure) }
  }

  /** Asks where the service has sent the call on to. */
  follow(path: string): void {
    if (++this.#redirects > maxRedirects) return void this.fail(unfollowed(this.options.service))
    this.#noteAnswer()
    this.call = { ...this.call, path, query: undefined }
    this.#forward.attempt()
  }

  giveUp(error: unknown): void {
    this.#end(error)
  }

  #end(error?: unknown): void {
    const { call, receiver } = this.options
    if (call.rawBody instanceof Readable) call.rawBody.destroy()
    receiver.ended(error)
  }

  #clientClosed = (): void => {
    this.clientIsGone = true
    this.#attempt?.abort(clientGone)
  }
}

class PassOnAttempt implements ResponseReceiver, PassedAnswer {
  readonly #call: PassedCall
  readonly endpoint: Endpoint
  readonly written: ClientAnswer
  #connection: Connection | undefined
  #target: UpstreamTarget | undefined
  #span: CallSpan | undefined
  #phase: AnswerPhase | undefined
  #status: number | undefined
  #informational = 0
  #bytes = 0
  #startedAtMs = 0
  /** The connections were closed already, so what becomes of the call says nothing about the service. */
  #isClosed = false
  #isOver = false

  constructor(call: PassedCall, endpoint: Endpoint) {
    this.#call = call
    this.endpoint = endpoint
    this.written = new ClientAnswer(call.options)
  }

  get options(): PassOnOptions {
    return this.#call.options
  }

  get clientIsGone(): boolean {
    return this.#call.clientIsGone
  }

  get speaksForFairlead(): boolean {
    return this.#call.upstreams.traitsOf(this.options.service).speaksForFairlead
  }

  send(): void {
    const { upstreams, call } = this.#call
    const { service, gzip, identity } = this.options
    this.#startedAtMs = performance.now()
    try {
      this.#span = upstreams.startCall?.(service, call.method ?? 'GET')
      this.#target = createTarget(this.endpoint, call, {
        identity: upstreams.sendsIdentity ? identity : {},
        encoding: gzip ? 'gzip' : 'identity',
        more: this.#span?.headers,
      })
      this.#isClosed = this.endpoint.isClosed
      this.#connection = this.endpoint.takeConnection()
      sendTarget(this.#target, this.#connection, this)
    } catch (error) {
      this.fail(toGatewayError(error, service))
    }
    if (this.clientIsGone) this.abort(clientGone)
  }

  succeed(): void {
    this.#call.succeed()
  }

  fail(error: unknown): void {
    this.#call.fail(error)
  }

  pause(): void {
    this.#connection?.pause()
  }

  resume(): void {
    this.#connection?.resume()
  }

  abort(reason: Error): void {
    this.#connection?.fail(reason)
  }

  refuse(error: unknown): void {
    if (this.#isOver) return void this.fail(error)
    this.#phase = { data() {}, end() {}, failure: () => error }
    this.abort(new Error('the answer was refused'))
  }

  begin(head: AnswerHead, bytes?: Buffer): void {
    const streaming = new Streaming(this)
    const preparing = this.options.receiver.beforeAnswer(head.status)
    if (preparing === undefined) {
      this.#phase = streaming
      this.#write(head, bytes)
      return
    }
    // What was read with the head still comes.
    const held: (() => void)[] = []
    const holding = {
      data: (chunk: Buffer) => held.push(() => streaming.data(chunk)),
      end: () => held.push(() => streaming.end()),
    }
    this.#phase = holding
    this.pause()
    preparing.then(
      () => {
        if (this.#phase !== holding) return
        this.#phase = streaming
        this.#write(head, bytes)
        for (const step of held) step()
        if (!this.written.isStalled) this.resume()
      },
      (error: unknown) => {
        if (this.#phase === holding) this.refuse(error)
      },
    )
  }

  #write({ status, headers }: AnswerHead, bytes?: Buffer): void {
    if (this.clientIsGone) return
    this.written.writeHead(status, headers)
    if (this.options.headersOnly) this.abort(new Error('headers are enough'))
    else if (bytes !== undefined) this.written.write(bytes, this)
  }

  onInformation(): void {
    if (++this.#informational > maxInformational)
      this.abort(onlyInformational(this.options.service))
  }

  onHead(received: ResponseHead): void {
    const { status } = received
    const { options } = this
    const head: AnswerHead = { status, headers: toHeaderRecord(received) }
    this.#status = status
    options.receiver.progress(status, 0)
    if (status >= 400) this.#phase = new ErrorBody(this, head)
    else if (status === 304 && options.call.headers?.['if-none-match'] !== undefined)
      this.begin(head)
    else if (status >= 300) this.#redirect(head.headers)
    else if (isEmptyByStatus(status)) this.begin(head)
    else {
      const matching = new Matching(this, head)
      this.#phase = matching
      matching.match()
    }
  }

  #redirect({ location }: IncomingHttpHeaders): void {
    const path = this.#target && redirectPath(this.#target, location)
    if (path === undefined) this.refuse(unfollowed(this.options.service))
    else this.#phase = { data() {}, end: () => this.#call.follow(path) }
  }

  onBody(piece: Buffer): void {
    this.#bytes += piece.length
    this.#phase?.data(Buffer.from(piece))
  }

  onEnd(): void {
    this.#close()
    this.#phase?.end()
  }

  onFailure({ error }: ConnectionFailure): void {
    this.#close()
    const { client, service, headersOnly } = this.options
    const failure = this.#phase?.failure?.()
    this.#phase = undefined
    if (client.headersSent) {
      // A cut-off answer must not look complete: the client sees the connection break.
      if (!headersOnly) client.destroy()
      this.succeed()
      return
    }
    this.fail(failure ?? toGatewayError(error, service))
  }

  #close(): void {
    this.#isOver = true
    this.#connection = undefined
    this.written.stopWaiting()
    this.#span?.end(this.#status)
    if (this.#isClosed) return
    this.#call.upstreams.observe({
      service: this.options.service,
      method: this.#target?.method ?? 'GET',
      status: this.#status,
      durationMs: performance.now() - this.#startedAtMs,
      bytes: this.#bytes,
    })
  }
}
