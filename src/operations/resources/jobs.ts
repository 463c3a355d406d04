/** Jobs: containers of an application that run once. */

import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { pathTo } from '../../http/encode-path.ts'
import type { JsonObject } from '../../json/values.ts'
import { readsApplication, readsApplicationOnAccount } from '../demands.ts'
import { Job } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { text } from '../schemas.ts'
import { checkObject } from '../upstream-shape.ts'
import { toInsightActions } from './insights.ts'

export const jobOperations: Operation[] = [
  {
    id: 'getJobsUsingGET',
    core: true,
    polled: true,
    shared: 'rights',
    method: 'GET',
    path: '/applications/{applicationName}/jobs',
    demands: readsApplication,
    summary: 'List jobs of an application',
    description: 'Jobs of an application. Newer infrastructure services return 404.',
    query: { expand: text.default('false') },
    forward: 'clouddriver',
    answer: z.array(Job),
  },
  {
    id: 'getJobUsingGET',
    core: true,
    method: 'GET',
    path: '/applications/{applicationName}/jobs/{account}/{region}/{name}',
    demands: readsApplicationOnAccount,
    summary: 'Get a job',
    description: 'One job, with the links of `insights.job`. An unknown job is `{}`, not an error.',
    query: { expand: text.default('false').describe('Accepted and ignored.') },
    handle: loadJob,
    answer: Job,
  },
]

async function loadJob(request: OperationRequest, { settings }: Platform): Promise<JsonObject> {
  const { applicationName: application = '', account = '', region = '', name: jobName = '' } = request.path
  try {
    const path = pathTo`/applications/${application}/jobs/${account}/${region}/${jobName}`
    const job = checkObject(await request.json('clouddriver', { path }), 'clouddriver')
    const variables = { application, account, region, jobName, cloudProvider: job['cloudProvider'] }
    return { ...job, insightActions: toInsightActions(settings.insights.job, [variables]) }
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return {}
    throw error
  }
}
