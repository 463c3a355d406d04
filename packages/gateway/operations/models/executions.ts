/** Executions and tasks as the orchestrator reports them, and requests that start them. */

import {
  AnyObject,
  alike,
  millisecondsModel,
  model,
  nullableTexts,
  TextList,
} from '@fairlead/base/json/schemas.ts'
import { Artifact, Notification } from '@fairlead/model/environments/pipeline-models.ts'
import { z } from 'zod'

const ExecutionStatus = z
  .enum([
    'NOT_STARTED',
    'BUFFERED',
    'RUNNING',
    'PAUSED',
    'SUSPENDED',
    'REDIRECT',
    'SUCCEEDED',
    'FAILED_CONTINUE',
    'SKIPPED',
    'TERMINAL',
    'CANCELED',
    'STOPPED',
  ])
  .meta({ id: 'ExecutionStatus', description: 'TERMINAL means failed.' })

const TaskStep = model('TaskStep', 'A step of a stage.', {
  id: z.string(),
  name: z.string(),
  implementingClass: z.string().nullish(),
  status: ExecutionStatus,
  startTime: millisecondsModel.nullish(),
  endTime: millisecondsModel.nullish(),
  ...alike(z.boolean().nullish(), 'stageStart', 'stageEnd', 'loopStart', 'loopEnd'),
  taskExceptionDetails: AnyObject.nullish(),
})

const StageModel = model('Stage', 'A stage of an execution.', {
  id: z.string(),
  ...nullableTexts('refId', 'name', 'parentStageId'),
  type: z.string(),
  status: ExecutionStatus,
  ...alike(millisecondsModel.nullish(), 'startTime', 'endTime', 'startTimeExpiry', 'scheduledTime'),
  context: AnyObject.describe('Settings, results and errors of the stage.'),
  outputs: AnyObject.describe('What later stages may read.'),
  tasks: z.array(TaskStep),
  requisiteStageRefIds: TextList.nullish(),
  syntheticStageOwner: z.enum(['STAGE_BEFORE', 'STAGE_AFTER']).nullish(),
  lastModified: AnyObject.nullish(),
})

const triggerFields = {
  user: z.string().nullish(),
  parameters: AnyObject.nullish().describe('Values of the parameters of the pipeline.'),
  artifacts: z.array(Artifact).nullish(),
  notifications: z.array(Notification).nullish(),
  dryRun: z.boolean().nullish(),
  correlationId: z
    .string()
    .nullish()
    .describe('A second start with the same one is the first while that runs.'),
}

const TriggerModel = model('Trigger', 'What started an execution.', {
  type: z.string(),
  ...triggerFields,
  rebake: z.boolean().nullish(),
  strategy: z.boolean().nullish(),
  eventId: z.string().nullish(),
  payload: z.unknown().optional(),
  parentExecution: AnyObject.nullish().describe(
    'The execution that started this one, as it was then.',
  ),
})

export const StartRequest = model(
  'StartRequest',
  'The trigger of a start by hand; everything is optional.',
  {
    type: z.string().optional().describe('`manual` unless given.'),
    ...triggerFields,
  },
)

const NotificationDelivery = model('NotificationDelivery', {
  id: z.string(),
  type: z.string().describe('Kind of notification: email, slack, …'),
  address: z.string().describe('Of a webhook, the host alone.'),
  when: z.string().describe('Such as `pipeline.failed` or `manualJudgment`.'),
  stageId: z.string().nullish(),
  status: z.enum(['waiting', 'delivered', 'failed']),
  attempts: z.int().describe('Attempts so far.'),
  ...alike(millisecondsModel.nullish(), 'acceptedTime', 'changedTime', 'nextAttemptTime'),
  reason: z.string().nullish().describe('Why the last attempt failed, or why there was none.'),
})

const Authentication = model('Authentication', 'Whom an execution acts for.', {
  user: z.string().nullish().describe('Who started it.'),
  allowedAccounts: TextList.nullish(),
  steeredBy: z
    .array(
      z.looseObject({
        user: z.string(),
        at: millisecondsModel,
        how: z.string().describe('In words.'),
      }),
    )
    .nullish()
    .describe(
      'Other users who decided what it does, or when: it may do no more than each of them. From the embedded services.',
    ),
})

