/** Subjects of tasks, definitions and starts, by the rules of each type of job. */
import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import { pluginApplication } from '@fairlead/base/names/application-name.ts'
import {
  changesApplication,
  changesTemplate,
  isPrivileged,
  typesOf,
} from '@fairlead/model/rights/privileged-stages.ts'
import { decodeDocument, walkBody } from './job-form.ts'
import { resourcesIn } from './resource-names.ts'
import {
  applicationsIn,
  type DemandSubject,
  definitionTexts,
  hidden,
  hiddenKeys,
  isHidden,
  keysOf,
  namesIn,
  textsIn,
  toAccount,
  toDefinition,
  toNeed,
  toOwned,
  unlessHidden,
} from './subject.ts'

/** Types of jobs, in lower case: a type in another case means the same. */
const createsApplication = new Set(['createapplication', 'upsertapplication'])
/** Documents that a job carries, in which other keys with these names may stand. */
const documents = new Set([
  'manifest',
  'manifests',
  'pipeline',
  'pipelines',
  'attributes',
  'parameters',
  'context',
  'trigger',
])
const accountKeys = new Set(['account', 'credentials', 'accountName'])
/** Texts for people, and conditions: whatever an expression makes of them names nothing. */
const plainTexts = new Set(['name', 'description', 'comments', 'reason', 'expression'])
const pluginJobs = new Set(['upsertplugininfo', 'deleteplugininfo'])

export function applicationsCreatedBy(task: JsonObject): string[] {
  return jobsOf(task)
    .filter(isObject)
    .filter((job) => typesOf(job).some((type) => createsApplication.has(type)))
    .flatMap(({ application }) => applicationsIn('application', application))
    .filter((name) => !isHidden(name))
}

export function subjectsOfTask(task: JsonObject): DemandSubject[] {
  // A task may be filed under a name that is no application, such as that of the platform.
  const found: DemandSubject[] = textsIn(task['application']).map((name) =>
    toNeed(name, 'WRITE', { whenUnknown: 'nothing' }),
  )
  return [...found, ...subjectsOfJobs(jobsOf(task)), ...subjectsOfTrigger(task['trigger'])]
}

const toConfig = shape({ pipeline: objectOf })
const toTrigger = shape({ parentPipelineId: asGiven, parentExecution: shape({ id: asGiven }) })

function jobsOf(task: JsonObject): unknown[] {
  const jobs = task['job'] ?? task['stages'] ?? []
  return Array.isArray(jobs) ? jobs : [jobs]
}

export function subjectsOfJobs(jobs: readonly unknown[]): DemandSubject[] {
  return jobs.filter(isObject).flatMap(subjectsOfJob)
}

export function subjectsOfDefinition(definition: JsonObject): DemandSubject[] {
  const { triggers, idsToIndices, disabled } = definition
  return [
    ...subjectsOfStages(definition).map((subject) =>
      subject.kind === 'hidden' ? later(subject) : subject,
    ),
    ...hiddenKeys(definition),
    ...definitionTexts(definition, 'application').map((name) => toNeed(name, 'WRITE')),
    ...[...definitionTexts(definition, 'id'), ...keysOf(idsToIndices)].map((id) =>
      toDefinition(id, 'WRITE'),
    ),
    // What is disabled does not run.
    ...(disabled === true ? [] : objectsOf(triggers)).flatMap(({ runAsUser }) =>
      // Nothing runs as a number.
      (typeof runAsUser === 'string' ? textsIn(runAsUser) : []).map((name) =>
        unlessHidden(name, later({ kind: 'need', need: { kind: 'service-account', name } })),
      ),
    ),
  ]
}

/** What cannot be checked when a definition is saved. */
const later = <T extends DemandSubject>(subject: T) => ({ ...subject, later: true as const })

/**
 * A definition that is started as it is given: under the id of a stored one it counts as a run of that.
 *
 * @throws {GatewayError} BAD_ARGUMENT
 */
export function subjectsOfStart(definition: JsonObject): DemandSubject[] {
  const { application, config, trigger } = definition
  const { pipeline: inner } = toConfig(config)
  const isNamed = application !== undefined || inner['application'] !== undefined
  const ids = isNamed
    ? [...definitionTexts(definition, 'id'), ...definitionTexts(inner, 'pipelineConfigId')]
    : []
  return [
    ...subjectsOfStages(definition),
    ...hiddenKeys(definition),
    ...hiddenKeys(inner),
    ...[application, inner['application']].flatMap(textsIn).map((name) => toNeed(name, 'EXECUTE')),
    ...ids.map((id) => toDefinition(id, 'EXECUTE')),
    ...subjectsOfTrigger(trigger),
  ]
}

/** A trigger that names a run as its parent hands all of it over, or counts among what follows from it. */
export function subjectsOfTrigger(trigger: unknown): DemandSubject[] {
  const { parentPipelineId, parentExecution } = toTrigger(trigger)
  return [parentPipelineId, parentExecution.id]
    .flatMap(textsIn)
    .map((id) => toOwned('execution', id, 'READ'))
}

