/** `bindProducedArtifacts`: artifacts that a stage expects of itself, found among those that its tasks have produced. */
import { isObject, isTrue, type JsonObject, listOf, objectsOf, textOf } from '../../../../json/values.ts'
import { matchesArtifact } from '../../../pipelines/artifact-match.ts'
import { createRegexMeter } from '../../../regex/bounded-regex.ts'
import type { Meter } from '../../../regex/meter.ts'
import { RegexError } from '../../../regex/regex-syntax.ts'
import { distinctArtifacts } from '../../artifacts-at-hand.ts'
import { StageError } from '../../machine/failure.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'

export function expectsArtifacts(context: JsonObject): boolean {
  return objectsOf(context['expectedArtifacts']).length > 0
}

/** The first of several matches is taken. */
export const bindStep: Step = { name: 'bindProducedArtifacts', decide: bind }

function bind({ stage }: TaskContext): TaskResult {
  const expected = objectsOf(stage.context['expectedArtifacts'])
  if (expected.length === 0) return { status: 'SUCCEEDED' }
  const produced = listOf(stage.outputs['artifacts'] ?? stage.context['artifacts'])
  const resolved = bindExpected(expected, { among: produced, missing: 'The stage produced no artifact' })
  const all = distinctArtifacts([...produced, ...resolved.map(({ boundArtifact }) => boundArtifact)])
  const found = { ...(all.length > produced.length && { artifacts: all }), resolvedExpectedArtifacts: resolved }
  return { status: 'SUCCEEDED', context: found, outputs: found }
}

export interface Candidates {
  /** The first that matches is taken. */
  readonly among: readonly unknown[]
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
  return expected.map((each) => ({ ...each, boundArtifact: findBound(each, candidates, meter) }))
}

function findBound(expected: JsonObject, { among, prior, missing }: Candidates, meter: Meter): unknown {
  const match = findMatch(expected, among, meter)
  if (match !== undefined) return match
  const earlier = isTrue(expected['usePriorArtifact']) && prior !== undefined ? findMatch(expected, prior(), meter) : undefined
  if (earlier !== undefined) return earlier
  const { defaultArtifact } = expected
  if (isTrue(expected['useDefaultArtifact']) && isObject(defaultArtifact)) return defaultArtifact
  throw new StageError([
    `${missing} that matches the expected artifact "${titleOf(expected)}". Change its matchArtifact, or give it a default.`,
  ])
}

/** @throws {StageError} */
function findMatch(expected: JsonObject, among: readonly unknown[], meter: Meter): unknown {
  try {
    return among.find((artifact) => matchesArtifact(expected, artifact, meter))
  } catch (error) {
    if (!(error instanceof RegexError)) throw error
    throw new StageError([`The expected artifact "${titleOf(expected)}" cannot be matched: ${error.message}`])
  }
}

function titleOf(expected: JsonObject): string {
  return textOf(expected['displayName']) ?? textOf(expected['id']) ?? ''
}
