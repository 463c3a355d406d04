/** Choices of a deployment: networks, instance types, key pairs, certificates and the like. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Access } from '@fairlead/ports/access.ts'
import { pathValue, pathValues, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { Account, SecurityGroup } from './model.ts'
import type { CloudProvider } from './provider.ts'
import {
  type Asked,
  accessOf,
  type EmbeddedInfrastructure,
  get,
  type InfrastructureRoute,
  isReadable,
  none,
  notFound,
  providerOf,
  type RouteHandler,
  securityGroupsOf,
} from './route.ts'
import { byName, toAccountView, toSecurityGroupSummary, toSecurityGroupView } from './views.ts'

/** Unfiltered: the permission service reads them to know who may use them. */
const accounts: RouteHandler = (_request, { providers, marks }) =>
  providers.flatMap((provider) => provider.accounts).map((account) => toAccountView(account, marks))

const accountsOfType: RouteHandler = (request, { providers, marks }) =>
  providers
    .filter(({ id }) => id === pathValue(request, 'accountType'))
    .flatMap((provider) => provider.accounts)
    .map((account) => toAccountView(account, marks))

const account: RouteHandler = (request, infrastructure) =>
  toAccountView(requireAccount(request, infrastructure), infrastructure.marks)

/** @throws {PortError} 404 */
function requireAccount(request: Asked, { providers }: EmbeddedInfrastructure): Account {
  const name = pathValue(request, 'account')
  const found = providers.flatMap((provider) => provider.accounts).find((one) => one.name === name)
  if (found === undefined) throw new PortError(404, `Account does not exist (name: ${name})`)
  return found
}

const removed: RouteHandler = (request, infrastructure) => {
  requireAccount(request, infrastructure)
  return notStored(request, infrastructure)
}

const notStored: RouteHandler = () => {
  throw new PortError(
    400,
    'Account definitions cannot be stored in this installation. Write them into its configuration (local.accounts), or connect ' +
      'an infrastructure service that stores them (services.clouddriver.baseUrl).',
  )
}

export const allAccounts = get('/credentials', accounts)

export const accountRoutes: InfrastructureRoute[] = [
  allAccounts,
  get('/credentials/:account', account),
  get('/credentials/type/:accountType', accountsOfType),
  { method: 'POST', path: '/credentials', answer: notStored },
  { method: 'PUT', path: '/credentials', answer: notStored },
  { method: 'DELETE', path: '/credentials/:account', answer: removed },
]

const all: RouteHandler = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  const groups = securityGroupsOf(infrastructure).filter(({ account }) =>
    access.mayOnAccount(account, 'READ'),
  )
  return nest(groups, [
    ({ account }) => account,
    ({ provider }) => provider,
    ({ region }) => region,
  ])
}

type GroupKey = (group: SecurityGroup) => string

function nest(groups: readonly SecurityGroup[], [key, ...rest]: readonly GroupKey[]): unknown {
  if (key === undefined) return groups.map(toSecurityGroupSummary).sort(byName)
  const grouped = Map.groupBy(groups, key)
  return Object.fromEntries([...grouped].map(([name, each]) => [name, nest(each, rest)]))
}

const ofProvider: RouteHandler = (request, infrastructure) => {
  const region = queryValue(request, 'region')
  const groups = groupsOf(request, infrastructure).filter(
    (group) => region === undefined || group.region === region,
  )
  return nest(groups, region === undefined ? [(group) => group.region] : [])
}

function groupsOf(request: Asked, infrastructure: EmbeddedInfrastructure): SecurityGroup[] {
  const { account, provider } = pathValues(request, 'account', 'provider')
  return securityGroupsOf(infrastructure).filter(
    (group) => group.account === account && group.provider === provider.toLowerCase(),
  )
}

const details: RouteHandler = (request, infrastructure) => {
  const { region, name } = pathValues(request, 'region', 'name')
  const vpcId = queryValue(request, 'vpcId') ?? '*'
  const found = groupsOf(request, infrastructure).filter(
    (group) =>
      group.region === region &&
      group.name === name &&
      (vpcId === '*' || (group.vpcId ?? '') === vpcId),
  )
  const [only] = found
  if (only === undefined || found.length > 1)
    throw new PortError(404, `Security group '${name}' does not exist`)
  return toSecurityGroupView(only)
}

const reads = ['account'] as const

export const securityGroupByName = get(
  '/securityGroups/:account/:provider/:region/:name',
  details,
  reads,
)

export const securityGroupRoutes: InfrastructureRoute[] = [
  get('/securityGroups', all),
  get('/securityGroups/:account/:provider', ofProvider, reads),
  securityGroupByName,
]

type LookupKind = 'networks' | 'subnets' | 'instanceTypes' | 'certificates'

/** Clients of the oldest paths mean every provider and write `aws`. */
const alias = 'aws'

function ofAll(kind: LookupKind): RouteHandler {
  return async (request, infrastructure) => {
    const access = await accessOf(request, infrastructure)
    return infrastructure.providers.flatMap((provider) => readableOf(provider, kind, access))
  }
}

function ofOne(kind: LookupKind): RouteHandler {
  return async (request, infrastructure) => {
    const id = pathValue(request, 'provider')
    const provider = providerOf(infrastructure, id)
    if (provider !== undefined)
      return readableOf(provider, kind, await accessOf(request, infrastructure))
    return id === alias && kind !== 'certificates' ? ofAll(kind)(request, infrastructure) : []
  }
}

function readableOf(provider: CloudProvider, kind: LookupKind, access: Access): JsonObject[] {
  return (provider[kind]?.() ?? [])
    .filter(({ account, accountName }) =>
      access.mayOnAccount(String(account ?? accountName), 'READ'),
    )
    .sort(byName)
}

const networksByProvider: RouteHandler = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  return Object.fromEntries(
    infrastructure.providers.map((provider) => [
      provider.id,
      readableOf(provider, 'networks', access),
    ]),
  )
}

const operationNames: RouteHandler = (_request, { providers }) =>
  [...new Set(providers.flatMap(({ operations }) => Object.keys(operations)))]
    .sort()
    .map((name) => ({ name, enabled: true }))

const descriptions: RouteHandler = (_request, { types }) =>
  types.map(({ id, description }) => ({ id, ...description }))

const metrics: RouteHandler = (request, infrastructure) => {
  const { provider, account, region } = pathValues(request, 'provider', 'account', 'region')
  const names = infrastructure.types.find(({ id }) => id === provider)?.description.metrics ?? []
  return names.map((name) => ({
    cloudProvider: provider,
    account,
    region,
    namespace: 'Fairlead',
    id: name,
    name,
  }))
}

const noMetric = notFound('Metric', 'metric', 'account', 'region')

const statistics: RouteHandler = async (request, infrastructure) => {
  const { provider, account, region, metric } = pathValues(
    request,
    'provider',
    'account',
    'region',
    'metric',
  )
  const found = providerOf(infrastructure, provider)
  const group =
    found?.metrics && found.serverGroup(account, region, queryValue(request, 'serverGroup') ?? '')
  if (found?.metrics === undefined || group === undefined) return noMetric(request, infrastructure)
  if (!isReadable(await accessOf(request, infrastructure), group))
    return noMetric(request, infrastructure)
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
export const statisticsOfGroup = get(
  '/cloudMetrics/:provider/:account/:region/:metric/statistics',
  statistics,
)

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
