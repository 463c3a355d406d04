/** Binding of expected artifacts to those at hand. @see docs/contracts/orchestration.md#expected-artifacts */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { createRegexMeter } from '@fairlead/base/regex/bounded-regex.ts'
import { RegexError } from '@fairlead/base/regex/regex-syntax.ts'
import { matchesArtifact, toExpected } from '../pipelines/artifact-match.ts'
import { distinctArtifacts } from './artifacts-at-hand.ts'
import { StageError } from './machine/failure.ts'

export interface Candidates {
  /** The first that matches is taken. */
  readonly among: readonly JsonObject[]
  /** Several that match are an error. */
  readonly isUnique?: true
  /** Artifacts of the run before, for those that allow it. */
  readonly prior?: () => readonly JsonObject[]
  /** How the message begins when nothing matches: `The stage produced no artifact`. */
  readonly missing: string
}

/**
 * Expected artifacts, each with the one that it is bound to.
 *
 * @throws {StageError} when nothing matches and there is no default
 */
export function bindExpected(
  expected: readonly JsonObject[],
  candidates: Candidates,
): (JsonObject & { readonly boundArtifact: JsonObject })[] {
  const meter = createRegexMeter()
  return expected.map((whole) => {
    const { title, useDefaultArtifact, usePriorArtifact, defaultArtifact, ...pattern } =
      toExpected(whole)
    const isMatch = (artifact: unknown) => matchesArtifact(pattern, artifact, meter)
    try {
      const { length: matching } = candidates.isUnique
        ? distinctArtifacts(candidates.among.filter(isMatch))
        : []
      if (matching > 1)
        throw new StageError([
          `The expected artifact "${title}" matches ${matching} artifacts. Narrow its matchArtifact.`,
        ])
      const found =
        candidates.among.find(isMatch) ??
        (usePriorArtifact ? candidates.prior?.().find(isMatch) : undefined)
      const boundArtifact = found ?? (useDefaultArtifact ? defaultArtifact : undefined)
      if (boundArtifact !== undefined) return { ...whole, boundArtifact }
    } catch (error) {
      if (!(error instanceof RegexError)) throw error
      throw new StageError([`The expected artifact "${title}" cannot be matched: ${error.message}`])
    }
    throw new StageError([
      `${candidates.missing} that matches the expected artifact "${title}". Change its matchArtifact, or give it a default.`,
    ])
  })
}
