/** What the command line `spin` asks for each of its commands, with the status and the fields that it insists on. */
import { z } from 'zod'

export interface CommandRequest {
  /** Method and path; `{name}` stands for a value that an earlier answer left behind. */
  readonly ask: string
  readonly body?: (found: Readonly<Record<string, string>>) => unknown
  readonly status: number
  readonly answer?: z.ZodType
  /** Values that later paths and bodies use. */
  readonly keep?: (value: never) => Record<string, string>
  /** The answer names a task, which is asked for until it has succeeded. */
  readonly isTask?: true
  /** Asked again until the status is this one. */
  readonly until?: true
}

export interface Command {
  readonly command: string
  readonly requests: readonly CommandRequest[]
}

const list = z.array(z.unknown())
const names = z.array(z.string()).nullish()
const User = z.looseObject({
  username: z.literal('admin'),
  roles: names,
  allowedAccounts: names,
  authorities: z.array(z.looseObject({ authority: z.string() })),
  accountNonExpired: z.boolean(),
  accountNonLocked: z.boolean(),
  credentialsNonExpired: z.boolean(),
  enabled: z.boolean(),
})
const TaskRef = z.looseObject({ ref: z.string().regex(/^\/tasks\/[^/]+$/) })
const FinishedTask = z.union([
  z.undefined(),
  z.looseObject({ id: z.string(), status: z.literal('SUCCEEDED') }),
])

const sail = {
  name: 'sail',
  application: 'fleet',
  stages: [{ refId: '1', requisiteStageRefIds: [], type: 'manualJudgment', name: 'Go?' }],
  triggers: [],
}
const application = {
  name: 'fleet',
  email: 'crew@example.com',
  cloudProviders: 'kubernetes',
  instancePort: 80,
}
const project = {
  name: 'convoy',
  email: 'crew@example.com',
  config: { applications: ['fleet'], clusters: [], pipelineConfigs: [] },
}
const template = {
  id: 'rope',
  schema: 'v2',
  protect: false,
  metadata: { name: 'rope', description: 'A wait', owner: 'crew@example.com', scopes: ['global'] },
  variables: [{ name: 'seconds', type: 'int', defaultValue: 0 }],
  pipeline: {
    stages: [
      {
        refId: '1',
        requisiteStageRefIds: [],
        type: 'wait',
        name: 'Wait',
        waitTime: '${ templateVariables.seconds }',
      },
    ],
  },
}
const canaryConfig = {
  id: 'gauge',
  name: 'gauge',
  applications: ['fleet'],
  judge: { name: 'NetflixACAJudge-v1.0', judgeConfigurations: {} },
  metrics: [
    {
      name: 'errors',
      query: { type: 'serverGroups', metricName: 'errors' },
      groups: ['Errors'],
      analysisConfigurations: { canary: { direction: 'increase' } },
      scopeName: 'default',
    },
  ],
  classifier: { groupWeights: { Errors: 100 } },
}
const canaryScope = {
  location: 'local',
  start: '2026-01-31T08:00:00Z',
  end: '2026-01-31T09:00:00Z',
  step: 60,
}
const executionRequest = {
  scopes: {
    default: {
      controlScope: { scope: 'fleet-v000', ...canaryScope },
      experimentScope: { scope: 'fleet-v001', ...canaryScope },
    },
  },
  thresholds: { marginal: 50, pass: 75 },
}
/** Nothing is deployed that could be measured. */
const CompleteCanary = z.looseObject({
  complete: z.literal(true),
  status: z.literal('terminal'),
  exception: z.looseObject({
    details: z.looseObject({
      errors: z.tuple([z.string().regex(/There is no server group "fleet-v000" in local\.$/)]),
    }),
  }),
})
const templated = {
  schema: 'v2',
  application: 'fleet',
  name: 'tow',
  template: {
    artifactAccount: 'front50ArtifactCredentials',
    reference: 'spinnaker://rope',
    type: 'front50/pipelineTemplate',
  },
  variables: { seconds: 0 },
  stages: [],
  triggers: [],
}

const task = (of: string, type: string, job: Record<string, unknown>): CommandRequest => ({
  ask: 'POST /tasks',
  body: () => ({ application: of, description: `${type}: ${of}`, job: [{ type, ...job }] }),
  status: 200,
  answer: TaskRef,
  isTask: true,
})

const startSail: CommandRequest = {
  ask: 'POST /pipelines/fleet/sail',
  body: () => ({ trigger: { type: 'manual', parameters: { wind: 'west' }, artifacts: [] } }),
  status: 202,
}

const runningOnes = '/applications/fleet/pipelines?expand=false&statuses=RUNNING'
const keepFirst = (value: { id: string }[]) => ({ execution: value[0]?.id ?? 'none' })

