/** Routes that pipelines and strategies share: versions, removal, rename and order. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { DocumentStore } from '@fairlead/base/stores/document-store.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkWriter, type Writer, writerOf } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { move, reorder } from './pipeline-order.ts'
import { missingDefinition, sendHistory } from './requests.ts'

export function pipelineSetRoutes(
  app: FastifyInstance,
  definitions: Definitions,
  name: 'pipelines' | 'strategies',
): void {
  const store = definitions[name]

  app.get(`/${name}/:id/history`, (_request, reply) => sendHistory(reply, 'id', store))
  app.delete(`/${name}/:application/:name`, async (request) =>
    removeNamed(definitions, store, await writerOf(definitions, request), placeOf(request)),
  )
  app.post(`/${name}/move`, async (request) =>
    move(definitions, store, await writerOf(definitions, request), request.body),
  )
  app.post(`/actions/${name}/reorder`, async (request) =>
    reorder(definitions, store, await writerOf(definitions, request), request.body),
  )
}

interface PipelinePlace {
  readonly application: string
  readonly name: string
}

export function removeNamed(
  definitions: Definitions,
  store: DocumentStore,
  writer: Writer,
  place: PipelinePlace,
): void {
  definitions.write(() => {
    const found = requireNamed(store, place)
    checkWriter(writer, found['application'])
    removePipeline(definitions, store, found)
  })
}

/** Belongs into the caller's transaction. */
export function removePipeline(
  { held, serviceAccounts }: Definitions,
  store: DocumentStore,
  pipeline: JsonObject,
): void {
  const id = String(pipeline['id'])
  store.remove(foldName(id))
  held.replace(id, [])
  // The account that was made for this pipeline, if there is one.
  serviceAccounts.remove(foldName(`${id}@managed-service-account`))
}

/** The pipeline or strategy that a path names by application and name. @throws {PortError} 404 */
export function namedByPath(request: FastifyRequest, store: DocumentStore): JsonObject {
  return requireNamed(store, placeOf(request))
}

function placeOf(request: FastifyRequest): PipelinePlace {
  return { application: pathValue(request, 'application'), name: pathValue(request, 'name') }
}

function requireNamed(store: DocumentStore, { application, name }: PipelinePlace): JsonObject {
  const found = store.named(name, application)[0]
  if (found === undefined)
    throw missingDefinition(`definition named "${name}" in the application "${application}"`)
  return found
}
