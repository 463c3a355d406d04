/** Canary analysis (kayenta, and mine before it). Lists are empty without the service. */
import { z } from 'zod'
import { AnyObject, alike, described, integer, nonEmpty, nothing, TextList, textModel } from '../../json/schemas.ts'
import { objectOf } from '../../json/values.ts'
import { formatQuery, pathTo, type QueryValue } from '../../net/encode-path.ts'
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
import type { Method, Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const CanaryConfig = z
  .looseObject({
    id: z.string().optional(),
    name: z.string().optional(),
    applications: z.array(z.string()).optional(),
  })
  .meta({ id: 'CanaryConfig', description: 'A canary configuration: metrics, their groups and the judge.' })
const SavedCanaryConfig = z.looseObject({ canaryConfigId: z.string().optional() }).meta({ id: 'SavedCanaryConfig' })
const CanaryExecution = z.looseObject({ canaryExecutionId: z.string() }).meta({ id: 'CanaryExecution' })
const CanaryResult = z
  .looseObject({
    complete: z.boolean().nullish(),
    status: z.string().nullish(),
    application: z.string().nullish(),
    result: AnyObject.nullish().describe('With `judgeResult.score.classification`.'),
  })
  .meta({ id: 'CanaryResult', description: 'State of a canary analysis, and its result once it is complete.' })

const CanaryAccount = described('CanaryAccount', 'name', 'type')
const CanaryMetric = described('CanaryMetric', 'name')
const CanaryJudge = described('CanaryJudge', 'name')
const MetricSetPair = z
  .looseObject({ id: z.string(), name: z.string(), values: z.record(z.string(), z.array(z.unknown())).nullish() })
  .meta({ id: 'MetricSetPair' })
const Canary = described('Canary', 'id', 'application', 'owner')
const CanaryAnalysis = described('CanaryAnalysis', 'id', 'canaryDeploymentId')
const FirstCanaryConfig = described('FirstGenerationCanaryConfig', 'id', 'name', 'application')

const configurationAccountName = textModel.optional()
const storageAccountName = textModel.optional().describe('Account that keeps results; the default of kayenta unless given.')

const configPath = '/v2/canaryConfig'

const decided = operationsWith({ demands: decidedByService })
const configuration = operationsWith({ query: { configurationAccountName } })

const configurations: Operation[] = ofOptionalService('kayenta', '/v2', [
  get('getCanaryConfigsUsingGET', configPath, {
    demands: [...application('READ', 'query'), ...filteredBy('applications')],
    summary: 'List canary configurations',
    description: 'Canary configurations, of all applications unless one is named.',
    query: { application: textModel.optional(), configurationAccountName },
    whenDisabled: [],
    answer: z.array(CanaryConfig),
  }),
  configuration.post('createCanaryConfigUsingPOST', configPath, {
    demands: createsCanaryConfig,
    summary: 'Create a canary configuration',
    body: { schema: CanaryConfig, required: true },
    answer: SavedCanaryConfig,
  }),
  configuration.get('getCanaryConfigUsingGET', `${configPath}/{id}`, {
    demands: readsCanaryConfig,
    summary: 'Get a canary configuration',
    answer: CanaryConfig,
  }),
  configuration.put('updateCanaryConfigUsingPUT', `${configPath}/{id}`, {
    demands: updatesCanaryConfig,
    summary: 'Update a canary configuration',
    body: { schema: CanaryConfig, required: true },
    answer: SavedCanaryConfig,
  }),
  configuration.remove('deleteCanaryConfigUsingDELETE', `${configPath}/{id}`, {
    demands: deletesCanaryConfig,
    summary: 'Delete a canary configuration',
    answer: nothing,
  }),
])

const offered = operationsWith({ demands: decidedByService, whenDisabled: [] })

const surroundings: Operation[] = ofOptionalService('kayenta', '/v2/canaries', [
  offered.get('listCredentialsUsingGET', '/v2/canaries/credentials', {
    summary: 'List canary accounts',
    answer: z.array(CanaryAccount),
  }),
  offered.get('listMetricsServiceMetadataUsingGET', '/v2/canaries/metadata/metricsService', {
    summary: 'List canary metrics',
    description: 'Metrics that a metrics account offers.',
    query: { filter: textModel.optional(), metricsAccountName: textModel.optional() },
    answer: z.array(CanaryMetric),
  }),
  offered.get('listJudgesUsingGET', '/v2/canaries/judges', {
    summary: 'List canary judges',
    description: 'Judges that may compare a canary with its baseline.',
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
  ...alike(textModel.optional(), 'application', 'parentPipelineExecutionId', 'metricsAccountName'),
  configurationAccountName,
  storageAccountName,
}

const starting = operationsWith({ query: startQuery, answer: CanaryExecution })

const runs: Operation[] = ofOptionalService('kayenta', '/v2/canaries', [
  starting.post('initiateCanaryWithConfigUsingPOST', '/v2/canaries/canary', {
    demands: startsAnalysis,
    summary: 'Start a canary analysis',
    description: 'Starts an analysis with the configuration in the body.',
    body: { schema: AnyObject.describe('`canaryConfig` and `executionRequest`.'), required: true },
  }),
  starting.post('initiateCanaryUsingPOST', '/v2/canaries/canary/{canaryConfigId}', {
    demands: [...startsAnalysis, ...application('READ', 'canary-config', 'canaryConfigId')],
    summary: 'Start a configured canary analysis',
    description: 'Starts an analysis with a stored configuration.',
    body: { schema: AnyObject.describe('`scopes` and `thresholds`.'), required: true },
  }),
  result.get('getCanaryResultUsingGET', '/v2/canaries/canary/{canaryExecutionId}', {
    summary: 'Get a canary analysis',
    description: 'State and result of an analysis.',
    answer: CanaryResult,
  }),
  result.get('getCanaryResultUsingGET1', '/v2/canaries/canary/{canaryConfigId}/{canaryExecutionId}', {
    summary: 'Get a canary analysis (older address)',
    description: 'State and result of an analysis, under its older address; the first id does not matter.',
    forward: { service: 'kayenta', path: '/canary/{canaryExecutionId}' },
    answer: CanaryResult,
  }),
  get('getCanaryResultsByApplicationUsingGET', '/v2/canaries/{application}/executions', {
    demands: readsApplication,
    summary: 'List canary analyses',
    description: 'Results of the analyses of an application, newest first.',
    query: { limit: integer, page: integer.optional(), statuses: textModel.optional(), storageAccountName },
    forward: { service: 'kayenta', path: '/canary/executions', fromPath: ['application'] },
    whenDisabled: [],
    answer: z.array(CanaryResult),
  }),
  result.get('getMetricSetPairListUsingGET', '/v2/canaries/metricSetPairList/{metricSetPairListId}', {
    summary: 'Get canary measurements',
    description: 'The measurements that an analysis compared.',
    answer: z.array(MetricSetPair),
  }),
])

const historyPath = '/canaryDeployments/{canaryDeploymentId}/canaryAnalysisHistory'

const firstGeneration: Operation[] = ofOptionalService('mine', '', [
  decided.get('showCanaryUsingGET', '/canaries/{id}', { summary: 'Get a first-generation canary', answer: Canary }),
  decided.post('generateCanaryResultUsingPOST', '/canaries/{id}/generateCanaryResult', {
    summary: 'Compute the result of a canary',
    body: { schema: z.looseObject({ duration: integer.optional(), durationUnit: textModel.optional() }), required: false },
    handle: async (request, platform) => void (await order(request, platform, 'POST', 'generateCanaryResult')),
    success: 201,
    answer: nothing,
  }),
  decided.put('endCanaryUsingPUT', '/canaries/{id}/end', {
    summary: 'End a canary',
    body: { schema: z.looseObject({ result: textModel.optional(), reason: textModel.optional() }), required: false },
    handle: (request, platform) => order(request, platform, 'PUT', 'end'),
    answer: Canary.optional(),
  }),
  decided.get('showCanaryAnalysisHistoryUsingGET', historyPath, {
    summary: 'List analyses of a canary deployment',
    answer: z.array(CanaryAnalysis),
  }),
  get('canaryConfigNamesForApplicationUsingGET', '/canaryConfig/names', {
    demands: application('READ', 'query'),
    summary: 'List names of canary configurations',
    query: { application: nonEmpty },
    whenDisabled: [],
    answer: TextList,
  }),
  get('canaryConfigsForApplicationUsingGET', '/canaryConfigs/{application}', {
    demands: readsApplication,
    summary: 'List first-generation canary configurations',
    description: 'Canary configurations of an application.',
    forward: { service: 'mine', path: '/canaryConfigs', fromPath: ['application'] },
    whenDisabled: [],
    answer: z.array(FirstCanaryConfig),
  }),
])

export const canaryOperations: Operation[] = [...configurations, ...surroundings, ...runs, ...firstGeneration]

/** Mine takes in its query what clients send as body. */
async function order(request: OperationRequest, platform: Platform, method: Method, action: string): Promise<unknown> {
  checkServicePresent(platform, 'mine')
  const { duration, durationUnit, result, reason } = objectOf(request.body) as Record<string, QueryValue>
  const query = formatQuery(action === 'end' ? { result, reason } : { duration: duration ?? 0, durationUnit })
  return request.json('mine', { method, path: pathTo`/canaries/${request.path['id'] as string}/${action}` + query })
}
