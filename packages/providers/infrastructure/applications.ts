/** Server groups, load balancers, instances and jobs of an application. */

import { formatJson } from '@fairlead/base/json/json.ts'
import type { ConsoleWish } from '@fairlead/base/net/agent-protocol.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  pathValue,
  pathValues,
  queryCount,
  queryFlag,
  queryValue,
  queryValues,
} from '@fairlead/ports/requests/request-values.ts'
import { endingOfInstance, findCause, findJobCause } from './causes.ts'
import { balancersOfGroups } from './clusters.ts'
import type { Instance, Job, LoadBalancer, ServerGroup } from './model.ts'
import type { ConsoleView } from './provider.ts'
import {
  type Asked,
  accessOf,
  checkOwners,
  checkRight,
  type EmbeddedInfrastructure,
  get,
  type InfrastructureRoute,
  isOf,
  isReadable,
  jobsOf,
  loadBalancersOf,
  missing,
  none,
  ownersOf,
  providerOf,
  type RouteHandler,
  readableBalancers,
  readableGroups,
  serverGroupsOf,
  writtenList,
} from './route.ts'
import {
  byName,
  toInstanceView,
  toJobView,
  toLoadBalancerView,
  toServerGroupView,
  writeServerGroupSummary,
} from './views.ts'

interface FoundLine {
  /** Offset of its first byte. */
  readonly offset: number
  /** Counted from the oldest output that is kept. */
  readonly line: number
}

interface FoundLines {
  readonly output: ConsoleView['output']
  readonly matches?: readonly FoundLine[]
  readonly hasMoreMatches?: boolean
}

const mostMatches = 1000
/** Colours and weights, as programs write them for terminals. */
const style = /\p{Cc}\[[\d;:]*[A-Za-z]/gu

/**
 * Letters of either case are alike, and colours of terminals are no part of the text. A provider without offsets answers with all that it has, and its reader searches that.
 *
 * @param first The oldest output that is kept
 */
export async function findLines(
  first: ConsoleView,
  text: string,
  read: (wish: ConsoleWish) => Promise<ConsoleView | undefined>,
): Promise<FoundLines> {
  if (first.nextOffset === undefined || typeof first.output !== 'string')
    return { output: first.output }
  const wanted = text.toLowerCase()
  const matches: FoundLine[] = []
  let [line, offset, rest] = [1, first.offset ?? 0, '']
  for (let part: ConsoleView | undefined = first; typeof part?.output === 'string'; ) {
    // A part says where it is: bytes that are no text have another length when they are read, and output may have been dropped.
    offset = (part.offset ?? 0) - Buffer.byteLength(rest)
    const lines: string[] = (rest + part.output).split('\n')
    const next: number = part.nextOffset ?? 0
    // What is written meanwhile is not waited for.
    const isLast: boolean = part.output === '' || next >= (first.endOffset ?? 0)
    rest = isLast ? '' : (lines.pop() ?? '')
    for (const one of lines) {
      if (one.replace(style, '').toLowerCase().includes(wanted)) matches.push({ offset, line })
      if (matches.length > mostMatches)
        return { output: '', matches: matches.slice(0, mostMatches), hasMoreMatches: true }
      offset += Buffer.byteLength(one) + 1
      line++
    }
    part = isLast ? undefined : await read({ offset: next })
  }
  return { output: '', matches }
}

const serverGroups: RouteHandler = async (request, infrastructure) => {
  const nowMs = infrastructure.context.now()
  const groups = (await readableGroups(request, infrastructure)).filter(createChoice(request))
  if (queryFlag(request, 'expand') ?? false)
    return groups.map((group) => toServerGroupView(group, nowMs))
  return writtenList(groups.map((group) => writeServerGroupSummary(group, nowMs)))
}

function createChoice(request: Asked): (group: ServerGroup) => boolean {
  const clusters = listedValues(request, 'clusters')
  const provider = queryValue(request, 'cloudProvider')?.toLowerCase()
  if (clusters === undefined)
    return (group) => provider === undefined || group.provider === provider
  const wanted = new Set(clusters.filter((entry) => /^[^:]+:[^:]+$/.test(entry)))
  return ({ account, moniker }) => wanted.has(`${account}:${moniker.cluster}`)
}

const serverGroup: RouteHandler = async (request, infrastructure) => {
  const { account, region, name } = pathValues(request, 'account', 'region', 'name')
  const group = findServerGroup(infrastructure, account, region, name)
  if (group === undefined) throw missing(request, 'Server group', 'name', 'account', 'region')
  await checkOwners(request, infrastructure, group)
  return toServerGroupView(
    group,
    infrastructure.context.now(),
    queryFlag(request, 'includeDetails') ?? true,
  )
}

function findServerGroup(
  { providers }: EmbeddedInfrastructure,
  account: string,
  region: string,
  name: string,
): ServerGroup | undefined {
  const found = providers.values().map((provider) => provider.serverGroup(account, region, name))
  return found.find((group) => group !== undefined)
}

/** Exactly one of `applications` and `ids`; an unknown id is skipped, a malformed one is refused. */
const serverGroupsByName: RouteHandler = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  const nowMs = infrastructure.context.now()
  const provider = queryValue(request, 'cloudProvider')?.toLowerCase()
  const shown = chosenServerGroups(request, infrastructure)
    .filter((group) => provider === undefined || group.provider === provider)
    .filter((group) => isReadable(access, group))
  return writtenList(shown.map((group) => writeServerGroupSummary(group, nowMs)))
}

