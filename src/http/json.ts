/**
 * JSON that loses nothing and poisons nothing: integers beyond 2^53 keep every digit, the key `__proto__` is refused.
 *
 * A number that JavaScript cannot hold (such as the id 12345678901234567890, or 1e400) becomes a *raw number*: a frozen
 * object for which `JSON.isRawJSON` is true and which `formatJson` writes back digit by digit. Pass raw numbers on by
 * reference: a copy of one (spread, structuredClone) is an ordinary object. All other values are those of `JSON.parse`.
 */

/** Deeper documents are refused, so that code that walks a document cannot exhaust the stack. Jackson has the same limit. */
export const maxJsonDepth = 1000

/** The limit for what is to be stored: it comes back inside lists and other documents, which must stay readable. */
export const maxStoredJsonDepth = 500

/** The text is well-formed JSON that may not be let in; the message says why and may reach the client. */
export class UnsafeJsonError extends Error {
  readonly code: 'JSON_PROTO_KEY' | 'JSON_TOO_DEEP'

  constructor(code: UnsafeJsonError['code'], message: string) {
    super(message)
    this.name = 'UnsafeJsonError'
    this.code = code
  }
}

/** A run of digits or an exponent that a double may not hold; also found inside strings, which only costs time. */
const unsafeNumber = /\d{16}|\d[eE]\+?\d{3}/

/** `__proto__`, or an escape sequence that could spell its underscores. */
const protoKey = /__proto__|\\u005[fF]/

/**
 * @throws {SyntaxError} when the text is not JSON.
 * @throws {UnsafeJsonError} when a key is `__proto__`, or values are nested deeper than `maxDepth`.
 */
export function parseJson(text: string, maxDepth = maxJsonDepth): unknown {
  checkDepth(text, maxDepth)
  if (unsafeNumber.test(text) || protoKey.test(text)) return JSON.parse(text, reviveExactly)
  return JSON.parse(text)
}

/** Text of a value, raw numbers included. `undefined` is written as `null`. */
export function formatJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

/** The type that TypeScript's library does not describe yet. */
interface JsonWithRaw {
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

const rawJson = JSON as unknown as JsonWithRaw

/** Whether a parsed value stands for a number that JavaScript cannot hold. */
export function isRawNumber(value: unknown): boolean {
  return rawJson.isRawJSON(value)
}

function reviveExactly(key: string, value: unknown, context?: { source?: string }): unknown {
  if (key === '__proto__') {
    throw new UnsafeJsonError('JSON_PROTO_KEY', 'The key "__proto__" is not allowed in a document; rename it.')
  }
  if (typeof value !== 'number' || context?.source === undefined) return value
  const isExact = Number.isFinite(value) && (Number.isSafeInteger(value) || !/^-?\d+$/.test(context.source))
  return isExact ? value : rawJson.rawJSON(context.source)
}

/** Counts brackets outside strings. Malformed text may pass: the parser refuses it afterwards. */
function checkDepth(text: string, maxDepth: number): void {
  if (text.length <= maxDepth) return
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = endOfString(text, at)
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) {
        throw new UnsafeJsonError('JSON_TOO_DEEP', `The document is nested deeper than ${maxDepth} levels.`)
      }
    } else if (code === 0x7d || code === 0x5d) depth--
  }
}

/** Index of the quote that closes the string opened at `start`; the end of the text when there is none. */
function endOfString(text: string, start: number): number {
  let end = start
  for (;;) {
    end = text.indexOf('"', end + 1)
    if (end === -1) return text.length
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return end
  }
}
