/** Judges a JSON body while it arrives: small ones at once, large ones in a thread. */

import { GatewayError } from '../errors.ts'
import { JsonScan, parseScanned, UnsafeJsonError } from '../json/json.ts'
import { decodeBody } from './content-coding.ts'
import { JsonAside, notUtf8, type ReadDocument } from './documents-aside.ts'

/** About a millisecond of work; more would be noticed by other requests where many clients send at once. */
const maxQuickBytes = 32 * 1024
/** A message to the thread costs as much as some kilobytes. */
const batchBytes = 256 * 1024
/** Compressed; it may hold a thousand times as much. */
const maxQuickCompressedBytes = 256

/** What a body may be at most. */
export interface BodyBounds {
  readonly maxBytes: number
  /** Values in a document. */
  readonly maxValues: number
  /** Levels of a document; `maxJsonDepth` unless given. */
  readonly maxDepth?: number
  /** As of `JsonLimits`. */
  readonly keepsNumerals?: boolean
  /** As of `JsonLimits`. */
  readonly maxTextBytes?: number
  /** The keys of the settings that raise the bounds, for the error. */
  readonly settings: { readonly bytes: string; readonly values: string; readonly textBytes?: string }
  /** Told about bytes before they are kept; refuses by throwing. */
  readonly hold?: (bytes: number) => void
  /** Large documents are judged in a thread, those of users first; without it, in the calling thread. */
  readonly aside?: 'users' | 'strangers'
}

/** A document that was judged; `json` is there where writing it took no time here. */
export type JudgedDocument = Pick<ReadDocument, 'value'> & Partial<ReadDocument>

/** `close` in any case. */
export class JsonJudge {
  readonly #bounds: BodyBounds
  /** Whether the document itself is wanted at the end. Otherwise the bytes are the business of the caller. */
  readonly keeps: boolean
  readonly #scan: JsonScan
  /** Those that were kept, or wait for the thread. */
  #pieces: Buffer[] = []
  /** Their bytes. */
  #size = 0
  #aside: JsonAside | undefined
  /** Of a compressed body. */
  #decoded: { readonly document: JudgedDocument | undefined } | undefined

  constructor(bounds: BodyBounds, { keeps = false } = {}) {
    this.#bounds = bounds
    this.keeps = keeps
    this.#scan = new JsonScan(bounds)
  }

  /** Whether pieces may wait for the judgement of a thread. */
  get isAside(): boolean {
    return this.#aside !== undefined
  }

  /** A promise where the next piece has to wait. @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY, TOO_MANY_BODIES */
  feed(piece: Buffer): Promise<void> | undefined {
    this.#pieces.push(piece)
    this.#size += piece.length
    if (this.#aside === undefined && (this.#size <= maxQuickBytes || this.#bounds.aside === undefined)) {
      this.#inBodyTermsNow(() => this.#scan.feed(piece.toString('latin1')))
      return undefined
    }
    this.#aside ??= this.#startAside()
    return this.#size < batchBytes ? undefined : this.#inBodyTerms(this.#aside.feed(this.#takePieces()))
  }

  /**
   * A whole compressed body.
   *
   * @returns its size, and the bytes if the document is not kept; undefined beyond the bound
   * @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY, TOO_MANY_BODIES
   */
  async decode(compressed: Buffer, coding: string): Promise<{ size: number; bytes: Buffer | undefined } | undefined> {
    const { maxBytes, aside } = this.#bounds
    if (compressed.length > maxQuickCompressedBytes && aside !== undefined) {
      const decoded = await this.#inBodyTerms(this.#startAside().decode(compressed, coding, maxBytes))
      if (decoded === undefined) return undefined
      this.#decoded = { document: decoded.document }
      return { size: decoded.size, bytes: decoded.bytes }
    }
    const bytes = decodeBody(coding, compressed, maxBytes)
    if (bytes === undefined) return undefined
    await this.feed(bytes)
    return { size: bytes.length, bytes }
  }

  /** @returns the document, if it is kept and not empty @throws {GatewayError} UNREADABLE_BODY, BODY_TOO_LARGE, TOO_MANY_BODIES */
  end(): Promise<JudgedDocument | undefined> | JudgedDocument | undefined {
    if (this.#decoded !== undefined) return this.#decoded.document
    if (this.#aside !== undefined) return this.#inBodyTerms(this.#aside.end(this.#takePieces()))
    return this.#inBodyTermsNow(() => {
      this.#scan.end()
      if (!this.keeps) return undefined
      const text = decodeText(Buffer.concat(this.#pieces))
      return text.trim() === '' ? undefined : { value: parseScanned(text, this.#scan) }
    })
  }

  close(): void {
    this.#aside?.close()
  }

  #startAside(): JsonAside {
    const { aside, maxDepth, maxValues, maxTextBytes, keepsNumerals } = this.#bounds
    const limits = {
      maxValues,
      ...(maxDepth !== undefined && { maxDepth }),
      ...(maxTextBytes !== undefined && { maxTextBytes }),
      ...(keepsNumerals !== undefined && { keepsNumerals }),
    }
    return new JsonAside(limits, { keeps: this.keeps, isStranger: aside === 'strangers' })
  }

  #takePieces(): Buffer[] {
    const pieces = this.#pieces
    this.#pieces = []
    this.#size = 0
    return pieces
  }

  async #inBodyTerms<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work
    } catch (error) {
      throw toBodyError(error, this.#bounds.settings)
    }
  }

  #inBodyTermsNow<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      throw toBodyError(error, this.#bounds.settings)
    }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** @throws {GatewayError} UNREADABLE_BODY */
export function decodeText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw notUtf8(cause)
  }
}

// The rest of a refused body is not worth reading: the connection ends with the answer.
export const endsConnection = { headers: { connection: 'close' } }

export function toBodyError(cause: unknown, settings: BodyBounds['settings'], kind: 'JSON' | 'YAML' = 'JSON'): GatewayError {
  if (cause instanceof GatewayError) return cause
  const { message } = cause as Error
  const setting = cause instanceof UnsafeJsonError ? settingOf(cause, settings) : undefined
  if (setting !== undefined) {
    const text = `The body is too large. ${message} Send less, or raise ${setting}.`
    return new GatewayError('BODY_TOO_LARGE', text, { cause, ...endsConnection })
  }
  const ends = cause instanceof UnsafeJsonError ? endsConnection : {}
  return new GatewayError('UNREADABLE_BODY', `The body is not usable ${kind}: ${message}`, { cause, ...ends })
}

/** The one that raises the bound; undefined where none does. */
function settingOf({ code }: UnsafeJsonError, settings: BodyBounds['settings']): string | undefined {
  if (code === 'JSON_TEXT_TOO_LONG') return settings.textBytes
  return code === 'JSON_TOO_MANY_VALUES' ? settings.values : undefined
}
