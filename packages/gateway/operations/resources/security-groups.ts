/** Security groups, also as firewalls, load balancers and networks. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { maybeText, textModel } from '@fairlead/base/json/schemas.ts'
import { list, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { decodeSegment, pathTo } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { get, operationsWith, polledByUsers } from '../declare.ts'
import { filteredBy, readsAccount, readsApplicationByAccount, sharedKnowledge } from '../demands.ts'
import {
  InstanceType,
  LoadBalancerItem,
  LoadBalancerModel,
  Network,
  SecurityGroupModel,
  SecurityGroupSummary,
  Subnet,
} from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkList } from '../upstream-shape.ts'
import { loadWithAccount, textFields, toInsightActions } from './insights.ts'

const provider = textModel.default('aws')

const SecurityGroupsByRegion = z.record(z.string(), z.array(SecurityGroupSummary))
const SecurityGroupsByAccount = z.record(z.string(), z.record(z.string(), SecurityGroupsByRegion))

const group = operationsWith({ core: true, demands: readsAccount })

const securityGroups: Operation[] = [
  get('allUsingGET1', '/securityGroups', 'List security groups', {
    core: true,
    demands: filteredBy('key-account'),
    description:
      'Security groups by account, cloud provider and region; with `id`, the one that has this id.',
    query: { id: maybeText },
    handle: listOrFind,
    cost: 5,
    answer: SecurityGroupsByAccount.or(SecurityGroupModel),
    errors: { 404: 'No security group has this id.' },
  }),
  group.get(
    'allByAccountUsingGET',
    '/securityGroups/{account}',
    'List security groups of an account',
    {
      description: 'Security groups of an account by region; with `region`, a list.',
      query: { provider, region: maybeText },
      forward: 'clouddriver /securityGroups/{account}/{provider}',
      answer: SecurityGroupsByRegion.or(z.array(SecurityGroupSummary)),
    },
  ),
  group.get(
    'getSecurityGroupUsingGET',
    '/securityGroups/{account}/{region}/{name}',
    'Get a security group',
    {
      query: { provider, vpcId: maybeText },
      forward: 'clouddriver /securityGroups/{account}/{provider}/{region}/{name}',
      answer: SecurityGroupModel,
    },
  ),
]

const firewallIds: Readonly<Record<string, string>> = {
  allUsingGET1: 'allFirewallsUsingGET',
  allByAccountUsingGET: 'allFirewallsByAccountUsingGET',
  getSecurityGroupUsingGET: 'getFirewallUsingGET',
}

const firewalls: Operation[] = [
  ...securityGroups.map((operation) => ({
    ...operation,
    id: firewallIds[operation.id] ?? `${operation.id}Firewall`,
    core: false,
    path: operation.path.replace('/securityGroups', '/firewalls'),
  })),
  get(
    'allFirewallsByAccountAndRegionUsingGET',
    '/firewalls/{account}/{region}',
    'List firewalls of a region',
    {
      demands: readsAccount,
      query: { provider },
      forward: {
        service: 'clouddriver',
        path: '/securityGroups/{account}/{provider}',
        fromPath: ['region'],
      },
      answer: z.array(SecurityGroupSummary),
    },
  ),
]

export const securityGroupOperations: Operation[] = [...securityGroups, ...firewalls]

const toHit = shape({ url: String, region: textOf, vpcId: textOf })
const toSearch = shape({ results: list(toHit) })

async function listOrFind(request: OperationRequest): Promise<StreamedAnswer> {
  const id = String(request.query['id'] ?? '').trim()
  if (id === '') return new StreamedAnswer('clouddriver', { path: '/securityGroups' })
  const query = { q: id, type: 'securityGroups', pageSize: '10000', page: '1' }
  const [first] = checkList(
    (await request.json('clouddriver', { path: '/search', query })) ?? [],
    'clouddriver',
  )
  const [hit] = toSearch(first).results
  const place = hit && placeOf(hit)
  if (place === undefined)
    throw new GatewayError('NOT_FOUND', `There is no security group with the id "${id}".`)
  return new StreamedAnswer('clouddriver', place)
}

/** A hit names its group by an address of the form `/securityGroups/{account}/{provider}/…/{name}?region={region}`. */
function placeOf(
  hit: ShapeOf<typeof toHit>,
): { path: string; query: { vpcId?: string } } | undefined {
  const url = URL.parse(hit.url, 'http://hit')
  const [, account, cloudProvider, ...rest] = (url?.pathname ?? '')
    .split('/')
    .filter(Boolean)
    .map(decodeSegment)
  const name = rest.at(-1)
  const region = url?.searchParams.get('region') ?? hit.region
  if (!account || !cloudProvider || !name || !region) return undefined
  return {
    path: pathTo`/securityGroups/${account}/${cloudProvider}/${region}/${name}`,
    query: definedOf({ vpcId: hit.vpcId }),
  }
}

