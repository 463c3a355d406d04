/**
 * Methods that expressions may call on texts, lists, objects, numbers and booleans.
 *
 * @see docs/contracts/orchestration.md#limits-of-expressions
 */
import { matchesWhole, replaceMatches, splitAt } from '@fairlead/base/regex/bounded-regex.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import { isComplete, isHalt, type Status, statuses } from '../statuses.ts'
import { checkedText, checkLength, longestText, repeat } from './arithmetic.ts'
import { callJavaMethod, callStatic } from './java/classes.ts'
import { type CallContext, JavaClassReference, JavaObject } from './java/java-class.ts'
import { formatText } from './java/lang.ts'
import { ExpressionError } from './lexer.ts'
import { occurrences } from './text-search.ts'
import {
  areEqual,
  compare,
  countedKeysOf,
  decapital,
  describe,
  isBean,
  isList,
  isMap,
  listArgument,
  memberOf,
  numberValueOf,
  Real,
  textArgument,
  toBean,
  toExpressionText,
  wholeArgument,
} from './values.ts'

/** Target and arguments have been weighed, and so will be the result; what a method does beyond looking at each once it counts. */
type ListedMethod = (target: never, args: unknown[], meter: Meter) => unknown
type Methods = Readonly<Record<string, ListedMethod>>

/** @throws {ExpressionError} when there is no such method, or its arguments do not fit. */
export function callMethod(
  target: unknown,
  name: string,
  args: unknown[],
  context: CallContext,
): unknown {
  const { meter } = context
  if (target instanceof JavaClassReference) return callStatic(target, name, args, context)
  if (target instanceof JavaObject && !Object.hasOwn(commonMethods, name))
    return callJavaMethod(target, name, args, context)
  const read = args.length === 0 && isBean(target) ? beanValue(target, name) : undefined
  if (read !== undefined) return read
  const methods = methodsOf(target)
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  if (method === undefined)
    throw new ExpressionError(`"${name}()" cannot be called on ${describe(target)}.`)
  return method(target as never, args, meter)
}

/** `getStatus()` of an execution or stage. */
function beanValue(bean: object, name: string): unknown {
  const member = /^get([A-Z]\w*)$/.exec(name)?.[1]
  return member === undefined
    ? undefined
    : ownValue(bean as Record<string, unknown>, decapital(member))
}

/** What a getter `isX()` or `getX()` without arguments says, as SpEL reads it by `.x`. */
export function readGetter(target: unknown, name: string, context: CallContext): unknown {
  if (isList(target) && name === 'length') return target.length
  const capital = `${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`
  const getter = `is${capital}`
  if (target instanceof JavaObject) {
    const found = [`get${capital}`, getter].find((each) =>
      Object.hasOwn(target.class.methods ?? {}, each),
    )
    return found && callJavaMethod(target, found, [], context)
  }
  const known = methodsOf(target)
  if (!Object.hasOwn(known, getter) || isMap(target)) return undefined
  return (known[getter] as (target: unknown) => unknown)(target)
}

function methodsOf(target: unknown): Methods {
  if (typeof target === 'string') return methods.text
  if (isList(target)) return methods.list
  if (isMap(target)) return methods.map
  if (numberValueOf(target) !== undefined) return methods.number
  return methods.other
}

const commonMethods: Methods = {
  toString: (target: unknown, _args: unknown[], meter: Meter) => toExpressionText(target, meter),
  equals: (target: unknown, [other], meter) => areEqual(target, other, meter),
  compareTo: (target: unknown, [other], meter) => compare(target, other, meter),
}

/** What Orca's enumeration of statuses knows about itself. */
const statusMethods: Methods = {
  isComplete: (text: string) => isComplete(toStatus(text)),
  isHalt: (text: string) => isHalt(toStatus(text)),
  isSuccessful: (text: string) => ['SUCCEEDED', 'STOPPED', 'SKIPPED'].includes(toStatus(text)),
  isFailure: (text: string) => ['TERMINAL', 'STOPPED', 'FAILED_CONTINUE'].includes(toStatus(text)),
}

function toStatus(text: string): Status {
  if (!Object.hasOwn(statuses, text))
    throw new ExpressionError(`${describe(text)} is no status of an execution or stage.`)
  return text as Status
}

