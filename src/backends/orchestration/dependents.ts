/** Starts the pipelines that a stored trigger ties to the end of another one (orchestration contract, 4.11). */
import type { EngineParts } from './engine-parts.ts'
import { executionView } from './execution-view.ts'
import { identityHeaders } from './identity.ts'
import type { Execution, JsonObject } from './model.ts'
import { isJsonObject, isTrue } from './model.ts'

/**
 * The runs that the end of `parent` entails, not yet stored: the caller stores all of them in the transaction that notes that
 * this is done, so a crash leaves none or all.
 *
 * @throws {Error} when the definition store cannot be asked; one child that cannot be prepared does not stop the others.
 */
export async function prepareDependents(engine: EngineParts, parent: Execution): Promise<Execution[]> {
  const { call, log, prepareExecution } = engine.options
  const word = completionWord(parent)
  const headers = identityHeaders(parent)
  const path = `/pipelines/triggeredBy/${encodeURIComponent(parent.pipelineConfigId as string)}/${word}?restricted=false`
  const answer = await call('front50', { method: 'GET', path, headers })
  if (answer.status === 404) return []
  if (answer.status >= 400) throw new Error(`front50 answered ${answer.status} when asked for dependent pipelines.`)
  const children: Execution[] = []
  for (const definition of Array.isArray(answer.body) ? answer.body : []) {
    if (!isJsonObject(definition)) continue
    for (const [position, trigger] of matchingTriggers(definition, parent, word).entries()) {
      try {
        children.push(await prepareExecution(childDefinition(definition, trigger, parent, position), parent, headers))
      } catch (error) {
        log.warn({ err: error, pipeline: definition['id'], parent: parent.id }, 'a dependent pipeline could not be started')
      }
    }
  }
  return children
}

function completionWord(parent: Execution): string {
  if (parent.status === 'SUCCEEDED') return 'successful'
  return parent.status === 'CANCELED' ? 'canceled' : 'failed'
}

function matchingTriggers(definition: JsonObject, parent: Execution, word: string): JsonObject[] {
  if (isTrue(definition['disabled']) || !Array.isArray(definition['triggers'])) return []
  return definition['triggers'].filter(
    (trigger): trigger is JsonObject =>
      isJsonObject(trigger) &&
      isTrue(trigger['enabled']) &&
      trigger['type'] === 'pipeline' &&
      trigger['pipeline'] === parent.pipelineConfigId &&
      Array.isArray(trigger['status']) &&
      trigger['status'].includes(word),
  )
}

function childDefinition(definition: JsonObject, trigger: JsonObject, parent: Execution, position: number): JsonObject {
  const parts = [parent.id, null, definition['id'], parent.startTime ?? null]
  return {
    ...definition,
    trigger: {
      type: 'pipeline',
      user: parent.trigger.user,
      parentExecution: executionView(parent),
      parentPipelineId: parent.id,
      parentPipelineName: parent.name,
      parentStatus: parent.status,
      isPipeline: true,
      parameters: {},
      strategy: false,
      dryRun: parent.trigger.dryRun,
      correlationId: position === 0 ? parts.join(':') : [...parts, position].join(':'),
      artifacts: parent.trigger.artifacts,
      expectedArtifactIds: trigger['expectedArtifactIds'],
    },
  }
}