export const commands: readonly Command[] = [
  { command: 'account list', requests: [{ ask: 'GET /credentials', status: 200, answer: list }] },
  {
    command: 'account get of an unknown one',
    requests: [{ ask: 'GET /credentials/nowhere', status: 404 }],
  },
  { command: 'account whoami', requests: [{ ask: 'GET /auth/user', status: 200, answer: User }] },
  {
    command: 'application get of an unknown one',
    requests: [{ ask: 'GET /applications/fleet', status: 404 }],
  },
  {
    command: 'application save of a new one',
    requests: [task('fleet', 'createApplication', { application })],
  },
  {
    command: 'application save of a known one',
    requests: [
      task('fleet', 'createApplication', {
        application: { ...application, email: 'captain@example.com' },
      }),
    ],
  },
  {
    command: 'application list and get',
    requests: [
      {
        ask: 'GET /applications',
        status: 200,
        answer: z.array(z.looseObject({ name: z.string() })).min(1),
      },
      {
        ask: 'GET /applications/fleet',
        status: 200,
        answer: z.looseObject({
          attributes: z.looseObject({
            email: z.literal('captain@example.com'),
            instancePort: z.literal(80),
          }),
        }),
      },
      {
        ask: 'GET /applications/fleet?expand=true',
        status: 200,
        answer: z.looseObject({ clusters: z.looseObject({}) }),
      },
    ],
  },
  {
    command: 'pipeline save of a new one',
    requests: [
      { ask: 'GET /applications/fleet/pipelineConfigs/sail', status: 404 },
      { ask: 'POST /pipelines', body: () => sail, status: 200 },
    ],
  },
  {
    command: 'pipeline save of a known one',
    requests: [
      {
        ask: 'GET /applications/fleet/pipelineConfigs/sail',
        status: 200,
        answer: z.looseObject({ id: z.string() }),
        keep: ({ id }: { id: string }) => ({ id }),
      },
      {
        ask: 'POST /pipelines',
        body: ({ id }) => ({ ...sail, id, description: 'saved again' }),
        status: 200,
      },
    ],
  },
  {
    command: 'pipeline list and get',
    requests: [
      {
        ask: 'GET /applications/fleet/pipelineConfigs',
        status: 200,
        answer: z.array(z.looseObject({ name: z.string() })).length(1),
      },
      {
        ask: 'GET /applications/fleet/pipelineConfigs/sail',
        status: 200,
        answer: z.looseObject({ description: z.literal('saved again') }),
      },
    ],
  },
  {
    command: 'pipeline disable and enable',
    requests: [
      { ask: 'POST /pipelines', body: ({ id }) => ({ ...sail, id, disabled: true }), status: 200 },
      {
        ask: 'GET /applications/fleet/pipelineConfigs/sail',
        status: 200,
        answer: z.looseObject({ disabled: z.literal(true) }),
      },
      { ask: 'POST /pipelines', body: ({ id }) => ({ ...sail, id, disabled: false }), status: 200 },
    ],
  },
  {
    command: 'pipeline execute, as the newest and as older ones do',
    requests: [
      startSail,
      {
        ask: 'POST /pipelines/fleet/sail',
        body: () => ({ type: 'manual', parameters: {}, artifacts: [] }),
        status: 202,
      },
    ],
  },
  {
    command: 'pipeline execution list, get and cancel',
    requests: [
      {
        ask: 'GET /executions?pipelineConfigIds={id}&statuses=RUNNING&limit=30',
        status: 200,
        answer: z.array(z.looseObject({ id: z.string(), status: z.literal('RUNNING') })).min(1),
        keep: keepFirst,
      },
      {
        ask: 'GET /executions?executionIds={execution}&limit=1',
        status: 200,
        answer: z.array(z.looseObject({ id: z.string() })).length(1),
      },
      { ask: 'GET /pipelines/{execution}', status: 200 },
      { ask: 'PUT /pipelines/{execution}/cancel', status: 200 },
    ],
  },
  {
    command: 'application pipelines get and cancel, which sends a placeholder for the application',
    requests: [
      startSail,
      { ask: `GET ${runningOnes}`, status: 200, answer: list, keep: keepFirst },
      {
        ask: 'PUT /applications/%7Bapplication%7D/pipelines/{execution}/cancel?reason=fog',
        status: 200,
      },
      { ask: 'PUT /applications/%7Bapplication%7D/pipelines/unknown/cancel', status: 404 },
    ],
  },
  {
    command: 'project save, list, get and get-pipelines',
    requests: [
      { ask: 'GET /projects/convoy', status: 404 },
      task('spinnaker', 'upsertProject', { project, user: project.email }),
      {
        ask: 'GET /projects',
        status: 200,
        answer: z.array(z.looseObject({ name: z.string() })).length(1),
      },
      {
        ask: 'GET /projects/convoy',
        status: 200,
        answer: z.looseObject({ id: z.string() }),
        keep: ({ id }: { id: string }) => ({ project: id }),
      },
      { ask: 'GET /projects/convoy/pipelines', status: 200, answer: list },
    ],
  },
  {
    command: 'project delete, which sends the whole project',
    requests: [
      {
        ask: 'POST /tasks',
        body: (found) => ({
          application: 'spinnaker',
          description: 'Delete Project: convoy',
          job: [
            {
              type: 'deleteProject',
              project: { ...project, id: found['project'] },
              user: project.email,
            },
          ],
        }),
        status: 200,
        answer: TaskRef,
        isTask: true,
      },
      { ask: 'GET /projects/convoy', status: 404 },
    ],
  },
  {
    command: 'pipeline-templates save of a new one, with a tag and without',
    requests: [
      { ask: 'GET /v2/pipelineTemplates/rope', status: 404 },
      {
        ask: 'POST /v2/pipelineTemplates/create',
        body: () => template,
        status: 202,
        answer: FinishedTask,
      },
      { ask: 'GET /v2/pipelineTemplates/rope?tag=stable', status: 404 },
      {
        ask: 'POST /v2/pipelineTemplates/create?tag=stable',
        body: () => template,
        status: 202,
        answer: FinishedTask,
      },
    ],
  },
  {
    command: 'pipeline-templates save of a known one',
    requests: [
      { ask: 'GET /v2/pipelineTemplates/rope', status: 200 },
      {
        ask: 'POST /v2/pipelineTemplates/update/rope',
        body: () => template,
        status: 202,
        answer: FinishedTask,
      },
    ],
  },
  {
    command: 'pipeline-templates list, get and plan',
    requests: [
      {
        ask: 'GET /v2/pipelineTemplates?scopes=global',
        status: 200,
        answer: z.array(z.looseObject({ id: z.literal('rope') })).min(1),
      },
      {
        ask: 'GET /v2/pipelineTemplates/rope?tag=stable',
        status: 200,
        answer: z.looseObject({ id: z.literal('rope') }),
      },
      {
        ask: 'POST /v2/pipelineTemplates/plan',
        body: () => templated,
        status: 200,
        answer: z.looseObject({
          stages: z.array(z.looseObject({ type: z.literal('wait') })).length(1),
        }),
      },
    ],
  },
  {
    command: 'pipeline save and execute of a templated one',
    requests: [
      { ask: 'GET /applications/fleet/pipelineConfigs/tow', status: 404 },
      {
        ask: 'POST /pipelines',
        body: () => ({ ...templated, type: 'templatedPipeline' }),
        status: 200,
      },
      {
        ask: 'POST /pipelines/fleet/tow',
        body: () => ({ trigger: { type: 'manual', parameters: {}, artifacts: [] } }),
        status: 202,
      },
      {
        ask: 'GET /applications/fleet/pipelines?statuses=SUCCEEDED',
        status: 200,
        answer: z.array(z.looseObject({ name: z.literal('tow') })).length(1),
        until: true,
      },
      { ask: 'DELETE /pipelines/fleet/tow', status: 200 },
    ],
  },
  {
    command: 'pipeline-templates delete',
    requests: [
      { ask: 'DELETE /v2/pipelineTemplates/rope?tag=stable', status: 202, answer: FinishedTask },
      { ask: 'DELETE /v2/pipelineTemplates/rope', status: 202, answer: FinishedTask },
      { ask: 'GET /v2/pipelineTemplates/rope', status: 404 },
    ],
  },
  {
    command: 'canary canary-config save of an unknown one, list and get',
    requests: [
      { ask: 'GET /v2/canaryConfig/gauge', status: 404 },
      { ask: 'POST /v2/canaryConfig', body: () => canaryConfig, status: 200 },
      {
        ask: 'GET /v2/canaryConfig?application=fleet',
        status: 200,
        answer: z.tuple([z.looseObject({ id: z.literal('gauge') })]),
      },
      {
        ask: 'GET /v2/canaryConfig/gauge',
        status: 200,
        answer: z.looseObject({ name: z.literal('gauge') }),
      },
    ],
  },
  {
    command: 'canary canary-config save of a known one',
    requests: [
      { ask: 'GET /v2/canaryConfig/gauge', status: 200 },
      { ask: 'PUT /v2/canaryConfig/gauge', body: () => canaryConfig, status: 200 },
    ],
  },
  {
    command: 'canary canary-config retro',
    requests: [
      {
        ask: 'POST /v2/canaries/canary?metricsAccountName=server-groups&storageAccountName=fairlead',
        body: () => ({ canaryConfig, executionRequest }),
        status: 200,
        keep: ({ canaryExecutionId }: { canaryExecutionId: string }) => ({ canaryExecutionId }),
      },
      {
        ask: 'GET /v2/canaries/canary/{canaryExecutionId}',
        status: 200,
        answer: CompleteCanary,
        until: true,
      },
    ],
  },
  {
    command: 'canary canary-config delete',
    requests: [
      { ask: 'DELETE /v2/canaryConfig/gauge', status: 200 },
      { ask: 'GET /v2/canaryConfig/gauge', status: 404 },
    ],
  },
  {
    command: 'pipeline delete',
    requests: [
      { ask: 'DELETE /pipelines/fleet/sail', status: 200 },
      { ask: 'GET /applications/fleet/pipelineConfigs/sail', status: 404 },
    ],
  },
  {
    command: 'application delete',
    requests: [
      { ask: 'GET /applications/fleet', status: 200 },
      task('fleet', 'deleteApplication', { application: { name: 'fleet' } }),
      { ask: 'GET /applications/fleet', status: 404 },
    ],
  },
]
