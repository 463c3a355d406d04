/** Current pipeline definitions from the definition store. */

import type { CallService } from '../../external/service-call.ts'
import { pathTo } from '../../http/encode-path.ts'
import { fieldOf, isObject, isTrue, type JsonObject, objectsOf, textOf } from '../../json/values.ts'
import { PortError } from '../../ports/port-error.ts'
import { type EffectivePipeline, type EffectivePipelines, withOwnTriggers } from '../pipelines/effective-pipelines.ts'

/** The service itself reads definitions for matching, without a user. */
const asAnonymous = { 'x-spinnaker-user': 'anonymous', 'x-spinnaker-anonymous': 'anonymous' }

/**
 * The pipeline that a manual request names, by id or else by name, both exact; enabled ones come first.
 *
 * @throws {PortError} when the store cannot be read.
 */
export async function loadPipeline(
  call: CallService,
  application: string,
  nameOrId: string,
  identity: Record<string, string>,
): Promise<JsonObject | undefined> {
  const path = pathTo`/pipelines/${application}`
  const listed = objectsOf(await readList(call, path, identity))
    .filter((pipeline) => pipeline['application'] === application)
    .sort((one, other) => Number(isTrue(one['disabled'])) - Number(isTrue(other['disabled'])))
  const found = listed.find((pipeline) => pipeline['id'] === nameOrId) ?? listed.find((pipeline) => pipeline['name'] === nameOrId)
  return found === undefined ? undefined : loadFreshPipeline(call, found, identity)
}

/**
 * The pipelines that have a trigger of one of these types, with those that they inherit. Others may be among them, as may be
 * disabled pipelines and triggers; a disabled pipeline has its own triggers alone.
 *
 * @throws {PortError} when the store cannot be read.
 */
export async function loadTriggeredPipelines(
  call: CallService,
  pipelines: EffectivePipelines,
  triggerTypes: readonly string[],
): Promise<EffectivePipeline[]> {
  const query = new URLSearchParams({ restricted: 'false', triggerTypes: triggerTypes.join(',') })
  const { disabled = [], enabled = [] } = Object.groupBy(
    objectsOf(await readList(call, `/pipelines?${query}`, asAnonymous)),
    (each) => (isTrue(each['disabled']) ? 'disabled' : 'enabled'),
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
  call: CallService,
  listed: JsonObject,
  identity: Record<string, string> = asAnonymous,
): Promise<JsonObject | undefined> {
  if (typeof listed['id'] !== 'string') return listed
  try {
    const path = pathTo`/pipelines/${listed['id']}/get`
    const answer = await call('front50', { method: 'GET', path, headers: identity })
    if (answer.status === 404) return undefined
    return answer.status === 200 && isObject(answer.body) ? answer.body : listed
  } catch {
    return listed
  }
}

/** @throws {PortError} 503 when the sender of an event may send it again, else why that would not help. */
async function readList(call: CallService, path: string, headers: Record<string, string>): Promise<unknown> {
  const answer = await call('front50', { method: 'GET', path, headers }).catch((error: unknown) => {
    throw notAccepted(503, (error as Error).message)
  })
  if (answer.status === 200) return answer.body
  if (answer.status === 404) return []
  const reason = `it answered ${answer.status}, ${textOf(fieldOf(answer.body, 'message')) ?? 'without a message'}`
  throw notAccepted(answer.status >= 500 || answer.status === 429 ? 503 : 502, reason)
}

function notAccepted(status: 502 | 503, reason: string): PortError {
  const advice = status === 503 ? ' Send it again.' : ''
  return new PortError(
    status,
    `The event was not accepted: the pipelines cannot be read from the definition store: ${reason}.${advice}`,
  )
}
