/** Builds of CI servers, with the job in the path (v2) or query (v3). */
import { z } from 'zod'
import { bytes, TextList, textModel } from '../../json/schemas.ts'
import { operationsWith } from '../declare.ts'
import { filteredBy, readsBuildService } from '../demands.ts'
import { Build, BuildJob } from '../models/builds.ts'
import type { Operation, OperationRequest } from '../operation.ts'

const unknownJob = { 404: 'The server, the job or the build is unknown.' }

const job = textModel.describe('Name of the job, with slashes as they are.')

const missing = (what: string) => ({
  message: ({ path, query }: OperationRequest) =>
    `${what} ${[...Object.values(path), query['job']].filter(Boolean).join(', ')} is not known to the build service.`,
})

const servers = operationsWith({
  demands: filteredBy('build-service'),
  forward: { service: 'igor', path: '/masters' },
  whenDisabled: [],
  answer: TextList,
})
const { get } = operationsWith({ demands: readsBuildService('buildMaster') })
const inPath = operationsWith({ core: true, demands: readsBuildService('buildMaster'), errors: unknownJob })
const inQuery = operationsWith({ demands: readsBuildService('buildMaster'), query: { job } })

export const buildOperations: Operation[] = [
  servers.get('getBuildMastersUsingGET', '/v2/builds', {
    core: true,
    summary: 'List build servers',
    description: 'Names of the build servers.',
    query: { type: textModel.optional().describe('Only servers of this kind, such as jenkins.') },
  }),
  get('getJobsForBuildMasterUsingGET', '/v2/builds/{buildMaster}/jobs', {
    core: true,
    summary: 'List jobs of a build server',
    description: 'Job names of a build server; folders are joined with /job/.',
    forward: { service: 'igor', path: '/jobs/{buildMaster}' },
    on404: { message: ({ path }) => `There is no build server "${path['buildMaster']}".` },
    whenDisabled: [],
    answer: TextList,
    errors: { 404: 'The server is unknown.' },
  }),
  inPath.get('getJobConfigUsingGET', '/v2/builds/{buildMaster}/jobs/**', {
    summary: 'Get a build job',
    forward: { service: 'igor', path: '/jobs/{buildMaster}/{rest}' },
    on404: { message: (request) => `There is no ${jobOf(request)}.` },
    whenDisabled: {},
    answer: BuildJob,
  }),
  inPath.get('getBuildsUsingGET', '/v2/builds/{buildMaster}/builds/**', {
    summary: 'List builds of a job',
    description: 'Builds of a job, newest first.',
    forward: { service: 'igor', path: '/builds/all/{buildMaster}/{rest}' },
    on404: { message: (request) => `There are no builds of ${jobOf(request)}.` },
    whenDisabled: [],
    answer: z.array(Build),
  }),
  inPath.get('getBuildUsingGET', '/v2/builds/{buildMaster}/build/{number}/**', {
    summary: 'Get a build',
    forward: { service: 'igor', path: '/builds/status/{number}/{buildMaster}/{rest}' },
    on404: { message: (request) => `There is no build ${request.path['number']} of ${jobOf(request)}.` },
    whenDisabled: {},
    answer: Build,
  }),
  servers.get('getBuildMastersUsingGET1', '/v3/builds', {
    summary: 'List build hosts',
    query: { type: textModel.optional().describe('Provider: jenkins, travis, concourse, …; all unless given.') },
  }),
  get('getJobsForBuildMasterUsingGET1', '/v3/builds/{buildMaster}/jobs', {
    summary: 'List jobs of a build host',
    forward: { service: 'igor', path: '/jobs/{buildMaster}' },
    whenDisabled: [],
    on404: missing('The build host'),
    answer: TextList,
  }),
  inQuery.get('getJobConfigUsingGET1', '/v3/builds/{buildMaster}/job', {
    summary: 'Get a build job',
    forward: { service: 'igor', path: '/jobs/{buildMaster}/{+job}' },
    whenDisabled: {},
    on404: missing('The job'),
    answer: BuildJob,
  }),
  inQuery.get('getBuildsUsingGET1', '/v3/builds/{buildMaster}/builds', {
    summary: 'List builds of a job',
    description: 'Builds of a job, newest first.',
    forward: { service: 'igor', path: '/builds/all/{buildMaster}/{+job}' },
    whenDisabled: [],
    on404: missing('The job'),
    answer: z.array(Build),
  }),
  inQuery.get('getBuildUsingGET1', '/v3/builds/{buildMaster}/build/{number}', {
    summary: 'Get a build',
    forward: { service: 'igor', path: '/builds/status/{number}/{buildMaster}/{+job}' },
    whenDisabled: {},
    on404: missing('The build'),
    answer: Build,
  }),
  inQuery.get('getBuildFileUsingGET', '/v3/builds/{buildMaster}/build/{number}/file', {
    summary: 'Get a file of a build',
    description: 'Only the embedded build service has this operation, for files of this machine and of Jenkins.',
    query: { job, path: textModel.describe('As the artifact of the build refers to it.') },
    forward: { service: 'igor', path: '/builds/file/{number}/{buildMaster}/{+job}' },
    missingWhenDisabled: true,
    on404: missing('The file of the build'),
    answer: bytes.describe('The content of the file.'),
    answerType: 'application/octet-stream',
  }),
  inQuery.get('getBuildOutputUsingGET', '/v3/builds/{buildMaster}/build/{number}/output', {
    summary: 'Get the output of a build',
    description: 'Of a build that runs, what it has written until now. Only the embedded build service has this operation.',
    forward: { service: 'igor', path: '/builds/output/{number}/{buildMaster}/{+job}' },
    missingWhenDisabled: true,
    on404: missing('The log of the build'),
    answer: z.looseObject({ log: z.string() }),
  }),
]

function jobOf({ path }: OperationRequest): string {
  return `job "${path['rest']}" on the build server "${path['buildMaster']}"`
}
