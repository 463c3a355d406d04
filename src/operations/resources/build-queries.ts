/** Builds, with the job as a query parameter so that its slashes need no care. */
import { z } from 'zod'
import { filteredByBuildService, readsBuildService } from '../demands.ts'
import { Build, BuildJob } from '../models/builds.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { TextList, text } from '../schemas.ts'

const job = text.describe('Name of the job, with slashes as they are.')

const missing = (what: string) => ({
  message: ({ path, query }: OperationRequest) =>
    `${what} ${[...Object.values(path), query['job']].filter(Boolean).join(', ')} is not known to the build service.`,
})

export const buildOperations: Operation[] = [
  {
    id: 'getBuildMastersUsingGET1',
    section: 'beyond',
    method: 'GET',
    path: '/v3/builds',
    demands: filteredByBuildService,
    summary: 'List build hosts',
    query: { type: text.optional().describe('Provider: jenkins, travis, concourse, …; all unless given.') },
    forward: { service: 'igor', path: '/masters', query: ['type'] },
    whenDisabled: [],
    answer: TextList,
  },
  {
    id: 'getJobsForBuildMasterUsingGET1',
    section: 'beyond',
    method: 'GET',
    path: '/v3/builds/{buildMaster}/jobs',
    demands: readsBuildService('buildMaster'),
    summary: 'List jobs of a build host',
    forward: { service: 'igor', path: '/jobs/{buildMaster}' },
    whenDisabled: [],
    on404: missing('The build host'),
    answer: TextList,
  },
  {
    id: 'getJobConfigUsingGET1',
    section: 'beyond',
    method: 'GET',
    path: '/v3/builds/{buildMaster}/job',
    demands: readsBuildService('buildMaster'),
    summary: 'Get a build job',
    query: { job },
    forward: { service: 'igor', path: '/jobs/{buildMaster}/{+job}' },
    whenDisabled: {},
    on404: missing('The job'),
    answer: BuildJob,
  },
  {
    id: 'getBuildsUsingGET1',
    section: 'beyond',
    method: 'GET',
    path: '/v3/builds/{buildMaster}/builds',
    demands: readsBuildService('buildMaster'),
    summary: 'List builds of a job',
    description: 'Builds of a job, newest first.',
    query: { job },
    forward: { service: 'igor', path: '/builds/all/{buildMaster}/{+job}' },
    whenDisabled: [],
    on404: missing('The job'),
    answer: z.array(Build),
  },
  {
    id: 'getBuildUsingGET1',
    section: 'beyond',
    method: 'GET',
    path: '/v3/builds/{buildMaster}/build/{number}',
    demands: readsBuildService('buildMaster'),
    summary: 'Get a build',
    query: { job },
    forward: { service: 'igor', path: '/builds/status/{number}/{buildMaster}/{+job}' },
    whenDisabled: {},
    on404: missing('The build'),
    answer: Build,
  },
]
