/** What the jobs of a task, the stages of a pipeline and the definitions in a body need, without asking anybody. */
import { GatewayError } from '../errors.ts'
import type { Need } from '../permissions/decide.ts'
import type { Authorization } from '../permissions/permissions.ts'
import { decodeDocument, typesOf } from './job-form.ts'
import { type Fields, isFields } from './upstream-shape.ts'

/** What is needed beyond plain names; ids have to be looked up. */
export interface JobNeeds {
  readonly needs: Need[]
  /** Applications to be created, or changed if they exist. */
  readonly creates: string[]
  /** Definitions that are changed (WRITE) or started (EXECUTE), by id. */
  readonly definitions: { readonly id: string; readonly authorization: Authorization }[]
  /** Pipeline templates that are changed: as they will be, and by the id of what is stored. */
  readonly templates: { readonly id: unknown; readonly template: Fields | undefined }[]
}

/** Types of jobs, in lower case: whoever writes another case means the same. */
const createsApplication = new Set(['createapplication', 'upsertapplication'])
const changesApplication = new Set([...createsApplication, 'updateapplication', 'deleteapplication'])
const changesTemplate = /^(?:create|update|delete)(?:v2)?pipelinetemplate$/

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
const pluginApplication = 'spinnakerplugins'

/** @throws {GatewayError} PERMISSION_DENIED when a job hides behind an expression what it is about */
export function needsOfJobs(jobs: readonly unknown[]): JobNeeds {
  const found: JobNeeds = { needs: [], creates: [], definitions: [], templates: [] }
  for (const job of jobs.filter(isFields)) addJob(found, job)
  return found
}

/** Needs of a definition itself, wherever it will be stored. @throws {GatewayError} PERMISSION_DENIED */
export function needsOfDefinition(definition: Fields): JobNeeds {
  const found = needsOfStages(definition)
  addDefinition(found, definition)
  return found
}

/** Needs of a definition that runs without being stored. @throws {GatewayError} PERMISSION_DENIED */
function needsOfStages(definition: Fields): JobNeeds {
  return needsOfJobs(stagesOf(definition).filter(isPrivileged))
}

/** Needs of a definition that is started as it is given: under the id of a stored one it counts as a run of that. */
export function needsOfStart(definition: Fields): JobNeeds {
  const found = needsOfStages(definition)
  const { application, config } = definition
  const inner = isFields(config) && isFields(config['pipeline']) ? config['pipeline'] : {}
  checkKeys(definition)
  checkKeys(inner)
  if (application === undefined && inner['application'] === undefined) return found
  for (const id of [...textOf(definition, 'id'), ...textOf(inner, 'pipelineConfigId')]) {
    found.definitions.push({ id: checkPlain(id), authorization: 'EXECUTE' })
  }
  return found
}

function isPrivileged(stage: Fields): boolean {
  return typesOf(stage).some((type) => privilegedStages.has(type) || changesTemplate.test(type))
}

function stagesOf({ stages }: Fields): Fields[] {
  return Array.isArray(stages) ? stages.filter(isFields) : []
}

function addDefinition(found: JobNeeds, definition: Fields): void {
  const { triggers } = definition
  checkKeys(definition)
  for (const name of textOf(definition, 'application')) addApplication(found, name, 'WRITE')
  for (const id of textOf(definition, 'id')) found.definitions.push({ id: checkPlain(id), authorization: 'WRITE' })
  for (const trigger of Array.isArray(triggers) ? triggers.filter(isFields) : []) {
    const name = trigger['runAsUser']
    if (typeof name !== 'string' || name.trim() === '') continue
    found.needs.push({ kind: 'service-account', name: checkPlain(name) })
  }
}

/** A number is stored as the text of it; nothing else may stand in for a text. @throws {GatewayError} BAD_ARGUMENT */
function textOf(fields: Fields, key: string): string[] {
  const value = fields[key] ?? ''
  if (typeof value === 'object') throw new GatewayError('BAD_ARGUMENT', `"${key}" of a definition has to be a text.`)
  return value === '' ? [] : [String(value)]
}

function addJob(found: JobNeeds, job: Fields): void {
  checkKeys(job)
  const types = typesOf(job)
  if (types.some((type) => type.includes('${'))) throw hidden()
  if (types.length === 0) addOther(found, job)
  for (const type of types) {
    if (type === 'pipeline') addStart(found, job)
    else if (type === 'reorderpipelines') addReorder(found, job)
    else if (changesApplication.has(type)) addApplicationChange(found, type, job)
    else if (changesTemplate.test(type)) addTemplate(found, job)
    else if (pluginJobs.has(type)) addApplication(found, pluginApplication, 'WRITE')
    else addOther(found, job)
    if (type === 'deleteentitytags') addTagged(found, job)
  }
}

