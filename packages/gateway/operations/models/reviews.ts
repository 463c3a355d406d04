/** What a promotion or a judgment changes, and releases of an application. */

import { model, nullableTexts, TextList } from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'
import { BuildModel, CommitModel, ConditionModel } from './environments.ts'

const moment = z.int().nullish().describe('Milliseconds since the epoch.')

export const ReviewModel = model('Review', 'What a promotion or a judgment changes.', {
  ...nullableTexts('from', 'to'),
  changes: z
    .array(
      z.looseObject({
        environment: z.string(),
        image: z.string(),
        from: z.string().nullable().describe('What runs there now; null: nothing of it.'),
        to: z.string(),
      }),
    )
    .describe('Images that change.'),
  manifests: z.array(z.looseObject({ name: z.string(), change: z.string() })),
  commits: z.array(CommitModel),
  authors: TextList,
  builds: z.array(BuildModel),
  note: z.string().optional().describe('What is not known of the commits.'),
  settings: TextList.describe('What else differs: variables, and the definition of the pipeline.'),
  conditions: z.array(ConditionModel),
  holds: TextList.describe('What holds it up, and why the caller may not.'),
  next: TextList.describe('What happens after the approval, in its order.'),
  onFailure: z.string().describe('What comes back if it fails.'),
  unknown: TextList.describe('What cannot be said before it runs.'),
  accounts: TextList.optional().describe(
    'Of the environment; `sources` are those of the one before.',
  ),
  sources: TextList.optional(),
  mayPromote: z.boolean().optional(),
  runs: z
    .array(z.looseObject({ id: z.string(), pipeline: z.string() }))
    .optional()
    .describe('Promotions that are under way.'),
  pipelines: z
    .array(z.looseObject({ id: z.string(), name: z.string(), promotes: z.boolean() }))
    .describe('Those that bring it there.'),
  judgment: z
    .looseObject({
      execution: z.string(),
      stage: z.string(),
      pipeline: z.string(),
      name: z.string(),
      ...nullableTexts('instructions', 'user'),
      inputs: TextList,
      roles: TextList,
      sinceMs: moment,
    })
    .optional()
    .describe('The judgment that waits.'),
})

const EventModel = z.looseObject({
  kind: z.enum(['build', 'deployment', 'judgment', 'canary', 'rollback']),
  atMs: moment,
  text: z.string(),
  state: z.enum(['good', 'failed', 'active']),
  ...nullableTexts('environment', 'user', 'comment', 'run', 'stage', 'task', 'analysis'),
})

export const ReleaseModel = model('Release', 'A version of an application.', {
  version: z.string().describe('The tag of its image, else the beginning of its commit.'),
  images: TextList,
  commit: CommitModel.optional(),
  build: BuildModel.optional(),
  tests: z.string().optional(),
  failure: z.string().optional().describe('Why it was not built.'),
  atMs: moment,
  serves: TextList.describe('Environments in which it serves.'),
  events: z.array(EventModel).describe('What happened to it, the newest first.'),
})
