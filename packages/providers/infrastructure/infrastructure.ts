/** The embedded infrastructure service: the paths of its contract, a table per subject, over the providers. */

import { fieldAt, numberOf } from '@fairlead/base/json/values.ts'
import type { AccountState } from '@fairlead/base/telemetry/metrics.ts'
import type { Backend, BackendContext, OpenBackend } from '@fairlead/ports/backend.ts'
import { trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryFlag } from '@fairlead/ports/requests/request-values.ts'
import { isSlices, sendSlices } from '@fairlead/ports/requests/slices.ts'
import { isUnchanged } from '@fairlead/ports/requests/unchanged.ts'
import type { FastifyReply, FastifyRequest, RouteHandler } from 'fastify'
import { providerTypes } from '../all.ts'
import { openArtifactAccounts } from '../artifacts/all.ts'
import { migrationsOf, type ProviderType } from '../provider-type.ts'
import { answer } from './answer.ts'
import { applicationRoutes } from './applications.ts'
import { artifactRoutes } from './artifacts.ts'
import { createPort } from './as-port.ts'
import { clusterRoutes } from './clusters.ts'
import { EntityTagStore, entityTagMigrations } from './entity-tag-store.ts'
import { entityTagRoutes } from './entity-tags.ts'
import { removeUnusedMirrors } from './git-reads.ts'
import { accountRoutes, lookupRoutes, securityGroupRoutes } from './lookups.ts'
import { manifestChangeRoutes, manifestRoutes } from './manifests.ts'
import { findOperationType, operationRoutes } from './operations.ts'
import { createProgramRoutes } from './programs/routes.ts'
import { projectRoutes } from './projects.ts'
import type { CloudProvider } from './provider.ts'
import { providerRoutes } from './providers.ts'
import {
  type Asked,
  accessOf,
  type EmbeddedInfrastructure,
  type InfrastructureRoute,
  Written,
} from './route.ts'
import { searchRoute } from './search.ts'
import { Tasks, taskMigrations } from './tasks.ts'
import { versionRoutes } from './versions.ts'

const tables: readonly (readonly InfrastructureRoute[])[] = [
  accountRoutes,
  applicationRoutes,
  artifactRoutes,
  clusterRoutes,
  entityTagRoutes,
  lookupRoutes,
  manifestChangeRoutes,
  manifestRoutes,
  operationRoutes,
  projectRoutes,
  providerRoutes,
  [searchRoute],
  securityGroupRoutes,
  versionRoutes,
]

/** Routes whose answers come from accounts. */
const agingTables: ReadonlySet<unknown> = new Set([
  applicationRoutes,
  clusterRoutes,
  lookupRoutes,
  manifestChangeRoutes,
  manifestRoutes,
  securityGroupRoutes,
])

export const infrastructureBackend: Backend = createInfrastructureBackend(providerTypes)

/** Without settings there is no provider, as in tests of other back ends. */
export function createInfrastructureBackend(types: readonly ProviderType[]): Backend {
  return {
    service: 'clouddriver',
    ...migrationsOf(
      types,
      [...taskMigrations, ...entityTagMigrations],
      ({ migrations }) => migrations,
    ),
    open(context) {
      const settings = context.settings.infrastructure?.providers ?? {}
      const enabled = types.filter(({ id }) => settings[id] !== undefined)
      const providers = enabled.map((type) => type.open(context, settings[type.id]))
      return openInfrastructure(context, providers, enabled)
    },
  }
}

