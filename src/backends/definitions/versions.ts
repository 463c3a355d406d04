/**
 * Versions of what applications have in the definition store, for the event streams of the gateway.
 * No other definition store has this route.
 */
import type { FastifyInstance } from 'fastify'
import { foldName } from '../document-store.ts'
import type { Definitions } from './collections.ts'
import { queryTexts } from './requests.ts'

export function versionRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { applications, permissions, pipelines, strategies } = definitions

  /** One for each `application` of the query, in its order. */
  app.get('/versions', (request) =>
    queryTexts(request, 'application').map((name) => {
      const key = foldName(name)
      const ofDocuments = [applications.modifiedMs(key), permissions.modifiedMs(key)]
      return [...ofDocuments, pipelines.versionOfApplication(name), strategies.versionOfApplication(name)].join('-')
    }),
  )
}
