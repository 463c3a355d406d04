/**
 * Comparison of an artifact with one that a pipeline expects.
 *
 * @see docs/contracts/events.md#expected-artifacts; docs/contracts/orchestration.md#expected-artifacts
 */
import { isObject, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { matchesIfValid } from '@fairlead/base/regex/bounded-regex.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'

/** What is compared; id, provenance and account are not. */
export const comparedFields = ['type', 'name', 'version', 'location', 'reference'] as const

/**
 * Each field that the expectation sets equals that of the artifact, or is a pattern for the whole of it. What Java would not
 * take for a pattern only equals.
 *
 * @throws {RegexError} when a pattern is not supported or takes too long
 */
export function matchesArtifact(expected: JsonObject, artifact: unknown, meter: Meter): boolean {
  meter.spend()
  const wanted = objectOf(expected['matchArtifact'])
  return isObject(artifact) && comparedFields.every((field) => matchesField(textOf(wanted[field]), artifact[field], meter))
}

function matchesField(pattern: string | undefined, value: unknown, meter: Meter): boolean {
  if (pattern === undefined) return true
  if (typeof value !== 'string') return false
  return value === pattern || matchesIfValid(pattern, value, meter)
}
