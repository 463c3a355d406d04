/** Answers of services that are read as a whole. */
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { Connection, ConnectionFailure, ResponseReceiver } from '@fairlead/proxy/connection.ts'
import { toHeaderRecord } from '@fairlead/proxy/response-headers.ts'
import type { ResponseHead } from '@fairlead/proxy/response-reader.ts'
import { answerCodingOf, answerTooLarge, textOfError, unpack } from './answer-form.ts'
import { sendTarget, type UpstreamTarget } from './call-target.ts'
import { maxInformational, onlyInformational, tooLate } from './upstream-errors.ts'

export interface WholeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface AnswerBounds {
  readonly signal?: AbortSignal
  /** Called for each informational response, and for each piece of the body with the bytes so far. @returns what ends the call */
  readonly check?: (progress: 'informational' | number) => Error | undefined
}

export function askWhole(
  connection: Connection,
  target: UpstreamTarget,
  bounds: AnswerBounds = {},
): Promise<WholeAnswer> {
  const collector = new Collector(connection, target, bounds)
  sendTarget(target, connection, collector)
  if (bounds.signal?.aborted) collector.handleEvent()
  return collector.answer.promise
}

class Collector implements ResponseReceiver {
  readonly #connection: Connection
  readonly #target: UpstreamTarget
  readonly #bounds: AnswerBounds
  readonly answer = Promise.withResolvers<WholeAnswer>()
  #head: ResponseHead | undefined
  readonly #pieces: Buffer[] = []
  #bytes = 0

  constructor(connection: Connection, target: UpstreamTarget, bounds: AnswerBounds) {
    this.#connection = connection
    this.#target = target
    this.#bounds = bounds
    bounds.signal?.addEventListener('abort', this)
  }

  handleEvent(): void {
    this.#connection.fail(this.#bounds.signal?.reason)
  }

  onInformation(): void {
    this.#check('informational')
  }

  onHead(head: ResponseHead): void {
    this.#head = head
  }

  onBody(piece: Buffer): void {
    this.#bytes += piece.length
    this.#pieces.push(Buffer.from(piece))
    this.#check(this.#bytes)
  }

  #check(progress: 'informational' | number): void {
    const error = this.#bounds.check?.(progress)
    if (error !== undefined) this.#connection.fail(error)
  }

  onEnd(): void {
    this.#leave()
    const head = this.#head as ResponseHead
    const [first, second] = this.#pieces
    const body = first !== undefined && second === undefined ? first : Buffer.concat(this.#pieces)
    this.answer.resolve({ status: head.status, headers: toHeaderRecord(head), body })
  }

  onFailure({ error }: ConnectionFailure): void {
    this.#leave()
    const { body } = this.#target
    if (body instanceof Readable) body.destroy()
    this.answer.reject(error)
  }

  #leave(): void {
    this.#bounds.signal?.removeEventListener('abort', this)
  }
}

/** An answer that is read may take so many times its timeout altogether, however small its pieces. */
const maxTimeouts = 4

export function boundAnswer(
  service: ServiceName,
  { maxBytes, timeoutMs }: { maxBytes: number; timeoutMs: number },
): NonNullable<AnswerBounds['check']> {
  const maxMs = timeoutMs * maxTimeouts || Number.POSITIVE_INFINITY
  let informational = 0
  let startedAtMs: number | undefined
  return (progress) => {
    if (progress === 'informational') {
      return ++informational > maxInformational ? onlyInformational(service) : undefined
    }
    if (progress > maxBytes) return answerTooLarge(service, maxBytes)
    startedAtMs ??= performance.now()
    const isLate = performance.now() - startedAtMs > maxMs
    return isLate ? tooLate(service, new Error('the answer came too slowly')) : undefined
  }
}

export async function readWholeText(
  service: ServiceName,
  { status, headers, body }: WholeAnswer,
  maxBytes: number,
): Promise<string> {
  if (status >= 400) return textOfError(headers, body)
  if (answerCodingOf(headers) !== 'gzip' || body.length === 0) return body.toString('utf8')
  return (await unpack(service, body, maxBytes)).toString('utf8')
}
