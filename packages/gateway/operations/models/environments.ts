/** Environments of an application: what they run, and what lies between them. */

import { alike, model, nullableTexts, TextList } from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'
import { ManifestDrift } from './infrastructure.ts'

const count = z.int()
const moment = z.int().nullish().describe('Milliseconds since the epoch.')

export const CommitModel = model('EnvironmentCommit', {
  sha: z.string(),
  ...nullableTexts('branch', 'message', 'author', 'url'),
  timestamp: z.union([z.string(), z.int()]).nullish(),
})

export const BuildModel = model('EnvironmentBuild', {
  ...nullableTexts('server', 'job', 'url', 'result'),
  number: z.int().nullish(),
})

const VersionModel = model('EnvironmentVersion', {
  image: z.string().describe('As it is deployed.'),
  label: z.string().describe('Its tag, else the beginning of its digest, else its name.'),
  digest: z.string().optional(),
  commit: CommitModel.optional(),
  build: BuildModel.optional(),
})

const HealthModel = model('EnvironmentHealth', {
  state: z.enum(['up', 'degraded', 'down', 'disabled', 'empty']),
  up: count.describe('Instances that are up.'),
  total: count,
})

const RunModel = model('EnvironmentRun', {
  id: z.string(),
  pipeline: z.string(),
  ...nullableTexts('user'),
  atMs: moment,
})

const shared = { versions: z.array(VersionModel), sinceMs: moment, health: HealthModel }

const ClusterModel = model('EnvironmentCluster', {
  ...alike(z.string(), 'provider', 'account', 'region', 'cluster'),
  serverGroups: TextList.describe('Those that serve; where none does, the newest.'),
  ...shared,
  run: RunModel.optional().describe('Which has deployed it.'),
})

const DriftModel = ManifestDrift.partial()
  .extend({ text: z.string().describe('What differs from what was deployed last.') })
  .meta({ id: 'EnvironmentDrift' })

export const ConditionModel = model('EnvironmentCondition', {
  type: z.enum(['judgment', 'soakTime', 'window', 'canary', 'verification']),
  state: z.enum(['met', 'waits', 'failed', 'ahead']).describe('ahead: it is checked later.'),
  text: z.string().describe('The condition with its evidence.'),
  untilMs: moment.describe('When a soak time is over.'),
  ...nullableTexts('run', 'stage', 'analysis'),
})

const PromotionModel = model('EnvironmentPromotion', {
  from: z.string().describe('The environment before this one.'),
  images: z
    .array(z.looseObject({ image: z.string(), from: z.string().nullable(), to: z.string() }))
    .describe('Those that change.'),
  manifests: z
    .array(z.looseObject({ name: z.string(), change: z.enum(['added', 'changed', 'removed']) }))
    .describe('Those that were deployed otherwise, beside their images.'),
  commits: z.array(CommitModel),
  authors: TextList,
  builds: z.array(BuildModel),
  note: z
    .string()
    .optional()
    .describe('What is not known of the commits, and how it becomes known.'),
  pipelines: z
    .array(
      z.looseObject({
        id: z.string(),
        name: z.string(),
        promotes: z.boolean().describe('It has a stage `promote` for it.'),
      }),
    )
    .describe('Those that deploy there.'),
  mayPromote: z.boolean().describe('Whether the caller may.'),
  holds: TextList.describe(
    'What holds a promotion up that begins now, in the order of the checks.',
  ),
  conditions: z
    .array(ConditionModel)
    .describe('In the order of their check, with what a promotion under way has found.'),
  runs: z
    .array(
      z.looseObject({
        id: z.string(),
        pipeline: z.string(),
        waitsFor: z.string().nullish(),
        judgment: z.string().optional().describe('The stage that waits for a judgment.'),
        sinceMs: moment,
      }),
    )
    .describe('Promotions that are under way, and what each waits for.'),
})

const EnvironmentModel = model('Environment', {
  name: z.string(),
  accounts: TextList,
  ...alike(TextList.optional(), 'regions', 'clusters', 'mayPromote'),
  ...shared,
  history: TextList.describe(
    'Labels of all versions that are kept there and have come up, the newest first.',
  ),
  rolledBackFrom: TextList.describe(
    'Labels of newer versions that have served there and no longer do.',
  ),
  rollback: z
    .looseObject({
      from: z.string(),
      atMs: moment,
      ...nullableTexts('to', 'user', 'reason', 'task', 'run'),
    })
    .optional()
    .describe('The last rollback, while the version that it left does not serve.'),
  clusters: z.array(ClusterModel),
  drift: z.array(DriftModel),
  warnings: TextList.describe(
    'Accounts and namespaces that do not exist, and accounts to which users may deploy who may not promote.',
  ),
  promotion: PromotionModel.optional().describe(
    'From the environment before; the first one has none.',
  ),
})

export const EnvironmentsModel = model('Environments', {
  declared: z.boolean().describe('False: they are made of accounts and pipelines.'),
  problem: z.string().optional().describe('Why the declaration of the application cannot be used.'),
  environments: z.array(EnvironmentModel).describe('In the order of promotion.'),
})
