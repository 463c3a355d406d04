/** Look-up of pipeline definitions by name within an application, or by id. */
import { GatewayError } from '@fairlead/base/errors.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { type UpstreamAnswer, upstreamFailed } from '../../upstreams/answer-form.ts'
import type { OperationRequest } from '../operation.ts'
import { checkList, readObject } from '../upstream-shape.ts'

/**
 * The definition whose name, or else whose id, is exactly `nameOrId`. An id may belong to another application.
 *
 * @throws {GatewayError} NOT_FOUND when neither lookup knows it, UPSTREAM_FAILED with the status of the definition store
 * @see docs/reference/operations.md, getPipelineConfigUsingGET
 */
export async function findDefinition(
  request: OperationRequest,
  application: string,
  nameOrId: string,
): Promise<JsonObject> {
  const byName = await request.call('front50', {
    path: pathTo`/pipelines/${application}/name/${nameOrId}`,
    query: { refresh: 'true' },
  })
  const named = unlessMissing(byName)
  if (named?.['name'] === nameOrId) return named
  const byId = await request.call('front50', { path: pathTo`/pipelines/${nameOrId}/get` })
  const found = unlessMissing(byId)
  if (found?.['id'] === nameOrId) return found
  const said = found === undefined ? ` ${upstreamFailed('front50', byId).message}` : ''
  throw new GatewayError(
    'NOT_FOUND',
    `Application ${application} has no pipeline with the name or id "${nameOrId}".${said}`,
  )
}

/** All definitions of an application, past the cache of the store. */
export async function listDefinitions(
  request: OperationRequest,
  application: string,
): Promise<JsonObject[]> {
  const answer = await request.json('front50', {
    path: pathTo`/pipelines/${application}`,
    query: { refresh: 'true' },
  })
  return checkList(answer, 'front50')
}

export function findByName(
  definitions: readonly JsonObject[],
  name: unknown,
): JsonObject | undefined {
  const wanted = String(name).trim().toLowerCase()
  return definitions.find(
    (definition) =>
      String(definition['name'] ?? '')
        .trim()
        .toLowerCase() === wanted,
  )
}

function unlessMissing(answer: UpstreamAnswer): JsonObject | undefined {
  return answer.status === 404 ? undefined : readObject(answer, 'front50')
}
