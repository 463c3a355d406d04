/** Requests answered by the definition store, the orchestrator, or from memory. */
import type { Sample } from './contract.ts'

const execution = { id: '01E', application: 'shop', name: 'Deploy', status: 'RUNNING' }
const task = { id: '01T', application: 'shop', status: 'RUNNING' }
const definition = { id: 'p1', name: 'Deploy', application: 'shop', stages: [], big: 7 }
const ref = { ref: '/pipelines/01E' }

/** The orchestrator is asked for the application first; when it does not know, the call that follows is made anyway. */
const learnExecution = { call: 'orca GET /pipelines/01E', gives: execution, mayFail: true }
const learnTask = { call: 'orca GET /tasks/01T', gives: task, mayFail: true }

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

function changeCalls(description: string, job: Record<string, unknown>, changed: unknown) {
  return [
    {
      call: 'orca POST /ops',
      gives: { ref: '/tasks/01T' },
      contentType: 'application/context+json',
      sends: {
        application: 'shop',
        description,
        job: [{ ...job, pipeline: base64(changed), user: 'anonymous' }],
      },
      application: 'shop',
    },
    { call: 'orca GET /tasks/01T', gives: { id: '01T', status: 'SUCCEEDED' }, parsed: true },
  ]
}

const startCalls = [
  { call: 'front50 GET /pipelines/shop/name/Deploy?refresh=true', gives: definition, parsed: true },
  {
    call: 'orca POST /orchestrate?user=kim',
    gives: ref,
    sends: { ...definition, trigger: { type: 'manual', user: 'kim', notifications: [] } },
    application: 'shop',
    parsed: true,
  },
]
const trigger = { type: 'manual', user: 'kim' }

