/**
 * Lossless and safe JSON: integers beyond 2^53 keep every digit, the key `__proto__` is rejected.
 *
 * A number that JavaScript cannot hold (such as the id 12345678901234567890, or 1e400) becomes a *raw number*, which
 * `formatJson` writes back digit by digit. With `keepsNumerals`, so does one that JavaScript writes otherwise, such as 1.0 or
 * 1e3. Pass raw numbers on by reference: a copy of one (spread, structuredClone) is an empty object. All other values are those
 * of `JSON.parse`.
 */

/** Deeper documents are refused, so that code that walks a document cannot exhaust the stack. Jackson has the same limit. */
export const maxJsonDepth = 1000

/** The limit for what is to be stored: it comes back inside lists and other documents, which must stay readable. */
export const maxStoredJsonDepth = 500

/** Longer numbers take time out of proportion to read. Jackson has the same limit. */
const maxNumberLength = 1000

interface JsonLimits {
  /** Levels of objects and lists; `maxJsonDepth` unless given. */
  readonly maxDepth?: number
  /** Objects, lists, texts, numbers and words together; any number unless given. */
  readonly maxValues?: number
  /** The length of one text as it stands in the document, escape sequences included; any length unless given. */
  readonly maxTextBytes?: number
  /** Numbers are written back as they are read, and refused beyond the range of a double. */
  readonly keepsNumerals?: boolean
}

/** The text is well-formed JSON that may not be let in; the message says why and may reach the client. */
export class UnsafeJsonError extends Error {
  readonly code:
    | 'JSON_PROTO_KEY'
    | 'JSON_TOO_DEEP'
    | 'JSON_TOO_MANY_VALUES'
    | 'JSON_TEXT_TOO_LONG'
    | 'JSON_NUMBER_TOO_LONG'
    | 'JSON_NUMBER_TOO_LARGE'

  constructor(code: UnsafeJsonError['code'], message: string) {
    super(message)
    this.name = 'UnsafeJsonError'
    this.code = code
  }
}

/** `__proto__`, or an escape sequence that could spell its underscores. */
const protoKey = /__proto__|\\u005[fF]/

/** What a character outside of strings does; every one that is not named belongs to a number or a word. */
const word = 0
const kinds = new Uint8Array(128)
const [open, close, comma, quote, blank] = [1, 2, 3, 4, 5] as const
for (const [kind, characters] of [
  [open, '[{'],
  [close, ']}'],
  [comma, ','],
  [quote, '"'],
  [blank, ': \t\r\n'],
] as const) {
  for (const character of characters) kinds[character.charCodeAt(0)] = kind
}

/**
 * @throws {SyntaxError} when the text is not JSON.
 * @throws {UnsafeJsonError} when a key is `__proto__`, or the document exceeds a limit.
 */
export function parseJson(text: string, limits: JsonLimits = {}): unknown {
  const scan = new JsonScan(limits)
  scan.feed(text)
  return parseScanned(text, scan)
}

/** The same for a text that has been scanned while it arrived. */
export function parseScanned(text: string, scan: JsonScan): unknown {
  scan.end()
  if (scan.needsExactNumbers || protoKey.test(text)) {
    return JSON.parse(text, scan.keepsNumerals ? reviveAsWritten : reviveExactly)
  }
  return JSON.parse(text)
}

/** What a text of others says where it is JSON, for looking into; undefined where it is not. */
export function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads back what `formatJson` wrote. */
export function parseWritten(text: string): unknown {
  return JSON.parse(text, reviveAsWritten)
}

/**
 * Looks at JSON piece by piece, before anything is parsed or even complete: counts values and levels, and finds numbers that
 * JavaScript may not hold or write back. Malformed text may pass: the parser refuses it afterwards.
 */
export class JsonScan {
  readonly #maxDepth: number
  readonly #maxValues: number
  readonly #maxTextBytes: number
  #depth = 0
  #values = 0
  /** The next value is the first one of its container. */
  #isFirst = true
  #isInString = false
  #isEscaped = false
  /** Characters of the text, number or word that is being read, and its digits. */
  #length = 0
  #digits = 0
  /** Whether there was a number that a double may not hold, or that JavaScript writes otherwise. */
  needsExactNumbers = false
  /** The number or word that is being read, if numerals are kept. */
  #numeral = ''
  readonly keepsNumerals: boolean

  constructor(limits: JsonLimits = {}) {
    this.#maxDepth = limits.maxDepth ?? maxJsonDepth
    this.#maxValues = limits.maxValues ?? Number.POSITIVE_INFINITY
    this.#maxTextBytes = limits.maxTextBytes ?? Number.POSITIVE_INFINITY
    this.keepsNumerals = limits.keepsNumerals ?? false
  }

  /** Values so far. */
  get values(): number {
    return this.#values
  }

