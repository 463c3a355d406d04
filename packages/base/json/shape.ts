/**
 * Shapes of JSON from outside: `shape({ account: textOf, regions: textsOf, capacity: shape({ min: numberOf }) })` reads an object once,
 * leniently, and what it gives has types. Readers are the functions of `values.ts`, and shapes themselves.
 */
import { isObject, type JsonObject, listOf, objectOf, objectsOf, textsOf } from './values.ts'

export type Reader<T> = (value: unknown) => T

/** A field: how it is read, or that beside the names under which it may stand; the first that can be read counts. */
type ShapeField = Reader<unknown> | readonly [read: Reader<unknown>, ...names: string[]]

type FieldValue<F> = F extends readonly [Reader<infer T>, ...string[]]
  ? T
  : F extends Reader<infer T>
    ? T
    : never

export type ShapeOf<R> = R extends Reader<infer T> ? T : never

/** Reads a value that is no object like one whose fields are all missing. */
export function shape<const F extends Readonly<Record<string, ShapeField>>>(
  fields: F,
): Reader<{ readonly [K in keyof F]: FieldValue<F[K]> }> {
  const readers = Object.entries<ShapeField>(fields).map(([key, field]) => {
    const [read, ...names] = typeof field === 'function' ? [field] : field
    return { key, read, names: names.length === 0 ? [key] : names }
  })
  return (value) => {
    const given = objectOf(value)
    // A loop: lists of Kubernetes have thousands of objects.
    const found: Record<string, unknown> = {}
    for (const { key, read, names } of readers) {
      let result: unknown
      for (const name of names) {
        const member = Object.hasOwn(given, name) ? (given[name] ?? undefined) : undefined
        // Forms leave a text empty that another name of the field sets.
        if (member !== undefined && (member !== '' || names.length === 1)) result = read(member)
        if (result !== undefined) break
      }
      found[key] = result === undefined ? read(undefined) : result
    }
    return found as { readonly [K in keyof F]: FieldValue<F[K]> }
  }
}

/** What the reader gives, with the whole object as it was given. */
export function withAll<T extends object>(
  read: Reader<T>,
): Reader<T & { readonly all: JsonObject }> {
  return (value) => ({ ...read(value), all: objectOf(value) })
}

/** The members of a list, each read; none of what is no list. */
export function list<T>(read: Reader<T>): Reader<T[]> {
  return (value) => listOf(value).map(read)
}

/** The objects of a list, each read; everything else in it is left out. */
export function objectList<T>(read: Reader<T>): Reader<T[]> {
  return (value) => objectsOf(value).map(read)
}

/** An object's members that are texts. */
export function textMap(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(objectOf(value)).flatMap(([name, member]) =>
      typeof member === 'string' && member !== '' ? [[name, member]] : [],
    ),
  )
}

/** What the reader gives, or else the other value. */
export function or<T, D>(read: Reader<T>, otherwise: D): Reader<NonNullable<T> | D> {
  return (value) => read(value) ?? otherwise
}

/** What the reader gives of a value that is there. */
export function maybe<T>(read: Reader<T>): Reader<T | undefined> {
  return (value) => (value === null || value === undefined ? undefined : read(value))
}

/** Keeps a value that is only passed on. */
export function asGiven(value: unknown): unknown {
  return value
}

/** The texts of what is a list. */
export function maybeTexts(value: unknown): string[] | undefined {
  return Array.isArray(value) ? textsOf(value) : undefined
}

export function maybeObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined
}
