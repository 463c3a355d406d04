/** The embedded infrastructure service: the paths of its contract, a table per subject, over the providers. */
import { type AgentClient, type AgentClientOptions, openAgent } from '../../agent/client.ts'
import type { Backend, BackendContext, OpenBackend } from '../backend.ts'
import { pathValue } from '../request-values.ts'
import { isSlices, sendSlices } from '../slices.ts'
import { isUnchanged } from '../unchanged.ts'
import { accountRoutes } from './accounts.ts'
import { applicationRoutes } from './applications.ts'
import { artifactRoutes } from './artifacts.ts'
import { clusterRoutes } from './clusters.ts'
import { entityTagMigrations, openEntityTags } from './entity-tag-store.ts'
import { entityTagRoutes } from './entity-tags.ts'
import { localMigrations, openLocalProvider } from './local/local.ts'
import { lookupRoutes } from './lookups.ts'
import { findOperation, operationRoutes } from './operations.ts'
import { projectRoutes } from './projects.ts'
import type { Provider } from './provider.ts'
import { providerRoutes } from './providers.ts'
import { accessOf, checkReadable, type Infrastructure, type InfrastructureRoute } from './route.ts'
import { searchRoutes } from './search.ts'
import { securityGroupRoutes } from './security-groups.ts'
import { Tasks, taskMigrations } from './tasks.ts'
import { versionRoutes } from './versions.ts'
import { Written } from './written-list.ts'

const tables: readonly (readonly InfrastructureRoute[])[] = [
  accountRoutes,
  applicationRoutes,
  artifactRoutes,
  clusterRoutes,
  entityTagRoutes,
  lookupRoutes,
  operationRoutes,
  projectRoutes,
  providerRoutes,
  searchRoutes,
  securityGroupRoutes,
  versionRoutes,
]

/** Opens the client of the agent, which runs what is deployed to this machine. */
export type OpenAgent = (options: Pick<AgentClientOptions, 'dataDir' | 'log' | 'version'>) => AgentClient

/** Without settings of it there is no provider, as in tests of other back ends. */
export function createInfrastructureBackend(openAgent: OpenAgent): Backend {
  const openProviders = (context: BackendContext): Provider[] => {
    const { infrastructure, version = '' } = context.settings
    if (infrastructure?.local === undefined) return []
    return [openLocalProvider(context, infrastructure.local, (dataDir) => openAgent({ dataDir, log: context.log, version }))]
  }
  return {
    service: 'clouddriver',
    migrations: [...taskMigrations, ...entityTagMigrations, ...localMigrations],
    open: (context) => openInfrastructure(context, openProviders(context)),
  }
}

export const infrastructureBackend: Backend = createInfrastructureBackend(openAgent)

export function openInfrastructure(context: BackendContext, providers: readonly Provider[]): OpenBackend {
  const { db, now, log, settings } = context
  const entityTags = openEntityTags(db, now)
  const tasks = new Tasks({
    db,
    now,
    log,
    onChanged: context.stateChanged,
    find: (provider, name) => findOperation({ providers, entityTags }, { provider, name }),
  })
  const marks = settings.infrastructure ?? { challengedEnvironments: [], primaryAccountTypes: [] }
  const infrastructure: Infrastructure = { context, providers, tasks, entityTags, marks }
  return {
    routes(app) {
      for (const { method, path, reads = [], version, answer } of tables.flat()) {
        app.route({
          method,
          url: path,
          handler: async (request, reply) => {
            if (reads.length > 0) {
              const access = await accessOf(request, infrastructure)
              for (const kind of reads) checkReadable(access, pathValue(request, kind), kind)
            }
            const known = version?.(request, infrastructure)
            if (known !== undefined && isUnchanged(request, reply, known)) return reply
            const body = await answer(request, infrastructure)
            if (isSlices(body)) return sendSlices(reply, body)
            if (!(body instanceof Written)) return reply.send(body)
            if (isUnchanged(request, reply, body.version)) return reply
            return reply.type('application/json; charset=utf-8').send(body.json)
          },
        })
      }
      for (const provider of providers) provider.routes?.(app)
    },
    start() {
      for (const provider of providers) provider.start()
      tasks.start()
    },
    async close() {
      await tasks.close()
      for (const provider of providers) await provider.close()
    },
  }
}
