/** Applications and projects, as the definition store keeps them. */

import {
  AnyObject,
  millisecondsModel,
  model,
  nullableTexts,
  TextList,
} from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'
import { DeclaredEnvironments } from './declaration.ts'

const roles = TextList

const PermissionsModel = z
  .looseObject({
    READ: roles.optional(),
    WRITE: roles.optional(),
    EXECUTE: roles.optional(),
    CREATE: roles.optional(),
  })
  .meta({
    id: 'Permissions',
    description:
      'Roles by authorization. Without any role, every user has every authorization; with one, an authorization without roles ' +
      'is given to administrators only, except EXECUTE, which takes the roles of `fiat.executeFallback` (READ).',
  })

export const TrafficGuard = z
  .looseObject({
    ...nullableTexts('account', 'location', 'stack', 'detail'),
    enabled: z.boolean().nullish(),
  })
  .meta({
    id: 'TrafficGuard',
    description: 'A cluster that must never be without a server group that takes traffic.',
  })

export const ApplicationAttributes = model(
  'ApplicationAttributes',
  'Attributes of an application; any others are allowed beside these.',
  {
    name: z.string(),
    ...nullableTexts(
      'email',
      'description',
      'lastModifiedBy',
      'repoType',
      'repoProjectKey',
      'repoSlug',
      'aliases',
    ),
    cloudProviders: z.string().nullish().describe('Comma-separated.'),
    accounts: z
      .string()
      .nullish()
      .describe('Those in which the application runs, comma-separated.'),
    createTs: z.string().nullish().describe('Milliseconds since the epoch.'),
    updateTs: z.string().nullish().describe('Milliseconds since the epoch.'),
    permissions: PermissionsModel.nullish(),
    trafficGuards: z.array(TrafficGuard).nullish(),
    environments: DeclaredEnvironments.nullish().describe(
      'In the order of promotion; derived unless given.',
    ),
    instancePort: z.int().nullish(),
    platformHealthOnly: z.boolean().nullish(),
  },
)

export const ProjectClusterRule = model('ProjectClusterRule', {
  account: z.string(),
  stack: z.string().nullish().describe('`*` for all.'),
  detail: z.string().nullish().describe('`*` for all.'),
  applications: TextList.nullish(),
})

export const ProjectConfig = z.looseObject({
  applications: TextList.nullish(),
  clusters: z.array(ProjectClusterRule).nullish(),
  pipelineConfigs: z
    .array(z.looseObject({ application: z.string(), pipelineConfigId: z.string() }))
    .nullish(),
})

export const Project = model('Project', {
  id: z.string().optional(),
  name: z.string(),
  ...nullableTexts('email', 'lastModifiedBy'),
  config: ProjectConfig.nullish(),
  createTs: millisecondsModel.nullish(),
  updateTs: millisecondsModel.nullish(),
})

export const ProjectClusterModel = model('ProjectCluster', {
  account: z.string(),
  ...nullableTexts('stack', 'detail'),
  applications: z
    .array(AnyObject)
    .nullish()
    .describe('Each with its clusters and the builds that run there.'),
  instanceCounts: AnyObject.nullish(),
})

export const SnapshotModel = model('Snapshot', {
  id: z.string().describe('`{application}-{account}`'),
  application: z.string(),
  account: z.string(),
  infrastructure: AnyObject.nullish().describe('Kind of resource to name to definition.'),
  ...nullableTexts('configLang', 'lastModifiedBy'),
  timestamp: millisecondsModel.nullish(),
  lastModified: millisecondsModel.nullish(),
})
