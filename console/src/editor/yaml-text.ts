/** A definition as YAML, loaded when it is chosen. */
import { yaml } from '@codemirror/lang-yaml'
import {
  isCollection,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  parseDocument,
  stringify,
} from 'yaml'
import { parseExactly } from '../model/exact-json.ts'
import { type ParsedText, type TextLanguage, type TextRange, toParsed, unreadable } from './definition-text.ts'
import type { Path } from './json-path.ts'

export const yamlText: TextLanguage = {
  format: 'yaml',
  extension: yaml(),
  write: (definition) => stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false }),
  read: readYaml,
  findRanges(text) {
    const { contents, errors } = parseDocument(text, { prettyErrors: false, uniqueKeys: false })
    return (path) => (errors.length > 0 ? undefined : rangeAt(contents, path))
  },
}

function readYaml(text: string): ParsedText {
  const document = parseDocument(text, { prettyErrors: false, intAsBigInt: true })
  const [error] = document.errors
  if (error !== undefined) {
    const [from, to] = error.pos
    return unreadable({ from: Math.min(from, text.length), to: Math.min(to, text.length), message: sentence(error.message) })
  }
  try {
    // Dates, repeated parts and numbers that JSON does not have become what would be saved.
    return toParsed(parseExactly(JSON.stringify(document.toJS({ maxAliasCount: 1000 }) ?? null)), text)
  } catch (cause) {
    return unreadable({ from: 0, to: text.length, message: sentence(cause instanceof Error ? cause.message : String(cause)) })
  }
}

export type ParsedDocuments =
  | { readonly kind: 'documents'; readonly documents: readonly unknown[] }
  | { readonly kind: 'unreadable'; readonly line: number; readonly message: string }

/** Several documents, as files of manifests have them; empty ones are left out, and a list counts as its items. */
export function readDocuments(text: string): ParsedDocuments {
  const lineCounter = new LineCounter()
  const documents = parseAllDocuments(text, { prettyErrors: false, intAsBigInt: true, lineCounter })
  const error = documents.flatMap(({ errors }) => errors)[0]
  if (error !== undefined) {
    return { kind: 'unreadable', line: lineCounter.linePos(error.pos[0]).line, message: sentence(error.message) }
  }
  try {
    const values = documents.map((document) => parseExactly(JSON.stringify(document.toJS({ maxAliasCount: 1000 }) ?? null)))
    return { kind: 'documents', documents: values.flat().filter((value) => value !== null) }
  } catch (cause) {
    return { kind: 'unreadable', line: 1, message: sentence(cause instanceof Error ? cause.message : String(cause)) }
  }
}

export function writeDocuments(documents: readonly unknown[]): string {
  return documents.map((document) => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`
}

/** The range of the value; of the last part that there is where something is missing; of a key where the value is long. */
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

/** The range of a value; an object or a list counts with its beginning only. */
function firstLineOf(node: unknown): TextRange | undefined {
  const range = toRange(node)
  return range === undefined || !isCollection(node) ? range : { from: range.from, to: range.from + 1 }
}
