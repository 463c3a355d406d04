/** Jobs: containers of an application that run once. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { textModel } from '../../json/schemas.ts'
import type { JsonObject } from '../../json/values.ts'
import { pathTo } from '../../net/encode-path.ts'
import { get, polledByUsers } from '../declare.ts'
import { readsApplication, readsApplicationOnAccount } from '../demands.ts'
import { JobModel } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readObject } from '../upstream-shape.ts'
import { toInsightActions } from './insights.ts'

export const jobOperations: Operation[] = [
  get('getJobsUsingGET', '/applications/{applicationName}/jobs', {
    core: true,
    ...polledByUsers,
    demands: readsApplication,
    summary: 'List jobs of an application',
    description: 'Jobs of an application. Newer infrastructure services return 404.',
    query: { expand: textModel.default('false') },
    forward: 'clouddriver',
    answer: z.array(JobModel),
  }),
  get('getJobUsingGET', '/applications/{applicationName}/jobs/{account}/{region}/{name}', {
    core: true,
    demands: readsApplicationOnAccount,
    summary: 'Get a job',
    description: 'One job, with the links of `insights.job`. An unknown job is `{}`, not an error.',
    query: { expand: textModel.default('false').describe('Accepted and ignored.') },
    handle: loadJob,
    answer: JobModel,
  }),
]

async function loadJob(request: OperationRequest, { settings }: Platform): Promise<JsonObject> {
  const { applicationName: application = '', account = '', region = '', name: jobName = '' } = request.path
  try {
    const path = pathTo`/applications/${application}/jobs/${account}/${region}/${jobName}`
    const job = readObject(await request.call('clouddriver', { path }), 'clouddriver')
    const variables = { application, account, region, jobName, cloudProvider: job['cloudProvider'] }
    return { ...job, insightActions: toInsightActions(settings.insights.job, [variables]) }
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return {}
    throw error
  }
}
