/** Lookups that only the forms for Amazon ECS and for service brokers need. */

import { z } from 'zod'
import { readsAccount, sharedKnowledge } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { AnyObject, ObjectList, text } from '../schemas.ts'

const descriptionsPath = '/ecs/ecsClusterDescriptions/{account}/{region}'

export const ecsOperations: Operation[] = [
  {
    id: 'getAllEcsClustersUsingGET',
    method: 'GET',
    path: '/ecs/ecsClusters',
    demands: sharedKnowledge,
    summary: 'List ECS clusters',
    forward: 'clouddriver',
    answer: ObjectList,
  },
  {
    id: 'getAllEcsClusterDescriptionsUsingGET',
    method: 'GET',
    path: descriptionsPath,
    demands: readsAccount,
    summary: 'List ECS clusters of a region',
    description: 'ECS clusters of a region, with their capacity providers.',
    forward: 'clouddriver',
    answer: ObjectList,
  },
  {
    id: 'getAllEcsMetricAlarmsUsingGET',
    method: 'GET',
    path: '/ecs/cloudMetrics/alarms',
    demands: sharedKnowledge,
    summary: 'List ECS metric alarms',
    description: 'Metric alarms that ECS services may scale on.',
    forward: 'clouddriver',
    answer: ObjectList,
  },
  {
    id: 'getAllEcsSecretsUsingGET',
    method: 'GET',
    path: '/ecs/secrets',
    demands: sharedKnowledge,
    summary: 'List ECS secrets',
    description: 'Names of secrets that ECS tasks may use.',
    forward: 'clouddriver',
    answer: ObjectList,
  },
  {
    id: 'getAllEcsServiceDiscoveryRegistriesUsingGET',
    method: 'GET',
    path: '/ecs/serviceDiscoveryRegistries',
    demands: sharedKnowledge,
    summary: 'List ECS service registries',
    description: 'Registries in which ECS services may be entered.',
    forward: 'clouddriver',
    answer: ObjectList,
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
    answer: z.array(AnyObject),
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
    answer: AnyObject,
  },
]
