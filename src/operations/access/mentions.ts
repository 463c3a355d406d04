/** Subjects that a body mentions anywhere, for the check of limited tokens. */

import { isObject, type JsonObject, objectOf } from '../../json/values.ts'
import { parseMoniker } from '../../moniker.ts'
import { storedTemplate } from '../../pipeline-templates/inheritance.ts'
import { readMember, typesOf, walkBody } from './job-form.ts'
import {
  applicationsIn,
  hidden,
  isHidden,
  keysOf,
  namesIn,
  type OwnedKind,
  ownersBySelectors,
  type Subject,
  texts,
  toDefinition,
  toNeed,
  toOwned,
} from './subject.ts'

/** What belongs to the user's own data: whatever is called an application in there is none. */
const ownData = new Set(['manifest', 'manifests', 'parameters', 'pipelineParameters', 'variables', 'templateVariables'])
/** What bodies call by its id, under these keys. */
const idKeys: Readonly<Record<string, OwnedKind>> = {
  pipeline: 'definition',
  pipelineId: 'definition',
  pipelineConfigId: 'definition',
  executionId: 'execution',
  executionIds: 'execution',
  parentPipelineId: 'execution',
  parentPipelineExecutionId: 'execution',
  canaryConfigId: 'canary-config',
  strategyPipeline: 'definition',
}
/** Names of applications, besides those that every operation knows. */
const applicationKeys = new Set(['applicationName', 'strategyApplication'])
/** Names of resources, which begin with that of their application. */
const resourceKeys = new Set([
  ...['serverGroupName', 'asgName', 'cluster', 'clusterName', 'targetCluster', 'loadBalancerName', 'securityGroupName'],
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
const changesProject = new Set(['upsertproject', 'deleteproject'])

/**
 * Everything that a body mentions, at any depth and in every document that it carries. Services judge most of it when it
 * happens, by what the user may do then; a token, which they do not know, is judged by it beforehand.
 */
export function subjectsMentionedIn(body: unknown): Subject[] {
  const found: Subject[] = []
  if (changesProjects(body)) found.push({ kind: 'shared' })
  walkBody(body, (key, value, owner) => {
    if (ownData.has(key)) return undefined
    const read = readMember(key, value, owner)
    if (changesProjects(read)) found.push({ kind: 'shared' })
    for (const name of applicationsIn(key, read)) found.push(toNeed(name, 'READ'))
    for (const name of ownersIn(key, read, owner)) found.push(toNeed(name, 'READ'))
    for (const subject of idsIn(key, read)) found.push(subject)
    for (const subject of deployedIn(key, read, owner as JsonObject)) found.push(subject)
    return read
  })
  return found
}

function changesProjects(value: unknown): boolean {
  return isObject(value) && typesOf(value).some((type) => changesProject.has(type))
}

function ownersIn(key: string, value: unknown, owner: object): string[] {
  if (applicationKeys.has(key)) return namesIn(value)
  return resourcesIn(key, value, owner).flatMap((name) => parseMoniker(name.trim()).app ?? [])
}

function resourcesIn(key: string, value: unknown, owner: object): string[] {
  if (resourceKeys.has(key)) return namesIn(value)
  const types = typesOf(owner as JsonObject)
  if (key === 'name' && types.some((type) => namesResource.test(type))) return namesIn(value)
  const isList = types.some((type) => namesResources[type] === key)
  return isList && Array.isArray(value) ? value.flatMap((entry) => texts(objectOf(entry)['name'])) : []
}

/** Instances, manifests and jobs, whose names do not say to which application they belong. */
function deployedIn(key: string, value: unknown, owner: JsonObject): Subject[] {
  const types = typesOf(owner)
  if (key === 'instanceIds' || (key === 'instance' && types.includes('terminateinstanceanddecrementservergroup'))) {
    return namesIn(value).map((id) => toDeployed('instance', id, owner))
  }
  if (key === 'labelSelectors') {
    const owners = ownersBySelectors(value)
    if (owners.length > 0) return owners.map((name) => toNeed(name, 'READ'))
    return isObject(value) ? [{ kind: 'deployed', what: 'manifest', id: 'labels', account: undefined, region: undefined }] : []
  }
  if (key === 'manifestName') return namesIn(value).map((name) => toDeployed('manifest', name, owner))
  const isJob = (key === 'jobName' || key === 'jobId') && types.includes('destroyjob')
  return isJob ? texts(value).map((id) => toDeployed('job', id, owner)) : []
}

function toDeployed(what: Extract<Subject, { kind: 'deployed' }>['what'], id: string, owner: JsonObject): Subject {
  const account = onlyNameUnder(owner, accountKeys)
  // Where a region is named, what else says where is in it.
  const region = onlyNameUnder(owner, ['region']) ?? onlyNameUnder(owner, regionKeys)
  const application = what === 'job' ? onlyNameUnder(owner, ['application']) : undefined
  if ([id, account, region, application].some(isHidden)) return hidden()
  return { kind: 'deployed', what, id: id.trim(), account, region, ...(application !== undefined && { application }) }
}

/** Undefined when there is none, or more than one: services differ in which of several they take. */
function onlyNameUnder(owner: JsonObject, keys: readonly string[]): string | undefined {
  const names = new Set(keys.flatMap((key) => namesIn(owner[key])).map((name) => name.trim()))
  const [only] = names
  return names.size === 1 ? only : undefined
}

function idsIn(key: string, value: unknown): Subject[] {
  const what = Object.hasOwn(idKeys, key) ? idKeys[key] : undefined
  if (what !== undefined) return namesIn(value).map((id) => toOwned(what, id, 'READ'))
  if (key === 'parentExecution' && isObject(value)) return texts(value['id']).map((id) => toOwned('execution', id, 'READ'))
  if (key === 'idsToIndices') return keysOf(value).map((id) => toDefinition(id, 'WRITE'))
  const template = storedTemplate(value)
  return template === undefined ? [] : [toOwned('template', template.name, 'READ')]
}
