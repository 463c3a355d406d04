/** Further look-ups of the infrastructure: managers, manifests, keys, ECS and brokers, stored data, snapshots, search. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  AnyObject,
  bytes,
  described,
  flagModel,
  integer,
  maybeText,
  nonEmptyList,
  TextList,
  textList,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { encodeSegments, pathTo } from '@fairlead/base/net/encode-path.ts'
import { SnapshotModel } from '@fairlead/model/environments/application-models.ts'
import { z } from 'zod'
import { get, operationsWith } from '../declare.ts'
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
  SearchResultSet,
  ServerGroupManager,
  ServerGroupModel,
} from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { checkList, checkObject } from '../upstream-shape.ts'

const eventsPath = '/applications/{application}/serverGroups/{account}/{serverGroupName}/events'
const metricsPath = '/cloudMetrics/{cloudProvider}/{account}/{region}'
const manifestPath = '/manifests/{account}/{location}/{name}'

const CloudFunction = described(
  'CloudFunction',
  'account',
  'region',
  'functionName',
  'functionArn',
  'runtime',
)
const ServerGroupEvent = described(
  'ServerGroupEvent',
  'description',
  'cause',
  'statusCode',
  'statusMessage',
  'activityId',
)
const KeyPair = described('KeyPair', 'account', 'region', 'keyName', 'keyFingerprint')
const Certificate = described(
  'Certificate',
  'serverCertificateName',
  'serverCertificateId',
  'arn',
  'path',
)
const CloudRole = described('CloudRole', 'name', 'accountName')
const CloudMetric = described('CloudMetric', 'name', 'namespace', 'cloudProvider')
const MetricStatistics = z.looseObject({
  unit: z.string().nullish(),
  period: z.number().nullish().describe('Seconds that a value is about.'),
  datapoints: z.array(AnyObject).nullish(),
  latest: AnyObject.nullish().describe(
    'Value of the time since the last datapoint, where the service knows it.',
  ),
})

const cloud = operationsWith({ forward: 'clouddriver' })
const ofApplication = operationsWith({ demands: readsApplication, forward: 'clouddriver' })
const ofAccount = operationsWith({ demands: readsAccount, forward: 'clouddriver' })

export const infrastructureOperations: Operation[] = [
  ofApplication.get(
    'getServerGroupManagersForApplicationUsingGET',
    '/applications/{application}/serverGroupManagers',
    'List server group managers',
    {
      description: 'Managers of server groups, such as Kubernetes deployments.',
      answer: z.array(ServerGroupManager),
    },
  ),
  ofApplication.get(
    'getApplicationRawResourcesUsingGET',
    '/applications/{application}/rawResources',
    'List raw resources',
    {
      description: 'Resources of an application that fit no other list.',
      answer: z.array(RawResource),
    },
  ),
  ofApplication.get(
    'getApplicationFunctionsUsingGET',
    '/applications/{application}/functions',
    'List functions of an application',
    {
      answer: z.array(CloudFunction),
    },
  ),
  cloud.get('getServerGroupEventsUsingGET', eventsPath, 'List events of a server group', {
    demands: readsApplicationOnAccount,
    query: { region: textModel, provider: textModel },
    answer: z.array(ServerGroupEvent),
  }),
  cloud.get('getFunctionsUsingGET', '/functions', 'List serverless functions', {
    demands: filteredBy('account'),
    description: 'Serverless functions, of all accounts unless one is named.',
    query: { functionName: maybeText, region: maybeText, account: maybeText },
    answer: z.array(CloudFunction),
  }),
  cloud.get('findServerGroupsUsingGET', '/serverGroups', 'Find server groups', {
    demands: filteredBy('application'),
    description: 'Server groups of several applications, or those with the given ids.',
    query: {
      applications: textList.optional(),
      ids: textList.optional().describe('Each `account:region:name`.'),
      cloudProvider: maybeText,
    },
    handle: findServerGroups,
    cost: 5,
    answer: z.array(ServerGroupModel),
    errors: { 400: 'Both or neither of `applications` and `ids` are given.' },
  }),
  ofAccount.get('getManifestUsingGET', manifestPath, 'Get a Kubernetes object', {
    description:
      'One Kubernetes object with its status, events and artifacts. The name is `kind name`, with a space.',
    on404: {
      message: ({ path }) =>
        `Unable to find ${path['name']} in ${path['account']}/${path['location']}`,
    },
    answer: ManifestModel,
  }),
  cloud.post('planManifestsUsingPOST', '/manifests/plan', 'Plan a deployment of manifests', {
    changesNothing: true,
    demands: [{ kind: 'account', authorization: 'WRITE', of: 'body' }, ...writesApplicationInBody],
    description:
      'What a deployment of manifests would add, change and remove, by a dry run against the cluster; nothing is changed. Only the ' +
      'embedded infrastructure service has this operation.',
    body: ManifestPlan,
    forward: 'clouddriver',
    answer: z.array(ManifestDifference),
    errors: { 400: 'A manifest is invalid, or the account belongs to no provider with manifests.' },
  }),
  ofApplication.get(
    'getApplicationDriftUsingGET',
    '/applications/{application}/drift',
    'List drift',
    {
      description:
        'Deployed objects that lack something of their manifests, or are gone, with the fields, both values and the manager. Only the ' +
        'embedded infrastructure service has this operation.',
      query: { account: maybeText, location: maybeText.describe('Namespace.') },
      answer: z.array(ManifestDrift),
    },
  ),
  cloud.get('getKeyPairsUsingGET', '/keyPairs', 'List key pairs', {
    demands: filteredBy('account'),
    answer: z.array(KeyPair),
  }),
  cloud.get('getCertificatesUsingGET', '/certificates', 'List certificates', {
    demands: sharedKnowledge,
    answer: z.array(Certificate),
  }),
  cloud.get(
    'getCertificatesByProviderUsingGET',
    '/certificates/{cloudProvider}',
    'List certificates of a provider',
    {
      demands: sharedKnowledge,
      answer: z.array(Certificate),
    },
  ),
  cloud.get('getRolesUsingGET', '/roles/{cloudProvider}', 'List roles of a provider', {
    demands: sharedKnowledge,
    answer: z.array(CloudRole),
  }),
  ofAccount.get('findCloudMetricsUsingGET', metricsPath, 'List metrics of a region', {
    description: 'Metrics of a region; every query parameter is a filter.',
    forward: { service: 'clouddriver', otherQuery: true },
    answer: z.array(CloudMetric),
  }),
  ofAccount.get(
    'getCloudMetricStatisticsUsingGET',
    `${metricsPath}/{metricName}/statistics`,
    'Get values of a metric',
    {
      description:
        'Values of a metric over time; every other query parameter is a filter. The embedded infrastructure service keeps a quarter of ' +
        'an hour for each server group.',
      query: {
        startTime: maybeText,
        endTime: maybeText,
        serverGroup: maybeText.describe('The embedded service needs it.'),
      },
      forward: { service: 'clouddriver', otherQuery: true },
      answer: MetricStatistics,
    },
  ),
  cloud.get('getStorageUsingGET', '/storage', 'List storage accounts', {
    demands: sharedKnowledge,
    description: 'Names of storage accounts. Deprecated.',
    answer: TextList,
  }),
]

async function findServerGroups({ query }: OperationRequest): Promise<StreamedAnswer> {
  const { applications, ids, cloudProvider } = query
  if ((applications === undefined) === (ids === undefined)) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      'Give either "applications" or "ids" (account:region:name), and not both.',
    )
  }
  return new StreamedAnswer('clouddriver', {
    path: '/serverGroups',
    query: { applications, ids, cloudProvider },
  })
}

const descriptionsPath = '/ecs/ecsClusterDescriptions/{account}/{region}'

const EcsCluster = described('EcsCluster', 'account', 'region', 'name')
const EcsClusterDescription = described(
  'EcsClusterDescription',
  'clusterName',
  'clusterArn',
  'status',
)
const EcsAlarm = described('EcsAlarm', 'alarmName', 'alarmArn', 'accountName', 'region')
const EcsSecret = described('EcsSecret', 'account', 'region', 'name', 'arn')
const EcsRegistry = described(
  'EcsServiceRegistry',
  'account',
  'region',
  'name',
  'id',
  'arn',
  'displayName',
)
const BrokerService = described('BrokerService', 'name')
const ServiceInstance = described('ServiceInstance', 'name', 'status')

export const ecsOperations: Operation[] = [
  cloud.get('getAllEcsClustersUsingGET', '/ecs/ecsClusters', 'List ECS clusters', {
    demands: sharedKnowledge,
    answer: z.array(EcsCluster),
  }),
  ofAccount.get(
    'getAllEcsClusterDescriptionsUsingGET',
    descriptionsPath,
    'List ECS clusters of a region',
    {
      answer: z.array(EcsClusterDescription),
    },
  ),
  cloud.get('getAllEcsMetricAlarmsUsingGET', '/ecs/cloudMetrics/alarms', 'List ECS metric alarms', {
    demands: sharedKnowledge,
    answer: z.array(EcsAlarm),
  }),
  cloud.get('getAllEcsSecretsUsingGET', '/ecs/secrets', 'List ECS secrets', {
    demands: sharedKnowledge,
    answer: z.array(EcsSecret),
  }),
  cloud.get(
    'getAllEcsServiceDiscoveryRegistriesUsingGET',
    '/ecs/serviceDiscoveryRegistries',
    'List ECS service registries',
    {
      demands: sharedKnowledge,
      answer: z.array(EcsRegistry),
    },
  ),
  ofAccount.get(
    'listServiceBrokerServicesUsingGET',
    '/servicebroker/{account}/services',
    'List services of a broker',
    {
      query: { cloudProvider: maybeText, region: textModel },
      answer: z.array(BrokerService),
    },
  ),
  ofAccount.get(
    'getServiceInstanceUsingGET',
    '/servicebroker/{account}/serviceInstance',
    'Get a service instance',
    {
      query: { cloudProvider: textModel, region: textModel, serviceInstanceName: textModel },
      answer: ServiceInstance,
    },
  ),
]

const content = bytes.describe(
  'The stored bytes, with the content type that the service gives; HTML comes as text.',
)

export const storedDataOperations: Operation[] = [
  cloud.get('getStaticDataUsingGET', '/v1/data/static/{id}', 'Get stored data', {
    demands: sharedKnowledge,
    query: { expectedContentType: textModel.default('application/json') },
    handle: streamStatic,
    answer: content,
    errors: { 400: '`expectedContentType` is not a content type.' },
  }),
  cloud.get(
    'getAdhocDataUsingGET',
    '/v1/data/adhoc/{groupId}/{bucketId}/**',
    'Get an object of a bucket',
    {
      demands: sharedKnowledge,
      description: 'An object of a bucket, by its name; slashes belong to the name.',
      handle: streamAdhoc,
      answer: content,
    },
  ),
]

async function streamStatic({ path, query }: OperationRequest): Promise<StreamedAnswer> {
  const { id } = path as { id: string }
  const type = query['expectedContentType'] as string
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(type)) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      '"expectedContentType" must be a content type such as application/json.',
    )
  }
  return new StreamedAnswer('clouddriver', {
    path: pathTo`/v1/data/static/${id}`,
    headers: { accept: `${type}, */*` },
  })
}

async function streamAdhoc({ path }: OperationRequest): Promise<StreamedAnswer> {
  const { groupId, bucketId, rest } = path as { groupId: string; bucketId: string; rest: string }
  return new StreamedAnswer('clouddriver', {
    path: `${pathTo`/v1/data/adhoc/${groupId}/${bucketId}`}/${encodeSegments(rest)}`,
    headers: { accept: '*/*' },
  })
}

export const snapshotOperations: Operation[] = [
  get(
    'getCurrentSnapshotUsingGET',
    '/applications/{application}/snapshots/{account}',
    'Get the latest snapshot',
    {
      core: true,
      demands: readsApplicationOnAccount,
      forward: 'front50 /snapshots/{application}-{account}',
      pick: checkOwn,
      answer: SnapshotModel,
    },
  ),
  get(
    'getSnapshotHistoryUsingGET',
    '/applications/{application}/snapshots/{account}/history',
    'List snapshots',
    {
      core: true,
      demands: readsApplicationOnAccount,
      description: 'Earlier snapshots, newest first.',
      query: { limit: integer.default(20) },
      forward: 'front50 /snapshots/{application}-{account}/history',
      pick: (body, request) =>
        body === null ? null : checkList(body, 'front50').filter((each) => isOwn(each, request)),
      answer: z.array(SnapshotModel),
    },
  ),
]

function checkOwn(body: unknown, request: OperationRequest): JsonObject | null {
  if (body === null) return null
  const snapshot = checkObject(body, 'front50')
  if (isOwn(snapshot, request)) return snapshot
  const { application, account } = request.path
  throw new GatewayError(
    'NOT_FOUND',
    `There is no snapshot of the application "${application}" in the account "${account}".`,
  )
}

/** The store joins both names with a hyphen, which either may hold: `a-b` and `c` look like `a` and `b-c`. */
function isOwn({ application }: JsonObject, { path }: OperationRequest): boolean {
  return (
    typeof application !== 'string' ||
    foldName(application) === foldName(String(path['application']))
  )
}

const minLength = 3

export const searchOperations: Operation[] = [
  get('searchUsingGET', '/search', 'Search', {
    core: true,
    demands: filteredBy('application', 'account'),
    description:
      'Searches resources of given types. Every other query parameter is a filter. A short query finds nothing: `[]`.',
    query: {
      q: maybeText.describe('At least three characters, unless `allowShortQuery`.'),
      type: nonEmptyList.describe('Kinds of resources, repeated or comma-separated.'),
      platform: maybeText,
      pageSize: integer.default(10_000),
      page: integer.default(1),
      allowShortQuery: flagModel.default(false),
    },
    handle: search,
    cost: 5,
    answer: z.array(SearchResultSet),
  }),
]

async function search({ query, otherQuery }: OperationRequest): Promise<StreamedAnswer | []> {
  const { q, allowShortQuery, type, ...rest } = query
  const wanted = String(q ?? '')
  if (wanted.length < minLength && allowShortQuery !== true && !listsServices(q, type)) return []
  return new StreamedAnswer('clouddriver', {
    path: '/search',
    query: { ...otherQuery, q: wanted, type, ...rest },
  })
}

/** The form of a stage that needs a service asks for all of them without naming anything. */
function listsServices(q: unknown, type: unknown): boolean {
  return q === undefined && Array.isArray(type) && type.includes('service')
}
