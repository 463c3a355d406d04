/** Choices of a deployment: networks, instance types, key pairs, certificates and the like. */
import type { JsonObject } from '../../json/values.ts'
import { pathValue } from '../requests/request-values.ts'
import type { Access } from '../rights/access.ts'
import type { CloudProvider } from './provider.ts'
import { accessOf, type InfrastructureRoute, none, notFound, providerOf } from './route.ts'
import { byName } from './views.ts'

type Kind = 'networks' | 'subnets' | 'instanceTypes' | 'certificates'

/** Clients of the oldest paths mean every provider and write `aws`. */
const alias = 'aws'

function ofAll(kind: Kind): InfrastructureRoute['answer'] {
  return async (request, infrastructure) => {
    const access = await accessOf(request, infrastructure)
    return infrastructure.providers.flatMap((provider) => listOf(provider, kind, access))
  }
}

function ofOne(kind: Kind): InfrastructureRoute['answer'] {
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

const networksByProvider: InfrastructureRoute['answer'] = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  return Object.fromEntries(infrastructure.providers.map((provider) => [provider.id, listOf(provider, 'networks', access)]))
}

const operationNames: InfrastructureRoute['answer'] = (_request, { providers }) =>
  [...new Set(providers.flatMap(({ operations }) => Object.keys(operations)))].sort().map((name) => ({ name, enabled: true }))

const descriptions: InfrastructureRoute['answer'] = (_request, { types }) =>
  types.map(({ id, description }) => ({ id, ...description }))

export const lookupRoutes: InfrastructureRoute[] = [
  { method: 'GET', path: '/networks', answer: networksByProvider },
  { method: 'GET', path: '/networks/:provider', answer: ofOne('networks') },
  { method: 'GET', path: '/subnets/:provider', answer: ofOne('subnets') },
  { method: 'GET', path: '/instanceTypes', answer: ofAll('instanceTypes') },
  { method: 'GET', path: '/certificates', answer: ofAll('certificates') },
  { method: 'GET', path: '/certificates/:provider', answer: ofOne('certificates') },
  { method: 'GET', path: '/features/stages', answer: operationNames },
  { method: 'GET', path: '/capabilities/cloudProviders', answer: descriptions },
  ...['/keyPairs', '/roles/:provider', '/storage', '/installedPlugins'].map(listed),

  listed('/cloudMetrics/:provider/:account/:region'),
  {
    method: 'GET',
    path: '/cloudMetrics/:provider/:account/:region/:metric/statistics',
    answer: notFound('Metric', 'metric', 'account', 'region'),
  },
  listed('/servicebroker/:account/services'),
  { method: 'GET', path: '/servicebroker/:account/serviceInstance', answer: notFound('Service instance', 'account') },
  ...['/ecs/ecsClusters', '/ecs/ecsClusterDescriptions/:account/:region', '/ecs/cloudMetrics/alarms'].map(listed),
  ...['/ecs/secrets', '/ecs/serviceDiscoveryRegistries'].map(listed),
]

function listed(path: string): InfrastructureRoute {
  return { method: 'GET', path, answer: none }
}
