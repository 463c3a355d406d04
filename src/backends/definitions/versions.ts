/**
 * Versions of what applications have in the definition store, for the event streams of the gateway.
 * No other definition store has this route.
 */
import type { FastifyInstance } from 'fastify'
import { queryValues } from '../requests/request-values.ts'
import { foldName } from '../stores/document-store.ts'
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
