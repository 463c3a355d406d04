/** Managers of server groups, manifests, functions, keys, certificates and metrics of clouds. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { AnyObject, described, list, TextList, textModel } from '../../json/schemas.ts'
import { operationsWith } from '../declare.ts'
import {
  filteredBy,
  readsAccount,
  readsApplication,
  readsApplicationOnAccount,
  sharedKnowledge,
  writesApplicationInBody,
} from '../demands.ts'
import {
  ManifestDifference,
  ManifestDrift,
  ManifestModel,
  ManifestPlan,
  RawResource,
  ServerGroupManager,
  ServerGroupModel,
} from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'

const eventsPath = '/applications/{application}/serverGroups/{account}/{serverGroupName}/events'
const metricsPath = '/cloudMetrics/{cloudProvider}/{account}/{region}'
const manifestPath = '/manifests/{account}/{location}/{name}'

const CloudFunction = described('CloudFunction', 'account', 'region', 'functionName', 'functionArn', 'runtime')
const ServerGroupEvent = described('ServerGroupEvent', 'description', 'cause', 'statusCode', 'statusMessage', 'activityId')
const KeyPair = described('KeyPair', 'account', 'region', 'keyName', 'keyFingerprint')
const Certificate = described('Certificate', 'serverCertificateName', 'serverCertificateId', 'arn', 'path')
const CloudRole = described('CloudRole', 'name', 'accountName')
const CloudMetric = described('CloudMetric', 'name', 'namespace', 'cloudProvider')
const MetricStatistics = z.looseObject({
  unit: z.string().nullish(),
  period: z.number().nullish().describe('Seconds that a value is about.'),
  datapoints: z.array(AnyObject).nullish(),
  latest: AnyObject.nullish().describe('Value of the time since the last datapoint, where the service knows it.'),
})

const { get, post } = operationsWith({ forward: 'clouddriver' })
const ofApplication = operationsWith({ demands: readsApplication, forward: 'clouddriver' })
const ofAccount = operationsWith({ demands: readsAccount, forward: 'clouddriver' })

export const infrastructureOperations: Operation[] = [
  ofApplication.get('getServerGroupManagersForApplicationUsingGET', '/applications/{application}/serverGroupManagers', {
    summary: 'List server group managers',
    description: 'Managers of server groups, such as Kubernetes deployments.',
    answer: z.array(ServerGroupManager),
  }),
  ofApplication.get('getApplicationRawResourcesUsingGET', '/applications/{application}/rawResources', {
    summary: 'List raw resources',
    description: 'Resources of an application that fit no other list.',
    answer: z.array(RawResource),
  }),
  ofApplication.get('getApplicationFunctionsUsingGET', '/applications/{application}/functions', {
    summary: 'List functions of an application',
    answer: z.array(CloudFunction),
  }),
  get('getServerGroupEventsUsingGET', eventsPath, {
    demands: readsApplicationOnAccount,
    summary: 'List events of a server group',
    description: 'What the cloud reported about a server group.',
    query: { region: textModel, provider: textModel },
    answer: z.array(ServerGroupEvent),
  }),
  get('getFunctionsUsingGET', '/functions', {
    demands: filteredBy('account'),
    summary: 'List serverless functions',
    description: 'Serverless functions, of all accounts unless one is named.',
    query: { functionName: textModel.optional(), region: textModel.optional(), account: textModel.optional() },
    answer: z.array(CloudFunction),
  }),
  get('findServerGroupsUsingGET', '/serverGroups', {
    demands: filteredBy('application'),
    summary: 'Find server groups',
    description: 'Server groups of several applications, or those with the given ids.',
    query: {
      applications: list.optional(),
      ids: list.optional().describe('Each `account:region:name`.'),
      cloudProvider: textModel.optional(),
    },
    handle: findServerGroups,
    cost: 5,
    answer: z.array(ServerGroupModel),
    errors: { 400: 'Both or neither of `applications` and `ids` are given.' },
  }),
  ofAccount.get('getManifestUsingGET', manifestPath, {
    summary: 'Get a Kubernetes object',
    description: 'One Kubernetes object with its status, events and artifacts. The name is `kind name`, with a space.',
    on404: { message: ({ path }) => `Unable to find ${path['name']} in ${path['account']}/${path['location']}` },
    answer: ManifestModel,
  }),
  post('planManifestsUsingPOST', '/manifests/plan', {
    changesNothing: true,
    demands: [{ kind: 'account', authorization: 'WRITE', of: 'body' }, ...writesApplicationInBody],
    summary: 'Plan a deployment of manifests',
    description:
      'What a deployment of manifests would add, change and remove, by a dry run against the cluster; nothing is changed. Only the ' +
      'embedded infrastructure service has this operation.',
    body: { schema: ManifestPlan, required: true },
    forward: 'clouddriver',
    answer: z.array(ManifestDifference),
    errors: { 400: 'A manifest is invalid, or the account belongs to no provider with manifests.' },
  }),
  ofApplication.get('getApplicationDriftUsingGET', '/applications/{application}/drift', {
    summary: 'List drift',
    description:
      'Deployed objects that something else has changed since, with the fields and their manager. Only the embedded infrastructure ' +
      'service has this operation.',
    query: { account: textModel.optional(), location: textModel.optional().describe('Namespace.') },
    answer: z.array(ManifestDrift),
  }),
  get('getKeyPairsUsingGET', '/keyPairs', {
    demands: filteredBy('account'),
    summary: 'List key pairs',
    answer: z.array(KeyPair),
  }),
  get('getCertificatesUsingGET', '/certificates', {
    demands: sharedKnowledge,
    summary: 'List certificates',
    description: 'Server certificates of all cloud providers.',
    answer: z.array(Certificate),
  }),
  get('getCertificatesByProviderUsingGET', '/certificates/{cloudProvider}', {
    demands: sharedKnowledge,
    summary: 'List certificates of a provider',
    answer: z.array(Certificate),
  }),
  get('getRolesUsingGET', '/roles/{cloudProvider}', {
    demands: sharedKnowledge,
    summary: 'List roles of a provider',
    description: 'Roles that instances of a cloud provider may take on.',
    answer: z.array(CloudRole),
  }),
  ofAccount.get('findCloudMetricsUsingGET', metricsPath, {
    summary: 'List metrics of a region',
    description: 'Metrics of a region; every query parameter is a filter.',
    forward: { service: 'clouddriver', otherQuery: true },
    answer: z.array(CloudMetric),
  }),
  ofAccount.get('getCloudMetricStatisticsUsingGET', `${metricsPath}/{metricName}/statistics`, {
    summary: 'Get values of a metric',
    description:
      'Values of a metric over time; every other query parameter is a filter. The embedded infrastructure service keeps a quarter of ' +
      'an hour for each server group.',
    query: {
      startTime: textModel.optional(),
      endTime: textModel.optional(),
      serverGroup: textModel.optional().describe('The embedded service needs it.'),
    },
    forward: { service: 'clouddriver', otherQuery: true },
    answer: MetricStatistics,
  }),
  get('getStorageUsingGET', '/storage', {
    demands: sharedKnowledge,
    summary: 'List storage accounts',
    description: 'Names of storage accounts. Deprecated.',
    answer: TextList,
  }),
]

async function findServerGroups({ query }: OperationRequest): Promise<StreamedAnswer> {
  const { applications, ids, cloudProvider } = query
  if ((applications === undefined) === (ids === undefined)) {
    throw new GatewayError('BAD_ARGUMENT', 'Give either "applications" or "ids" (account:region:name), and not both.')
  }
  return new StreamedAnswer('clouddriver', { path: '/serverGroups', query: { applications, ids, cloudProvider } })
}
