/** Checks of what functions and methods of expressions are called with. */
import { ExpressionError } from './lexer.ts'
import { describe, isList, numberValueOf } from './values.ts'

/** @throws {ExpressionError} */
export function textArgument(value: unknown): string {
  if (typeof value !== 'string') throw new ExpressionError(`A text was expected instead of ${describe(value)}.`)
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
  if (!isList(value)) throw new ExpressionError(`A list was expected instead of ${describe(value)}.`)
  return value
}
