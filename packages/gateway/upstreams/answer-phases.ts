/** Phases of an answer that is passed on, from its head on: checked, streamed, refused, redirected, or read as an error. */
import type { IncomingHttpHeaders } from 'node:http'
import type { GatewayError } from '@fairlead/base/errors.ts'
import { parseEntityTag, weakened } from '@fairlead/base/net/validators.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import {
  type AnswerForm,
  answerCodingOf,
  matchForm,
  maxQuickUnpackBytes,
  misfit,
  textOfError,
  unpackAtOnce,
  upstreamFailed,
} from './answer-form.ts'
import {
  type ClientAnswer,
  type ClientAnswerOptions,
  firstOf,
  type PausableSource,
} from './client-answer.ts'
import { clientGone } from './upstream-errors.ts'

export interface AnswerHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

export interface PassedAnswerOptions extends ClientAnswerOptions {
  readonly service: ServiceName
  readonly form: AnswerForm
}

export interface PassedAnswer extends PausableSource {
  readonly options: PassedAnswerOptions
  readonly speaksForFairlead: boolean
  readonly clientIsGone: boolean
  readonly written: ClientAnswer
  begin(head: AnswerHead, bytes?: Buffer): void
  refuse(error: unknown): void
  abort(reason: Error): void
  succeed(): void
  /** Tries again where that cannot do anything twice; else the client gets the error. */
  fail(error: unknown): void
}

export interface AnswerPhase {
  data(chunk: Buffer): void
  end(): void
  /** The error for the client when the answer breaks off, instead of that of the connection. */
  failure?(): unknown
}

const maxErrorBytes = 64 * 1024
/** Largest size of an answer that is unpacked as a whole. */
const maxUnpackedBytes = 8 * 1024 * 1024

const noBytes: Buffer = Buffer.alloc(0)

export class ErrorBody implements AnswerPhase {
  readonly #passed: PassedAnswer
  readonly #head: AnswerHead
  readonly #pieces: Buffer[] = []
  #bytes = 0

  constructor(passed: PassedAnswer, head: AnswerHead) {
    this.#passed = passed
    this.#head = head
  }

  data(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= maxErrorBytes) this.#pieces.push(chunk)
    else this.#passed.abort(new Error('enough of the error'))
  }

  end(): void {
    this.#passed.fail(this.#toError())
  }

  failure(): unknown {
    return this.#bytes > maxErrorBytes ? this.#toError() : undefined
  }

  #toError(): GatewayError {
    const { options, speaksForFairlead } = this.#passed
    const { status, headers } = this.#head
    const text = textOfError(headers, Buffer.concat(this.#pieces))
    return upstreamFailed(options.service, { status, text, speaksForFairlead, headers })
  }
}

export class Matching implements AnswerPhase {
  readonly #passed: PassedAnswer
  readonly #head: AnswerHead
  #bytes = noBytes

  constructor(passed: PassedAnswer, head: AnswerHead) {
    this.#passed = passed
    this.#head = head
  }

  /** Begins the answer as soon as its first bytes say what it is. One that has to be unpacked may break off, so that a short one is awaited. */
  match(): void {
    if (this.#bytes.length < maxQuickUnpackBytes && this.#unpacks()) return
    const { form, service } = this.#passed.options
    const match = matchForm(form, this.#head.headers, this.#bytes, false)
    if (match.kind === 'misfit') this.#passed.refuse(misfit(form, service, match.found))
    else if (match.kind === 'fits') {
      this.#passed.begin(this.#head, this.#bytes.length === 0 ? undefined : this.#bytes)
    }
  }

  #unpacks(): boolean {
    return !this.#passed.options.gzip && answerCodingOf(this.#head.headers) === 'gzip'
  }

  data(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    this.match()
  }

  end(): void {
    const passed = this.#passed
    const { form, service } = passed.options
    let head = this.#head
    let bytes = this.#bytes
    try {
      if (bytes.length > 0 && this.#unpacks()) {
        bytes = unpackAtOnce(service, bytes, maxUnpackedBytes)
        head = toUnpacked(head, bytes)
      }
    } catch (error) {
      passed.fail(error)
      return
    }
    const match = matchForm(form, head.headers, bytes, true)
    if (match.kind === 'misfit') passed.fail(misfit(form, service, match.found))
    else if (match.kind === 'null' || bytes.length === 0)
      this.#deliver(head.status, { 'content-length': '0' }, noBytes)
    else this.#deliver(head.status, head.headers, bytes)
  }

  #deliver(status: number, headers: AnswerHead['headers'], bytes: Buffer): void {
    const passed = this.#passed
    const { client, receiver } = passed.options
    const write = () => {
      if (!client.destroyed) passed.written.writeWhole(status, headers, bytes)
      passed.succeed()
    }
    const preparing = client.destroyed ? undefined : receiver.beforeAnswer(status)
    if (preparing === undefined) write()
    // It was not recorded, so that the client does not get it.
    else preparing.then(write, (error: unknown) => passed.fail(error))
  }
}

function toUnpacked({ status, headers }: AnswerHead, { length }: Buffer): AnswerHead {
  const { 'content-encoding': _packing, etag, ...others } = headers
  const tag = parseEntityTag(firstOf(etag))
  return {
    status,
    headers: {
      ...others,
      'content-length': String(length),
      ...(tag !== undefined && { etag: weakened(tag) }),
    },
  }
}

export class Streaming implements AnswerPhase {
  readonly #passed: PassedAnswer

  constructor(passed: PassedAnswer) {
    this.#passed = passed
  }

  data(chunk: Buffer): void {
    const passed = this.#passed
    if (passed.clientIsGone) this.#passed.abort(clientGone)
    else if (!passed.options.headersOnly) passed.written.write(chunk, passed)
  }

  end(): void {
    const passed = this.#passed
    if (!passed.clientIsGone) passed.written.end()
    passed.succeed()
  }
}
