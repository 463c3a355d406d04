/** Lexer of the expression language. */

export type Token =
  | { kind: 'number' | 'name' | 'sign'; text: string; at: number }
  | { kind: 'text'; value: string; at: number }
  | { kind: 'end'; at: number }

/** The expression cannot be read or evaluated; the message is for the author of the pipeline. */
export class ExpressionError extends Error {
  override readonly name: string = 'ExpressionError'

  constructor(message: string, options?: ErrorOptions) {
    // An author needs no stack, and it costs more than the evaluation: each start tries what only its stages will know.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = stackTraceLimit
  }
}

const numberPattern = /0[xX][0-9a-fA-F]+[lL]?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[lLfFdD]?/y
const namePattern = /[\p{L}_$][\p{L}\p{N}_$]*/uy
const spacePattern = /\s+/y

/** Longest first, so that `?:` is not read as `?`. */
const signs = [
  ...['&&', '||', '==', '!=', '<=', '>=', '?:', '?.', '?[', '![', '^[', '$[', '++', '--'],
  ...[
    '+',
    '-',
    '*',
    '/',
    '%',
    '^',
    '<',
    '>',
    '=',
    '!',
    '?',
    ':',
    '.',
    ',',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '#',
    '@',
    '&',
  ],
]

/** @throws {ExpressionError} at a character that no token begins with, and at a text that does not end. */
export function tokenise(source: string): Token[] {
  const tokens: Token[] = []
  let at = skipSpace(source, 0)
  while (at < source.length) {
    const token = readToken(source, at)
    tokens.push(token.token)
    at = skipSpace(source, token.end)
  }
  tokens.push({ kind: 'end', at })
  return tokens
}

function readToken(source: string, at: number): { token: Token; end: number } {
  const first = source[at] as string
  if (first === "'" || first === '"') return readText(source, at, first)
  // `$[` selects the last; every other `$` begins a name.
  const sign = signs.find((each) => source.startsWith(each, at))
  if (sign !== undefined) return { token: { kind: 'sign', text: sign, at }, end: at + sign.length }
  const number = matchAt(numberPattern, source, at)
  if (number !== undefined)
    return { token: { kind: 'number', text: number, at }, end: at + number.length }
  const name = matchAt(namePattern, source, at)
  if (name !== undefined) return { token: { kind: 'name', text: name, at }, end: at + name.length }
  throw new ExpressionError(`Unexpected "${first}" at position ${at}.`)
}

/** A quote inside the text is written twice. */
function readText(source: string, start: number, quote: string): { token: Token; end: number } {
  let value = ''
  for (let at = start + 1; ; ) {
    const close = source.indexOf(quote, at)
    if (close === -1)
      throw new ExpressionError(`The text that begins at position ${start} has no closing quote.`)
    value += source.slice(at, close)
    if (source[close + 1] !== quote)
      return { token: { kind: 'text', value, at: start }, end: close + 1 }
    value += quote
    at = close + 2
  }
}

function skipSpace(source: string, at: number): number {
  return at + (matchAt(spacePattern, source, at)?.length ?? 0)
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}
