/** Completion of the trigger of a submission, and of its parameters. @see docs/contracts/orchestration.md#trigger */
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { checkOnApplication } from '@fairlead/ports/access.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { artifactsOfExecution } from '../artifacts-at-hand.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { executionView } from '../execution-view.ts'
import { type Execution, originOf, type Trigger } from '../model.ts'
import type { ExecutionStore } from '../store.ts'

/** Trigger of a submission; further members are kept. */
const toTrigger = shape({
  type: or(textOf, 'manual'),
  user: textOf,
  parameters: objectOf,
  artifacts: objectsOf,
  notifications: objectsOf,
  rebake: isTrue,
  dryRun: isTrue,
  strategy: isTrue,
  resolvedExpectedArtifacts: listOf,
  correlationId: (value) => (typeof value === 'string' ? value : undefined),
})

/** @param caller Counts when the trigger names no user. */
export function normaliseTrigger(
  submitted: unknown,
  { user = '[anonymous]' }: Caller,
  { store }: EngineOptions,
): Trigger {
  const given = withParent(objectOf(submitted), store)
  const trigger = toTrigger(given)
  return { ...given, ...trigger, user: trigger.user ?? user }
}

/**
 * A trigger that names a run as its parent includes all of it, and counts among what follows from it: the caller must be allowed to
 * read it. What the engine starts itself is not checked by it.
 *
 * @throws {PortError} 403, 503
 */
export async function checkParentReadable(
  given: unknown,
  caller: Caller,
  { store, accessOf }: EngineOptions,
): Promise<void> {
  const { pipelineId, run } = originOf(given)
  for (const id of new Set([pipelineId, run.id])) {
    const parent = id === undefined ? undefined : store.load(id)
    if (parent !== undefined)
      checkOnApplication(await accessOf(caller.user), parent.application, 'READ')
  }
}

/** A trigger that only names its parent gets the whole of it; an unknown parent is ignored. */
function withParent(trigger: JsonObject, store: ExecutionStore): JsonObject {
  const { pipelineId: id } = originOf(trigger)
  if (id === undefined || isObject(trigger['parentExecution'])) return trigger
  const parent = store.load(id)
  if (parent?.type !== 'PIPELINE') return trigger
  return {
    ...trigger,
    ...parentFields(parent),
    artifacts: [...toTrigger(trigger).artifacts, ...artifactsOfExecution(parent)],
  }
}

function parentFields(parent: Execution): JsonObject {
  return {
    parentExecution: executionView(parent),
    parentPipelineName: parent.name,
    parentStatus: parent.status,
    isPipeline: true,
  }
}

/** The trigger of a run that another one starts. @param more What the start itself says */
export function triggerOfChild(parent: Execution, more: JsonObject): JsonObject {
  return {
    type: 'pipeline',
    user: parent.trigger.user,
    ...parentFields(parent),
    parentPipelineId: parent.id,
    parameters: {},
    strategy: false,
    dryRun: parent.trigger.dryRun,
    ...more,
  }
}

const toDeclared = list(shape({ name: textOf, default: (value) => value }))

/** Missing parameters take their defaults; an empty text is a value. */
export function withDefaultParameters(given: JsonObject, declared: unknown): JsonObject {
  const missing = toDeclared(declared).filter(
    ({ name, default: value }) =>
      name !== undefined &&
      value !== undefined &&
      ((Object.hasOwn(given, name) ? given[name] : undefined) ?? null) === null,
  )
  return {
    ...given,
    ...Object.fromEntries(missing.map(({ name, default: value }) => [name, value])),
  }
}
