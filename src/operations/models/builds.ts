/** Builds and bakes: jobs of build servers, their builds, and base images. */
import { z } from 'zod'
import { AnyObject, alike, optionalTextsModel } from '../../json/schemas.ts'

const text = z.string().nullish()

export const BuildJob = z
  .looseObject({
    ...optionalTextsModel('name', 'displayName', 'description', 'url'),
    buildable: z.boolean().nullish(),
    concurrentBuild: z.boolean().nullish(),
    parameterDefinitionList: z
      .array(
        z.looseObject({
          name: z.string(),
          ...optionalTextsModel('description', 'type', 'defaultValue'),
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
    ...optionalTextsModel('name', 'id', 'url'),
    timestamp: z.union([z.string(), z.int()]).nullish().describe('Start in milliseconds since the epoch.'),
    duration: z.int().nullish().describe('Milliseconds.'),
    ...alike(z.array(AnyObject).nullish(), 'artifacts', 'testResults', 'scm'),
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
          ...optionalTextsModel('shortDescription', 'detailedDescription', 'packageType', 'osType'),
        }),
      )
      .nullish(),
  })
  .meta({ id: 'BakeOptions', description: 'Base images of a cloud provider.' })
