/** Capabilities: stage types, expression functions, deployment monitors, the quiet period, subscriptions to messages. */

import {
  AnyObject,
  alike,
  described,
  millisecondsModel,
  model,
  TextList,
} from '@fairlead/base/json/schemas.ts'
import { stageDescriptions } from '@fairlead/model/stage-types/all.ts'
import { toStageTypesAnswer } from '@fairlead/model/stage-types/answer.ts'
import { z } from 'zod'
import { get, operationsWith } from '../declare.ts'
import { aboutGateway, sharedKnowledge } from '../demands.ts'
import { type Operation, StreamedAnswer } from '../operation.ts'

const Described = { name: z.string(), description: z.string().nullish() }

const ExpressionCapabilities = model('ExpressionCapabilities', {
  functions: z.array(
    z.looseObject({
      ...Described,
      parameters: z.array(z.looseObject({ ...Described, type: z.string().nullish() })).nullish(),
    }),
  ),
  spelEvaluators: z
    .array(z.looseObject({ versionKey: z.string(), description: z.string().nullish() }))
    .nullish(),
})

const StageField = model('StageField', {
  name: z.string().describe('Key in the stage, or in the object that it belongs to.'),
  kind: z
    .string()
    .describe(
      'text, long-text, number, moment, flag, choice, texts, objects, object, map or json.',
    ),
  required: z.boolean(),
  default: z.unknown().optional().describe('What the engine takes without the field.'),
  choices: TextList.optional().describe('Values to offer.'),
  onlyChoices: z.boolean().describe('Other values are errors.'),
  form: z
    .literal('duration')
    .optional()
    .describe('The text is a number of seconds, or a duration such as PT1H30M.'),
  range: z
    .looseObject(alike(z.number().optional(), 'from', 'to', 'above'))
    .optional()
    .describe('Other numbers are errors, and other seconds of a duration.'),
  choicesFrom: z
    .string()
    .optional()
    .describe('What the values are names of: accounts, clusters, pipelines, and so on.'),
  help: z.string(),
  expression: z.boolean().describe('Whether an expression in it is evaluated when the stage runs.'),
  otherNames: TextList.optional().describe('Keys with the same meaning.'),
  fields: z
    .array(AnyObject)
    .optional()
    .describe('Of the object, or of each object of the list: fields as this one.'),
})

const StageTypes = model('StageTypes', {
  engine: z.enum(['embedded', 'external']),
  verified: z
    .boolean()
    .describe('False with an external engine: it may know other types and fields.'),
  commonFields: z.array(StageField).describe('Fields of every stage.'),
  stageTypes: z.array(
    z.looseObject({
      ...alike(z.string(), 'type', 'label', 'group', 'description'),
      use: z
        .enum(['pipeline', 'task', 'both'])
        .describe('Where it is meant to run: as a stage of pipelines, or as a job of tasks.'),
      restartable: z.boolean(),
      skippable: z.boolean().describe('Whether users may let it end early while it runs.'),
      skipKey: z.string().optional().describe('The key that does so, or allows it.'),
      runsHere: z
        .boolean()
        .optional()
        .describe('Whether this instance can run it. Absent where it is not known.'),
      reason: z
        .string()
        .optional()
        .describe('Why it does not run here, and what an operator can do.'),
      fields: z.array(StageField),
    }),
  ),
})

const CloudProvider = model('CloudProvider', {
  id: z.string().describe('The value of `cloudProvider`.'),
  label: z.string(),
  forms: TextList.describe('Resources that the usual forms can edit: loadBalancer, securityGroup.'),
  refused: z
    .record(z.string(), z.string())
    .describe('Operations that do not fit its resources, with the reason.'),
  help: z.record(z.string(), z.string()).describe('Help texts of fields of the forms, by name.'),
  hasManifests: z
    .boolean()
    .optional()
    .describe('Whether it deploys manifests, with plans and drift.'),
  metrics: TextList.optional().describe('Metrics that are kept for each server group.'),
  imagesPath: z
    .string()
    .optional()
    .describe(
      'Where all images are listed, and uploaded below it. Absent where they are only searched.',
    ),
})

/** The answer of an external service. Any other provider has the usual operations, and no form. */
const externalProviders: z.infer<typeof CloudProvider>[] = [
  {
    id: 'kubernetes',
    label: 'Kubernetes',
    forms: [],
    refused: { cloneServerGroup: 'Kubernetes groups are changed by their manifest.' },
    help: {},
  },
]

const QuietPeriod = model('QuietPeriod', {
  enabled: z.boolean().optional(),
  inQuietPeriod: z.boolean().optional(),
  startTime: millisecondsModel.optional().describe('-1 when it is not set.'),
  endTime: millisecondsModel.optional().describe('-1 when it is not set.'),
})

const Subscription = model('Subscription', {
  pubsubSystem: z.string(),
  subscriptionName: z.string(),
})

const gateway = operationsWith({ demands: aboutGateway })

export const capabilityOperations: Operation[] = [
  gateway.get(
    'getDeploymentMonitorsUsingGET',
    '/capabilities/deploymentMonitors',
    'List deployment monitors',
    {
      forward: 'orca',
      answer: z.array(described('DeploymentMonitor', 'id', 'name', 'supportContact')),
    },
  ),
  gateway.get(
    'getExpressionCapabilitiesUsingGET',
    '/capabilities/expressions',
    'List functions of expressions',
    {
      forward: 'orca',
      answer: ExpressionCapabilities,
    },
  ),
  gateway.get('getStageTypesUsingGET', '/capabilities/stageTypes', 'List stage types', {
    description:
      'Stage types with their fields, as the embedded engine checks and runs them, with those of `webhook.preconfigured`. With an ' +
      'external Orca the same descriptions of the types that Fairlead knows, marked as not verified.',
    handle: async (_request, { upstreams }) =>
      upstreams.traitsOf('orca').describesTypes
        ? new StreamedAnswer('orca', { path: '/capabilities/stageTypes' })
        : toStageTypesAnswer(stageDescriptions.values()),
    answer: StageTypes,
  }),
  gateway.get('getCloudProviders', '/capabilities/cloudProviders', 'List cloud providers', {
    description:
      'What forms and menus of clients need to know of cloud providers: of the embedded infrastructure, or of those of an external ' +
      'Clouddriver whose operations differ.',
    handle: async (_request, { upstreams }) =>
      upstreams.traitsOf('clouddriver').describesTypes
        ? new StreamedAnswer('clouddriver', { path: '/capabilities/cloudProviders' })
        : externalProviders,
    answer: z.array(CloudProvider),
  }),
  gateway.get('getQuietPeriodStateUsingGET', '/capabilities/quietPeriod', 'Get the quiet period', {
    description: 'Whether automatic starts are held back now, and from when to when.',
    forward: 'echo /quietPeriod',
    whenDisabled: {},
    answer: QuietPeriod,
  }),
  get('getSubscriptionsUsingGET', '/pubsub/subscriptions', 'List message subscriptions', {
    demands: sharedKnowledge,
    forward: 'echo',
    whenDisabled: [],
    answer: z.array(Subscription),
  }),
]
