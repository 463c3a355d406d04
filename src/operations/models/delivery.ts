/** Figures of delivery, each with its definition. */
import { z } from 'zod'
import { alike, optionalTextsModel, TextList } from '../../json/schemas.ts'
import { BuildModel, CommitModel } from './environments.ts'

const count = z.int()
const words = {
  title: z.string(),
  text: z.string().describe('The figure in words.'),
  definition: z.string().describe('What the number counts.'),
}
const medianMs = z.int().nullable().describe('Milliseconds; null where nothing was measured.')

const ChangeModel = z
  .looseObject({
    run: z.looseObject({ id: z.string(), pipeline: z.string(), ...optionalTextsModel('user') }),
    atMs: count.describe('Its end, in milliseconds since the epoch.'),
    kind: z.enum(['deployment', 'restoration']).describe('restoration: it deploys again what ran before.'),
    ...alike(TextList, 'clusters', 'images'),
    labels: TextList.describe('Tags of the images.'),
    commit: CommitModel.optional(),
    build: BuildModel.optional(),
    leadMs: count.optional().describe('From the commit, for the first deployment of it.'),
    failure: z.string().optional().describe('Why it counts as failed.'),
    restoredAtMs: count.optional().describe('When the environment was good again.'),
  })
  .meta({ id: 'DeliveryChange', description: 'A run that has deployed to the environment.' })

export const DeliveryModel = z
  .looseObject({
    sinceMs: count,
    untilMs: count,
    environment: z.string().nullable().describe('Null: deployments anywhere count, because no environment is production.'),
    environments: TextList.describe('Those that the query may name, in the order of promotion.'),
    complete: z.boolean().describe('False: there are more runs than are read, so that the time begins with the oldest of them.'),
    figures: z.object({
      deploymentFrequency: z.looseObject({ perDay: z.number(), deployments: count, ...words }),
      leadTime: z.looseObject({ medianMs, of: count.describe('Deployments whose commit is known.'), ...words }),
      changeFailureRate: z.looseObject({ share: z.number().nullable(), failed: count, of: count, ...words }),
      timeToRestore: z.looseObject({
        medianMs,
        of: count.describe('Failures that have ended.'),
        open: count.describe('Failures that have not.'),
        ...words,
      }),
    }),
    changes: z.array(ChangeModel).describe('The newest first, at most 500.'),
  })
  .meta({ id: 'Delivery' })
