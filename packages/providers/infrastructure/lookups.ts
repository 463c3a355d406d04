/** Choices of a deployment: networks, instance types, key pairs, certificates and the like. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Access } from '@fairlead/ports/access.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { pathValue, pathValues, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { CloudProvider } from './provider.ts'
import { type Answer, accessOf, get, type InfrastructureRoute, isReadable, none, notFound, providerOf } from './route.ts'
import { byName } from './views.ts'

type Kind = 'networks' | 'subnets' | 'instanceTypes' | 'certificates'

/** Clients of the oldest paths mean every provider and write `aws`. */
const alias = 'aws'

function ofAll(kind: Kind): Answer {
  return async (request, infrastructure) => {
    const access = await accessOf(request, infrastructure)
    return infrastructure.providers.flatMap((provider) => listOf(provider, kind, access))
  }
}

function ofOne(kind: Kind): Answer {
  return async (request, infrastructure) => {
    const id = pathValue(request, 'provider')
    const provider = providerOf(infrastructure, id)
    if (provider !== undefined) return listOf(provider, kind, await accessOf(request, infrastructure))
    return id === alias && kind !== 'certificates' ? ofAll(kind)(request, infrastructure) : []
  }
}

/** Those of accounts that the caller may read. */
function listOf(provider: CloudProvider, kind: Kind, access: Access): JsonObject[] {
  return (provider[kind]?.() ?? [])
    .filter(({ account, accountName }) => access.mayOnAccount(String(account ?? accountName), 'READ'))
    .sort(byName)
}

const networksByProvider: Answer = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  return Object.fromEntries(infrastructure.providers.map((provider) => [provider.id, listOf(provider, 'networks', access)]))
}

const operationNames: Answer = (_request, { providers }) =>
  [...new Set(providers.flatMap(({ operations }) => Object.keys(operations)))].sort().map((name) => ({ name, enabled: true }))

const descriptions: Answer = (_request, { types }) => types.map(({ id, description }) => ({ id, ...description }))

const metrics: Answer = (request, infrastructure) => {
  const { provider, account, region } = pathValues(request, 'provider', 'account', 'region')
  const names = infrastructure.types.find(({ id }) => id === provider)?.description.metrics ?? []
  return names.map((name) => ({ cloudProvider: provider, account, region, namespace: 'Fairlead', id: name, name }))
}

const noMetric = notFound('Metric', 'metric', 'account', 'region')

/** Statistics of the server group that the query names. */
const statistics: Answer = async (request, infrastructure) => {
  const { provider, account, region, metric } = pathValues(request, 'provider', 'account', 'region', 'metric')
  const found = providerOf(infrastructure, provider)
  const group = found?.metrics && found.serverGroup(account, region, queryValue(request, 'serverGroup') ?? '')
  if (found?.metrics === undefined || group === undefined) return noMetric(request, infrastructure)
  if (!isReadable(await accessOf(request, infrastructure), group)) return noMetric(request, infrastructure)
  const values = await found.metrics.statistics(metric, group).catch((error: Error) => {
    throw new PortError(503, error.message)
  })
  return values ?? noMetric(request, infrastructure)
}

/** No provider here has any of these. */
const unknownHere = [
  '/keyPairs',
  '/roles/:provider',
  '/storage',
  '/installedPlugins',
  '/servicebroker/:account/services',
  '/ecs/ecsClusters',
  '/ecs/ecsClusterDescriptions/:account/:region',
  '/ecs/cloudMetrics/alarms',
  '/ecs/secrets',
  '/ecs/serviceDiscoveryRegistries',
]

export const knownOperations = get('/features/stages', operationNames)
export const statisticsOfGroup = get('/cloudMetrics/:provider/:account/:region/:metric/statistics', statistics)

export const lookupRoutes: InfrastructureRoute[] = [
  get('/networks', networksByProvider),
  get('/networks/:provider', ofOne('networks')),
  get('/subnets/:provider', ofOne('subnets')),
  get('/instanceTypes', ofAll('instanceTypes')),
  get('/certificates', ofAll('certificates')),
  get('/certificates/:provider', ofOne('certificates')),
  knownOperations,
  get('/capabilities/cloudProviders', descriptions),
  get('/cloudMetrics/:provider/:account/:region', metrics),
  statisticsOfGroup,
  get('/servicebroker/:account/serviceInstance', notFound('Service instance', 'account')),
  ...unknownHere.map((path) => get(path, none)),
]
