/** Lookups that only the forms for Amazon ECS and for service brokers need. */

import { z } from 'zod'
import { readsAccount, sharedKnowledge } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { described, text } from '../schemas.ts'

const descriptionsPath = '/ecs/ecsClusterDescriptions/{account}/{region}'

const EcsCluster = described('EcsCluster', 'account', 'region', 'name')
const EcsClusterDescription = described('EcsClusterDescription', 'clusterName', 'clusterArn', 'status')
const EcsAlarm = described('EcsAlarm', 'alarmName', 'alarmArn', 'accountName', 'region')
const EcsSecret = described('EcsSecret', 'account', 'region', 'name', 'arn')
const EcsRegistry = described('EcsServiceRegistry', 'account', 'region', 'name', 'id', 'arn', 'displayName')
const BrokerService = described('BrokerService', 'name')
const ServiceInstance = described('ServiceInstance', 'name', 'status')

export const ecsOperations: Operation[] = [
  {
    id: 'getAllEcsClustersUsingGET',
    method: 'GET',
    path: '/ecs/ecsClusters',
    demands: sharedKnowledge,
    summary: 'List ECS clusters',
    forward: 'clouddriver',
    answer: z.array(EcsCluster),
  },
  {
    id: 'getAllEcsClusterDescriptionsUsingGET',
    method: 'GET',
    path: descriptionsPath,
    demands: readsAccount,
    summary: 'List ECS clusters of a region',
    description: 'ECS clusters of a region, with their capacity providers.',
    forward: 'clouddriver',
    answer: z.array(EcsClusterDescription),
  },
  {
    id: 'getAllEcsMetricAlarmsUsingGET',
    method: 'GET',
    path: '/ecs/cloudMetrics/alarms',
    demands: sharedKnowledge,
    summary: 'List ECS metric alarms',
    description: 'Metric alarms that ECS services may scale on.',
    forward: 'clouddriver',
    answer: z.array(EcsAlarm),
  },
  {
    id: 'getAllEcsSecretsUsingGET',
    method: 'GET',
    path: '/ecs/secrets',
    demands: sharedKnowledge,
    summary: 'List ECS secrets',
    description: 'Names of secrets that ECS tasks may use.',
    forward: 'clouddriver',
    answer: z.array(EcsSecret),
  },
  {
    id: 'getAllEcsServiceDiscoveryRegistriesUsingGET',
    method: 'GET',
    path: '/ecs/serviceDiscoveryRegistries',
    demands: sharedKnowledge,
    summary: 'List ECS service registries',
    description: 'Registries in which ECS services may be entered.',
    forward: 'clouddriver',
    answer: z.array(EcsRegistry),
  },
  {
    id: 'listServiceBrokerServicesUsingGET',
    method: 'GET',
    path: '/servicebroker/{account}/services',
    demands: readsAccount,
    summary: 'List services of a broker',
    description: 'Services that a broker offers in a region.',
    query: { cloudProvider: text.optional(), region: text },
    forward: 'clouddriver',
    answer: z.array(BrokerService),
  },
  {
    id: 'getServiceInstanceUsingGET',
    method: 'GET',
    path: '/servicebroker/{account}/serviceInstance',
    demands: readsAccount,
    summary: 'Get a service instance',
    description: 'One service instance that a broker made.',
    query: { cloudProvider: text, region: text, serviceInstanceName: text },
    forward: 'clouddriver',
    answer: ServiceInstance,
  },
]
