/**
 * Artifacts that an execution, or one of its stages, has at hand.
 *
 * @see docs/contracts/orchestration.md#expected-artifacts
 */
import { list, maybeObject, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { graphOf } from './machine/graph.ts'
import type { Execution, Stage, StagePlace } from './model.ts'
import { executionSecretsOf, maskCopies } from './secrets.ts'

/** What all stages have produced, the last one first, and what the trigger received; each once. */
export function artifactsOfExecution(execution: Execution): JsonObject[] {
  return atHand(execution, [...execution.stages].reverse())
}

/** What the stage and those before it have produced, the nearest first, and what the trigger received; each once. */
export function artifactsSeenBy({ execution, stage }: StagePlace): JsonObject[] {
  return atHand(execution, graphOf(execution).ancestorsOf(stage))
}

const toResolved = shape({
  resolvedExpectedArtifacts: list(shape({ id: String, boundArtifact: maybeObject })),
  artifacts: objectsOf,
})

/** Artifacts by the id under which they were expected: by the stage, by those before it, or by the trigger; the nearest wins. */
export function expectedArtifactsById({
  execution,
  stage,
}: StagePlace): ReadonlyMap<string, JsonObject> {
  const holders = [
    ...graphOf(execution)
      .ancestorsOf(stage)
      .map(({ outputs }) => outputs),
    execution.trigger,
  ].map(toResolved)
  const bound = holders.flatMap(({ resolvedExpectedArtifacts }) => resolvedExpectedArtifacts)
  const received =
    holders
      .at(-1)
      ?.artifacts.map((artifact) => ({ id: artifact['id'], boundArtifact: artifact })) ?? []
  const found = new Map<string, JsonObject>()
  for (const { id, boundArtifact } of [...bound, ...received])
    if (boundArtifact !== undefined && id !== undefined)
      found.getOrInsert(String(id), boundArtifact)
  return found
}

/** Other executions receive them, whose views may not know the secrets of this one. */
function atHand(execution: Execution, producers: readonly Stage[]): JsonObject[] {
  const produced = producers.flatMap(({ outputs }) => toResolved(outputs).artifacts)
  return distinctArtifacts([
    ...maskCopies(produced, executionSecretsOf(execution)),
    ...execution.trigger.artifacts,
  ])
}

export function distinctArtifacts<T>(artifacts: readonly T[]): T[] {
  return [...new Map(artifacts.map((artifact) => [JSON.stringify(artifact), artifact])).values()]
}
