/** Removal of secret values from objects that results and answers show. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { lastAppliedAnnotation } from './annotations.ts'
import { withoutField } from './edit.ts'

const secretFields = [
  ['data'],
  ['stringData'],
  ['metadata', 'annotations', lastAppliedAnnotation],
] as const

export function isSecret({ kind, apiVersion }: JsonObject): boolean {
  return (
    typeof kind === 'string' &&
    kind.toLowerCase() === 'secret' &&
    (apiVersion === 'v1' || apiVersion === undefined)
  )
}

/** Without `data`, `stringData` and the configuration that repeats them; other objects stay as they are. */
export function withoutSecretValues<T extends JsonObject>(object: T): T {
  if (!isSecret(object)) return object
  return secretFields.reduce<JsonObject>(
    (stripped, path) => withoutField(stripped, path),
    object,
  ) as T
}

/** As it goes into task results: without what only the API server needs. */
export function toResult(object: JsonObject): JsonObject {
  return withoutField(withoutSecretValues(object), ['metadata', 'managedFields'])
}