const textMethods: Methods = {
  ...commonMethods,
  length: (text: string) => text.length,
  name: (text: string) => text,
  ...statusMethods,
  charAt: (text: string, [at]) => substring(text, wholeArgument(at), wholeArgument(at) + 1),
  isEmpty: (text: string) => text === '',
  isBlank: (text: string) => text.trim() === '',
  contains: (text: string, [part], meter) => firstIndexOf(text, textArgument(part), meter) >= 0,
  startsWith: (text: string, [part, at]) =>
    text.startsWith(textArgument(part), indexArgument(at, 0)),
  endsWith: (text: string, [part]) => text.endsWith(textArgument(part)),
  indexOf: (text: string, [part, from], meter) =>
    firstIndexOf(text, textArgument(part), meter, indexArgument(from, 0)),
  lastIndexOf: (text: string, [part, from], meter) =>
    lastIndexOf(text, textArgument(part), meter, indexArgument(from, text.length)),
  equalsIgnoreCase: (text: string, [other]) =>
    typeof other === 'string' && text.toLowerCase() === other.toLowerCase(),
  matches: (text: string, [pattern], meter) => matchesWhole(textArgument(pattern), text, meter),
  toUpperCase: (text: string) => text.toUpperCase(),
  toLowerCase: (text: string) => text.toLowerCase(),
  trim: (text: string) => text.trim(),
  strip: (text: string) => text.trim(),
  stripLeading: (text: string) => text.trimStart(),
  stripTrailing: (text: string) => text.trimEnd(),
  formatted: (text: string, values, meter) =>
    formatText(text, values, (value) => toExpressionText(value, meter)),
  toCharArray: (text: string, _args, meter) => charactersOf(text, meter),
  lines: (text: string, _args, meter) => {
    meter.spend(text.length)
    return text.replace(/\r?\n$/, '').split(/\r?\n/)
  },
  compareToIgnoreCase: (text: string, [other], meter) =>
    compare(text.toLowerCase(), textArgument(other).toLowerCase(), meter),
  hashCode: (text: string, _args, meter) =>
    charactersOf(text, meter).reduce(
      (hash, character) => (Math.imul(hash, 31) + character.charCodeAt(0)) | 0,
      0,
    ),
  concat: (text: string, [other]) => checkedText(text + textArgument(other)),
  repeat: (text: string, [times]) => repeat(text, wholeArgument(times)),
  replace: (text: string, [from, to], meter) =>
    replaceText(text, textArgument(from), textArgument(to), meter),
  replaceAll: (text: string, [from, to], meter) => replacePattern(text, from, to, true, meter),
  replaceFirst: (text: string, [from, to], meter) => replacePattern(text, from, to, false, meter),
  substring: (text: string, [from, to]) =>
    substring(text, wholeArgument(from), indexArgument(to, text.length)),
  subSequence: (text: string, [from, to]) =>
    substring(text, wholeArgument(from), wholeArgument(to)),
  contentEquals: (text: string, [other]) => text === other,
  split: (text: string, [pattern, limit], meter) =>
    split(text, textArgument(pattern), limit === undefined ? 0 : wholeArgument(limit), meter),
}

const listMethods: Methods = {
  ...commonMethods,
  size: (list: unknown[]) => list.length,
  get: (list: unknown[], [at]) => {
    const item = list[wholeArgument(at)]
    if (item === undefined) throw new ExpressionError(`The index ${describe(at)} is out of range.`)
    return item
  },
  isEmpty: (list: unknown[]) => list.length === 0,
  contains: (list: unknown[], [item], meter) => list.some((each) => areEqual(each, item, meter)),
  containsAll: (list: unknown[], [items], meter) =>
    listArgument(items).every((item) => list.some((each) => areEqual(each, item, meter))),
  indexOf: (list: unknown[], [item], meter) =>
    list.findIndex((each) => areEqual(each, item, meter)),
  lastIndexOf: (list: unknown[], [item], meter) =>
    list.findLastIndex((each) => areEqual(each, item, meter)),
  subList: (list: unknown[], [from, to], meter) =>
    subList(list, wholeArgument(from), wholeArgument(to), meter),
}

