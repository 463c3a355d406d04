/** Arithmetic of expressions: whole numbers wrap at 32 or 64 bits and divide without remainder. */
import type { Meter } from '@fairlead/base/regex/meter.ts'
import { ExpressionError } from './lexer.ts'
import type { BinaryOperator } from './syntax.ts'
import { describe, fromNumber, numberValueOf, toExpressionText, weigh } from './values.ts'

export type ArithmeticOperator = Extract<BinaryOperator, '+' | '-' | '*' | '/' | '%' | '^'>

/** Longest text that one operation may make. */
export const longestText = 1_000_000
const largestExponent = 1000n

/** @throws {ExpressionError} for operands that the operator does not take. */
export function calculate(
  operator: ArithmeticOperator,
  left: unknown,
  right: unknown,
  meter: Meter,
): unknown {
  if (operator === '+' && (typeof left === 'string' || typeof right === 'string')) {
    return checkedText(toExpressionText(left, meter) + toExpressionText(right, meter))
  }
  weigh(left, meter)
  weigh(right, meter)
  const one = numberValueOf(left)
  const other = numberValueOf(right)
  if (operator === '*' && typeof left === 'string' && other !== undefined)
    return repeat(left, Number(other.value))
  if (one === undefined || other === undefined) {
    throw new ExpressionError(
      `"${operator}" does not work on ${describe(left)} and ${describe(right)}.`,
    )
  }
  if (one.kind === 'real' || other.kind === 'real') {
    return fromNumber({
      kind: 'real',
      value: realOperators[operator](Number(one.value), Number(other.value)),
    })
  }
  const kind = one.kind === 'long' || other.kind === 'long' ? 'long' : 'int'
  return fromNumber({ kind, value: wholeOperators[operator](one.value, other.value) })
}

const realOperators: Readonly<Record<ArithmeticOperator, (one: number, other: number) => number>> =
  {
    '+': (one, other) => one + other,
    '-': (one, other) => one - other,
    '*': (one, other) => one * other,
    '/': (one, other) => one / other,
    '%': (one, other) => one % other,
    '^': (one, other) => one ** other,
  }

const wholeOperators: Readonly<Record<ArithmeticOperator, (one: bigint, other: bigint) => bigint>> =
  {
    '+': (one, other) => one + other,
    '-': (one, other) => one - other,
    '*': (one, other) => one * other,
    '/': (one, other) => one / checkDivisor(other),
    '%': (one, other) => one % checkDivisor(other),
    '^': power,
  }

function checkDivisor(value: bigint): bigint {
  if (value === 0n) throw new ExpressionError('Division by zero.')
  return value
}

/** Cut to size at each step: it will be in the end, and would have thousands of digits before. */
function power(base: bigint, exponent: bigint): bigint {
  if (exponent < 0n || exponent > largestExponent)
    throw new ExpressionError(`The exponent ${exponent} is out of range.`)
  let result = 1n
  let square = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = BigInt.asIntN(64, result * square)
    square = BigInt.asIntN(64, square * square)
  }
  return result
}

export function repeat(text: string, times: number): string {
  if (!Number.isInteger(times) || times < 0)
    throw new ExpressionError(`A text cannot be repeated ${times} times.`)
  checkLength(text.length * times)
  return text.repeat(times)
}

/** @throws {ExpressionError} when a text would become too long. */
export function checkLength(length: number): void {
  if (length > longestText)
    throw new ExpressionError(`The text would have more than ${longestText} characters.`)
}

/** @throws {ExpressionError} when the text is too long. */
export function checkedText(text: string): string {
  checkLength(text.length)
  return text
}

export function negate(value: unknown): unknown {
  const number = numberValueOf(value)
  if (number === undefined) throw new ExpressionError(`"-" does not work on ${describe(value)}.`)
  return fromNumber(
    number.kind === 'real'
      ? { kind: 'real', value: -number.value }
      : { ...number, value: -number.value },
  )
}
