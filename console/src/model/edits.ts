/** Edits of a stored document, each with what it replaces, so that a change by another user is noticed when it is saved. */
import type { JsonObject } from '@fairlead/base/json/values.ts'

export interface Edit {
  readonly from: unknown
  readonly to: unknown
}

export type Edits = Readonly<Record<string, Edit>>

export function withEdits<T extends JsonObject>(stored: T, edits: Edits): T {
  return { ...stored, ...valuesOf(edits) }
}

export function valuesOf(edits: Edits): JsonObject {
  return Object.fromEntries(Object.entries(edits).map(([key, { to }]) => [key, to]))
}

/** An edit that leads back to what was there is none. */
export function edit(edits: Edits, stored: JsonObject, key: string, to: unknown): Edits {
  const from = key in edits ? edits[key]?.from : stored[key]
  const { [key]: _before, ...others } = edits
  return isSame(from, to) ? others : { ...others, [key]: { from, to } }
}

/** Keys that were stored anew, with another value, after their edit began. */
export function conflictsOf(edits: Edits, stored: JsonObject): readonly string[] {
  const isTaken = (key: string) =>
    [edits[key]?.from, edits[key]?.to].some((value) => isSame(stored[key], value))
  return Object.keys(edits).filter((key) => !isTaken(key))
}

/** Missing, null and empty are the same to a store. */
export function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(canonical(left)) === JSON.stringify(canonical(right))
}

/** Without what is empty, and with keys in one order. */
function canonical(value: unknown): unknown {
  if (value === null || value === '') return undefined
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(canonical)
  const entries = Object.entries(value).map(([key, item]) => [key, canonical(item)] as const)
  const given = entries.filter(([, item]) => item !== undefined)
  return given.length === 0
    ? undefined
    : Object.fromEntries(given.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
