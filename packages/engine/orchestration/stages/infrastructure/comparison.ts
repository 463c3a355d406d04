/** Comparisons of a number with a bound, as stages write them. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'

const comparisons: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
  '==': (value, bound) => value === bound,
  '>=': (value, bound) => value >= bound,
  '>': (value, bound) => value > bound,
}

interface Comparison {
  readonly bound: number
  readonly comparison: string
  readonly holds: (value: number, bound: number) => boolean
}

/** @param options Key of the bound, and the comparison where none is given @throws {StageError} that says what to set */
export function comparisonOf(
  settings: JsonObject,
  { bound: key, byDefault }: { readonly bound: string; readonly byDefault: string },
): Comparison {
  const read = shape({ bound: [numberOf, key], comparison: or(textOf, byDefault) })
  const { bound, comparison } = read(settings)
  const holds = Object.hasOwn(comparisons, comparison) ? comparisons[comparison] : undefined
  if (bound === undefined) throw new StageError([`There is nothing to compare with: set "${key}".`])
  if (holds === undefined)
    throw new StageError([
      `The comparison "${comparison}" is unknown: use ${Object.keys(comparisons).join(', ')}.`,
    ])
  return { bound, comparison, holds }
}
