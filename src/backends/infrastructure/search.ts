/** Search: applications and projects of the definition store, and everything that providers report. */
import type { FastifyRequest } from 'fastify'
import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../json/values.ts'
import type { Access } from '../access.ts'
import { type BackendContext, BackendError } from '../backend.ts'
import { parseMoniker } from '../moniker.ts'
import { groupsByApplication } from './clusters.ts'
import type { Instance, ServerGroup } from './model.ts'
import {
  accessOf,
  type Infrastructure,
  type InfrastructureRoute,
  loadBalancersOf,
  queryValue,
  queryValues,
  securityGroupsOf,
  serverGroupsOf,
} from './route.ts'

/** Query parameters with a meaning of their own; every other one filters the field of its name. */
const ownParameters = new Set(['q', 'type', 'platform', 'page', 'pageSize', 'allowShortQuery', 'cloudProvider'])

/** @see docs/contracts/infrastructure.md#search */
const search: InfrastructureRoute['answer'] = async (request, infrastructure) => {
  const types = queryValues(request, 'type').flatMap((value) => value.split(',').filter((type) => type !== ''))
  if (types.length === 0) throw new BackendError(400, 'The query parameter "type" is required.')
  const pageNumber = positive(queryValue(request, 'page'), 1)
  const pageSize = positive(queryValue(request, 'pageSize'), 10_000)
  const query = queryValue(request, 'q') ?? ''
  const filters = filtersOf(request)
  const wanted = query === '' ? ([...filters.values()][0]?.[0] ?? '') : query
  const access = await accessOf(request, infrastructure)
  const found = (await Promise.all(types.map((type) => find(infrastructure, type, wanted))))
    .flat()
    .filter((result) => matches(result, filters))
    .filter(({ application }) => typeof application !== 'string' || access.mayOnApplication(application, 'READ'))
    .filter(({ account }) => typeof account !== 'string' || access.mayOnAccount(account, 'READ'))
    .map((result) => withReadableAccounts(result, access))
  return [
    {
      pageNumber,
      pageSize,
      query,
      platform: queryValue(request, 'platform') ?? '',
      totalMatches: found.length,
      results: found.slice((pageNumber - 1) * pageSize, pageNumber * pageSize),
    },
  ]
}

/** Applications name the accounts where they run. */
function withReadableAccounts(result: JsonObject, access: Access): JsonObject {
  if (!Array.isArray(result['accounts'])) return result
  return { ...result, accounts: result['accounts'].filter((account) => access.mayOnAccount(String(account), 'READ')) }
}

/** By field; a value may be a comma list. */
function filtersOf(request: FastifyRequest): ReadonlyMap<string, string[]> {
  const names = Object.keys({ ...(request.query as object) }).filter((name) => !ownParameters.has(name))
  const filters = names.map((name) => [name, queryValues(request, name).flatMap((value) => value.split(','))] as const)
  const provider = queryValue(request, 'cloudProvider')
  return new Map([...filters, ...(provider === undefined ? [] : [['provider', [provider]] as [string, string[]]])])
}

function matches(result: JsonObject, filters: ReadonlyMap<string, string[]>): boolean {
  return [...filters].every(
    ([name, values]) =>
      Object.hasOwn(result, name) && values.some((value) => value.toLowerCase() === String(result[name]).toLowerCase()),
  )
}

interface Hit {
  /** What the query is looked for in. */
  keys: string[]
  result: JsonObject
}

type Source = (infrastructure: Infrastructure) => Hit[] | Promise<Hit[]>

async function find(infrastructure: Infrastructure, type: string, query: string): Promise<JsonObject[]> {
  const source = sources[type]
  if (source === undefined || !Object.hasOwn(sources, type)) return []
  return rank(await source(infrastructure), query)
}

const sources: Readonly<Record<string, Source>> = {
  applications: findApplications,
  projects: async ({ context }) =>
    (await loadAll(context, '/v2/projects')).map((stored) => {
      const applications = textsOf(objectOf(stored['config'])['applications'])
      const result = { ...stored, type: 'projects', provider: '', applications, url: `/projects/${String(stored['id'])}` }
      return { keys: [textOf(stored['name']) ?? '', ...applications], result }
    }),
  clusters: (infrastructure) => {
    const byCluster = Map.groupBy(serverGroupsOf(infrastructure), ({ account, moniker, provider }) =>
      JSON.stringify([account, provider, moniker.cluster]),
    )
    return [...byCluster.values()].flatMap(([first]) => (first === undefined ? [] : toClusterHit(first)))
  },
  serverGroups: (infrastructure) => serverGroupsOf(infrastructure).map(toServerGroupHit),
  instances: (infrastructure) => [
    ...serverGroupsOf(infrastructure).flatMap((group) => group.instances.map((instance) => toInstanceHit(instance, group))),
    ...infrastructure.providers.flatMap((provider) =>
      provider.detachedInstances().map((instance) => toInstanceHit(instance, undefined, provider.id)),
    ),
  ],
  loadBalancers: (infrastructure) =>
    loadBalancersOf(infrastructure).map(({ provider, account, region, name, vpcId, loadBalancerType }) => {
      const { app, stack, detail } = parseMoniker(name)
      return {
        keys: [name],
        result: {
          type: 'loadBalancers',
          provider,
          account,
          region,
          loadBalancer: name,
          application: app,
          stack,
          detail,
          vpcId,
          loadBalancerType,
          url: `/${provider}/loadBalancers/${encodeURIComponent(name)}`,
        },
      }
    }),
  securityGroups: (infrastructure) =>
    securityGroupsOf(infrastructure).map(({ provider, account, region, id, name, vpcId }) => {
      const url = `/securityGroups/${[account, provider, name].map(encodeURIComponent).join('/')}?region=${encodeURIComponent(region)}`
      const application = parseMoniker(name).app
      return {
        keys: [name, id],
        result: { type: 'securityGroups', provider, account, region, id, name, application, vpcId, url },
      }
    }),
}

