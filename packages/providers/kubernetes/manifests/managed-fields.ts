/** Sets of fields as `metadata.managedFields` has them: who wrote which field. */
import { parseIfJson } from '@fairlead/base/json/json.ts'
import {
  fieldOf,
  isObject,
  type JsonObject,
  listOf,
  objectsOf,
  parseObject,
} from '@fairlead/base/json/values.ts'

/**
 * A `FieldsV1`: names of fields with `f:`, of list entries with `k:` (their keys) or `v:` (their value), and `.` for the object or
 * entry itself. An empty object is a field of its own.
 *
 * @see the structured-merge-diff format of Kubernetes
 */
export interface FieldSet {
  readonly [key: string]: FieldSet
}

interface FieldNode {
  readonly isMember: boolean
  readonly inner: readonly (readonly [string, FieldSet])[]
}

function nodeOf(set: FieldSet): FieldNode {
  const inner = Object.entries(set).filter(([key]) => key !== '.')
  return { isMember: inner.length === 0 || Object.hasOwn(set, '.'), inner }
}

export function unionOf(one: FieldSet, other: FieldSet): FieldSet {
  const [a, b] = [nodeOf(one), nodeOf(other)]
  const merged = new Map(a.inner)
  for (const [key, others] of b.inner) {
    const mine = merged.get(key)
    merged.set(key, mine === undefined ? others : unionOf(mine, others))
  }
  // An empty object is a member already; one with fields of its own says so with a dot.
  const isMember = (a.isMember || b.isMember) && merged.size > 0
  return { ...(isMember && { '.': {} }), ...Object.fromEntries(merged) }
}

/** Without the fields of the other, and all that is below them; undefined: nothing is left. */
export function withoutFields(set: FieldSet, removed: FieldSet): FieldSet | undefined {
  const [node, gone] = [nodeOf(set), nodeOf(removed)]
  if (gone.isMember) return undefined
  const inner = node.inner.flatMap(([key, value]) => {
    const cut = removed[key]
    const left = cut === undefined ? value : withoutFields(value, cut)
    return left === undefined ? [] : [[key, left] as const]
  })
  if (node.inner.length === 0) return set
  if (inner.length === 0) return node.isMember ? {} : undefined
  return { ...(node.isMember && { '.': {} }), ...Object.fromEntries(inner) }
}

/** The fields that the manifest does not have; undefined: it has all of them. Only outermost ones, as what is below goes with them. */
export function missingFields(set: FieldSet, manifest: unknown): FieldSet | undefined {
  const missing = nodeOf(set).inner.flatMap(([key, inner]) => {
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
  if (key.startsWith('i:')) return listOf(value)[Number(rest)]
  if (key.startsWith('v:')) {
    const wanted = parseIfJson(rest)
    return listOf(value).find((entry) => entry === wanted)
  }
  const wanted = parseObject(rest)
  if (wanted === undefined) return undefined
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
  /** RFC 3339. */
  readonly time?: string
}

export function managedFieldsOf(object: { readonly metadata: JsonObject }): ManagedFields[] {
  return objectsOf(object.metadata['managedFields']).flatMap((entry) =>
    isObject(entry['fieldsV1'])
      ? { ...(entry as ManagedFields), fieldsV1: toFieldSet(entry['fieldsV1']) }
      : [],
  )
}

/** Without what is no set. */
function toFieldSet(set: JsonObject): FieldSet {
  return Object.fromEntries(
    Object.entries(set).flatMap(([key, inner]) =>
      isObject(inner) ? [[key, toFieldSet(inner)] as const] : [],
    ),
  )
}

/** Only the fields of a set, and the keys by which list entries are told apart. */
export function fieldsOf(value: unknown, set: FieldSet): unknown {
  const { inner } = nodeOf(set)
  if (inner.length === 0) return value
  if (Array.isArray(value)) {
    const named = inner.map(([key, below]) => [entryOf(value, key), below] as const)
    return value.flatMap((entry) => {
      const found = named.find(([each]) => each === entry)
      return found === undefined ? [] : [fieldsOf(entry, found[1])]
    })
  }
  const kept = inner.flatMap(([key, below]) => {
    const found = entryOf(value, key)
    return found === undefined ? [] : [[key.slice(2), fieldsOf(found, below)] as const]
  })
  return Object.fromEntries(kept)
}

/** The object without the fields of a set, as an apply that drops them leaves it. */
export function withoutFieldsOf(value: unknown, set: FieldSet): unknown {
  return nodeOf(set).inner.reduce<unknown>((left, [key, inner]) => {
    const found = entryOf(left, key)
    if (found === undefined) return left
    const isGone = Object.keys(inner).length === 0
    const kept = isGone ? [] : [withoutFieldsOf(found, inner)]
    if (Array.isArray(left)) return left.flatMap((entry) => (entry === found ? kept : [entry]))
    const { [key.slice(2)]: _gone, ...rest } = left as JsonObject
    return isGone ? rest : { ...rest, [key.slice(2)]: kept[0] }
  }, value)
}
