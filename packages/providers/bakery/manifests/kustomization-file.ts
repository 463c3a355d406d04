/** Kustomization files: their names, and the paths that they hold. */

import { isObject, type JsonObject, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { parseAllDocuments } from 'yaml'

export const kustomizationNames = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'] as const

/** Fields with files, or folders that have a kustomization of their own. */
const baseFields = ['resources', 'bases', 'components']
/** Fields with configurations of Kustomize's parts, in files, folders, or as they are. */
const configurationFields = ['generators', 'transformers', 'validators']
/** Fields with a text that Kustomize takes for content, and never for a path. */
const contentFields: ReadonlySet<string> = new Set([
  ...['literals', 'patch', 'labels', 'commonLabels', 'annotations', 'commonAnnotations', 'images', 'metadata', 'vars', 'options'],
])

interface FoundPath {
  readonly path: string
  readonly kind: 'base' | 'configuration' | 'file'
}

/** Reading YAML takes long, and nothing else is done meanwhile. */
const maxYamlLength = 128 * 1024

/** @throws {PortError} 400 for a text that is no YAML, or too long */
export function parseDocuments(text: string, name: string): JsonObject[] {
  if (text.length > maxYamlLength)
    throw new PortError(400, `${name} is longer than ${maxYamlLength} characters. Use a repository as input artifact.`)
  try {
    const documents = [...parseAllDocuments(text)]
    for (const { errors } of documents) for (const error of errors) throw error
    return documents.map((document) => document.toJS({ maxAliasCount: 10 }) as unknown).filter(isObject)
  } catch (error) {
    throw new PortError(400, `${name} cannot be read: ${(error as Error).message}`)
  }
}

/** Texts that may be paths; those with several lines are content. */
export function pathsOf(kustomization: JsonObject): FoundPath[] {
  return Object.entries(kustomization).flatMap(([name, value]): FoundPath[] => {
    // Kustomize takes names of fields in any case.
    const field = name.toLowerCase()
    if (baseFields.includes(field)) return toPaths(textsOf(value), 'base')
    if (configurationFields.includes(field)) return toPaths(textsOf(value), 'configuration')
    return contentFields.has(name) ? [] : toPaths(leavesOf(value), 'file')
  })
}

function toPaths(texts: readonly string[], kind: FoundPath['kind']): FoundPath[] {
  return texts.filter((text) => !text.includes('\n')).map((path) => ({ path, kind }))
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(leavesOf)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([field, each]) => (contentFields.has(field) ? [] : leavesOf(each)))
}
