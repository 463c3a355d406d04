/** A pipeline from a file, JSON or YAML. The languages are loaded when one is opened. */
import { loadYaml } from './load-yaml.ts'
import type { ParsedText, TextFormat } from './yaml-text.ts'

const maxBytes = 10_000_000

interface DefinitionFile {
  readonly text: string
  readonly format: TextFormat
  readonly parsed: ParsedText
}

/** @throws {Error} in words for the user, when the file cannot be read */
export async function readDefinitionFile(file: File): Promise<DefinitionFile> {
  if (file.size > maxBytes) throw new Error(`${file.name} is larger than 10 MB, so it is no pipeline.`)
  const text = (await file.text()).replace(/^\uFEFF/, '')
  const { yamlText } = await loadYaml()
  return { text, format: /^\s*[{[]/.test(text) ? 'json' : 'yaml', parsed: yamlText.read(text) }
}
