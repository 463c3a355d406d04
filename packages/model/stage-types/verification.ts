/** Descriptions of the stage types that take a version on, and verify that it is good. */
import { account, applicationField, optional, places, provider, serverGroup } from './common.ts'
import {
  choice,
  flag,
  json,
  map,
  number,
  objects,
  type StageDescription,
  stagesOf,
  text,
  textListField,
} from './description.ts'

export const checkTypes = ['http', 'metric', 'logs', 'prometheus', 'command'] as const

export const checkFields = [
  choice('type', 'What is looked at.', {
    required: true,
    choices: checkTypes,
    onlyChoices: true,
  }),
  text('name', 'What the check shows; made of its fields unless given.'),
  number('seconds', 'How long it is watched; the longest time of a command.', { default: 60 }),
  number('intervalSeconds', 'Pause between two looks.', { default: 5 }),
  number('failures', 'How many looks may fail.', { default: 0 }),
  text('url', 'http: the address. prometheus: where Prometheus is.'),
  text('path', 'http: a path of every instance on this machine, instead of an address.'),
  number('status', 'http: the status that is wanted; any below 400 unless given.'),
  text('contains', 'http: a text that the answer must have.'),
  number('withinMs', 'http: the longest time of an answer, in milliseconds.'),
  map('customHeaders', 'http, prometheus: headers of the request.'),
  choice('metric', 'metric: of the server group, since the check began.', {
    choices: ['requests', 'errors', 'errorPercent', 'latency', 'memory', 'cpu'],
  }),
  number(
    'minRequests',
    'metric: requests since the check began; with fewer, the metric tells nothing yet.',
    { default: 0 },
  ),
  text('query', 'prometheus: every series of its result is compared.'),
  choice('comparison', 'metric, prometheus: how the value compares.', {
    choices: ['<', '<=', '==', '>=', '>'],
    onlyChoices: true,
    default: '<=',
  }),
  number(
    'bound',
    'metric, prometheus: what it is compared with. Latency is in milliseconds, memory in bytes.',
  ),
  text(
    'pattern',
    'logs: regular expression that is searched in the latest output of each instance.',
  ),
  flag('appears', 'logs: whether it must appear; otherwise it must not.', { default: true }),
  json(
    'command',
    'command: as a text or a list; it must end with 0. Only where bakes may run commands.',
  ),
  map('env', 'command: environment variables.'),
]

const deployment = stagesOf('Deployment')

export const verify = deployment.both(
  'verify',
  'Verify',
  'Watches a deployment for some time, and fails when one of its checks does.',
  [
    objects('checks', 'They run at the same time.', checkFields),
    flag('rollback', 'After a failure, what ran before takes the traffic again.'),
    {
      ...serverGroup,
      help: 'The server group; unless given, those that the nearest stage ahead has deployed.',
    },
    optional(provider),
    optional(account),
    optional(places),
  ],
)

export const promote = deployment.pipeline(
  'promote',
  'Promote',
  'Takes what one environment runs to the next, once the constraints of that one hold.',
  [
    text('to', 'The environment that the version is promoted to.', { required: true }),
    text('from', 'The environment that it is taken from; unless given, the one before.'),
    textListField('clusters', 'Clusters that are promoted; all that serve unless given.', {
      choicesFrom: 'clusters',
    }),
    applicationField,
  ],
)

export const verificationStages: readonly StageDescription[] = [verify, promote]
