/** Sets of fields as `metadata.managedFields` has them: who wrote which field. */
import { parseIfJson } from '@fairlead/base/json/json.ts'
import {
  fieldOf,
  isObject,
  type JsonObject,
  listOf,
  objectsOf,
} from '@fairlead/base/json/values.ts'

/**
 * A `FieldsV1`: names of fields with `f:`, of list entries with `k:` (their keys) or `v:` (their value), and `.` for the object or
 * entry itself. An empty object is a field of its own.
 *
 * @see the structured-merge-diff format of Kubernetes
 */
export type FieldSet = JsonObject

interface Node {
  readonly isMember: boolean
  readonly inner: readonly (readonly [string, FieldSet])[]
}

function nodeOf(set: unknown): Node | undefined {
  if (!isObject(set)) return undefined
  const inner = Object.entries(set).flatMap(([key, value]) =>
    key !== '.' && isObject(value) ? [[key, value] as const] : [],
  )
  return { isMember: inner.length === 0 || Object.hasOwn(set, '.'), inner }
}

export function unionOf(one: FieldSet, other: FieldSet): FieldSet {
  const [a, b] = [nodeOf(one), nodeOf(other)]
  if (a === undefined || b === undefined) return one
  const keys = new Set([...a.inner, ...b.inner].map(([key]) => key))
  const inner = [...keys].map((key) => {
    const [mine, others] = [fieldOf(one, key), fieldOf(other, key)]
    return [
      key,
      isObject(mine) && isObject(others) ? unionOf(mine, others) : (mine ?? others),
    ] as const
  })
  // An empty object is a member already; one with fields of its own says so with a dot.
  const isMember = (a.isMember || b.isMember) && inner.length > 0
  return { ...(isMember && { '.': {} }), ...Object.fromEntries(inner) }
}

/** Without the fields of the other, and all that is below them; undefined: nothing is left. */
export function withoutFields(set: FieldSet, removed: FieldSet): FieldSet | undefined {
  const [node, gone] = [nodeOf(set), nodeOf(removed)]
  if (node === undefined || gone === undefined) return set
  if (gone.isMember) return undefined
  const inner = node.inner.flatMap(([key, value]) => {
    const cut = fieldOf(removed, key)
    const left = isObject(cut) ? withoutFields(value, cut) : value
    return left === undefined ? [] : [[key, left] as const]
  })
  if (node.inner.length === 0) return set
  if (inner.length === 0) return node.isMember ? {} : undefined
  return { ...(node.isMember && { '.': {} }), ...Object.fromEntries(inner) }
}

/** The fields that the manifest does not have; undefined: it has all of them. Only outermost ones, as what is below goes with them. */
export function missingFields(set: FieldSet, manifest: unknown): FieldSet | undefined {
  const missing = (nodeOf(set)?.inner ?? []).flatMap(([key, inner]) => {
    const found = entryOf(manifest, key)
    if (found === undefined) return [[key, {}] as const]
    const below = missingFields(inner, found)
    return below === undefined ? [] : [[key, below] as const]
  })
  return missing.length === 0 ? undefined : Object.fromEntries(missing)
}

function entryOf(value: unknown, key: string): unknown {
  const rest = key.slice(2)
  if (key.startsWith('f:')) return fieldOf(value, rest)
  const wanted = parseIfJson(rest)
  if (key.startsWith('v:')) return listOf(value).find((entry) => entry === wanted)
  if (key.startsWith('i:')) return listOf(value)[Number(rest)]
  if (!isObject(wanted)) return undefined
  // A key that the manifest leaves to its default, such as a protocol, is no difference.
  return objectsOf(value).find((entry) =>
    Object.entries(wanted).every(
      ([name, each]) => entry[name] === undefined || String(entry[name]) === String(each),
    ),
  )
}

export interface ManagedFields extends JsonObject {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly fieldsV1: FieldSet
  readonly subresource?: string
}

export function managedFieldsOf(object: { readonly metadata: JsonObject }): ManagedFields[] {
  return objectsOf(object.metadata['managedFields']).filter((entry): entry is ManagedFields =>
    isObject(entry['fieldsV1']),
  )
}

/** The object without the fields of a set, as an apply that drops them leaves it. */
export function withoutFieldsOf(value: unknown, set: FieldSet): unknown {
  const entries = nodeOf(set)?.inner ?? []
  return entries.reduce<unknown>((left, [key, inner]) => {
    const found = entryOf(left, key)
    if (found === undefined) return left
    const isGone = Object.keys(inner).length === 0
    const kept = isGone ? [] : [withoutFieldsOf(found, inner)]
    if (Array.isArray(left)) return left.flatMap((entry) => (entry === found ? kept : [entry]))
    const { [key.slice(2)]: _gone, ...rest } = left as JsonObject
    return isGone ? rest : { ...rest, [key.slice(2)]: kept[0] }
  }, value)
}
