/** Running applications, their clusters, and the server groups that targets name. */

import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { pathValue, queryFlag, requiredQuery } from '@fairlead/ports/requests/request-values.ts'
import type { LoadBalancer, ServerGroup } from './model.ts'
import {
  type Asked,
  accessOf,
  type EmbeddedInfrastructure,
  get,
  type InfrastructureRoute,
  loadBalancersOf,
  missing,
  providerOf,
  type RouteHandler,
  readableBalancers,
  readableGroups,
  Written,
  writtenList,
} from './route.ts'
import {
  compareText,
  loadBalancerNamesOf,
  namesOf,
  toClusterSummary,
  toClusterView,
  toLoadBalancerView,
  toServerGroupView,
} from './views.ts'

interface TargetQuery {
  readonly target: string
  /** A region or a zone. */
  readonly scope: string
  readonly onlyEnabled: boolean
  /** With one candidate left there is no oldest one. */
  readonly validateOldest: boolean
}

type TargetOutcome =
  | { readonly kind: 'found'; readonly group: ServerGroup }
  | { readonly kind: 'none'; readonly why: string }

type GroupCandidate = ServerGroup & { readonly createdMs: number }

/** Candidates come newest first. */
type Choice = (
  newest: readonly GroupCandidate[],
  validateOldest: boolean,
) => GroupCandidate | undefined

const current: Choice = (newest) => newest[0]
const previous: Choice = (newest) => newest[1]

const choices: Readonly<Record<string, Choice>> = {
  current,
  newest: current,
  previous,
  ancestor: previous,
  oldest: (newest, validateOldest) =>
    validateOldest && newest.length < 2 ? undefined : newest.at(-1),
  // The newest of equal ones.
  largest: (newest) =>
    newest.toSorted((one, other) => other.instances.length - one.instances.length)[0],
  fail: (newest) => (newest.length > 1 ? undefined : newest[0]),
}

export function findTarget(groups: readonly ServerGroup[], query: TargetQuery): TargetOutcome {
  const target = query.target.toLowerCase().replace(/_asg(?:_dynamic)?$/, '')
  const choose = Object.hasOwn(choices, target) ? choices[target] : undefined
  if (choose === undefined)
    return { kind: 'none', why: 'known targets are current, previous, oldest, largest and fail' }
  const candidates = groups
    .filter(({ region, zones }) => region === query.scope || zones.includes(query.scope))
    .filter(({ isDisabled }) => !(query.onlyEnabled && isDisabled))
    .filter((group): group is GroupCandidate => group.createdMs !== undefined)
    // Where times are whole seconds, the numbers of a cluster decide.
    .sort(
      (one, other) =>
        other.createdMs - one.createdMs ||
        (other.moniker.sequence ?? 0) - (one.moniker.sequence ?? 0),
    )
  const group = choose(candidates, query.validateOldest)
  if (group !== undefined) return { kind: 'found', group }
  const isAmbiguous = target === 'fail' && candidates.length > 1
  const names = candidates.map(({ name }) => name).join(', ')
  return {
    kind: 'none',
    why: isAmbiguous ? `several are there: ${names}` : 'there are too few server groups',
  }
}

const cluster = '/applications/:application/clusters/:account/:cluster'

/** An application exists as soon as it has a server group. */
const applications: RouteHandler = async (request, infrastructure) => {
  const isRestricted = queryFlag(request, 'restricted') ?? true
  const access = isRestricted ? await accessOf(request, infrastructure) : undefined
  const shown = [...groupsByApplication(infrastructure)]
    .filter(([name]) => access?.mayOnApplication(name, 'READ') !== false)
    .sort(([one], [other]) => compareText(one, other))
  return writtenList(
    shown.map(([name, groups]) =>
      formatJson({ name, attributes: { name }, clusterNames: clusterNamesByAccount(groups) }),
    ),
  )
}

/** Providers with a remote API give only what is known at present: a list of everything is read often, and not looked at. */
export function groupsByApplication({
  providers,
}: EmbeddedInfrastructure): Map<string, ServerGroup[]> {
  const groups = providers.flatMap((provider) => [
    ...(provider.knownServerGroups?.() ?? provider.serverGroups()),
  ])
  const named = groups.filter(({ moniker }) => moniker.app !== null)
  return Map.groupBy(named, ({ moniker }) => String(moniker.app).toLowerCase())
}

function clusterNamesByAccount(groups: readonly ServerGroup[]): Record<string, string[]> {
  const byAccount = Map.groupBy(groups, ({ account }) => account)
  return Object.fromEntries(
    [...byAccount].map(([account, ofAccount]) => [account, clusterNamesOf(ofAccount)]),
  )
}

function clusterNamesOf(groups: readonly ServerGroup[]): string[] {
  return [...new Set(groups.flatMap(({ moniker }) => moniker.cluster ?? []))].sort()
}

const application: RouteHandler = async (request, infrastructure) => {
  const name = pathValue(request, 'application')
  const groups = await readableGroups(request, infrastructure)
  if (groups.length === 0) throw missing(request, 'Application', 'application')
  const byAccount = Map.groupBy(groups, ({ account }) => account)
  return {
    name: name.toLowerCase(),
    attributes: {
      name: name.toLowerCase(),
      cloudProviders: namesOf(groups.map(({ provider }) => ({ name: provider }))).join(','),
    },
    clusters: Object.fromEntries(
      [...byAccount].map(([account, ofAccount]) => [
        account,
        byCluster(ofAccount).map((ofCluster) => ({
          name: ofCluster[0]?.moniker.cluster,
          provider: ofCluster[0]?.provider,
          loadBalancers: loadBalancerNamesOf(ofCluster),
          serverGroups: namesOf(ofCluster),
        })),
      ]),
    ),
  }
}

