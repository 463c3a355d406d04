/** Current pipeline definitions from the definition store. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { isPassing, PortError } from '@fairlead/base/port-error.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { anonymous, type Caller, toCaller } from '@fairlead/ports/caller.ts'
import type { StoredDefinitions, TriggeredBy } from '@fairlead/ports/definitions.ts'
import {
  type EffectivePipeline,
  type EffectivePipelines,
  withOwnTriggers,
} from '../pipelines/effective-pipelines.ts'

/** The service itself reads definitions for matching, without a user. */
const asAnonymous = toCaller({ 'x-spinnaker-user': anonymous, 'x-spinnaker-anonymous': anonymous })

/**
 * The pipeline that a manual request names, by id or else by name, both exact; enabled ones come first.
 *
 * @throws {PortError} when the store cannot be read.
 */
export async function loadPipeline(
  definitions: StoredDefinitions,
  application: string,
  nameOrId: string,
  caller: Caller,
): Promise<JsonObject | undefined> {
  const listed = (await definitions.pipelinesOf(application, caller).catch(refuseEvent))
    .filter((pipeline) => pipeline['application'] === application)
    .sort(
      (one, other) => Number(readPipeline(one).isDisabled) - Number(readPipeline(other).isDisabled),
    )
  const found =
    listed.find((pipeline) => pipeline['id'] === nameOrId) ??
    listed.find((pipeline) => pipeline['name'] === nameOrId)
  return found && loadFreshPipeline(definitions, found, caller)
}

/**
 * The pipelines that have such a trigger, with those that they inherit. Others may be among them, as may be
 * disabled pipelines and triggers; a disabled pipeline has its own triggers alone.
 *
 * @throws {PortError} when the store cannot be read.
 */
export async function loadTriggeredPipelines(
  definitions: StoredDefinitions,
  pipelines: EffectivePipelines,
  wanted: TriggeredBy,
): Promise<EffectivePipeline[]> {
  const { disabled = [], enabled = [] } = Object.groupBy(
    await definitions.triggeredPipelines(wanted, asAnonymous).catch(refuseEvent),
    (each) => (readPipeline(each).isDisabled ? 'disabled' : 'enabled'),
  )
  const effective = await pipelines.complete(enabled).catch((error: unknown) => {
    throw notAccepted(503, (error as Error).message)
  })
  return [...effective, ...disabled.map(withOwnTriggers)]
}

/**
 * The definition as it is now: lists carry a rewritten `index` and may be cached. A read that fails keeps the listed copy.
 *
 * @returns undefined when it was deleted since.
 */
export async function loadFreshPipeline(
  definitions: StoredDefinitions,
  listed: JsonObject,
  caller: Caller = asAnonymous,
): Promise<JsonObject | undefined> {
  if (typeof listed['id'] !== 'string') return listed
  try {
    return await definitions.pipeline(listed['id'], caller)
  } catch {
    return listed
  }
}

/** @throws {PortError} 503 when the sender of an event may send it again, else why that would not help. */
function refuseEvent(error: unknown): never {
  throw notAccepted(isPassing(error) ? 503 : 502, (error as Error).message)
}

function notAccepted(status: 502 | 503, reason: string): PortError {
  const advice = status === 503 ? ' Send it again.' : ''
  return new PortError(
    status,
    `The event was not accepted: the pipelines cannot be read from the definition store: ${reason}.${advice}`,
  )
}
