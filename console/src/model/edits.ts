/**
 * Edits of a stored document that stays current below them: each remembers what it replaces, so that a change by another user is
 * noticed when it is saved.
 */
import type { Json } from './read.ts'

export interface Edit {
  /** What was stored when the edit began. */
  readonly from: unknown
  readonly to: unknown
}

export type Edits = Readonly<Record<string, Edit>>

/** The document as the form shows it. */
export function withEdits<T extends Json>(stored: T, edits: Edits): T {
  return { ...stored, ...valuesOf(edits) }
}

export function valuesOf(edits: Edits): Json {
  return Object.fromEntries(Object.entries(edits).map(([key, { to }]) => [key, to]))
}

/** An edit that leads back to what was there is none. */
export function edit(edits: Edits, stored: Json, key: string, to: unknown): Edits {
  const from = key in edits ? edits[key]?.from : stored[key]
  const { [key]: _before, ...others } = edits
  return isSame(from, to) ? others : { ...others, [key]: { from, to } }
}

/** Keys that were stored anew, with another value, after their edit began. */
export function conflictsOf(edits: Edits, stored: Json): readonly string[] {
  return Object.entries(edits).flatMap(([key, { from, to }]) =>
    isSame(stored[key], from) || isSame(stored[key], to) ? [] : [key],
  )
}

/** Missing, null and empty are the same to a store. */
export function isSame(left: unknown, right: unknown): boolean {
  return canonical(left) === canonical(right)
}

function canonical(value: unknown): string {
  return JSON.stringify(toCanonical(value)) ?? ''
}

function toCanonical(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return undefined
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => toCanonical(item) ?? null)
  if (typeof value !== 'object') return value
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const inner = toCanonical(item)
    return inner === undefined ? [] : [[key, inner] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
