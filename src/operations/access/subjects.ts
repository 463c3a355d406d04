/** Reads what a body is about: applications and accounts by name, and by id what has to be looked up. */

import { GatewayError } from '../../errors.ts'
import { isRawNumber } from '../../json/json.ts'
import { isObject, type JsonObject, objectOf, objectsOf } from '../../json/values.ts'
import { pluginApplication } from '../../permissions/application-name.ts'
import type { Need } from '../../permissions/decide.ts'
import { foldName } from '../../permissions/fold-name.ts'
import type { Authorization } from '../../permissions/permissions.ts'
import { storedTemplate } from '../../pipeline-templates/inheritance.ts'
import { decodeDocument, typesOf } from './job-form.ts'

/** Things of which a service knows to which applications they belong. */
export type OwnedKind = 'execution' | 'task' | 'definition' | 'strategy' | 'template' | 'canary-config'

/** One thing that a request is about. */
export type Subject =
  | { readonly kind: 'need'; readonly need: Need }
  /** Its owner is looked up by the id. `live` leaves out definitions that are deleted. */
  | {
      readonly kind: 'owned'
      readonly what: OwnedKind
      readonly id: string
      readonly authorization: Authorization
      readonly live?: true
    }
  /** A pipeline template as the body has it. */
  | { readonly kind: 'template'; readonly template: JsonObject }
  /** A canary configuration as the body has it. */
  | { readonly kind: 'canary-config'; readonly config: JsonObject }
  /** Projects: they belong to no application, and show several. */
  | { readonly kind: 'shared' }
  /** Something that has to be named, and is not, or by an expression, which is replaced after the check. */
  | { readonly kind: 'hidden'; readonly problem: string }

/** Types of jobs, in lower case: a type in another case means the same. */
const createsApplication = new Set(['createapplication', 'upsertapplication'])
const changesApplication = new Set([...createsApplication, 'updateapplication', 'deleteapplication'])
const changesTemplate = /^(?:create|update|delete)(?:v2)?pipelinetemplate$/
const changesProject = new Set(['upsertproject', 'deleteproject'])

/** Stages of a pipeline that change what belongs to applications: the store behind them does not check who does it. */
const privilegedStages = new Set([
  ...changesApplication,
  'savepipeline',
  'updatepipeline',
  'deletepipeline',
  'reorderpipelines',
  'pipeline',
])

/** Documents that a job carries, in which other keys with these names may stand. */
const documents = new Set(['manifest', 'manifests', 'pipeline', 'pipelines', 'attributes', 'parameters', 'context', 'trigger'])
const accountKeys = new Set(['account', 'credentials', 'accountName'])
/** Texts for people, and conditions: whatever an expression makes of them names nothing. */
const plainTexts = new Set(['name', 'description', 'comments', 'reason', 'expression'])
/** Plugins belong to an application of their own, whatever way they are changed. */
const pluginJobs = new Set(['upsertplugininfo', 'deleteplugininfo'])

const unclear = 'Permissions cannot be derived from an expression: name applications, accounts and definitions in plain text.'

/** Applications that the jobs of a task create, or change if they exist. */
export function applicationsCreatedBy(task: JsonObject): string[] {
  return jobsOf(task)
    .filter(isObject)
    .filter((job) => typesOf(job).some((type) => createsApplication.has(type)))
    .flatMap(({ application }) => texts(isObject(application) ? application['name'] : application))
    .filter((name) => !isHidden(name))
}

/** A task: where it is filed, what its jobs do, and the parent that its trigger names. */
export function subjectsOfTask(task: JsonObject): Subject[] {
  // A task may be filed under a name that is no application, such as that of the platform.
  const found: Subject[] = texts(task['application']).map((name) => toNeed(name, 'WRITE', { unlessUnknown: true }))
  return [...found, ...subjectsOfJobs(jobsOf(task)), ...subjectsOfTrigger(task['trigger'])]
}

function jobsOf(task: JsonObject): unknown[] {
  const jobs = task['job'] ?? task['stages'] ?? []
  return Array.isArray(jobs) ? jobs : [jobs]
}

