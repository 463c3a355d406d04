/** Differences between versions of a definition, and merges of two of them. Stages, parameters and triggers are paired by what identifies them. */
import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import { isSameValue } from './json-path.ts'

/** Keys from the definition; an item of a list that has identities is named by its own, such as `['stages', '3', 'waitTime']`. */
export type KeyPath = readonly string[]

export interface DefinitionChange {
  readonly path: KeyPath
  /** Undefined where it was added; `after` where it was removed. */
  readonly before: unknown
  readonly after: unknown
}

/** Lists of the definition: what an item is, and what identifies it. */
export const partLists: Readonly<Record<string, { readonly noun: string; readonly id: string }>> = {
  stages: { noun: 'Stage', id: 'refId' },
  parameterConfig: { noun: 'Parameter', id: 'name' },
  triggers: { noun: 'Trigger', id: 'id' },
  expectedArtifacts: { noun: 'Artifact', id: 'id' },
}
/** Replaces an item: the items are in another order. */
export const orderKey = ' order'
/** The store sets these; they are no change of the user's. */
export const stamps = ['updateTs', 'lastModifiedBy', 'lastModified', 'createTs']

export function withoutStamps(definition: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(definition).filter(([name]) => !stamps.includes(name)))
}

export function isSameDefinition(left: JsonObject, right: JsonObject): boolean {
  return isSameValue(withoutStamps(left), withoutStamps(right))
}

/** In the order of `after`; what was removed follows. */
export function listChanges(
  before: unknown,
  after: unknown,
  path: KeyPath = [],
): readonly DefinitionChange[] {
  if (isSameValue(before, after)) return []
  const [left, right] = toItems(path, before, after)
  if (left === undefined || right === undefined) return [{ path, before, after }]
  const keys = new Set([...right.keys(), ...left.keys()])
  const inner = [...keys].flatMap((key) =>
    listChanges(left.get(key), right.get(key), [...path, key]),
  )
  if (!Array.isArray(before) || isSameOrder(left, right)) return inner
  return [
    ...inner,
    { path: [...path, orderKey], before: [...left.keys()], after: [...right.keys()] },
  ]
}

export type Choose = (path: KeyPath) => 'mine' | 'theirs' | undefined

/** `conflicts`: both changed these, differently. `taken`: changes of theirs that were taken over. */
export function mergeDefinitions(
  base: JsonObject,
  mine: JsonObject,
  theirs: JsonObject,
  choose?: Choose,
) {
  const conflicts: { path: KeyPath; base: unknown; mine: unknown; theirs: unknown }[] = []
  const taken: KeyPath[] = []
  const merge = (was: unknown, my: unknown, their: unknown, path: KeyPath): unknown => {
    if (isSameValue(my, their) || isSameValue(was, their)) return my
    if (isSameValue(was, my)) {
      taken.push(...listChanges(was, their, path).map((change) => change.path))
      return their
    }
    const [before, left, right] = toItems(path, was, my, their)
    if (before === undefined || left === undefined || right === undefined) {
      conflicts.push({ path, base: was, mine: my, theirs: their })
      return choose?.(path) === 'theirs' ? their : my
    }
    const isTheirOrder =
      Array.isArray(my) && isSameOrder(before, left) && !isSameOrder(before, right)
    const order = isTheirOrder ? inOrder(right, left) : inOrder(left, right)
    const merged = order
      .map(
        (key) =>
          [key, merge(before.get(key), left.get(key), right.get(key), [...path, key])] as const,
      )
      .filter(([, value]) => value !== undefined)
    return Array.isArray(my) ? merged.map(([, value]) => value) : Object.fromEntries(merged)
  }
  return { definition: merge(base, mine, theirs, []) as JsonObject, conflicts, taken }
}

type Items = ReadonlyMap<string, unknown>

/** None where one of them is one value: a text, a number, or a list without identities. */
function toItems(path: KeyPath, ...versions: readonly unknown[]) {
  const identity = path.length === 1 ? (partLists[String(path)]?.id ?? '') : ''
  const all = versions.map((value): Items | undefined => {
    if (typeof value !== 'object' || value === null) return undefined
    if (!Array.isArray(value)) return new Map(Object.entries(value))
    const items = new Map(
      value.map((item) => [scalarOf((item as JsonObject | null)?.[identity]), item]),
    )
    return items.has(undefined) || items.size < value.length ? undefined : (items as Items)
  })
  const isMixed = new Set(versions.map(Array.isArray)).size > 1
  return isMixed || all.includes(undefined) ? [] : (all as readonly Items[])
}

function isSameOrder(left: Items, right: Items) {
  const common = (one: Items, other: Items) => [...one.keys()].filter((key) => other.has(key))
  return isSameValue(common(left, right), common(right, left))
}

/** Keys of both: those that only `other` has stand after the one that they follow there. */
function inOrder(first: Items, other: Items) {
  const keys = [...first.keys()]
  let after = -1
  for (const key of other.keys()) {
    if (!first.has(key)) keys.splice(after + 1, 0, key)
    after = keys.indexOf(key)
  }
  return keys
}
