/** Streams responses of services to clients, without buffering, with back-pressure. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { Readable, type Transform } from 'node:stream'
import { createGunzip, createGzip, constants as zlibConstants } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { GatewayError } from '../errors.ts'
import { parseEntityTag, weakened } from '../http/validators.ts'
import type { CallSpan } from '../telemetry/tracing.ts'
import { type AnswerForm, judgeAnswer, misfit } from './answer-form.ts'
import type { Connection } from './connections.ts'
import type { Endpoint } from './endpoint.ts'
import type { IdentityHeaders } from './identity.ts'
import { maxRedirects, redirectPath } from './redirects.ts'
import type { ServiceName } from './services.ts'
import type { Follower, Leader, Read, SharedAnswer, SharedReads, SharedStream } from './shared-reads.ts'
import { codingOf, maxQuickUnpackBytes, textOfError, unknownTransfer, unpackAtOnce } from './unpack.ts'
import {
  isEmptyByStatus,
  maxInformational,
  onlyInformational,
  toGatewayError,
  type UpstreamCall,
  type Upstreams,
  type UpstreamTarget,
  upstreamFailed,
} from './upstreams.ts'

export interface PassOnOptions {
  service: ServiceName
  call: UpstreamCall
  identity: IdentityHeaders
  /** The same, see `formatIdentity`. */
  identityLines: string | undefined
  /** What the answer has to be; judged before the client sees anything of it. */
  form: AnswerForm
  /** The raw answer to the client. Untouched when the call fails. */
  client: ServerResponse
  /** Status for the client instead of that of the service. */
  status: number | undefined
  /** The client understands gzip. */
  gzip: boolean
  /** The client asked with HEAD: headers only. */
  headersOnly: boolean
  receiver: AnswerReceiver
  reads?: SharedReads | undefined
  /** Others of `reads` may be answered by this call, or this one by theirs. */
  read?: Read | undefined
}

/** The request that an answer is passed on for. */
export interface AnswerReceiver {
  /** What has to be done before the client sees anything of a good answer; the service waits meanwhile. May reject. */
  beforeAnswer(status: number): Promise<void> | undefined
  /**
   * Called once, when the answer of the service turned out to be good, just before the first byte is written.
   *
   * @param vary What else than the common headers the answer depends on.
   * @param tag Its validator, which the service has sent.
   * @returns names and values in turn
   */
  begin(vary: string | undefined, tag?: string): string[]
  /** Told what has arrived from the service so far. */
  progress(status: number, bytes: number): void
  /**
   * Called once. Without an error, the answer has been handed over completely or the client has gone away; with one, nothing was
   * written: SERVICE_DISABLED, CIRCUIT_OPEN, UPSTREAM_OVERLOADED, UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT, UPSTREAM_UNREADABLE for an answer of
   * another form, or UPSTREAM_FAILED with the error status of the service.
   */
  ended(error?: unknown): void
}

/** Answers shorter than this are not worth compressing (docs/contracts/http.md#content). */
const minGzipBytes = 2048
/** As much of an error body as is read to find its message. */
const maxErrorBytes = 64 * 1024
/** Of a compressed answer that is short enough to be unpacked as a whole. */
const maxUnpackedBytes = 8 * 1024 * 1024
/** A client that takes nothing for this long is given up: it holds a connection to the service. */
const stalledClientMs = 120_000

/** Sends the call before it returns, unless it has to wait for a connection, and tells the receiver how it ended. */
export function passOn(upstreams: Upstreams, options: PassOnOptions): void {
  new Exchange(upstreams, options).start()
}

/** Fires when the client goes away. */
function goneSignal(client: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (client.destroyed) gone.abort()
  else client.once('close', () => gone.abort())
  return gone.signal
}

function unfollowed(service: ServiceName): GatewayError {
  return new GatewayError('UPSTREAM_UNREADABLE', (name) => `${name} answered with a redirect that leads nowhere.`, {
    upstream: { service },
  })
}

const noBytes = Buffer.alloc(0)

interface Head {
  status: number
  headers: IncomingHttpHeaders
  /** The first bytes of the body. */
  bytes: Buffer
}

