/** Builds of continuous-integration servers. Job names may hold slashes and are the rest of the path. */
import { z } from 'zod'
import { filteredByBuildService, readsBuildService } from '../demands.ts'
import { Build, BuildJob } from '../models/builds.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { TextList, text } from '../schemas.ts'

const unknownJob = { 404: 'The server, the job or the build is unknown.' }

export const buildOperations: Operation[] = [
  {
    id: 'getBuildMastersUsingGET',
    section: '4.5',
    method: 'GET',
    path: '/v2/builds',
    demands: filteredByBuildService,
    summary: 'List build servers',
    description: 'Names of the build servers.',
    query: { type: text.optional().describe('Only servers of this kind, such as jenkins.') },
    forward: { service: 'igor', path: '/masters', query: ['type'] },
    whenDisabled: [],
    answer: TextList,
  },
  {
    id: 'getJobsForBuildMasterUsingGET',
    section: '4.5',
    method: 'GET',
    path: '/v2/builds/{buildMaster}/jobs',
    demands: readsBuildService('buildMaster'),
    summary: 'List jobs of a build server',
    description: 'Job names of a build server; folders are joined with /job/.',
    forward: { service: 'igor', path: '/jobs/{buildMaster}' },
    on404: { message: ({ path }) => `There is no build server "${path['buildMaster']}".` },
    whenDisabled: [],
    answer: TextList,
    errors: { 404: 'The server is unknown.' },
  },
  {
    id: 'getJobConfigUsingGET',
    section: '4.5',
    method: 'GET',
    path: '/v2/builds/{buildMaster}/jobs/**',
    demands: readsBuildService('buildMaster'),
    summary: 'Get a build job',
    description: 'Configuration of a job.',
    forward: { service: 'igor', path: '/jobs/{buildMaster}/{rest}' },
    on404: { message: (request) => `There is no ${jobOf(request)}.` },
    whenDisabled: {},
    answer: BuildJob,
    errors: unknownJob,
  },
  {
    id: 'getBuildsUsingGET',
    section: '4.5',
    method: 'GET',
    path: '/v2/builds/{buildMaster}/builds/**',
    demands: readsBuildService('buildMaster'),
    summary: 'List builds of a job',
    description: 'Builds of a job, newest first.',
    forward: { service: 'igor', path: '/builds/all/{buildMaster}/{rest}' },
    on404: { message: (request) => `There are no builds of ${jobOf(request)}.` },
    whenDisabled: [],
    answer: z.array(Build),
    errors: unknownJob,
  },
  {
    id: 'getBuildUsingGET',
    section: '4.5',
    method: 'GET',
    path: '/v2/builds/{buildMaster}/build/{number}/**',
    demands: readsBuildService('buildMaster'),
    summary: 'Get a build',
    forward: { service: 'igor', path: '/builds/status/{number}/{buildMaster}/{rest}' },
    on404: { message: (request) => `There is no build ${request.path['number']} of ${jobOf(request)}.` },
    whenDisabled: {},
    answer: Build,
    errors: unknownJob,
  },
]

function jobOf({ path }: OperationRequest): string {
  return `job "${path['rest']}" on the build server "${path['buildMaster']}"`
}
