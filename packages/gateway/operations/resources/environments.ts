/** Environments of an application, composed of what the services answer. */
import { setImmediate } from 'node:timers/promises'
import { GatewayError } from '@fairlead/base/errors.ts'
import {
  definedOf,
  type JsonObject,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { manifestProvider } from '@fairlead/base/settings/standalone.ts'
import {
  findMissingNamespaces,
  findUnknownPlaces,
  findWiderAccounts,
  toAccounts,
} from '@fairlead/model/environments/accounts.ts'
import { type Condition, conditionsOf } from '@fairlead/model/environments/conditions.ts'
import { type Environment, isPlacedIn } from '@fairlead/model/environments/declaration.ts'
import {
  clustersOf,
  placeOfStage,
  rollbackTypes,
  targetsOfStage,
} from '@fairlead/model/environments/delivery.ts'
import { environmentsOf } from '@fairlead/model/environments/derivation.ts'
import { changedImages, changedManifests } from '@fairlead/model/environments/difference.ts'
import { driftIn } from '@fairlead/model/environments/drift.ts'
import { describeMissingRole, foreseenHolds } from '@fairlead/model/environments/holds.ts'
import {
  type Deployment,
  deploymentsOf,
  deploysTo,
  hasPromotion,
  latestFirst,
  promotesTo,
  type Run,
  type RunStage,
  toRun,
  userOf,
} from '@fairlead/model/environments/pipelines.ts'
import {
  type Group,
  type Running,
  type RunningCluster,
  runningIn,
  toGroup,
  type Version,
} from '@fairlead/model/environments/running.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'
import { hasRole, isGranted } from '@fairlead/model/rights/rights.ts'
import { createAccountFilter, isDecided } from '../access/application-access.ts'
import { listDefinitions } from '../access/find-definition.ts'
import { get, polledByUsers } from '../declare.ts'
import { taskAsRun } from '../delivery.ts'
import { readsApplication } from '../demands.ts'
import { EnvironmentsModel } from '../models/environments.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { formatMissing } from '../staleness.ts'
import { readListIfAny, readObject } from '../upstream-shape.ts'
import { type Ask, type Between, loadBetween, nothingBetween } from './between-versions.ts'

const mostPipelines = 20
const runsOfPipeline = 3
const pipelinesOfCall = 5
const mostTasks = 50

export const environmentOperations: Operation[] = [
  get(
    'getApplicationEnvironments',
    '/applications/{application}/environments',
    'List environments and promotions',
    {
      ...polledByUsers,
      demands: readsApplication,
      description:
        'What each environment of an application runs, in the order of promotion, and what lies between two of them. The attribute ' +
        '`environments` of the application declares them; otherwise they are made of its accounts and pipelines.',
      handle: listEnvironments,
      cost: 5,
      answer: EnvironmentsModel,
      errors: { 404: 'Neither the definition store nor the infrastructure knows the application.' },
    },
  ),
]

export interface ServiceFindings {
  readonly application: string
  readonly attributes: JsonObject
  readonly pipelines: readonly JsonObject[]
  /** All of the application. */
  readonly definitions: readonly JsonObject[]
  readonly runs: readonly Run[]
  /** Runs and tasks that may have rolled back. */
  readonly rollbacks: readonly Run[]
  readonly deployments: readonly Deployment[]
  readonly byAccount: ReadonlyMap<string, readonly Deployment[]>
  readonly sources: ReadonlyMap<string, VersionSource>
  readonly drift: readonly JsonObject[]
  readonly view: PermissionView | undefined
  readonly user: string
  readonly ask: Ask
}

type VersionSource = Pick<Version, 'build' | 'commit'>

export interface EnvironmentState {
  readonly environment: Environment
  readonly running: Running
  readonly warnings: readonly string[]
}

async function listEnvironments(
  request: OperationRequest,
  platform: Platform,
): Promise<JsonObject | DirectAnswer> {
  const { body, missing } = await readEnvironments(request, platform)
  return missing.size === 0
    ? body
    : new DirectAnswer(200, body, { warning: formatMissing([...missing], platform.upstreams) })
}

/**
 * What environments run and what lies between them, with what it was composed of.
 *
 * @param withRollbacks Reads rollbacks by hand even where nothing that serves was rolled back to
 */
export async function readEnvironments(
  request: OperationRequest,
  platform: Platform,
  withRollbacks = false,
) {
  const application = request.path['application'] as string
  const missing = new Set<ServiceName>()
  const ask = createAsk(request, missing)
  const mayRead = await createAccountFilter(request, platform)
  const [attributes, groups, pipelines] = await loadFoundation(request, application)
  const readable = groups.filter(({ account }) => mayRead(account))
  const used = [...new Set(readable.map(({ account }) => account))]
  const accounts = platform.accounts.list().filter(({ name }) => mayRead(name))
  const { isDeclared, problem, list } = environmentsOf(attributes['environments'], {
    accounts,
    pipelines,
    used,
  })
  const shown = list.map((environment) => ({
    ...environment,
    accounts: environment.accounts.filter(mayRead),
  }))
  const warningsOf = isDeclared ? createWarnings(platform, mayRead) : () => []
  const places = shown.map((environment, index) => ({
    environment,
    running: runningIn(environment, readable),
    warnings: warningsOf(list[index] as Environment),
  }))
  const concerned = pipelines.filter((pipeline) =>
    list.some((environment) => deploysTo(pipeline, environment)),
  )
  const isBack = withRollbacks || places.some(({ running }) => running.rolledBackFrom.length > 0)
  const [{ runs, deployments }, rollbacks, drift, view] = await Promise.all([
    loadRuns(ask, concerned),
    isBack ? loadRollbacks(ask, application) : [],
    loadDrift(ask, application, places),
    isDecided(platform) ? platform.permissions.loadView(request.state.user) : undefined,
  ])
  const user = view?.name ?? 'anonymous'
  const byAccount = Map.groupBy(deployments, ({ account }) => account)
  const known = { deployments, byAccount, sources: sourcesOf(deployments) }
  const findings: ServiceFindings = {
    application,
    attributes,
    pipelines: concerned,
    definitions: pipelines,
    runs,
    rollbacks: [...rollbacks, ...runs],
    ...known,
    drift,
    view,
    user,
    ask,
  }
  const between = await Promise.all(
    places.map((place, index) => loadPromotion(place, places[index - 1], findings)),
  )
  const environments: JsonObject[] = []
  for (const [index, place] of places.entries()) {
    environments.push(toAnswer(place, between[index], findings))
    // Applications may have many: other requests are answered in between.
    await setImmediate()
  }
  const body = { declared: isDeclared, ...definedOf({ problem }), environments }
  return { body, environments, places, findings, missing }
}

/** Rollbacks by hand, as runs. */
async function loadRollbacks(ask: Ask, application: string): Promise<Run[]> {
  const path = pathTo`/applications/${application}/tasks`
  const tasks = await ask('orca', { path, query: { limit: mostTasks, statuses: 'SUCCEEDED' } })
  return objectsOf(tasks).map((task) => toRun(taskAsRun(task)))
}

function createWarnings(
  platform: Platform,
  mayRead: (account: string) => boolean,
): (environment: Environment) => string[] {
  const known = toAccounts(platform.accounts.list())
  return (declared) => {
    const environment = {
      ...declared,
      accounts: declared.accounts.filter((name) => mayRead(name) || !known.has(name)),
    }
    return [
      ...(known.size === 0 ? [] : findUnknownPlaces(environment, known)),
      ...findMissingNamespaces(environment, known),
      ...(isDecided(platform) ? findWiderAccounts(environment, known) : []),
    ]
  }
}

/** Undefined where a service is switched off, does not know the path or refuses it; other failures are noted. */
function createAsk(request: OperationRequest, missing: Set<ServiceName>): Ask {
  return async (service, call) => {
    try {
      return await request.json(service, call)
    } catch (error) {
      const status = error instanceof GatewayError ? error.details.upstream?.status : undefined
      const isAnswer = status !== undefined && status >= 400 && status < 500
      if (!isAnswer && (error as { code?: unknown }).code !== 'SERVICE_DISABLED')
        missing.add(service)
      return undefined
    }
  }
}

async function loadFoundation(
  request: OperationRequest,
  application: string,
): Promise<[attributes: JsonObject, groups: Group[], pipelines: JsonObject[]]> {
  const [stored, listed, pipelines] = await Promise.all([
    request.call('front50', { path: pathTo`/v2/applications/${application}` }),
    request.call('clouddriver', { path: pathTo`/applications/${application}/serverGroups` }),
    listDefinitions(request, application),
  ])
  const groups = readListIfAny(listed, 'clouddriver').map(toGroup)
  if (stored.status !== 404) return [readObject(stored, 'front50'), groups, pipelines]
  if (groups.length === 0)
    throw new GatewayError('NOT_FOUND', `There is no application "${application}".`)
  return [{}, groups, pipelines]
}

/** A few pipelines at a time: runs with all their manifests are large, and other requests are answered in between. */
async function loadRuns(
  ask: Ask,
  pipelines: readonly JsonObject[],
): Promise<Pick<ServiceFindings, 'runs' | 'deployments'>> {
  const ids = pipelines.flatMap(({ id }) => textOf(id) ?? []).slice(0, mostPipelines)
  const query = { limit: runsOfPipeline, statuses: 'RUNNING,PAUSED,SUCCEEDED', expand: true }
  const batches = Array.from(
    { length: Math.ceil(ids.length / pipelinesOfCall) },
    async (_, index) => {
      const some = ids.slice(index * pipelinesOfCall, (index + 1) * pipelinesOfCall).join(',')
      const runs = objectsOf(
        await ask('orca', { path: '/pipelines', query: { pipelineConfigIds: some, ...query } }),
      ).map(toRun)
      return { runs, deployments: deploymentsOf(runs) }
    },
  )
  const read = await Promise.all(batches)
  return {
    runs: read.flatMap(({ runs }) => runs),
    deployments: read.flatMap(({ deployments }) => deployments).toSorted(latestFirst),
  }
}

async function loadDrift(
  ask: Ask,
  application: string,
  places: readonly EnvironmentState[],
): Promise<JsonObject[]> {
  const isConcerned = places.some(({ running }) =>
    running.clusters.some(({ provider }) => provider === manifestProvider),
  )
  return isConcerned
    ? objectsOf(await ask('clouddriver', { path: pathTo`/applications/${application}/drift` }))
    : []
}

function toAnswer(
  place: EnvironmentState,
  promotion: PromotionParts | undefined,
  findings: ServiceFindings,
): JsonObject {
  const { environment, running, warnings } = place
  const { constraints: _constraints, ...declared } = environment
  const { drift } = findings
  return {
    ...declared,
    ...toRunning(running, findings),
    history: running.history,
    rolledBackFrom: running.rolledBackFrom,
    ...definedOf({ rollback: rollbackOf(place, findings) }),
    clusters: running.clusters.map((cluster) => toCluster(cluster, findings)),
    drift: driftIn(environment, running, drift),
    warnings,
    ...(promotion !== undefined && { promotion: toPromotion(promotion, place, findings) }),
  }
}

function toRunning(
  { versions, sinceMs, health }: Pick<Running, 'versions' | 'sinceMs' | 'health'>,
  { sources }: ServiceFindings,
) {
  return { versions: versions.map((version) => withSource(version, sources)), sinceMs, health }
}

export function withSource(version: Version, sources: ServiceFindings['sources']): Version {
  const source = sources.get(version.image)
  const commit = definedOf({ ...source?.commit, ...version.commit }) as Version['commit']
  return { ...source, ...version, ...(commit?.sha !== undefined && { commit }) }
}

function sourcesOf(deployments: readonly Deployment[]): ServiceFindings['sources'] {
  const found = new Map<string, VersionSource>()
  for (const { images, build, commit } of deployments) {
    for (const image of images)
      found.set(image, { ...definedOf({ build, commit }), ...found.get(image) })
  }
  return found
}

function toCluster(cluster: RunningCluster, findings: ServiceFindings): JsonObject {
  const { provider, account, region, serverGroups } = cluster
  const names = serverGroups.map(({ name }) => name)
  const run = findings.byAccount.get(account)?.find((each) => hasDeployed(each, cluster))?.run
  return {
    provider,
    account,
    region,
    cluster: cluster.cluster,
    serverGroups: names,
    ...toRunning(cluster, findings),
    ...definedOf({ run }),
  }
}

function hasDeployed(
  deployment: Deployment,
  { region, serverGroups, versions }: RunningCluster,
): boolean {
  const names = textsOf(deployment.serverGroups[region])
  if (names.length > 0) return serverGroups.some(({ name }) => names.includes(name))
  const isThere = deployment.manifests.some(({ namespace }) => namespace === region)
  return isThere && versions.some(({ image }) => deployment.images.includes(image))
}

/** The last rollback there, while the version that it left no longer serves. */
function rollbackOf(
  { environment, running }: EnvironmentState,
  { rollbacks }: ServiceFindings,
): JsonObject | undefined {
  const [from] = running.rolledBackFrom
  if (from === undefined) return undefined
  const found = rollbacks.flatMap((run) =>
    run.stages
      .filter(
        (stage) =>
          rollbackTypes.includes(stage.type) &&
          stage.status === 'SUCCEEDED' &&
          isPlacedIn(environment, placeOfStage(stage)),
      )
      .map((stage) => ({ run, stage })),
  )
  const last = found.toSorted((a, b) => (b.stage.endTime ?? 0) - (a.stage.endTime ?? 0))[0]
  return definedOf({
    from,
    to: running.versions[0]?.label,
    user: last && userOf(last.run),
    atMs: last?.stage.endTime,
    reason: last?.stage.context.reason,
    ...(last && (last.run.isTask ? { task: last.run.id } : { run: last.run.id })),
  })
}

interface PromotionParts {
  readonly before: EnvironmentState
  readonly images: ReturnType<typeof changedImages>
  readonly between: Between
}

async function loadPromotion(
  { running }: EnvironmentState,
  before: EnvironmentState | undefined,
  findings: ServiceFindings,
): Promise<PromotionParts | undefined> {
  if (before === undefined) return undefined
  const { deployments, sources } = findings
  const images = changedImages(before.running, running)
  const [source, target] = [before.running, running].map(
    ({ versions: [version] }) => version && withSource(version, sources),
  )
  const earlier = deployments.filter(({ account, serverGroups }) =>
    isPlacedIn(before.environment, {
      account,
      regions: Object.keys(serverGroups),
      clusters: clustersOf(serverGroups),
    }),
  )
  const between =
    images.length === 0
      ? nothingBetween
      : await loadBetween(source, target, { ...findings, deployments: earlier })
  return { before, images, between }
}

function toPromotion(
  { before, images, between }: PromotionParts,
  { environment }: EnvironmentState,
  { pipelines, runs, deployments, view, user, application }: ServiceFindings,
): JsonObject {
  const from = before.environment.name
  const { mayPromote } = environment
  const hasAnyRole = view === undefined || (mayPromote?.some((role) => hasRole(view, role)) ?? true)
  const closed =
    view === undefined || view.legacyFallback === true
      ? []
      : environment.accounts.filter((name) => !isGranted(view, 'account', name, 'WRITE'))
  const mayRun = view === undefined || isGranted(view, 'application', application, 'EXECUTE')
  const { sinceMs } = before.running
  return {
    from,
    images,
    manifests: changedManifests(before.environment, environment, deployments),
    ...definedOf(between),
    pipelines: pipelines
      .filter((pipeline) => deploysTo(pipeline, environment))
      .map((pipeline) => toPipeline(pipeline, environment)),
    mayPromote: hasAnyRole && mayRun && closed.length === 0,
    holds: [
      ...(hasAnyRole ? [] : [describeMissingRole(environment, user)]),
      ...(mayRun ? [] : [`${user} may not run pipelines of ${application}.`]),
      ...closed.map((name) => `${user} may not deploy to the account ${name}.`),
      ...(images.length === 0
        ? []
        : foreseenHolds(environment, { from, sinceMs, now: Date.now() })),
    ],
    conditions: conditionsIn(environment, { from, sinceMs, runs }),
    runs: runs.flatMap((run) => toPromotionRun(run, environment)),
  }
}

function toPipeline(pipeline: JsonObject, environment: Environment): JsonObject {
  const { id, name } = pipeline
  return {
    id: String(id),
    name: String(name),
    promotes: hasPromotion(pipeline, environment),
  }
}

/** Conditions as checked by the promotion under way. */
function conditionsIn(
  environment: Environment,
  { from, sinceMs, runs }: { from: string; sinceMs: number | undefined; runs: readonly Run[] },
): Condition[] {
  const found = runs.flatMap((run) => {
    const way = wayTo(environment, run)
    return way === undefined ? [] : [{ run, inner: way.inner }]
  })
  return conditionsOf(environment, { from, sinceMs, now: Date.now() }, found[0])
}

const openStatuses = ['RUNNING', 'PAUSED']

/** What a run does now on its way to an environment: with a stage that promotes, or with stages before one that deploys there. */
function wayTo(
  environment: Environment,
  { stages }: Run,
): { readonly stage: RunStage; readonly inner: readonly RunStage[] } | undefined {
  const own = stages.filter(({ parentStageId }) => parentStageId === undefined)
  const current = own.filter(({ status }) => openStatuses.includes(status))
  const promoting = current.find((stage) => promotesTo(stage, environment))
  if (promoting !== undefined)
    return { stage: promoting, inner: stages.filter((each) => each.parentStageId === promoting.id) }
  const isAhead = own.some(
    (stage) =>
      [...openStatuses, 'NOT_STARTED'].includes(stage.status) &&
      targetsOfStage(stage).some((target) => isPlacedIn(environment, target)),
  )
  const [stage] = current
  return isAhead && stage !== undefined ? { stage, inner: own } : undefined
}

function toPromotionRun(run: Run, environment: Environment): JsonObject[] {
  const way = wayTo(environment, run)
  if (way === undefined) return []
  const { stage, inner } = way
  const judgment = inner.find(
    ({ type, status }) => type === 'manualJudgment' && status === 'RUNNING',
  )
  const { id, name } = run
  return [
    {
      id,
      pipeline: name,
      waitsFor: stage.context.waitsFor ?? null,
      ...definedOf({ judgment: judgment?.id, sinceMs: stage.startTime }),
    },
  ]
}