function chosenServerGroups(request: Asked, infrastructure: EmbeddedInfrastructure): ServerGroup[] {
  const [applications, ids] = ['applications', 'ids'].map((name) => listedValues(request, name))
  if ((applications === undefined) === (ids === undefined)) {
    throw new PortError(400, 'Give either "applications" or "ids", and not both.')
  }
  if (ids === undefined)
    return (applications ?? []).flatMap((name) => serverGroupsOf(infrastructure, name))
  return ids.flatMap((id) => {
    const parts = id.split(':')
    if (parts.length !== 3 || parts.includes('')) {
      throw new PortError(400, `The id "${id}" does not have the form account:region:name.`)
    }
    const [account, region, name] = parts as [string, string, string]
    return findServerGroup(infrastructure, account, region, name) ?? []
  })
}

/** Values that are separated by commas, or repeat the parameter, as clients and gateways write lists. */
function listedValues(request: Asked, name: string): string[] | undefined {
  const values = queryValues(request, name)
  return values.length === 0 ? undefined : values.flatMap((value) => value.split(','))
}

/** Load balancers named after the application, and those that its server groups use. */
export function balancersOfApplication(
  application: string,
  groups: readonly ServerGroup[],
  all: readonly LoadBalancer[],
): LoadBalancer[] {
  const used = new Set(balancersOfGroups(groups, all))
  return all.filter((balancer) => used.has(balancer) || isOf(application, balancer))
}

const loadBalancers: RouteHandler = async (request, infrastructure) => {
  const application = pathValue(request, 'application')
  const groups = serverGroupsOf(infrastructure, application)
  const all = balancersOfApplication(application, groups, loadBalancersOf(infrastructure))
  const shown = (await readableBalancers(request, infrastructure, all)).sort(byName)
  return writtenList(shown.map((balancer) => formatJson(toLoadBalancerView(balancer))))
}

const instance: RouteHandler = async (request, infrastructure) => {
  const { account, region, id } = pathValues(request, 'account', 'region', 'id')
  for (const provider of infrastructure.providers) {
    const found = provider.instance(account, region, id)
    if (found === undefined) continue
    const owned =
      found.moniker.app === null ? await provider.ownerOfInstance?.(account, region, id) : undefined
    await checkOwners(request, infrastructure, owned ?? found)
    return toInstanceView(found, groupOf(found, infrastructure), infrastructure.context.now())
  }
  throw missing(request, 'Instance', 'id')
}

