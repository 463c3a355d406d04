/** Documents beside pipelines as teams have them: canary configurations, strategies, templates of both versions, notification settings. */
import type { JsonObject } from '../../packages/base/json/values.ts'
import { application } from './definitions.ts'

export type DocumentKind =
  | 'canary configuration'
  | 'strategy'
  | 'template'
  | 'template v1'
  | 'notifications'

export interface CorpusDocument {
  readonly kind: DocumentKind
  readonly name: string
  readonly document: JsonObject
  /** What the save names; without it, the save names nothing. */
  readonly doubt?: RegExp
}

const all: [kind: DocumentKind, document: JsonObject, doubt?: RegExp][] = []

const metric = (name: string, query: JsonObject, canary: JsonObject = {}): JsonObject => ({
  name,
  query,
  groups: ['Group 1'],
  analysisConfigurations: { canary: { direction: 'increase', ...canary } },
  scopeName: 'default',
})
const prometheus = (metricName: string, more: JsonObject = {}) => ({
  type: 'prometheus',
  serviceType: 'prometheus',
  metricName,
  labelBindings: [],
  groupByFields: [],
  ...more,
})
const judge = { name: 'NetflixACAJudge-v1.0', judgeConfigurations: {} }
const classifier = {
  groupWeights: { 'Group 1': 100 },
  scoreThresholds: { marginal: 75, pass: 95 },
}
const canary = (metrics: readonly JsonObject[], more: JsonObject = {}, doubt?: RegExp) =>
  all.push([
    'canary configuration',
    {
      applications: [application],
      configVersion: '1',
      description: '',
      isNew: true,
      metrics,
      judge,
      classifier,
      templates: {},
      ...more,
    },
    doubt,
  ])

canary([metric('CPU', prometheus('container_cpu_usage_seconds_total'))])
canary([
  metric('Latency', prometheus('http_latency', { customInlineTemplate: '' }), {
    direction: 'either',
    nanStrategy: 'remove',
    outliers: { strategy: 'keep' },
    effectSize: { allowedIncrease: 1.1, allowedDecrease: '0.9' },
  }),
])
canary(
  [
    metric('Errors', {
      type: 'stackdriver',
      metricType: 'loadbalancing.googleapis.com/https/request_count',
      resourceType: 'k8s_container',
      crossSeriesReducer: 'REDUCE_MEAN',
      perSeriesAligner: 'ALIGN_RATE',
    }),
  ],
  { templates: { filter: 'resource.labels.name="${scope}"' } },
  /no metrics of stackdriver/,
)
canary(
  [metric('CPU', prometheus('container_cpu_usage_seconds_total'))],
  { classifier: { ...classifier, groupWeights: { Other: 100 } } },
  /group "Group 1" has no weight/,
)
canary([metric('Hits', { type: 'datadog', metricName: 'trace.http.hits' })])
canary([metric('Apdex', { type: 'newrelic', select: 'SELECT apdex(duration)', q: 'app = 1' })])
canary(
  [metric('5xx', { type: 'signalfx', metricName: 'requests.count', queryPairs: [] })],
  {},
  /no metrics of signalfx/,
)
canary(
  [metric('IOPS', { type: 'wavefront', metricName: 'disk.io', aggregate: 'avg' })],
  {},
  /no metrics of wavefront/,
)
canary(
  [metric('Alarms', { type: 'graphite', metricName: 'web.${scope}.alarms' })],
  {},
  /no metrics of graphite/,
)
canary(
  [
    metric('Errors', prometheus('errors'), { critical: true, nanStrategy: 'replace' }),
    metric('Muted', prometheus('debug'), { muted: 'true', nanStrategy: 'default' }),
  ],
  {
    classifier: {
      groupWeights: { 'Group 1': '100' },
      scoreThresholds: { marginal: '50', pass: '75' },
    },
  },
)
canary(
  [metric('Rare', prometheus('oom_kills'), { nanStrategy: 'replace' })],
  {},
  /"Rare" counts missing values as 0.*"rareEvents": true/,
)
canary(
  [metric('Any', prometheus('x'))],
  { judge: { name: 'dredd-v1.0', judgeConfigurations: {} } },
  /the judge "dredd-v1\.0" is not of the embedded service/,
)
canary(
  [metric('Same', prometheus('a')), metric('Same', prometheus('b'))],
  {},
  /another metric is named "Same" too/,
)
canary(
  [metric('Any', prometheus('x'))],
  { classifier: { groupWeights: { 'Group 1': 60 }, scoreThresholds: { marginal: 75, pass: 95 } } },
  /they add up to 60, not 100/,
)

const wait = { name: 'Wait', refId: '1', requisiteStageRefIds: [], type: 'wait', waitTime: 0 }
const strategy = (more: JsonObject, doubt?: RegExp) =>
  all.push([
    'strategy',
    { application, strategy: true, limitConcurrent: false, triggers: [], stages: [wait], ...more },
    doubt,
  ])

