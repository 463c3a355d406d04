/**
 * Payload constraints: conditions of a trigger on the body of an event.
 *
 * @see docs/contracts/events.md#payload-constraints
 */
import { formatJson, isRawNumber } from '@fairlead/base/json/json.ts'
import { fieldOf, isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { valueAt } from '../pipelines/json-path.ts'
import type { Patterns } from './event-patterns.ts'

/** Characters of an object's text that cost as much as one step of a pattern. */
const charactersPerStep = 16

interface ConstraintOptions {
  /** Whether keys that are no field of the document are read as JSON paths. */
  readonly paths: boolean
  readonly patterns: Patterns
}

/**
 * Which of the constraints, an object of key to pattern, a document does not satisfy, as a sentence; undefined: it satisfies all.
 *
 * @throws {PortError} when this event takes too long to match
 */
export function describeUnsatisfied(
  constraints: unknown,
  document: JsonObject,
  options: ConstraintOptions,
): string | undefined {
  if (constraints === undefined || constraints === null) return undefined
  if (!isObject(constraints)) return 'The constraints are no object, so nothing satisfies them.'
  const found = Object.entries(constraints).find(
    ([key, pattern]) => !isSatisfied(key, pattern, document, options),
  )
  return found && `The constraint "${found[0]}" is not satisfied.`
}

function isSatisfied(
  key: string,
  pattern: unknown,
  document: JsonObject,
  { paths, patterns }: ConstraintOptions,
): boolean {
  if (pattern !== null && !isScalar(pattern)) return false
  const field = fieldOf(document, key)
  if (field !== undefined && field !== null)
    return pattern === null || patterns.occurs(String(pattern), toText(field, patterns))
  if (!paths || pattern === null) return false
  const value = valueAt(document, key, patterns.spend)
  return (Array.isArray(value) ? value : [value])
    .filter(isScalar)
    .some((candidate) => patterns.occurs(String(pattern), toText(candidate, patterns)))
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value) || isRawNumber(value)
}

function toText(value: unknown, { spend }: Patterns): string {
  if (typeof value !== 'object') return String(value)
  const text = formatJson(value)
  spend(text.length / charactersPerStep)
  return text
}
