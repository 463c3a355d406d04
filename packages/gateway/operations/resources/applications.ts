/** Applications: the cached list, one merged with its clusters, its history; projects. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { flagModel, integer, maybeText } from '@fairlead/base/json/schemas.ts'
import { isObject, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import {
  ApplicationAttributes,
  Project,
  ProjectClusterModel,
} from '@fairlead/model/environments/application-models.ts'
import { isGranted } from '@fairlead/model/rights/rights.ts'
import { z } from 'zod'
import { type UpstreamAnswer, upstreamFailed } from '../../upstreams/answer-form.ts'
import { KeptLists } from '../access/answer-filter.ts'
import { createAccountFilter, createReadFilter, isDecided } from '../access/application-access.ts'
import {
  accountsOfApplication,
  type CachedAttributes,
  mergeRunning,
  toAttributes,
} from '../application-cache.ts'
import { get, polledByUsers } from '../declare.ts'
import { demandsNothing, filteredBy, readsApplication } from '../demands.ts'
import { ExecutionModel } from '../models/executions.ts'
import { Application } from '../models/infrastructure.ts'
import {
  DirectAnswer,
  type Operation,
  type OperationRequest,
  StreamedAnswer,
} from '../operation.ts'
import type { Platform } from '../platform.ts'
import { formatMissing, noteAge } from '../staleness.ts'
import { readList, readObject } from '../upstream-shape.ts'

export const applicationOperations: Operation[] = [
  get('getAllApplicationsUsingGET', '/applications', 'List applications', {
    core: true,
    ...polledByUsers,
    demands: filteredBy('application'),
    description:
      'Applications that the caller may read, with flat attributes. Served from a list that is refreshed every few seconds.',
    query: {
      account: maybeText.describe('Keep applications that use this account.'),
      owner: maybeText.describe('Keep applications whose e-mail address is this one.'),
    },
    handle: listApplications,
    cost: 5,
    answer: z.array(ApplicationAttributes),
  }),
  get('getApplicationUsingGET', '/applications/{application}', 'Get an application', {
    core: true,
    ...polledByUsers,
    demands: readsApplication,
    description:
      'One application: its attributes and, unless `expand=false`, its clusters by account.',
    query: { expand: flagModel.default(true) },
    handle: loadApplication,
    answer: Application,
    errors: { 404: 'Neither the definition store nor the infrastructure knows the application.' },
  }),
  get(
    'getApplicationHistoryUsingGET',
    '/applications/{application}/history',
    'List revisions of an application',
    {
      core: true,
      demands: readsApplication,
      query: { limit: integer.default(20) },
      forward: 'front50 /v2/applications/{application}/history',
      answer: z.array(ApplicationAttributes),
    },
  ),
]

async function listApplications(
  request: OperationRequest,
  platform: Platform,
): Promise<readonly CachedAttributes[]> {
  // What was just created has to be there; a store that is not at hand is read every few seconds.
  if (platform.upstreams.traitsOf('front50').isAtHand) await platform.applications.refresh()
  noteAge(request.state, platform.applications.freshness, platform.upstreams)
  const { account, owner } = request.query
  const list = await listReadable(request, platform)
  if (account === undefined && owner === undefined) return list
  return list.filter((attributes) => {
    if (account !== undefined && !accountNames(attributes).includes(String(account).toLowerCase()))
      return false
    return (
      owner === undefined ||
      String(attributes['email'] ?? '').toLowerCase() === String(owner).toLowerCase()
    )
  })
}

const keptLists = new KeptLists()

async function listReadable(
  request: OperationRequest,
  platform: Platform,
): Promise<readonly CachedAttributes[]> {
  const list = platform.applications.list()
  if (!isDecided(platform)) return list
  const view = await platform.permissions.loadView(request.state.user)
  if (view === undefined) return []
  const withReadable = await createAccountReduction(request, platform)
  const filter = () =>
    list.filter(({ name }) => isGranted(view, 'application', name, 'READ')).map(withReadable)
  return keptLists.of(list, view, filter) as readonly CachedAttributes[]
}

/** Leaves out accounts that the caller may not read. Thousands of applications name the same few, so each is checked once. */
async function createAccountReduction(
  request: OperationRequest,
  platform: Platform,
): Promise<(attributes: CachedAttributes) => CachedAttributes> {
  if (!isDecided(platform)) return (attributes) => attributes
  const mayRead = await createAccountFilter(request, platform)
  const known = new Map<string, boolean>()
  const isReadable = (name: string) => known.getOrInsertComputed(name, () => mayRead(name.trim()))
  return (attributes) => {
    const { accounts } = attributes
    if (typeof accounts !== 'string' || accounts === '') return attributes
    const names = accounts.split(',')
    const readable = names.filter(isReadable)
    return readable.length === names.length ? attributes : reduceTo(attributes, readable.join(','))
  }
}

