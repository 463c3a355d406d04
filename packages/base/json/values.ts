/** Narrows JSON from outside, such as bodies, events and service answers, without throwing. */
import { isRawNumber, parseIfJson } from './json.ts'

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}

/** The object that a text is as JSON; undefined for every other text. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseIfJson(text)
  return isObject(value) ? value : undefined
}

/** The value if it is an object, else an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** The value if it is a list, else an empty one. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The entries of a list that are not null. */
export function entriesOf(value: unknown): unknown[] {
  return listOf(value).filter((entry) => entry !== null)
}

/** The objects of a list; everything else in it, and anything that is no list, is left out. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** The texts of a list; everything else in it, and anything that is no list, is left out. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** A text that is not empty, else undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A text that is not empty, or a number as text; undefined for everything else. */
export function scalarOf(value: unknown): string | undefined {
  return typeof value === 'number' || typeof value === 'bigint' || isRawNumber(value)
    ? String(value)
    : textOf(value)
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** The fields that are not undefined. */
export function definedOf<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(
    Object.entries(value).filter(([, field]) => field !== undefined),
  ) as Defined<T>
}

/** The fields that are neither null nor undefined. */
export function withoutNulls<T extends object>(value: T): T {
  return Object.fromEntries(
    Object.entries(value).filter(([, field]) => field !== null && field !== undefined),
  ) as T
}

/** A field of the object itself, never of its prototype: names may come from strangers. */
export function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** A field of nested objects, by the names on the way to it. */
export function fieldAt(value: unknown, ...path: readonly string[]): unknown {
  let found = value
  for (const name of path) found = fieldOf(found, name)
  return found
}

/** Every text in JSON data, names of members aside. */
export function textsWithin(value: unknown, found: string[] = []): string[] {
  if (typeof value === 'string') found.push(value)
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) textsWithin(each, found)
  return found
}

/** JSON data with other texts, numbers and words: a copy only where one of them is another. */
export function mapLeaves(value: unknown, change: (leaf: unknown) => unknown): unknown {
  if (Array.isArray(value)) {
    const members = value.map((each: unknown) => mapLeaves(each, change))
    return members.some((member, index) => member !== value[index]) ? members : value
  }
  if (!isObject(value)) return change(value)
  const changed = Object.entries(value).flatMap(([name, member]) => {
    const after = mapLeaves(member, change)
    return after === member ? [] : [[name, after] as const]
  })
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) }
}

/** Reads booleans like Spinnaker's services: also from text in any case, and numbers but 0. */
export function isTrue(value: unknown): boolean {
  if (typeof value === 'number') return value !== 0
  return value === true || (typeof value === 'string' && value.toLowerCase() === 'true')
}

/** A number, also one written as text; undefined for everything else. */
export function numberOf(value: unknown): number | undefined {
  const isNumeric = typeof value === 'number' || typeof value === 'bigint' || isRawNumber(value)
  if (!isNumeric && (typeof value !== 'string' || value.trim() === '')) return undefined
  const number = Number(String(value))
  return Number.isFinite(number) ? number : undefined
}
