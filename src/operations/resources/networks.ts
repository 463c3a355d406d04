/** Provider-wide lookups: instance types, subnets, virtual private networks. */
import { z } from 'zod'
import { operationsWith } from '../declare.ts'
import { sharedKnowledge } from '../demands.ts'
import { InstanceType, Network, Subnet } from '../models/infrastructure.ts'
import type { Operation } from '../operation.ts'

const { get } = operationsWith({ core: true, demands: sharedKnowledge, forward: 'clouddriver' })

export const networkOperations: Operation[] = [
  get('instanceTypesUsingGET', '/instanceTypes', {
    summary: 'List instance types',
    description: 'Instance types of every cloud provider.',
    answer: z.array(InstanceType),
  }),
  get('subnetsUsingGET', '/subnets', {
    summary: 'List AWS subnets',
    description: 'Subnets of AWS; other providers have a path of their own.',
    forward: { service: 'clouddriver', path: '/subnets/aws' },
    answer: z.array(Subnet),
  }),
  get('vpcsUsingGET', '/vpcs', {
    summary: 'List AWS virtual networks',
    description: 'Virtual private networks of AWS, the same as /networks/aws.',
    forward: { service: 'clouddriver', path: '/networks/aws' },
    answer: z.array(Network),
  }),
  get('allByCloudProviderUsingGET1', '/subnets/{cloudProvider}', {
    summary: 'List subnets of a provider',
    description: 'Subnets of one cloud provider; an unknown provider has none.',
    answer: z.array(Subnet),
  }),
  get('allUsingGET', '/networks', { summary: 'List networks by provider', answer: z.record(z.string(), z.array(Network)) }),
  get('allByCloudProviderUsingGET', '/networks/{cloudProvider}', {
    summary: 'List networks of a provider',
    answer: z.array(Network),
  }),
]
