/** Descriptions of the stage types that steer an execution, or call something outside. */
import { refusedMethods } from '@fairlead/base/names/refused-methods.ts'
import { waitsForCompletion } from './common.ts'
import {
  choice,
  flag,
  json,
  longText,
  map,
  moment,
  number,
  object,
  objects,
  type StageDescription,
  stagesOf,
  text,
  textListField,
} from './description.ts'

const control = stagesOf('Control')
const calls = stagesOf('Calls')

const wait = control.both('wait', 'Wait', 'Waits some seconds.', [
  number('waitTime', 'Seconds since the start of the stage.', { default: 0 }),
  text('skipWaitText', 'Text of the button that ends the wait.'),
])

const waitUntil = control.both('waitUntil', 'Wait until', 'Waits for a moment.', [
  moment('epochMillis', 'The moment.', { default: 0 }),
])

export const webhook = calls.pipeline(
  'webhook',
  'Webhook',
  'Calls an address, and follows the work that it starts.',
  [
    text('url', 'The address.', { required: true }),
    choice('method', 'The method.', {
      choices: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      rejected: refusedMethods,
      default: 'POST',
    }),
    json('payload', 'The body.'),
    map('customHeaders', 'Headers of the request.'),
    json('failFastStatusCodes', 'Status codes that fail the stage at once.', { default: [504] }),
    json('webhookRetryStatusCodes', 'Further status codes after which the call is repeated.'),
    {
      ...waitsForCompletion,
      default: false,
      help: 'Follows the work at the status address until it ends.',
    },
    choice(
      'statusUrlResolution',
      'Where the status address is: the same one, the header Location, or the response.',
      {
        choices: ['getMethod', 'locationHeader', 'webhookResponse'],
        default: 'getMethod',
        onlyChoices: true,
      },
    ),
    text('statusUrlJsonPath', 'webhookResponse: path of the status address in the response.'),
    text(
      'statusJsonPath',
      'Path of the status or of the percentage; without it, any success ends the stage.',
    ),
    text('progressJsonPath', 'Path of a text that is shown while the stage waits.'),
    text('successStatuses', 'Statuses of success, comma-separated.'),
    text('canceledStatuses', 'Statuses of a cancelled work, comma-separated.'),
    text('terminalStatuses', 'Statuses of failure, comma-separated.'),
    json(
      'retryStatusCodes',
      'Further status codes of the status address after which it is polled again.',
    ),
    json(
      'retries',
      'By status code of the status address, how often it is polled again: {"404": {"maxAttempts": 3}}.',
    ),
    number('waitBeforeMonitor', 'Seconds before the status address is first asked.', {
      default: 0,
    }),
    flag('monitorOnly', 'Only follows the status address; nothing is sent first.'),
    text('statusEndpoint', 'monitorOnly: the status address.'),
    text('cancelEndpoint', 'Address that is called when the stage is cancelled.'),
    text('cancelMethod', 'Its method.', { default: 'POST', rejected: refusedMethods }),
    json('cancelPayload', 'Its body.'),
  ],
)

export const runPipeline = control.pipeline(
  'pipeline',
  'Run a pipeline',
  'Runs another stored pipeline.',
  [
    text('application', 'Application of the pipeline, for forms; `pipeline` decides.', {
      choicesFrom: 'applications',
    }),
    text('pipeline', 'Id of the pipeline.', { required: true, choicesFrom: 'pipelines' }),
    map('pipelineParameters', 'Values of its parameters.'),
    waitsForCompletion,
    flag('isStrategy', 'The id is that of a deployment strategy.'),
    flag('skipDownstreamOutput', 'Takes no outputs over from the other execution.'),
    flag('skippable', 'Users may skip the stage while it runs.'),
  ],
)

export const controlStages: readonly StageDescription[] = [
  { ...wait, skip: 'skipRemainingWait' },
  waitUntil,
  control.pipeline(
    'manualJudgment',
    'Manual judgment',
    'Waits until a user continues or stops the execution.',
    [
      longText('instructions', 'What the user has to judge.'),
      objects(
        'judgmentInputs',
        'Answers to choose from; later stages read the chosen one by #judgment.',
        [text('value', 'The answer.', { required: true })],
      ),
      textListField(
        'requiredJudgmentRoles',
        'Roles one of which the user needs; administrators always may. Empty: EXECUTE on the application is enough.',
        { choicesFrom: 'roles', otherNames: ['selectedStageRoles'] },
      ),
      flag(
        'propagateAuthenticationContext',
        'Later stages act for the user who judged, too: they need the rights of the starter and of that user.',
      ),
    ],
  ),
  control.pipeline(
    'checkPreconditions',
    'Check preconditions',
    'Fails unless all preconditions hold.',
    [
      objects('preconditions', 'Checked in parallel.', [
        choice('type', 'What is checked.', {
          required: true,
          choices: ['expression', 'stageStatus', 'clusterSize'],
          onlyChoices: true,
        }),
        flag('failPipeline', 'Whether a failure fails the execution.', { default: true }),
        object('context', 'The check.', [
          text('expression', 'expression: must be true; written without ${}.', {
            expression: false,
          }),
          text('failureMessage', 'expression: the error when it is not.'),
          text('stageName', 'stageStatus: name of the stage.', { choicesFrom: 'stages' }),
          text('stageStatus', 'stageStatus: the status that it must have.'),
          text('credentials', 'clusterSize: the account.', { choicesFrom: 'accounts' }),
          text('cluster', 'clusterSize: the cluster.', { choicesFrom: 'clusters' }),
          textListField('regions', 'clusterSize: the regions.', { choicesFrom: 'regions' }),
          choice('comparison', 'clusterSize: how the size compares.', {
            choices: ['<', '<=', '==', '>=', '>'],
            onlyChoices: true,
            default: '==',
          }),
          number('expected', 'clusterSize: server groups of the cluster in each region.'),
          flag('onlyEnabledServerGroups', 'clusterSize: leaves disabled server groups out.'),
        ]),
      ]),
    ],
  ),
  control.pipeline(
    'evaluateVariables',
    'Evaluate variables',
    'Turns expressions into outputs that later stages read by name.',
    [
      objects('variables', 'Evaluated in order; with evaluator v4, each sees those above it.', [
        text('key', 'Name of the output.', { required: true }),
        json('value', 'Its value, usually an expression.'),
        text('description', 'For readers.'),
      ]),
    ],
  ),
  { ...runPipeline, skip: 'skippable' },
  control.both(
    'monitorPipeline',
    'Watch executions',
    'Waits for executions that were started elsewhere, and ends as they do.',
    [
      textListField('executionIds', 'Ids of up to 100 executions.', {
        required: true,
        choicesFrom: 'executions',
        otherNames: ['executionId'],
      }),
      choice('monitorBehavior', 'FailFast ends at the first failure.', {
        choices: ['WaitForAllToComplete', 'FailFast'],
        default: 'WaitForAllToComplete',
      }),
    ],
  ),
  control.both(
    'dependsOnExecution',
    'Depend on an execution',
    'Waits for the end of another execution, and is cancelled unless that succeeds.',
    [text('executionId', 'Id of the execution.', { required: true, choicesFrom: 'executions' })],
  ),
  {
    ...control.pipeline(
      'restrictExecutionDuringTimeWindow',
      'Wait for the execution window',
      'Waits until the execution window of the stage opens; the engine adds it to stages with a window.',
      [],
    ),
    skip: 'skipRemainingWait',
  },
  control.both('noop', 'Nothing', 'Does nothing and ends SKIPPED; what requires it goes on.', []),
  webhook,
]
