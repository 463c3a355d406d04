/** Security groups under their newer name, and the one list that only the newer name has. */
import { z } from 'zod'
import { readsAccount } from '../demands.ts'
import { SecurityGroupSummary } from '../models/infrastructure.ts'
import type { Operation } from '../operation.ts'
import { text } from '../schemas.ts'
import { securityGroupOperations } from './security-groups.ts'

const newerIds: Readonly<Record<string, string>> = {
  allUsingGET1: 'allFirewallsUsingGET',
  allByAccountUsingGET: 'allFirewallsByAccountUsingGET',
  getSecurityGroupUsingGET: 'getFirewallUsingGET',
}

export const firewallOperations: Operation[] = [
  ...securityGroupOperations.map((operation) => ({
    ...operation,
    id: newerIds[operation.id] ?? `${operation.id}Firewall`,
    section: 'beyond',
    path: operation.path.replace('/securityGroups', '/firewalls'),
  })),
  {
    id: 'allFirewallsByAccountAndRegionUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/firewalls/{account}/{region}',
    demands: readsAccount,
    summary: 'List firewalls of a region',
    description: 'Security groups of a region.',
    query: { provider: text.default('aws') },
    forward: { service: 'clouddriver', path: '/securityGroups/{account}/{provider}', query: ['region'] },
    answer: z.array(SecurityGroupSummary),
  },
]
