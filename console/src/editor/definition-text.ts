/** Definitions as text, JSON or YAML: read, written, searched for places, edited; and files of manifests. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { batch } from '@preact/signals'
import {
  type Document,
  isCollection,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  parseAllDocuments,
  parseDocument,
  type Scalar,
  stringify,
  visit,
} from 'yaml'
import { parseExactly } from '../model/exact-json.ts'
import type { Draft } from './draft.ts'
import type { Path } from './json-path.ts'

export type TextFormat = 'json' | 'yaml'

export type OpenedFile = { readonly definition?: JsonObject; readonly error?: string }
type TextRange = { readonly from: number; readonly to: number }
type TextProblem = TextRange & { readonly line: number; readonly message: string }

type ParsedText =
  | { readonly definition: JsonObject; readonly problem?: undefined }
  | { readonly definition?: undefined; readonly problem: TextProblem }

const writeOptions = { lineWidth: 0, aliasDuplicateObjects: false }
const readOptions = { prettyErrors: false, intAsBigInt: true } as const

export function writeText(definition: JsonObject, format: TextFormat): string {
  return format === 'json'
    ? `${JSON.stringify(definition, null, 2)}\n`
    : stringify(definition, writeOptions)
}

export function readText(text: string): ParsedText {
  const refuse = (message: string, from = 0, to = text.length) => {
    const range = toRange([from, to], text.length)
    return { problem: { ...range, line: lineOf(text, from), message: sentence(message) } }
  }
  // What looks like JSON is read as such: it is faster, and YAML takes a comment of JavaScript for a key.
  const isJson = /^\s*[{[]/.test(text)
  try {
    const document = isJson ? undefined : parseDocument(text, readOptions)
    const [error] = document?.errors ?? []
    if (error !== undefined) return refuse(error.message, ...error.pos)
    const value = document === undefined ? parseExactly(text) : toValue(document)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { definition: value as JsonObject }
    return refuse('A pipeline is an object with name and stages.')
  } catch (cause) {
    const { message } = cause as Error
    if (!isJson) return refuse(message)
    const from = placeOfJsonError(text, message)
    if (from >= text.trimEnd().length)
      return refuse('The text ends too early: a bracket or a quote is not closed.', from)
    return refuse(
      message
        .replace(/^JSON.parse: /, '')
        .replace(/(?: in JSON)?(?: after JSON)? at (?:position|line) [\s\S]*$/, ''),
      from,
      from + 1,
    )
  }
}

/** Dates, repeated parts and numbers that JSON does not have become what would be saved. */
function toValue(document: Pick<Document, 'toJS'>) {
  return parseExactly(JSON.stringify(document.toJS({ maxAliasCount: 1000 }) ?? null))
}

function placeOfJsonError(text: string, said: string) {
  const [, line, column] = /line (\d+) column (\d+)/.exec(said) ?? []
  if (line === undefined) return said.includes('end') ? text.length : 0
  const before = text.split('\n', Number(line) - 1).map((each) => each.length + 1)
  return before.reduce((sum, length) => sum + length, Number(column) - 1)
}

function lineOf(text: string, offset: number) {
  return text.slice(0, offset).split('\n').length
}

/** JSON has none, so they are lost on save. */
export function hasComments(text: string): boolean {
  return [...new Lexer().lex(text)].some((token) => token.startsWith('#'))
}

function sentence(message: string) {
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

const maxBytes = 10_000_000

/** A pipeline from a file, JSON or YAML, or why it is none. */
export async function readDefinitionFile(file: File): Promise<OpenedFile> {
  if (file.size > maxBytes)
    return { error: `${file.name} is larger than 10 MB, so it is no pipeline.` }
  const text = await file.text().catch(() => undefined)
  if (text === undefined) return { error: `${file.name} cannot be read.` }
  const { definition, problem } = readText(text.replace(/^\uFEFF/, ''))
  return definition === undefined
    ? { error: `${file.name} is no pipeline. ${problem.message}` }
    : { definition }
}

/** Several documents, as files of manifests have them; empty ones are left out, and a list counts as its items. */
export function readDocuments(
  text: string,
): { readonly documents: readonly unknown[] } | { readonly problem: string } {
  const documents = parseAllDocuments(text, readOptions)
  const error = documents.flatMap(({ errors }) => errors)[0]
  if (error !== undefined)
    return { problem: `Line ${lineOf(text, error.pos[0])}: ${sentence(error.message)}` }
  try {
    return { documents: documents.flatMap(toValue).filter((value) => value !== null) }
  } catch (cause) {
    return { problem: sentence((cause as Error).message) }
  }
}

export function writeDocuments(documents: readonly unknown[]): string {
  return documents.map((document) => stringify(document, writeOptions)).join('---\n')
}

/** Where a value stands; of an object or a list, its beginning, and of what is missing, that of its holder. */
export function findRanges(text: string): (path: Path) => TextRange | undefined {
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false })
  const rangeAt = (path: Path): TextRange | undefined => {
    const node = path.length === 0 ? document.contents : document.getIn(path, true)
    if (isCollection(node) && node.range) return toRange([node.range[0], node.range[0] + 1])
    if (isScalar(node) && node.range) return toRange(node.range)
    return path.length === 0 ? undefined : rangeAt(path.slice(0, -1))
  }
  return (path) => (document.errors.length > 0 ? undefined : rangeAt(path))
}

