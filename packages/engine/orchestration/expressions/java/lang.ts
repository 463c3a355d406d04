/** Numbers, texts, identifiers and collections of Java that expressions may use. */
import { randomInt, randomUUID } from 'node:crypto'
import { checkLength } from '../arithmetic.ts'
import { ExpressionError } from '../lexer.ts'
import {
  compare,
  describe,
  listArgument,
  numberValueOf,
  Real,
  textArgument,
  toExpressionText,
  wholeArgument,
} from '../values.ts'
import { type JavaClass, type JavaFunction, JavaObject } from './java-class.ts'

type IntegerRange = readonly [least: bigint, most: bigint]
const byteBounds: IntegerRange = [-(2n ** 7n), 2n ** 7n - 1n]
const intBounds: IntegerRange = [-(2n ** 31n), 2n ** 31n - 1n]
const longBounds: IntegerRange = [-(2n ** 63n), 2n ** 63n - 1n]

/** Reading a whole number takes the square of its digits. */
const longestNumber = 70

const valueText: JavaFunction = ([value], { meter }) => toExpressionText(value, meter)

function real(value: unknown): number {
  const number = numberValueOf(value)
  if (number === undefined)
    throw new ExpressionError(`A number was expected instead of ${describe(value)}.`)
  return Number(number.value)
}

function wholeClass(name: string, bounds: IntegerRange): JavaClass {
  const wrap = (value: bigint) => (bounds === longBounds ? value : Number(value))
  const parse: JavaFunction = ([value, radix]) => {
    const number =
      typeof value === 'string'
        ? parseWhole(value, radix === undefined ? 10 : wholeArgument(radix))
        : numberValueOf(value)?.value
    if (typeof number !== 'bigint' || number < bounds[0] || number > bounds[1])
      throw new ExpressionError(`${describe(value)} is no ${name}.`)
    return wrap(number)
  }
  const inBase =
    (base: number): JavaFunction =>
    ([value]) =>
      BigInt.asUintN(
        bounds === longBounds ? 64 : 32,
        BigInt(parse([value], undefined as never) as number),
      ).toString(base)
  return {
    name,
    create: parse,
    constants: { MIN_VALUE: wrap(bounds[0]), MAX_VALUE: wrap(bounds[1]) },
    statics: {
      valueOf: parse,
      [`parse${name === 'java.lang.Integer' ? 'Int' : name.slice('java.lang.'.length)}`]: parse,
      toString: valueText,
      toHexString: inBase(16),
      toBinaryString: inBase(2),
      compare: ([one, other], { meter }) => compare(one, other, meter),
      max: ([one, other], { meter }) => (compare(one, other, meter) >= 0 ? one : other),
      min: ([one, other], { meter }) => (compare(one, other, meter) <= 0 ? one : other),
      sum: ([one, other]) =>
        BigInt.asIntN(64, BigInt(wholeArgument(one)) + BigInt(wholeArgument(other))),
    },
  }
}

function parseWhole(text: string, radix: number): bigint | undefined {
  if (radix < 2 || radix > 36)
    throw new ExpressionError('The radix of a number is between 2 and 36.')
  if (text.length > longestNumber || !/^[+-]?[0-9A-Za-z]+$/.test(text)) return undefined
  let value = 0n
  for (const digit of text.replace(/^[+-]/, '')) {
    const number = Number.parseInt(digit, 36)
    if (number >= radix) return undefined
    value = value * BigInt(radix) + BigInt(number)
  }
  return text.startsWith('-') ? -value : value
}

const toDouble: JavaFunction = ([value]) => {
  const number =
    typeof value === 'string' && value.length <= longestNumber && value.trim() !== ''
      ? Number(value)
      : real(value)
  if (Number.isNaN(number)) throw new ExpressionError(`${describe(value)} is no number.`)
  return new Real(number)
}
const doubleClass: JavaClass = {
  name: 'java.lang.Double',
  create: toDouble,
  constants: { MAX_VALUE: new Real(Number.MAX_VALUE) },
  statics: {
    valueOf: toDouble,
    parseDouble: toDouble,
    toString: valueText,
    compare: ([one, other], { meter }) => compare(one, other, meter),
    isNaN: ([value]) => Number.isNaN(real(value)),
  },
}

