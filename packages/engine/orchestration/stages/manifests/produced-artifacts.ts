/** `bindProducedArtifacts`: artifacts that a stage expects of itself, found among those that its tasks have produced. */
import { type JsonObject, listOf, objectsOf } from '@fairlead/base/json/values.ts'
import { bindExpected } from '../../artifact-binding.ts'
import { distinctArtifacts } from '../../artifacts-at-hand.ts'
import type { StageType, Step, TaskContext, TaskResult } from '../stage-type.ts'

export function expectsArtifacts(context: JsonObject): boolean {
  return objectsOf(context['expectedArtifacts']).length > 0
}

/** The type with a last step that binds what the stage expects, where it expects something. */
export function withBinding(type: StageType): StageType {
  const steps = [...type.steps, bindStep]
  return {
    ...type,
    steps,
    chooseSteps: ({ context }) => (expectsArtifacts(context) ? steps : type.steps),
  }
}

export const bindStep: Step = { name: 'bindProducedArtifacts', decide: bind }

function bind({ stage }: TaskContext): TaskResult {
  const expected = objectsOf(stage.context['expectedArtifacts'])
  if (expected.length === 0) return { status: 'SUCCEEDED' }
  const produced = listOf(stage.outputs['artifacts'] ?? stage.context['artifacts'])
  const resolved = bindExpected(expected, {
    among: produced,
    missing: 'The stage produced no artifact',
  })
  const all = distinctArtifacts([
    ...produced,
    ...resolved.map(({ boundArtifact }) => boundArtifact),
  ])
  const found = {
    ...(all.length > produced.length && { artifacts: all }),
    resolvedExpectedArtifacts: resolved,
  }
  return { status: 'SUCCEEDED', context: found, outputs: found }
}