const mapMethods: Methods = {
  ...commonMethods,
  size: (map: object, _args, meter) => countedKeysOf(map, meter).length,
  get: (map: Record<string, unknown>, [key]) => entryOf(map, key) ?? null,
  getOrDefault: (map: Record<string, unknown>, [key, otherwise]) => entryOf(map, key) ?? otherwise,
  isEmpty: (map: object, _args, meter) => countedKeysOf(map, meter).length === 0,
  containsKey: (map: object, [key]) => typeof key === 'string' && Object.hasOwn(map, key),
  containsValue: (map: Record<string, unknown>, [value], meter) =>
    countedKeysOf(map, meter).some((key) => areEqual(map[key], value, meter)),
  keySet: (map: object, _args, meter) => countedKeysOf(map, meter),
  values: (map: Record<string, unknown>, _args, meter) =>
    countedKeysOf(map, meter).map((key) => map[key]),
  entrySet: (map: Record<string, unknown>, _args, meter) =>
    countedKeysOf(map, meter).map((key) => toBean({ key, value: map[key] })),
}

function entryOf(map: Record<string, unknown>, key: unknown): unknown {
  return typeof key === 'string' ? memberOf(map, key) : undefined
}

function charactersOf(text: string, meter: Meter): string[] {
  meter.spend(text.length)
  return text.split('')
}

function ownValue(map: Record<string, unknown>, key: unknown): unknown {
  return typeof key === 'string' && Object.hasOwn(map, key) ? map[key] : undefined
}

const numberMethods: Methods = {
  ...commonMethods,
  intValue: (number) => Number(BigInt.asIntN(32, wholePart(number))),
  longValue: (number) => BigInt.asIntN(64, wholePart(number)),
  doubleValue: (number) => new Real(Number(numberValueOf(number)?.value)),
}

/** Every method there is, by what it is called on. */
export const methods = {
  text: textMethods,
  list: listMethods,
  map: mapMethods,
  number: numberMethods,
  other: commonMethods,
} as const satisfies Record<string, Methods>

function wholePart(value: unknown): bigint {
  const number = numberValueOf(value)?.value ?? Number.NaN
  if (typeof number === 'bigint') return number
  if (!Number.isFinite(number)) throw new ExpressionError(`${describe(value)} has no whole part.`)
  return BigInt(Math.trunc(number))
}

function substring(text: string, from: number, to: number): string {
  if (from < 0 || to > text.length || from > to)
    throw new ExpressionError(`substring(${from}, ${to}) is out of range.`)
  return text.slice(from, to)
}

function subList(list: unknown[], from: number, to: number, meter: Meter): unknown[] {
  if (from < 0 || to > list.length || from > to)
    throw new ExpressionError(`subList(${from}, ${to}) is out of range.`)
  meter.spend(to - from)
  return list.slice(from, to)
}

function indexArgument(value: unknown, otherwise: number): number {
  return value === undefined ? otherwise : wholeArgument(value)
}

function firstIndexOf(text: string, part: string, meter: Meter, from = 0): number {
  if (part === '') return Math.min(Math.max(from, 0), text.length)
  for (const at of occurrences(text, part, meter)) if (at >= from) return at
  return -1
}

function lastIndexOf(text: string, part: string, meter: Meter, from: number): number {
  if (part === '') return Math.min(from, text.length)
  let last = -1
  for (const at of occurrences(text, part, meter)) {
    if (at > from) break
    last = at
  }
  return last
}

function replaceText(text: string, from: string, to: string, meter: Meter): string {
  const parts = from === '' ? text.split('') : partsBetween(text, from, meter)
  meter.spend(parts.length)
  checkLength(text.length + (parts.length - 1) * (to.length - from.length))
  return parts.join(to)
}

function partsBetween(text: string, separator: string, meter: Meter): string[] {
  const parts: string[] = []
  let end = 0
  for (const at of occurrences(text, separator, meter)) {
    if (at < end) continue
    meter.spend()
    parts.push(text.slice(end, at))
    end = at + separator.length
  }
  return [...parts, text.slice(end)]
}

function replacePattern(
  text: string,
  pattern: unknown,
  replacement: unknown,
  all: boolean,
  meter: Meter,
): string {
  const options = { replacement: textArgument(replacement), all, longest: longestText, meter }
  return checkedText(replaceMatches(textArgument(pattern), text, options))
}

/** Without a limit, empty parts at the end are dropped. */
function split(text: string, pattern: string, limit: number, meter: Meter): string[] {
  const parts = splitAt(pattern, text, limit > 0 ? limit : Infinity, meter)
  if (limit !== 0) return parts
  while (parts.length > 1 && parts.at(-1) === '') parts.pop()
  return parts
}