function byCluster(groups: readonly ServerGroup[]): ServerGroup[][] {
  return [
    ...Map.groupBy(groups, ({ moniker, provider }) =>
      JSON.stringify([moniker.cluster, provider]),
    ).values(),
  ]
}

const clusterNames: RouteHandler = async (request, infrastructure) =>
  new Written(formatJson(clusterNamesByAccount(await readableGroups(request, infrastructure))))

const clustersOfAccount: RouteHandler = async (request, infrastructure) => {
  const groups = await groupsOfAccount(request, infrastructure)
  if (groups.length === 0) throw missing(request, 'Clusters', 'account', 'application')
  return byCluster(groups).map(toClusterSummary)
}

async function groupsOfAccount(
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
): Promise<ServerGroup[]> {
  const account = pathValue(request, 'account')
  return (await readableGroups(request, infrastructure)).filter(
    (group) => group.account === account,
  )
}

async function groupsOfCluster(
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
): Promise<ServerGroup[]> {
  const name = pathValue(request, 'cluster')
  return (await groupsOfAccount(request, infrastructure)).filter(
    ({ moniker }) => moniker.cluster === name,
  )
}

async function groupsAtProvider(
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
): Promise<ServerGroup[]> {
  const provider = providerOf(infrastructure, pathValue(request, 'provider'))?.id
  return (await groupsOfCluster(request, infrastructure)).filter(
    (group) => group.provider === provider,
  )
}

function noCluster(request: Asked): PortError {
  return missing(request, 'Cluster', 'cluster', 'account', 'application')
}

const clustersOfName: RouteHandler = async (request, infrastructure) => {
  const groups = await groupsOfCluster(request, infrastructure)
  if (groups.length === 0) throw noCluster(request)
  const byProvider = [...Map.groupBy(groups, ({ provider }) => provider).values()]
  return Promise.all(byProvider.map((each) => viewCluster(each, request, infrastructure)))
}

const clusterAtProvider: RouteHandler = async (request, infrastructure) => {
  const groups = await groupsAtProvider(request, infrastructure)
  if (groups.length === 0) throw noCluster(request)
  return viewCluster(groups, request, infrastructure)
}

async function viewCluster(
  groups: readonly ServerGroup[],
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
): Promise<JsonObject> {
  const named = balancersOfGroups(groups, loadBalancersOf(infrastructure))
  const balancers = await readableBalancers(request, infrastructure, named)
  return toClusterView(groups, balancers, infrastructure.context.now())
}

export function balancersOfGroups(
  groups: readonly ServerGroup[],
  balancers: readonly LoadBalancer[],
): LoadBalancer[] {
  const key = (place: { account: string; region: string }, name: string) =>
    JSON.stringify([place.account, place.region, name])
  const named = new Set(
    groups.flatMap((group) => group.loadBalancers.map((name) => key(group, name))),
  )
  return balancers.filter((balancer) => named.has(key(balancer, balancer.name)))
}

const clusterBalancers: RouteHandler = async (request, infrastructure) => {
  const named = balancersOfGroups(
    await groupsAtProvider(request, infrastructure),
    loadBalancersOf(infrastructure),
  )
  return (await readableBalancers(request, infrastructure, named)).map(toLoadBalancerView)
}

const scalingActivities: RouteHandler = async (request, infrastructure) => {
  const region = requiredQuery(request, 'region')
  const name = pathValue(request, 'name')
  const group = (await groupsAtProvider(request, infrastructure)).find(
    (one) => one.name === name && one.region === region,
  )
  const provider = providerOf(infrastructure, pathValue(request, 'provider'))
  const activities = group && provider?.scalingActivities(group)
  if (activities === undefined) throw noCluster(request)
  return activities
}

const target: RouteHandler = async (request, infrastructure) => {
  const outcome = findTarget(await groupsAtProvider(request, infrastructure), {
    target: pathValue(request, 'target'),
    scope: pathValue(request, 'scope'),
    onlyEnabled: queryFlag(request, 'onlyEnabled') ?? false,
    validateOldest: queryFlag(request, 'validateOldest') ?? true,
  })
  if (outcome.kind === 'found')
    return toServerGroupView(outcome.group, infrastructure.context.now())
  const place = ['provider', 'account', 'scope', 'cluster']
    .map((name) => pathValue(request, name))
    .join('/')
  throw new PortError(
    404,
    `unable to find ${pathValue(request, 'target')} in ${place}: ${outcome.why}`,
  )
}

const reads = ['application', 'account'] as const

export const runningApplications = get('/applications', applications)
export const clustersByAccount = get('/applications/:application/clusters', clusterNames, [
  'application',
])
export const clusterByPlace = get(`${cluster}/:provider`, clusterAtProvider, reads)
export const targetByWord = get(
  `${cluster}/:provider/:scope/serverGroups/target/:target`,
  target,
  reads,
)

export const clusterRoutes: InfrastructureRoute[] = [
  runningApplications,
  get('/applications/:application', application, ['application']),
  clustersByAccount,
  get('/applications/:application/clusters/:account', clustersOfAccount, reads),
  get(cluster, clustersOfName, reads),
  clusterByPlace,
  get(`${cluster}/:provider/loadBalancers`, clusterBalancers, reads),
  get(`${cluster}/:provider/serverGroups/:name/scalingActivities`, scalingActivities, reads),
  targetByWord,
]
