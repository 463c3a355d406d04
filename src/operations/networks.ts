/** Provider-wide lookups: instance types, subnets, virtual private networks. */
import { sharedKnowledge } from './demands.ts'
import type { Operation } from './operation.ts'
import { AnyObject, ObjectList } from './schemas.ts'

export const networkOperations: Operation[] = [
  {
    id: 'instanceTypesUsingGET',
    section: '4.1',
    method: 'GET',
    path: '/instanceTypes',
    demands: sharedKnowledge,
    summary: 'Instance types of every cloud provider.',
    forward: { service: 'clouddriver', path: '/instanceTypes' },
    answer: ObjectList,
  },
  {
    id: 'subnetsUsingGET',
    section: '4.1',
    method: 'GET',
    path: '/subnets',
    demands: sharedKnowledge,
    summary: 'Subnets of AWS; other providers have a path of their own.',
    forward: { service: 'clouddriver', path: '/subnets/aws' },
    answer: ObjectList,
  },
  {
    id: 'vpcsUsingGET',
    section: '4.1',
    method: 'GET',
    path: '/vpcs',
    demands: sharedKnowledge,
    summary: 'Virtual private networks of AWS, the same as /networks/aws.',
    forward: { service: 'clouddriver', path: '/networks/aws' },
    answer: ObjectList,
  },
  {
    id: 'allByCloudProviderUsingGET1',
    section: '4.1',
    method: 'GET',
    path: '/subnets/{cloudProvider}',
    demands: sharedKnowledge,
    summary: 'Subnets of one cloud provider; an unknown provider has none.',
    forward: { service: 'clouddriver', path: '/subnets/{cloudProvider}' },
    answer: ObjectList,
  },
  {
    id: 'allUsingGET',
    section: '4.1',
    method: 'GET',
    path: '/networks',
    demands: sharedKnowledge,
    summary: 'Networks, grouped by cloud provider.',
    forward: { service: 'clouddriver', path: '/networks' },
    answer: AnyObject,
  },
  {
    id: 'allByCloudProviderUsingGET',
    section: '4.1',
    method: 'GET',
    path: '/networks/{cloudProvider}',
    demands: sharedKnowledge,
    summary: 'Networks of one cloud provider.',
    forward: { service: 'clouddriver', path: '/networks/{cloudProvider}' },
    answer: ObjectList,
  },
]
