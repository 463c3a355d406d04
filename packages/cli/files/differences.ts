/** Differences of two documents, as people read them: `stages[Deploy].waitTime: 3 → 5`. */
import { isRawNumber } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'

export interface Difference {
  readonly path: string
  /** Undefined: it is not there. */
  readonly before: unknown
  readonly after: unknown
}

/** What is missing equals null. */
export function differencesOf(before: unknown, after: unknown, path = ''): Difference[] {
  if (isSame(before, after)) return []
  const isNumber = isRawNumber(before) || isRawNumber(after)
  if (isObject(before) && isObject(after) && !isNumber) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) =>
      differencesOf(before[key], after[key], path === '' ? key : `${path}.${key}`),
    )
  }
  if (Array.isArray(before) && Array.isArray(after)) return ofLists(before, after, path)
  return [{ path, before: before ?? undefined, after: after ?? undefined }]
}

/** Fields that identify entries of lists, in this order. */
const identifying = ['refId', 'name', 'id']

function ofLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
): Difference[] {
  const field = identifying.find((key) => isKeyedBy(before, key) && isKeyedBy(after, key))
  if (field === undefined) {
    const length = Math.max(before.length, after.length)
    return Array.from({ length }, (_, index) =>
      differencesOf(before[index], after[index], `${path}[${index}]`),
    ).flat()
  }
  const toMap = (list: readonly unknown[]) =>
    new Map(list.filter(isObject).map((entry) => [scalarOf(entry[field]) ?? '', entry]))
  const [old, fresh] = [toMap(before), toMap(after)]
  const found = [...new Set([...old.keys(), ...fresh.keys()])].flatMap((key) => {
    const entry = fresh.get(key) ?? old.get(key)
    return differencesOf(old.get(key), fresh.get(key), `${path}[${labelOf(entry, key)}]`)
  })
  const common = (keys: Iterable<string>) =>
    [...keys].filter((key) => old.has(key) && fresh.has(key))
  const isMoved = common(old.keys()).join('\n') !== common(fresh.keys()).join('\n')
  return isMoved
    ? [...found, { path: `${path} (order)`, before: [...old.keys()], after: [...fresh.keys()] }]
    : found
}

function isKeyedBy(list: readonly unknown[], key: string): boolean {
  const values = list.map((entry) => (isObject(entry) ? scalarOf(entry[key]) : undefined))
  return values.every((value) => value !== undefined) && new Set(values).size === values.length
}

function labelOf(entry: JsonObject | undefined, key: string): string {
  return scalarOf(entry?.['name']) ?? key
}

function isSame(one: unknown, other: unknown): boolean {
  if (one == null || other == null) return one == null && other == null
  return typeof one !== 'object' || typeof other !== 'object'
    ? one === other
    : JSON.stringify(one) === JSON.stringify(other)
}

const longest = 80

export function formatDifference({ path, before, after }: Difference): string {
  if (before === undefined) return `${path}: added ${formatValue(after)}`
  if (after === undefined) return `${path}: removed ${formatValue(before)}`
  return `${path}: ${formatValue(before)} → ${formatValue(after)}`
}

function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
