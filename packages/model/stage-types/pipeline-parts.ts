/** Descriptions of a pipeline beside its stages: settings, parameters, triggers, notifications and expected artifacts. */
import {
  choice,
  cron,
  type Field,
  flag,
  json,
  longText,
  map,
  number,
  object,
  objects,
  text,
  textListField,
} from './description.ts'

const required = { required: true } as const

export const pipelineFields = [
  longText('description', 'Shown in lists and when a user starts the pipeline.'),
  flag('disabled', 'Neither users nor triggers start it.'),
  flag('limitConcurrent', 'One execution at a time; later ones wait.'),
  flag('keepWaitingPipelines', 'Keeps all that wait; otherwise a newer one replaces them.'),
  number(
    'maxConcurrentExecutions',
    'So many at a time, where more than one may run. 0 sets no limit.',
  ),
  textListField('roles', 'Roles of the service account that Fairlead keeps for the triggers.', {
    choicesFrom: 'roles',
  }),
  flag('respectQuietPeriod', 'Triggers do not start it during the quiet period.'),
  objects('tags', 'For filters in lists.', [
    text('name', 'Such as team.', required),
    text('value', 'Its value.'),
  ]),
  choice(
    'spelEvaluator',
    'v4 evaluates the fields of a stage in order, so that later ones see earlier ones.',
    {
      choices: ['v3', 'v4'],
    },
  ),
  object('locked', 'Keeps users from changing the pipeline here, for one that a program writes.', [
    flag('ui', 'Locks the pipeline.'),
    flag('allowUnlockUi', 'Users may lift the lock.', { default: true }),
    text('description', 'Why, and where it is changed instead.'),
  ]),
]

export const pipelineParameterFields = [
  text('name', 'Read by expressions as ${parameters.name}.', required),
  text('label', 'Shown instead of the name.'),
  longText('description', 'Shown below the field.'),
  flag('required', 'A start needs a value.'),
  flag('pinned', 'Stands before the others.'),
  text('default', 'The value unless another is given.'),
  choice('constraint', 'date: the value is a day.', { choices: ['', 'date'] }),
  flag('hasOptions', 'The value is one of the options.'),
  objects('options', 'Values to choose from.', [text('value', 'The value.')]),
  object('conditional', 'Shows the parameter only while another one has a value.', [
    text('parameter', 'Name of the other parameter.'),
    choice('comparator', 'How it compares.', {
      choices: ['=', '!=', '>', '<', '>=', '<='],
      default: '=',
    }),
    text('comparatorValue', 'With this value.'),
  ]),
]

function triggerType(type: string, label: string, description: string, own: readonly Field[]) {
  const fields = [
    flag('enabled', 'Starts the pipeline.'),
    ...own,
    text('runAsUser', 'Service account that the execution runs as.', {
      choicesFrom: 'service-accounts',
    }),
    textListField('expectedArtifactIds', 'Artifacts that the event must bring.', {
      choicesFrom: 'artifacts',
    }),
    text('description', 'For readers.'),
  ]
  return { type, label, description, fields }
}

const cronHelp =
  'Second, minute, hour, day of month, month, day of week: 0 0 6 ? * MON-FRI is 6:00 on working days.'
const constraints = map(
  'payloadConstraints',
  'Field of the payload to a regular expression that occurs in it.',
)

const buildFields = [
  text('master', 'The build server.', { ...required, choicesFrom: 'build-hosts' }),
  text('job', 'The job.', { ...required, choicesFrom: 'build-jobs' }),
  text('propertyFile', 'Artifact of the build with properties for expressions.'),
  constraints,
]

const registry = [
  text('account', 'Account of the registry.', { ...required, choicesFrom: 'image-accounts' }),
  text('organization', 'First part of the repository, for forms.'),
  text('repository', 'The repository, such as team/app.', required),
  text('tag', 'Regular expression for the whole tag; any but latest unless given.'),
  flag('trackDigests', 'Starts it also when such a tag gets another digest.'),
  text('registry', 'Host of the registry that sends webhooks; any unless given.'),
  text('secret', 'Secret of the signature of webhooks. It is stored with the pipeline.'),
  constraints,
]

