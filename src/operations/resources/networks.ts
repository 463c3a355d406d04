/** Provider-wide lookups: instance types, subnets, virtual private networks. */
import { z } from 'zod'
import { sharedKnowledge } from '../demands.ts'
import { InstanceType, Network, Subnet } from '../models/infrastructure.ts'
import type { Operation } from '../operation.ts'

export const networkOperations: Operation[] = [
  {
    id: 'instanceTypesUsingGET',
    core: true,
    method: 'GET',
    path: '/instanceTypes',
    demands: sharedKnowledge,
    summary: 'List instance types',
    description: 'Instance types of every cloud provider.',
    forward: 'clouddriver',
    answer: z.array(InstanceType),
  },
  {
    id: 'subnetsUsingGET',
    core: true,
    method: 'GET',
    path: '/subnets',
    demands: sharedKnowledge,
    summary: 'List AWS subnets',
    description: 'Subnets of AWS; other providers have a path of their own.',
    forward: { service: 'clouddriver', path: '/subnets/aws' },
    answer: z.array(Subnet),
  },
  {
    id: 'vpcsUsingGET',
    core: true,
    method: 'GET',
    path: '/vpcs',
    demands: sharedKnowledge,
    summary: 'List AWS virtual networks',
    description: 'Virtual private networks of AWS, the same as /networks/aws.',
    forward: { service: 'clouddriver', path: '/networks/aws' },
    answer: z.array(Network),
  },
  {
    id: 'allByCloudProviderUsingGET1',
    core: true,
    method: 'GET',
    path: '/subnets/{cloudProvider}',
    demands: sharedKnowledge,
    summary: 'List subnets of a provider',
    description: 'Subnets of one cloud provider; an unknown provider has none.',
    forward: 'clouddriver',
    answer: z.array(Subnet),
  },
  {
    id: 'allUsingGET',
    core: true,
    method: 'GET',
    path: '/networks',
    demands: sharedKnowledge,
    summary: 'List networks by provider',
    forward: 'clouddriver',
    answer: z.record(z.string(), z.array(Network)),
  },
  {
    id: 'allByCloudProviderUsingGET',
    core: true,
    method: 'GET',
    path: '/networks/{cloudProvider}',
    demands: sharedKnowledge,
    summary: 'List networks of a provider',
    forward: 'clouddriver',
    answer: z.array(Network),
  },
]