function openInfrastructure(
  context: BackendContext,
  providers: readonly CloudProvider[],
  types: readonly ProviderType[],
): OpenBackend {
  const { db, now, settings } = context
  const entityTags = new EntityTagStore(db, now, (id, name, type) =>
    applicationsOf(providers, id, (provider) => provider.applicationOf(name, type)),
  )
  const find = (provider: string, name: string) =>
    findOperationType({ providers, entityTags }, { provider, name })
  const tasks = new Tasks({ context, find })
  const marks = settings.infrastructure ?? { challengedEnvironments: [], primaryAccountTypes: [] }
  const allArtifactAccounts = [
    ...openArtifactAccounts(context),
    ...providers.flatMap(({ artifactAccount }) => artifactAccount ?? []),
  ]
  const infrastructure: EmbeddedInfrastructure = {
    context,
    providers,
    types,
    tasks,
    entityTags,
    get artifactAccounts() {
      return allArtifactAccounts.filter(({ isOffered }) => isOffered?.() ?? true)
    },
    marks,
  }
  const programs = createProgramRoutes(infrastructure)
  return {
    routes(app) {
      for (const [route, hasAge] of tables.flatMap((table) =>
        table.map((each) => [each, agingTables.has(table)] as const),
      )) {
        const handler: RouteHandler = (request, reply) =>
          answerRoute(route, { request, reply, hasAge, infrastructure })
        app.route({ method: route.method, url: route.path, handler })
      }
      programs.register(app)
      for (const provider of providers) provider.routes?.(app)
    },
    start() {
      for (const provider of providers) provider.start()
      tasks.start()
      removeUnusedMirrors(context)
    },
    retained: [tasks.retained, ...providers.flatMap(({ retained }) => retained ?? [])],
    observe: () => ({
      accounts: providers.flatMap(stateOfAccounts),
      certificates: providers.flatMap((provider) => provider.certificateConditions?.() ?? []),
    }),
    ports: { infrastructure: createPort(infrastructure) },
    reload({ infrastructure }) {
      for (const provider of providers) {
        const changed = infrastructure?.providers[provider.id]
        if (changed !== undefined) provider.reload?.(changed)
      }
    },
    async close() {
      programs.sessions.close()
      await tasks.close()
      for (const provider of providers) await provider.close()
    },
  }
}

function applicationsOf(
  providers: readonly CloudProvider[],
  id: string | undefined,
  find: (provider: CloudProvider) => string | undefined,
): string[] {
  const named = providers.filter((provider) => provider.id === id?.toLowerCase())
  return (named.length === 0 ? providers : named).flatMap((provider) => find(provider) ?? [])
}

function stateOfAccounts({ id: provider, accounts }: CloudProvider): AccountState[] {
  return accounts.map(({ name, details }) => ({
    provider,
    account: name,
    isReachable: details?.['unreachable'] === undefined,
  }))
}

/** `Age` and `Warning` of an answer that shows the last state of accounts (RFC 9111, 5.1; RFC 7234, 5.5). */
async function noteAge(
  {
    asked,
    body,
    infrastructure,
  }: { asked: Asked; body: unknown; infrastructure: EmbeddedInfrastructure },
  reply: FastifyReply,
): Promise<void> {
  const { providers, context } = infrastructure
  const named = pathValue(asked, 'account')
  const away = providers
    .flatMap((provider) => [...(provider.absences?.() ?? [])])
    .filter(([account]) => named === '' || account === named)
  if (away.length === 0) return
  const access = await accessOf(asked, infrastructure)
  const shown = away.filter(([account]) => access.mayOnAccount(account, 'READ'))
  if (shown.length === 0) return
  const readAt = numberOf(fieldAt(body, 'unreachable', 'readAt'))
  const times = readAt === undefined ? shown.map(([, { sinceMs }]) => sinceMs) : [readAt]
  reply.header('age', String(Math.max(0, Math.round((context.now() - Math.min(...times)) / 1000))))
  reply.header(
    'warning',
    shown.map(([account, { sinceMs }]) => {
      const since = new Date(sinceMs).toISOString()
      return `110 fairlead "the account ${account} has not answered since ${since}; its last state is shown"`
    }),
  )
}

async function answerRoute(
  route: InfrastructureRoute,
  {
    request,
    reply,
    hasAge,
    infrastructure,
  }: {
    request: FastifyRequest
    reply: FastifyReply
    hasAge: boolean
    infrastructure: EmbeddedInfrastructure
  },
): Promise<FastifyReply> {
  const { params, query, body: sent } = request
  const user = userOf(request)
  const isBounded = queryFlag(request, 'live') !== true
  const caller = { as: trustedCallerOf(request), user, asker: user, isBounded }
  const asked = { params, query, body: sent, ...caller }
  const body = await answer(route, asked, infrastructure)
  if (hasAge && isBounded && route.method === 'GET')
    await noteAge({ asked, body, infrastructure }, reply)
  if (isSlices(body)) return sendSlices(reply, body)
  if (!(body instanceof Written)) return reply.send(body)
  if (isUnchanged(request, reply, body.version)) return reply
  return reply.type('application/json; charset=utf-8').send(body.json)
}