/** Needs of what runs without being stored. Its other stages are checked when they run. */
function subjectsOfStages({ stages }: JsonObject): DemandSubject[] {
  return subjectsOfJobs(objectsOf(stages).filter(isPrivileged))
}

function subjectsOfJob(job: JsonObject): DemandSubject[] {
  const types = typesOf(job)
  const ofTypes =
    types.length === 0
      ? subjectsOfOtherJob(job)
      : types.flatMap((type) => subjectsOfType(type, job))
  return [...hiddenKeys(job), ...ofTypes]
}

function subjectsOfType(type: string, job: JsonObject): DemandSubject[] {
  if (type.includes('${')) return [hidden()]
  if (type === 'pipeline') return subjectsOfChild(job)
  if (type === 'reorderpipelines') return subjectsOfOrder(job)
  if (changesApplication.has(type)) return subjectsOfApplicationChange(type, job)
  if (changesTemplate.test(type)) return subjectsOfTemplateChange(job)
  if (pluginJobs.has(type)) return [toNeed(pluginApplication, 'WRITE', { whenUnknown: 'admin' })]
  return [...subjectsOfOtherJob(job), ...(type === 'deleteentitytags' ? subjectsOfTag(job) : [])]
}

function subjectsOfOtherJob(job: JsonObject): DemandSubject[] {
  const carried = [job['pipeline'], job['pipelines']].flatMap((document): DemandSubject[] => {
    const definitions = decodeDocument(document)
    const inner = (Array.isArray(definitions) ? definitions : [definitions])
      .filter(isObject)
      .flatMap(subjectsOfDefinition)
    return isHidden(document) ? [hidden()] : inner
  })
  return [...carried, ...subjectsNamedIn(job)]
}

function subjectsOfChild({ application, pipeline, pipelineId }: JsonObject): DemandSubject[] {
  const ids = [pipeline, pipelineId].filter((id) => typeof id === 'string' && id !== '')
  return [
    ...(typeof application === 'string' ? [toNeed(application, 'EXECUTE')] : []),
    ...ids.map((id) => toDefinition(id as string, 'EXECUTE')),
  ]
}

function subjectsOfTag({ id }: JsonObject): DemandSubject[] {
  return textsIn(id).map((name) => toOwned('entity-tags', name, 'WRITE'))
}

function subjectsOfTemplateChange(job: JsonObject): DemandSubject[] {
  const template = decodeDocument(job['pipelineTemplate'])
  const given = objectOf(template)
  const ids = [job['id'], job['pipelineTemplateId'], given['id']].filter(
    (id) => typeof id === 'string',
  )
  return [
    ...(isHidden(job['pipelineTemplate']) ? [hidden()] : []),
    ...(isObject(template) ? [{ kind: 'template', template } as const] : []),
    ...[...new Set(ids)].map((id) => toOwned('template', id, 'WRITE')),
  ]
}

function subjectsOfOrder(job: JsonObject): DemandSubject[] {
  const [application, places] = [job['application'], job['idsToIndices']].map(decodeDocument)
  return [
    ...[job['application'], job['idsToIndices']].filter(isHidden).map(() => hidden()),
    ...(typeof application === 'string' ? [toNeed(application, 'WRITE')] : []),
    ...keysOf(places).map((id) => toDefinition(id, 'WRITE')),
  ]
}

function subjectsOfApplicationChange(type: string, { application }: JsonObject): DemandSubject[] {
  const keys = isObject(application) ? hiddenKeys(application) : []
  const name = isObject(application) ? application['name'] : application
  if (typeof name !== 'string' || name.trim() === '')
    return [
      {
        kind: 'hidden',
        problem: `A job of the type ${type} has to name its application: send "application": {"name": …}.`,
      },
    ]
  return [...keys, toNeed(name, createsApplication.has(type) ? 'CREATE' : 'WRITE')]
}

function subjectsNamedIn(job: JsonObject): DemandSubject[] {
  const found: DemandSubject[] = []
  walkBody(job, (key, value, owner) => {
    if (documents.has(key)) return undefined
    if (!isMoniker(owner)) found.push(...resourcesIn(key, value, owner as JsonObject, 'WRITE'))
    if (isHidden(key)) found.push(hidden())
    if (accountKeys.has(key)) for (const name of namesIn(value)) found.push(toAccount(name))
    for (const name of applicationsIn(key, value)) found.push(toNeed(name, 'WRITE'))
    // A text that is an expression and nothing else may become an object, with names of its own.
    if (typeof value === 'string' && /^\$\{.*\}$/s.test(value) && !plainTexts.has(key))
      found.push(hidden())
    return value
  })
  return found
}

/** What has a moniker belongs to the application in it, however its cluster is called. */
function isMoniker(owner: object): boolean {
  return 'app' in owner && !('type' in owner)
}
