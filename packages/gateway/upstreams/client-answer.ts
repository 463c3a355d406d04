/** The response to a client as it is written: headers, compression, back-pressure. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Transform, Writable } from 'node:stream'
import { createGunzip, createGzip, constants as zlibConstants } from 'node:zlib'
import { parseEntityTag, weakened } from '@fairlead/base/net/validators.ts'
import { answerCodingOf, isEmptyByStatus } from './answer-form.ts'

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
  progress(status: number, bytes: number): void
  /**
   * Called once. Without an error, the answer has been handed over completely or the client has gone away; with one, nothing was
   * written: SERVICE_DISABLED, CIRCUIT_OPEN, UPSTREAM_OVERLOADED, UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT, UPSTREAM_UNREADABLE for an answer of
   * another form, or UPSTREAM_FAILED with the error status of the service.
   */
  ended(error?: unknown): void
}

export interface ClientAnswerOptions {
  readonly client: ServerResponse
  readonly status: number | undefined
  readonly gzip: boolean
  readonly headersOnly: boolean
  readonly receiver: AnswerReceiver
}

/** Headers by which a service says how old its answer is. */
export const ageHeaders = ['age', 'warning'] as const

export interface PausableSource {
  pause(): void
  resume(): void
}

const minGzipBytes = 2048
/** A client that takes nothing for this long is given up: it holds a connection to the service. */
const stalledClientMs = 120_000

export class ClientAnswer {
  readonly #options: ClientAnswerOptions
  #status = 0
  bytes = 0
  #length: number | undefined
  #transform: Transform | undefined
  #stalled: NodeJS.Timeout | undefined

  constructor(options: ClientAnswerOptions) {
    this.#options = options
  }

  get isStalled(): boolean {
    return this.#stalled !== undefined
  }

  get #sink(): Writable {
    return this.#transform ?? this.#options.client
  }

  writeHead(status: number, headers: IncomingHttpHeaders): void {
    const { client, receiver, gzip, headersOnly } = this.#options
    this.#status = status
    const tag = parseEntityTag(firstOf(headers.etag))
    const vary = gzip ? 'Accept-Encoding' : undefined
    const ages = ageHeaders.flatMap((name) =>
      [headers[name] ?? []].flat().flatMap((value) => [name, value]),
    )
    if (status === 304) client.writeHead(304, [...receiver.begin(vary, tag), ...ages])
    else {
      const { lines, change } = this.#describeContent(status, headers)
      const shownTag = tag !== undefined && change !== 'none' ? weakened(tag) : tag
      const out = receiver.begin(vary, status === 200 ? shownTag : undefined)
      out.push(...lines, ...ages)
      client.writeHead(this.#options.status ?? (isEmptyByStatus(status) ? 200 : status), out)
      if (!headersOnly && change !== 'none') this.#transform = connect(change, client)
    }
    if (headersOnly) client.end()
  }

  #describeContent(
    status: number,
    headers: IncomingHttpHeaders,
  ): { lines: readonly string[]; change: 'pack' | 'unpack' | 'none' } {
    if (isEmptyByStatus(status) || headers['content-length'] === '0')
      return { lines: ['content-length', '0'], change: 'none' }
    const { gzip } = this.#options
    const type = firstOf(headers['content-type'])
    const lines = ['content-type', toAnswerType(type)]
    const coding = answerCodingOf(headers)
    if (coding === 'gzip' && !gzip) return { lines, change: 'unpack' }
    const length =
      headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
    if (coding !== undefined) lines.push('content-encoding', coding)
    else if (gzip && isCompressible(type) && (length === undefined || length > minGzipBytes)) {
      lines.push('content-encoding', 'gzip')
      return { lines, change: 'pack' }
    }
    this.#length = length
    if (length !== undefined) lines.push('content-length', String(length))
    return { lines, change: 'none' }
  }

  write(chunk: Buffer, source: PausableSource): void {
    this.#count(chunk.length)
    const sink = this.#sink
    if (this.bytes === this.#length) {
      // The last piece ends the answer in the same write: most answers are one piece, and then one packet.
      sink.end(chunk)
      return
    }
    if (sink.write(chunk) || this.isStalled) return
    source.pause()
    this.#stalled = setTimeout(() => this.#options.client.destroy(), stalledClientMs)
    sink.once('drain', () => {
      this.stopWaiting()
      source.resume()
    })
  }

  writeWhole(status: number, headers: IncomingHttpHeaders, bytes: Buffer): void {
    this.#status = status
    this.#count(bytes.length)
    this.writeHead(status, headers)
    const sink = this.#sink
    if (!sink.writableEnded)
      sink.end(this.#options.headersOnly || bytes.length === 0 ? undefined : bytes)
  }

  end(): void {
    const sink = this.#sink
    if (!sink.writableEnded) sink.end()
  }

  stopWaiting(): void {
    clearTimeout(this.#stalled)
    this.#stalled = undefined
  }

  #count(bytes: number): void {
    this.bytes += bytes
    this.#options.receiver.progress(this.#status, this.bytes)
  }
}

/** Parts of a stream are in the old generation from the start, so it lets go of the client once it is over (docs/performance.md#garbage). */
function connect(change: 'pack' | 'unpack', client: ServerResponse): Transform {
  const transform =
    change === 'pack' ? createGzip({ level: zlibConstants.Z_BEST_SPEED }) : createGunzip()
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
  return transform
}

function ignore(): void {}

/** Undici gives what a service sent twice as a list, whatever the types say. */
export function firstOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
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
