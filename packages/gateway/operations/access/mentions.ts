/** Subjects that a body mentions anywhere, for the check of limited tokens. */
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { storedTemplate } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { typesOf } from '@fairlead/model/rights/privileged-stages.ts'
import { stageDescriptions } from '@fairlead/model/stage-types/all.ts'
import { type Field, namesOf } from '@fairlead/model/stage-types/description.ts'
import { readMember, walkBody } from './job-form.ts'
import { resourcesIn } from './resource-names.ts'
import {
  applicationsIn,
  type DemandSubject,
  hidden,
  isHidden,
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
const naming = new Set([
  ...['application', 'moniker', 'cluster', 'pipeline', 'serverGroupName', 'asgName'],
  ...['control', 'experiment'],
])
/** Fields of stages whose members name applications or pipelines: an expression in their place brings names that are not checked. */
const holders = new Set(
  [...stageDescriptions.values()].flatMap(({ fields }) => fields.flatMap(holdersIn)),
)
const changesProject = new Set(['upsertproject', 'deleteproject'])

/**
 * Everything that a body mentions, at any depth and in every document that it carries. Services check most of it when it
 * happens, by what the user may do then; a token, which they do not know, is checked by it beforehand.
 */
export function subjectsMentionedIn(body: unknown): DemandSubject[] {
  const found: DemandSubject[] = []
  if (changesProjects(body)) found.push({ kind: 'shared' })
  walkBody(body, (key, value, owner) => {
    if (ownData.has(key)) return undefined
    const read = readMember(key, value, owner)
    if (changesProjects(read)) found.push({ kind: 'shared' })
    if (holders.has(key) && [read].flat().some(isHidden)) found.push(hidden())
    for (const name of applicationsIn(key, read)) found.push(toNeed(name, 'READ'))
    if (applicationKeys.has(key)) for (const name of namesIn(read)) found.push(toNeed(name, 'READ'))
    for (const subject of resourcesIn(key, read, owner as JsonObject, 'READ')) found.push(subject)
    for (const subject of idsIn(key, read)) found.push(subject)
    return read
  })
  return found
}

function holdersIn(field: Field): string[] {
  const members = [...(field.fields ?? []), ...(field.hiddenFields ?? [])]
  const isHolder = /^(?:objects?|json)$/.test(field.kind) && isNaming(field)
  return [...(isHolder ? namesOf(field) : []), ...members.flatMap(holdersIn)]
}

function isNaming({ name, fields = [], hiddenFields = [] }: Field): boolean {
  return naming.has(name) || [...fields, ...hiddenFields].some(isNaming)
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
