/** Definitions of the files of a folder. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readDefinitions } from '@fairlead/model/definition-files/read-file.ts'
import { exitCodes, Failure, misuse } from '../failure.ts'
import { type Definition, keyOf, titleOf, toDefinition, toPortable } from './definition.ts'

const endings = /\.(?:ya?ml|json)$/

/**
 * Reads all YAML and JSON files below a folder, or one file; hidden folders are passed over.
 *
 * @throws {Failure} with 3 for a file that holds what is no definition, and for a definition that stands twice
 */
export function readFolder(path: string): Definition[] {
  const files = statSync(path).isDirectory() ? filesBelow(path) : [path]
  if (files.length === 0)
    throw misuse(`${path} has no YAML or JSON file.`, 'Write some with: fairlead export APP -o DIR')
  const found = new Map<string, Definition>()
  for (const file of files)
    for (const definition of readFile(file)) {
      const key = keyOf(definition)
      const other = found.get(key)
      if (other !== undefined)
        throw misuse(
          `The ${titleOf(definition)} stands in ${other.file} and in ${file}.`,
          'Remove one.',
        )
      found.set(key, definition)
    }
  return [...found.values()]
}

/** @throws {Failure} with 3 */
export function readFile(file: string): Definition[] {
  const text = readFileSync(file, 'utf8')
  try {
    return readDefinitions(text).map(({ kind, document }) =>
      toDefinition(kind, toPortable(kind, document), file),
    )
  } catch (cause) {
    const { message } = cause as Error
    const line = /at line (\d+)/.exec(message)?.[1]
    throw new Failure(exitCodes.misuse, 'INVALID_FILE', `${file}: ${message}.`, {
      remedy: 'docs/guides/pipelines-as-files.md shows how definitions are written.',
      line: line === undefined ? undefined : Number(line),
      cause,
    })
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return filesBelow(path)
      return entry.isFile() && endings.test(entry.name) ? [path] : []
    })
}