const isTrueText: JavaFunction = ([value]) =>
  typeof value === 'boolean'
    ? value
    : typeof value === 'string' && value.length === 4 && value.toLowerCase() === 'true'
const booleanClass: JavaClass = {
  name: 'java.lang.Boolean',
  create: isTrueText,
  constants: { TRUE: true, FALSE: false },
  statics: { valueOf: isTrueText, parseBoolean: isTrueText, toString: valueText },
}

const stringClass: JavaClass = {
  name: 'java.lang.String',
  create: ([value]) => (value === undefined ? '' : textArgument(value)),
  statics: {
    valueOf: valueText,
    join: ([separator, first, ...others], { meter }) => {
      const items = Array.isArray(first) && others.length === 0 ? first : [first, ...others]
      const between = textArgument(separator)
      let length = 0
      const texts = items.map((item) => {
        const text = toExpressionText(item, meter)
        length += text.length + between.length
        checkLength(length)
        return text
      })
      meter.spendOnText(length)
      return texts.join(between)
    },
    format: ([format, ...values], { meter }) =>
      formatText(textArgument(format), values, (value) => toExpressionText(value, meter)),
  },
}

const widest = 1000

/** `%s`, `%d`, `%x`, `%f`, `%b`, `%n` and `%%`, with flags `-`, `0`, `,` and `+`, width and precision. */
export function formatText(
  format: string,
  values: readonly unknown[],
  show: (value: unknown) => string,
): string {
  let next = 0
  let length = 0
  const text = format.replace(
    /%(?:(\d{1,4})\$)?([-0,+]{0,5})(\d{0,4})(?:\.(\d{1,4}))?([a-zA-Z%])/g,
    (
      _all,
      position: string | undefined,
      flags: string,
      width: string,
      precision: string | undefined,
      kind: string,
    ) => {
      if (kind === '%') return '%'
      if (kind === 'n') return '\n'
      const at = position === undefined ? next++ : Number(position) - 1
      if (at >= values.length)
        throw new ExpressionError(`The format has no value for its part ${at + 1}.`)
      if (Number(width) > widest || Number(precision ?? 0) > 100)
        throw new ExpressionError('A width of the format is too large.')
      const plain = formatPart(values[at], kind, {
        flags,
        precision: precision === undefined ? undefined : Number(precision),
        show,
      })
      const isZeroPadded = flags.includes('0') && 'dxf'.includes(kind)
      const sign = isZeroPadded ? (/^[-+]/.exec(plain)?.[0] ?? '') : ''
      const padded = flags.includes('-')
        ? plain.padEnd(Number(width))
        : sign +
          plain.slice(sign.length).padStart(Number(width) - sign.length, isZeroPadded ? '0' : ' ')
      length += padded.length
      checkLength(length)
      return padded
    },
  )
  checkLength(text.length)
  return text
}

/** `-1234.5` → `-1,234.5` */
function groupDigits(text: string): string {
  const start = text.startsWith('-') ? 1 : 0
  const end = text.includes('.') ? text.indexOf('.') : text.length
  const whole = text.slice(start, end)
  return /^\d+$/.test(whole)
    ? text.slice(0, start) + BigInt(whole).toLocaleString('en-US') + text.slice(end)
    : text
}

interface PartOptions {
  readonly flags: string
  readonly precision: number | undefined
  show(value: unknown): string
}

function formatPart(value: unknown, kind: string, { flags, precision, show }: PartOptions): string {
  const signed = (text: string) =>
    flags.includes('+') && !text.startsWith('-') ? `+${text}` : text
  const grouped = (text: string) => (flags.includes(',') ? groupDigits(text) : text)
  switch (kind) {
    case 's':
      return show(value).slice(0, precision)
    case 'S':
      return show(value).slice(0, precision).toUpperCase()
    case 'b':
      return String((value ?? false) !== false)
    case 'd':
      return signed(grouped(String(wholeArgument(value))))
    case 'x':
    case 'X': {
      const hex = BigInt.asUintN(
        wholeArgument(value) < -(2 ** 31) ? 64 : 32,
        BigInt(wholeArgument(value)),
      ).toString(16)
      return kind === 'X' ? hex.toUpperCase() : hex
    }
    case 'f':
      return signed(grouped(real(value).toFixed(precision ?? 6)))
    default:
      throw new ExpressionError(`The format "%${kind}" is not supported.`)
  }
}

