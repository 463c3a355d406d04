/**
 * The embedded infrastructure service: answers every path of the infrastructure contract. Routes are data, one table per
 * subject; a provider that is added later replaces the answers of the tables whose resources it has.
 */
import type { Backend, BackendContext } from '../backend.ts'
import { accountRoutes } from './accounts.ts'
import { applicationRoutes } from './applications.ts'
import { artifactRoutes } from './artifacts.ts'
import { lookupRoutes } from './lookups.ts'
import { operationRoutes } from './operations.ts'
import { projectRoutes } from './projects.ts'
import { providerRoutes } from './providers.ts'
import type { InfrastructureRoute } from './route.ts'
import { searchRoutes } from './search.ts'

const tables: readonly (readonly InfrastructureRoute[])[] = [
  accountRoutes,
  applicationRoutes,
  artifactRoutes,
  lookupRoutes,
  operationRoutes,
  projectRoutes,
  providerRoutes,
  searchRoutes,
]

export const infrastructureBackend: Backend = {
  service: 'clouddriver',
  migrations: [],
  open: (context: BackendContext) => ({
    routes(app) {
      for (const { method, path, answer } of tables.flat()) {
        app.route({ method, url: path, handler: async (request, reply) => reply.send(await answer(request, context)) })
      }
    },
  }),
}
