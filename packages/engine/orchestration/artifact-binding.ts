/** Binding of expected artifacts to those at hand. @see docs/contracts/orchestration.md#expected-artifacts */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { createRegexMeter } from '@fairlead/base/regex/bounded-regex.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import { RegexError } from '@fairlead/base/regex/regex-syntax.ts'
import { matchesArtifact, toExpected } from '../pipelines/artifact-match.ts'
import { distinctArtifacts } from './artifacts-at-hand.ts'
import { StageError } from './machine/failure.ts'

export interface Candidates {
  /** The first that matches is taken. */
  readonly among: readonly JsonObject[]
  /** Several that match are an error. */
  readonly isUnique?: true
  /** Left out when nothing matches, or more than one. */
  readonly isOptional?: (expected: JsonObject) => boolean
  /** Artifacts of the run before, for those that allow it. */
  readonly prior?: () => readonly JsonObject[]
  /** How the message begins when nothing matches: `The stage produced no artifact`. */
  readonly missing: string
}

/**
 * Expected artifacts, each with the one that it is bound to.
 *
 * @throws {StageError} when nothing matches a required one and it has no default
 */
export function bindExpected(
  expected: readonly JsonObject[],
  candidates: Candidates,
): (JsonObject & { readonly boundArtifact: JsonObject })[] {
  const meter = createRegexMeter()
  return expected.flatMap((whole) => {
    try {
      return [{ ...whole, boundArtifact: bind(whole, candidates, meter) }]
    } catch (error) {
      if (error instanceof StageError && candidates.isOptional?.(whole)) return []
      throw error
    }
  })
}

/** @throws {StageError} */
function bind(
  whole: JsonObject,
  { among, isUnique, prior, missing }: Candidates,
  meter: Meter,
): JsonObject {
  const { title, useDefaultArtifact, usePriorArtifact, defaultArtifact, ...pattern } =
    toExpected(whole)
  const isMatch = (artifact: unknown) => matchesArtifact(pattern, artifact, meter)
  try {
    const { length: matching } = isUnique ? distinctArtifacts(among.filter(isMatch)) : []
    if (matching > 1)
      throw new StageError([
        `The expected artifact "${title}" matches ${matching} artifacts. Narrow its matchArtifact.`,
      ])
    const found = among.find(isMatch) ?? (usePriorArtifact ? prior?.().find(isMatch) : undefined)
    const boundArtifact = found ?? (useDefaultArtifact ? defaultArtifact : undefined)
    if (boundArtifact !== undefined) return boundArtifact
  } catch (error) {
    if (!(error instanceof RegexError)) throw error
    throw new StageError([`The expected artifact "${title}" cannot be matched: ${error.message}`])
  }
  throw new StageError([
    `${missing} that matches the expected artifact "${title}". Change its matchArtifact, or give it a default.`,
  ])
}
