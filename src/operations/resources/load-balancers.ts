/** Load balancers: of a cloud provider, of an application, and the details of one. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { textModel } from '../../json/schemas.ts'
import type { JsonObject } from '../../json/values.ts'
import { pathTo } from '../../net/encode-path.ts'
import { get, operationsWith, polledByUsers } from '../declare.ts'
import { filteredBy, readsAccount, readsApplicationByAccount } from '../demands.ts'
import { LoadBalancerItem, LoadBalancerModel } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkList } from '../upstream-shape.ts'
import { loadWithAccount, textFields, toInsightActions } from './insights.ts'

const provider = textModel.default('aws')

const ofProvider = operationsWith({ core: true, query: { provider } })

export const loadBalancerOperations: Operation[] = [
  ofProvider.get('getAllUsingGET', '/loadBalancers', {
    demands: filteredBy('accounts'),
    summary: 'List load balancers',
    forward: { service: 'clouddriver', path: '/{provider}/loadBalancers' },
    cost: 5,
    answer: z.array(LoadBalancerItem),
  }),
  ofProvider.get('getLoadBalancerUsingGET', '/loadBalancers/{name}', {
    demands: filteredBy('accounts'),
    summary: 'Find a load balancer by name',
    description: 'One load balancer in all accounts and regions.',
    forward: { service: 'clouddriver', path: '/{provider}/loadBalancers/{name}' },
    answer: LoadBalancerItem,
  }),
  ofProvider.get('getLoadBalancerDetailsUsingGET', '/loadBalancers/{account}/{region}/{name}', {
    demands: readsAccount,
    summary: 'Get a load balancer',
    description: 'Details of one load balancer, with the links of `insights.loadBalancer`. An unknown one is `[]`.',
    handle: loadDetails,
    answer: z.array(LoadBalancerModel),
  }),
  get('getApplicationLoadBalancersUsingGET', '/applications/{application}/loadBalancers', {
    core: true,
    ...polledByUsers,
    demands: readsApplicationByAccount,
    summary: 'List load balancers of an application',
    forward: 'clouddriver',
    answer: z.array(LoadBalancerModel),
  }),
]

async function loadDetails(request: OperationRequest, { settings }: Platform): Promise<JsonObject[]> {
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
