/** What of a manifest a live object no longer has, field by field. */

import { isDeepStrictEqual } from 'node:util'
import { fieldOf, isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { entryKeyOf, isListOfObjects } from '../manifests/diff.ts'

export interface FieldDrift {
  /** Such as `spec.template.spec.containers[name=main].image`. */
  readonly path: string
  /** Undefined: it is gone. */
  readonly live: unknown
  readonly wanted: unknown
}

/** Lists whose order the API server changes by itself. */
const unordered: ReadonlySet<string> = new Set(['spec.metrics'])

/**
 * Fields that the manifest names. Entries of lists that have a key are matched by it, and those that the manifest does not name
 * do not count; other lists are compared as a whole.
 *
 * @param wanted The object as another deployment would make it; the manifest itself where that is not known
 */
export function driftedFields(
  manifest: unknown,
  live: unknown,
  wanted: unknown,
  path = '',
): FieldDrift[] {
  if (manifest === undefined || manifest === null || isSame(live, wanted)) return []
  if (path.endsWith('caBundle') && isPlaceholder(manifest)) return []
  if (isObject(manifest) && isObject(wanted) && (isObject(live) || live === undefined)) {
    if (live === undefined && !isEmpty(manifest)) return [{ path, live, wanted }]
    return Object.keys(manifest).flatMap((name) =>
      driftedFields(
        manifest[name],
        fieldOf(live, name),
        fieldOf(wanted, name),
        path === '' ? name : `${path}.${name}`,
      ),
    )
  }
  if (isEmpty(manifest) && (live === undefined || isEmpty(live))) return []
  // What rules ignore is null.
  const named = Array.isArray(manifest) ? manifest.filter((entry) => entry !== null) : undefined
  if (isListOfObjects(named) && isListOfObjects(wanted) && isListOfObjects(live)) {
    const key = entryKeyOf([named, wanted, live])
    if (key !== undefined && !unordered.has(path)) {
      const find = (list: readonly JsonObject[], entry: JsonObject) =>
        list.find((each) => String(each[key]) === String(entry[key]))
      return named.flatMap((entry) =>
        driftedFields(
          entry,
          find(live, entry),
          find(wanted, entry),
          `${path}[${key}=${String(entry[key])}]`,
        ),
      )
    }
    if (unordered.has(path) && isDeepStrictEqual(sorted(live), sorted(wanted))) return []
  }
  return [{ path, live, wanted }]
}

/** Another program writes the certificates: published manifests have nothing, or a line break. */
function isPlaceholder(bundle: unknown): boolean {
  return typeof bundle === 'string' && Buffer.from(bundle, 'base64').toString().trim() === ''
}

function sorted(list: readonly unknown[]): string[] {
  return list.map((entry) => JSON.stringify(entry)).toSorted()
}

/** The API server drops empty values. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.values(value).every(isEmpty)
}

/** Quantities and numbers may be written in several ways. */
function isSame(one: unknown, other: unknown): boolean {
  if (isDeepStrictEqual(one, other)) return true
  const [first, second] = [quantityOf(one), quantityOf(other)]
  return first !== undefined && first === second
}

const units: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

function quantityOf(value: unknown): number | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string') return undefined
  const [, digits, unit = ''] =
    /^([+-]?\d{1,20}(?:\.\d{1,20})?)([numkMGTPE]|[KMGTPE]i)?$/.exec(value) ?? []
  const factor = units[unit]
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}
