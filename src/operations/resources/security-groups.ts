/** Security groups, also as firewalls: lists, and look-ups by name and id. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { textModel } from '../../json/schemas.ts'
import { isObject, type JsonObject, listOf } from '../../json/values.ts'
import { decodeSegment, pathTo } from '../../net/encode-path.ts'
import { get, operationsWith } from '../declare.ts'
import { filteredBy, readsAccount } from '../demands.ts'
import { SecurityGroupModel, SecurityGroupSummary } from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { checkList } from '../upstream-shape.ts'

const provider = textModel.default('aws')

const SecurityGroupsByRegion = z.record(z.string(), z.array(SecurityGroupSummary))
const SecurityGroupsByAccount = z.record(z.string(), z.record(z.string(), SecurityGroupsByRegion))

const group = operationsWith({ core: true, demands: readsAccount })

const securityGroups: Operation[] = [
  get('allUsingGET1', '/securityGroups', {
    core: true,
    demands: filteredBy('key-account'),
    summary: 'List security groups',
    description: 'Security groups by account, cloud provider and region; with `id`, the one that has this id.',
    query: { id: textModel.optional() },
    handle: listOrFind,
    cost: 5,
    answer: SecurityGroupsByAccount.or(SecurityGroupModel),
    errors: { 404: 'No security group has this id.' },
  }),
  group.get('allByAccountUsingGET', '/securityGroups/{account}', {
    summary: 'List security groups of an account',
    description: 'Security groups of an account by region; with `region`, a list.',
    query: { provider, region: textModel.optional() },
    forward: { service: 'clouddriver', path: '/securityGroups/{account}/{provider}' },
    answer: SecurityGroupsByRegion.or(z.array(SecurityGroupSummary)),
  }),
  group.get('getSecurityGroupUsingGET', '/securityGroups/{account}/{region}/{name}', {
    summary: 'Get a security group',
    query: { provider, vpcId: textModel.optional() },
    forward: { service: 'clouddriver', path: '/securityGroups/{account}/{provider}/{region}/{name}' },
    answer: SecurityGroupModel,
  }),
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
  get('allFirewallsByAccountAndRegionUsingGET', '/firewalls/{account}/{region}', {
    demands: readsAccount,
    summary: 'List firewalls of a region',
    query: { provider },
    forward: { service: 'clouddriver', path: '/securityGroups/{account}/{provider}', fromPath: ['region'] },
    answer: z.array(SecurityGroupSummary),
  }),
]

export const securityGroupOperations: Operation[] = [...securityGroups, ...firewalls]

async function listOrFind(request: OperationRequest): Promise<StreamedAnswer> {
  const id = String(request.query['id'] ?? '').trim()
  if (id === '') return new StreamedAnswer('clouddriver', { path: '/securityGroups' })
  const query = { q: id, type: 'securityGroups', pageSize: '10000', page: '1' }
  const [first] = checkList((await request.json('clouddriver', { path: '/search', query })) ?? [], 'clouddriver')
  const hits = listOf(first?.['results'])
  const place = isObject(hits[0]) ? placeOf(hits[0]) : undefined
  if (place === undefined) throw new GatewayError('NOT_FOUND', `There is no security group with the id "${id}".`)
  return new StreamedAnswer('clouddriver', place)
}

/** A hit names its group by an address of the form `/securityGroups/{account}/{provider}/…/{name}?region={region}`. */
function placeOf(hit: JsonObject): { path: string; query: { vpcId?: string } } | undefined {
  const url = URL.parse(String(hit['url']), 'http://hit')
  const [, account, cloudProvider, ...rest] = (url?.pathname ?? '').split('/').filter(Boolean).map(decodeSegment)
  const name = rest.at(-1)
  const region = url?.searchParams.get('region') ?? hit['region']
  if (!account || !cloudProvider || !name || typeof region !== 'string' || region === '') return undefined
  const vpcId = hit['vpcId']
  return {
    path: pathTo`/securityGroups/${account}/${cloudProvider}/${region}/${name}`,
    query: typeof vpcId === 'string' && vpcId !== '' ? { vpcId } : {},
  }
}
