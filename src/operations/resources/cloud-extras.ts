/** Lookups that only the forms for Amazon ECS and for service brokers need, and data that operators keep in storage of the infrastructure service. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { bytes, described, textModel } from '../../json/schemas.ts'
import { encodeSegments, pathTo } from '../../net/encode-path.ts'
import { operationsWith } from '../declare.ts'
import { readsAccount, sharedKnowledge } from '../demands.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'

const descriptionsPath = '/ecs/ecsClusterDescriptions/{account}/{region}'

const EcsCluster = described('EcsCluster', 'account', 'region', 'name')
const EcsClusterDescription = described('EcsClusterDescription', 'clusterName', 'clusterArn', 'status')
const EcsAlarm = described('EcsAlarm', 'alarmName', 'alarmArn', 'accountName', 'region')
const EcsSecret = described('EcsSecret', 'account', 'region', 'name', 'arn')
const EcsRegistry = described('EcsServiceRegistry', 'account', 'region', 'name', 'id', 'arn', 'displayName')
const BrokerService = described('BrokerService', 'name')
const ServiceInstance = described('ServiceInstance', 'name', 'status')

const { get } = operationsWith({ forward: 'clouddriver' })
const ofAccount = operationsWith({ demands: readsAccount, forward: 'clouddriver' })

export const ecsOperations: Operation[] = [
  get('getAllEcsClustersUsingGET', '/ecs/ecsClusters', {
    demands: sharedKnowledge,
    summary: 'List ECS clusters',
    answer: z.array(EcsCluster),
  }),
  ofAccount.get('getAllEcsClusterDescriptionsUsingGET', descriptionsPath, {
    summary: 'List ECS clusters of a region',
    description: 'ECS clusters of a region, with their capacity providers.',
    answer: z.array(EcsClusterDescription),
  }),
  get('getAllEcsMetricAlarmsUsingGET', '/ecs/cloudMetrics/alarms', {
    demands: sharedKnowledge,
    summary: 'List ECS metric alarms',
    description: 'Metric alarms that ECS services may scale on.',
    answer: z.array(EcsAlarm),
  }),
  get('getAllEcsSecretsUsingGET', '/ecs/secrets', {
    demands: sharedKnowledge,
    summary: 'List ECS secrets',
    description: 'Names of secrets that ECS tasks may use.',
    answer: z.array(EcsSecret),
  }),
  get('getAllEcsServiceDiscoveryRegistriesUsingGET', '/ecs/serviceDiscoveryRegistries', {
    demands: sharedKnowledge,
    summary: 'List ECS service registries',
    description: 'Registries in which ECS services may be entered.',
    answer: z.array(EcsRegistry),
  }),
  ofAccount.get('listServiceBrokerServicesUsingGET', '/servicebroker/{account}/services', {
    summary: 'List services of a broker',
    description: 'Services that a broker offers in a region.',
    query: { cloudProvider: textModel.optional(), region: textModel },
    answer: z.array(BrokerService),
  }),
  ofAccount.get('getServiceInstanceUsingGET', '/servicebroker/{account}/serviceInstance', {
    summary: 'Get a service instance',
    description: 'One service instance that a broker made.',
    query: { cloudProvider: textModel, region: textModel, serviceInstanceName: textModel },
    answer: ServiceInstance,
  }),
]

const content = bytes.describe('The stored bytes, with the content type that the service gives; HTML comes as text.')

export const storedDataOperations: Operation[] = [
  get('getStaticDataUsingGET', '/v1/data/static/{id}', {
    demands: sharedKnowledge,
    summary: 'Get stored data',
    description: 'Data that an operator stored under an id.',
    query: { expectedContentType: textModel.default('application/json') },
    handle: streamStatic,
    answer: content,
    errors: { 400: '`expectedContentType` is not a content type.' },
  }),
  get('getAdhocDataUsingGET', '/v1/data/adhoc/{groupId}/{bucketId}/**', {
    demands: sharedKnowledge,
    summary: 'Get an object of a bucket',
    description: 'An object of a bucket, by its name; slashes belong to the name.',
    handle: streamAdhoc,
    answer: content,
  }),
]

async function streamStatic({ path, query }: OperationRequest): Promise<StreamedAnswer> {
  const { id } = path as { id: string }
  const type = query['expectedContentType'] as string
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(type)) {
    throw new GatewayError('BAD_ARGUMENT', '"expectedContentType" must be a content type such as application/json.')
  }
  return new StreamedAnswer('clouddriver', { path: pathTo`/v1/data/static/${id}`, headers: { accept: `${type}, */*` } })
}

async function streamAdhoc({ path }: OperationRequest): Promise<StreamedAnswer> {
  const { groupId, bucketId, rest } = path as { groupId: string; bucketId: string; rest: string }
  return new StreamedAnswer('clouddriver', {
    path: `${pathTo`/v1/data/adhoc/${groupId}/${bucketId}`}/${encodeSegments(rest)}`,
    headers: { accept: '*/*' },
  })
}
