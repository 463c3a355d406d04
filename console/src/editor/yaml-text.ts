/** Definitions as text: JSON, or YAML, whose parser reads both; and files of manifests. */
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
import type { Json } from '../model/read.ts'
import type { Path } from './json-path.ts'

export type TextFormat = 'json' | 'yaml'

/** Positions are offsets in the text. */
interface TextRange {
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

const yamlOptions = { lineWidth: 0, aliasDuplicateObjects: false }

export const yamlText = {
  /** The language as the text editor takes it. */
  extension: yaml(),
  write: (definition: Json, format: TextFormat): string =>
    format === 'json' ? `${JSON.stringify(definition, null, 2)}\n` : stringify(definition, yamlOptions),
  read: readText,
  /**
   * Where the key of a value stands, or an item of a list; of what is missing, the object that it is missing in. Nothing is found in
   * text that cannot be read.
   */
  findRanges(text: string): (path: Path) => TextRange | undefined {
    const { contents, errors } = parseDocument(text, { prettyErrors: false, uniqueKeys: false })
    return (path) => (errors.length > 0 ? undefined : rangeAt(contents, path))
  },
}

function readText(text: string): ParsedText {
  // What looks like JSON is read as such: it is faster, and YAML takes a comment of JavaScript for a key.
  if (!/^\s*[{[]/.test(text)) return readYaml(text)
  try {
    return toParsed(parseExactly(text), text)
  } catch (cause) {
    return unreadable(findJsonProblem(text, (cause as Error).message))
  }
}

/** Browsers word it differently, and most say where it is. */
function findJsonProblem(text: string, said: string): TextProblem {
  const [, line, column] = /line (\d+) column (\d+)/.exec(said) ?? []
  const before = text.split('\n', Number(line ?? 1) - 1).reduce((length, each) => length + each.length + 1, 0)
  const from = line === undefined ? (said.includes('end') ? text.length : 0) : before + Number(column) - 1
  if (from >= text.trimEnd().length) {
    return { from, to: text.length, message: 'The text ends too early: a bracket or a quote is not closed.' }
  }
  const message = said.replace(/^JSON.parse: /, '').replace(/(?: in JSON)?(?: after JSON)? at (?:position|line) [\s\S]*$/, '')
  return { from, to: from + 1, message: sentence(message.charAt(0).toUpperCase() + message.slice(1)) }
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
    return unreadable({ from: 0, to: text.length, message: sentence((cause as Error).message) })
  }
}

function toParsed(value: unknown, text: string): ParsedText {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { kind: 'definition', definition: value as Json }
  return unreadable({ from: 0, to: text.length, message: 'A pipeline is an object with name and stages.' })
}

function unreadable(problem: TextProblem): ParsedText {
  return { kind: 'unreadable', problem }
}

type ParsedDocuments =
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
    return { kind: 'unreadable', line: 1, message: sentence((cause as Error).message) }
  }
}

export function writeDocuments(documents: readonly unknown[]): string {
  return documents.map((document) => stringify(document, yamlOptions)).join('---\n')
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