const expression = '/pipelines/01E/evaluateExpression?expression=%24%7B1%20%2B%201%7D'
const evaluated = { result: 2, detail: null }
const evaluations: Sample[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map(
  (method) => ({
    id: `evaluateExpressionForExecutionUsing${method}`,
    ask: expression,
    calls: [
      {
        call: `orca GET ${expression}`,
        gives: evaluated,
        parsed: method === 'POST' || method === 'OPTIONS',
      },
    ],
    answer: method === 'HEAD' ? undefined : evaluated,
  }),
)

export const deliverySamples: readonly Sample[] = [
  ...evaluations,
  { id: 'getAllApplicationsUsingGET', ask: '/applications', calls: [], answer: [] },
  {
    id: 'getApplicationUsingGET',
    ask: '/applications/shop?expand=false',
    calls: [
      {
        call: 'front50 GET /v2/applications/shop',
        gives: { name: 'SHOP', email: 'a@b' },
        mayFail: true,
        application: 'shop',
      },
    ],
    answer: { name: 'shop', attributes: { name: 'shop', email: 'a@b' }, clusters: {} },
    whenOff: { status: 404 },
    whenDown: { status: 404 },
  },
  {
    id: 'getApplicationHistoryUsingGET',
    ask: '/applications/shop/history',
    calls: [
      { call: 'front50 GET /v2/applications/shop/history?limit=20', gives: [{ name: 'SHOP' }] },
    ],
    answer: [{ name: 'SHOP' }],
  },
  {
    id: 'getPipelineConfigsForApplicationUsingGET',
    ask: '/applications/shop/pipelineConfigs?pipelineNameFilter=Dep&pipelineLimit=3',
    calls: [
      {
        call: 'front50 GET /pipelines/shop?refresh=true&pipelineNameFilter=Dep&pipelineLimit=3',
        gives: [definition],
      },
    ],
    answer: [definition],
  },
  {
    id: 'getPipelineConfigUsingGET',
    ask: '/applications/shop/pipelineConfigs/Deploy',
    calls: [
      {
        call: 'front50 GET /pipelines/shop/name/Deploy?refresh=true',
        gives: definition,
        parsed: true,
      },
    ],
    answer: definition,
  },
  {
    id: 'invokePipelineConfigUsingPOST',
    ask: '/applications/shop/pipelineConfigs/Deploy?user=mallory',
    body: trigger,
    calls: startCalls,
    answer: ref,
  },
  {
    id: 'invokePipelineConfigUsingPOST1',
    ask: '/pipelines/shop/Deploy',
    body: trigger,
    calls: startCalls,
    status: 202,
    answer: ref,
  },
  {
    id: 'startUsingPOST',
    ask: '/pipelines/start',
    body: { ...definition, trigger },
    calls: [
      {
        call: 'orca POST /orchestrate?user=anonymous',
        gives: ref,
        sends: { ...definition, trigger },
        application: 'shop',
        parsed: true,
      },
    ],
    answer: ref,
  },
  {
    id: 'getStrategyConfigsForApplicationUsingGET',
    ask: '/applications/shop/strategyConfigs',
    calls: [{ call: 'front50 GET /strategies/shop', gives: [{ name: 'Canary' }] }],
    answer: [{ name: 'Canary' }],
  },
  {
    id: 'getStrategyConfigUsingGET',
    ask: '/applications/shop/strategyConfigs/Canary',
    calls: [
      {
        call: 'front50 GET /strategies/shop',
        gives: [{ name: 'canary' }, { name: 'Canary', id: 's1' }],
        parsed: true,
      },
    ],
    answer: { name: 'Canary', id: 's1' },
  },
  {
    id: 'getPipelinesUsingGET',
    ask: '/applications/shop/pipelines?statuses=RUNNING,PAUSED&expand=false',
    calls: [
      {
        call: 'orca GET /v2/applications/shop/pipelines?limit=10&statuses=RUNNING%2CPAUSED&expand=false',
        gives: [execution],
        application: 'shop',
      },
    ],
    answer: [execution],
  },
  {
    id: 'cancelPipelineUsingPUT',
    ask: '/applications/%7Bapplication%7D/pipelines/01E/cancel?reason=no%20more',
    calls: [
      {
        call: 'orca PUT /pipelines/01E/cancel?reason=no%20more&force=false',
        gives: undefined,
        sends: '',
      },
    ],
  },
  {
    id: 'getTasksUsingGET',
    ask: '/applications/shop/tasks?statuses=&limit=5&page=2',
    calls: [
      {
        call: 'orca GET /applications/shop/tasks?page=2&limit=5',
        gives: [task],
        application: 'shop',
      },
    ],
    answer: [task],
  },
  {
    id: 'taskUsingPOST',
    ask: '/applications/shop/tasks',
    body: { application: 'other', description: 'd', job: [{ type: 'wait' }] },
    calls: [
      {
        call: 'orca POST /ops',
        gives: { ref: '/tasks/01T' },
        sends: { application: 'shop', description: 'd', job: [{ type: 'wait' }] },
        contentType: 'application/context+json',
        application: 'shop',
        parsed: true,
      },
    ],
    answer: { ref: '/tasks/01T' },
  },
  {
    id: 'getTaskUsingGET',
    ask: '/applications/elsewhere/tasks/01T',
    calls: [{ call: 'orca GET /tasks/01T', gives: task, application: 'elsewhere' }],
    answer: task,
  },
  {
    id: 'cancelTaskUsingPUT',
    ask: '/applications/elsewhere/tasks/01T/cancel',
    calls: [learnTask, { call: 'orca PUT /tasks/01T/cancel', sends: '', application: 'shop' }],
  },
  {
    id: 'getActiveExecutionsByInstanceUsingGET',
    ask: '/executions/activeByInstance',
    calls: [{ call: 'orca GET /executions/activeByInstance', gives: { orca1: {} } }],
    answer: { orca1: {} },
  },
  {
    id: 'getLatestExecutionsByConfigIdsUsingGET',
    ask: '/executions?pipelineConfigIds=p1&pipelineConfigIds=p2&limit=2&statuses=RUNNING,SUCCEEDED',
    calls: [
      {
        call: 'orca GET /pipelines?pipelineConfigIds=p1%2Cp2&limit=2&statuses=RUNNING%2CSUCCEEDED&expand=true',
        gives: [execution],
        application: 'none',
      },
    ],
    answer: [execution],
  },
  {
    id: 'savePipelineUsingPOST',
    ask: '/pipelines?staleCheck=true',
    body: definition,
    calls: changeCalls(
      "Save pipeline 'Deploy'",
      { type: 'savePipeline', staleCheck: true },
      definition,
    ),
  },
  {
    id: 'updatePipelineUsingPUT',
    ask: '/pipelines/p1',
    body: definition,
    calls: [
      ...changeCalls("Update pipeline 'Deploy'", { type: 'updatePipeline' }, definition),
      {
        call: 'front50 GET /pipelines/shop?refresh=true',
        gives: [{ id: 'p0' }, { id: 'p1', stored: true }],
        parsed: true,
      },
    ],
    answer: { id: 'p1', stored: true },
  },
  {
    id: 'deletePipelineUsingDELETE',
    ask: '/pipelines/shop/deploy',
    calls: [
      {
        call: 'front50 GET /pipelines/shop?refresh=true',
        gives: [{ name: 'Other' }, { ...definition, name: ' Deploy' }],
        parsed: true,
      },
      ...changeCalls(
        "Delete pipeline ' Deploy'",
        { type: 'deletePipeline' },
        { ...definition, name: ' Deploy' },
      ),
    ],
  },
  {
    id: 'renamePipelineUsingPOST',
    ask: '/pipelines/move',
    body: { application: 'shop', from: 'a', to: 'b' },
    calls: [
      { call: 'front50 POST /pipelines/move', sends: { application: 'shop', from: 'a', to: 'b' } },
    ],
  },
  {
    id: 'getPipelineUsingGET',
    ask: '/pipelines/01E',
    calls: [{ call: 'orca GET /pipelines/01E', gives: execution, application: 'none' }],
    answer: execution,
  },
  {
    id: 'deletePipelineUsingDELETE1',
    ask: '/pipelines/01E',
    calls: [learnExecution, { call: 'orca DELETE /pipelines/01E', application: 'shop' }],
  },
  {
    id: 'getPipelineLogsUsingGET',
    ask: '/pipelines/01E/logs',
    calls: [{ call: 'orca GET /pipelines/01E/logs', gives: [{ line: 1 }] }],
    answer: [{ line: 1 }],
  },
  {
    id: 'cancelPipelineUsingPUT1',
    ask: '/pipelines/01E/cancel?reason=done',
    calls: [
      learnExecution,
      {
        call: 'orca PUT /pipelines/01E/cancel?reason=done&force=false',
        sends: '',
        application: 'shop',
      },
    ],
  },
  {
    id: 'pausePipelineUsingPUT',
    ask: '/pipelines/01E/pause',
    calls: [
      learnExecution,
      { call: 'orca PUT /pipelines/01E/pause', sends: '', application: 'shop' },
    ],
  },
  {
    id: 'resumePipelineUsingPUT',
    ask: '/pipelines/01E/resume',
    calls: [
      learnExecution,
      { call: 'orca PUT /pipelines/01E/resume', sends: '', application: 'shop' },
    ],
  },
  {
    id: 'restartStageUsingPUT',
    ask: '/pipelines/01E/stages/s1/restart',
    body: { skip: false },
    calls: [
      { call: 'orca GET /pipelines/01E', gives: execution, parsed: true },
      {
        call: 'front50 GET /pipelines/shop?refresh=true',
        gives: [{ ...definition, name: 'deploy ' }],
        parsed: true,
      },
      {
        call: 'orca PUT /pipelines/01E/stages/s1/restart',
        gives: execution,
        sends: { ...definition, name: 'deploy ' },
        application: 'shop',
      },
    ],
    answer: execution,
  },
  {
    id: 'updateStageUsingPATCH',
    ask: '/pipelines/01E/stages/s1',
    body: { judgmentStatus: 'continue' },
    calls: [
      learnExecution,
      {
        call: 'orca PATCH /pipelines/01E/stages/s1',
        gives: execution,
        sends: { judgmentStatus: 'continue' },
        application: 'shop',
      },
    ],
    answer: execution,
  },
  {
    id: 'allPipelinesForProjectUsingGET',
    ask: '/projects/my.project/pipelines',
    calls: [{ call: 'orca GET /projects/my.project/pipelines?limit=5', gives: [execution] }],
    answer: [execution],
  },
  {
    id: 'getCurrentSnapshotUsingGET',
    ask: '/applications/shop/snapshots/dev',
    calls: [
      { call: 'front50 GET /snapshots/shop-dev', gives: { id: 'shop-dev' }, application: 'shop' },
    ],
    answer: { id: 'shop-dev' },
  },
  {
    id: 'getSnapshotHistoryUsingGET',
    ask: '/applications/shop/snapshots/dev/history?limit=2',
    calls: [
      {
        call: 'front50 GET /snapshots/shop-dev/history?limit=2',
        gives: [
          { application: 'SHOP', account: 'dev' },
          { application: 'shop-d', account: 'ev' },
        ],
      },
    ],
    answer: [{ application: 'SHOP', account: 'dev' }],
  },
  {
    id: 'taskUsingPOST1',
    ask: '/tasks',
    body: { application: 'shop', description: 'd', job: [] },
    calls: [
      {
        call: 'orca POST /ops',
        gives: { ref: '/tasks/01T' },
        sends: { application: 'shop', description: 'd', job: [] },
        contentType: 'application/context+json',
        application: 'shop',
        parsed: true,
      },
    ],
    answer: { ref: '/tasks/01T' },
  },
  {
    id: 'getTaskUsingGET1',
    ask: '/tasks/01T',
    calls: [{ call: 'orca GET /tasks/01T', gives: task, application: 'none' }],
    answer: task,
  },
  {
    id: 'deleteTaskUsingDELETE',
    ask: '/tasks/01T',
    calls: [learnTask, { call: 'orca DELETE /tasks/01T', application: 'shop' }],
  },
  {
    id: 'cancelTaskUsingPUT1',
    ask: '/tasks/01T/cancel',
    calls: [learnTask, { call: 'orca PUT /tasks/01T/cancel', sends: '', application: 'shop' }],
  },
  {
    id: 'cancelTasksUsingPUT',
    ask: '/tasks/cancel?ids=01T,02T&ids=03T',
    calls: [
      learnTask,
      { call: 'orca PUT /tasks/cancel', sends: ['01T', '02T', '03T'], application: 'shop' },
    ],
  },
  { id: 'getAccountsUsingGET', ask: '/credentials', calls: [], answer: [] },
  { id: 'getAccountUsingGET', ask: '/credentials/dev', calls: [], status: 404 },
]