/** One answer for a client: received from undici, perhaps after a retry or a redirect, and written. */
class Exchange implements Dispatcher.DispatchHandler, Leader, Follower {
  readonly #upstreams: Upstreams
  readonly #options: PassOnOptions
  #call: UpstreamCall
  /** Where it is sent. */
  #endpoint: Endpoint | undefined
  #connection: Connection | undefined
  /** Where it has failed. */
  #failed: Endpoint[] | undefined
  #redirects = 0
  #target: UpstreamTarget | undefined
  #span: CallSpan | undefined
  /** The connections were closed already, so what becomes of the call says nothing about the service. */
  #isClosed = false
  #startedAtMs = 0
  #controller: Dispatcher.DispatchController | undefined
  #transform: Transform | undefined
  #errorBody: Buffer[] | undefined
  #errorHeaders: IncomingHttpHeaders = {}
  #redirect: string | undefined
  /** Of a good answer whose form is not known yet. */
  #head: Head | undefined
  #status: number | undefined
  #bytes = 0
  /** Announced length of the body, when it is written as it comes. */
  #length: number | undefined
  #errorBytes = 0
  #informational = 0
  #isOver = false
  #clientIsGone = false
  /** Why the client gets something else than the answer. */
  #refusal: unknown
  #stalled: NodeJS.Timeout | undefined
  /** Of which this is the call. */
  #led: SharedStream | undefined
  /** Of which the call answers this. */
  #followed: SharedStream | undefined

  constructor(upstreams: Upstreams, options: PassOnOptions) {
    this.#upstreams = upstreams
    this.#options = options
    this.#call = options.call
    // From now on a client that goes away ends the exchange, even while it waits for a connection.
    if (options.client.destroyed) this.#clientIsGone = true
    else options.client.on('close', this.#clientClosed)
  }

  start(): void {
    const { reads, read } = this.#options
    if (reads !== undefined && read !== undefined) {
      this.#followed = reads.join(read, this)
      if (this.#followed !== undefined) return
      this.#led = reads.lead(read, this)
    }
    this.attempt()
  }

  deserted(): void {
    if (this.#clientIsGone) this.#abort()
  }

  answered({ status, headers, body }: SharedAnswer): void {
    this.#followed = undefined
    this.#status = status
    this.#deliver({ status, headers, bytes: body }, () => this.#end())
  }

  failed(error: unknown): void {
    this.#followed = undefined
    this.#end(error)
  }

  released(): void {
    this.#followed = undefined
    this.attempt()
  }

  attempt(): void {
    const { service, identity, client } = this.#options
    try {
      const endpoint = this.#upstreams.choose(service, this.#call, identity, this.#failed)
      const waiting = endpoint.enter(this.#call, endpoint.isFull ? goneSignal(client) : undefined)
      this.#endpoint = endpoint
      if (waiting === undefined) this.#dispatch(endpoint)
      else {
        waiting.then(
          () => this.#dispatch(endpoint),
          (error: unknown) => this.#end(error),
        )
      }
    } catch (error) {
      this.#end(error)
    }
  }

  #dispatch(endpoint: Endpoint): void {
    const { service, gzip, identity, identityLines } = this.#options
    const upstreams = this.#upstreams
    this.#startedAtMs = performance.now()
    try {
      this.#span = upstreams.startCall?.(service, this.#call.method ?? 'GET')
      const target = upstreams.target(endpoint, this.#call, identity, {
        encoding: gzip ? 'gzip' : 'identity',
        more: this.#span?.headers,
        lines: identityLines,
      })
      this.#target = target
      this.#isClosed = endpoint.isClosed
      this.#connection = endpoint.takeConnection()
      this.#connection.send(target.options, this)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Forgets what the last attempt has found. */
  #again(): void {
    this.#controller = undefined
    this.#errorBody = undefined
    this.#redirect = undefined
    this.#head = undefined
    this.#status = undefined
    this.#errorBytes = 0
    this.#informational = 0
    this.#isOver = false
    this.attempt()
  }

  #end(error?: unknown): void {
    const { call, receiver } = this.#options
    this.#isOver = true
    // A call that failed before it was sent leaves the body unread.
    if (call.rawBody instanceof Readable) call.rawBody.destroy()
    this.#endLed(error)
    receiver.ended(error)
  }

  /** Reads that follow this one are told last, as some of them may take its place. */
  #endLed(error: unknown): void {
    const led = this.#led
    this.#led = undefined
    if (led === undefined) return
    if (error === undefined || this.#clientIsGone) led.release()
    else led.fail(error, error instanceof GatewayError ? error.details.upstream?.status : undefined)
  }

  #fail(error: unknown): void {
    const { client, call } = this.#options
    const endpoint = this.#endpoint as Endpoint
    this.#failed ??= []
    // What was read of a streamed body is gone.
    const attempt = call.rawBody instanceof Readable ? Number.POSITIVE_INFINITY : this.#failed.length + 1
    const delayMs =
      client.destroyed || client.headersSent
        ? undefined
        : this.#upstreams.noteFailure(endpoint, { error, method: this.#call.method ?? 'GET', attempt })
    if (delayMs === undefined) {
      this.#leaveEndpoint(endpoint)
      this.#end(error)
      return
    }
    this.#failed.push(endpoint)
    setTimeout(() => {
      this.#leaveEndpoint(endpoint)
      this.#again()
    }, delayMs)
  }

  /** The service has answered, whatever came of it. */
  #noteAnswer(): void {
    const endpoint = this.#endpoint as Endpoint
    this.#upstreams.noteAnswer(endpoint, undefined)
    this.#leaveEndpoint(endpoint)
  }

