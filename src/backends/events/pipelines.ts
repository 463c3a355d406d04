/** Reads pipeline definitions from the definition store, always the current ones. */
import type { CallService } from '../backend.ts'
import { isObject, isTrue, type JsonObject, objectsOf } from '../json-values.ts'

/** Definitions are read for matching by the service itself, on behalf of nobody. */
const asNobody = { 'x-spinnaker-user': 'anonymous', 'x-spinnaker-anonymous': 'anonymous' }

/**
 * The pipeline that a manual request names, by id or else by name, both exact; disabled ones cannot be found.
 *
 * @throws {Error} when the store cannot be read.
 */
export async function loadPipeline(
  call: CallService,
  application: string,
  nameOrId: string,
  identity: Record<string, string>,
): Promise<JsonObject | undefined> {
  const path = `/pipelines/${encodeURIComponent(application)}`
  const listed = objectsOf(await readList(call, path, identity)).filter(
    (pipeline) => pipeline['application'] === application && !isTrue(pipeline['disabled']),
  )
  const found = listed.find((pipeline) => pipeline['id'] === nameOrId) ?? listed.find((pipeline) => pipeline['name'] === nameOrId)
  if (found === undefined) return undefined
  const fresh = await loadFreshPipeline(call, found, identity)
  return isTrue(fresh?.['disabled']) ? undefined : fresh
}

/**
 * The enabled pipelines that have an enabled trigger of one of these types.
 *
 * @throws {Error} when the store cannot be read.
 */
export async function loadTriggeredPipelines(call: CallService, triggerTypes: readonly string[]): Promise<JsonObject[]> {
  const query = new URLSearchParams({
    restricted: 'false',
    enabledPipelines: 'true',
    enabledTriggers: 'true',
    triggerTypes: triggerTypes.join(','),
  })
  const listed = objectsOf(await readList(call, `/pipelines?${query}`, asNobody))
  return listed.filter((pipeline) => !isTrue(pipeline['disabled']))
}

/**
 * The definition as it is now: lists carry a rewritten `index` and may be cached. A read that fails keeps the listed copy.
 *
 * @returns undefined when it was deleted since.
 */
export async function loadFreshPipeline(
  call: CallService,
  listed: JsonObject,
  identity: Record<string, string> = asNobody,
): Promise<JsonObject | undefined> {
  if (typeof listed['id'] !== 'string') return listed
  try {
    const path = `/pipelines/${encodeURIComponent(listed['id'])}/get`
    const answer = await call('front50', { method: 'GET', path, headers: identity })
    if (answer.status === 404) return undefined
    return answer.status === 200 && isObject(answer.body) ? answer.body : listed
  } catch {
    return listed
  }
}

async function readList(call: CallService, path: string, headers: Record<string, string>): Promise<unknown> {
  const answer = await call('front50', { method: 'GET', path, headers })
  if (answer.status === 404) return []
  if (answer.status !== 200) throw new Error(`The definition store answered ${answer.status} when pipelines were read.`)
  return answer.body
}
