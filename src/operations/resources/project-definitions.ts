/** Projects: groups of applications with their clusters and pipelines. They are changed by tasks (POST /tasks). */
import { z } from 'zod'
import { demandsNothing, filteredByAccount } from '../demands.ts'
import { Project, ProjectCluster } from '../models/applications.ts'
import type { Operation } from '../operation.ts'

const spansApplications = demandsNothing('a project shows several applications and belongs to none of them')

export const projectOperations: Operation[] = [
  {
    id: 'allUsingGET3',
    section: 'beyond',
    method: 'GET',
    path: '/projects',
    demands: spansApplications,
    summary: 'List projects',
    forward: { service: 'front50', path: '/v2/projects' },
    on404: { answer: [] },
    answer: z.array(Project),
  },
  {
    id: 'getProjectUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/projects/{id}',
    demands: spansApplications,
    summary: 'Get a project',
    description: 'One project, by name or id.',
    forward: { service: 'front50', path: '/v2/projects/{id}' },
    on404: { message: ({ path }) => `There is no project with the name or id ${path['id']}.` },
    answer: Project,
  },
  {
    id: 'getProjectClustersUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/projects/{id}/clusters',
    demands: filteredByAccount,
    summary: 'List clusters of a project',
    description: 'Clusters of a project, each with the instances of its applications.',
    forward: { service: 'clouddriver', path: '/projects/{id}/clusters' },
    answer: z.array(ProjectCluster),
  },
]
