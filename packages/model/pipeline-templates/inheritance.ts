/** Inheritance of pipelines from their template (second schema). */
import { isObject, type JsonObject, listOf, objectOf } from '@fairlead/base/json/values.ts'
import { idInStore, undecorated } from './references.ts'

/** Lists that an instance adds to, by what it calls them when it excludes those of the template, and the key of an entry. */
const inherited = [
  { field: 'parameterConfig', excludedAs: 'parameters', key: 'name' },
  { field: 'triggers', excludedAs: 'triggers', key: 'id' },
  { field: 'notifications', excludedAs: 'notifications', key: 'id' },
  { field: 'expectedArtifacts', excludedAs: 'expectedArtifacts', key: 'id' },
] as const

export const inheritedFields: readonly string[] = inherited.map(({ field }) => field)

export function isTemplateInstance(definition: JsonObject): boolean {
  return definition['type'] === 'templatedPipeline' && definition['schema'] === 'v2'
}

/** The reference of an instance to its template, as it is written. */
export function referenceOf(instance: JsonObject): unknown {
  return objectOf(instance['template'])['reference']
}

export interface StoredTemplate {
  /** Includes the tag or digest that the reference may carry. */
  readonly name: string
  readonly id: string
  readonly tag?: string
  readonly digest?: string
}

/** Where a reference such as `spinnaker://web`, `spinnaker://web:stable` or `spinnaker://web@sha256:…` leads. */
export function storedTemplate(reference: unknown): StoredTemplate | undefined {
  const name = idInStore(reference)
  if (name === undefined) return undefined
  const id = undecorated(name)
  if (id === '') return undefined
  return { name, id, ...versionOf(name.slice(id.length)) }
}

/** @param decoration Empty, `:tag` or `@digest`. */
function versionOf(decoration: string): Pick<StoredTemplate, 'tag' | 'digest'> {
  if (decoration === '') return {}
  const version = decoration.slice(1)
  return decoration.startsWith(':')
    ? { tag: version }
    : { digest: version.replace(/^sha256:/i, '') }
}

/** The pipeline inside a template. */
export function pipelineOf(template: JsonObject): JsonObject {
  return objectOf(template['pipeline'])
}

/** Entries of the instance replace those of the template with the same key, and follow the others. */
export function inheritLists(
  template: JsonObject,
  instance: JsonObject,
): Record<string, unknown[]> {
  const excluded = listOf(instance['exclude'])
  const lists: Record<string, unknown[]> = {}
  for (const { field, excludedAs, key } of inherited) {
    const own = listOf(instance[field])
    const keys = new Set(own.map((entry) => keyOf(entry, key)))
    const kept = excluded.includes(excludedAs)
      ? []
      : listOf(pipelineOf(template)[field]).filter(
          (entry) => !keys.has(keyOf(entry, key) ?? Symbol()),
        )
    lists[field] = [...kept, ...own]
  }
  return lists
}

function keyOf(entry: unknown, key: string): unknown {
  return isObject(entry) ? entry[key] : undefined
}
