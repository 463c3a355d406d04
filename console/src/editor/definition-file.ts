/** A pipeline from a file, JSON or YAML. The languages are loaded when one is opened. */
import type { ParsedText, TextFormat } from './definition-text.ts'
import { editorWords } from './words.ts'

const maxBytes = 10_000_000

interface DefinitionFile {
  readonly text: string
  readonly format: TextFormat
  readonly parsed: ParsedText
}

/** @throws {Error} in words for the user, when the file cannot be read */
export async function readDefinitionFile(file: File): Promise<DefinitionFile> {
  if (file.size > maxBytes) throw new Error(editorWords.fileTooLarge(file.name, maxBytes / 1_000_000))
  const text = (await file.text()).replace(/^\uFEFF/, '')
  const format = /^\s*[{[]/.test(text) ? 'json' : 'yaml'
  const language = format === 'json' ? (await import('./json-text.ts')).jsonText : (await import('./yaml-text.ts')).yamlText
  return { text, format, parsed: language.read(text) }
}
