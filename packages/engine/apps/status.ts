/** State of an app: what serves in each environment, its last run, and what waits for whom. */
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import type { AppHere, ServiceHere } from '@fairlead/model/app-file/merge-environment.ts'
import { describeJudgment } from '@fairlead/model/environments/holds.ts'
import { type Group, type RunningCluster, runningOf } from '@fairlead/model/environments/running.ts'
import type { CloudLoadBalancer } from '@fairlead/ports/cloud-values.ts'
import type { Engine } from '../orchestration/engine.ts'
import { type Execution, waitingKey } from '../orchestration/model.ts'
import { requiredRoles } from '../orchestration/stages/manual-judgment.ts'
import { isActive } from '../orchestration/statuses.ts'
import { clusterOf, type ReadApp } from './app-environment.ts'
import type { AppRun, AppStore, StoredApp } from './app-store.ts'

interface StatusParts {
  readonly app: ReadApp
  readonly stored: StoredApp
  /** Server groups of the application that the caller may see. */
  readonly groups: readonly Group[]
  /** Its load balancers, in the same way. */
  readonly balancers: readonly CloudLoadBalancer[]
  readonly store: AppStore
  readonly engine: Engine
}

const runsLookedAt = 20
/** Instances of one service mostly have the same. */
const reasonsShown = 3

export function statusOf({
  app,
  stored,
  groups,
  balancers,
  store,
  engine,
}: StatusParts): JsonObject {
  const running = runningOf(groups).clusters
  const environments = app.environments.map((here) => {
    const services = here.services.map((service) => ({
      ...toService(here, service, { running, groups }),
      ...servedOf(here, service, balancers),
    }))
    const runs = store.runs(app.application, here.environment, runsLookedAt)
    const load = (run: AppRun) => engine.options.store.load(run.executionId)
    const [last] = runs
    const lastExecution = last && load(last)
    const open = runs.flatMap((run) => {
      const execution = load(run)
      return execution !== undefined && execution.endTime === undefined ? [{ run, execution }] : []
    })
    return {
      name: here.environment,
      account: here.account,
      services,
      lastRun: last === undefined ? null : toRun(last, lastExecution),
      waiting: open.flatMap(({ run, execution }, index) =>
        waitOf(run, execution, open[index + 1]?.run.executionId),
      ),
    }
  })
  return {
    application: app.application,
    digest: app.digest,
    ejected: stored.isEjected,
    environments,
  }
}

/** Until when open connections keep former versions at the latest. */
function drainEndOf(cluster: string, groups: readonly Group[]): number | undefined {
  const ends = groups
    .filter((group) => group.cluster === cluster)
    .flatMap(({ instances }) => instances.flatMap(({ drainsUntilMs }) => drainsUntilMs ?? []))
  return ends.length === 0 ? undefined : Math.max(...ends)
}

function toService(
  here: AppHere,
  { name, instances, hosts, schedule }: ServiceHere,
  {
    running,
    groups,
  }: { readonly running: readonly RunningCluster[] } & Pick<StatusParts, 'groups'>,
): JsonObject {
  const cluster = clusterOf(here, name)
  const found = running.find((each) => each.cluster === cluster && each.account === here.account)
  const serving = found?.health.state === 'disabled' ? undefined : found
  const serverGroups = serving?.serverGroups ?? []
  const sum = (count: (group: Group) => number) =>
    serverGroups.reduce((total, group) => total + count(group), 0)
  const said = serverGroups.flatMap(({ instances }) =>
    instances.flatMap(({ health }) => health.flatMap(({ description }) => description ?? [])),
  )
  return {
    name,
    cluster,
    version: serving?.versions.map(({ label }) => label).join(', ') || null,
    ...definedOf({ drainsUntilMs: drainEndOf(cluster, groups) }),
    ready: sum(({ up }) => up),
    wanted: serving === undefined ? instances : sum(({ total }) => total),
    ...(said.length > 0 && { reasons: [...new Set(said)].slice(0, reasonsShown) }),
    hosts: hosts.map(({ host, path }) => (path === '/' ? host : host + path)),
    ...definedOf({ schedule: schedule?.crontab }),
  }
}

/** Hosts as they are reached, with their certificates, and why they are not; those that a provider says nothing about are not known. */
function servedOf(
  here: AppHere,
  { name }: ServiceHere,
  balancers: readonly CloudLoadBalancer[],
): JsonObject {
  const wanted = clusterOf(here, name)
  const own = balancers.filter((each) => each.name === wanted && each.account === here.account)
  const problems = own.flatMap((each) => each.problems)
  return {
    served: own.flatMap(({ served }) => served),
    ...(problems.length > 0 && { problems }),
  }
}

function toRun(
  { executionId: id, kind, version, user, message, createdMs }: AppRun,
  execution: Execution | undefined,
): JsonObject {
  return {
    id,
    kind,
    version,
    user,
    message: message ?? null,
    createdMs,
    // The record of an old run may have been deleted.
    status: execution?.status ?? 'UNKNOWN',
    ...definedOf({ endMs: execution?.endTime }),
  }
}

/** @param before The run of the environment that has to end first */
function waitOf(run: AppRun, execution: Execution, before: string | undefined): JsonObject[] {
  const reason =
    execution.engine.parkedAt !== undefined
      ? `waits for the run ${before ?? 'before'} of the environment ${run.environment}`
      : reasonIn(execution)
  if (reason === undefined) return []
  return [{ id: run.executionId, version: run.version, reason, ...definedOf({ for: before }) }]
}

function reasonIn({ stages }: Execution): string | undefined {
  for (const { status, type, context } of stages) {
    if (!isActive(status) || status === 'NOT_STARTED') continue
    if (type === 'manualJudgment') return describeJudgment(requiredRoles(context))
    const words = context[waitingKey]
    if (typeof words === 'string') return words
  }
  return undefined
}