  /** @param text The next piece, also of UTF-8 read as Latin-1. @throws {UnsafeJsonError} */
  feed(text: string): void {
    for (let at = 0; at < text.length; ) {
      if (this.#isInString) {
        at = this.#skipString(text, at)
        continue
      }
      const kind = kinds[text.charCodeAt(at)] ?? word
      if (kind === word) {
        at = this.#skipWord(text, at)
        continue
      }
      at++
      this.end()
      this.#length = 0
      this.#digits = 0
      switch (kind) {
        case open:
          this.#countFirst()
          this.#isFirst = true
          if (++this.#depth > this.#maxDepth) {
            throw new UnsafeJsonError(
              'JSON_TOO_DEEP',
              `The document is nested deeper than ${this.#maxDepth} levels.`,
            )
          }
          break
        case close:
          this.#isFirst = false
          this.#depth--
          break
        case comma:
          this.#isFirst = false
          this.#count()
          break
        case quote:
          this.#countFirst()
          this.#isInString = true
      }
    }
  }

  /** Checks a number that nothing follows. @throws {UnsafeJsonError} */
  end(): void {
    const numeral = this.#numeral
    if (numeral === '') return
    this.#numeral = ''
    const value = Number(numeral)
    // The words of JSON, and everything malformed.
    if (this.#digits === 0 || Number.isNaN(value)) return
    if (!Number.isFinite(value)) {
      throw new UnsafeJsonError(
        'JSON_NUMBER_TOO_LARGE',
        'A number is larger than 1.8e308, the limit of a double. Send it as a text.',
      )
    }
    if (String(value) !== numeral) this.needsExactNumbers = true
  }

  #countFirst(): void {
    if (!this.#isFirst) return
    this.#isFirst = false
    this.#count()
  }

  #count(): void {
    if (++this.#values > this.#maxValues) {
      throw new UnsafeJsonError(
        'JSON_TOO_MANY_VALUES',
        `The document holds more than ${this.#maxValues} values.`,
      )
    }
  }

  /** Index behind the quote that ends the string, or behind the text. */
  #skipString(text: string, from: number): number {
    if (this.#isEscaped) {
      this.#isEscaped = false
      this.#length++
      return from + 1
    }
    const found = text.indexOf('"', from)
    const end = found === -1 ? text.length : found
    let escapes = 0
    while (end - escapes > from && text.charCodeAt(end - 1 - escapes) === 0x5c) escapes++
    const isEscaped = escapes % 2 === 1
    if (found === -1) this.#isEscaped = isEscaped
    else if (!isEscaped) this.#isInString = false
    this.#length += end - from + (this.#isInString && found !== -1 ? 1 : 0)
    if (this.#length > this.#maxTextBytes) {
      throw new UnsafeJsonError(
        'JSON_TEXT_TOO_LONG',
        `A text in the document has more than ${this.#maxTextBytes} bytes.`,
      )
    }
    return end + 1
  }

  /** Index behind a number, a word or a part of one. */
  #skipWord(text: string, from: number): number {
    this.#countFirst()
    let at = from
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code >= 0x30 && code <= 0x39) this.#digits++
      else if ((code === 0x65 || code === 0x45) && this.#digits > 0) this.needsExactNumbers = true
      else if ((kinds[code] ?? word) !== word) break
    }
    this.#length += at - from
    if (this.#digits >= 16) this.needsExactNumbers = true
    if (this.#length > maxNumberLength && this.#digits > 0) {
      throw new UnsafeJsonError(
        'JSON_NUMBER_TOO_LONG',
        `A number has more than ${maxNumberLength} characters.`,
      )
    }
    if (this.keepsNumerals && this.#length <= maxNumberLength) this.#numeral += text.slice(from, at)
    return at
  }
}

/** Text of a value, raw numbers included. `undefined` is written as `null`. */
export function formatJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

/**
 * A number as JSON wrote it, where JavaScript cannot hold it or would write it otherwise. As a text it is its digits, as a number
 * what a double makes of it.
 */
export class RawNumber {
  readonly #digits: string

  /** @param digits A number as JSON writes it. */
  constructor(digits: string) {
    this.#digits = digits
    Object.freeze(this)
  }

  toString(): string {
    return this.#digits
  }

  toJSON(): unknown {
    // The types of TypeScript do not have it yet.
    return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(this.#digits)
  }
}

/** Whether a parsed value stands for a number as it was written. */
export function isRawNumber(value: unknown): value is RawNumber {
  return value instanceof RawNumber
}

interface ReviverContext {
  readonly source?: string
}

function reviveAsWritten(key: string, value: unknown, context?: ReviverContext): unknown {
  refuseProtoKey(key)
  if (typeof value !== 'number' || context?.source === undefined) return value
  return String(value) === context.source ? value : new RawNumber(context.source)
}

function refuseProtoKey(key: string): void {
  if (key !== '__proto__') return
  throw new UnsafeJsonError(
    'JSON_PROTO_KEY',
    'The key "__proto__" is not allowed in a document; rename it.',
  )
}

function reviveExactly(key: string, value: unknown, context?: ReviverContext): unknown {
  refuseProtoKey(key)
  if (typeof value !== 'number' || context?.source === undefined) return value
  const isExact =
    Number.isFinite(value) && (Number.isSafeInteger(value) || !/^-?\d+$/.test(context.source))
  return isExact ? value : new RawNumber(context.source)
}