export function subjectsOfJobs(jobs: readonly unknown[]): Subject[] {
  return jobs.filter(isObject).flatMap(subjectsOfJob)
}

/** A definition itself, wherever it will be stored. @throws {GatewayError} BAD_ARGUMENT */
export function subjectsOfDefinition(definition: JsonObject): Subject[] {
  const { triggers, idsToIndices } = definition
  return [
    ...subjectsOfStages(definition),
    ...hiddenKeys(definition),
    ...textOf(definition, 'application').map((name) => toNeed(name, 'WRITE')),
    ...[...textOf(definition, 'id'), ...keysOf(idsToIndices)].map((id) => toDefinition(id, 'WRITE')),
    ...objectsOf(triggers).flatMap(({ runAsUser }) =>
      // Nothing runs as a number.
      (typeof runAsUser === 'string' ? texts(runAsUser) : []).map((name) =>
        unlessHidden(name, { kind: 'need', need: { kind: 'service-account', name } }),
      ),
    ),
  ]
}

/**
 * A definition that is started as it is given: under the id of a stored one it counts as a run of that.
 *
 * @throws {GatewayError} BAD_ARGUMENT
 */
export function subjectsOfStart(definition: JsonObject): Subject[] {
  const { application, config, trigger } = definition
  const inner = objectOf(objectOf(config)['pipeline'])
  const isNamed = application !== undefined || inner['application'] !== undefined
  const ids = isNamed ? [...textOf(definition, 'id'), ...textOf(inner, 'pipelineConfigId')] : []
  return [
    ...subjectsOfStages(definition),
    ...hiddenKeys(definition),
    ...hiddenKeys(inner),
    ...[application, inner['application']].flatMap(texts).map((name) => toNeed(name, 'EXECUTE')),
    ...ids.map((id) => toDefinition(id, 'EXECUTE')),
    ...subjectsOfTrigger(trigger),
  ]
}

/** A trigger that names a run as its parent hands all of it over. */
export function subjectsOfTrigger(trigger: unknown): Subject[] {
  return texts(isObject(trigger) ? trigger['parentPipelineId'] : undefined).map((id) => toOwned('execution', id, 'READ'))
}

/** Needs of what runs without being stored. Its other stages are judged when they run. */
function subjectsOfStages({ stages }: JsonObject): Subject[] {
  return subjectsOfJobs(objectsOf(stages).filter(isPrivileged))
}

function isPrivileged(stage: JsonObject): boolean {
  return typesOf(stage).some((type) => privilegedStages.has(type) || changesTemplate.test(type))
}

function subjectsOfJob(job: JsonObject): Subject[] {
  const types = typesOf(job)
  const ofTypes = types.length === 0 ? subjectsOfOtherJob(job) : types.flatMap((type) => subjectsOfType(type, job))
  return [...hiddenKeys(job), ...ofTypes]
}

function subjectsOfType(type: string, job: JsonObject): Subject[] {
  if (type.includes('${')) return [hidden()]
  if (type === 'pipeline') return subjectsOfChild(job)
  if (type === 'reorderpipelines') return subjectsOfOrder(job)
  if (changesApplication.has(type)) return subjectsOfApplicationChange(type, job)
  if (changesTemplate.test(type)) return subjectsOfTemplateChange(job)
  if (pluginJobs.has(type)) return [toNeed(pluginApplication, 'WRITE')]
  return [...subjectsOfOtherJob(job), ...(type === 'deleteentitytags' ? subjectsOfTag(job) : [])]
}

function subjectsOfOtherJob(job: JsonObject): Subject[] {
  const carried = [job['pipeline'], job['pipelines']].flatMap((document): Subject[] => {
    const definitions = decodeDocument(document)
    const inner = (Array.isArray(definitions) ? definitions : [definitions]).filter(isObject).flatMap(subjectsOfDefinition)
    return isHidden(document) ? [hidden()] : inner
  })
  return [...carried, ...subjectsNamedIn(job)]
}

