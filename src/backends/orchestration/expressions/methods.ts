/** The methods that expressions may call on texts, lists, objects, numbers and booleans (orchestration contract, 7.7). */
import { matchesWhole, replaceMatches, splitAt } from '../regex/bounded-regex.ts'
import { checkLength, repeat } from './arithmetic.ts'
import { ExpressionError } from './lexer.ts'
import { areEqual, compare, describe, isList, isMap, numberOf, Real, toText } from './values.ts'

type Method = (target: never, args: unknown[]) => unknown
type Methods = Readonly<Record<string, Method>>

/** @throws {ExpressionError} when there is no such method, or its arguments do not fit. */
export function callMethod(target: unknown, name: string, args: unknown[]): unknown {
  const methods = methodsOf(target)
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  if (method === undefined) throw new ExpressionError(`"${name}()" cannot be called on ${describe(target)}.`)
  return method(target as never, args)
}

function methodsOf(target: unknown): Methods {
  if (typeof target === 'string') return textMethods
  if (isList(target)) return listMethods
  if (isMap(target)) return mapMethods
  if (numberOf(target) !== undefined) return numberMethods
  return commonMethods
}

const commonMethods: Methods = {
  toString: (target: unknown) => toText(target),
  equals: (target: unknown, [other]) => areEqual(target, other),
  compareTo: (target: unknown, [other]) => compare(target, other),
}

const textMethods: Methods = {
  ...commonMethods,
  length: (text: string) => text.length,
  isEmpty: (text: string) => text === '',
  isBlank: (text: string) => text.trim() === '',
  contains: (text: string, [part]) => text.includes(textArgument(part)),
  startsWith: (text: string, [part]) => text.startsWith(textArgument(part)),
  endsWith: (text: string, [part]) => text.endsWith(textArgument(part)),
  indexOf: (text: string, [part]) => text.indexOf(textArgument(part)),
  lastIndexOf: (text: string, [part]) => text.lastIndexOf(textArgument(part)),
  equalsIgnoreCase: (text: string, [other]) => typeof other === 'string' && text.toLowerCase() === other.toLowerCase(),
  matches: (text: string, [pattern]) => matchesWhole(textArgument(pattern), text),
  toUpperCase: (text: string) => text.toUpperCase(),
  toLowerCase: (text: string) => text.toLowerCase(),
  trim: (text: string) => text.trim(),
  strip: (text: string) => text.trim(),
  concat: (text: string, [other]) => checked(text + textArgument(other)),
  repeat: (text: string, [times]) => repeat(text, wholeArgument(times)),
  replace: (text: string, [from, to]) => checked(text.split(textArgument(from)).join(textArgument(to))),
  replaceAll: (text: string, [from, to]) => checked(replaceMatches(textArgument(from), text, textArgument(to), true)),
  replaceFirst: (text: string, [from, to]) => checked(replaceMatches(textArgument(from), text, textArgument(to), false)),
  substring: (text: string, [from, to]) =>
    substring(text, wholeArgument(from), to === undefined ? text.length : wholeArgument(to)),
  split: (text: string, [pattern, limit]) => split(text, textArgument(pattern), limit === undefined ? 0 : wholeArgument(limit)),
}

const listMethods: Methods = {
  ...commonMethods,
  size: (list: unknown[]) => list.length,
  isEmpty: (list: unknown[]) => list.length === 0,
  contains: (list: unknown[], [item]) => list.some((each) => areEqual(each, item)),
  containsAll: (list: unknown[], [items]) => listArgument(items).every((item) => list.some((each) => areEqual(each, item))),
  indexOf: (list: unknown[], [item]) => list.findIndex((each) => areEqual(each, item)),
  lastIndexOf: (list: unknown[], [item]) => list.findLastIndex((each) => areEqual(each, item)),
  subList: (list: unknown[], [from, to]) => subList(list, wholeArgument(from), wholeArgument(to)),
}

const mapMethods: Methods = {
  ...commonMethods,
  size: (map: object) => Object.keys(map).length,
  isEmpty: (map: object) => Object.keys(map).length === 0,
  containsKey: (map: object, [key]) => typeof key === 'string' && Object.hasOwn(map, key),
  containsValue: (map: object, [value]) => Object.values(map).some((each) => areEqual(each, value)),
  keySet: (map: object) => Object.keys(map),
  values: (map: object) => Object.values(map),
}

const numberMethods: Methods = {
  ...commonMethods,
  intValue: (number) => Number(BigInt.asIntN(32, BigInt(Math.trunc(numeric(number))))),
  longValue: (number) => BigInt(Math.trunc(numeric(number))),
  doubleValue: (number) => new Real(numeric(number)),
}

function numeric(value: unknown): number {
  return Number(numberOf(value)?.value)
}

function textArgument(value: unknown): string {
  if (typeof value !== 'string') throw new ExpressionError(`A text was expected instead of ${describe(value)}.`)
  return value
}

function wholeArgument(value: unknown): number {
  const number = numberOf(value)
  if (number === undefined || number.kind === 'real') {
    throw new ExpressionError(`A whole number was expected instead of ${describe(value)}.`)
  }
  return Number(number.value)
}

function listArgument(value: unknown): unknown[] {
  if (!isList(value)) throw new ExpressionError(`A list was expected instead of ${describe(value)}.`)
  return value
}

function checked(text: string): string {
  checkLength(text.length)
  return text
}

function substring(text: string, from: number, to: number): string {
  if (from < 0 || to > text.length || from > to) throw new ExpressionError(`substring(${from}, ${to}) is out of range.`)
  return text.slice(from, to)
}

function subList(list: unknown[], from: number, to: number): unknown[] {
  if (from < 0 || to > list.length || from > to) throw new ExpressionError(`subList(${from}, ${to}) is out of range.`)
  return list.slice(from, to)
}

/** Without a limit, empty parts at the end are dropped. */
function split(text: string, pattern: string, limit: number): string[] {
  const parts = splitAt(pattern, text, limit > 0 ? limit : Infinity)
  if (limit !== 0) return parts
  while (parts.length > 1 && parts.at(-1) === '') parts.pop()
  return parts
}
