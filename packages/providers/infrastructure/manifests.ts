/** Manifests: by name, and those of a cluster. */

import { shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textOf } from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  pathValue,
  pathValues,
  queryFlag,
  queryValue,
} from '@fairlead/ports/requests/request-values.ts'
import type { ClusterMember } from './provider.ts'
import {
  type Asked,
  accessOf,
  checkOwners,
  checkRight,
  type EmbeddedInfrastructure,
  get,
  type InfrastructureRoute,
  isReadable,
  type RouteHandler,
} from './route.ts'

const toPlace = shape({ account: textOf, location: textOf })
const toOwner = shape({ account: textOf, application: textOf })

const drift: RouteHandler = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  const place = toPlace({
    account: queryValue(request, 'account'),
    location: queryValue(request, 'location'),
  })
  const takesLast = request.isBounded === true
  const wanted = { application: pathValue(request, 'application'), takesLast, ...place }
  const found = await Promise.all(
    infrastructure.providers.map(
      ({ manifests }) =>
        manifests?.drift({
          ...wanted,
          isReadable: (account) => access.mayOnAccount(account, 'READ'),
        }) ?? [],
    ),
  )
  return found
    .flat()
    .filter((resource) => isReadable(access, resource))
    .map(({ view }) => view)
}

/** Needs what the deployment needs: it shows what is there now. */
const plan: RouteHandler = async (request, infrastructure) => {
  const description = objectOf(request.body)
  const { account, application } = toOwner(description)
  if (account === undefined || application === undefined) {
    throw new PortError(
      400,
      'A plan needs "account", "application" and "manifests", a list of objects.',
    )
  }
  const access = await accessOf(request, infrastructure)
  checkRight(access, { kind: 'account', name: account, right: 'WRITE' })
  checkRight(access, { kind: 'application', name: application, right: 'WRITE' })
  for (const { accounts, manifests } of infrastructure.providers) {
    if (manifests !== undefined && accounts.some(({ name }) => name === account)) {
      return manifests.plan(
        { ...description, account, moniker: { app: application } },
        request.user,
      )
    }
  }
  throw new PortError(
    400,
    `The account "${account}" does not exist at a provider that deploys manifests.`,
  )
}

export const driftOfApplication = get('/applications/:application/drift', drift, ['application'])

export const manifestChangeRoutes: InfrastructureRoute[] = [
  driftOfApplication,
  { method: 'POST', path: '/manifests/plan', answer: plan },
]

/** Cluster-wide objects have it in place of a location. */
const noLocation = '_'

const manifest: RouteHandler = async (request, infrastructure) => {
  const { account, name } = pathValues(request, 'account', 'name')
  const location = pathValue(request, 'location') || noLocation
  const access = await accessOf(request, infrastructure)
  const choice = {
    includesEvents: queryFlag(request, 'includeEvents') ?? true,
    includesCollected: queryFlag(request, 'includeCollected') ?? false,
    takesLast: request.isBounded === true,
    includesSecrets: access.mayOnAccount(account, 'WRITE'),
  }
  for (const { manifests } of infrastructure.providers) {
    const found = await manifests?.find({ account, location, name }, choice)
    if (found === undefined) continue
    await checkOwners(request, infrastructure, found)
    return found.view
  }
  throw new PortError(404, `Unable to find ${name} in ${account}/${location}`)
}

const manifestsOfCluster: RouteHandler = async (request, infrastructure) => {
  const members = await membersOf(request, infrastructure)
  return members.map(({ view }) => view)
}

async function membersOf(
  request: Asked,
  { providers }: EmbeddedInfrastructure,
): Promise<ClusterMember[]> {
  const named = pathValues(request, 'account', 'location', 'kind', 'application', 'cluster')
  const wanted = { ...named, takesLast: request.isBounded === true }
  const found = await Promise.all(
    providers.map(({ manifests }) => manifests?.ofCluster(wanted) ?? []),
  )
  return found.flat()
}

/** Members come oldest first. */
const criteria: Readonly<
  Record<string, (members: readonly ClusterMember[]) => ClusterMember | undefined>
> = {
  newest: (members) => members.at(-1),
  second_newest: (members) => members.at(-2),
  oldest: ([first]) => first,
  largest: (members) => members.toSorted((one, other) => other.replicas - one.replicas)[0],
  smallest: (members) => members.toSorted((one, other) => one.replicas - other.replicas)[0],
}

const dynamicManifest: RouteHandler = async (request, infrastructure) => {
  const criterion = pathValue(request, 'criteria').toLowerCase()
  const choose = Object.hasOwn(criteria, criterion) ? criteria[criterion] : undefined
  if (choose === undefined)
    throw new PortError(400, describeChoice(criterion, 'a criterion', Object.keys(criteria)))
  const found = choose(await membersOf(request, infrastructure))
  if (found !== undefined) return found.view
  const { account, location, kind, application, cluster } = pathValues(
    request,
    'account',
    'location',
    'kind',
    'application',
    'cluster',
  )
  throw new PortError(
    404,
    `Unable to find the ${criterion} ${kind} of the cluster "${cluster}" of ${application} in ${account}/${location}`,
  )
}

const reads = ['application', 'account'] as const
const cluster = '/manifests/:account/:location/:kind/cluster/:application/:cluster'

export const manifestByName = get('/manifests/:account/:location/:name', manifest, ['account'])
export const clusterManifests = get(cluster, manifestsOfCluster, reads)
export const manifestByCriteria = get(`${cluster}/dynamic/:criteria`, dynamicManifest, reads)

export const manifestRoutes: InfrastructureRoute[] = [
  get('/manifests/:account/:name', manifest, ['account']),
  manifestByName,
  clusterManifests,
  manifestByCriteria,
]
