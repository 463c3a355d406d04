/** Fields of a pipeline beside its stages, described as those of stages are, so that one form shows both. */
import type { FieldDescription } from './descriptions.ts'

/** What a description leaves out. */
function describe(
  fields: readonly (Pick<FieldDescription, 'name' | 'kind' | 'help'> & Partial<FieldDescription>)[],
): readonly FieldDescription[] {
  return fields.map((field) => ({ required: false, onlyChoices: false, expression: false, ...field }))
}

/** Words of the ends of an execution that a trigger of another pipeline waits for. */
const ends = ['successful', 'failed', 'canceled']

export const generalFields = describe([
  { name: 'description', kind: 'long-text', help: 'Shown in lists and when a user starts the pipeline.' },
  { name: 'disabled', kind: 'flag', default: false, help: 'Neither users nor triggers start it.' },
  {
    name: 'limitConcurrent',
    kind: 'flag',
    default: false,
    help: 'One execution at a time; later ones wait.',
  },
  {
    name: 'keepWaitingPipelines',
    kind: 'flag',
    default: false,
    help: 'Keeps all that wait; otherwise a newer one replaces them.',
  },
  { name: 'maxConcurrentExecutions', kind: 'number', help: 'So many at a time, where more than one may run. 0 sets no limit.' },
  {
    name: 'roles',
    kind: 'texts',
    choicesFrom: 'roles',
    help: 'Roles of the service account that Fairlead keeps for the triggers.',
  },
  { name: 'respectQuietPeriod', kind: 'flag', default: false, help: 'Triggers do not start it during the quiet period.' },
  {
    name: 'tags',
    kind: 'objects',
    help: 'For filters in lists.',
    fields: describe([
      { name: 'name', kind: 'text', required: true, help: 'The name of the tag.' },
      { name: 'value', kind: 'text', help: 'Its value.' },
    ]),
  },
  {
    name: 'spelEvaluator',
    kind: 'choice',
    choices: ['v3', 'v4'],
    help: 'v4 evaluates the fields of a stage in order, so that later ones see earlier ones.',
  },
  {
    name: 'manualStartAlert',
    kind: 'object',
    help: 'Shown before a user starts the pipeline.',
    fields: describe([
      { name: 'type', kind: 'choice', choices: ['INFO', 'WARNING', 'DANGER'], help: 'How urgent it is.' },
      { name: 'message', kind: 'long-text', help: 'The text.' },
    ]),
  },
  {
    name: 'locked',
    kind: 'object',
    help: 'Keeps users from changing the pipeline here, for one that a program writes.',
    fields: describe([
      { name: 'ui', kind: 'flag', default: false, help: 'Locks the pipeline.' },
      { name: 'allowUnlockUi', kind: 'flag', default: true, help: 'Users may lift the lock.' },
      { name: 'description', kind: 'text', help: 'Why, and where it is changed instead.' },
    ]),
  },
])

export const parameterFields = describe([
  { name: 'name', kind: 'text', required: true, help: 'Read by expressions as ${parameters.name}.' },
  { name: 'label', kind: 'text', help: 'Shown instead of the name.' },
  { name: 'description', kind: 'long-text', help: 'Shown below the field.' },
  { name: 'required', kind: 'flag', default: false, help: 'A start needs a value.' },
  { name: 'pinned', kind: 'flag', default: false, help: 'Stands before the others.' },
  { name: 'default', kind: 'text', help: 'The value unless another is given.' },
  { name: 'constraint', kind: 'choice', choices: ['', 'date'], help: 'date: the value is a day.' },
  { name: 'hasOptions', kind: 'flag', default: false, help: 'The value is one of the options.' },
  {
    name: 'options',
    kind: 'objects',
    help: 'Values to choose from.',
    fields: describe([{ name: 'value', kind: 'text', required: true, help: 'The value.' }]),
  },
  {
    name: 'conditional',
    kind: 'object',
    help: 'Shows the parameter only while another one has a value.',
    fields: describe([
      { name: 'parameter', kind: 'text', help: 'Name of the other parameter.' },
      { name: 'comparator', kind: 'choice', choices: ['=', '!=', '>', '<', '>=', '<='], default: '=', help: 'How it compares.' },
      { name: 'comparatorValue', kind: 'text', help: 'With this value.' },
    ]),
  },
])

const enabled = { name: 'enabled', kind: 'flag', default: false, help: 'Starts the pipeline.' } as const
const constraints = {
  name: 'payloadConstraints',
  kind: 'map',
  help: 'Field of the payload to a regular expression that its value must contain.',
} as const
const commonTriggerFields = [
  {
    name: 'runAsUser',
    kind: 'text',
    choicesFrom: 'service-accounts',
    help: 'Service account that the execution runs as.',
  },
  {
    name: 'expectedArtifactIds',
    kind: 'texts',
    choicesFrom: 'artifacts',
    help: 'Artifacts that the event must bring.',
  },
  { name: 'description', kind: 'text', help: 'For readers.' },
] as const

