/**
 * Values of the expression language and the conversions between them. Values are those of JSON, and numbers know
 * whether they are whole: JSON's 3 is an integer, the literal 3.0 is a `Real`.
 */
import { isRawNumber } from '@fairlead/base/json/json.ts'
import { isObject } from '@fairlead/base/json/values.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import { JavaClassReference, JavaObject } from './java/java-class.ts'
import { ExpressionError } from './lexer.ts'

/** A floating-point number, also when its value happens to be whole. */
export class Real {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** A value whose `${}` is to stay as it is. */
export class Unevaluated {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

type NumberValue = { kind: 'int' | 'long'; value: bigint } | { kind: 'real'; value: number }

const smallestInt = -(2n ** 31n)
const largestInt = 2n ** 31n - 1n

/** Digits that a whole number of any kind may have. */
const mostDigits = 20

/** @throws {ExpressionError} when a whole number does not fit. */
export function parseNumber(text: string): unknown {
  const isHex = /^0[xX]/.test(text)
  if (!isHex && /[.eEfFdD]/.test(text)) return new Real(Number(text.replace(/[fFdDlL]$/, '')))
  const isLong = /[lL]$/.test(text)
  if (text.replace(/^0[xX]/, '').replace(/^0+/, '').length > mostDigits)
    throw new ExpressionError(`${text.slice(0, 40)} is too large.`)
  const value = BigInt(isLong ? text.slice(0, -1) : text)
  if (!isLong && value > largestInt)
    throw new ExpressionError(`${text} is too large for an integer; write ${text}L.`)
  if (BigInt.asIntN(64, value) !== value) throw new ExpressionError(`${text} is too large.`)
  return isLong ? value : Number(value)
}

export function numberValueOf(value: unknown): NumberValue | undefined {
  if (value instanceof Real) return { kind: 'real', value: value.value }
  if (typeof value === 'bigint') return { kind: 'long', value }
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return { kind: 'real', value }
    const whole = BigInt(value)
    return { kind: whole >= smallestInt && whole <= largestInt ? 'int' : 'long', value: whole }
  }
  if (isRawNumber(value)) {
    const text = JSON.stringify(value)
    // Reading a whole number takes the square of its digits, and none that is used as one has so many.
    const isWhole = text.length <= 100 && /^-?\d+$/.test(text)
    return isWhole ? { kind: 'long', value: BigInt(text) } : { kind: 'real', value: Number(text) }
  }
  return undefined
}

/** Whole results wrap around at the width of their kind. */
export function fromNumber(number: NumberValue): unknown {
  if (number.kind === 'real') return new Real(number.value)
  if (number.kind === 'int') return Number(BigInt.asIntN(32, number.value))
  return BigInt.asIntN(64, number.value)
}

export function isList(value: unknown): value is unknown[] {
  return Array.isArray(value)
}

/** Whether a text within a value of JSON, keys included, is one that is looked for. */
export function hasText(value: unknown, isWanted: (text: string) => boolean): boolean {
  if (typeof value === 'string') return isWanted(value)
  if (isList(value)) return value.some((each) => hasText(each, isWanted))
  return (
    isObject(value) &&
    Object.entries(value).some(([key, member]) => isWanted(key) || hasText(member, isWanted))
  )
}

/** An object of JSON, not one of the language's own values. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !ownKinds.some((kind) => value instanceof kind)
}

/** Executions and stages, whose members Java reads by getters: `status`, `Status` and `getStatus()` are one. */
const beans = new WeakSet<object>()

export function toBean<T extends object>(value: T): T {
  beans.add(value)
  return value
}

export function isBean(value: unknown): value is object {
  return typeof value === 'object' && value !== null && beans.has(value)
}

const inherited = new WeakMap<object, (name: string) => unknown>()

/** The map, which reads what it does not have itself elsewhere: a context, outputs of its stage and of those before it. */
export function withInherited<T extends object>(map: T, read: (name: string) => unknown): T {
  inherited.set(map, read)
  return map
}

/** A member of a map; undefined where it has none. */
export function memberOf(map: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(map, name) ? map[name] : inherited.get(map)?.(name)
}

export function decapital(name: string): string {
  return `${name[0]?.toLowerCase() ?? ''}${name.slice(1)}`
}

const ownKinds = [Real, Unevaluated, JavaObject, JavaClassReference]

export function isNull(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

const trueTexts = ['true', 'yes', 'on', '1']
const falseTexts = ['false', 'no', 'off', '0']

/** @throws {ExpressionError} when it is neither a boolean nor the text of one. */
export function toBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  const text = typeof value === 'string' && value.length <= 5 ? value.toLowerCase() : ''
  if (trueTexts.includes(text)) return true
  if (falseTexts.includes(text)) return false
  throw new ExpressionError(`${describe(value)} is neither true nor false.`)
}

/**
 * Counts looking at one value: its own size, not that of its members. Values share their parts, so that one may look far
 * larger than the memory that it takes: whatever goes through a value counts every member, each time.
 */
export function weigh(value: unknown, meter: Meter): void {
  meter.spend()
  if (typeof value === 'string') meter.spendOnText(value.length)
  else if (isRawNumber(value)) meter.spendOnText(JSON.stringify(value).length)
}

/** The text of a value, as joining with `+` writes it. */
export function toExpressionText(value: unknown, meter: Meter): string {
  weigh(value, meter)
  if (isNull(value)) return 'null'
  if (typeof value === 'string') return value
  if (value instanceof Unevaluated) return toExpressionText(value.value, meter)
  if (isList(value)) return `[${value.map((item) => toExpressionText(item, meter)).join(', ')}]`
  if (isMap(value)) {
    return `{${countedKeysOf(value, meter)
      .map((key) => `${key}=${toExpressionText(value[key], meter)}`)
      .join(', ')}}`
  }
  return plainText(value)
}

function plainText(value: unknown): string {
  if (value instanceof JavaObject) return value.toText()
  if (value instanceof JavaClassReference) return `class ${value.class.name}`
  const number = numberValueOf(value)
  if (number === undefined) return String(value)
  return number.kind === 'real' ? realText(number.value) : String(number.value)
}

function realText(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e7 ? value.toFixed(1) : String(value)
}

/** A value as JSON holds it. */
export function toJsonValue(value: unknown, meter: Meter): unknown {
  weigh(value, meter)
  if (value instanceof Unevaluated) return toJsonValue(value.value, meter)
  if (value instanceof Real) return Number.isFinite(value.value) ? value.value : String(value.value)
  if (value instanceof JavaObject) return value.class.toJson?.(value.value) ?? value.toText()
  if (value instanceof JavaClassReference) return plainText(value)
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (isList(value)) return value.map((item) => toJsonValue(item, meter))
  if (isMap(value))
    return Object.fromEntries(
      countedKeysOf(value, meter).map((key) => [key, toJsonValue(value[key], meter)]),
    )
  return value
}

/** What a value is, for messages. */
export function describe(value: unknown): string {
  if (isNull(value)) return 'null'
  if (typeof value === 'string')
    return value === '' ? 'an empty text' : `the text "${value.slice(0, 40)}"`
  if (isList(value)) return 'a list'
  if (isMap(value)) return 'an object'
  if (value instanceof JavaObject) return `the ${value.class.name} ${value.toText()}`.slice(0, 80)
  return value instanceof Unevaluated
    ? 'a value that is not evaluated'
    : plainText(value).slice(0, 40)
}

export function areEqual(one: unknown, other: unknown, meter: Meter): boolean {
  weigh(one, meter)
  weigh(other, meter)
  if (isNull(one) || isNull(other)) return isNull(one) && isNull(other)
  const left = numberValueOf(one)
  const right = numberValueOf(other)
  if (left !== undefined && right !== undefined) return compareNumbers(left, right) === 0
  if (isList(one) && isList(other)) {
    return (
      one.length === other.length && one.every((item, index) => areEqual(item, other[index], meter))
    )
  }
  if (isMap(one) && isMap(other)) {
    const [keys, otherKeys] = [countedKeysOf(one, meter), countedKeysOf(other, meter)]
    const isSame = (key: string) =>
      Object.hasOwn(other, key) && areEqual(one[key], other[key], meter)
    return keys.length === otherKeys.length && keys.every(isSame)
  }
  if (one instanceof JavaObject && other instanceof JavaObject)
    return one.class === other.class && orderOf(one, other) === 0
  return one === other
}

/** Objects of a class without an order are equal only to themselves. */
function orderOf(one: JavaObject, other: JavaObject): number | undefined {
  return one === other ? 0 : one.class.compare?.(one.value, other.value)
}

/** The keys of an object, each counted. */
export function countedKeysOf(map: object, meter: Meter): string[] {
  const keys = Object.keys(map)
  meter.spend(keys.length)
  return keys
}

function compareNumbers(left: NumberValue, right: NumberValue): number {
  // Comparing a bigint with a number is exact; what is no number is equal to none.
  if (left.value < right.value) return -1
  return left.value <= right.value ? 0 : 1
}

/** @throws {ExpressionError} for values that have no order among each other. */
export function compare(one: unknown, other: unknown, meter: Meter): number {
  weigh(one, meter)
  weigh(other, meter)
  if (isNull(one) || isNull(other)) return isNull(one) ? (isNull(other) ? 0 : -1) : 1
  const left = numberValueOf(one)
  const right = numberValueOf(other)
  if (left !== undefined && right !== undefined) return compareNumbers(left, right)
  if (typeof one === 'string' && typeof other === 'string')
    return one < other ? -1 : one > other ? 1 : 0
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other)
  if (one instanceof JavaObject && other instanceof JavaObject && one.class === other.class) {
    const order = orderOf(one, other)
    if (order !== undefined) return order
  }
  throw new ExpressionError(`${describe(one)} and ${describe(other)} cannot be ordered.`)
}

/** @throws {ExpressionError} */
export function textArgument(value: unknown): string {
  if (typeof value !== 'string')
    throw new ExpressionError(`A text was expected instead of ${describe(value)}.`)
  return value
}

/** @throws {ExpressionError} */
export function wholeArgument(value: unknown): number {
  const number = numberValueOf(value)
  if (number === undefined || number.kind === 'real') {
    throw new ExpressionError(`A whole number was expected instead of ${describe(value)}.`)
  }
  return Number(number.value)
}

/** @throws {ExpressionError} */
export function listArgument(value: unknown): unknown[] {
  if (!isList(value))
    throw new ExpressionError(`A list was expected instead of ${describe(value)}.`)
  return value
}