function subjectsOfChild({ application, pipeline, pipelineId }: JsonObject): Subject[] {
  const ids = [pipeline, pipelineId].filter((id) => typeof id === 'string' && id !== '')
  return [
    ...(typeof application === 'string' ? [toNeed(application, 'EXECUTE')] : []),
    ...ids.map((id) => toDefinition(id as string, 'EXECUTE')),
  ]
}

/** `provider:type:id:account:region`; the id in the middle may have colons itself. */
function subjectsOfTag({ id }: JsonObject): Subject[] {
  if (isHidden(id)) return [hidden()]
  const account = typeof id === 'string' ? (id.split(':').at(-2) ?? '') : ''
  return account === '' || account === '*' ? [] : [toAccount(account)]
}

function subjectsOfTemplateChange(job: JsonObject): Subject[] {
  const template = decodeDocument(job['pipelineTemplate'])
  const given = objectOf(template)
  const ids = [job['id'], job['pipelineTemplateId'], given['id']].filter((id) => typeof id === 'string')
  return [
    ...(isHidden(job['pipelineTemplate']) ? [hidden()] : []),
    ...(isObject(template) ? [{ kind: 'template', template } as const] : []),
    ...[...new Set(ids)].map((id) => toOwned('template', id, 'WRITE')),
  ]
}

function subjectsOfOrder(job: JsonObject): Subject[] {
  const [application, places] = [job['application'], job['idsToIndices']].map(decodeDocument)
  return [
    ...[job['application'], job['idsToIndices']].filter(isHidden).map(() => hidden()),
    ...(typeof application === 'string' ? [toNeed(application, 'WRITE')] : []),
    ...keysOf(places).map((id) => toDefinition(id, 'WRITE')),
  ]
}

function subjectsOfApplicationChange(type: string, { application }: JsonObject): Subject[] {
  const keys = isObject(application) ? hiddenKeys(application) : []
  const name = isObject(application) ? application['name'] : application
  if (typeof name !== 'string' || name.trim() === '')
    return [
      { kind: 'hidden', problem: `A job of the type ${type} has to name its application: send "application": {"name": …}.` },
    ]
  return [...keys, toNeed(name, createsApplication.has(type) ? 'CREATE' : 'WRITE')]
}

/** Names at any depth, except inside documents that the job only carries. */
function subjectsNamedIn(job: JsonObject): Subject[] {
  const found: Subject[] = []
  const open: unknown[] = [job]
  while (open.length > 0) {
    const next = open.pop() ?? {}
    found.push(...(Array.isArray(next) ? [] : hiddenKeys(next)))
    for (const key in next) {
      const inner = (next as JsonObject)[key]
      if (accountKeys.has(key)) for (const name of namesIn(inner)) found.push(toAccount(name))
      for (const name of applicationsIn(key, inner)) found.push(toNeed(name, 'WRITE'))
      // A text that is an expression and nothing else may become an object, with names of its own.
      if (typeof inner === 'string' && /^\$\{.*\}$/s.test(inner) && !plainTexts.has(key) && !documents.has(key))
        found.push(hidden())
      if (typeof inner === 'object' && !documents.has(key)) open.push(inner)
    }
  }
  return found
}

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
}
const encodedDocuments = new Set(['pipeline', 'pipelines', 'pipelineTemplate', 'idsToIndices'])

/**
 * Everything that a body mentions, at any depth and in every document that it carries. Services judge most of it when it
 * happens, by what the user may do then; a token, which they do not know, is judged by it beforehand.
 */
export function subjectsMentionedIn(body: unknown): Subject[] {
  const found: Subject[] = []
  const open: unknown[] = [body]
  while (open.length > 0) {
    const next = open.pop()
    if (!Array.isArray(next) && !isObject(next)) continue
    if (Buffer.isBuffer(next)) continue
    const types = isObject(next) ? typesOf(next) : []
    if (types.some((type) => changesProject.has(type))) found.push({ kind: 'shared' })
    for (const [key, value] of Object.entries(next)) {
      if (ownData.has(key)) continue
      const isOrder = key === 'application' && types.includes('reorderpipelines')
      const inner = isOrder || encodedDocuments.has(key) ? decodeDocument(value) : value
      for (const name of applicationsIn(key, inner)) found.push(toNeed(name, 'READ'))
      for (const subject of idsIn(key, inner)) found.push(subject)
      if (typeof inner === 'object') open.push(inner)
    }
  }
  return found
}

