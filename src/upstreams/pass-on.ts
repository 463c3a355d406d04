/** Streams responses of services to clients, without buffering, with back-pressure. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { Readable, type Transform } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { createGunzip, createGzip, constants as zlibConstants } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { GatewayError } from '../errors.ts'
import { type AnswerForm, judgeAnswer, misfit } from './answer-form.ts'
import type { Endpoint } from './endpoint.ts'
import type { IdentityHeaders } from './identity.ts'
import { maxRedirects, redirectPath } from './redirects.ts'
import type { ServiceName } from './services.ts'
import {
  isEmptyByStatus,
  toGatewayError,
  type UpstreamCall,
  type Upstreams,
  type UpstreamTarget,
  upstreamFailed,
} from './upstreams.ts'

interface PassOnOptions {
  service: ServiceName
  call: UpstreamCall
  identity: IdentityHeaders
  /** What the answer has to be; judged before the client sees anything of it. */
  form: AnswerForm
  /** The raw answer to the client. Untouched when the promise is rejected. */
  client: ServerResponse
  /** What has to be done before the client sees anything of a good answer; the service waits meanwhile. May reject. */
  beforeAnswer?: (status: number) => Promise<void> | undefined
  /** Called once, when the answer of the service turned out to be good, just before the first byte is written. */
  begin: () => Record<string, string | string[]>
  /** Status for the client instead of that of the service. */
  status?: number
  /** The client understands gzip. */
  gzip: boolean
  /** The client asked with HEAD: headers only. */
  headersOnly: boolean
  /** Told what has arrived from the service so far. */
  progress: (status: number, bytes: number) => void
}

/** Answers shorter than this are not worth compressing (docs/contracts/http.md#content). */
const minGzipBytes = 2048
/** As much of an error body as is read to find its message. */
const maxErrorBytes = 64 * 1024
/** A client that takes nothing for this long is given up: it holds a connection to the service. */
const stalledClientMs = 120_000

/**
 * Resolves when the answer has been handed over completely or the client has gone away.
 *
 * @throws {GatewayError} before anything was written: SERVICE_DISABLED, CIRCUIT_OPEN, UPSTREAM_OVERLOADED, UPSTREAM_UNREACHABLE,
 * UPSTREAM_TIMEOUT, UPSTREAM_UNREADABLE for an answer of another form, or UPSTREAM_FAILED with the error status of the service.
 */
export async function passOn(upstreams: Upstreams, options: PassOnOptions): Promise<void> {
  const { service, identity, client } = options
  try {
    let call = options.call
    const failed: Endpoint[] = []
    for (let redirects = 0; ; ) {
      const endpoint = upstreams.choose(service, call, identity, failed)
      const waiting = endpoint.enter(endpoint.isFull ? goneSignal(client) : undefined)
      if (waiting !== undefined) await waiting
      try {
        const redirect = await dispatchOnce(upstreams, endpoint, { ...options, call })
        upstreams.noteAnswer(endpoint, undefined)
        if (redirect === undefined) return
        if (++redirects > maxRedirects) throw unfollowed(service)
        call = { ...call, path: redirect, query: undefined }
      } catch (error) {
        if (client.destroyed || client.headersSent) throw error
        // What was read of a streamed body is gone.
        const attempt = call.rawBody === undefined ? failed.length + 1 : Number.POSITIVE_INFINITY
        const delayMs = upstreams.noteFailure(endpoint, { error, method: call.method ?? 'GET', attempt })
        if (delayMs === undefined) throw error
        failed.push(endpoint)
        await pause(delayMs)
      } finally {
        endpoint.leave()
      }
    }
  } finally {
    // A call that failed before it was sent leaves the body unread.
    if (options.call.rawBody instanceof Readable) options.call.rawBody.destroy()
  }
}

/** Fires when the client goes away. */
function goneSignal(client: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (client.destroyed) gone.abort()
  else client.once('close', () => gone.abort())
  return gone.signal
}

function unfollowed(service: ServiceName): GatewayError {
  return new GatewayError('UPSTREAM_UNREADABLE', `${service} answered with a redirect that leads nowhere.`, {
    upstream: { service },
  })
}

