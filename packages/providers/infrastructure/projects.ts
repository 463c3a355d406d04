/** Clusters of a project: its definition, joined with the running server groups. */

import {
  fieldOf,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import { addCounts, type ServerGroup } from './model.ts'
import {
  type Answer,
  accessOf,
  get,
  type InfrastructureRoute,
  isReadable,
  serverGroupsOf,
} from './route.ts'
import { instanceCountsOf } from './views.ts'

/** Without applications of its own, a project's cluster covers all applications of the project. */
const clusters: Answer = async (request, infrastructure) => {
  const project = await loadProject(infrastructure.context, pathValue(request, 'project'))
  const config = fieldOf(project, 'config')
  const all = textsOf(fieldOf(config, 'applications'))
  const access = await accessOf(request, infrastructure)
  const nowMs = infrastructure.context.now()
  const readable = (group: ServerGroup) => isReadable(access, group)
  return objectsOf(fieldOf(config, 'clusters')).map((cluster) => {
    const own = textsOf(cluster['applications'])
    const applications = (own.length > 0 ? own : all).map((application) =>
      toApplication(
        application,
        serverGroupsOf(infrastructure, application).filter(readable).filter(isPartOf(cluster)),
        nowMs,
      ),
    )
    return {
      account: textOf(cluster['account']) ?? '',
      stack: textOf(cluster['stack']) ?? null,
      detail: textOf(cluster['detail']) ?? null,
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
function isPartOf(cluster: JsonObject): (group: ServerGroup) => boolean {
  const matches = (wanted: unknown, part: string | null) =>
    wanted === '*' || (textOf(wanted) ?? null) === part
  return ({ account, moniker }) =>
    account === cluster['account'] &&
    matches(cluster['stack'], moniker.stack) &&
    matches(cluster['detail'], moniker.detail)
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
  const { host, name, number } = objectOf(buildInfo?.['jenkins'])
  const buildNumber = textOf(number)
  return buildNumber === undefined || !/^\d+$/.test(buildNumber)
    ? undefined
    : { host: textOf(host) ?? '', job: textOf(name) ?? '', buildNumber, deployed: createdMs ?? 0 }
}

/** Milliseconds since the epoch; 0 when nothing was ever deployed. */
function lastPushOf(groups: readonly ServerGroup[]): number {
  return Math.max(0, ...groups.map(({ createdMs }) => createdMs ?? 0))
}

async function loadProject(context: BackendContext, project: string): Promise<unknown> {
  const found = await context.ports.definitions.project(project, itself)
  if (found === undefined) throw new PortError(404, `Project not found (id: ${project})`)
  return found
}

export const projectRoutes: InfrastructureRoute[] = [get('/projects/:project/clusters', clusters)]
