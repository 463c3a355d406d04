/** CI services and package repositories, as the build service knows them. */

import { z } from 'zod'
import { get, post } from '../declare.ts'
import { decidedByService, filteredByBuildService, provedBySender, readsBuildService, sharedKnowledge } from '../demands.ts'
import { Build } from '../models/builds.ts'
import type { Operation } from '../operation.ts'
import { described, nothing, TextList, textModel } from '../schemas.ts'

const teamsPath = '/concourse/{buildMaster}/teams'
const concoursePipelinesPath = `${teamsPath}/{team}/pipelines`

/** A list that is empty while the build service, or the integration within it, is off. */
const optionalList = { method: 'GET', whenDisabled: [], on404: { answer: [] }, answer: TextList } as const

export const integrationOperations: Operation[] = [
  {
    ...optionalList,
    id: 'getArtifactoryNamesUsingGET',
    path: '/artifactory/names',
    demands: sharedKnowledge,
    summary: 'List Artifactory servers',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getNexusNamesUsingGET',
    path: '/nexus/names',
    demands: sharedKnowledge,
    summary: 'List Nexus servers',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getCodeBuildAccountsUsingGET',
    path: '/codebuild/accounts',
    demands: filteredByBuildService,
    summary: 'List CodeBuild accounts',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getCodeBuildProjectsUsingGET',
    path: '/codebuild/projects/{account}',
    demands: readsBuildService('account'),
    summary: 'List CodeBuild projects',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getGoogleCloudBuildAccountsUsingGET',
    path: '/gcb/accounts',
    demands: filteredByBuildService,
    summary: 'List Cloud Build accounts',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getGoogleCloudBuildTriggersUsingGET',
    path: '/gcb/triggers/{account}',
    demands: readsBuildService('account'),
    summary: 'List Cloud Build triggers',
    forward: 'igor',
    answer: z.array(described('CloudBuildTrigger', 'id', 'name', 'description')),
  },
  {
    ...optionalList,
    id: 'getConcourseTeamsUsingGET',
    path: teamsPath,
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse teams',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getConcoursePipelinesUsingGET',
    path: concoursePipelinesPath,
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse pipelines',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getConcourseJobsUsingGET',
    path: `${concoursePipelinesPath}/{pipeline}/jobs`,
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse jobs',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getConcourseResourcesUsingGET',
    path: `${concoursePipelinesPath}/{pipeline}/resources`,
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse resources',
    forward: 'igor',
  },
  {
    ...optionalList,
    id: 'getCiBuildsUsingGET',
    path: '/ci/builds',
    demands: decidedByService,
    summary: 'List builds of a repository',
    query: {
      projectKey: textModel.optional(),
      repoSlug: textModel.optional(),
      completionStatus: textModel.optional(),
      buildNumber: textModel.optional(),
      commitId: textModel.optional(),
    },
    forward: 'igor',
    answer: z.array(Build),
  },
  get('getCiBuildOutputUsingGET', '/ci/builds/{buildId}/output', {
    demands: decidedByService,
    summary: 'Get the log of a build',
    forward: 'igor',
    missingWhenDisabled: true,
    answer: z.looseObject({ log: z.string().nullish() }),
  }),
  post('stageExecutionUsingPOST', '/concourse/stage/start', {
    demands: provedBySender,
    summary: 'Report a Concourse build',
    description: 'Reports the build of a waiting Concourse stage.',
    query: { stageId: textModel, job: textModel, buildNumber: textModel },
    forward: 'orca',
    answer: nothing,
  }),
]