/** One exchange. Resolves with a path to ask instead, when the service redirects within itself. */
function dispatchOnce(upstreams: Upstreams, endpoint: Endpoint, options: PassOnOptions): Promise<string | undefined> {
  const { service } = options
  const span = upstreams.startCall?.(service, options.call.method ?? 'GET')
  const headers = { ...options.call.headers, 'accept-encoding': options.gzip ? 'gzip' : 'identity', ...span?.headers }
  const target = upstreams.target(endpoint, { ...options.call, headers }, options.identity)
  const { dispatcher, options: request } = target
  const isClosed = dispatcher.closed
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(
      options,
      target,
      (call) => {
        span?.end(call.status)
        if (!isClosed) upstreams.observe({ ...call, service })
      },
      resolve,
      reject,
    )
    exchange.watchClient()
    dispatcher.dispatch(request, exchange)
  })
}

type CallObserver = (call: { method: string; status: number | undefined; durationMs: number; bytes: number }) => void

interface Head {
  status: number
  headers: IncomingHttpHeaders
  /** The first bytes of the body. */
  bytes: Buffer
}

/** Receives one answer from undici and writes it to the client. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: PassOnOptions
  readonly #target: UpstreamTarget
  readonly #finished: CallObserver
  readonly #resolve: (redirect?: string) => void
  readonly #reject: (error: unknown) => void
  readonly #startedAtMs = performance.now()
  #controller: Dispatcher.DispatchController | undefined
  #transform: Transform | undefined
  #errorBody: Buffer[] | undefined
  #redirect: string | undefined
  /** Of a good answer whose form is not known yet. */
  #head: Head | undefined
  #status: number | undefined
  #bytes = 0
  /** Announced length of the body, when it is written as it comes. */
  #length: number | undefined
  #errorBytes = 0
  #ended = false
  #clientIsGone = false
  /** Why the client gets something else than the answer. */
  #refusal: unknown
  #stalled: NodeJS.Timeout | undefined

  constructor(
    options: PassOnOptions,
    target: UpstreamTarget,
    finished: CallObserver,
    resolve: (redirect?: string) => void,
    reject: (error: unknown) => void,
  ) {
    this.#options = options
    this.#target = target
    this.#finished = finished
    this.#resolve = resolve
    this.#reject = reject
  }

  /** From now on a client that goes away ends the exchange, even while it waits for a connection. */
  watchClient(): void {
    const { client } = this.#options
    if (client.destroyed) this.#clientClosed()
    else client.once('close', this.#clientClosed)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#clientIsGone) controller.abort(clientGone())
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    this.#controller = controller
    this.#options.progress(status, 0)
    if (status >= 400) {
      this.#errorBody = []
      return
    }
    if (status >= 300) {
      this.#redirect = redirectPath(this.#target.options, this.#target.basePath, headers.location)
      if (this.#redirect === undefined) controller.abort(unfollowed(this.#options.service))
      return
    }
    const head = { status, headers, bytes: Buffer.alloc(0) }
    if (isEmptyByStatus(status)) this.#begin(controller, head)
    else this.#judge(controller, head)
  }

  /** Begins the answer as soon as its first bytes say what it is. */
  #judge(controller: Dispatcher.DispatchController, head: Head): void {
    this.#head = head
    const { form, service } = this.#options
    const verdict = judgeAnswer(form, head.headers, head.bytes, false)
    if (verdict.kind === 'misfit') this.#refuse(controller, misfit(form, service, verdict.found))
    else if (verdict.kind === 'fits') this.#begin(controller, head)
  }

  #refuse(controller: Dispatcher.DispatchController, error: unknown): void {
    this.#refusal = error
    controller.abort(new Error('the answer was refused'))
  }

  #begin(controller: Dispatcher.DispatchController, head: Head): void {
    this.#head = undefined
    const preparing = this.#options.beforeAnswer?.(head.status)
    if (preparing === undefined) {
      this.#write(controller, head)
      return
    }
    controller.pause()
    preparing.then(
      () => {
        if (this.#ended) return
        this.#write(controller, head)
        if (this.#stalled === undefined) controller.resume()
      },
      (error: unknown) => this.#refuse(controller, error),
    )
  }

  #write(controller: Dispatcher.DispatchController, { status, headers, bytes }: Head): void {
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
    if (this.#head !== undefined) this.#judge(controller, { ...this.#head, bytes: Buffer.concat([this.#head.bytes, chunk]) })
    else if (!this.#options.headersOnly) this.#writeBody(controller, chunk)
  }

  #writeBody(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#options.progress(this.#status ?? 0, this.#bytes)
    const sink = this.#transform ?? this.#options.client
    if (this.#bytes === this.#length) {
      // The last piece ends the answer in the same write: most answers are one piece, and then one packet.
      sink.end(chunk)
      return
    }
    if (!sink.write(chunk)) {
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
    if (this.#errorBody !== undefined) {
      this.#reject(this.#upstreamFailed())
      return
    }
    if (this.#redirect !== undefined) {
      this.#resolve(this.#redirect)
      return
    }
    if (this.#head !== undefined) this.#endHead(this.#head)
    else this.#end()
  }

  /** The whole answer is there, and so short that it was not judged before, or empty. */
  #endHead(head: Head): void {
    const { form, service, beforeAnswer, client, headersOnly } = this.#options
    const verdict = judgeAnswer(form, head.headers, head.bytes, true)
    const isNull = verdict.kind === 'null'
    const write = () => {
      if (client.destroyed) return void this.#resolve()
      this.#bytes = isNull ? 0 : head.bytes.length
      this.#options.progress(head.status, this.#bytes)
      this.#writeHead(head.status, isNull ? { 'content-length': '0' } : head.headers)
      this.#end(headersOnly || isNull ? undefined : head.bytes)
    }
    const preparing = verdict.kind === 'misfit' ? undefined : beforeAnswer?.(head.status)
    if (verdict.kind === 'misfit') this.#reject(misfit(form, service, verdict.found))
    else if (preparing === undefined) write()
    else preparing.then(write, this.#reject)
  }

  #end(last?: Buffer): void {
    const sink = this.#transform ?? this.#options.client
    sink.end(last)
    this.#resolve()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#leave()
    const { client, service, headersOnly } = this.#options
    if (client.headersSent) {
      // A cut-off answer must not look complete: the client sees the connection break.
      if (!headersOnly) client.destroy()
      this.#resolve()
      return
    }
    const failure = this.#errorBytes > maxErrorBytes ? this.#upstreamFailed() : toGatewayError(error, service)
    this.#reject(this.#refusal ?? failure)
  }

  #upstreamFailed(): GatewayError {
    const text = Buffer.concat(this.#errorBody ?? []).toString('utf8')
    return upstreamFailed(this.#options.service, this.#status ?? 502, text)
  }

  #clientClosed = (): void => {
    if (this.#ended) return
    this.#clientIsGone = true
    this.#controller?.abort(clientGone())
  }

  #writeHead(status: number, headers: IncomingHttpHeaders): void {
    const { client, begin, gzip, headersOnly } = this.#options
    const out = begin()
    const empty = status === 204 || status === 205 || headers['content-length'] === '0'
    const encoding = headers['content-encoding']
    if (!empty) out['content-type'] = toAnswerType(headers['content-type'])
    const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
    if (gzip) out['vary'] = out['vary'] === undefined ? 'Accept-Encoding' : `${out['vary']}, Accept-Encoding`
    if (encoding === 'gzip' && !gzip) this.#transform = createGunzip()
    else if (encoding !== undefined && encoding !== 'identity') out['content-encoding'] = encoding
    else if (gzip && !empty && isCompressible(headers['content-type']) && (length === undefined || length > minGzipBytes)) {
      this.#transform = createGzip({ level: zlibConstants.Z_BEST_SPEED })
      out['content-encoding'] = 'gzip'
    }
    if (empty) out['content-length'] = '0'
    else if (this.#transform === undefined && length !== undefined) {
      this.#length = length
      out['content-length'] = String(length)
    }
    client.writeHead(this.#options.status ?? (status === 204 || status === 205 ? 200 : status), out)
    if (headersOnly) {
      client.end()
      return
    }
    if (this.#transform !== undefined) {
      this.#transform.pipe(client)
      this.#transform.on('error', () => client.destroy())
      client.once('close', () => this.#transform?.destroy())
    }
  }

  #leave(): void {
    this.#ended = true
    clearTimeout(this.#stalled)
    this.#options.client.off('close', this.#clientClosed)
    this.#finished({
      method: this.#target.options.method,
      status: this.#status,
      durationMs: performance.now() - this.#startedAtMs,
      bytes: this.#bytes,
    })
  }
}

function clientGone(): Error {
  return new Error('the client went away')
}

/** JSON is named without a charset, as clients expect; HTML of a service is never served as HTML from the gateway's origin. */
function toAnswerType(type: string | undefined): string {
  if (type === undefined || /^application\/([\w.-]+\+)?json\b/i.test(type))
    return type?.split(';', 1)[0]?.trimEnd().toLowerCase() ?? 'application/json'
  return /^text\/html\b/i.test(type) ? 'text/plain; charset=utf-8' : type
}

function isCompressible(type: string | undefined): boolean {
  return type === undefined || /^text\/|json|xml|javascript|yaml/i.test(type)
}
