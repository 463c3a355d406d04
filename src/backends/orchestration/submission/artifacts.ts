/**
 * Binding of expected artifacts to those that the trigger received.
 *
 * @see docs/contracts/orchestration.md#expected-artifacts
 */
import { isObject, isTrue, type JsonObject } from '../../../json/values.ts'
import { matchesArtifact } from '../../pipelines/artifact-match.ts'
import { createRegexMeter } from '../../regex/bounded-regex.ts'
import type { Meter } from '../../regex/meter.ts'
import { RegexError } from '../../regex/regex-syntax.ts'
import { distinctArtifacts } from '../artifacts-at-hand.ts'

interface ArtifactSources {
  expected: readonly unknown[]
  /** Ids that the trigger insists on. */
  wantedIds: readonly unknown[]
  received: readonly unknown[]
  /** Artifacts of the run before. */
  prior: () => readonly unknown[]
}

interface ResolvedArtifacts {
  artifacts: unknown[]
  resolved: JsonObject[]
}

/** What was expected and cannot be bound; the text names it. */
export class ArtifactError extends Error {
  override readonly name = 'InvalidRequestException'
}

/** @throws {ArtifactError} when an expected artifact has no match and no fallback, or several matches. */
export function resolveArtifacts(sources: ArtifactSources): ResolvedArtifacts {
  const expected = sources.expected.filter((each): each is JsonObject => isObject(each) && isResolvedNow(each, sources.wantedIds))
  const meter = createRegexMeter()
  const resolved = expected.map((each) => ({ ...each, boundArtifact: bind(each, sources, meter) }))
  const artifacts = distinctArtifacts([...sources.received, ...resolved.map((each) => each.boundArtifact)])
  return { artifacts, resolved }
}

function isResolvedNow(expected: JsonObject, wantedIds: readonly unknown[]): boolean {
  return wantedIds.includes(expected['id']) || isTrue(expected['usePriorArtifact']) || isTrue(expected['useDefaultArtifact'])
}

function bind(expected: JsonObject, sources: ArtifactSources, meter: Meter): unknown {
  const isMatch = (artifact: unknown) => matchesOrFails(expected, artifact, meter)
  const matches = distinctArtifacts(sources.received.filter(isMatch))
  if (matches.length > 1) throw new ArtifactError(`Expected artifact "${titleOf(expected)}" matches ${matches.length} artifacts.`)
  if (matches.length === 1) return matches[0]
  const prior = isTrue(expected['usePriorArtifact']) ? sources.prior().find(isMatch) : undefined
  if (prior !== undefined) return prior
  if (isTrue(expected['useDefaultArtifact']) && isObject(expected['defaultArtifact'])) return expected['defaultArtifact']
  throw new ArtifactError(`Expected artifact "${titleOf(expected)}" matches none of the artifacts that were received.`)
}

/** @throws {ArtifactError} when a pattern is not supported, or comparing all artifacts takes too long */
function matchesOrFails(expected: JsonObject, artifact: unknown, meter: Meter): boolean {
  try {
    return matchesArtifact(expected, artifact, meter)
  } catch (error) {
    if (error instanceof RegexError)
      throw new ArtifactError(`Expected artifact "${titleOf(expected)}" cannot be matched: ${error.message}`)
    throw error
  }
}

function titleOf(expected: JsonObject): string {
  return String(expected['displayName'] ?? expected['id'] ?? '')
}
