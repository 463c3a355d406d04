/** Checks a JSON body by its bounds. */
import { setImmediate } from 'node:timers/promises'
import { GatewayError } from '../../errors.ts'
import { JsonScan, parseScanned, UnsafeJsonError } from '../json.ts'
import type { ReadDocument } from './documents-aside.ts'

/** About two milliseconds of work. */
const turnBytes = 256 * 1024

/** What a body may be at most. */
export interface BodyBounds {
  readonly maxBytes: number
  readonly maxValues: number
  /** Levels of a document; `maxJsonDepth` unless given. */
  readonly maxDepth?: number
  /** See `JsonLimits`. */
  readonly keepsNumerals?: boolean
  readonly maxTextBytes?: number
  /** The keys of the settings that raise the bounds, for the error. */
  readonly settings: {
    readonly bytes: string
    readonly values: string
    readonly textBytes?: string
  }
  /** Called for bytes before they are kept; refuses by throwing. */
  readonly hold?: (bytes: number) => void
}

/** A document that is looked at while it arrives, so that one out of bounds is neither kept nor parsed. */
export class JsonChecker {
  readonly #bounds: BodyBounds
  readonly #scan: JsonScan

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds
    this.#scan = new JsonScan(bounds)
  }

  /** @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY */
  feed(piece: Buffer): void {
    this.#inBodyTerms(() => this.#scan.feed(piece.toString('latin1')))
  }

  /** The same for a whole body, other requests in between. */
  async feedAll(body: Buffer): Promise<void> {
    for (let at = 0; at < body.length; at += turnBytes) {
      if (at > 0) await setImmediate()
      this.feed(body.subarray(at, at + turnBytes))
    }
  }

  /** No piece follows. @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY */
  end(): void {
    this.#inBodyTerms(() => this.#scan.end())
  }

  /** @returns undefined for an empty document @throws {GatewayError} UNREADABLE_BODY */
  parse(bytes: Buffer): ReadDocument | undefined {
    const text = decodeText(bytes)
    return text.trim() === ''
      ? undefined
      : this.#inBodyTerms(() => ({ value: parseScanned(text, this.#scan) }))
  }

  #inBodyTerms<Result>(work: () => Result): Result {
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
    throw new GatewayError('UNREADABLE_BODY', 'The body is not valid UTF-8.', { cause })
  }
}

// The rest of a refused body is not worth reading: the connection ends with the answer.
export const endsConnection = { headers: { connection: 'close' } }

export function toBodyError(
  cause: unknown,
  settings: BodyBounds['settings'],
  kind: 'JSON' | 'YAML' = 'JSON',
): GatewayError {
  if (cause instanceof GatewayError) return cause
  const { message } = cause as Error
  const setting = cause instanceof UnsafeJsonError ? settingOf(cause, settings) : undefined
  if (setting !== undefined) {
    const text = `The body is too large. ${message} Send less, or raise ${setting}.`
    return new GatewayError('BODY_TOO_LARGE', text, { cause, ...endsConnection })
  }
  const ends = cause instanceof UnsafeJsonError ? endsConnection : {}
  return new GatewayError('UNREADABLE_BODY', `The body is not usable ${kind}: ${message}`, {
    cause,
    ...ends,
  })
}

/** The one that raises the bound; undefined where none does. */
function settingOf(
  { code }: UnsafeJsonError,
  settings: BodyBounds['settings'],
): string | undefined {
  if (code === 'JSON_TEXT_TOO_LONG') return settings.textBytes
  return code === 'JSON_TOO_MANY_VALUES' ? settings.values : undefined
}
