/** `bindProducedArtifacts`: artifacts that a stage expects of itself, found among those that its tasks have produced. */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { bindExpected } from '../../artifact-binding.ts'
import { distinctArtifacts } from '../../artifacts-at-hand.ts'
import type { StageType, Step, TaskContext, TaskResult } from '../stage-type.ts'

const toArtifacts = shape({ artifacts: objectsOf, expectedArtifacts: objectsOf })

export function expectsArtifacts(context: JsonObject): boolean {
  return toArtifacts(context).expectedArtifacts.length > 0
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
  const { expectedArtifacts: expected, artifacts: produced } = toArtifacts({
    ...stage.context,
    ...stage.outputs,
  })
  if (expected.length === 0) return { status: 'SUCCEEDED' }
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
