/** Fields that several stage types share. */
import type { Field } from './description.ts'

/** Fields of every stage of a pipeline. */
export const stageFields: readonly Field[] = [
  { name: 'type', kind: 'text', required: true, help: 'The stage type.' },
  { name: 'name', kind: 'text', help: 'Shown in lists, and used by expressions such as #stage(name).' },
  { name: 'refId', kind: 'text', help: 'Reference by which other stages require this one.', expression: false },
  {
    name: 'requisiteStageRefIds',
    kind: 'texts',
    choicesFrom: 'stages',
    default: [],
    help: 'References of the stages that must have ended first.',
    expression: false,
  },
  { name: 'alias', kind: 'text', help: 'The stage type that runs, when `type` is a name of your own.', expression: false },
  { name: 'comments', kind: 'long-text', help: 'Notes for readers.' },
  {
    name: 'stageEnabled',
    kind: 'object',
    help: 'Condition under which the stage runs; otherwise it is skipped.',
    expression: false,
    fields: [
      { name: 'type', kind: 'choice', choices: ['expression'], help: 'The kind of condition.', expression: false },
      {
        name: 'expression',
        kind: 'text',
        help: 'Runs the stage when it is true; may be written without ${}.',
        expression: false,
      },
    ],
  },
  {
    name: 'restrictExecutionDuringTimeWindow',
    kind: 'flag',
    default: false,
    help: 'Waits until the execution window opens.',
  },
  {
    name: 'restrictedExecutionWindow',
    kind: 'object',
    help: 'The execution window.',
    fields: [
      { name: 'days', kind: 'json', help: 'Days of the week, 1 for Sunday to 7; all unless given.' },
      { name: 'whitelist', kind: 'json', help: 'Ranges with startHour, startMin, endHour and endMin.' },
      {
        name: 'jitter',
        kind: 'object',
        help: 'A random delay after the window opens.',
        fields: [
          { name: 'enabled', kind: 'flag', default: false, help: 'Whether to delay.' },
          { name: 'skipManual', kind: 'flag', default: false, help: 'Not for executions that a user starts.' },
          { name: 'minDelay', kind: 'number', default: 0, help: 'Seconds.' },
          { name: 'maxDelay', kind: 'number', default: 0, help: 'Seconds.' },
        ],
      },
    ],
  },
  {
    name: 'failPipeline',
    kind: 'flag',
    default: true,
    help: 'A failure fails the execution. With false and no other option, only this branch stops.',
  },
  { name: 'continuePipeline', kind: 'flag', default: false, help: 'Goes on after a failure.' },
  {
    name: 'completeOtherBranchesThenFail',
    kind: 'flag',
    default: false,
    help: 'After a failure, other branches end first; then the execution fails.',
  },
  {
    name: 'allowSiblingStagesToContinueOnFailure',
    kind: 'flag',
    default: false,
    help: 'A failure of one inner stage leaves the others running.',
  },
  {
    name: 'failOnFailedExpressions',
    kind: 'flag',
    default: false,
    help: 'Fails the stage when one of its expressions cannot be evaluated.',
  },
  { name: 'stageTimeoutMs', kind: 'number', help: 'Longest time of the stage in milliseconds.' },
  { name: 'markSuccessfulOnTimeout', kind: 'flag', default: false, help: 'A timeout counts as success.' },
  {
    name: 'backoffPeriodMs',
    kind: 'number',
    help: 'Pause between two checks of what the stage waits for, in milliseconds; unless given, the engine decides.',
  },
  { name: 'canManuallySkip', kind: 'flag', default: false, help: 'Users may skip the stage while it runs.' },
  { name: 'notifications', kind: 'json', help: 'Messages about the stage: a list with type, address and when.' },
  { name: 'sendNotifications', kind: 'flag', default: false, help: 'Whether messages are sent.' },
  { name: 'expectedArtifacts', kind: 'json', help: 'Artifacts that the stage produces, bound to those that it received.' },
  { name: 'group', kind: 'text', help: 'Group in which web UIs show the stage.' },
]

const provider: Field = {
  name: 'cloudProvider',
  kind: 'text',
  default: 'aws',
  choicesFrom: 'providers',
  otherNames: ['cloudProviderType', 'providerType', 'provider'],
  help: 'The provider; `local` is this machine.',
}

const account: Field = {
  name: 'credentials',
  kind: 'text',
  required: true,
  choicesFrom: 'accounts',
  otherNames: ['account', 'account.name', 'accountName'],
  help: 'The account.',
}

const places: Field = {
  name: 'regions',
  kind: 'texts',
  required: true,
  choicesFrom: 'regions',
  otherNames: ['region', 'zone', 'namespace', 'location', 'zones', 'namespaces', 'availabilityZones'],
  help: 'Regions, zones or namespaces. The stage works on each of them.',
}

/** Provider, account and regions. */
export const placeFields: readonly Field[] = [provider, account, places]

/** Of a job that names no region. */
export const accountFields: readonly Field[] = [provider, account]

export const application: Field = {
  name: 'application',
  kind: 'text',
  choicesFrom: 'applications',
  help: 'The application; unless given, that of the execution.',
}

export const healthTypes: Field = {
  name: 'interestingHealthProviderNames',
  kind: 'texts',
  help: 'Health checks to wait for; all unless given, none with an empty list.',
}

export const healthyShare: Field = {
  name: 'targetHealthyDeployPercentage',
  kind: 'number',
  default: 100,
  help: 'Share of the instances that must be up, in percent.',
}

export const cluster: Field = {
  name: 'cluster',
  kind: 'text',
  required: true,
  choicesFrom: 'clusters',
  otherNames: ['moniker', 'serverGroup'],
  help: 'The cluster.',
}

export const serverGroup: Field = {
  name: 'serverGroupName',
  kind: 'text',
  choicesFrom: 'server-groups',
  otherNames: ['asgName'],
  help: 'The server group; leave it out and set `target` for one that is found when the stage runs.',
}

/** A server group by name, or by its place in the cluster. */
export const targetFields: readonly Field[] = [
  ...placeFields,
  serverGroup,
  {
    name: 'target',
    kind: 'text',
    help: 'Which server group of the cluster: current_asg_dynamic (the newest), ancestor_asg_dynamic (the one before) or oldest_asg_dynamic.',
  },
  { ...omitRequired(cluster), help: 'The cluster in which `target` is found.' },
]

export const capacity: Field = {
  name: 'capacity',
  kind: 'object',
  help: 'Numbers of instances.',
  fields: [
    { name: 'min', kind: 'number', help: 'At least.' },
    { name: 'max', kind: 'number', help: 'At most.' },
    { name: 'desired', kind: 'number', help: 'Wanted at present.' },
  ],
}

export const waitsForCompletion: Field = {
  name: 'waitForCompletion',
  kind: 'flag',
  default: true,
  help: 'Waits for the end; otherwise the stage ends at once.',
}

function omitRequired({ required: _required, ...field }: Field): Field {
  return field
}

export function optional(field: Field): Field {
  return omitRequired(field)
}
