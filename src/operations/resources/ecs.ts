/** Lookups that only the forms for Amazon ECS and for service brokers need. */

import { z } from 'zod'
import { operationsWith } from '../declare.ts'
import { readsAccount, sharedKnowledge } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { described, textModel } from '../schemas.ts'

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