interface TriggerType {
  readonly type: string
  readonly label: string
  readonly description: string
  readonly fields: readonly FieldDescription[]
}

function triggerType(
  type: string,
  label: string,
  description: string,
  fields: readonly (Pick<FieldDescription, 'name' | 'kind' | 'help'> & Partial<FieldDescription>)[],
): TriggerType {
  return { type, label, description, fields: describe([enabled, ...fields, ...commonTriggerFields]) }
}

const buildFields = [
  { name: 'master', kind: 'text', required: true, choicesFrom: 'build-hosts', help: 'The build server.' },
  { name: 'job', kind: 'text', required: true, choicesFrom: 'build-jobs', help: 'The job.' },
  { name: 'propertyFile', kind: 'text', help: 'Artifact of the build with properties for expressions.' },
  constraints,
] as const

const builds = [
  triggerType('build', 'Build', 'A build of any build server has succeeded.', buildFields),
  ...['Jenkins', 'Travis', 'Concourse', 'GitLab CI'].map((label) =>
    triggerType(label.toLowerCase().replace(' ', '-'), label, `A build of ${label} has succeeded.`, buildFields),
  ),
]

const registry = [
  { name: 'account', kind: 'text', required: true, choicesFrom: 'image-accounts', help: 'Account of the registry.' },
  { name: 'organization', kind: 'text', help: 'First part of the repository, for forms.' },
  { name: 'repository', kind: 'text', required: true, help: 'The repository, such as team/app.' },
  { name: 'tag', kind: 'text', help: 'Regular expression for the whole tag; any but latest unless given.' },
  { name: 'trackDigests', kind: 'flag', default: false, help: 'Starts it also when such a tag gets another digest.' },
  { name: 'registry', kind: 'text', help: 'Host of the registry that sends webhooks; any unless given.' },
  { name: 'secret', kind: 'text', help: 'Secret of the signature of webhooks. It is stored with the pipeline.' },
  constraints,
] as const

/** Those that this gateway and its event service know; others are shown as JSON. */
export const triggerTypes: readonly TriggerType[] = [
  triggerType('cron', 'Schedule', 'At times of a cron expression.', [
    {
      name: 'cronExpression',
      kind: 'cron',
      required: true,
      help: 'Second, minute, hour, day of month, month, day of week: 0 0 6 ? * MON-FRI is 6:00 on working days.',
    },
  ]),
  triggerType('webhook', 'Webhook', 'A program calls an address of this gateway.', [
    { name: 'source', kind: 'webhook-source', required: true, help: 'Last part of the address.' },
    constraints,
  ]),
  triggerType('pipeline', 'Pipeline', 'Another pipeline has ended.', [
    { name: 'application', kind: 'text', required: true, choicesFrom: 'applications', help: 'Its application.' },
    { name: 'pipeline', kind: 'text', required: true, choicesFrom: 'pipelines', help: 'The pipeline.' },
    { name: 'status', kind: 'texts', required: true, choices: ends, help: 'How it ends.' },
  ]),
  triggerType('git', 'Git', 'A repository reports a push or a pull request.', [
    {
      name: 'source',
      kind: 'choice',
      required: true,
      choices: ['github', 'gitlab', 'bitbucket', 'stash', 'gitea', 'forgejo', 'gogs', 'git'],
      help: 'Where the repository is; git has no host that sends webhooks of its own.',
    },
    { name: 'project', kind: 'text', help: 'Owner or project of the repository, for webhooks.' },
    { name: 'slug', kind: 'text', help: 'Name of the repository, for webhooks.' },
    {
      name: 'repository',
      kind: 'text',
      help: 'Its address, such as https://git.example.com/shop/web.git, for polls and webhooks.',
    },
    { name: 'poll', kind: 'flag', default: false, help: 'Looks for pushes from time to time, without a webhook.' },
    { name: 'artifactAccount', kind: 'text', help: 'Artifact account for Git whose credentials polls use.' },
    { name: 'branch', kind: 'text', help: 'Regular expression for the whole branch; any unless given.' },
    { name: 'tags', kind: 'text', help: 'Regular expression for the whole tag.' },
    { name: 'paths', kind: 'texts', help: 'Patterns such as src/** of which one must match a changed file.' },
    { name: 'excludedPaths', kind: 'texts', help: 'Patterns of files whose changes do not count.' },
    { name: 'events', kind: 'texts', help: 'Such as push:push or pull_request:opened; any unless given.' },
    { name: 'secret', kind: 'text', help: 'Secret of the signature. It is stored with the pipeline.' },
  ]),
  triggerType('docker', 'Docker registry', 'An image was pushed.', registry),
  triggerType('helm', 'Helm chart', 'A chart repository has a new version of a chart.', [
    { name: 'account', kind: 'text', required: true, help: 'Account of the chart repository.' },
    { name: 'chart', kind: 'text', help: 'The chart; any unless given.' },
    { name: 'version', kind: 'text', help: 'Range of semantic versions, such as ^1.2; any unless given.' },
  ]),
  triggerType('helm/oci', 'Helm chart in a registry', 'A chart was pushed to a registry of images.', registry),
  triggerType('artifact', 'Artifact', 'An artifact has a new version.', [
    { name: 'account', kind: 'text', required: true, choicesFrom: 'artifact-accounts', help: 'Artifact account.' },
    { name: 'artifactType', kind: 'text', required: true, help: 'Such as npm/package or maven/file.' },
    { name: 'name', kind: 'text', required: true, help: 'Such as @shop/web, or com.example:web.' },
    { name: 'version', kind: 'text', help: 'Regular expression for the whole version; any unless given.' },
  ]),
  ...builds,
  triggerType('pubsub', 'Message', 'A message arrives on a subscription.', [
    { name: 'pubsubSystem', kind: 'text', required: true, help: 'Such as google or amazon.' },
    {
      name: 'subscriptionName',
      kind: 'text',
      required: true,
      choicesFrom: 'subscriptions',
      help: 'The subscription.',
    },
    constraints,
    { name: 'attributeConstraints', kind: 'map', help: 'Attribute of the message to a regular expression for its value.' },
  ]),
  triggerType('artifactory', 'Artifactory', 'A search of Artifactory finds something new.', [
    { name: 'artifactorySearchName', kind: 'text', required: true, help: 'Name of the search.' },
  ]),
  triggerType('nexus', 'Nexus', 'A search of Nexus finds something new.', [
    { name: 'nexusSearchName', kind: 'text', required: true, help: 'Name of the search.' },
  ]),
  triggerType('cdevents', 'CDEvents', 'A program sends an event of the CDEvents specification.', [
    { name: 'source', kind: 'text', required: true, help: 'Last part of the address.' },
    { name: 'attributeConstraints', kind: 'map', help: 'Header of the request to a regular expression for its value.' },
    constraints,
  ]),
  triggerType('plugin', 'Plug-in', 'A plug-in was released.', [
    { name: 'pluginEventType', kind: 'text', default: 'PUBLISHED', help: 'The kind of release.' },
  ]),
]

