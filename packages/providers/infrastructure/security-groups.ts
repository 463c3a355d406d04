/** Security groups: by account, provider and region, and the details of one. */
import { PortError } from '@fairlead/ports/port-error.ts'
import { pathValues, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { SecurityGroup } from './model.ts'
import {
  type Answer,
  type Asked,
  accessOf,
  get,
  type Infrastructure,
  type InfrastructureRoute,
  securityGroupsOf,
} from './route.ts'
import { byName, toSecurityGroupSummary, toSecurityGroupView } from './views.ts'

/** Account, provider, region: three levels of maps above the lists. */
const all: Answer = async (request, infrastructure) => {
  const access = await accessOf(request, infrastructure)
  const groups = securityGroupsOf(infrastructure).filter(({ account }) => access.mayOnAccount(account, 'READ'))
  return nest(groups, [({ account }) => account, ({ provider }) => provider, ({ region }) => region])
}

type Key = (group: SecurityGroup) => string

function nest(groups: readonly SecurityGroup[], [key, ...rest]: readonly Key[]): unknown {
  if (key === undefined) return groups.map(toSecurityGroupSummary).sort(byName)
  const grouped = Map.groupBy(groups, key)
  return Object.fromEntries([...grouped].map(([name, each]) => [name, nest(each, rest)]))
}

const ofProvider: Answer = (request, infrastructure) => {
  const region = queryValue(request, 'region')
  const groups = groupsOf(request, infrastructure).filter((group) => region === undefined || group.region === region)
  return nest(groups, region === undefined ? [(group) => group.region] : [])
}

function groupsOf(request: Asked, infrastructure: Infrastructure): SecurityGroup[] {
  const { account, provider } = pathValues(request, 'account', 'provider')
  return securityGroupsOf(infrastructure).filter(
    (group) => group.account === account && group.provider === provider.toLowerCase(),
  )
}

const details: Answer = (request, infrastructure) => {
  const { region, name } = pathValues(request, 'region', 'name')
  const vpcId = queryValue(request, 'vpcId') ?? '*'
  const found = groupsOf(request, infrastructure).filter(
    (group) => group.region === region && group.name === name && (vpcId === '*' || (group.vpcId ?? '') === vpcId),
  )
  const [only] = found
  if (only === undefined || found.length > 1) throw new PortError(404, `Security group '${name}' does not exist`)
  return toSecurityGroupView(only)
}

const reads = ['account'] as const

export const securityGroupByName = get('/securityGroups/:account/:provider/:region/:name', details, reads)

export const securityGroupRoutes: InfrastructureRoute[] = [
  get('/securityGroups', all),
  get('/securityGroups/:account/:provider', ofProvider, reads),
  securityGroupByName,
]