function toRange([from, to]: readonly [number, number, number?], end = Number.POSITIVE_INFINITY) {
  return { from: Math.min(from, end), to: Math.min(Math.max(to, from + 1), end) }
}

export interface TextPlace {
  /** Leads to the value; for a key, to the object that it belongs to. */
  readonly path: Path
  readonly role: 'key' | 'value'
  /** Where the word begins that is typed. */
  readonly from: number
  readonly isQuoted: boolean
}

/** Stands for the word that is typed; no text has it. */
const mark = '\u2063'
/** Longer texts are typed without help. */
const maxLength = 300_000
const unfinished = {
  strict: false,
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const

/** Undefined where neither key nor value can be typed. What follows the cursor says nothing about its place. */
export function placeAt(text: string, offset: number): TextPlace | undefined {
  if (offset > maxLength) return undefined
  let place: TextPlace | undefined
  visit(parseDocument(`${text.slice(0, offset)}${mark} `, unfinished).contents, {
    Scalar(key, node, ancestors) {
      if (!String(node.value).includes(mark)) return undefined
      place = toPlace(node, key === 'key', ancestors as readonly (Node | Pair)[])
      return visit.BREAK
    },
  })
  return place
}

/** Undefined inside a text of several lines. */
function toPlace(
  node: Scalar,
  isKey: boolean,
  ancestors: readonly (Node | Pair)[],
): TextPlace | undefined {
  if (node.type?.startsWith('BLOCK') || !node.range) return undefined
  const parent = ancestors.at(-1)
  const way = isKey ? ancestors.slice(0, -1) : ancestors
  const path = way.flatMap((holder, index): Path => {
    if (isPair(holder)) return [isScalar(holder.key) ? String(holder.key.value) : '']
    return isSeq(holder) ? [holder.items.indexOf(ancestors[index + 1] ?? node)] : []
  })
  // A word in a block of YAML may become the key of an object.
  const isOpen = parent === undefined || (isSeq(parent) && parent.flow !== true)
  const isQuoted = node.type?.startsWith('QUOTE') === true
  return {
    path,
    role: isKey || isOpen ? 'key' : 'value',
    from: node.range[0] + Number(isQuoted),
    isQuoted,
  }
}

export type TextSession = ReturnType<typeof openTextSession>

/** Text of a draft while it is edited: what can be read becomes the draft, what cannot stays as it is. */
export function openTextSession(draft: Draft, format: TextFormat) {
  // What the text says, as the draft has it.
  let definition = draft.definition.peek()
  let unreadable = draft.unreadable.peek()
  const toText = () => unreadable?.text ?? writeText(definition, format)
  draft.endStep()
  draft.hasComments.value = hasComments(toText())
  return {
    /** The text to begin with. */
    text: toText(),
    /** All that is typed until another view changes something is one step of undo. */
    edit(text: string): void {
      if (draft.readOnly.peek() !== undefined) return
      const { definition: typed, problem } = readText(text)
      // In one go, so that whoever sees the new definition knows that it came from here.
      batch(() => {
        draft.hasComments.value = hasComments(text)
        draft.unreadable.value = problem && {
          text,
          format,
          message: `Line ${problem.line}: ${problem.message}`,
        }
        if (typed !== undefined) draft.change('Edit the text', () => typed, 'text')
        definition = draft.definition.peek()
        unreadable = draft.unreadable.peek()
      })
    },
    /** The new text after a change that did not come from it, such as an undo, or the end of broken text. */
    outsideText(): string | undefined {
      if (draft.definition.value === definition && draft.unreadable.value === unreadable)
        return undefined
      // A broken text is given up for another definition.
      if (draft.definition.value !== definition) draft.unreadable.value = undefined
      definition = draft.definition.value
      unreadable = draft.unreadable.value
      return toText()
    },
  }
}