const reduced = new WeakMap<CachedAttributes, Map<string, CachedAttributes>>()

function reduceTo(attributes: CachedAttributes, accounts: string): CachedAttributes {
  const known = reduced.getOrInsertComputed(attributes, () => new Map())
  return known.getOrInsertComputed(accounts, () => ({ ...attributes, accounts }))
}

function accountNames(attributes: CachedAttributes): string[] {
  return String(attributes['accounts'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
}

/** Without the part of a service that does not answer, the client may not keep the answer. */
async function loadApplication(
  request: OperationRequest,
  platform: Platform,
): Promise<JsonObject | DirectAnswer> {
  const name = request.path['application'] as string
  const missing = new Set<ServiceName>()
  const { attributes, clusters } =
    request.query['expand'] === false
      ? await loadStored(request, platform, missing)
      : await loadExpanded(request, platform, missing)
  if (attributes === undefined)
    throw new GatewayError(
      'NOT_FOUND',
      describeUnknown(
        name,
        [...missing].map((service) => platform.upstreams.nameOf(service)),
      ),
    )
  const withReadable = await createAccountReduction(request, platform)
  const readableClusters = await leaveOutAccounts(clusters, request, platform)
  const body = {
    name: attributes.name,
    attributes: withReadable(attributes),
    clusters: readableClusters,
  }
  if (missing.size === 0) return body
  const services = [...missing]
  platform.log.warn(
    { requestId: request.state.requestId, application: name, services },
    'an application is shown without the parts of services',
  )
  return new DirectAnswer(200, body, { warning: formatMissing(services, platform.upstreams) })
}

async function leaveOutAccounts(
  byAccount: JsonObject,
  request: OperationRequest,
  platform: Platform,
): Promise<JsonObject> {
  const accounts = Object.entries(byAccount)
  if (accounts.length === 0 || !isDecided(platform)) return byAccount
  const mayRead = await createAccountFilter(request, platform)
  return Object.fromEntries(accounts.filter(([account]) => mayRead(account)))
}

function describeUnknown(name: string, missing: readonly string[]): string {
  if (missing.length === 0) return `There is no application "${name}".`
  return `There is no application "${name}" in what is known; ${missing.join(' and ')} gave no usable answer. Try again later.`
}

interface ApplicationParts {
  attributes: CachedAttributes | undefined
  clusters: JsonObject
}

async function loadStored(
  request: OperationRequest,
  platform: Platform,
  missing: Set<ServiceName>,
): Promise<ApplicationParts> {
  const stored = await askDefinitions(request, platform, missing)
  const name = request.path['application'] as string
  if (stored !== undefined)
    return { attributes: { ...platform.applications.find(name), ...stored }, clusters: {} }
  // The store has just said no: what it deleted must not come back from the list.
  if (platform.upstreams.traitsOf('front50').isAtHand) await platform.applications.refresh()
  return {
    attributes: await checkReadable(platform.applications.find(name), request, platform),
    clusters: {},
  }
}

async function loadExpanded(
  request: OperationRequest,
  platform: Platform,
  missing: Set<ServiceName>,
): Promise<ApplicationParts> {
  let stored: CachedAttributes | undefined
  let running: JsonObject | undefined
  if (platform.applications.definitionsOnly) {
    stored = await askDefinitions(request, platform, missing)
    running = stored === undefined ? undefined : await askInfrastructure(request, missing)
  } else {
    ;[stored, running] = await Promise.all([
      askDefinitions(request, platform, missing),
      askInfrastructure(request, missing),
    ])
  }
  const seen = running && toAttributes(running)
  if (running === undefined || seen === undefined) return { attributes: stored, clusters: {} }
  const clusters = objectOf(running['clusters'])
  return { attributes: mergeRunning(stored, seen, accountsOfApplication(running)), clusters }
}

/**
 * The attributes in the definition store. While the store fails, those of the list serve; a refusal is final, because the
 * list would show a stranger what the store has just refused.
 *
 * @throws {GatewayError} UPSTREAM_FAILED with 401 or 403, PERMISSION_DENIED
 */
async function askDefinitions(
  request: OperationRequest,
  platform: Platform,
  missing: Set<ServiceName>,
): Promise<CachedAttributes | undefined> {
  const name = request.path['application'] as string
  const answer = await request
    .call('front50', { path: pathTo`/v2/applications/${name}` })
    .catch((error: unknown) => {
      noteMissing(error, 'front50', missing)
      return undefined
    })
  if (answer?.status === 401 || answer?.status === 403) throw upstreamFailed('front50', answer)
  if (answer?.status === 404) return undefined
  if (answer !== undefined && answer.status >= 300) missing.add('front50')
  const stored = answer && objectIfReadable(answer)
  if (stored === undefined)
    return checkReadable(platform.applications.find(name), request, platform)
  const attributes = toAttributes(stored)
  if (attributes !== undefined) platform.applications.learn(attributes)
  return attributes
}

function objectIfReadable(answer: UpstreamAnswer): JsonObject | undefined {
  try {
    return readObject(answer, 'front50')
  } catch {
    return undefined
  }
}

/** A service that is switched off has no part, and one that refuses or knows nothing has given its answer. */
function noteMissing(error: unknown, service: ServiceName, missing: Set<ServiceName>): void {
  const status = error instanceof GatewayError ? error.details.upstream?.status : undefined
  const isAnswer = status === 401 || status === 403 || status === 404
  if (!isAnswer && (error as { code?: unknown }).code !== 'SERVICE_DISABLED') missing.add(service)
}

/** The list is made without a user, so what comes from it is checked here. */
async function checkReadable(
  attributes: CachedAttributes | undefined,
  request: OperationRequest,
  platform: Platform,
): Promise<CachedAttributes | undefined> {
  if (attributes === undefined) return undefined
  const mayRead = await createReadFilter(request, platform)
  if (mayRead(attributes.name)) return attributes
  throw new GatewayError(
    'PERMISSION_DENIED',
    `You may not read the application "${attributes.name}".`,
  )
}

async function askInfrastructure(
  request: OperationRequest,
  missing: Set<ServiceName>,
): Promise<JsonObject | undefined> {
  try {
    const running = await request.json('clouddriver', {
      path: pathTo`/applications/${request.path['application'] as string}`,
    })
    if (isObject(running)) return running
    if (running !== undefined && running !== null) missing.add('clouddriver')
    return undefined
  } catch (error) {
    noteMissing(error, 'clouddriver', missing)
    return undefined
  }
}

const spansApplications = demandsNothing(
  'a project shows several applications and belongs to none of them',
)

export const projectOperations: Operation[] = [
  get('allUsingGET3', '/projects', 'List projects', {
    demands: spansApplications,
    forward: 'front50 /v2/projects',
    on404: { answer: [] },
    answer: z.array(Project),
  }),
  get('getProjectUsingGET', '/projects/{id}', 'Get a project', {
    demands: spansApplications,
    forward: 'front50 /v2/projects/{id}',
    on404: { message: ({ path }) => `There is no project with the name or id ${path['id']}.` },
    answer: Project,
  }),
  get('getProjectClustersUsingGET', '/projects/{id}/clusters', 'List clusters of a project', {
    demands: filteredBy('account'),
    description: 'Clusters of a project, each with the instances of its applications.',
    forward: 'clouddriver',
    answer: z.array(ProjectClusterModel),
  }),
  get(
    'allPipelinesForProjectUsingGET',
    '/projects/{id}/pipelines',
    'List executions of a project',
    {
      core: true,
      demands: filteredBy('application'),
      description: 'Recent executions of a project, of applications that the caller may read.',
      query: {
        limit: integer.default(5),
        statuses: maybeText.describe('Comma-separated; all unless given.'),
      },
      handle: listExecutions,
      cost: 5,
      answer: z.array(ExecutionModel),
    },
  ),
]

/** The orchestrator does not filter the executions of a project, so they are filtered here. */
async function listExecutions(
  request: OperationRequest,
  platform: Platform,
): Promise<StreamedAnswer | JsonObject[]> {
  const call = {
    path: pathTo`/projects/${request.path['id'] as string}/pipelines`,
    query: request.query,
  }
  if (!isDecided(platform)) return new StreamedAnswer('orca', call)
  const executions = readList(await request.call('orca', call), 'orca')
  const mayRead = await createReadFilter(request, platform)
  return executions.filter(
    ({ application }) => typeof application === 'string' && mayRead(application),
  )
}
