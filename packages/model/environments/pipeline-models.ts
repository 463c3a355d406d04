/** Definitions of pipelines and deployment strategies, and what they consist of. */

import { AnyObject, alike, model, nullableTexts, TextList } from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'

export const Artifact = model(
  'Artifact',
  'Something that a pipeline deploys: an image, a file, a chart.',
  {
    type: z.string().optional(),
    ...nullableTexts(
      'name',
      'version',
      'location',
      'reference',
      'artifactAccount',
      'provenance',
      'uuid',
    ),
    metadata: AnyObject.nullish(),
  },
)

const ExpectedArtifact = model('ExpectedArtifact', {
  id: z.string().optional(),
  displayName: z.string().nullish(),
  matchArtifact: Artifact.nullish(),
  defaultArtifact: Artifact.nullish(),
  useDefaultArtifact: z.boolean().nullish(),
  usePriorArtifact: z.boolean().nullish(),
})

export const Notification = model('Notification', {
  type: z.string().nullish().describe('email, slack, googlechat, microsoftteams, sms, pubsub, …'),
  ...nullableTexts('address', 'level'),
  when: TextList.nullish().describe('Such as `pipeline.failed`.'),
  message: AnyObject.nullish(),
})

export const PipelineStage = model(
  'PipelineStage',
  'A stage of a definition; its settings are allowed beside these fields.',
  {
    type: z.string().nullish().describe('Missing in a stage whose type is not chosen yet.'),
    name: z.string().nullish(),
    refId: z.string().nullish().describe('By which other stages require this one.'),
    requisiteStageRefIds: TextList.nullish().describe('Stages that must end before.'),
  },
)

export const PipelineTrigger = model(
  'PipelineTrigger',
  'What starts a pipeline; the fields of its type are allowed beside these.',
  {
    type: z.string().nullish().describe('webhook, cron, git, docker, jenkins, pipeline, pubsub, …'),
    ...nullableTexts('id', 'runAsUser', 'source', 'cronExpression'),
    enabled: z.boolean().nullish(),
    payloadConstraints: AnyObject.nullish().describe(
      'Field of the payload to a regular expression for its value.',
    ),
    expectedArtifactIds: TextList.nullish(),
  },
)

const Parameter = model('Parameter', {
  name: z.string(),
  ...nullableTexts('label', 'description'),
  default: z.unknown().optional(),
  required: z.boolean().nullish(),
  hasOptions: z.boolean().nullish(),
  options: z.array(z.looseObject({ value: z.string() })).nullish(),
})

export const PipelineModel = model(
  'Pipeline',
  'A pipeline definition; fields that are not listed are kept.',
  {
    application: z.string().trim().min(1).describe('The application that the pipeline belongs to.'),
    name: z.string(),
    id: z.string().optional().describe('Given by the store unless sent.'),
    ...nullableTexts('schema', 'description'),
    type: z.string().nullish().describe('`templatedPipeline` for one of a template.'),
    stages: z.array(PipelineStage).nullish(),
    triggers: z.array(PipelineTrigger).nullish(),
    parameterConfig: z.array(Parameter).nullish(),
    expectedArtifacts: z.array(ExpectedArtifact).nullish(),
    notifications: z.array(Notification).nullish(),
    index: z.int().nullish().describe('Place in the list, from 0.'),
    disabled: z.boolean().nullish(),
    limitConcurrent: z.boolean().nullish().describe('One execution at a time.'),
    maxConcurrentExecutions: z.int().nullish(),
    keepWaitingPipelines: z.boolean().nullish(),
    strategy: z.boolean().nullish().describe('True for a deployment strategy.'),
    template: AnyObject.nullish(),
    variables: z.unknown().optional(),
    updateTs: z.string().nullish().describe('Milliseconds since the epoch; set by the store.'),
    lastModifiedBy: z.string().nullish().describe('Set by the store.'),
  },
)

export const DefinitionMove = model('DefinitionMove', 'The old and the new name of a definition.', {
  application: z.string(),
  from: z.string(),
  to: z.string(),
})

/** Shown as text: generated clients can have no other. */
const textOrNumber = z
  .custom<string | number | null>(
    (value) => value === null || ['string', 'number'].includes(typeof value),
    'it must be text',
  )
  .meta({ type: ['string', 'null'] })
  .optional()

export const PipelineTemplate = model('PipelineTemplate', {
  id: z.string().nullish(),
  schema: textOrNumber.describe('`1` or `v2`.'),
  metadata: z
    .looseObject({ name: textOrNumber, scopes: z.array(z.string().nullable()).nullish() })
    .nullish(),
})

export const NotificationSettings = model(
  'NotificationSettings',
  'Notifications of an application, by kind.',
  {
    ...nullableTexts('application', 'lastModifiedBy'),
    lastModified: z.int().nullish().describe('Milliseconds since the epoch.'),
    ...alike(
      z.array(Notification).nullish(),
      'email',
      'slack',
      'sms',
      'googlechat',
      'microsoftteams',
      'pubsub',
    ),
  },
)
