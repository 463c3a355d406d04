/** Differences between versions of a definition, and merges of two of them. Stages, parameters and triggers are paired by what identifies them. */
import type { Json } from '../model/read.ts'
import { textOf } from '../model/read.ts'
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
const identities: Readonly<Record<string, string>> = {
  stages: 'refId',
  parameterConfig: 'name',
  triggers: 'id',
  expectedArtifacts: 'id',
}
/** Instead of an item: the items are in another order. */
export const orderKey = ' order'

/** In the order of `after`; what was removed follows. */
export function listChanges(before: Json, after: Json): readonly DefinitionChange[] {
  return changesOf(before, after, [])
}

function changesOf(before: unknown, after: unknown, path: KeyPath): readonly DefinitionChange[] {
  if (isSameValue(before, after)) return []
  const [left, right] = [toItems(before, path), toItems(after, path)]
  if (left === undefined || right === undefined || left.isList !== right.isList) return [{ path, before, after }]
  const keys = [...new Set([...right.values.keys(), ...left.values.keys()])]
  const inner = keys.flatMap((key) => changesOf(left.values.get(key), right.values.get(key), [...path, key]))
  if (!left.isList || isSameOrder(left, right)) return inner
  return [...inner, { path: [...path, orderKey], before: [...left.values.keys()], after: [...right.values.keys()] }]
}

export interface Conflict {
  readonly path: KeyPath
  readonly base: unknown
  readonly mine: unknown
  readonly theirs: unknown
}

export type MergeChoice = 'mine' | 'theirs'

export interface Merge {
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
  choose: (path: KeyPath) => MergeChoice | undefined = () => undefined,
): Merge {
  const conflicts: Conflict[] = []
  const taken: KeyPath[] = []
  const merge = (was: unknown, my: unknown, their: unknown, path: KeyPath): unknown => {
    if (isSameValue(my, their) || isSameValue(was, their)) return my
    if (isSameValue(was, my)) {
      taken.push(...changesOf(was, their, path).map((change) => change.path))
      return their
    }
    const [before, left, right] = [toItems(was, path), toItems(my, path), toItems(their, path)]
    const isMixed = before?.isList !== left?.isList || left?.isList !== right?.isList
    if (before === undefined || left === undefined || right === undefined || isMixed) {
      conflicts.push({ path, base: was, mine: my, theirs: their })
      return choose(path) === 'theirs' ? their : my
    }
    const order =
      left.isList && isSameOrder(before, left) && !isSameOrder(before, right) ? inOrder(right, left) : inOrder(left, right)
    const merged = order.flatMap((key): (readonly [string, unknown])[] => {
      const value = merge(before.values.get(key), left.values.get(key), right.values.get(key), [...path, key])
      return value === undefined ? [] : [[key, value]]
    })
    return left.isList ? merged.map(([, value]) => value) : Object.fromEntries(merged)
  }
  const definition = merge(base, mine, theirs, []) as Json
  return { definition, conflicts, taken }
}

interface Items {
  readonly isList: boolean
  readonly values: ReadonlyMap<string, unknown>
}

/** Undefined for what is one value: texts, numbers, and lists without identities. */
function toItems(value: unknown, path: KeyPath): Items | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value)) return { isList: false, values: new Map(Object.entries(value)) }
  const identity = path.length === 1 ? identities[path[0] as string] : undefined
  if (identity === undefined) return undefined
  const values = new Map(value.map((item) => [textOf((item as Json | null)?.[identity]) ?? '', item]))
  return values.has('') || values.size < value.length ? undefined : { isList: true, values }
}

/** Whether those in both are in the same order. */
function isSameOrder(left: Items, right: Items): boolean {
  const common = [...left.values.keys()].filter((key) => right.values.has(key))
  return isSameValue(
    common,
    [...right.values.keys()].filter((key) => left.values.has(key)),
  )
}

/** Keys of both: those that only `other` has stand after the one that they follow there. */
function inOrder(first: Items, other: Items): readonly string[] {
  const keys = [...first.values.keys()]
  let after: string | undefined
  for (const key of other.values.keys()) {
    if (!first.values.has(key)) keys.splice(after === undefined ? 0 : keys.indexOf(after) + 1, 0, key)
    after = key
  }
  return keys
}
