/** Builds and bakes: jobs of build servers, their builds, and base images. */

import { AnyObject, alike, model, nullableTexts, TextList } from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'

const text = z.string().nullish()

export const BuildJob = model('BuildJob', 'Configuration of a job of a build server.', {
  ...nullableTexts('name', 'displayName', 'description', 'url'),
  buildable: z.boolean().nullish(),
  concurrentBuild: z.boolean().nullish(),
  parameterDefinitionList: z
    .array(
      z.looseObject({
        name: z.string(),
        ...nullableTexts('description', 'type', 'defaultValue'),
        choices: TextList.nullish(),
      }),
    )
    .nullish(),
})

export const Build = model('Build', {
  number: z.int().nullish(),
  building: z.boolean().nullish(),
  result: text.describe(
    'SUCCESS, UNSTABLE, BUILDING, ABORTED, FAILURE or NOT_BUILT; absent while it runs.',
  ),
  ...nullableTexts('name', 'id', 'url'),
  timestamp: z
    .union([z.string(), z.int()])
    .nullish()
    .describe('Start in milliseconds since the epoch.'),
  duration: z.int().nullish().describe('Milliseconds.'),
  ...alike(z.array(AnyObject).nullish(), 'artifacts', 'testResults', 'scm'),
  properties: AnyObject.nullish(),
})

export const BakeOptions = model('BakeOptions', 'Base images of a cloud provider.', {
  cloudProvider: z.string(),
  baseImages: z
    .array(
      z.looseObject({
        id: z.string(),
        ...nullableTexts('shortDescription', 'detailedDescription', 'packageType', 'osType'),
      }),
    )
    .nullish(),
})
