/** Routes that pipelines and strategies share: versions, removal, rename and order. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { type DocumentStore, foldName } from '@fairlead/base/stores/document-store.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkWriter } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { move, reorder } from './pipeline-order.ts'
import { missingDefinition, sendHistory } from './requests.ts'

export function pipelineSetRoutes(app: FastifyInstance, definitions: Definitions, name: 'pipelines' | 'strategies'): void {
  const store = definitions[name]

  app.get(`/${name}/:id/history`, (_request, reply) => sendHistory(reply, 'id', store))
  app.delete(`/${name}/:application/:name`, async (request) =>
    definitions.write(() => {
      const found = namedByPath(request, store)
      checkWriter(request, found['application'])
      removePipeline(definitions, store, found)
    }),
  )
  app.post(`/${name}/move`, async (request) => move(definitions, store, request))
  app.post(`/actions/${name}/reorder`, async (request) => reorder(definitions, store, request))
}

/** Belongs into the caller's transaction. */
export function removePipeline({ serviceAccounts }: Definitions, store: DocumentStore, pipeline: JsonObject): void {
  const id = String(pipeline['id'])
  store.remove(foldName(id))
  // The account that was made for this pipeline, if there is one.
  serviceAccounts.remove(foldName(`${id}@managed-service-account`))
}

/** The pipeline or strategy that a path names by application and name. @throws {PortError} 404 */
export function namedByPath(request: FastifyRequest, store: DocumentStore): JsonObject {
  const application = pathValue(request, 'application')
  const name = pathValue(request, 'name')
  const found = store.named(name, application)[0]
  if (found === undefined) throw missingDefinition(`definition named "${name}" in the application "${application}"`)
  return found
}
