/** Builds and bakes: jobs of build servers, their builds, and base images. */
import { z } from 'zod'
import { AnyObject } from '../schemas.ts'

const text = z.string().nullish()

export const BuildJob = z
  .looseObject({
    name: text,
    displayName: text,
    description: text,
    url: text,
    buildable: z.boolean().nullish(),
    concurrentBuild: z.boolean().nullish(),
    parameterDefinitionList: z
      .array(
        z.looseObject({
          name: z.string(),
          description: text,
          type: text,
          defaultValue: text,
          choices: z.array(z.string()).nullish(),
        }),
      )
      .nullish(),
  })
  .meta({ id: 'BuildJob', description: 'Configuration of a job of a build server.' })

export const Build = z
  .looseObject({
    number: z.int().nullish(),
    building: z.boolean().nullish(),
    result: text.describe('SUCCESS, UNSTABLE, BUILDING, ABORTED, FAILURE or NOT_BUILT; absent while it runs.'),
    name: text,
    id: text,
    url: text,
    timestamp: z.union([z.string(), z.int()]).nullish().describe('Start in milliseconds since the epoch.'),
    duration: z.int().nullish().describe('Milliseconds.'),
    artifacts: z.array(AnyObject).nullish(),
    testResults: z.array(AnyObject).nullish(),
    scm: z.array(AnyObject).nullish(),
    properties: AnyObject.nullish(),
  })
  .meta({ id: 'Build' })

export const BakeOptions = z
  .looseObject({
    cloudProvider: z.string(),
    baseImages: z
      .array(
        z.looseObject({
          id: z.string(),
          shortDescription: text,
          detailedDescription: text,
          packageType: text,
          osType: text,
        }),
      )
      .nullish(),
  })
  .meta({ id: 'BakeOptions', description: 'Base images of a cloud provider.' })
