/** Builds of CI servers, with the job in the path (v2) or query (v3), and other CI services. */

import {
  alike,
  bytes,
  described,
  maybeText,
  nothing,
  TextList,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'
import { get, operationsWith, post } from '../declare.ts'
import {
  decidedByService,
  filteredBy,
  open,
  readsBuildService,
  sharedKnowledge,
} from '../demands.ts'
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
  forward: 'igor /masters',
  whenDisabled: [],
  answer: TextList,
})
const ofServer = operationsWith({ demands: readsBuildService('buildMaster') })
const inPath = operationsWith({
  core: true,
  demands: readsBuildService('buildMaster'),
  errors: unknownJob,
})
const inQuery = operationsWith({ demands: readsBuildService('buildMaster'), query: { job } })

export const buildOperations: Operation[] = [
  servers.get('getBuildMastersUsingGET', '/v2/builds', 'List build servers', {
    core: true,
    query: { type: maybeText.describe('Only servers of this kind, such as jenkins.') },
  }),
  ofServer.get(
    'getJobsForBuildMasterUsingGET',
    '/v2/builds/{buildMaster}/jobs',
    'List jobs of a build server',
    {
      core: true,
      description: 'Job names of a build server; folders are joined with /job/.',
      forward: 'igor /jobs/{buildMaster}',
      on404: { message: ({ path }) => `There is no build server "${path['buildMaster']}".` },
      whenDisabled: [],
      answer: TextList,
      errors: { 404: 'The server is unknown.' },
    },
  ),
  inPath.get('getJobConfigUsingGET', '/v2/builds/{buildMaster}/jobs/**', 'Get a build job', {
    forward: 'igor /jobs/{buildMaster}/{rest}',
    on404: { message: (request) => `There is no ${jobOf(request)}.` },
    whenDisabled: {},
    answer: BuildJob,
  }),
  inPath.get('getBuildsUsingGET', '/v2/builds/{buildMaster}/builds/**', 'List builds of a job', {
    description: 'Builds of a job, newest first.',
    forward: 'igor /builds/all/{buildMaster}/{rest}',
    on404: { message: (request) => `There are no builds of ${jobOf(request)}.` },
    whenDisabled: [],
    answer: z.array(Build),
  }),
  inPath.get('getBuildUsingGET', '/v2/builds/{buildMaster}/build/{number}/**', 'Get a build', {
    forward: 'igor /builds/status/{number}/{buildMaster}/{rest}',
    on404: {
      message: (request) => `There is no build ${request.path['number']} of ${jobOf(request)}.`,
    },
    whenDisabled: {},
    answer: Build,
  }),
  servers.get('getBuildMastersUsingGET1', '/v3/builds', 'List build hosts', {
    query: {
      type: maybeText.describe('Provider: jenkins, travis, concourse, …; all unless given.'),
    },
  }),
  ofServer.get(
    'getJobsForBuildMasterUsingGET1',
    '/v3/builds/{buildMaster}/jobs',
    'List jobs of a build host',
    {
      forward: 'igor /jobs/{buildMaster}',
      whenDisabled: [],
      on404: missing('The build host'),
      answer: TextList,
    },
  ),
  inQuery.get('getJobConfigUsingGET1', '/v3/builds/{buildMaster}/job', 'Get a build job', {
    forward: 'igor /jobs/{buildMaster}/{+job}',
    whenDisabled: {},
    on404: missing('The job'),
    answer: BuildJob,
  }),
  inQuery.get('getBuildsUsingGET1', '/v3/builds/{buildMaster}/builds', 'List builds of a job', {
    description: 'Builds of a job, newest first.',
    forward: 'igor /builds/all/{buildMaster}/{+job}',
    whenDisabled: [],
    on404: missing('The job'),
    answer: z.array(Build),
  }),
  inQuery.get('getBuildUsingGET1', '/v3/builds/{buildMaster}/build/{number}', 'Get a build', {
    forward: 'igor /builds/status/{number}/{buildMaster}/{+job}',
    whenDisabled: {},
    on404: missing('The build'),
    answer: Build,
  }),
  inQuery.get(
    'getBuildFileUsingGET',
    '/v3/builds/{buildMaster}/build/{number}/file',
    'Get a file of a build',
    {
      description:
        'Only the embedded build service has this operation, for files of this machine and of Jenkins.',
      query: { job, path: textModel.describe('As the artifact of the build refers to it.') },
      forward: 'igor /builds/file/{number}/{buildMaster}/{+job}',
      missingWhenDisabled: true,
      on404: missing('The file of the build'),
      answer: bytes.describe('The content of the file.'),
      answerType: 'application/octet-stream',
    },
  ),
  inQuery.get(
    'getBuildOutputUsingGET',
    '/v3/builds/{buildMaster}/build/{number}/output',
    'Get the output of a build',
    {
      description:
        'Of a build that runs, what it has written until now. Only the embedded build service has this operation.',
      forward: 'igor /builds/output/{number}/{buildMaster}/{+job}',
      missingWhenDisabled: true,
      on404: missing('The log of the build'),
      answer: z.looseObject({ log: z.string() }),
    },
  ),
]

