/** Subjects that a body mentions anywhere, for the check of limited tokens. */
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { storedTemplate } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { typesOf } from '@fairlead/model/rights/privileged-stages.ts'
import { readMember, walkBody } from './job-form.ts'
import { resourcesIn } from './resource-names.ts'
import {
  applicationsIn,
  type DemandSubject,
  keysOf,
  namesIn,
  type OwnedKind,
  textsIn,
  toDefinition,
  toNeed,
  toOwned,
} from './subject.ts'

/** What belongs to the user's own data: whatever is called an application in there is none. */
const ownData = new Set([
  'manifest',
  'manifests',
  'parameters',
  'pipelineParameters',
  'variables',
  'templateVariables',
])
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
const applicationKeys = new Set(['applicationName', 'strategyApplication'])
const changesProject = new Set(['upsertproject', 'deleteproject'])

/**
 * Everything that a body mentions, at any depth and in every document that it carries. Services judge most of it when it
 * happens, by what the user may do then; a token, which they do not know, is judged by it beforehand.
 */
export function subjectsMentionedIn(body: unknown): DemandSubject[] {
  const found: DemandSubject[] = []
  if (changesProjects(body)) found.push({ kind: 'shared' })
  walkBody(body, (key, value, owner) => {
    if (ownData.has(key)) return undefined
    const read = readMember(key, value, owner)
    if (changesProjects(read)) found.push({ kind: 'shared' })
    for (const name of applicationsIn(key, read)) found.push(toNeed(name, 'READ'))
    if (applicationKeys.has(key)) for (const name of namesIn(read)) found.push(toNeed(name, 'READ'))
    for (const subject of resourcesIn(key, read, owner as JsonObject, 'READ')) found.push(subject)
    for (const subject of idsIn(key, read)) found.push(subject)
    return read
  })
  return found
}

function changesProjects(value: unknown): boolean {
  return isObject(value) && typesOf(value).some((type) => changesProject.has(type))
}

function idsIn(key: string, value: unknown): DemandSubject[] {
  const what = Object.hasOwn(idKeys, key) ? idKeys[key] : undefined
  if (what !== undefined) return namesIn(value).map((id) => toOwned(what, id, 'READ'))
  if (key === 'parentExecution' && isObject(value))
    return textsIn(value['id']).map((id) => toOwned('execution', id, 'READ'))
  if (key === 'idsToIndices') return keysOf(value).map((id) => toDefinition(id, 'WRITE'))
  const template = storedTemplate(value)
  return template === undefined ? [] : [toOwned('template', template.name, 'READ')]
}
