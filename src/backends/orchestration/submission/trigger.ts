/** Completion of the trigger of a submission, and of its parameters. @see docs/contracts/orchestration.md#trigger */
import { fieldOf, isObject, isTrue, type JsonObject, listOf, objectOf, textOf } from '../../../json/values.ts'
import { checkOnApplication } from '../../../ports/access.ts'
import type { Caller } from '../../../ports/caller.ts'
import { artifactsOfExecution } from '../artifacts-at-hand.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { executionView } from '../execution-view.ts'
import type { Execution, Trigger } from '../model.ts'
import type { ExecutionStore } from '../store.ts'

/** @param caller Counts when the trigger names no user. */
export function normaliseTrigger(given: unknown, { user }: Caller, { store }: EngineOptions): Trigger {
  const trigger = withParent(objectOf(given), store)
  return {
    ...trigger,
    type: textOf(trigger['type']) ?? 'manual',
    user: textOf(trigger['user']) ?? user ?? '[anonymous]',
    parameters: objectOf(trigger['parameters']),
    artifacts: listOf(trigger['artifacts']),
    notifications: listOf(trigger['notifications']),
    rebake: isTrue(trigger['rebake']),
    dryRun: isTrue(trigger['dryRun']),
    strategy: isTrue(trigger['strategy']),
    resolvedExpectedArtifacts: listOf(trigger['resolvedExpectedArtifacts']),
    correlationId: typeof trigger['correlationId'] === 'string' ? trigger['correlationId'] : undefined,
  }
}

/**
 * A trigger that names a run as its parent includes all of it, and counts among what follows from it: the caller must be allowed to
 * read it. What the engine starts itself is not judged by it.
 *
 * @throws {PortError} 403, 503
 */
export async function checkParentReadable(given: unknown, caller: Caller, { store, accessOf }: EngineOptions): Promise<void> {
  const trigger = objectOf(given)
  const ids = new Set([textOf(trigger['parentPipelineId']), textOf(objectOf(trigger['parentExecution'])['id'])])
  for (const id of ids) {
    const parent = id === undefined ? undefined : store.load(id)
    if (parent !== undefined) checkOnApplication(await accessOf(caller.user), parent.application, 'READ')
  }
}

/** A trigger that only names its parent gets the whole of it; an unknown parent is ignored. */
function withParent(trigger: JsonObject, store: ExecutionStore): JsonObject {
  const parentId = trigger['parentPipelineId']
  if (typeof parentId !== 'string' || isObject(trigger['parentExecution'])) return trigger
  const parent = store.load(parentId)
  if (parent === undefined || parent.type !== 'PIPELINE') return trigger
  return {
    ...trigger,
    parentExecution: executionView(parent),
    parentPipelineName: parent.name,
    parentStatus: parent.status,
    isPipeline: true,
    artifacts: [...listOf(trigger['artifacts']), ...artifactsOfExecution(parent)],
  }
}

/** The trigger of a run that another one starts. @param more What the start itself says */
export function triggerOfChild(parent: Execution, more: JsonObject): JsonObject {
  return {
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
    ...more,
  }
}

/** Missing parameters take their defaults; an empty text is a value. */
export function withDefaultParameters(given: JsonObject, declared: unknown): JsonObject {
  const defaults: [string, unknown][] = []
  for (const parameter of listOf(declared)) {
    if (!isObject(parameter) || typeof parameter['name'] !== 'string') continue
    const { name, default: value } = parameter
    if ((fieldOf(given, name) ?? undefined) === undefined && value !== undefined && value !== null) defaults.push([name, value])
  }
  return { ...given, ...Object.fromEntries(defaults) }
}
