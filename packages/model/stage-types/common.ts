/** Fields that several stage types share. */
import { standalone } from '@fairlead/base/settings/standalone.ts'
import {
  choice,
  type Field,
  flag,
  json,
  longText,
  number,
  object,
  text,
  textListField,
} from './description.ts'

export const stageFields = [
  text('type', 'The stage type.', { required: true }),
  text('name', 'Shown in lists, and used by expressions such as #stage(name).'),
  text('refId', 'Reference by which other stages require this one.', { expression: false }),
  textListField('requisiteStageRefIds', 'References of the stages that must have ended first.', {
    choicesFrom: 'stages',
    default: [],
    expression: false,
  }),
  text('alias', 'The stage type that runs, when `type` is a name of your own.', {
    expression: false,
  }),
  longText('comments', 'Notes for readers.'),
  object(
    'stageEnabled',
    'Condition under which the stage runs; otherwise it is skipped.',
    [
      choice('type', 'The kind of condition.', { choices: ['expression'], expression: false }),
      text('expression', 'Runs the stage when it is true; may be written without ${}.', {
        expression: false,
      }),
    ],
    { expression: false },
  ),
  flag('restrictExecutionDuringTimeWindow', 'Waits until the execution window opens.'),
  object('restrictedExecutionWindow', 'The execution window.', [
    json('days', 'Days of the week, 1 for Sunday to 7; all unless given.'),
    json('whitelist', 'Ranges with startHour, startMin, endHour and endMin.'),
    object('jitter', 'A random delay after the window opens.', [
      flag('enabled', 'Whether to delay.'),
      flag('skipManual', 'Not for executions that a user starts.'),
      number('minDelay', 'Seconds.', { default: 0 }),
      number('maxDelay', 'Seconds.', { default: 0 }),
    ]),
  ]),
  flag(
    'failPipeline',
    'A failure fails the execution. With false and no other option, only this branch stops.',
    {
      default: true,
    },
  ),
  flag('continuePipeline', 'Goes on after a failure.'),
  flag(
    'completeOtherBranchesThenFail',
    'After a failure, other branches end first; then the execution fails.',
  ),
  flag(
    'allowSiblingStagesToContinueOnFailure',
    'A failure of one inner stage leaves the others running.',
  ),
  flag(
    'failOnFailedExpressions',
    'Fails the stage when one of its expressions cannot be evaluated.',
  ),
  number('stageTimeoutMs', 'Longest time of the stage in milliseconds.'),
  flag('markSuccessfulOnTimeout', 'A timeout counts as success.'),
  number(
    'backoffPeriodMs',
    'Pause between two checks of what the stage waits for, in milliseconds; unless given, the engine decides.',
  ),
  flag('canManuallySkip', 'Users may skip the stage while it runs.'),
  json('notifications', 'Messages about the stage: a list with type, address and when.'),
  flag('sendNotifications', 'Whether messages are sent.'),
  json('expectedArtifacts', 'Artifacts that the stage produces, bound to those that it received.'),
  text('group', 'Group in which web UIs show the stage.'),
]

export const provider = text(
  'cloudProvider',
  `The provider; \`${standalone.provider}\` is this machine.`,
  {
    default: 'aws',
    choicesFrom: 'providers',
    otherNames: ['cloudProviderType', 'providerType', 'provider'],
  },
)

export const account = text('credentials', 'The account.', {
  required: true,
  choicesFrom: 'accounts',
  otherNames: ['account', 'account.name', 'accountName'],
})

export const places = textListField(
  'regions',
  'Regions, zones or namespaces. The stage works on each of them.',
  {
    required: true,
    choicesFrom: 'regions',
    otherNames: [
      'region',
      'zone',
      'namespace',
      'location',
      'zones',
      'namespaces',
      'availabilityZones',
    ],
  },
)

export const placeFields = [provider, account, places]

/** The place of a job that names no region. */
export const accountFields = [provider, account]

export const applicationField = text(
  'application',
  'The application; unless given, that of the execution.',
  {
    choicesFrom: 'applications',
  },
)

export const healthTypes = textListField(
  'interestingHealthProviderNames',
  'Health checks to wait for; all unless given, none with an empty list.',
)

export const healthyShare = number(
  'targetHealthyDeployPercentage',
  'Share of the instances that must be up, in percent; all unless given.',
)

export const cluster = text('cluster', 'The cluster.', {
  required: true,
  choicesFrom: 'clusters',
  otherNames: ['moniker', 'serverGroup'],
})

export const serverGroup = text(
  'serverGroupName',
  'The server group; leave it out and set `target` for one that is found when the stage runs.',
  { choicesFrom: 'server-groups', otherNames: ['asgName'] },
)

/** A server group by name, or by its place in the cluster. */
export const targetFields = [
  ...placeFields,
  serverGroup,
  text(
    'target',
    'Which server group of the cluster: current_asg_dynamic (the newest), ancestor_asg_dynamic (the one before) or oldest_asg_dynamic.',
  ),
  { ...optional(cluster), help: 'The cluster in which `target` is found.' },
]

export const capacity = object('capacity', 'Numbers of instances.', [
  number('min', 'At least.'),
  number('max', 'At most.'),
  number('desired', 'Wanted at present.'),
])

export const waitsForCompletion = flag(
  'waitForCompletion',
  'Waits for the end; otherwise the stage ends at once.',
  {
    default: true,
  },
)

export function optional<const F extends Field>({
  required: _required,
  ...field
}: F): Omit<F, 'required'> {
  return field
}
