/** Examples of frequent calls for the API document, checked against the schemas. */

interface NamedExample {
  readonly summary: string
  readonly value: unknown
}

interface OperationExamples {
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly bodies?: Readonly<Record<string, NamedExample>>
  readonly answer?: unknown
}

const executionId = '01KB3W6Y0TJ9Q4M8H5R2ZC7VXA'
const taskId = '01KB3W9F6S2D7N1X4G8KQ5TBEM'
const ofShop = { application: 'shop' }
const started = { ref: `/pipelines/${executionId}` }
const submitted = { ref: `/tasks/${taskId}` }

const permissions = { READ: ['shop-team', 'support'], WRITE: ['shop-team'], EXECUTE: ['shop-team'] }
const attributes = {
  name: 'shop',
  email: 'shop@example.com',
  description: 'The shop.',
  cloudProviders: 'kubernetes',
  accounts: 'prod',
  createTs: '1764000000000',
  updateTs: '1764003600000',
  lastModifiedBy: 'alice',
  permissions,
}

const release = {
  application: 'shop',
  name: 'release',
  id: '6f1d8a1e-2f57-4c8f-9d6b-0f4b3c9a7e21',
  parameterConfig: [{ name: 'version', label: 'Version', required: true }],
  triggers: [
    {
      type: 'webhook',
      source: 'ci',
      enabled: true,
      payloadConstraints: { secret: '^open-sesame$' },
    },
  ],
  stages: [
    {
      type: 'evaluateVariables',
      name: 'Choose the image',
      refId: '1',
      requisiteStageRefIds: [],
      variables: [
        { key: 'image', value: "registry.example.com/shop:${trigger['parameters']['version']}" },
      ],
    },
    {
      type: 'manualJudgment',
      name: 'Ship it?',
      refId: '2',
      requisiteStageRefIds: ['1'],
      instructions: 'Look at the dashboards first.',
    },
    { type: 'wait', name: 'Settle', refId: '3', requisiteStageRefIds: ['2'], waitTime: 30 },
  ],
  notifications: [
    { type: 'email', address: 'shop@example.com', level: 'pipeline', when: ['pipeline.failed'] },
  ],
}
const stored = {
  ...release,
  schema: '1',
  index: 0,
  updateTs: '1764003600000',
  lastModifiedBy: 'alice',
}

const trigger = {
  type: 'manual',
  user: 'alice',
  parameters: { version: '1.2.3' },
  artifacts: [],
  dryRun: false,
}
const execution = {
  id: executionId,
  type: 'PIPELINE',
  application: 'shop',
  name: 'release',
  pipelineConfigId: release.id,
  status: 'RUNNING',
  buildTime: 1_764_003_700_000,
  startTime: 1_764_003_700_120,
  canceled: false,
  trigger,
  stages: [
    {
      id: '01KB3W6Y0TZ1J6C9V4P8WS3HNK',
      refId: '1',
      type: 'evaluateVariables',
      name: 'Choose the image',
      status: 'SUCCEEDED',
      startTime: 1_764_003_700_150,
      endTime: 1_764_003_700_300,
      context: {},
      outputs: { image: 'registry.example.com/shop:1.2.3' },
      tasks: [],
      requisiteStageRefIds: [],
    },
  ],
}

function taskOf(description: string, job: object, application = 'shop') {
  return { application, description, job: [job] }
}

const owned = { name: 'shop', email: 'shop@example.com', permissions }
const createApplication = taskOf('Create application: shop', {
  type: 'createApplication',
  application: owned,
  user: 'alice',
})
const restrictApplication = taskOf('Restrict shop', {
  type: 'updateApplication',
  application: owned,
})
const deleteApplication = taskOf('Delete application: shop', {
  type: 'deleteApplication',
  application: { name: 'shop' },
})
const saveProject = taskOf(
  'Create project: storefront',
  {
    type: 'upsertProject',
    project: {
      name: 'storefront',
      email: 'shop@example.com',
      config: { applications: ['shop'], clusters: [], pipelineConfigs: [] },
    },
  },
  'spinnaker',
)
const resize = taskOf('Resize shop-main-v012', {
  type: 'resizeServerGroup',
  cloudProvider: 'kubernetes',
  credentials: 'prod',
  region: 'default',
  serverGroupName: 'shop-main-v012',
  capacity: { min: 3, max: 3, desired: 3 },
})
const task = {
  id: taskId,
  name: createApplication.description,
  application: 'shop',
  status: 'SUCCEEDED',
  buildTime: 1_764_000_000_000,
  startTime: 1_764_000_000_050,
  endTime: 1_764_000_000_400,
  steps: [],
  variables: [{ key: 'application.name', value: 'shop' }],
}

