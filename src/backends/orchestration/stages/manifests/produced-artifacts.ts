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
  const meter = createRegexMeter()
  const resolved = expected.map((each) => ({ ...each, boundArtifact: findMatch(each, produced, meter) }))
  const all = distinctArtifacts([...produced, ...resolved.map(({ boundArtifact }) => boundArtifact)])
  const found = { ...(all.length > produced.length && { artifacts: all }), resolvedExpectedArtifacts: resolved }
  return { status: 'SUCCEEDED', context: found, outputs: found }
}

/** @throws {StageError} when nothing matches and there is no default */
function findMatch(expected: JsonObject, produced: readonly unknown[], meter: Meter): unknown {
  const title = textOf(expected['displayName']) ?? textOf(expected['id']) ?? ''
  try {
    const match = produced.find((artifact) => matchesArtifact(expected, artifact, meter))
    if (match !== undefined) return match
  } catch (error) {
    if (!(error instanceof RegexError)) throw error
    throw new StageError([`The expected artifact "${title}" cannot be matched: ${error.message}`])
  }
  const { defaultArtifact } = expected
  if (isTrue(expected['useDefaultArtifact']) && isObject(defaultArtifact)) return defaultArtifact
  throw new StageError([
    `The stage produced no artifact that matches the expected artifact "${title}". Change its matchArtifact, or give it a default.`,
  ])
}
