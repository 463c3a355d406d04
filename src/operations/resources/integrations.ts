/** CI services and package repositories, as the build service knows them. */
import { z } from 'zod'
import { alike, described, nothing, TextList, textModel } from '../../json/schemas.ts'
import { get, operationsWith, post } from '../declare.ts'
import { decidedByService, filteredBy, provedBySender, readsBuildService, sharedKnowledge } from '../demands.ts'
import { Build } from '../models/builds.ts'
import type { Operation } from '../operation.ts'

const teamsPath = '/concourse/{buildMaster}/teams'
const concoursePipelinesPath = `${teamsPath}/{team}/pipelines`

/** A list that is empty while the build service, or the integration within it, is off. */
const list = operationsWith({ forward: 'igor', whenDisabled: [], on404: { answer: [] }, answer: TextList })

export const integrationOperations: Operation[] = [
  list.get('getArtifactoryNamesUsingGET', '/artifactory/names', {
    demands: sharedKnowledge,
    summary: 'List Artifactory servers',
  }),
  list.get('getNexusNamesUsingGET', '/nexus/names', { demands: sharedKnowledge, summary: 'List Nexus servers' }),
  list.get('getCodeBuildAccountsUsingGET', '/codebuild/accounts', {
    demands: filteredBy('build-service'),
    summary: 'List CodeBuild accounts',
  }),
  list.get('getCodeBuildProjectsUsingGET', '/codebuild/projects/{account}', {
    demands: readsBuildService('account'),
    summary: 'List CodeBuild projects',
  }),
  list.get('getGoogleCloudBuildAccountsUsingGET', '/gcb/accounts', {
    demands: filteredBy('build-service'),
    summary: 'List Cloud Build accounts',
  }),
  list.get('getGoogleCloudBuildTriggersUsingGET', '/gcb/triggers/{account}', {
    demands: readsBuildService('account'),
    summary: 'List Cloud Build triggers',
    answer: z.array(described('CloudBuildTrigger', 'id', 'name', 'description')),
  }),
  list.get('getConcourseTeamsUsingGET', teamsPath, {
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse teams',
  }),
  list.get('getConcoursePipelinesUsingGET', concoursePipelinesPath, {
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse pipelines',
  }),
  list.get('getConcourseJobsUsingGET', `${concoursePipelinesPath}/{pipeline}/jobs`, {
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse jobs',
  }),
  list.get('getConcourseResourcesUsingGET', `${concoursePipelinesPath}/{pipeline}/resources`, {
    demands: readsBuildService('buildMaster'),
    summary: 'List Concourse resources',
  }),
  list.get('getCiBuildsUsingGET', '/ci/builds', {
    demands: decidedByService,
    summary: 'List builds of a repository',
    query: {
      ...alike(textModel.optional(), 'projectKey', 'repoSlug', 'completionStatus', 'buildNumber', 'commitId'),
    },
    answer: z.array(Build),
  }),
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
