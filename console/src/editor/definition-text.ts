/** A definition as text, JSON or YAML: how it is written, what it says, and where each of its values stands. */
import { jsonLanguage } from '@codemirror/lang-json'
import { isCollection, isPair, isScalar, type Node, type Pair, parseDocument, stringify } from 'yaml'
import type { Json } from '../model/read.ts'
import type { Path } from './json-path.ts'
import { words } from './text-words.ts'

export type TextFormat = 'json' | 'yaml'

/** Positions are offsets in the text. */
export interface TextRange {
  readonly from: number
  readonly to: number
}

export interface TextProblem extends TextRange {
  /** A sentence without the place. */
  readonly message: string
}

export type ParsedText =
  | { readonly kind: 'definition'; readonly definition: Json }
  | { readonly kind: 'unreadable'; readonly problem: TextProblem }

export function formatDefinition(definition: Json, format: TextFormat): string {
  if (format === 'json') return `${JSON.stringify(definition, null, 2)}\n`
  return stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false })
}

export function parseDefinition(text: string, format: TextFormat): ParsedText {
  const found = format === 'json' ? parseJson(text) : parseYaml(text)
  if ('problem' in found) return { kind: 'unreadable', problem: found.problem }
  const { value } = found
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { kind: 'definition', definition: value as Json }
  return { kind: 'unreadable', problem: { from: 0, to: text.length, message: words.notAnObject } }
}

type Parsed = { readonly value: unknown } | { readonly problem: TextProblem }

function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) }
  } catch {
    // Browsers word the error differently, and not all of them say where it is.
    return { problem: findJsonProblem(text) }
  }
}

function findJsonProblem(text: string): TextProblem {
  let place: number | undefined
  jsonLanguage.parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError) place ??= from
      return place === undefined
    },
  })
  const from = (place ?? 0) + (/^\s*/.exec(text.slice(place ?? 0))?.[0].length ?? 0)
  const before =
    text
      .slice(0, place ?? 0)
      .trimEnd()
      .at(-1) ?? ''
  const at = text.charAt(from)
  return { from, to: Math.min(from + 1, text.length), message: describeJsonProblem(before, at) }
}

/** @param before The last character that is right. @param at The first that is not; empty at the end. */
function describeJsonProblem(before: string, at: string): string {
  if (at === '') return words.jsonEnds
  if (before === ',' && (at === '}' || at === ']')) return words.jsonTrailingComma
  if (at === "'") return words.jsonQuotes
  if (at === '/' || at === '#') return words.jsonComment
  if (/["}\]\w]/.test(before) && /["{[\w-]/.test(at)) return words.jsonComma
  return words.jsonUnexpected(at)
}

function parseYaml(text: string): Parsed {
  const document = parseDocument(text, { prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) {
    const [from, to] = error.pos
    return { problem: { from: Math.min(from, text.length), to: Math.min(to, text.length), message: sentence(error.message) } }
  }
  try {
    // Dates, repeated parts and numbers that JSON does not have become what would be saved.
    return { value: JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 1000 }) ?? null)) }
  } catch (cause) {
    return { problem: { from: 0, to: text.length, message: sentence(cause instanceof Error ? cause.message : String(cause)) } }
  }
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`
}

/** Finds where values and keys stand; both formats are YAML. Nothing is found in text that cannot be read. */
export function findRanges(text: string): (path: Path) => TextRange | undefined {
  const { contents, errors } = parseDocument(text, { prettyErrors: false, uniqueKeys: false })
  return (path) => (errors.length > 0 ? undefined : rangeAt(contents, path))
}

/** Of the value; of the last part that there is where something is missing; of a key where the value is long. */
function rangeAt(root: Node | null, path: Path): TextRange | undefined {
  let node: unknown = root
  let shown: TextRange | undefined
  for (const step of path) {
    const member = memberOf(node, step)
    if (member === undefined) break
    const key = isPair(member) ? toRange(member.key) : undefined
    node = isPair(member) ? member.value : member
    shown = key ?? firstLineOf(node) ?? shown
  }
  return shown ?? firstLineOf(root)
}

function memberOf(node: unknown, step: string | number): Pair | Node | undefined {
  if (!isCollection(node)) return undefined
  if (typeof step === 'number') return node.items[step] as Node | undefined
  return (node.items as unknown[]).find(
    (item): item is Pair => isPair(item) && isScalar(item.key) && String(item.key.value) === step,
  )
}

function toRange(node: unknown): TextRange | undefined {
  const range = (node as Node | null)?.range
  return range === undefined || range === null ? undefined : { from: range[0], to: Math.max(range[1], range[0] + 1) }
}

/** Of an object or list, its beginning. */
function firstLineOf(node: unknown): TextRange | undefined {
  const range = toRange(node)
  return range === undefined || !isCollection(node) ? range : { from: range.from, to: range.from + 1 }
}