export const ExecutionModel = model('Execution', 'A run of a pipeline, or of a task.', {
  id: z.string(),
  type: z.enum(['PIPELINE', 'ORCHESTRATION']),
  application: z.string(),
  ...nullableTexts(
    'name',
    'description',
    'pipelineConfigId',
    'canceledBy',
    'cancellationReason',
    'origin',
    'rootId',
  ),
  status: ExecutionStatus,
  buildTime: millisecondsModel
    .nullish()
    .describe('When it was submitted, in milliseconds since the epoch.'),
  ...alike(millisecondsModel.nullish(), 'startTime', 'endTime', 'startTimeExpiry'),
  canceled: z.boolean().nullish().describe('Cancellation was asked for.'),
  ...alike(AnyObject.nullish(), 'paused', 'initialConfig', 'templateVariables'),
  authentication: Authentication.nullish(),
  limitConcurrent: z.boolean().nullish(),
  keepWaitingPipelines: z.boolean().nullish(),
  maxConcurrentExecutions: z.int().nullish(),
  trigger: TriggerModel,
  stages: z.array(StageModel),
  notifications: z.array(AnyObject).nullish(),
  systemNotifications: z.array(AnyObject).nullish(),
  notificationDeliveries: z
    .array(NotificationDelivery)
    .nullish()
    .describe(
      'What became of its notifications. Only in a single execution, from the embedded services.',
    ),
})

export const FailedStage = model(
  'FailedStage',
  'A stage that made an execution fail, with its error.',
  {
    pipelineExecutionId: z.string(),
    ...nullableTexts(
      'pipelineExecutionName',
      'pipelineApplication',
      'pipelineExecutionUrl',
      'stageName',
      'stageType',
      'stageException',
    ),
    stageId: z.string(),
    stageStatus: ExecutionStatus.nullish(),
  },
)

export const Evaluation = model('Evaluation', {
  result: z.unknown().optional().describe('The value; absent when it is null.'),
  detail: AnyObject.nullish().describe('What went wrong, by expression.'),
})

export const TaskModel = model('Task', 'Work that belongs to no pipeline.', {
  id: z.string(),
  name: z.string().nullish(),
  application: z.string(),
  status: ExecutionStatus,
  ...alike(millisecondsModel.nullish(), 'buildTime', 'startTime', 'endTime'),
  steps: z.array(TaskStep),
  variables: z
    .array(z.looseObject({ key: z.string(), value: z.unknown() }))
    .describe('Results; `exception` has the error.'),
  execution: ExecutionModel.nullish(),
})

const Job = model('TaskJob', 'What a task does; the fields of its type are allowed beside these.', {
  type: z
    .string()
    .describe(
      'createApplication, updateApplication, deleteApplication, upsertProject, resizeServerGroup, …',
    ),
  user: z.string().optional(),
  reason: z.string().optional(),
})

export const TaskRequest = model('TaskRequest', {
  application: z.string().describe('The application whose task it is.'),
  description: z.string().describe('Becomes the name of the task.'),
  job: z.array(Job).describe('Done one after the other.'),
})

const TaskFinding = model('TaskFinding', {
  job: z
    .int()
    .optional()
    .describe('Position of the job, from 0. Absent where it concerns the task as a whole.'),
  stage: z
    .string()
    .optional()
    .describe('Name of the stage: of the job, or of one that the job adds.'),
  field: z.string().optional().describe('Path of a field of the job.'),
  message: z.string(),
})

export const TaskJudgement = model('TaskJudgement', 'What would become of a task.', {
  engine: z.enum(['embedded', 'external']),
  decision: z
    .enum(['accepted', 'refused', 'depends'])
    .describe('`refused`: the task would fail as things are now. `depends`: see `open`.'),
  objections: z.array(TaskFinding).describe('What the task would fail for.'),
  open: z.array(TaskFinding).describe('What is known only once the task runs.'),
  effects: z
    .array(
      z.looseObject({
        job: z.int(),
        stage: z.string(),
        type: z.string(),
        message: z
          .string()
          .optional()
          .describe('What the stage does, where it is no operation of the infrastructure.'),
        ...alike(z.string().optional(), 'operation', 'account', 'region'),
        objects: TextList.optional().describe('Names of server groups, instances and the like.'),
        capacity: AnyObject.optional().describe('Of the server group afterwards.'),
      }),
    )
    .describe('What the task would do, in order, as far as it gets.'),
})

export const StageUpdate = model(
  'StageUpdate',
  'Fields that replace those of the context of a stage.',
  {
    judgmentStatus: z.string().optional().describe('`continue` or `stop`, for a manual judgment.'),
    judgmentInput: z.string().optional(),
    judgmentComment: z
      .string()
      .optional()
      .describe(
        'Why, at most 2000 characters: kept with the run, in the audit log, and in messages.',
      ),
    skipRemainingWait: z.boolean().optional().describe('For a wait.'),
    manualSkip: z.boolean().optional(),
  },
)

export const CloudOperation = model('CloudOperation', 'What the infrastructure does for a step.', {
  id: z.string(),
  ...nullableTexts('requestId', 'ownerId'),
  startTimeMs: millisecondsModel.nullish(),
  status: z
    .looseObject({
      ...nullableTexts('phase', 'status'),
      ...alike(z.boolean().nullish(), 'completed', 'failed', 'retryable'),
    })
    .nullish(),
  history: z
    .array(z.looseObject({ phase: z.string().nullish(), status: z.string().nullish() }))
    .nullish(),
  resultObjects: z.array(AnyObject).nullish(),
})
