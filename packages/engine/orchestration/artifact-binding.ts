/** Binding of expected artifacts to those at hand. @see docs/contracts/orchestration.md#expected-artifacts */
import { isObject, isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { createRegexMeter } from '@fairlead/base/regex/bounded-regex.ts'
import { RegexError } from '@fairlead/base/regex/regex-syntax.ts'
import { matchesArtifact } from '../pipelines/artifact-match.ts'
import { distinctArtifacts } from './artifacts-at-hand.ts'
import { StageError } from './machine/failure.ts'

export interface Candidates {
  /** The first that matches is taken. */
  readonly among: readonly unknown[]
  /** Several that match are an error. */
  readonly isUnique?: true
  /** Artifacts of the run before, for those that allow it. */
  readonly prior?: () => readonly unknown[]
  /** How the message begins when nothing matches: `The stage produced no artifact`. */
  readonly missing: string
}

/**
 * Expected artifacts, each with the one that it is bound to.
 *
 * @throws {StageError} when nothing matches and there is no default
 */
export function bindExpected(expected: readonly JsonObject[], candidates: Candidates): JsonObject[] {
  const meter = createRegexMeter()
  return expected.map((each) => {
    try {
      return { ...each, boundArtifact: findBound(each, candidates, (artifact) => matchesArtifact(each, artifact, meter)) }
    } catch (error) {
      if (!(error instanceof RegexError)) throw error
      throw new StageError([`The expected artifact "${titleOf(each)}" cannot be matched: ${error.message}`])
    }
  })
}

function findBound(
  expected: JsonObject,
  { among, isUnique, prior, missing }: Candidates,
  isMatch: (artifact: unknown) => boolean,
): unknown {
  const { length: matching } = isUnique ? distinctArtifacts(among.filter(isMatch)) : []
  if (matching > 1)
    throw new StageError([
      `The expected artifact "${titleOf(expected)}" matches ${matching} artifacts. Narrow its matchArtifact.`,
    ])
  const found = among.find(isMatch) ?? (isTrue(expected['usePriorArtifact']) ? prior?.().find(isMatch) : undefined)
  if (found !== undefined) return found
  const { defaultArtifact } = expected
  if (isTrue(expected['useDefaultArtifact']) && isObject(defaultArtifact)) return defaultArtifact
  throw new StageError([
    `${missing} that matches the expected artifact "${titleOf(expected)}". Change its matchArtifact, or give it a default.`,
  ])
}

function titleOf(expected: JsonObject): string {
  return textOf(expected['displayName']) ?? textOf(expected['id']) ?? ''
}
