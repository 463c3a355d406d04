/** What the web UI asks for on each of its pages, and what it must find in the answers to show the page. */
import { z } from 'zod'

/** The names that stand in the paths below; the journey creates them. */
export interface Places {
  readonly application: string
  readonly pipeline: string
  readonly pipelineId: string
  readonly executionId: string
  readonly taskId: string
  readonly project: string
}

export interface PageRequest {
  readonly path: string
  readonly answer: z.ZodType
}

export interface Page {
  readonly page: string
  readonly requests: (places: Places) => readonly PageRequest[]
}

const list = z.array(z.unknown())
const map = z.record(z.string(), z.unknown())
const text = z.string().min(1)
const time = z.union([z.number(), z.string().regex(/^\d+$/)])

const Account = z.looseObject({ name: text, type: text, cloudProvider: text })
const User = z.looseObject({
  username: text,
  roles: z.array(z.string()),
  isAdmin: z.boolean(),
  canMintApiTokens: z.boolean(),
})
const ListedApplication = z.looseObject({ name: text, email: text, createTs: time, updateTs: time })
const Application = z.looseObject({
  name: text,
  attributes: z.looseObject({ name: text, email: text }),
})
const Definition = z.looseObject({
  id: text,
  name: text,
  application: text,
  index: z.int(),
  updateTs: time,
  stages: z.array(
    z.looseObject({
      refId: text,
      requisiteStageRefIds: z.array(z.string()),
      type: text,
      name: text,
    }),
  ),
  triggers: list,
})
const Execution = z.looseObject({
  id: text,
  application: text,
  name: text,
  status: text,
  startTime: z.number(),
  buildTime: z.number(),
  pipelineConfigId: text,
  authentication: z.looseObject({ user: text }),
  trigger: z.looseObject({ type: text, user: text, parameters: map }),
  stages: z.array(
    z.looseObject({
      id: text,
      refId: text,
      type: text,
      name: text,
      status: text,
      context: map,
      startTime: z.number(),
    }),
  ),
})
const Task = z.looseObject({
  id: text,
  name: text,
  status: text,
  startTime: z.number(),
  endTime: z.number(),
  variables: z.array(z.looseObject({ key: text, value: z.unknown() })),
  steps: z.array(z.looseObject({ name: text, status: text })),
  execution: z.looseObject({ authentication: z.looseObject({ user: text }) }),
})
const Project = z.looseObject({
  id: text,
  name: text,
  email: text,
  createTs: time,
  updateTs: time,
  config: z.looseObject({
    clusters: list,
    pipelineConfigs: list,
    applications: z.array(z.string()),
  }),
})
const SearchAnswer = z.array(z.looseObject({ results: list }))

const running = 'statuses=RUNNING,SUSPENDED,PAUSED,NOT_STARTED'

export const boot: Page = {
  page: 'start',
  requests: () => [
    { path: '/auth/user', answer: User },
    { path: '/plugins/deck/plugin-manifest.json', answer: list },
    { path: '/notifications/metadata', answer: list },
    { path: '/jobs/preconfigured', answer: list },
    { path: '/webhooks/preconfigured', answer: list },
    { path: '/credentials?expand=true', answer: z.array(Account) },
    { path: '/banners', answer: list },
    { path: '/securityGroups', answer: map },
  ],
}

const everyApplicationPage = ({ application }: Places): PageRequest[] => [
  { path: `/applications/${application}?expand=false`, answer: Application },
  { path: `/applications/${application}/serverGroupManagers`, answer: list },
  { path: `/applications/${application}/pipelines?limit=30&${running}&expand=true`, answer: list },
  {
    path: `/applications/${application}/tasks?statuses=RUNNING,SUSPENDED,NOT_STARTED`,
    answer: list,
  },
  { path: `/applications/${application}/clusters`, answer: map },
  { path: `/applications/${application}/loadBalancers`, answer: list },
  { path: `/applications/${application}/serverGroups`, answer: list },
  { path: `/search?q=${application}&type=securityGroups&pageSize=500`, answer: SearchAnswer },
  { path: '/networks/aws', answer: list },
]

const searched = [
  'projects',
  'applications',
  'serverGroups',
  'instances',
  'loadBalancers',
  'securityGroups',
]

const search: Page = {
  page: 'search',
  requests: () =>
    searched.map((type) => ({
      path: `/search?q=ship&type=${type}&pageSize=500`,
      answer: SearchAnswer,
    })),
}

const applications: Page = {
  page: 'applications',
  requests: () => [{ path: '/applications', answer: z.array(ListedApplication).min(1) }],
}

const clusters: Page = {
  page: 'clusters, load balancers and firewalls of an application',
  requests: everyApplicationPage,
}

