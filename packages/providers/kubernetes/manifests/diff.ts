/** Differences of two objects, field by field. */
import { isDeepStrictEqual } from 'node:util'
import { fieldOf, isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { ownAnnotations } from './annotations.ts'
import { objectAt, templateMetadata, withoutField } from './edit.ts'

export interface FieldChange {
  /** Such as `spec.template.spec.containers[name=main].image`. */
  readonly path: string
  readonly change: 'added' | 'changed' | 'removed'
  /** Undefined where it is added. */
  readonly before?: unknown
  /** Undefined where it is removed. */
  readonly after?: unknown
}

/** What the API server keeps for itself. */
const bookkeeping = [
  ['status'],
  ...['managedFields', 'resourceVersion', 'generation', 'uid', 'creationTimestamp', 'selfLink'].map(
    (name) => ['metadata', name],
  ),
  [...templateMetadata, 'creationTimestamp'],
]

/** Fields that tell the entries of a list apart; the first that all entries have, each with another value. */
const entryKeys =
  'mountPath devicePath containerPort name port key type ip topologyKey uid host path'.split(' ')

/** Changes that users see: without status, versions and times, and annotations that Fairlead writes itself. */
export function diffObjects(before: JsonObject, after: JsonObject): FieldChange[] {
  return diffObject(withoutBookkeeping(before), withoutBookkeeping(after), '')
}

function withoutBookkeeping(object: JsonObject): JsonObject {
  const own = [...ownAnnotations].flatMap((key) => [
    ['metadata', 'annotations', key],
    [...templateMetadata, 'annotations', key],
  ])
  const stripped = [...bookkeeping, ...own].reduce<JsonObject>(
    (left, path) => withoutField(left, path),
    object,
  )
  return [
    ['metadata', 'annotations'],
    [...templateMetadata, 'annotations'],
  ].reduce(withoutEmpty, stripped)
}

function withoutEmpty(object: JsonObject, path: readonly string[]): JsonObject {
  const value = objectAt(object, path)
  return value !== undefined && Object.keys(value).length === 0
    ? withoutField(object, path)
    : object
}

function diffValues(before: unknown, after: unknown, path: string): FieldChange[] {
  if (isDeepStrictEqual(before, after)) return []
  if (before === undefined) return [{ path, change: 'added', after }]
  if (after === undefined) return [{ path, change: 'removed', before }]
  if (isObject(before) && isObject(after)) return diffObject(before, after, path)
  if (isListOfObjects(before) && isListOfObjects(after)) return diffLists(before, after, path)
  return [{ path, change: 'changed', before, after }]
}

function diffObject(before: JsonObject, after: JsonObject, path: string): FieldChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => {
    const inner = path === '' ? name : `${path}.${name}`
    return diffValues(fieldOf(before, name), fieldOf(after, name), inner)
  })
}

export function isListOfObjects(value: unknown): value is JsonObject[] {
  return Array.isArray(value) && value.every(isObject)
}

/** Entries are matched by a key of theirs, else by their place. */
function diffLists(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  path: string,
): FieldChange[] {
  const key = entryKeyOf([before, after])
  const label = (entry: JsonObject, index: number) =>
    key === undefined ? `[${index}]` : `[${key}=${String(entry[key])}]`
  const labelled = (list: readonly JsonObject[]) =>
    new Map(list.map((entry, index) => [label(entry, index), entry]))
  const [old, now] = [labelled(before), labelled(after)] as const
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((entry) =>
    diffValues(old.get(entry), now.get(entry), `${path}${entry}`),
  )
}

/** The field that tells the entries of all the lists apart; undefined: there is none. */
export function entryKeyOf(lists: readonly (readonly JsonObject[])[]): string | undefined {
  return entryKeys.find((name) => lists.every((list) => tellsApart(list, name)))
}

function tellsApart(list: readonly JsonObject[], name: string): boolean {
  const values = list.map((entry) => entry[name])
  return (
    values.every((value) => value !== undefined && !isObject(value)) &&
    new Set(values.map(String)).size === values.length
  )
}

const secretPath = /^(?:data|stringData)(?:$|\.)/
const mask = '***'

/** Shows which values of a secret change, and not what they are. */
export function withMaskedValues(changes: readonly FieldChange[]): FieldChange[] {
  return changes.map((change) => (secretPath.test(change.path) ? masked(change) : change))
}

function masked({ path, change }: FieldChange): FieldChange {
  return {
    path,
    change,
    ...(change !== 'added' && { before: mask }),
    ...(change !== 'removed' && { after: mask }),
  }
}
