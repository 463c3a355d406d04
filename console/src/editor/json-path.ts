/** Places in a definition, and changes there that leave everything else as it is: unknown fields, order of keys. */
import type { JsonObject } from '@fairlead/base/json/values.ts'

/** Keys and positions from the definition, such as `['stages', 3, 'capacity', 'max']`. */
export type Path = readonly (string | number)[]

export function valueAt(root: unknown, path: Path): unknown {
  let value = root
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<string | number, unknown>>)[step]
  }
  return value
}

/** A copy with `value` there, below new objects where some were missing; undefined removes the key or the item. */
export function withValueAt<Root>(root: Root, path: Path, value: unknown): Root {
  const [step, ...rest] = path
  if (step === undefined) return value as Root
  const inner = rest.length === 0 ? value : withValueAt(valueAt(root, [step]), rest, value)
  if (Array.isArray(root) && typeof step === 'number') {
    return (
      inner === undefined ? root.toSpliced(step, 1) : Object.assign([...root], { [step]: inner })
    ) as Root
  }
  if (root === undefined && typeof step === 'number')
    return (inner === undefined ? [] : [inner]) as Root
  const holder: JsonObject =
    typeof root === 'object' && root !== null && !Array.isArray(root) ? (root as JsonObject) : {}
  const { [step]: _removed, ...others } = holder
  return (inner === undefined ? others : { ...holder, [step]: inner }) as Root
}

export function isSameValue(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  return keys.every(
    (key) =>
      Object.hasOwn(right, key) &&
      isSameValue((left as JsonObject)[key], (right as JsonObject)[key]),
  )
}

export function isSamePath(left: Path, right: Path): boolean {
  return left.length === right.length && left.every((step, index) => step === right[index])
}

export function isWithin(path: Path, outer: Path): boolean {
  return isSamePath(path.slice(0, outer.length), outer)
}