  #leaveEndpoint(endpoint: Endpoint): void {
    endpoint.leave(this.#connection)
    this.#connection = undefined
  }

  #succeed(): void {
    this.#noteAnswer()
    this.#end()
  }

  #follow(path: string): void {
    if (++this.#redirects > maxRedirects) {
      this.#fail(unfollowed(this.#options.service))
      return
    }
    this.#noteAnswer()
    this.#call = { ...this.#call, path, query: undefined }
    this.#again()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#clientIsGone && this.#led?.isFollowed !== true) controller.abort(clientGone())
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      this.#checkInformational()
      return
    }
    this.#status = status
    this.#controller = controller
    this.#options.receiver.progress(status, 0)
    if (status >= 400) {
      this.#errorBody = []
      this.#errorHeaders = headers
      return
    }
    if (status === 304 && this.#options.call.headers?.['if-none-match'] !== undefined) {
      this.#begin(controller, { status, headers, bytes: noBytes })
      return
    }
    if (status >= 300) {
      this.#redirect = this.#target && redirectPath(this.#target.options, this.#target.basePath, headers.location)
      if (this.#redirect === undefined) controller.abort(unfollowed(this.#options.service))
      return
    }
    const head = { status, headers, bytes: noBytes }
    const refused = unknownTransfer(this.#options.service, headers)
    if (refused !== undefined) this.#refuse(controller, refused)
    else if (isEmptyByStatus(status)) this.#begin(controller, head)
    else this.#judge(controller, head)
  }

  /** Each one renews the timeout. @throws {GatewayError} UPSTREAM_UNREADABLE, which ends the exchange */
  #checkInformational(): void {
    if (++this.#informational > maxInformational) throw onlyInformational(this.#options.service)
  }

  /** Begins the answer as soon as its first bytes say what it is. One that has to be unpacked may break off, so that a short one is awaited. */
  #judge(controller: Dispatcher.DispatchController, head: Head): void {
    this.#head = head
    if (head.bytes.length < maxQuickUnpackBytes && this.#unpacks(head)) return
    const { form, service } = this.#options
    const verdict = judgeAnswer(form, head.headers, head.bytes, false)
    if (verdict.kind === 'misfit') this.#refuse(controller, misfit(form, service, verdict.found))
    else if (verdict.kind === 'fits') this.#begin(controller, head)
  }

  /** The service has compressed for a client that does not understand it. */
  #unpacks({ headers }: Head): boolean {
    return !this.#options.gzip && codingOf(headers) === 'gzip'
  }

  #refuse(controller: Dispatcher.DispatchController, error: unknown): void {
    this.#refusal = error
    controller.abort(new Error('the answer was refused'))
  }

  #begin(controller: Dispatcher.DispatchController, head: Head): void {
    this.#head = undefined
    const led = this.#led
    if (led !== undefined) {
      led.begin(head.status, head.headers)
      if (!led.isFollowed) this.#led = undefined
      else if (head.bytes.length > 0) led.collect(head.bytes)
      if (this.#clientIsGone) return
    }
    const preparing = this.#options.receiver.beforeAnswer(head.status)
    if (preparing === undefined) {
      this.#write(controller, head)
      return
    }
    controller.pause()
    preparing.then(
      () => {
        if (this.#isOver) return
        this.#write(controller, head)
        if (this.#stalled === undefined) controller.resume()
      },
      (error: unknown) => this.#refuse(controller, error),
    )
  }

  #write(controller: Dispatcher.DispatchController, { status, headers, bytes }: Head): void {
    if (this.#clientIsGone) return
    this.#writeHead(status, headers)
    if (this.#options.headersOnly) controller.abort(new Error('headers are enough'))
    else if (bytes.length > 0) this.#writeBody(controller, bytes)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#errorBody !== undefined) {
      this.#errorBytes += chunk.length
      if (this.#errorBytes <= maxErrorBytes) this.#errorBody.push(chunk)
      else controller.abort(new Error('enough of the error'))
      return
    }
    if (this.#redirect !== undefined || this.#refusal !== undefined) return
    const head = this.#head
    if (head !== undefined) {
      head.bytes = head.bytes.length === 0 ? chunk : Buffer.concat([head.bytes, chunk])
      this.#judge(controller, head)
    } else {
      this.#led?.collect(chunk)
      if (this.#clientIsGone) {
        if (this.#led?.isFollowed !== true) this.#abort()
      } else if (!this.#options.headersOnly) this.#writeBody(controller, chunk)
    }
  }

  #writeBody(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#options.receiver.progress(this.#status ?? 0, this.#bytes)
    const sink = this.#transform ?? this.#options.client
    if (this.#bytes === this.#length) {
      // The last piece ends the answer in the same write: most answers are one piece, and then one packet.
      sink.end(chunk)
      return
    }
    // As long as other reads wait for it, the answer is short.
    if (!sink.write(chunk) && this.#led?.isFollowed !== true) {
      controller.pause()
      this.#stalled = setTimeout(() => this.#options.client.destroy(), stalledClientMs)
      sink.once('drain', () => {
        clearTimeout(this.#stalled)
        this.#stalled = undefined
        controller.resume()
      })
    }
  }

  onResponseEnd(): void {
    this.#leave()
    if (this.#errorBody !== undefined) this.#fail(this.#upstreamFailed())
    else if (this.#redirect !== undefined) this.#follow(this.#redirect)
    else if (this.#head !== undefined) this.#endHead(this.#head)
    else this.#finish()
  }

  /** The whole answer is there, and so short that it was not judged before, or empty. */
  #endHead(packed: Head): void {
    const { form, service } = this.#options
    let head = packed
    try {
      if (packed.bytes.length > 0 && this.#unpacks(packed)) head = unpackHead(packed, service)
    } catch (error) {
      this.#fail(error)
      return
    }
    const verdict = judgeAnswer(form, head.headers, head.bytes, true)
    if (verdict.kind === 'misfit') {
      this.#fail(misfit(form, service, verdict.found))
      return
    }
    const isEmpty = verdict.kind === 'null' || head.bytes.length === 0
    const whole = isEmpty ? { status: head.status, headers: { 'content-length': '0' }, bytes: noBytes } : head
    this.#led?.begin(whole.status, whole.headers)
    this.#led?.collect(whole.bytes)
    this.#led?.end()
    this.#deliver(whole, () => this.#succeed())
  }

  /** Writes a whole answer. */
  #deliver({ status, headers, bytes }: Head, done: () => void): void {
    const { client, receiver, headersOnly } = this.#options
    const write = () => {
      if (!client.destroyed) {
        this.#bytes = bytes.length
        receiver.progress(status, bytes.length)
        this.#writeHead(status, headers)
        const sink = this.#transform ?? client
        if (!sink.writableEnded) sink.end(headersOnly || bytes.length === 0 ? undefined : bytes)
      }
      done()
    }
    const preparing = client.destroyed ? undefined : receiver.beforeAnswer(status)
    if (preparing === undefined) write()
    else preparing.then(write, (error: unknown) => this.#refuseWhole(error))
  }

  /** It was not recorded, so that the client does not get it. */
  #refuseWhole(error: unknown): void {
    if (this.#endpoint === undefined) this.#end(error)
    else this.#fail(error)
  }

  #finish(): void {
    this.#led?.end()
    const { client } = this.#options
    const sink = this.#transform ?? client
    if (!sink.writableEnded && !this.#clientIsGone) sink.end()
    this.#succeed()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#leave()
    const { client, service, headersOnly } = this.#options
    if (client.headersSent) {
      // A cut-off answer must not look complete: the client sees the connection break.
      if (!headersOnly) client.destroy()
      this.#succeed()
      return
    }
    const failure = this.#errorBytes > maxErrorBytes ? this.#upstreamFailed() : toGatewayError(error, service)
    this.#fail(this.#refusal ?? failure)
  }

  #upstreamFailed(): GatewayError {
    const { service } = this.#options
    const isEmbedded = this.#upstreams.isEmbedded(service)
    const text = textOfError(this.#errorHeaders, Buffer.concat(this.#errorBody ?? []))
    return upstreamFailed(service, { status: this.#status ?? 502, text, isEmbedded, headers: this.#errorHeaders })
  }

  #clientClosed = (): void => {
    this.#clientIsGone = true
    if (this.#followed !== undefined) {
      this.#followed.leave(this)
      this.#followed = undefined
      this.#end()
    } else if (this.#led?.isFollowed !== true) this.#abort()
  }

  #abort(): void {
    if (!this.#isOver) this.#controller?.abort(clientGone())
  }

  #writeHead(status: number, headers: IncomingHttpHeaders): void {
    const { client, receiver, gzip, headersOnly } = this.#options
    const empty = status === 204 || status === 205 || headers['content-length'] === '0'
    const type = firstOf(headers['content-type'])
    const encoding = codingOf(headers)
    const etag = parseEntityTag(firstOf(headers.etag))
    if (status === 304) {
      client.writeHead(304, receiver.begin(gzip ? 'Accept-Encoding' : undefined, etag))
      if (headersOnly) client.end()
      return
    }
    const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
    const unpacks = encoding === 'gzip' && !gzip && !empty
    const packs =
      encoding === undefined && gzip && !empty && isCompressible(type) && (length === undefined || length > minGzipBytes)
    const tag = etag !== undefined && (packs || unpacks) ? weakened(etag) : etag
    const out = receiver.begin(gzip ? 'Accept-Encoding' : undefined, status === 200 ? tag : undefined)
    if (!empty) out.push('content-type', toAnswerType(type))
    if (unpacks) {
      if (!headersOnly) this.#transform = createGunzip()
    } else if (packs) {
      if (!headersOnly) this.#transform = createGzip({ level: zlibConstants.Z_BEST_SPEED })
      out.push('content-encoding', 'gzip')
    } else if (encoding !== undefined && !empty) out.push('content-encoding', encoding)
    if (empty) out.push('content-length', '0')
    else if (!packs && !unpacks && length !== undefined) {
      this.#length = length
      out.push('content-length', String(length))
    }
    client.writeHead(this.#options.status ?? (status === 204 || status === 205 ? 200 : status), out)
    if (headersOnly) {
      client.end()
      return
    }
    if (this.#transform !== undefined) connect(this.#transform, client)
  }

  /** The exchange with the service is over. */
  #leave(): void {
    this.#isOver = true
    clearTimeout(this.#stalled)
    this.#span?.end(this.#status)
    if (this.#isClosed) return
    this.#upstreams.observe({
      service: this.#options.service,
      method: this.#target?.options.method ?? 'GET',
      status: this.#status,
      durationMs: performance.now() - this.#startedAtMs,
      bytes: this.#bytes,
    })
  }
}

/** @throws {GatewayError} UPSTREAM_UNREADABLE */
function unpackHead({ status, headers, bytes: packed }: Head, service: ServiceName): Head {
  const bytes = unpackAtOnce(service, packed, maxUnpackedBytes)
  const { 'content-encoding': _packing, etag, ...others } = headers
  const tag = parseEntityTag(firstOf(etag))
  return {
    status,
    headers: { ...others, 'content-length': String(bytes.length), ...(tag !== undefined && { etag: weakened(tag) }) },
    bytes,
  }
}

/** Parts of a stream are in the old generation from the start, so it lets go of the client once it is over (docs/performance.md#garbage). */
function connect(transform: Transform, client: ServerResponse): void {
  const end = () => void transform.destroy()
  transform.pipe(client)
  transform.on('error', () => client.destroy())
  client.on('close', end)
  transform.once('close', () => {
    transform.unpipe()
    transform.removeAllListeners()
    transform.on('error', ignore)
    client.off('close', end)
  })
}

function ignore(): void {}

/** Undici gives what a service sent twice as a list, whatever the types say. */
function firstOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

function clientGone(): Error {
  return new Error('the client went away')
}

/** JSON is named without a charset, as clients expect; HTML of a service is never served as HTML from the gateway's origin. */
function toAnswerType(type: string | undefined): string {
  if (type === 'application/json') return type
  if (type === undefined || /^application\/([\w.-]+\+)?json\b/i.test(type))
    return type?.split(';', 1)[0]?.trimEnd().toLowerCase() ?? 'application/json'
  return /^text\/html\b/i.test(type) ? 'text/plain; charset=utf-8' : type
}

function isCompressible(type: string | undefined): boolean {
  return type === undefined || /^text\/|json|xml|javascript|yaml/i.test(type)
}
