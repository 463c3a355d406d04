/** Differences between versions of a definition, and merges of two of them. Stages, parameters and triggers are paired by what identifies them. */
import { type Json, textOf } from '../model/read.ts'
import { isSameValue } from './json-path.ts'

/** Keys from the definition; an item of a list that has identities is named by its own, such as `['stages', '3', 'waitTime']`. */
export type KeyPath = readonly string[]

export interface DefinitionChange {
  readonly path: KeyPath
  /** Undefined: it was added. */
  readonly before: unknown
  /** Undefined: it was removed. */
  readonly after: unknown
}

/** What identifies the items of a list of the definition. */
export const identities: Readonly<Record<string, string>> = {
  stages: 'refId',
  parameterConfig: 'name',
  triggers: 'id',
  expectedArtifacts: 'id',
}
/** Instead of an item: the items are in another order. */
export const orderKey = ' order'
/** The store sets these; they are no change of the user's. */
export const stamps = ['updateTs', 'lastModifiedBy', 'lastModified', 'createTs']

export function withoutStamps(definition: Json): Json {
  return Object.fromEntries(Object.entries(definition).filter(([name]) => !stamps.includes(name)))
}

/** Equal apart from what the store sets. */
export function isSameDefinition(left: Json, right: Json): boolean {
  return isSameValue(withoutStamps(left), withoutStamps(right))
}

/** In the order of `after`; what was removed follows. */
export function listChanges(before: unknown, after: unknown, path: KeyPath = []): readonly DefinitionChange[] {
  if (isSameValue(before, after)) return []
  const [left, right] = [toItems(before, path), toItems(after, path)]
  if (left === undefined || right === undefined || Array.isArray(before) !== Array.isArray(after))
    return [{ path, before, after }]
  const keys = new Set([...right.keys(), ...left.keys()])
  const inner = [...keys].flatMap((key) => listChanges(left.get(key), right.get(key), [...path, key]))
  if (!Array.isArray(before) || isSameOrder(left, right)) return inner
  return [...inner, { path: [...path, orderKey], before: [...left.keys()], after: [...right.keys()] }]
}

export interface Conflict {
  readonly path: KeyPath
  readonly base: unknown
  readonly mine: unknown
  readonly theirs: unknown
}

export type MergeChoice = 'mine' | 'theirs'

interface Merge {
  readonly definition: Json
  /** Both changed these, differently. */
  readonly conflicts: readonly Conflict[]
  /** Changes of theirs that were taken over. */
  readonly taken: readonly KeyPath[]
}

/** @param choose For a conflict; `mine` unless it says otherwise. */
export function mergeDefinitions(
  base: Json,
  mine: Json,
  theirs: Json,
  choose?: (path: KeyPath) => MergeChoice | undefined,
): Merge {
  const conflicts: Conflict[] = []
  const taken: KeyPath[] = []
  const merge = (was: unknown, my: unknown, their: unknown, path: KeyPath): unknown => {
    if (isSameValue(my, their) || isSameValue(was, their)) return my
    if (isSameValue(was, my)) {
      taken.push(...listChanges(was, their, path).map((change) => change.path))
      return their
    }
    const [before, left, right] = [toItems(was, path), toItems(my, path), toItems(their, path)]
    const isMixed = new Set([was, my, their].map(Array.isArray)).size > 1
    if (before === undefined || left === undefined || right === undefined || isMixed) {
      conflicts.push({ path, base: was, mine: my, theirs: their })
      return choose?.(path) === 'theirs' ? their : my
    }
    const isTheirOrder = Array.isArray(my) && isSameOrder(before, left) && !isSameOrder(before, right)
    const order = isTheirOrder ? inOrder(right, left) : inOrder(left, right)
    const merged = order
      .map((key) => [key, merge(before.get(key), left.get(key), right.get(key), [...path, key])] as const)
      .filter(([, value]) => value !== undefined)
    return Array.isArray(my) ? merged.map(([, value]) => value) : Object.fromEntries(merged)
  }
  return { definition: merge(base, mine, theirs, []) as Json, conflicts, taken }
}

type Items = ReadonlyMap<string, unknown>

/** Undefined for what is one value: texts, numbers, and lists without identities. */
function toItems(value: unknown, path: KeyPath): Items | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value)) return new Map(Object.entries(value))
  const identity = path.length === 1 ? identities[String(path)] : undefined
  if (identity === undefined) return undefined
  const items = new Map(value.map((item) => [textOf((item as Json | null)?.[identity]) ?? '', item]))
  return items.has('') || items.size < value.length ? undefined : items
}

/** Whether those in both are in the same order. */
function isSameOrder(left: Items, right: Items): boolean {
  const common = (one: Items, other: Items) => [...one.keys()].filter((key) => other.has(key))
  return isSameValue(common(left, right), common(right, left))
}

/** Keys of both: those that only `other` has stand after the one that they follow there. */
function inOrder(first: Items, other: Items): readonly string[] {
  const keys = [...first.keys()]
  let after = -1
  for (const key of other.keys()) {
    if (!first.has(key)) keys.splice(after + 1, 0, key)
    after = keys.indexOf(key)
  }
  return keys
}
