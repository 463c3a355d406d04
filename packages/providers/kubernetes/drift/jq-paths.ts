/**
 * The paths of jq that rules need: `.a.b`, `.["x/y"]`, `.[]`, `.[]?`, `.[0]`, and `| select(…)` with `==`, `!=`, `startswith`, `and`, `or`.
 */
import { isObject } from '@fairlead/base/json/values.ts'

export type PathStep = string | number

type Filter =
  | { readonly kind: 'step'; readonly step: PathStep }
  | { readonly kind: 'each' }
  | { readonly kind: 'select'; readonly holds: (value: unknown) => boolean }

const tokens =
  /\s*(?:(\.?[A-Za-z_][\w-]*)|(\.?\[\s*"(?:[^"\\]|\\.)*"\s*\]\??)|(\.?\[\s*(?:\d+\s*)?\]\??)|("(?:[^"\\]|\\.)*")|(==|!=|[|().]))\??/y

/** @throws {Error} for an expression outside of the subset */
export function parseJqPath(text: string): readonly Filter[] {
  const words = tokenize(text)
  const filters: Filter[] = []
  while (words.length > 0) {
    const word = words.shift() ?? ''
    if (word === '|' || word === '.') continue
    if (word === 'select') filters.push({ kind: 'select', holds: parseCondition(words, text) })
    else filters.push(parseStep(word, text))
  }
  return filters
}

function tokenize(text: string): string[] {
  const words: string[] = []
  const { length } = text.trimEnd()
  tokens.lastIndex = 0
  while (tokens.lastIndex < length) {
    const found = tokens.exec(text)
    if (found === null) throw unsupported(text)
    words.push(found.slice(1).find((group) => group !== undefined) ?? '')
  }
  return words
}

function unsupported(text: string): Error {
  return new Error(
    `"${text}" is no path of jq that is understood: write .a.b, .["a/b"], .[] or | select(.name == "x")`,
  )
}

function parseStep(word: string, text: string): Filter {
  const [, quoted] = /^\.?\[\s*("(?:[^"\\]|\\.)*")\s*\]\??$/.exec(word) ?? []
  if (quoted !== undefined) return { kind: 'step', step: String(JSON.parse(quoted)) }
  const [isList, index] = /^\.?\[\s*(?:(\d+)\s*)?\]\??$/.exec(word) ?? []
  if (isList !== undefined) return index ? { kind: 'step', step: Number(index) } : { kind: 'each' }
  if (!word.startsWith('.')) throw unsupported(text)
  return { kind: 'step', step: word.slice(1) }
}

function parseCondition(words: string[], text: string): (value: unknown) => boolean {
  expect(words, '(', text)
  const condition = parseOr(words, text)
  expect(words, ')', text)
  return condition
}

function parseOr(words: string[], text: string): (value: unknown) => boolean {
  const one = parseAnd(words, text)
  if (words[0] !== 'or') return one
  words.shift()
  const other = parseOr(words, text)
  return (value) => one(value) || other(value)
}

function parseAnd(words: string[], text: string): (value: unknown) => boolean {
  const one = parseTerm(words, text)
  if (words[0] !== 'and') return one
  words.shift()
  const other = parseAnd(words, text)
  return (value) => one(value) && other(value)
}

function parseTerm(words: string[], text: string): (value: unknown) => boolean {
  if (words[0] === '(') return parseCondition(words, text)
  const path: Filter[] = []
  while (words[0]?.startsWith('.') || words[0]?.startsWith('[')) {
    const word = words.shift() ?? ''
    if (word !== '.') path.push(parseStep(word, text))
  }
  const read = (value: unknown) => valuesOf(path, value)
  const word = words.shift()
  if (word === '==' || word === '!=') {
    const wanted: unknown = JSON.parse(quotedWord(words, text))
    return (value) => (read(value)[0] === wanted) === (word === '==')
  }
  if (word === '|' && words.shift() === 'startswith') {
    expect(words, '(', text)
    const start = String(JSON.parse(quotedWord(words, text)))
    expect(words, ')', text)
    return (value) => String(read(value)[0] ?? '').startsWith(start)
  }
  throw unsupported(text)
}

function quotedWord(words: string[], text: string): string {
  const word = words.shift() ?? ''
  if (/^(?:".*"|true|false|null)$/s.test(word)) return word
  throw unsupported(text)
}

function expect(words: string[], wanted: string, text: string): void {
  if (words.shift() !== wanted) throw unsupported(text)
}

function valuesOf(filters: readonly Filter[], value: unknown): unknown[] {
  return walk(filters, value, []).map(([, found]) => found)
}

/** Paths that exist in the value. */
export function pathsOf(filters: readonly Filter[], value: unknown): PathStep[][] {
  return walk(filters, value, []).map(([path]) => path)
}

function walk(
  [filter, ...rest]: readonly Filter[],
  value: unknown,
  path: PathStep[],
): [PathStep[], unknown][] {
  if (filter === undefined) return [[path, value]]
  if (filter.kind === 'select') return filter.holds(value) ? walk(rest, value, path) : []
  const entries = Array.isArray(value)
    ? value.map((entry: unknown, index) => [index, entry] as const)
    : isObject(value)
      ? Object.entries(value)
      : []
  return entries
    .filter(([name]) => filter.kind === 'each' || name === filter.step)
    .flatMap(([name, entry]) => walk(rest, entry, [...path, name]))
}
