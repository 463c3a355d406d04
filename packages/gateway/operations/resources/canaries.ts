/** Canary analysis (kayenta, and mine before it). Lists are empty without the service. */

import {
  AnyObject,
  alike,
  described,
  integer,
  maybeText,
  model,
  nonEmpty,
  nothing,
  TextList,
} from '@fairlead/base/json/schemas.ts'
import { objectOf } from '@fairlead/base/json/values.ts'
import { formatQuery, pathTo, type QueryValue } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { checkServicePresent, get, ofOptionalService, operationsWith } from '../declare.ts'
import {
  application,
  createsCanaryConfig,
  decidedByService,
  deletesCanaryConfig,
  filteredBy,
  readsApplication,
  readsCanaryConfig,
  updatesCanaryConfig,
} from '../demands.ts'
import type { HttpMethod, Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { findingsQuery, Saved, withFindings } from './findings.ts'

const CanaryConfig = model(
  'CanaryConfig',
  'A canary configuration: metrics, their groups and the judge.',
  {
    id: z.string().optional(),
    name: z.string().optional(),
    applications: TextList.optional(),
  },
)
const SavedCanaryConfig = model('SavedCanaryConfig', { canaryConfigId: z.string().optional() })
const CanaryExecution = model('CanaryExecution', { canaryExecutionId: z.string() })
const CanaryResult = model(
  'CanaryResult',
  'State of a canary analysis, and its result once it is complete.',
  {
    complete: z.boolean().nullish(),
    status: z.string().nullish(),
    application: z.string().nullish(),
    result: AnyObject.nullish().describe('With `judgeResult.score.classification`.'),
  },
)

const CanaryAccount = described('CanaryAccount', 'name', 'type')
const CanaryMetric = described('CanaryMetric', 'name')
const CanaryJudge = described('CanaryJudge', 'name')
const MetricSetPair = model('MetricSetPair', {
  id: z.string(),
  name: z.string(),
  values: z.record(z.string(), z.array(z.unknown())).nullish(),
})
const Canary = described('Canary', 'id', 'application', 'owner')
const CanaryAnalysis = described('CanaryAnalysis', 'id', 'canaryDeploymentId')
const FirstCanaryConfig = described('FirstGenerationCanaryConfig', 'id', 'name', 'application')

const configurationAccountName = maybeText
const storageAccountName = maybeText.describe(
  'Account that keeps results; the default of kayenta unless given.',
)

const configPath = '/v2/canaryConfig'

const decided = operationsWith({ demands: decidedByService })
const configuration = operationsWith({ query: { configurationAccountName } })

const andWarnings =
  'The header `X-Fairlead-Warnings` names what an analysis would reject, such as an unknown judge, and metrics that the judge would pass ' +
  'whatever they do; characters beyond ASCII are percent-encoded.'

const configurations: Operation[] = ofOptionalService('kayenta', '/v2', [
  get('getCanaryConfigsUsingGET', configPath, 'List canary configurations', {
    demands: [...application('READ', 'query'), ...filteredBy('applications')],
    description: 'Canary configurations, of all applications unless one is named.',
    query: { application: maybeText, configurationAccountName },
    whenDisabled: [],
    answer: z.array(CanaryConfig),
  }),
  configuration.post('createCanaryConfigUsingPOST', configPath, 'Create a canary configuration', {
    demands: createsCanaryConfig,
    description: andWarnings,
    query: { configurationAccountName, ...findingsQuery },
    body: CanaryConfig,
    handle: (request, platform) => save(request, platform, 'POST', '/canaryConfig'),
    answer: z.union([SavedCanaryConfig, Saved]),
  }),
  configuration.get('getCanaryConfigUsingGET', `${configPath}/{id}`, 'Get a canary configuration', {
    demands: readsCanaryConfig,
    // Deck asks so for a stage that names none yet, and does not wait for a refusal.
    on404: { answer: { metrics: [] }, when: ({ path }) => path['id'] === 'undefined' },
    answer: CanaryConfig,
  }),
  configuration.put(
    'updateCanaryConfigUsingPUT',
    `${configPath}/{id}`,
    'Update a canary configuration',
    {
      demands: updatesCanaryConfig,
      description: andWarnings,
      query: { configurationAccountName, ...findingsQuery },
      body: CanaryConfig,
      handle: (request, platform) =>
        save(request, platform, 'PUT', pathTo`/canaryConfig/${request.path['id'] ?? ''}`),
      answer: z.union([SavedCanaryConfig, Saved]),
    },
  ),
  configuration.remove(
    'deleteCanaryConfigUsingDELETE',
    `${configPath}/{id}`,
    'Delete a canary configuration',
    {
      demands: deletesCanaryConfig,
      answer: nothing,
    },
  ),
])

async function save(
  request: OperationRequest,
  platform: Platform,
  method: 'POST' | 'PUT',
  path: string,
): Promise<unknown> {
  checkServicePresent(platform, 'kayenta')
  const { findings: _asked, ...query } = request.query
  const { body } = request
  const answer = await request.json('kayenta', { method, path, query, body })
  return withFindings(request, platform, 'canary-config', body, answer)
}

const offered = operationsWith({ demands: decidedByService, whenDisabled: [] })

const surroundings: Operation[] = ofOptionalService('kayenta', '/v2/canaries', [
  offered.get('listCredentialsUsingGET', '/v2/canaries/credentials', 'List canary accounts', {
    answer: z.array(CanaryAccount),
  }),
  offered.get(
    'listMetricsServiceMetadataUsingGET',
    '/v2/canaries/metadata/metricsService',
    'List canary metrics',
    {
      query: { filter: maybeText, metricsAccountName: maybeText },
      answer: z.array(CanaryMetric),
    },
  ),
  offered.get('listJudgesUsingGET', '/v2/canaries/judges', 'List canary judges', {
    answer: z.array(CanaryJudge),
  }),
])

/** The pipeline that the analysis belongs to may be named by one of its runs. */
const startsAnalysis = [
  ...application('EXECUTE', 'query'),
  ...application('READ', 'execution', 'parentPipelineExecutionId'),
] as const

const result = operationsWith({ demands: decidedByService, query: { storageAccountName } })
const startQuery = {
  ...alike(maybeText, 'application', 'parentPipelineExecutionId', 'metricsAccountName'),
  configurationAccountName,
  storageAccountName,
}

const starting = operationsWith({ query: startQuery, answer: CanaryExecution })

const runs: Operation[] = ofOptionalService('kayenta', '/v2/canaries', [
  starting.post(
    'initiateCanaryWithConfigUsingPOST',
    '/v2/canaries/canary',
    'Start a canary analysis',
    {
      demands: startsAnalysis,
      description: 'Starts an analysis with the configuration in the body.',
      body: AnyObject.describe('`canaryConfig` and `executionRequest`.'),
    },
  ),
  starting.post(
    'initiateCanaryUsingPOST',
    '/v2/canaries/canary/{canaryConfigId}',
    'Start a configured canary analysis',
    {
      demands: [...startsAnalysis, ...application('READ', 'canary-config', 'canaryConfigId')],
      body: AnyObject.describe('`scopes` and `thresholds`.'),
    },
  ),
  result.get(
    'getCanaryResultUsingGET',
    '/v2/canaries/canary/{canaryExecutionId}',
    'Get a canary analysis',
    {
      answer: CanaryResult,
    },
  ),
  result.get(
    'getCanaryResultUsingGET1',
    '/v2/canaries/canary/{canaryConfigId}/{canaryExecutionId}',
    'Get a canary analysis (older address)',
    {
      description:
        'State and result of an analysis, under its older address; the first id does not matter.',
      forward: 'kayenta /canary/{canaryExecutionId}',
      answer: CanaryResult,
    },
  ),
  get(
    'getCanaryResultsByApplicationUsingGET',
    '/v2/canaries/{application}/executions',
    'List canary analyses',
    {
      demands: readsApplication,
      description: 'Results of the analyses of an application, newest first.',
      query: { limit: integer, page: integer.optional(), statuses: maybeText, storageAccountName },
      forward: { service: 'kayenta', path: '/canary/executions', fromPath: ['application'] },
      whenDisabled: [],
      answer: z.array(CanaryResult),
    },
  ),
  result.get(
    'getMetricSetPairListUsingGET',
    '/v2/canaries/metricSetPairList/{metricSetPairListId}',
    'Get canary measurements',
    {
      forward: {
        service: 'kayenta',
        path: '/metricSetPairList/{metricSetPairListId}',
        renamed: { storageAccountName: 'accountName' },
      },
      answer: z.array(MetricSetPair),
    },
  ),
])

const historyPath = '/canaryDeployments/{canaryDeploymentId}/canaryAnalysisHistory'

const firstGeneration: Operation[] = ofOptionalService('mine', '', [
  decided.get('showCanaryUsingGET', '/canaries/{id}', 'Get a first-generation canary', {
    answer: Canary,
  }),
  decided.post(
    'generateCanaryResultUsingPOST',
    '/canaries/{id}/generateCanaryResult',
    'Compute the result of a canary',
    {
      body: {
        schema: z.looseObject({ duration: integer.optional(), durationUnit: maybeText }),
        required: false,
      },
      handle: async (request, platform) =>
        void (await order(request, platform, 'POST', 'generateCanaryResult')),
      success: 201,
      answer: nothing,
    },
  ),
  decided.put('endCanaryUsingPUT', '/canaries/{id}/end', 'End a canary', {
    body: { schema: z.looseObject({ result: maybeText, reason: maybeText }), required: false },
    handle: (request, platform) => order(request, platform, 'PUT', 'end'),
    answer: Canary.optional(),
  }),
  decided.get(
    'showCanaryAnalysisHistoryUsingGET',
    historyPath,
    'List analyses of a canary deployment',
    {
      answer: z.array(CanaryAnalysis),
    },
  ),
  get(
    'canaryConfigNamesForApplicationUsingGET',
    '/canaryConfig/names',
    'List names of canary configurations',
    {
      demands: application('READ', 'query'),
      query: { application: nonEmpty },
      whenDisabled: [],
      answer: TextList,
    },
  ),
  get(
    'canaryConfigsForApplicationUsingGET',
    '/canaryConfigs/{application}',
    'List first-generation canary configurations',
    {
      demands: readsApplication,
      forward: { service: 'mine', path: '/canaryConfigs', fromPath: ['application'] },
      whenDisabled: [],
      answer: z.array(FirstCanaryConfig),
    },
  ),
])

export const canaryOperations: Operation[] = [
  ...configurations,
  ...surroundings,
  ...runs,
  ...firstGeneration,
]

/** Mine takes in its query what clients send as body. */
async function order(
  request: OperationRequest,
  platform: Platform,
  method: HttpMethod,
  action: string,
): Promise<unknown> {
  checkServicePresent(platform, 'mine')
  const { duration, durationUnit, result, reason } = objectOf(request.body) as Record<
    string,
    QueryValue
  >
  const query = formatQuery(
    action === 'end' ? { result, reason } : { duration: duration ?? 0, durationUnit },
  )
  return request.json('mine', {
    method,
    path: pathTo`/canaries/${request.path['id'] as string}/${action}` + query,
  })
}