const serverGroup = {
  name: 'shop-main-v012',
  account: 'prod',
  region: 'default',
  type: 'kubernetes',
  cloudProvider: 'kubernetes',
  cluster: 'shop-main',
  moniker: { app: 'shop', stack: 'main', cluster: 'shop-main', sequence: 12 },
  createdTime: 1_764_003_000_000,
  isDisabled: false,
  capacity: { min: 3, max: 3, desired: 3, pinned: true },
  instanceCounts: { total: 3, up: 3, down: 0, unknown: 0, starting: 0, outOfService: 0 },
  instances: [],
}

const token = {
  id: '0b7c0f0e-51a5-4d58-8f55-4a8f2c1f6a10',
  name: 'ci',
  principalId: 'alice',
  principalType: 'USER',
  createdByUserId: 'alice',
  createdAt: '2026-01-31T12:00:00.000Z',
  expiresAt: '2026-05-01T12:00:00.000Z',
  readOnly: false,
  applications: ['shop'],
}
const issued = { ...token, token: 'spk_…' }

const project = {
  id: 'b8c1b1c6-8f2a-4e58-a6a2-3c1de5a9f7d4',
  name: 'storefront',
  email: 'shop@example.com',
  config: {
    applications: ['shop'],
    clusters: [],
    pipelineConfigs: [{ application: 'shop', pipelineConfigId: release.id }],
  },
  createTs: 1_764_000_000_000,
  updateTs: 1_764_000_000_000,
  lastModifiedBy: 'alice',
}

const startWithParameters = {
  withParameters: { summary: 'With parameters', value: { parameters: { version: '1.2.3' } } },
  rehearsal: {
    summary: 'A rehearsal that deploys nothing',
    value: { parameters: { version: '1.2.3' }, dryRun: true },
  },
}

