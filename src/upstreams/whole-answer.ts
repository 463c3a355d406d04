/** Answers of services that are read as a whole. */
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { ServiceName } from './services.ts'
import { answerCodingOf, answerTooLarge, textOfError, unknownTransfer, unpack } from './unpack.ts'
import { maxInformational, onlyInformational, tooLate } from './upstream-errors.ts'

export interface WholeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface AnswerBounds {
  readonly signal?: AbortSignal | undefined
  /** Called for each informational response, and for each piece of the body with the bytes so far. What it throws ends the call. */
  readonly check?: (progress: 'informational' | number) => void
}

/**
 * Sends a request and collects the answer. It makes neither a stream nor an asynchronous resource, as `request` of undici does, and leaves
 * nothing in the old generation (docs/performance.md#garbage).
 *
 * @throws what the connection or `check` reports, or the reason of the signal
 */
export function askWhole(
  connection: Dispatcher,
  options: Dispatcher.DispatchOptions,
  bounds: AnswerBounds = {},
): Promise<WholeAnswer> {
  const collector = new Collector(options, bounds)
  try {
    connection.dispatch(options, collector)
  } catch (error) {
    collector.fail(error)
  }
  return collector.answer.promise
}

class Collector implements Dispatcher.DispatchHandler {
  readonly #options: Dispatcher.DispatchOptions
  readonly #bounds: AnswerBounds
  readonly answer = Promise.withResolvers<WholeAnswer>()
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: IncomingHttpHeaders = {}
  readonly #pieces: Buffer[] = []
  #bytes = 0

  constructor(options: Dispatcher.DispatchOptions, bounds: AnswerBounds) {
    this.#options = options
    this.#bounds = bounds
    bounds.signal?.addEventListener('abort', this)
  }

  /** The signal has fired. */
  handleEvent(): void {
    this.#controller?.abort(this.#bounds.signal?.reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#bounds.signal?.aborted) this.handleEvent()
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      this.#bounds.check?.('informational')
      return
    }
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#bytes += piece.length
    this.#bounds.check?.(this.#bytes)
    this.#pieces.push(piece)
  }

  onResponseEnd(): void {
    this.#leave()
    const [first, second] = this.#pieces
    const body = first !== undefined && second === undefined ? first : Buffer.concat(this.#pieces)
    this.answer.resolve({ status: this.#status, headers: this.#headers, body })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error)
  }

  fail(error: unknown): void {
    this.#leave()
    const { body } = this.#options
    if (body instanceof Readable) body.destroy()
    this.answer.reject(error)
  }

  #leave(): void {
    this.#bounds.signal?.removeEventListener('abort', this)
  }
}

/** An answer that is read may take so many times its timeout altogether, however small its pieces. */
const maxTimeouts = 4

/** @returns a function that throws a {GatewayError}: UPSTREAM_UNREADABLE, UPSTREAM_TIMEOUT */
export function boundAnswer(
  service: ServiceName,
  { maxBytes, timeoutMs }: { maxBytes: number; timeoutMs: number },
): NonNullable<AnswerBounds['check']> {
  const maxMs = timeoutMs * maxTimeouts || Number.POSITIVE_INFINITY
  let informational = 0
  let startedAtMs: number | undefined
  return (progress) => {
    if (progress === 'informational') {
      if (++informational > maxInformational) throw onlyInformational(service)
      return
    }
    if (progress > maxBytes) throw answerTooLarge(service, maxBytes)
    startedAtMs ??= performance.now()
    if (performance.now() - startedAtMs > maxMs) throw tooLate(service, new Error('the answer came too slowly'))
  }
}

/** The body as text, decompressed. @throws {GatewayError} UPSTREAM_UNREADABLE */
export async function readWholeText(
  service: ServiceName,
  { status, headers, body }: WholeAnswer,
  maxBytes: number,
): Promise<string> {
  if (status >= 400) return textOfError(headers, body)
  const refused = unknownTransfer(service, headers)
  if (refused !== undefined) throw refused
  if (answerCodingOf(headers) !== 'gzip' || body.length === 0) return body.toString('utf8')
  return (await unpack(service, body, maxBytes)).toString('utf8')
}
