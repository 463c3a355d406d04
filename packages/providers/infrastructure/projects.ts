/** Clusters of a project: its definition, joined with the running server groups. */

import { objectList, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import { addCounts, type ServerGroup } from './model.ts'
import {
  accessOf,
  get,
  type InfrastructureRoute,
  isReadable,
  type RouteHandler,
  serverGroupsOf,
} from './route.ts'
import { instanceCountsOf } from './views.ts'

const toCluster = shape({
  account: textOf,
  stack: textOf,
  detail: textOf,
  applications: textsOf,
})
type ProjectCluster = ShapeOf<typeof toCluster>

const toProject = shape({
  config: shape({ applications: textsOf, clusters: objectList(toCluster) }),
})

const toBuildInfo = shape({ jenkins: shape({ host: textOf, name: textOf, number: textOf }) })

/** Without applications of its own, a project's cluster covers all applications of the project. */
const clusters: RouteHandler = async (request, infrastructure) => {
  const { config } = await loadProject(infrastructure.context, pathValue(request, 'project'))
  const access = await accessOf(request, infrastructure)
  const nowMs = infrastructure.context.now()
  const readable = (group: ServerGroup) => isReadable(access, group)
  return config.clusters.map((cluster) => {
    const own = cluster.applications
    const applications = (own.length > 0 ? own : config.applications).map((application) =>
      toApplication(
        application,
        serverGroupsOf(infrastructure, application).filter(readable).filter(isPartOf(cluster)),
        nowMs,
      ),
    )
    return {
      account: cluster.account ?? '',
      stack: cluster.stack ?? null,
      detail: cluster.detail ?? null,
      applications,
      instanceCounts: addCounts(
        applications.flatMap(({ clusters }) =>
          clusters.map(({ instanceCounts }) => instanceCounts),
        ),
      ),
    }
  })
}

/** `*` matches every stack or detail, an empty one only server groups without. */
function isPartOf({
  account: wanted,
  stack,
  detail,
}: ProjectCluster): (group: ServerGroup) => boolean {
  const matches = (wanted: string | undefined, part: string | null) =>
    wanted === '*' || (wanted ?? null) === part
  return ({ account, moniker }) =>
    account === wanted && matches(stack, moniker.stack) && matches(detail, moniker.detail)
}

function toApplication(application: string, groups: readonly ServerGroup[], nowMs: number) {
  const serving = groups.filter(({ isDisabled, instances }) => !isDisabled && instances.length > 0)
  const regions = [...Map.groupBy(serving, ({ region }) => region)].map(([region, each]) => ({
    region,
    lastPush: lastPushOf(each),
    builds: each.flatMap((group) => toBuild(group) ?? []),
    instanceCounts: addCounts(each.map((group) => instanceCountsOf(group, nowMs))),
  }))
  return { application, lastPush: lastPushOf(serving), clusters: regions }
}

function toBuild({ buildInfo, createdMs }: ServerGroup): JsonObject | undefined {
  const { host = '', name: job = '', number: buildNumber = '' } = toBuildInfo(buildInfo).jenkins
  return /^\d+$/.test(buildNumber)
    ? { host, job, buildNumber, deployed: createdMs ?? 0 }
    : undefined
}

/** Milliseconds since the epoch; 0 when nothing was ever deployed. */
function lastPushOf(groups: readonly ServerGroup[]): number {
  return Math.max(0, ...groups.map(({ createdMs }) => createdMs ?? 0))
}

async function loadProject(context: BackendContext, project: string) {
  const found = await context.ports.definitions.project(project, itself)
  if (found === undefined) throw new PortError(404, `Project not found (id: ${project})`)
  return toProject(found)
}

export const projectRoutes: InfrastructureRoute[] = [get('/projects/:project/clusters', clusters)]