strategy({})
strategy({ stages: [], parameterConfig: [] })
strategy({
  parameterConfig: [{ name: 'bake', default: '5', required: false, description: 'Minutes.' }],
})
strategy({
  stages: [
    wait,
    {
      name: 'Disable the old',
      refId: '2',
      requisiteStageRefIds: ['1'],
      type: 'disableCluster',
      cluster: '${trigger.parameters.cluster}',
      credentials: '${trigger.parameters.credentials}',
      regions: ['${trigger.parameters.region}'],
      remainingEnabledServerGroups: 1,
      preferLargerOverNewer: 'false',
      cloudProvider: 'aws',
    },
  ],
})
strategy({ stages: [{ ...wait, type: 'manualJudgment', judgmentInputs: [], notifications: [] }] })
strategy({ keepWaitingPipelines: 'false', limitConcurrent: 'true', index: 3, locked: null })
strategy({ stages: [{ ...wait, type: 'ourCanary' }] }, /There is no stage type "ourCanary"/)
strategy(
  { stages: [{ ...wait, failPipline: true }] },
  /"failPipline" is no field of this stage type/,
)

const metadata = (name: string) => ({
  name,
  description: '',
  owner: 'shop@example.com',
  scopes: ['global'],
})
const template = (pipeline: JsonObject, more: JsonObject = {}, doubt?: RegExp) => {
  const id = `template-${all.length}`
  const variables = [{ name: 'wait', type: 'int', defaultValue: 1, description: '' }]
  const body = { id, schema: 'v2', protect: false, metadata: metadata(id), variables }
  all.push(['template', { ...body, pipeline, ...more }, doubt])
}

template({
  stages: [wait],
  triggers: [],
  notifications: [],
  parameterConfig: [],
  keepWaitingPipelines: false,
})
template({
  lastModifiedBy: 'anonymous',
  updateTs: '0',
  limitConcurrent: true,
  stages: [{ ...wait, waitTime: '${ templateVariables.wait }' }],
})
template(
  { stages: [{ ...wait, type: 'manualJudgment', instructions: '${ templateVariables.text }' }] },
  { variables: [{ name: 'text', type: 'string', example: 'go', nullable: true }] },
)
template(
  { stages: [{ ...wait, waitTime: "${parameters['minutes']}" }] },
  { parameterConfig: [{ name: 'minutes', type: 'int', default: 5 }] },
  /has its "parameterConfig" in "pipeline"/,
)
template({ stages: [wait], spelEvaluator: 'v4', expectedArtifacts: [], exclude: [] })
template(
  { stages: [{ ...wait, type: 'wiat' }] },
  {},
  /There is no stage type "wiat".*the nearest first: wait/,
)
template(
  { stages: [wait], triggers: [{ type: 'cron', enabled: true, cronExpression: '0 0 31 2 ?' }] },
  {},
  /triggers\[0\]\.cronExpression/,
)
template(
  {
    stages: [
      { ...wait, waitTime: '${ templateVariables.time }', name: "${templateVariables['wait']}" },
    ],
  },
  {
    variables: [
      { name: 'wait', type: 'int', defaultValue: 'x' },
      { name: 'a', type: 'number' },
    ],
  },
  /"wait" must be of type int.*"number" is not a type of variables.*the variable "time"/,
)

const first = (more: JsonObject) => {
  const id = `first-${all.length}`
  const body = { id, schema: '1', metadata: metadata(id), protect: false, variables: [] }
  all.push([
    'template v1',
    { ...body, configuration: {}, stages: [], modules: [], ...more },
    /templates of version 2.*none of version 1/,
  ])
}
first({})
first({
  variables: [{ name: 'regions', type: 'list', defaultValue: ['us-east-1'], group: 'Where' }],
  configuration: { concurrentExecutions: { limitConcurrent: true }, triggers: [], parameters: [] },
  stages: [
    { id: 'wait', type: 'wait', config: { waitTime: 5 }, dependsOn: [] },
    { id: 'bake', type: 'bake', dependsOn: ['wait'], config: { regions: '{{ regions }}' } },
  ],
})
first({
  stages: [
    {
      id: 'ask',
      type: 'manualJudgment',
      when: ["{{ isProd == 'true' }}"],
      config: {},
      loopWith: '{{ x }}',
    },
    { id: 'more', type: 'wait', inject: { first: true }, config: { waitTime: 1 } },
  ],
  modules: [{ id: 'm', usage: 'x', variables: [], definition: { waitTime: 1 } }],
})
first({
  source: 'spinnaker://base',
  configuration: { notifications: [{ name: 'n', type: 'email' }] },
})

const when = ['pipeline.starting', 'pipeline.complete', 'pipeline.failed']
const undelivered = /Nothing delivers notifications of the kind/
const notifications = (kind: string, entry: JsonObject, doubt: RegExp | undefined = undelivered) =>
  all.push([
    'notifications',
    { application, [kind]: [{ type: kind, level: 'application', when, ...entry }] },
    doubt,
  ])

notifications('email', { address: 'team@example.com', cc: 'lead@example.com' })
notifications('slack', { address: '#shop', message: { 'pipeline.failed': { text: 'Oh.' } } })
notifications('sms', { address: '+15550100' })
notifications('googlechat', { address: 'spaces/AAA' })
notifications('pagerduty', { address: 'key' })
notifications('microsoftteams', {
  address: 'https://teams.example/hook',
  when: ['pipeline.failed'],
})
notifications('githubStatus', { when: [] })
all.push(['notifications', { application, email: [], slack: [] }])

export const documents: readonly CorpusDocument[] = all.map(([kind, document, doubt], index) => {
  const name = `${kind.replaceAll(' ', '-')}-${index}`
  const named =
    kind === 'strategy' || kind === 'canary configuration' ? { name, ...document } : document
  return { kind, name, document: named, ...(doubt !== undefined && { doubt }) }
})
