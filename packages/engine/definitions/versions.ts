/**
 * Versions of what applications have in the definition store, for the event streams of the gateway.
 * No other definition store has this route.
 */

import { foldName } from '@fairlead/base/stores/document-store.ts'
import { queryValues } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance } from 'fastify'
import type { Definitions } from './collections.ts'

export function definitionVersionRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { applications, permissions, pipelines, strategies } = definitions

  /** One for each `application` of the query, in its order. */
  app.get('/versions', (request) =>
    queryValues(request, 'application').map((name) => {
      const key = foldName(name)
      const ofDocuments = [applications.modifiedMs(key), permissions.modifiedMs(key)]
      return [...ofDocuments, pipelines.versionOfApplication(name), strategies.versionOfApplication(name)].join('-')
    }),
  )
}
