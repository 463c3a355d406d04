/** Functions of JSON paths, and the operators of Jayway's filters as functions. */
import { parseJson } from '@fairlead/base/json/json.ts'
import { isObject } from '@fairlead/base/json/values.ts'

type PathFunction = (value: unknown, args: readonly unknown[]) => unknown

/** Functions at the end of a path; undefined where they do not apply. */
export const pathFunctions: Readonly<Record<string, PathFunction>> = {
  length: sizeOf,
  size: sizeOf,
  keys: (value) => (isObject(value) ? Object.keys(value) : undefined),
  min: ofNumbers((numbers) => numbers.reduce((one, other) => Math.min(one, other))),
  max: ofNumbers((numbers) => numbers.reduce((one, other) => Math.max(one, other))),
  sum: ofNumbers(sum),
  avg: ofNumbers(average),
  stddev: ofNumbers((numbers) => {
    const mean = average(numbers)
    return Math.sqrt(average(numbers.map((each) => (each - mean) ** 2)))
  }),
  first: (value) => (Array.isArray(value) ? value[0] : undefined),
  last: (value) => (Array.isArray(value) ? value.at(-1) : undefined),
  index: (value, [at]) => (Array.isArray(value) ? value.at(Number(at)) : undefined),
  // At an object, only the arguments are joined.
  concat: (value, args) =>
    [...(isList(value) ? value : isObject(value) ? [] : [value]), ...args].join(''),
  append: (value, args) => (Array.isArray(value) ? [...value, ...args] : undefined),
}

/** Operators of filters; the right side of those that want a list is one, or its JSON. */
export const filterFunctions: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> =
  {
    is_in: (left, right) => listOf(right).includes(left),
    is_subset: (left, right) => isList(left) && left.every((each) => listOf(right).includes(each)),
    has_any: (left, right) => isList(left) && left.some((each) => listOf(right).includes(each)),
    has_part: (left, right) =>
      (typeof left === 'string' && typeof right === 'string' && left.includes(right)) ||
      (isList(left) && left.includes(right)),
    has_size: (left, right) => sizeOf(left) === (typeof right === 'number' ? right : sizeOf(right)),
    is_empty: (left, right) => sizeOf(left) !== undefined && (sizeOf(left) === 0) === right,
  }

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value)
}

function listOf(value: unknown): unknown[] {
  if (typeof value !== 'string' || !value.startsWith('[')) return isList(value) ? value : []
  const list = parseJson(value)
  return isList(list) ? list : []
}

function sizeOf(value: unknown): number | undefined {
  if (isList(value) || typeof value === 'string') return value.length
  return isObject(value) ? Object.keys(value).length : undefined
}

function ofNumbers(combine: (numbers: number[]) => number): PathFunction {
  return (value) => {
    const numbers = isList(value) ? value.filter((each) => typeof each === 'number') : []
    return numbers.length === 0 ? undefined : combine(numbers)
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

function average(numbers: number[]): number {
  return sum(numbers) / numbers.length
}
