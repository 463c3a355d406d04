/** Binds the artifacts that a pipeline expects to those that its trigger received (orchestration contract, 4.10). */

import type { Meter } from '../meter.ts'
import type { JsonObject } from '../model.ts'
import { isJsonObject, isTrue } from '../model.ts'
import { createRegexMeter, matchesWhole } from '../regex/bounded-regex.ts'
import { RegexError } from '../regex/regex-syntax.ts'

export interface ArtifactSources {
  expected: readonly unknown[]
  /** Ids that the trigger insists on. */
  wantedIds: readonly unknown[]
  received: readonly unknown[]
  /** Artifacts of the run before. */
  prior: () => readonly unknown[]
}

export interface ResolvedArtifacts {
  artifacts: unknown[]
  resolved: JsonObject[]
}

/** What was expected and cannot be bound; the text names it. */
export class ArtifactError extends Error {
  override readonly name = 'InvalidRequestException'
}

const comparedFields = ['type', 'name', 'version', 'location', 'reference'] as const

/** @throws {ArtifactError} when an expected artifact has no match and no fallback, or several matches. */
export function resolveArtifacts(sources: ArtifactSources): ResolvedArtifacts {
  const expected = sources.expected.filter(
    (each): each is JsonObject => isJsonObject(each) && isResolvedNow(each, sources.wantedIds),
  )
  const meter = createRegexMeter()
  const resolved = expected.map((each) => ({ ...each, boundArtifact: bind(each, sources, meter) }))
  const artifacts = distinct([...sources.received, ...resolved.map((each) => each.boundArtifact)])
  return { artifacts, resolved }
}

function isResolvedNow(expected: JsonObject, wantedIds: readonly unknown[]): boolean {
  return wantedIds.includes(expected['id']) || isTrue(expected['usePriorArtifact']) || isTrue(expected['useDefaultArtifact'])
}

function bind(expected: JsonObject, sources: ArtifactSources, meter: Meter): unknown {
  const matches = distinct(sources.received.filter((artifact) => matchesArtifact(expected, artifact, meter)))
  if (matches.length > 1) throw new ArtifactError(`Expected artifact "${titleOf(expected)}" matches ${matches.length} artifacts.`)
  if (matches.length === 1) return matches[0]
  const prior = isTrue(expected['usePriorArtifact'])
    ? sources.prior().find((artifact) => matchesArtifact(expected, artifact, meter))
    : undefined
  if (prior !== undefined) return prior
  if (isTrue(expected['useDefaultArtifact']) && isJsonObject(expected['defaultArtifact'])) return expected['defaultArtifact']
  throw new ArtifactError(`Expected artifact "${titleOf(expected)}" matches none of the artifacts that were received.`)
}

/** Each field that the expectation sets equals, or matches as a regular expression, that of the artifact. */
function matchesArtifact(expected: JsonObject, artifact: unknown, meter: Meter): boolean {
  spend(meter)
  const wanted = isJsonObject(expected['matchArtifact']) ? expected['matchArtifact'] : {}
  return (
    isJsonObject(artifact) &&
    comparedFields.every((field) => {
      const pattern = wanted[field]
      if (typeof pattern !== 'string' || pattern === '') return true
      const value = artifact[field]
      return typeof value === 'string' && (value === pattern || matchesPattern(pattern, value, meter))
    })
  )
}

/** What is not a regular expression, such as `image:*`, only equals. */
function matchesPattern(pattern: string, value: string, meter: Meter): boolean {
  try {
    return matchesWhole(pattern, value, meter)
  } catch (error) {
    if (!(error instanceof RegexError)) throw error
    spend(meter)
    return false
  }
}

/** @throws {ArtifactError} when there are so many that comparing all of them takes too long */
function spend(meter: Meter): void {
  try {
    meter.spend()
  } catch {
    throw new ArtifactError(
      'Matching the artifacts takes too long: there are too many of them, or their patterns are too complex.',
    )
  }
}

function titleOf(expected: JsonObject): string {
  return String(expected['displayName'] ?? expected['id'] ?? '')
}

function distinct(artifacts: readonly unknown[]): unknown[] {
  return [...new Map(artifacts.map((artifact) => [JSON.stringify(artifact), artifact])).values()]
}
