/**
 * Artifacts that an execution, or one of its stages, has at hand.
 *
 * @see docs/contracts/orchestration.md#expected-artifacts
 */
import { isObject, type JsonObject, listOf, objectsOf } from '@fairlead/base/json/values.ts'
import { graphOf } from './machine/graph.ts'
import type { Execution, Stage, StagePlace } from './model.ts'
import { executionSecretsOf, maskCopies } from './secrets.ts'

/** What all stages have produced, the last one first, and what the trigger received; each once. */
export function artifactsOfExecution(execution: Execution): unknown[] {
  return atHand(execution, [...execution.stages].reverse())
}

/** What the stage and those before it have produced, the nearest first, and what the trigger received; each once. */
export function artifactsSeenBy({ execution, stage }: StagePlace): unknown[] {
  return atHand(execution, graphOf(execution).ancestorsOf(stage))
}

/** Artifacts by the id under which they were expected: by the stage, by those before it, or by the trigger; the nearest wins. */
export function expectedArtifactsById({ execution, stage }: StagePlace): ReadonlyMap<string, JsonObject> {
  const holders = [
    ...graphOf(execution)
      .ancestorsOf(stage)
      .map(({ outputs }) => outputs),
    execution.trigger,
  ]
  const found = new Map<string, JsonObject>()
  const note = (id: unknown, artifact: unknown) => {
    if (isObject(artifact) && !found.has(String(id))) found.set(String(id), artifact)
  }
  for (const holder of holders) {
    for (const { id, boundArtifact } of objectsOf(holder['resolvedExpectedArtifacts'])) note(id, boundArtifact)
  }
  for (const artifact of objectsOf(execution.trigger['artifacts']))
    if (artifact['id'] !== undefined) note(artifact['id'], artifact)
  return found
}

/** Other executions receive them, whose views may not know the secrets of this one. */
function atHand(execution: Execution, producers: readonly Stage[]): unknown[] {
  const produced = producers.flatMap(({ outputs }) => listOf(outputs['artifacts']))
  return distinctArtifacts([...maskCopies(produced, executionSecretsOf(execution)), ...execution.trigger.artifacts])
}

export function distinctArtifacts(artifacts: readonly unknown[]): unknown[] {
  return [...new Map(artifacts.map((artifact) => [JSON.stringify(artifact), artifact])).values()]
}
