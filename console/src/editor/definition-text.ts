/** A definition as text: how a format writes it, what a text says, and where each of its values stands. */
import type { Extension } from '@codemirror/state'
import type { Json } from '../model/read.ts'
import type { Path } from './json-path.ts'
import { textWords } from './text-words.ts'

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

export interface TextLanguage {
  readonly format: TextFormat
  /** The language as the text editor takes it. */
  readonly extension: Extension
  write(definition: Json): string
  read(text: string): ParsedText
  /**
   * Where the key of a value stands, or an item of a list; of what is missing, the object that it is missing in. Nothing is found in
   * text that cannot be read.
   */
  findRanges(text: string): (path: Path) => TextRange | undefined
}

export function unreadable(problem: TextProblem): ParsedText {
  return { kind: 'unreadable', problem }
}

export function toParsed(value: unknown, text: string): ParsedText {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { kind: 'definition', definition: value as Json }
  return unreadable({ from: 0, to: text.length, message: textWords.notAnObject })
}