function idsIn(key: string, value: unknown): Subject[] {
  const what = Object.hasOwn(idKeys, key) ? idKeys[key] : undefined
  if (what !== undefined) return namesIn(value).map((id) => toOwned(what, id, 'READ'))
  if (key === 'parentExecution' && isObject(value)) return texts(value['id']).map((id) => toOwned('execution', id, 'READ'))
  if (key === 'idsToIndices') return keysOf(value).map((id) => toDefinition(id, 'WRITE'))
  const template = storedTemplate(value)
  return template === undefined ? [] : [toOwned('template', template.name, 'READ')]
}

function applicationsIn(key: string, value: unknown): string[] {
  if (key === 'application') return texts(isObject(value) ? value['name'] : value)
  if (key === 'applications') return Array.isArray(value) ? value.flatMap(texts) : texts(value)
  return key === 'moniker' && isObject(value) ? texts(value['app']) : []
}

/** The applications that a template names as its scopes; one that names `global`, or none, is shared. */
export function scopesOf(template: JsonObject): { applications: string[]; isShared: boolean } {
  const metadata = objectOf(template['metadata'])
  const scopes = (Array.isArray(metadata['scopes']) ? metadata['scopes'] : []).flatMap((scope) =>
    typeof scope === 'string' ? scope.trim() || [] : [],
  )
  const applications = scopes.filter((scope) => foldName(scope) !== 'global')
  return { applications, isShared: scopes.length === 0 || applications.length < scopes.length }
}

/**
 * Services read a number as the text of it, and one that can be written in several ways each in its own.
 *
 * @throws {GatewayError} BAD_ARGUMENT
 */
export function texts(value: unknown): string[] {
  if (isRawNumber(value) && !/^-?[1-9]\d*$/.test(String(value))) {
    throw new GatewayError('BAD_ARGUMENT', `A name has to be a text, not the number ${value}. Put it in quotes.`)
  }
  const text = typeof value === 'number' || isRawNumber(value) ? String(value) : value
  return typeof text === 'string' && text.trim() !== '' ? [text] : []
}

/** A number is stored as the text of it; nothing else may stand in for a text. @throws {GatewayError} BAD_ARGUMENT */
function textOf(fields: JsonObject, key: string): string[] {
  const value = fields[key] ?? ''
  if (typeof value === 'object') throw new GatewayError('BAD_ARGUMENT', `"${key}" of a definition has to be a text.`)
  return value === '' ? [] : [String(value)]
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap(texts) : texts(value)
}

function keysOf(value: unknown): string[] {
  return isObject(value) ? Object.keys(value) : []
}

function toNeed(name: string, authorization: Authorization, more: { unlessUnknown?: true } = {}): Subject {
  return unlessHidden(name, { kind: 'need', need: { kind: 'application', name, authorization, ...more } })
}

function toAccount(name: string): Subject {
  return unlessHidden(name, { kind: 'need', need: { kind: 'account', name, authorization: 'WRITE' } })
}

function toOwned(what: OwnedKind, id: string, authorization: Authorization): Subject {
  return unlessHidden(id, { kind: 'owned', what, id, authorization })
}

/** In a body: a deleted one may be restored under its id with WRITE on its new application. */
function toDefinition(id: string, authorization: Authorization): Subject {
  return unlessHidden(id, { kind: 'owned', what: 'definition', id, authorization, live: true })
}

/** The orchestrator would replace an expression after the check. */
function unlessHidden(text: string, subject: Subject): Subject {
  return isHidden(text) ? hidden() : subject
}

function isHidden(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${')
}

/** Keys are evaluated, too, and a later one replaces what was checked. */
function hiddenKeys(fields: object): Subject[] {
  return Object.keys(fields).some(isHidden) ? [hidden()] : []
}

function hidden(): Subject {
  return { kind: 'hidden', problem: unclear }
}