const judgmentMoments = ['manualJudgment', 'manualJudgmentContinue', 'manualJudgmentStop']

const moments = (of: 'pipeline' | 'stage') => [
  ...['starting', 'complete', 'failed'].map((word) => `${of}.${word}`),
  ...(of === 'stage' ? judgmentMoments : []),
]

export function notificationFields(of: 'pipeline' | 'stage'): readonly FieldDescription[] {
  return describe([
    {
      name: 'type',
      kind: 'text',
      required: true,
      choices: [
        ...['email', 'slack', 'googlechat', 'microsoftteams', 'webhook'],
        ...['githubStatus', 'gitlabStatus', 'giteaStatus', 'sms', 'pubsub'],
      ],
      choicesFrom: 'notification-types',
      help: 'How it is sent.',
    },
    { name: 'address', kind: 'text', help: 'Email address, channel, address of a webhook, or repository.' },
    { name: 'when', kind: 'texts', choices: moments(of), help: 'What it is sent for.' },
    { name: 'level', kind: 'choice', choices: [of], help: 'What it is about.' },
    { name: 'message', kind: 'json', help: 'Texts by moment, such as {"pipeline.failed": {"text": "…"}}.' },
  ])
}

const artifactFields = describe([
  { name: 'type', kind: 'text', help: 'Such as docker/image, or a file of a repository.' },
  { name: 'name', kind: 'text', help: 'The name; a regular expression matches.' },
  { name: 'version', kind: 'text', help: 'The version.' },
  { name: 'location', kind: 'text', help: 'Region or namespace.' },
  { name: 'reference', kind: 'text', help: 'Where it can be fetched.' },
  { name: 'artifactAccount', kind: 'text', choicesFrom: 'artifact-accounts', help: 'Account that fetches it.' },
  { name: 'customKind', kind: 'flag', default: false, help: 'The type is one of your own.' },
])

export const expectedArtifactFields = describe([
  { name: 'displayName', kind: 'text', help: 'Shown where it is chosen.' },
  { name: 'matchArtifact', kind: 'object', help: 'What an artifact must be like.', fields: artifactFields },
  { name: 'usePriorArtifact', kind: 'flag', default: false, help: 'Without a match, that of the last execution is taken.' },
  { name: 'useDefaultArtifact', kind: 'flag', default: false, help: 'Without a match, the default is taken.' },
  { name: 'defaultArtifact', kind: 'object', help: 'The default.', fields: artifactFields },
  { name: 'id', kind: 'text', help: 'Reference by which triggers and stages name it.' },
])
