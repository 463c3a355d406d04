/** Changed copies of JSON documents; what does not change is shared with the original. */
import { maybeObject } from '@fairlead/base/json/shape.ts'
import {
  fieldAt,
  fieldOf,
  isObject,
  type JsonObject,
  objectOf,
} from '@fairlead/base/json/values.ts'

/** Missing objects on the way are created; anything else there is replaced. */
export function withField(object: JsonObject, path: readonly string[], value: unknown): JsonObject {
  const [name, ...rest] = path
  if (name === undefined) return object
  return {
    ...object,
    [name]: rest.length === 0 ? value : withField(objectOf(fieldOf(object, name)), rest, value),
  }
}

/** @returns the object itself where there is no such field */
export function withoutField(object: JsonObject, path: readonly string[]): JsonObject {
  const [name, ...rest] = path
  if (name === undefined || !Object.hasOwn(object, name)) return object
  if (rest.length > 0) {
    const inner = object[name]
    return isObject(inner) ? { ...object, [name]: withoutField(inner, rest) } : object
  }
  const { [name]: _removed, ...kept } = object
  return kept
}

export function objectAt(object: JsonObject, path: readonly string[]): JsonObject | undefined {
  return maybeObject(fieldAt(object, ...path))
}

/** @returns the object itself where there is no object in that place */
export function withObjectAt(
  object: JsonObject,
  path: readonly string[],
  change: (found: JsonObject) => JsonObject,
): JsonObject {
  const found = objectAt(object, path)
  return found === undefined ? object : withField(object, path, change(found))
}

/** Adds entries to a map of texts, such as labels; those of `entries` win unless `keepsExisting`. */
export function withEntries(
  object: JsonObject,
  path: readonly string[],
  {
    entries,
    keepsExisting,
  }: { readonly entries: Readonly<Record<string, string>>; readonly keepsExisting: boolean },
): JsonObject {
  if (Object.keys(entries).length === 0) return object
  const existing = objectAt(object, path)
  return withField(
    object,
    path,
    keepsExisting ? { ...entries, ...existing } : { ...existing, ...entries },
  )
}

export const templateMetadata = ['spec', 'template', 'metadata'] as const

export function hasTemplateMetadata(manifest: JsonObject): boolean {
  return objectAt(manifest, templateMetadata) !== undefined
}
