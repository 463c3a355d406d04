/**
 * Artifacts that an execution, or one of its stages, has at hand.
 *
 * @see docs/contracts/orchestration.md#expected-artifacts
 */
import { listOf } from '../../json/values.ts'
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

/** Other executions receive them, whose views may not know the secrets of this one. */
function atHand(execution: Execution, producers: readonly Stage[]): unknown[] {
  const produced = producers.flatMap(({ outputs }) => listOf(outputs['artifacts']))
  return distinctArtifacts([...maskCopies(produced, executionSecretsOf(execution)), ...execution.trigger.artifacts])
}

export function distinctArtifacts(artifacts: readonly unknown[]): unknown[] {
  return [...new Map(artifacts.map((artifact) => [JSON.stringify(artifact), artifact])).values()]
}