const lookup = operationsWith({ core: true, demands: sharedKnowledge, forward: 'clouddriver' })

export const networkOperations: Operation[] = [
  lookup.get('instanceTypesUsingGET', '/instanceTypes', 'List instance types', {
    answer: z.array(InstanceType),
  }),
  lookup.get('subnetsUsingGET', '/subnets', 'List AWS subnets', {
    description: 'Subnets of AWS; other providers have a path of their own.',
    forward: 'clouddriver /subnets/aws',
    answer: z.array(Subnet),
  }),
  lookup.get('vpcsUsingGET', '/vpcs', 'List AWS virtual networks', {
    description: 'Virtual private networks of AWS, the same as /networks/aws.',
    forward: 'clouddriver /networks/aws',
    answer: z.array(Network),
  }),
  lookup.get(
    'allByCloudProviderUsingGET1',
    '/subnets/{cloudProvider}',
    'List subnets of a provider',
    {
      description: 'Subnets of one cloud provider; an unknown provider has none.',
      answer: z.array(Subnet),
    },
  ),
  lookup.get('allUsingGET', '/networks', 'List networks by provider', {
    answer: z.record(z.string(), z.array(Network)),
  }),
  lookup.get(
    'allByCloudProviderUsingGET',
    '/networks/{cloudProvider}',
    'List networks of a provider',
    {
      answer: z.array(Network),
    },
  ),
]

const ofProvider = operationsWith({ core: true, query: { provider } })

export const loadBalancerOperations: Operation[] = [
  ofProvider.get('getAllUsingGET', '/loadBalancers', 'List load balancers', {
    demands: filteredBy('accounts'),
    forward: 'clouddriver /{provider}/loadBalancers',
    cost: 5,
    answer: z.array(LoadBalancerItem),
  }),
  ofProvider.get(
    'getLoadBalancerUsingGET',
    '/loadBalancers/{name}',
    'Find a load balancer by name',
    {
      demands: filteredBy('accounts'),
      description: 'One load balancer in all accounts and regions.',
      forward: 'clouddriver /{provider}/loadBalancers/{name}',
      answer: LoadBalancerItem,
    },
  ),
  ofProvider.get(
    'getLoadBalancerDetailsUsingGET',
    '/loadBalancers/{account}/{region}/{name}',
    'Get a load balancer',
    {
      demands: readsAccount,
      description:
        'Details of one load balancer, with the links of `insights.loadBalancer`. An unknown one is `[]`.',
      handle: loadDetails,
      answer: z.array(LoadBalancerModel),
    },
  ),
  get(
    'getApplicationLoadBalancersUsingGET',
    '/applications/{application}/loadBalancers',
    'List load balancers of an application',
    {
      core: true,
      ...polledByUsers,
      demands: readsApplicationByAccount,
      forward: 'clouddriver',
      answer: z.array(LoadBalancerModel),
    },
  ),
]

async function loadDetails(
  request: OperationRequest,
  { settings }: Platform,
): Promise<JsonObject[]> {
  const { account = '', region = '', name = '' } = request.path
  const path = pathTo`/${String(request.query['provider'])}/loadBalancers/${account}/${region}/${name}`
  try {
    const loaded = await loadWithAccount(request, { path })
    return checkList(loaded.resource, 'clouddriver').map((loadBalancer) => ({
      ...loadBalancer,
      insightActions: toInsightActions(settings.insights.loadBalancer, [
        { account, region },
        textFields(loadBalancer),
        loaded.account,
      ]),
    }))
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return []
    throw error
  }
}
