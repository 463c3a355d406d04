/** Search: applications and projects of the definition store, and everything that providers report. */
import { formatJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { encodeValue } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { queryValue, queryValues } from '@fairlead/ports/requests/request-values.ts'
import { listSlices } from '@fairlead/ports/requests/slices.ts'
import { StoredLists } from '@fairlead/ports/stored-lists.ts'
import { groupsByApplication } from './clusters.ts'
import type { Instance, LoadBalancer, Owned, SecurityGroup, ServerGroup } from './model.ts'
import {
  type Asked,
  accessOf,
  type EmbeddedInfrastructure,
  get,
  loadBalancersOf,
  mayRead,
  ownersOf,
  type RouteHandler,
  securityGroupsOf,
  serverGroupsOf,
} from './route.ts'

/** Query parameters with a meaning of their own; every other one filters the field of its name. */
const ownParameters = new Set([
  'q',
  'type',
  'platform',
  'page',
  'pageSize',
  'allowShortQuery',
  'cloudProvider',
])

/** @see docs/contracts/infrastructure.md#search */
const search: RouteHandler = async (request, infrastructure) => {
  const types = queryValues(request, 'type').flatMap((value) =>
    value.split(',').filter((type) => type !== ''),
  )
  if (types.length === 0) throw new PortError(400, 'The query parameter "type" is required.')
  const pageNumber = positive(queryValue(request, 'page'), 1)
  const pageSize = positive(queryValue(request, 'pageSize'), 10_000)
  const query = queryValue(request, 'q') ?? ''
  const filters = filtersOf(request)
  const wanted = query === '' ? ([...filters.values()][0]?.[0] ?? '') : query
  const access = await accessOf(request, infrastructure)
  const isShown = (hit: Hit) =>
    isShownTo(access, hit) && (filters.size === 0 || matches(hit.toResult(), filters))
  const ranked: Hit[][] = []
  for (const type of new Set(types))
    ranked.push(await find(infrastructure, type, { wanted, isShown }))
  const found = ranked.flat()
  const page = found.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
  const platform = queryValue(request, 'platform') ?? ''
  const set = formatJson({ pageNumber, pageSize, query, platform, totalMatches: found.length })
  const write = (hit: Hit) => formatJson(withReadableAccounts(hit.toResult(), access))
  return listSlices(page, { write, head: `[${set.slice(0, -1)},"results":[`, tail: ']}]' })
}

function isShownTo(access: Access, { owners = [], account }: Hit): boolean {
  if (!owners.every((name) => mayRead(access, name, 'application'))) return false
  return account == null || mayRead(access, account, 'account')
}

/** Applications name the accounts where they run. */
function withReadableAccounts(result: JsonObject, access: Access): JsonObject {
  if (!Array.isArray(result['accounts'])) return result
  return {
    ...result,
    accounts: result['accounts'].filter((account) => access.mayOnAccount(String(account), 'READ')),
  }
}

function filtersOf(request: Asked): ReadonlyMap<string, string[]> {
  const names = Object.keys({ ...(request.query as object) }).filter(
    (name) => !ownParameters.has(name),
  )
  const filters = names.map(
    (name) => [name, queryValues(request, name).flatMap((value) => value.split(','))] as const,
  )
  const provider = queryValue(request, 'cloudProvider')
  return new Map([
    ...filters,
    ...(provider === undefined ? [] : [['provider', [provider]] as [string, string[]]]),
  ])
}

function matches(result: JsonObject, filters: ReadonlyMap<string, string[]>): boolean {
  return [...filters].every(
    ([name, values]) =>
      Object.hasOwn(result, name) &&
      values.some((value) => value.toLowerCase() === String(result[name]).toLowerCase()),
  )
}

interface Hit {
  readonly keys: readonly string[]
  /** Who reads each of these applications sees it. */
  readonly owners?: readonly string[]
  readonly account?: string | null
  readonly toResult: () => JsonObject
}

type HitSource = (infrastructure: EmbeddedInfrastructure) => Hit[] | Promise<Hit[]>

interface Wanted {
  readonly wanted: string
  readonly isShown: (hit: Hit) => boolean
}

/** Hits by the position of the query in their keys, then by key. */
async function find(
  infrastructure: EmbeddedInfrastructure,
  type: string,
  { wanted, isShown }: Wanted,
): Promise<Hit[]> {
  const part = wanted.toLowerCase()
  const found = await flatMapInTurns(await hitsOf(infrastructure, type), (hit) => {
    const keys = hit.keys.map((key) => key.toLowerCase())
    if (!keys.some((key) => key.includes(part)) || !isShown(hit)) return []
    const text = keys.join(' ')
    return [{ hit, text, at: text.indexOf(part) }]
  })
  found.sort((one, other) => one.at - other.at || (one.text < other.text ? -1 : 1))
  return found.map(({ hit }) => hit)
}

const sources: Readonly<Record<string, HitSource>> = {
  applications: findApplications,
  projects: async ({ context }) =>
    (await loadAll(context, 'projects')).map((stored) => {
      const applications = textsOf(objectOf(stored['config'])['applications'])
      const toResult = () => ({
        ...stored,
        type: 'projects',
        provider: '',
        applications,
        url: `/projects/${String(stored['id'])}`,
      })
      return { keys: [textOf(stored['name']) ?? '', ...applications], toResult }
    }),
  clusters: (infrastructure) => {
    const byCluster = Map.groupBy(
      serverGroupsOf(infrastructure),
      ({ account, moniker, provider }) => JSON.stringify([account, provider, moniker.cluster]),
    )
    return [...byCluster.values()].flatMap(([first]) =>
      first === undefined ? [] : toClusterHit(first),
    )
  },
  serverGroups: (infrastructure) => serverGroupsOf(infrastructure).map(toServerGroupHit),
  instances: (infrastructure) => [
    ...serverGroupsOf(infrastructure).flatMap((group) =>
      group.instances.map((instance) => toInstanceHit(instance, group)),
    ),
    ...infrastructure.providers.flatMap((provider) =>
      provider
        .detachedInstances()
        .map((instance) => toInstanceHit(instance, undefined, provider.id)),
    ),
  ],
  loadBalancers: (infrastructure) => loadBalancersOf(infrastructure).map(toLoadBalancerHit),
  securityGroups: (infrastructure) => securityGroupsOf(infrastructure).map(toSecurityGroupHit),
}

/** A provider may have results of its own for a kind, also for those that all have. */
async function hitsOf(infrastructure: EmbeddedInfrastructure, type: string): Promise<Hit[]> {
  const source = Object.hasOwn(sources, type) ? sources[type] : undefined
  const own = infrastructure.providers.map(({ hits }) =>
    hits !== undefined && Object.hasOwn(hits, type) ? hits[type] : undefined,
  )
  const providers = infrastructure.providers.filter((_, index) => own[index] === undefined)
  return [
    ...((await source?.({ ...infrastructure, providers })) ?? []),
    ...own.flatMap((list) => list?.() ?? []).map((hit) => toHit(hit, hit.keys, () => hit.view)),
  ]
}

async function findApplications(infrastructure: EmbeddedInfrastructure): Promise<Hit[]> {
  const stored = await loadAll(infrastructure.context, 'applications')
  const running = groupsByApplication(infrastructure)
  const known = new Set<string>()
  const toApplicationHit = (attributes: JsonObject): Hit => {
    const application = (textOf(attributes['name']) ?? '').toLowerCase()
    known.add(application)
    const toResult = () => {
      const accounts = [...new Set(running.get(application)?.map(({ account }) => account))]
      const url = `/applications/${application}`
      return { ...attributes, type: 'applications', provider: '', application, accounts, url }
    }
    return { keys: [application], owners: [application], toResult }
  }
  const hits = await flatMapInTurns(stored, (attributes) => [toApplicationHit(attributes)])
  const others = [...running.keys()].filter((name) => !known.has(name))
  return [...hits, ...others.map((name) => toApplicationHit({ name }))]
}

function toHit(owned: Owned, keys: readonly string[], toResult: Hit['toResult']): Hit {
  return { keys, account: owned.account, owners: ownersOf(owned), toResult }
}

function toClusterHit(group: ServerGroup): Hit {
  const { provider, account, moniker } = group
  const { app: application, stack, detail } = moniker
  const cluster = moniker.cluster ?? ''
  const url = clusterUrl(application, account, cluster)
  return toHit(group, [cluster], () => ({
    type: 'clusters',
    provider,
    account,
    application,
    cluster,
    stack,
    detail,
    url,
  }))
}

function toServerGroupHit(group: ServerGroup): Hit {
  const { provider, account, region, name, moniker } = group
  const { app: application, stack, detail, cluster, sequence } = moniker
  return toHit(group, [name], () => {
    const path = `${clusterUrl(application, account, cluster ?? '')}/${provider}/serverGroups/${encodeValue(name)}`
    return {
      type: 'serverGroups',
      provider,
      account,
      region,
      application,
      cluster,
      serverGroup: name,
      stack,
      detail,
      sequence: sequence === null ? null : String(sequence),
      url: `${path}?region=${encodeValue(region)}`,
    }
  })
}

function toLoadBalancerHit(balancer: LoadBalancer): Hit {
  const { provider, account, region, name, moniker, vpcId, loadBalancerType } = balancer
  const { app: application, stack, detail } = moniker
  return toHit(balancer, [name], () => {
    const url = `/${provider}/loadBalancers/${encodeValue(name)}`
    const place = { type: 'loadBalancers', provider, account, region, loadBalancer: name }
    return { ...place, application, stack, detail, vpcId, loadBalancerType, url }
  })
}

function toSecurityGroupHit(group: SecurityGroup): Hit {
  const { provider, account, region, id, name, moniker, vpcId } = group
  return toHit(group, [name, id], () => {
    const url = `/securityGroups/${[account, provider, name].map(encodeValue).join('/')}?region=${encodeValue(region)}`
    return {
      type: 'securityGroups',
      provider,
      account,
      region,
      id,
      name,
      application: moniker.app,
      vpcId,
      url,
    }
  })
}

function clusterUrl(application: string | null, account: string, cluster: string): string {
  return `/applications/${encodeValue(application ?? '')}/clusters/${[account, cluster].map(encodeValue).join('/')}`
}

function toInstanceHit(
  instance: Instance,
  group: ServerGroup | undefined,
  provider = group?.provider,
): Hit {
  const { id, account, region, moniker } = instance
  return toHit(instance, [id, group?.name ?? ''], () => {
    const owner = group && {
      application: moniker.app,
      cluster: moniker.cluster,
      serverGroup: group.name,
    }
    return { type: 'instances', provider, account, region, instanceId: id, ...owner }
  })
}

/** Users search again with each letter; megabytes are not kept longer than that takes. */
const keptMs = 30_000
const keptLists = new WeakMap<BackendContext, StoredLists<JsonObject>>()

/** A source that fails contributes nothing. */
async function loadAll(
  context: BackendContext,
  kind: 'applications' | 'projects',
): Promise<readonly JsonObject[]> {
  const { definitions } = context.ports
  const kept = keptLists.getOrInsertComputed(
    context,
    () => new StoredLists({ toEntry: (stored) => stored, keptMs }),
  )
  try {
    return await kept.load(definitions, { key: kind, kind }, () => definitions[kind](itself))
  } catch (error) {
    context.log.warn({ err: error }, 'the definition store cannot be searched')
    return []
  }
}

function positive(text: string | undefined, otherwise: number): number {
  const value = Number(text)
  return Number.isSafeInteger(value) && value > 0 ? value : otherwise
}

export const searchRoute = get('/search', search)