function groupOf(
  { account, region, serverGroup }: Instance,
  infrastructure: EmbeddedInfrastructure,
): ServerGroup | undefined {
  return serverGroup === undefined
    ? undefined
    : findServerGroup(infrastructure, account, region, serverGroup)
}

const console: RouteHandler = async (request, infrastructure) => {
  const { account, region, id } = pathValues(request, 'account', 'region', 'id')
  const wanted = queryValue(request, 'provider')
  const wish = consoleWish(request)
  const text = queryValue(request, 'find')
  const choice = {
    container: queryValue(request, 'container'),
    previous: queryFlag(request, 'previous'),
  }
  for (const provider of infrastructure.providers) {
    if (wanted !== undefined && provider.id !== wanted.toLowerCase()) continue
    const isJob = (job: Job) => job.id === id && job.account === account && job.location === region
    const owner = provider.instance(account, region, id) ?? provider.jobs().find(isJob)
    if (owner !== undefined) await checkOwners(request, infrastructure, owner)
    const read = (part: ConsoleWish | undefined) =>
      provider.console(account, region, id, part, choice)
    const found = await read(text === undefined ? wish : { offset: 0 })
    if (found === undefined) continue
    const { owned, ...view } = found
    if (owned !== undefined) await checkOwners(request, infrastructure, owned)
    return text === undefined ? view : { ...view, ...(await findLines(view, text, read)) }
  }
  throw missing(request, 'Instance', 'id')
}

/** @throws {PortError} 400 */
function consoleWish(request: Asked): ConsoleWish | undefined {
  const [tail, offset] = [queryCount(request, 'tail'), queryCount(request, 'offset')]
  if (tail !== undefined && offset !== undefined)
    throw new PortError(400, 'Give either "tail" or "offset", not both.')
  if (tail !== undefined) return { tail }
  return offset === undefined ? undefined : { offset }
}

const jobs: RouteHandler = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  const shown = jobsOf(infrastructure, pathValue(request, 'application')).filter((each) =>
    isReadable(access, each),
  )
  return writtenList(shown.map((each) => formatJson(toJobView(each))))
}

const job: RouteHandler = async (request, infrastructure) => {
  const present = findJob(request, infrastructure)
  const found = present?.job ?? (await findCollectedJob(request, infrastructure))
  if (found === undefined) throw missing(request, 'Job', 'account', 'location', 'id')
  await checkOwners(request, infrastructure, found)
  const cause =
    present !== undefined && found.state === 'Failed'
      ? await findJobCause(present.provider, found)
      : undefined
  return { ...toJobView(found), ...(cause !== undefined && { cause }) }
}

/** Why an instance does not run, by its output; `{}` where that does not say. */
const cause: RouteHandler = async (request, infrastructure) => {
  const place = pathValues(request, 'account', 'region', 'id')
  for (const provider of infrastructure.providers) {
    const found = provider.instance(place.account, place.region, place.id)
    if (found === undefined) continue
    await checkOwners(request, infrastructure, found)
    return { cause: await findCause(provider, place, endingOfInstance(found)) }
  }
  throw missing(request, 'Instance', 'id')
}

/** One that is gone after its end, as the provider still knows it. */
async function findCollectedJob(
  request: Asked,
  { providers }: EmbeddedInfrastructure,
): Promise<Job | undefined> {
  const wanted = pathValues(request, 'application', 'account', 'location', 'id')
  for (const provider of providers) {
    const found = await provider.collectedJob?.(wanted)
    if (found !== undefined) return found
  }
  return undefined
}

function requireJob(request: Asked, infrastructure: EmbeddedInfrastructure) {
  const found = findJob(request, infrastructure)
  if (found === undefined) throw missing(request, 'Job', 'account', 'location', 'id')
  return found
}

