/** Projects: groups of applications with their clusters and pipelines. Tasks change them. */
import { z } from 'zod'
import { Project, ProjectClusterModel } from '../../environments/application-models.ts'
import { integer, textModel } from '../../json/schemas.ts'
import type { JsonObject } from '../../json/values.ts'
import { pathTo } from '../../net/encode-path.ts'
import { createReadFilter, isDecided } from '../access/application-access.ts'
import { get } from '../declare.ts'
import { demandsNothing, filteredBy } from '../demands.ts'
import { ExecutionModel } from '../models/executions.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readList } from '../upstream-shape.ts'

const spansApplications = demandsNothing('a project shows several applications and belongs to none of them')

export const projectOperations: Operation[] = [
  get('allUsingGET3', '/projects', {
    demands: spansApplications,
    summary: 'List projects',
    forward: { service: 'front50', path: '/v2/projects' },
    on404: { answer: [] },
    answer: z.array(Project),
  }),
  get('getProjectUsingGET', '/projects/{id}', {
    demands: spansApplications,
    summary: 'Get a project',
    description: 'One project, by name or id.',
    forward: { service: 'front50', path: '/v2/projects/{id}' },
    on404: { message: ({ path }) => `There is no project with the name or id ${path['id']}.` },
    answer: Project,
  }),
  get('getProjectClustersUsingGET', '/projects/{id}/clusters', {
    demands: filteredBy('account'),
    summary: 'List clusters of a project',
    description: 'Clusters of a project, each with the instances of its applications.',
    forward: 'clouddriver',
    answer: z.array(ProjectClusterModel),
  }),
  get('allPipelinesForProjectUsingGET', '/projects/{id}/pipelines', {
    core: true,
    demands: filteredBy('application'),
    summary: 'List executions of a project',
    description: 'Recent executions of a project, of applications that the caller may read.',
    query: { limit: integer.default(5), statuses: textModel.optional().describe('Comma-separated; all unless given.') },
    handle: listExecutions,
    cost: 5,
    answer: z.array(ExecutionModel),
  }),
]

/** The orchestrator does not filter the executions of a project, so they are filtered here. */
async function listExecutions(request: OperationRequest, platform: Platform): Promise<StreamedAnswer | JsonObject[]> {
  const call = { path: pathTo`/projects/${request.path['id'] as string}/pipelines`, query: request.query }
  if (!isDecided(platform)) return new StreamedAnswer('orca', call)
  const executions = readList(await request.call('orca', call), 'orca')
  const mayRead = await createReadFilter(request, platform)
  return executions.filter(({ application }) => typeof application === 'string' && mayRead(application))
}
