/** Continuous-integration services and package repositories, as the build service knows them. An absent one has nothing. */

import { z } from 'zod'
import { decidedByService, filteredByBuildService, provedBySender, readsBuildService, sharedKnowledge } from '../demands.ts'
import { Build } from '../models/builds.ts'
import type { Operation } from '../operation.ts'
import { nothing, ObjectList, TextList, text } from '../schemas.ts'

const teamsPath = '/concourse/{buildMaster}/teams'
const concoursePipelinesPath = `${teamsPath}/{team}/pipelines`

/** A list that is empty while the build service, or the integration within it, is off. */
const optionalList = { section: 'beyond', method: 'GET', whenDisabled: [], on404: { answer: [] }, answer: TextList } as const

export const integrationOperations: Operation[] = [
  {
    ...optionalList,
    id: 'getArtifactoryNamesUsingGET',
    path: '/artifactory/names',
    demands: sharedKnowledge,
    summary: 'List Artifactory servers',
    forward: { service: 'igor', path: '/artifactory/names' },
  },
  {
    ...optionalList,
    id: 'getNexusNamesUsingGET',
    path: '/nexus/names',
    demands: sharedKnowledge,
    summary: 'List Nexus servers',
    forward: { service: 'igor', path: '/nexus/names' },
  },
  {
    ...optionalList,
    id: 'getCodeBuildAccountsUsingGET',
    path: '/codebuild/accounts',
    demands: filteredByBuildService,
    summary: 'List CodeBuild accounts',
    forward: { service: 'igor', path: '/codebuild/accounts' },
  },
  {
    ...optionalList,
    id: 'getCodeBuildProjectsUsingGET',
    path: '/codebuild/projects/{account}',
    demands: readsBuildService('account'),
    summary: 'List CodeBuild projects',
    forward: { service: 'igor', path: '/codebuild/projects/{account}' },
  },
  {
    ...optionalList,
    id: 'getGoogleCloudBuildAccountsUsingGET',
    path: '/gcb/accounts',
    demands: filteredByBuildService,
    summary: 'List Cloud Build accounts',
    forward: { service: 'igor', path: '/gcb/accounts' },
  },
  {
    ...optionalList,
    id: 'getGoogleCloudBuildTriggersUsingGET',
    path: '/gcb/triggers/{account}',
    demands: readsBuildService('account'),
    summary: 'List Cloud Build triggers',
    forward: { service: 'igor', path: '/gcb/triggers/{account}' },
    answer: ObjectList,
  },
  {
    ...optionalList,
    id: 'getConcourseTeamsUsingGET',
    path: teamsPath,
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse teams',
    forward: { service: 'igor', path: teamsPath },
  },
  {
    ...optionalList,
    id: 'getConcoursePipelinesUsingGET',
    path: concoursePipelinesPath,
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse pipelines',
    forward: { service: 'igor', path: concoursePipelinesPath },
  },
  {
    ...optionalList,
    id: 'getConcourseJobsUsingGET',
    path: `${concoursePipelinesPath}/{pipeline}/jobs`,
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse jobs',
    forward: { service: 'igor', path: `${concoursePipelinesPath}/{pipeline}/jobs` },
  },
  {
    ...optionalList,
    id: 'getConcourseResourcesUsingGET',
    path: `${concoursePipelinesPath}/{pipeline}/resources`,
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse resources',
    forward: { service: 'igor', path: `${concoursePipelinesPath}/{pipeline}/resources` },
  },
  {
    ...optionalList,
    id: 'getCiBuildsUsingGET',
    path: '/ci/builds',
    demands: decidedByService,
    summary: 'List builds of a repository',
    query: {
      projectKey: text.optional(),
      repoSlug: text.optional(),
      completionStatus: text.optional(),
      buildNumber: text.optional(),
      commitId: text.optional(),
    },
    forward: {
      service: 'igor',
      path: '/ci/builds',
      query: ['projectKey', 'repoSlug', 'completionStatus', 'buildNumber', 'commitId'],
    },
    answer: z.array(Build),
  },
  {
    id: 'getCiBuildOutputUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/ci/builds/{buildId}/output',
    demands: decidedByService,
    summary: 'Get the log of a build',
    forward: { service: 'igor', path: '/ci/builds/{buildId}/output' },
    missingWhenDisabled: true,
    answer: z.looseObject({ log: z.string().nullish() }),
  },
  {
    id: 'stageExecutionUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/concourse/stage/start',
    demands: provedBySender,
    summary: 'Report a Concourse build',
    description: 'Tells a waiting Concourse stage which build it became.',
    query: { stageId: text, job: text, buildNumber: text },
    forward: { service: 'orca', path: '/concourse/stage/start', query: ['stageId', 'job', 'buildNumber'] },
    answer: nothing,
  },
]
