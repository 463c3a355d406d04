/** Projects: recent executions of the pipelines that a project shows together. */

import { z } from 'zod'
import { pathTo } from '../../http/encode-path.ts'
import type { JsonObject } from '../../json/values.ts'
import { createReadFilter, isDecided } from '../access/application-access.ts'
import { filteredByApplication } from '../demands.ts'
import { Execution } from '../models/executions.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { integer, text } from '../schemas.ts'
import { checkList } from '../upstream-shape.ts'

export const projectOperations: Operation[] = [
  {
    id: 'allPipelinesForProjectUsingGET',
    section: '4.12',
    method: 'GET',
    path: '/projects/{id}/pipelines',
    demands: filteredByApplication,
    summary: 'List executions of a project',
    description: 'Recent executions of a project, of applications that the caller may read.',
    query: { limit: integer.default(5), statuses: text.optional().describe('Comma-separated; all unless given.') },
    handle: listExecutions,
    cost: 5,
    answer: z.array(Execution),
  },
]

/** The orchestrator does not filter the executions of a project, so they are filtered here. */
async function listExecutions(request: OperationRequest, platform: Platform): Promise<StreamedAnswer | JsonObject[]> {
  const call = { path: pathTo`/projects/${request.path['id'] as string}/pipelines`, query: request.query }
  if (!isDecided(platform)) return new StreamedAnswer('orca', call)
  const executions = checkList(await request.json('orca', call), 'orca')
  const mayRead = await createReadFilter(request, platform)
  return executions.filter(({ application }) => typeof application === 'string' && mayRead(application))
}
