/** Resources of the infrastructure that jobs name, by name or by label, and to whom they belong. */
import { isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import type { Authorization } from '@fairlead/model/rights/permissions.ts'
import { typesOf } from '@fairlead/model/rights/privileged-stages.ts'
import {
  type DemandSubject,
  hidden,
  isHidden,
  namesIn,
  ownersBySelectors,
  textsIn,
  toNeed,
} from './subject.ts'

const resourceKeys = new Set([
  ...[
    'serverGroupName',
    'asgName',
    'cluster',
    'clusterName',
    'targetCluster',
    'loadBalancerName',
    'securityGroupName',
  ],
  ...[
    'serverGroupNames',
    'loadBalancerNames',
    'loadBalancers',
    'restoreServerGroupName',
    'rollbackServerGroupName',
    'originalServerGroup',
  ],
])
/** Types of jobs, in lower case, whose `name` is that of such a resource; those of several have one in each entry of a list. */
const namesResource = /^(?:upsert|delete)(?:loadbalancer|securitygroup)$/
const namesResources: Readonly<Record<string, string>> = { upsertloadbalancers: 'loadBalancers' }
const accountKeys = ['credentials', 'account', 'accountName', 'account.name']
const regionKeys = ['region', 'regions', 'namespace', 'namespaces', 'location', 'zone', 'zones']

export function resourcesIn(
  key: string,
  value: unknown,
  owner: JsonObject,
  authorization: Authorization,
): DemandSubject[] {
  const names = namesOfResources(key, value, owner)
  const owners = names.flatMap((name) =>
    isHidden(name) ? name : (parseMoniker(name.trim()).app ?? []),
  )
  return [
    ...owners.map((name) => toNeed(name, authorization)),
    ...deployedIn(key, value, owner, authorization),
  ]
}

function namesOfResources(key: string, value: unknown, owner: JsonObject): string[] {
  const types = typesOf(owner)
  const ofEntries = types.some((type) => namesResources[type] === key)
    ? objectsOf(value).flatMap(({ name }) => textsIn(name))
    : []
  const isName =
    resourceKeys.has(key) || (key === 'name' && types.some((type) => namesResource.test(type)))
  return isName ? [...namesIn(value), ...ofEntries] : ofEntries
}

/** Instances, manifests and jobs, whose names do not say to which application they belong. */
function deployedIn(
  key: string,
  value: unknown,
  owner: JsonObject,
  authorization: Authorization,
): DemandSubject[] {
  const types = typesOf(owner)
  const all = (what: DeployedKind, names: string[]) =>
    names.map((id) => toDeployed(what, id, owner, authorization))
  if (
    key === 'instanceIds' ||
    (key === 'instance' && types.includes('terminateinstanceanddecrementservergroup'))
  ) {
    return all('instance', namesIn(value))
  }
  // The application in which the newest, oldest or largest manifest of a cluster is sought.
  if (key === 'app' && types.some((type) => type.endsWith('manifest'))) {
    return textsIn(value).map((name) => toNeed(name, authorization))
  }
  if (key === 'labelSelectors') {
    const owners = ownersBySelectors(value)
    if (owners.length > 0) return owners.map((name) => toNeed(name, authorization))
    // They reach the manifests of all applications.
    return isObject(value) ? [toDeployed('manifest', 'labels', {}, authorization)] : []
  }
  if (key === 'manifestName') return all('manifest', namesIn(value))
  const isJob = (key === 'jobName' || key === 'jobId') && types.includes('destroyjob')
  return isJob ? all('job', textsIn(value)) : []
}

type DeployedKind = Extract<DemandSubject, { kind: 'deployed' }>['what']

function toDeployed(
  what: DeployedKind,
  id: string,
  owner: JsonObject,
  authorization: Authorization,
): DemandSubject {
  const account = onlyNameUnder(owner, accountKeys)
  // Where a region is named, what else says where is in it.
  const region = onlyNameUnder(owner, ['region']) ?? onlyNameUnder(owner, regionKeys)
  const application = what === 'job' ? onlyNameUnder(owner, ['application']) : undefined
  if ([id, account, region, application].some(isHidden)) return hidden()
  const named = application !== undefined && { application }
  return { kind: 'deployed', what, id: id.trim(), account, region, authorization, ...named }
}

/** Undefined when there is none, or more than one: services differ in which of several they take. */
function onlyNameUnder(owner: JsonObject, keys: readonly string[]): string | undefined {
  const names = new Set(keys.flatMap((key) => namesIn(owner[key])).map((name) => name.trim()))
  const [only] = names
  return names.size === 1 ? only : undefined
}
