/** Clusters of a project: what the definition store says belongs to it, with what runs of that, which is nothing yet. */
import { fieldOf, objectsOf, textOf, textsOf } from '../../json/values.ts'
import { type BackendContext, BackendError } from '../backend.ts'
import { type InfrastructureRoute, pathValue } from './route.ts'

export interface ProjectCluster {
  account: string
  stack: string | null
  detail: string | null
  applications: ProjectApplication[]
  instanceCounts: InstanceCounts
}

export interface ProjectApplication {
  application: string
  /** Milliseconds since the epoch; 0 when nothing was ever deployed. */
  lastPush: number
  clusters: { region: string; lastPush: number; builds: unknown[]; instanceCounts: InstanceCounts }[]
}

export interface InstanceCounts {
  total: number
  up: number
  down: number
  unknown: number
  starting: number
  outOfService: number
}

const noInstances: InstanceCounts = { total: 0, up: 0, down: 0, unknown: 0, starting: 0, outOfService: 0 }

/** Without applications of its own, a project's cluster covers all applications of the project. */
const clusters: InfrastructureRoute['answer'] = async (request, context): Promise<ProjectCluster[]> => {
  const project = await loadProject(context, pathValue(request, 'project'))
  const config = fieldOf(project, 'config')
  const all = textsOf(fieldOf(config, 'applications'))
  return objectsOf(fieldOf(config, 'clusters')).map((cluster) => {
    const own = textsOf(cluster['applications'])
    return {
      account: textOf(cluster['account']) ?? '',
      stack: textOf(cluster['stack']) ?? null,
      detail: textOf(cluster['detail']) ?? null,
      applications: (own.length > 0 ? own : all).map((application) => ({ application, lastPush: 0, clusters: [] })),
      instanceCounts: noInstances,
    }
  })
}

async function loadProject(context: BackendContext, project: string): Promise<unknown> {
  const answer = await context.call('front50', { method: 'GET', path: `/v2/projects/${encodeURIComponent(project)}` })
  if (answer.status === 404) throw new BackendError(404, `Project not found (id: ${project})`)
  if (answer.status !== 200) throw new BackendError(502, `The definition store answered ${answer.status} for a project.`)
  return answer.body
}

export const projectRoutes: InfrastructureRoute[] = [{ method: 'GET', path: '/projects/:project/clusters', answer: clusters }]