/** Stored ones, and those that only run. */
async function findApplications(infrastructure: Infrastructure): Promise<Hit[]> {
  const stored = await loadAll(infrastructure.context, '/v2/applications?restricted=false')
  const running = groupsByApplication(infrastructure)
  const known = new Set(stored.map(({ name }) => (textOf(name) ?? '').toLowerCase()))
  const others = [...running.keys()].filter((name) => !known.has(name)).map((name): JsonObject => ({ name }))
  return [...stored, ...others].map((attributes) => {
    const application = (textOf(attributes['name']) ?? '').toLowerCase()
    const accounts = [...new Set(running.get(application)?.map(({ account }) => account))]
    const url = `/applications/${application}`
    return { keys: [application], result: { ...attributes, type: 'applications', provider: '', application, accounts, url } }
  })
}

function toClusterHit({ provider, account, moniker }: ServerGroup): Hit {
  const { app: application, stack, detail } = moniker
  const cluster = moniker.cluster ?? ''
  const url = clusterUrl(application, account, cluster)
  return { keys: [cluster], result: { type: 'clusters', provider, account, application, cluster, stack, detail, url } }
}

function toServerGroupHit({ provider, account, region, name, moniker }: ServerGroup): Hit {
  const { app: application, stack, detail, cluster, sequence } = moniker
  const path = `${clusterUrl(application, account, cluster ?? '')}/${provider}/serverGroups/${encodeURIComponent(name)}`
  return {
    keys: [name],
    result: {
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
      url: `${path}?region=${encodeURIComponent(region)}`,
    },
  }
}

function clusterUrl(application: string | null, account: string, cluster: string): string {
  return `/applications/${encodeURIComponent(application ?? '')}/clusters/${[account, cluster].map(encodeURIComponent).join('/')}`
}

function toInstanceHit({ id, account, region }: Instance, group: ServerGroup | undefined, provider = group?.provider): Hit {
  const owner = group && { application: group.moniker.app, cluster: group.moniker.cluster, serverGroup: group.name }
  return { keys: [id, group?.name ?? ''], result: { type: 'instances', provider, account, region, instanceId: id, ...owner } }
}

/** Hits by the position of the query in them, then by key. */
function rank(hits: readonly Hit[], query: string): JsonObject[] {
  const wanted = query.toLowerCase()
  return hits
    .map((hit) => ({ ...hit, text: hit.keys.join(' ').toLowerCase() }))
    .filter(({ keys }) => keys.some((key) => key.toLowerCase().includes(wanted)))
    .sort((one, other) => one.text.indexOf(wanted) - other.text.indexOf(wanted) || (one.text < other.text ? -1 : 1))
    .map(({ result }) => result)
}

/** A source that fails contributes nothing. */
interface KeptList {
  readonly tag: string
  readonly list: JsonObject[]
  readonly forgetting: NodeJS.Timeout
}

/** Users search again with each letter; megabytes are not kept longer than that takes. */
const keptMs = 30_000
const keptLists = new WeakMap<BackendContext, Map<string, KeptList>>()

async function loadAll(context: BackendContext, path: string): Promise<JsonObject[]> {
  const kept = keptLists.getOrInsertComputed(context, () => new Map())
  const before = kept.get(path)
  try {
    const condition = before === undefined ? undefined : { headers: { 'if-none-match': before.tag } }
    const answer = await context.call('front50', { method: 'GET', path, ...condition })
    if (answer.status === 304 && before !== undefined) {
      before.forgetting.refresh()
      return before.list
    }
    if (answer.status === 200) {
      const list = objectsOf(answer.body)
      clearTimeout(before?.forgetting)
      kept.delete(path)
      const forgetting = () => setTimeout(() => kept.delete(path), keptMs).unref()
      if (answer.tag !== undefined) kept.set(path, { tag: answer.tag, list, forgetting: forgetting() })
      return list
    }
    context.log.warn({ status: answer.status }, 'the definition store cannot be searched')
  } catch (error) {
    context.log.warn({ err: error }, 'the definition store cannot be searched')
  }
  return []
}

function positive(text: string | undefined, otherwise: number): number {
  const value = Number(text)
  return Number.isSafeInteger(value) && value > 0 ? value : otherwise
}

export const searchRoutes: InfrastructureRoute[] = [{ method: 'GET', path: '/search', answer: search }]