/** Types that this gateway and its event service know. */
export const triggerTypes = [
  triggerType('cron', 'Schedule', 'At times of a cron expression.', [
    cron('cronExpression', cronHelp, required),
    text('timeZone', 'Its time zone, such as Europe/Berlin; that of the settings unless given.'),
    choice('onOverlap', 'skip: a time at which the run would have to wait starts nothing.', {
      choices: ['wait', 'skip'],
    }),
  ]),
  triggerType('webhook', 'Webhook', 'A program calls an address of this gateway.', [
    { name: 'source', kind: 'webhook-source', help: 'Last part of the address.', required: true },
    constraints,
  ]),
  triggerType('pipeline', 'Pipeline', 'Another pipeline has ended.', [
    text('application', 'Its application.', { choicesFrom: 'applications' }),
    text('pipeline', 'The pipeline.', { ...required, choicesFrom: 'pipelines' }),
    textListField('status', 'How it ends.', {
      ...required,
      choices: ['successful', 'failed', 'canceled'],
    }),
  ]),
  triggerType('git', 'Git', 'A repository reports a push or a pull request.', [
    choice('source', 'Where the repository is; git has no host that sends webhooks of its own.', {
      ...required,
      choices: ['github', 'gitlab', 'bitbucket', 'stash', 'gitea', 'forgejo', 'gogs', 'git'],
    }),
    text('project', 'Owner or project of the repository, for webhooks.'),
    text('slug', 'Name of the repository, for webhooks.'),
    text(
      'repository',
      'Its address, such as https://git.example.com/shop/web.git, for polls and webhooks.',
    ),
    flag('poll', 'Looks for pushes from time to time, without a webhook.'),
    text('artifactAccount', 'Artifact account for Git whose credentials polls use.'),
    text('branch', 'Regular expression for the whole branch; any unless given.'),
    text('tags', 'Regular expression for the whole tag.'),
    textListField('paths', 'Patterns such as src/** of which one must match a changed file.'),
    textListField('excludedPaths', 'Patterns of files whose changes do not count.'),
    textListField('events', 'Such as push:push or pull_request:opened; any unless given.'),
    text('secret', 'Secret of the signature. It is stored with the pipeline.'),
  ]),
  triggerType('docker', 'Docker registry', 'An image was pushed.', registry),
  triggerType('helm', 'Helm chart', 'A chart repository has a new version of a chart.', [
    text('account', 'Account of the chart repository.', required),
    text('chart', 'The chart; any unless given.'),
    text('version', 'Range of semantic versions, such as ^1.2; any unless given.'),
  ]),
  triggerType(
    'helm/oci',
    'Helm chart in a registry',
    'A chart was pushed to a registry of images.',
    registry,
  ),
  triggerType('artifact', 'Artifact', 'An artifact has a new version.', [
    text('account', 'Artifact account.', { ...required, choicesFrom: 'artifact-accounts' }),
    text('artifactType', 'Such as npm/package or maven/file.', required),
    text('name', 'Such as @shop/web, or com.example:web.', required),
    text('version', 'Regular expression for the whole version; any unless given.'),
  ]),
  triggerType('build', 'Build', 'A build of any build server has succeeded.', buildFields),
  ...['Jenkins', 'Travis', 'Concourse', 'GitLab CI'].map((label) =>
    triggerType(
      label.toLowerCase().replace(' ', '-'),
      label,
      `A build of ${label} has succeeded.`,
      buildFields,
    ),
  ),
  triggerType('pubsub', 'Message', 'A message arrives on a subscription.', [
    text('pubsubSystem', 'Such as google or amazon.', required),
    text('subscriptionName', 'The subscription.', { ...required, choicesFrom: 'subscriptions' }),
    constraints,
    map('attributeConstraints', 'Attribute of the message to a regular expression for its value.'),
  ]),
  triggerType('cdevents', 'CDEvents', 'A program sends an event of the CDEvents specification.', [
    text('source', 'Last part of the address.', required),
    map('attributeConstraints', 'Header of the request to a regular expression for its value.'),
    constraints,
  ]),
]

/** Channels of notifications, of applications as of pipelines and stages. */
export const channels = [
  ...['email', 'slack', 'googlechat', 'microsoftteams', 'webhook'],
  ...['githubStatus', 'gitlabStatus', 'giteaStatus', 'sms', 'pubsub'],
]

export function notificationFields(of: 'pipeline' | 'stage'): readonly Field[] {
  const moments = ['starting', 'complete', 'failed'].map((word) => `${of}.${word}`)
  const others =
    of === 'stage'
      ? ['manualJudgment', 'manualJudgmentContinue', 'manualJudgmentStop']
      : ['rollback']
  return [
    text('type', 'How it is sent.', { ...required, choices: channels }),
    text(
      'address',
      'Email address, or authors for those of the commits; channel, address of a webhook, or repository.',
    ),
    textListField('when', 'What it is sent for.', { choices: [...moments, ...others] }),
    choice('level', 'What it is about.', { choices: [of] }),
    json('message', 'Texts by moment, such as {"pipeline.failed": {"text": "…"}}.'),
  ]
}

const artifactFields = [
  text('type', 'Such as docker/image, or a file of a repository.'),
  text('name', 'The name; a regular expression matches.'),
  text('version', 'The version.'),
  text('location', 'Region or namespace.'),
  text('reference', 'Where it can be fetched.'),
  text('artifactAccount', 'Account that fetches it.', { choicesFrom: 'artifact-accounts' }),
  flag('customKind', 'The type is one of your own.'),
]

export const expectedArtifactFields = [
  text('displayName', 'Shown where it is chosen.'),
  object('matchArtifact', 'What an artifact must be like.', artifactFields),
  flag('usePriorArtifact', 'Without a match, that of the last execution is taken.'),
  flag('useDefaultArtifact', 'Without a match, the default is taken.'),
  object('defaultArtifact', 'The default.', artifactFields),
  text('id', 'Reference by which triggers and stages name it.'),
]
