/**
 * Comparison of an artifact with one that a pipeline expects.
 *
 * @see docs/contracts/events.md#expected-artifacts; docs/contracts/orchestration.md#expected-artifacts
 */
import { maybeObject, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isObject, isTrue, textOf } from '@fairlead/base/json/values.ts'
import { matchesIfValid } from '@fairlead/base/regex/bounded-regex.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'

/** What is compared; id, provenance and account are not. */
export const comparedFields = ['type', 'name', 'version', 'location', 'reference'] as const

const toPattern = shape({
  type: textOf,
  name: textOf,
  version: textOf,
  location: textOf,
  reference: textOf,
})

/** An artifact that a trigger or a stage expects. */
export const toExpected = shape({
  title: [or(textOf, ''), 'displayName', 'id'],
  matchArtifact: toPattern,
  usePriorArtifact: isTrue,
  useDefaultArtifact: isTrue,
  defaultArtifact: maybeObject,
})

/**
 * Each field that the expectation sets equals that of the artifact, or is a pattern for the whole of it. What Java would not
 * take for a pattern only equals.
 *
 * @throws {RegexError} when a pattern is not supported or takes too long
 */
export function matchesArtifact(
  { matchArtifact }: Pick<ShapeOf<typeof toExpected>, 'matchArtifact'>,
  artifact: unknown,
  meter: Meter,
): boolean {
  meter.spend()
  return (
    isObject(artifact) &&
    comparedFields.every((field) => matchesField(matchArtifact[field], artifact[field], meter))
  )
}

function matchesField(pattern: string | undefined, value: unknown, meter: Meter): boolean {
  if (pattern === undefined) return true
  if (typeof value !== 'string') return false
  return value === pattern || matchesIfValid(pattern, value, meter)
}