const executions: Page = {
  page: 'pipelines of an application',
  requests: ({ application, pipeline, pipelineId, executionId }) => [
    {
      path: `/applications/${application}/pipelines?limit=2&expand=false`,
      answer: z.array(Execution).min(1),
    },
    { path: `/applications/${application}/pipelineConfigs`, answer: z.array(Definition).min(1) },
    { path: `/applications/${application}/strategyConfigs`, answer: list },
    { path: '/capabilities/quietPeriod', answer: map },
    {
      path: `/executions?limit=2&pipelineConfigIds=${pipelineId}&pipelineConfigIds=none&statuses=RUNNING&statuses=SUCCEEDED`,
      answer: z.array(Execution).length(1),
    },
    { path: `/pipelines/${executionId}`, answer: Execution },
    { path: `/applications/${application}/pipelineConfigs/${pipeline}`, answer: Definition },
  ],
}

const editor: Page = {
  page: 'pipeline editor with its triggers and stages',
  requests: ({ application, pipelineId }) => [
    { path: `/applications/${application}/pipelineConfigs`, answer: z.array(Definition).min(1) },
    { path: `/applications/${application}/strategyConfigs`, answer: list },
    { path: '/v2/builds?type=jenkins', answer: list },
    { path: '/v2/builds?type=travis', answer: list },
    {
      path: `/cron/validate?expression=${encodeURIComponent('0 0 10 ? * MON-FRI *')}`,
      answer: z.looseObject({ response: z.string(), description: text }),
    },
    { path: '/pubsub/subscriptions', answer: list },
    { path: '/artifacts/credentials', answer: list },
    { path: '/search?type=service&pageSize=500', answer: SearchAnswer },
    { path: '/codebuild/accounts', answer: list },
    { path: '/gcb/accounts', answer: list },
    { path: '/bakery/options', answer: z.union([list, map]) },
    {
      path: `/executions?limit=100&pipelineConfigIds=${pipelineId}`,
      answer: z.array(Execution).min(1),
    },
    { path: '/auth/user/serviceAccounts', answer: list },
    { path: `/auth/user/serviceAccounts?application=${application}`, answer: list },
    { path: `/pipelineConfigs/${pipelineId}/history?limit=20`, answer: z.array(Definition).min(1) },
  ],
}

const runDialog: Page = {
  page: 'manual run dialog',
  requests: ({ application, pipeline }) => [
    { path: `/applications/${application}/pipelineConfigs/${pipeline}`, answer: Definition },
    { path: `/notifications/application/${application}`, answer: map },
  ],
}

const tasks: Page = {
  page: 'tasks',
  requests: ({ application, taskId }) => [
    { path: `/applications/${application}/tasks?statuses=`, answer: z.array(Task).min(1) },
    {
      path: `/applications/${application}/tasks?statuses=&limit=5&page=1`,
      answer: z.array(Task).min(1),
    },
    { path: `/tasks/${taskId}`, answer: Task },
  ],
}

const config: Page = {
  page: 'configuration of an application',
  requests: ({ application }) => [
    { path: `/applications/${application}?expand=false`, answer: Application },
    { path: `/notifications/application/${application}`, answer: map },
    { path: `/applications/${application}/snapshots/none/history`, answer: list },
  ],
}

const projects: Page = {
  page: 'projects and the dashboard of one',
  requests: ({ project }) => [
    { path: '/projects', answer: z.array(Project).min(1) },
    { path: `/projects/${project}`, answer: Project },
    { path: `/projects/${project}/clusters`, answer: list },
    { path: `/projects/${project}/pipelines?limit=1`, answer: list },
  ],
}

const administration: Page = {
  page: 'templates, accounts, API tokens and banners',
  requests: () => [
    { path: '/v2/pipelineTemplates/versions', answer: map },
    { path: '/v2/pipelineTemplates', answer: list },
    { path: '/credentials/type/kubernetes?limit=100', answer: list },
    { path: '/auth/apiTokens', answer: list },
    { path: '/auth/apiTokens/serviceAccounts', answer: list },
    { path: '/auth/apiTokens/admin/users', answer: list },
    { path: '/banners/all', answer: list },
  ],
}

const optionalFeatures: Page = {
  page: 'optional features',
  requests: ({ application }) => [
    {
      path: `/managed/application/${application}?entities=resources`,
      answer: z.looseObject({ hasManagedResources: z.literal(false), resources: list }),
    },
    { path: `/tags?maxResults=5000&application=${application}`, answer: list },
    { path: `/applications/${application}/rawResources`, answer: list },
    { path: `/applications/${application}/functions`, answer: list },
  ],
}

const dialogs: Page = {
  page: 'dialogs of clusters and load balancers',
  requests: () => [
    { path: '/subnets', answer: z.union([list, map]) },
    { path: '/subnets/aws', answer: list },
    { path: '/networks', answer: map },
    { path: '/instanceTypes', answer: list },
    { path: '/keyPairs', answer: list },
    { path: '/certificates', answer: list },
    { path: '/certificates/aws', answer: list },
    { path: '/roles/aws', answer: list },
    { path: '/serverGroups?ids=acct:region:name', answer: list },
    { path: '/storage', answer: list },
    { path: '/artifactory/names', answer: list },
    { path: '/nexus/names', answer: list },
  ],
}

export const pages: readonly Page[] = [
  search,
  applications,
  clusters,
  executions,
  editor,
  runDialog,
  tasks,
  config,
  projects,
  administration,
  optionalFeatures,
  dialogs,
]