function addOther(found: JobNeeds, job: Fields): void {
  for (const key of ['pipeline', 'pipelines']) {
    const decoded = decode(job[key])
    for (const definition of (Array.isArray(decoded) ? decoded : [decoded]).filter(isFields)) {
      merge(found, needsOfDefinition(definition))
    }
  }
  addNames(found, job)
}

function addStart(found: JobNeeds, { application, pipeline, pipelineId }: Fields): void {
  if (typeof application === 'string') addApplication(found, application, 'EXECUTE')
  for (const id of [pipeline, pipelineId]) {
    if (typeof id === 'string' && id !== '') found.definitions.push({ id: checkPlain(id), authorization: 'EXECUTE' })
  }
}

/** `provider:type:id:account:region`; the id in the middle may have colons itself. */
function addTagged(found: JobNeeds, { id }: Fields): void {
  const account = typeof id === 'string' ? (checkPlain(id).split(':').at(-2) ?? '') : ''
  if (account !== '' && account !== '*') found.needs.push({ kind: 'account', name: account, authorization: 'WRITE' })
}

function addTemplate(found: JobNeeds, job: Fields): void {
  const template = decode(job['pipelineTemplate'])
  const ids = [job['id'], job['pipelineTemplateId'], isFields(template) ? template['id'] : undefined]
  const named = ids.filter((id) => typeof id === 'string').map(checkPlain)
  found.templates.push({ id: undefined, template: isFields(template) ? template : undefined })
  found.templates.push(...[...new Set(named)].map((id) => ({ id, template: undefined })))
}

function addReorder(found: JobNeeds, job: Fields): void {
  const application = decode(job['application'])
  if (typeof application === 'string') addApplication(found, application, 'WRITE')
  const places = decode(job['idsToIndices'])
  if (isFields(places)) {
    for (const id of Object.keys(places)) found.definitions.push({ id, authorization: 'WRITE' })
  }
}

function addApplicationChange(found: JobNeeds, type: string, job: Fields): void {
  const { application } = job
  if (isFields(application)) checkKeys(application)
  const name = isFields(application) ? application['name'] : application
  if (typeof name !== 'string' || name.trim() === '') {
    throw new GatewayError('PERMISSION_DENIED', `A job of the type ${type} has to name its application.`)
  }
  if (createsApplication.has(type)) found.creates.push(checkPlain(name))
  else addApplication(found, name, 'WRITE')
}

/** Names at any depth, except inside documents that the job only carries. */
function addNames(found: JobNeeds, job: Fields): void {
  const open: unknown[] = [job]
  while (open.length > 0) {
    const next = open.pop()
    checkKeys(next ?? {})
    for (const [key, inner] of Object.entries(next ?? {})) {
      if (typeof inner === 'string') addName(found, key, inner)
      else if (accountKeys.has(key) && Array.isArray(inner)) for (const name of inner.map(String)) addName(found, key, name)
      else if (key === 'application' && isFields(inner) && typeof inner['name'] === 'string')
        addApplication(found, inner['name'], 'WRITE')
      else if (key === 'moniker' && isFields(inner) && typeof inner['app'] === 'string')
        addApplication(found, inner['app'], 'WRITE')
      if (typeof inner === 'object' && !documents.has(key)) open.push(inner)
    }
  }
}

function addName(found: JobNeeds, key: string, value: string): void {
  if (value.trim() === '') return
  // A text that is an expression and nothing else may become an object, with names of its own.
  if (/^\$\{.*\}$/s.test(value) && !plainTexts.has(key) && !documents.has(key)) throw hidden()
  if (key === 'application') addApplication(found, value, 'WRITE')
  if (accountKeys.has(key)) found.needs.push({ kind: 'account', name: checkPlain(value), authorization: 'WRITE' })
}

function addApplication(found: JobNeeds, name: string, authorization: Authorization): void {
  found.needs.push({ kind: 'application', name: checkPlain(name), authorization })
}

function merge(found: JobNeeds, other: JobNeeds): void {
  found.needs.push(...other.needs)
  found.creates.push(...other.creates)
  found.definitions.push(...other.definitions)
  found.templates.push(...other.templates)
}

/** @throws {GatewayError} PERMISSION_DENIED */
function decode(value: unknown): unknown {
  if (typeof value === 'string') checkPlain(value)
  return decodeDocument(value)
}

/** The orchestrator would replace an expression after the check. @throws {GatewayError} PERMISSION_DENIED */
function checkPlain(name: string): string {
  if (name.includes('${')) throw hidden()
  return name
}

/** Keys are evaluated, too, and a later one replaces what was checked. @throws {GatewayError} PERMISSION_DENIED */
function checkKeys(fields: object): void {
  if (Object.keys(fields).some((key) => key.includes('${'))) throw hidden()
}

function hidden(): GatewayError {
  return new GatewayError(
    'PERMISSION_DENIED',
    'Whether you may do this cannot be told from an expression: name applications, accounts and definitions in plain text.',
  )
}