function jobOf({ path }: OperationRequest): string {
  return `job "${path['rest']}" on the build server "${path['buildMaster']}"`
}

const teamsPath = '/concourse/{buildMaster}/teams'
const concoursePipelinesPath = `${teamsPath}/{team}/pipelines`

/** A list that is empty while the build service, or the integration within it, is off. */
const list = operationsWith({
  forward: 'igor',
  whenDisabled: [],
  on404: { answer: [] },
  answer: TextList,
})

export const integrationOperations: Operation[] = [
  list.get('getArtifactoryNamesUsingGET', '/artifactory/names', 'List Artifactory servers', {
    demands: sharedKnowledge,
  }),
  list.get('getNexusNamesUsingGET', '/nexus/names', 'List Nexus servers', {
    demands: sharedKnowledge,
  }),
  list.get('getCodeBuildAccountsUsingGET', '/codebuild/accounts', 'List CodeBuild accounts', {
    demands: filteredBy('build-service'),
  }),
  list.get(
    'getCodeBuildProjectsUsingGET',
    '/codebuild/projects/{account}',
    'List CodeBuild projects',
    {
      demands: readsBuildService('account'),
    },
  ),
  list.get('getGoogleCloudBuildAccountsUsingGET', '/gcb/accounts', 'List Cloud Build accounts', {
    demands: filteredBy('build-service'),
  }),
  list.get(
    'getGoogleCloudBuildTriggersUsingGET',
    '/gcb/triggers/{account}',
    'List Cloud Build triggers',
    {
      demands: readsBuildService('account'),
      answer: z.array(described('CloudBuildTrigger', 'id', 'name', 'description')),
    },
  ),
  list.get('getConcourseTeamsUsingGET', teamsPath, 'List Concourse teams', {
    demands: readsBuildService('buildMaster'),
  }),
  list.get('getConcoursePipelinesUsingGET', concoursePipelinesPath, 'List Concourse pipelines', {
    demands: readsBuildService('buildMaster'),
  }),
  list.get(
    'getConcourseJobsUsingGET',
    `${concoursePipelinesPath}/{pipeline}/jobs`,
    'List Concourse jobs',
    {
      demands: readsBuildService('buildMaster'),
    },
  ),
  list.get(
    'getConcourseResourcesUsingGET',
    `${concoursePipelinesPath}/{pipeline}/resources`,
    'List Concourse resources',
    {
      demands: readsBuildService('buildMaster'),
    },
  ),
  list.get('getCiBuildsUsingGET', '/ci/builds', 'List builds of a repository', {
    demands: decidedByService,
    query: {
      ...alike(maybeText, 'projectKey', 'repoSlug', 'completionStatus', 'buildNumber', 'commitId'),
    },
    answer: z.array(Build),
  }),
  get('getCiBuildOutputUsingGET', '/ci/builds/{buildId}/output', 'Get the log of a build', {
    demands: decidedByService,
    forward: 'igor',
    missingWhenDisabled: true,
    answer: z.looseObject({ log: z.string().nullish() }),
  }),
  post('stageExecutionUsingPOST', '/concourse/stage/start', 'Report a Concourse build', {
    demands: open('signed by sender'),
    query: { stageId: textModel, job: textModel, buildNumber: textModel },
    forward: 'orca',
    answer: nothing,
  }),
]