const realFunctions = [
  'sqrt',
  'cbrt',
  'floor',
  'ceil',
  'exp',
  'log',
  'log10',
  'sin',
  'cos',
  'tan',
  'signum',
] as const
const mathClass: JavaClass = {
  name: 'java.lang.Math',
  constants: { PI: new Real(Math.PI), E: new Real(Math.E) },
  statics: {
    ...Object.fromEntries(
      realFunctions.map((name) => [
        name,
        ([value]: readonly unknown[]) =>
          new Real((name === 'signum' ? Math.sign : Math[name])(real(value))),
      ]),
    ),
    abs: ([value], { meter }) => {
      if (numberValueOf(value)?.kind === 'real') return new Real(Math.abs(real(value)))
      return compare(value, 0, meter) < 0 ? -wholeArgument(value) : value
    },
    max: ([one, other], { meter }) => (compare(real(one), real(other), meter) >= 0 ? one : other),
    min: ([one, other], { meter }) => (compare(real(one), real(other), meter) <= 0 ? one : other),
    round: ([value]) => BigInt.asIntN(64, BigInt(Math.floor(finite(real(value)) + 0.5))),
    pow: ([base, exponent]) => new Real(real(base) ** real(exponent)),
    floorDiv: ([one, other]) => Math.floor(wholeArgument(one) / divisor(other)),
    floorMod: ([one, other]) =>
      ((wholeArgument(one) % divisor(other)) + divisor(other)) % divisor(other),
    random: () => new Real(Math.random()),
  },
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ExpressionError(`${value} cannot be rounded.`)
  return value
}

function divisor(value: unknown): number {
  const number = wholeArgument(value)
  if (number === 0) throw new ExpressionError('Division by zero.')
  return number
}

const uuidPattern = /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/
const uuidClass: JavaClass<string> = {
  name: 'java.util.UUID',
  statics: {
    randomUUID: () => new JavaObject(uuidClass, randomUUID()),
    fromString: ([text]) => {
      if (!uuidPattern.test(textArgument(text)))
        throw new ExpressionError(`${describe(text)} is no UUID.`)
      return new JavaObject(uuidClass, textArgument(text).toLowerCase())
    },
  },
  toText: (uuid) => uuid,
  compare: (one, other) => (one < other ? -1 : one > other ? 1 : 0),
}

const largestRandom = 2 ** 31
const randomClass: JavaClass<undefined> = {
  name: 'java.util.Random',
  create: () => new JavaObject(randomClass, undefined),
  methods: {
    nextInt: (_random, [bound]) =>
      bound === undefined ? randomInt(-largestRandom, largestRandom) : randomInt(bounded(bound)),
    nextLong: () =>
      BigInt(randomInt(-largestRandom, largestRandom)) * 2n ** 32n + BigInt(randomInt(2 ** 32)),
    nextDouble: () => new Real(Math.random()),
    nextFloat: () => new Real(Math.fround(Math.random())),
    nextBoolean: () => randomInt(2) === 1,
  },
}

function bounded(value: unknown): number {
  const bound = wholeArgument(value)
  if (bound < 1 || bound > largestRandom)
    throw new ExpressionError('The bound of a random number must be a positive integer.')
  return bound
}

const encoder: JavaClass = {
  name: 'java.net.URLEncoder',
  statics: {
    encode: ([text]) =>
      new URLSearchParams([['', textArgument(text).toWellFormed()]]).toString().slice(1),
  },
}
/** Nothing changes a list afterwards: expressions share the values of the execution. */
const listClass: JavaClass = {
  name: 'java.util.ArrayList',
  create: ([items], { meter }) => {
    // The number of a first argument is the capacity.
    const list =
      items === undefined || numberValueOf(items) !== undefined ? [] : listArgument(items)
    meter.spend(list.length)
    return [...list]
  },
}

export const languageClasses = [
  ...[
    stringClass,
    booleanClass,
    mathClass,
    wholeClass('java.lang.Integer', intBounds),
    wholeClass('java.lang.Long', longBounds),
  ],
  ...[
    wholeClass('java.lang.Byte', byteBounds),
    doubleClass,
    uuidClass,
    randomClass,
    encoder,
    listClass,
  ],
] as unknown as readonly JavaClass[]