export const examples: Readonly<Record<string, OperationExamples>> = {
  getAllApplicationsUsingGET: { answer: [attributes] },
  getApplicationUsingGET: {
    parameters: ofShop,
    answer: { name: 'shop', attributes, clusters: {} },
  },
  getApplicationHistoryUsingGET: { parameters: { ...ofShop, limit: 5 }, answer: [attributes] },
  taskUsingPOST1: {
    bodies: {
      createApplication: { summary: 'Create an application', value: createApplication },
      restrictApplication: {
        summary: 'Restrict an application to roles',
        value: restrictApplication,
      },
      deleteApplication: { summary: 'Delete an application', value: deleteApplication },
      saveProject: { summary: 'Create a project', value: saveProject },
      resize: { summary: 'Resize a server group', value: resize },
    },
    answer: submitted,
  },
  taskUsingPOST: {
    parameters: ofShop,
    bodies: { resize: { summary: 'Resize a server group', value: resize } },
    answer: submitted,
  },
  getTaskUsingGET1: { parameters: { id: taskId }, answer: task },
  getTasksUsingGET: { parameters: { ...ofShop, limit: 10, statuses: 'RUNNING' }, answer: [task] },
  getPipelineConfigsForApplicationUsingGET: { parameters: ofShop, answer: [stored] },
  getPipelineConfigUsingGET: { parameters: { ...ofShop, pipelineName: 'release' }, answer: stored },
  getPipelineConfigHistoryUsingGET: {
    parameters: { pipelineConfigId: release.id, limit: 5 },
    answer: [stored],
  },
  savePipelineUsingPOST: {
    bodies: {
      release: {
        summary: 'A pipeline with a parameter, a webhook with a secret, and a manual judgment',
        value: release,
      },
      nightly: {
        summary: 'A pipeline with a timer',
        value: {
          application: 'shop',
          name: 'nightly',
          triggers: [{ type: 'cron', enabled: true, cronExpression: '0 0 3 * * ?' }],
          stages: [
            { type: 'wait', name: 'Wait', refId: '1', requisiteStageRefIds: [], waitTime: 10 },
          ],
        },
      },
    },
  },
  updatePipelineUsingPUT: {
    parameters: { id: release.id },
    bodies: { revision: { summary: 'An earlier revision, to roll back', value: stored } },
    answer: stored,
  },
  deletePipelineUsingDELETE: { parameters: { ...ofShop, pipelineName: 'release' } },
  invokePipelineConfigUsingPOST1: {
    parameters: { ...ofShop, pipelineName: 'release' },
    bodies: startWithParameters,
    answer: started,
  },
  invokePipelineConfigViaEchoUsingPOST: {
    parameters: { ...ofShop, pipelineNameOrId: 'release' },
    bodies: startWithParameters,
    answer: { eventId: '0f8fad5b-d9cb-469f-a165-70867728950e', ...started },
  },
  getPipelineUsingGET: { parameters: { id: executionId }, answer: execution },
  getPipelinesUsingGET: {
    parameters: { ...ofShop, statuses: 'TERMINAL', limit: 5, expand: false },
    answer: [execution],
  },
  searchForPipelineExecutionsByTriggerUsingGET: {
    parameters: { ...ofShop, triggerTypes: 'webhook', statuses: 'TERMINAL', size: 10 },
    answer: [execution],
  },
  getFailedStagesForPipelineExecutionUsingGET: {
    parameters: { executionId },
    answer: [
      {
        pipelineExecutionId: executionId,
        pipelineExecutionName: 'release',
        pipelineApplication: 'shop',
        stageId: '01KB3W6Y0TZ1J6C9V4P8WS3HNK',
        stageName: 'Deploy',
        stageType: 'deploy',
        stageStatus: 'TERMINAL',
        stageException: 'The image does not exist.',
      },
    ],
  },
  cancelPipelineUsingPUT1: { parameters: { id: executionId, reason: 'wrong version' } },
  updateStageUsingPATCH: {
    parameters: { id: executionId, stageId: '01KB3W6Y0TZ1J6C9V4P8WS3HNK' },
    bodies: {
      continue: {
        summary: 'Let a manual judgment continue',
        value: { judgmentStatus: 'continue' },
      },
      stop: { summary: 'Stop at a manual judgment', value: { judgmentStatus: 'stop' } },
      skipWait: { summary: 'Skip the rest of a wait', value: { skipRemainingWait: true } },
    },
    answer: execution,
  },
  evaluateExpressionForExecutionUsingGET: {
    parameters: { id: executionId, expression: "${trigger['parameters']['version']}" },
    answer: { result: '1.2.3' },
  },
  getServerGroupsUsingGET2: { answer: [serverGroup] },
  getClustersUsingGET2: { parameters: ofShop, answer: { prod: ['shop-main'] } },
  getAccountsUsingGET: {
    answer: [{ name: 'prod', type: 'kubernetes', permissions: {}, authorized: true }],
  },
  searchUsingGET: {
    parameters: { q: 'shop', type: ['applications'] },
    answer: [
      {
        pageNumber: 1,
        pageSize: 10_000,
        query: 'shop',
        totalMatches: 1,
        results: [
          {
            type: 'applications',
            provider: 'kubernetes',
            application: 'shop',
            url: '/applications/shop',
          },
        ],
      },
    ],
  },
  allUsingGET3: { answer: [project] },
  getProjectUsingGET: { parameters: { id: 'storefront' }, answer: project },
  createApiTokenUsingPOST: {
    bodies: {
      ofApplication: {
        summary: 'A token for one application',
        value: { name: 'ci', applications: ['shop'] },
      },
      readOnly: {
        summary: 'A token that only reads',
        value: { name: 'dashboard', readOnly: true },
      },
    },
    answer: issued,
  },
  rotateApiTokenUsingPOST: {
    parameters: { id: token.id },
    bodies: {
      overlap: {
        summary: 'The former secret works for ten minutes more',
        value: { overlapSeconds: 600 },
      },
    },
    answer: { ...issued, rotatedAt: '2026-02-28T12:00:00.000Z' },
  },
  webhooksUsingPOST: {
    parameters: { type: 'webhook', source: 'ci' },
    bodies: {
      withSecret: {
        summary: 'An event with the secret that the trigger wants',
        value: { secret: 'open-sesame', parameters: { version: '1.2.3' } },
      },
    },
    answer: { eventProcessed: true, eventId: '0f8fad5b-d9cb-469f-a165-70867728950e' },
  },
  validateCronExpressionUsingGET: {
    parameters: { expression: '0 0 10 ? * THU' },
    answer: { valid: true, description: 'At 10:00 AM, only on Thursday' },
  },
  saveNotificationConfigUsingPOST: {
    parameters: { type: 'application', application: 'shop' },
    bodies: {
      mail: {
        summary: 'Mail when a pipeline fails',
        value: {
          application: 'shop',
          email: [
            {
              type: 'email',
              address: 'shop@example.com',
              level: 'application',
              when: ['pipeline.failed'],
            },
          ],
        },
      },
    },
  },
  testNotificationUsingPOST: {
    parameters: { type: 'application', application: 'shop' },
    bodies: {
      mail: { summary: 'An e-mail', value: { type: 'email', address: 'shop@example.com' } },
    },
    answer: { delivered: true },
  },
  getVersionUsingGET: { answer: { version: '1.0.0' } },
}