function findJob(request: Asked, { providers }: EmbeddedInfrastructure) {
  const { application, account, location, id } = pathValues(
    request,
    'application',
    'account',
    'location',
    'id',
  )
  const isWanted = (one: Job) =>
    one.id === id && one.account === account && one.location === location && isOf(application, one)
  for (const provider of providers) {
    const found = provider.jobs().find(isWanted)
    if (found !== undefined) return { job: found, provider }
  }
  return undefined
}

const removeJob: RouteHandler = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  const { job: found, provider } = requireJob(request, infrastructure)
  for (const name of ownersOf(found))
    checkRight(access, { kind: 'application', name, right: 'EXECUTE' })
  checkRight(access, { kind: 'account', name: found.account, right: 'WRITE' })
  await provider.removeJob(found)
  return ''
}

const jobFile: RouteHandler = async (request, infrastructure) => {
  const { application, account, id, fileName } = pathValues(
    request,
    'application',
    'account',
    'id',
    'fileName',
  )
  for (const provider of infrastructure.providers) {
    const found = provider.jobs().find((one) => one.id === id && isOf(application, one))
    if (found !== undefined) await checkOwners(request, infrastructure, found)
    if (found?.account === account) return (await provider.jobFile(found, fileName)) ?? {}
  }
  return {}
}

const podProperties: RouteHandler = async (request, infrastructure) => {
  const place = pathValues(request, 'account', 'location', 'pod', 'container')
  const provider = providerOf(infrastructure, pathValue(request, 'provider'))
  return (await provider?.podProperties?.(place, await accessOf(request, infrastructure))) ?? {}
}

function ownResources(kind: 'serverGroupManagers' | 'rawResources'): RouteHandler {
  return async (request, infrastructure) => {
    const access = await accessOf(request, infrastructure)
    const application = pathValue(request, 'application')
    return infrastructure.providers
      .flatMap((provider) => provider[kind]?.(application) ?? [])
      .filter((resource) => isReadable(access, resource))
      .map(({ view }) => view)
  }
}

const reads = ['application', 'account'] as const

export const loadBalancersOfApplication = get(
  '/applications/:application/loadBalancers',
  loadBalancers,
  ['application'],
)
export const serverGroupsOfApplication = get(
  '/applications/:application/serverGroups',
  serverGroups,
  ['application'],
)
export const serverGroupByName = get('/serverGroups/:account/:region/:name', serverGroup, [
  'account',
])
export const instanceById = get('/instances/:account/:region/:id', instance, ['account'])
export const instanceOutput = get('/instances/:account/:region/:id/console', console, ['account'])
export const instanceCause = get('/instances/:account/:region/:id/cause', cause, ['account'])
export const jobById = get('/applications/:application/jobs/:account/:location/:id', job, reads)
export const jobRemoval: InfrastructureRoute = {
  method: 'DELETE',
  path: '/applications/:application/jobs/:account/:location/:id',
  reads,
  answer: removeJob,
}
export const propertiesOfPod = get(
  '/applications/:application/:provider/pods/:account/:location/:pod/:container',
  podProperties,
  reads,
)
export const jobFileByName = get(
  '/applications/:application/jobs/:account/:location/:id/:fileName',
  jobFile,
  reads,
)

export const applicationRoutes: InfrastructureRoute[] = [
  serverGroupsOfApplication,
  get('/applications/:application/serverGroups/:account/:region/:name', serverGroup, ['account']),
  get('/applications/:application/serverGroups/:account/:name/events', none),
  get('/serverGroups', serverGroupsByName),
  serverGroupByName,
  get('/applications/:application/serverGroupManagers', ownResources('serverGroupManagers'), [
    'application',
  ]),
  get('/applications/:application/rawResources', ownResources('rawResources'), ['application']),

  loadBalancersOfApplication,
  get('/applications/:application/functions', none),
  get('/functions', none),

  instanceById,
  instanceOutput,
  instanceCause,

  get('/applications/:application/jobs', jobs, ['application']),
  jobById,
  jobRemoval,
  jobFileByName,
  propertiesOfPod,
]
