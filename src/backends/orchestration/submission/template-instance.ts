/** Turns an instance of a pipeline template of the second schema into the definition that it stands for. */
import { BackendError } from '../../backend.ts'
import { undecorated } from '../../definitions/template-references.ts'
import type { JsonObject } from '../model.ts'
import { isJsonObject } from '../model.ts'
import { ArtifactError } from './artifacts.ts'
import type { SubmissionSources } from './sources.ts'
import { listOf } from './trigger.ts'

const storePrefix = 'spinnaker://'

/** Lists that an instance adds to, by what it calls them when it excludes those of the template, and the key of an entry. */
const inherited = [
  { field: 'parameterConfig', excludedAs: 'parameters', key: 'name' },
  { field: 'triggers', excludedAs: 'triggers', key: 'id' },
  { field: 'notifications', excludedAs: 'notifications', key: 'id' },
  { field: 'expectedArtifacts', excludedAs: 'expectedArtifacts', key: 'id' },
] as const

/** What only an instance has. */
const instanceFields = ['type', 'schema', 'template', 'variables', 'exclude', 'stages', ...inherited.map(({ field }) => field)]

export function isTemplateInstance(definition: JsonObject): boolean {
  return definition['type'] === 'templatedPipeline' && definition['schema'] === 'v2'
}

/**
 * The stages are those of the template; the variables stay beside them, and are put in where expressions name them.
 *
 * @param identity Headers that say on whose behalf the template is read.
 * @throws {ArtifactError} when there is no such template, or a variable is missing or has the wrong type
 * @throws {BackendError} when the definition store fails
 */
export async function expandTemplate(
  instance: JsonObject,
  identity: Record<string, string>,
  sources: SubmissionSources,
): Promise<JsonObject> {
  if (listOf(instance['stages']).length > 0) {
    throw new ArtifactError('An instance of a pipeline template has no stages of its own; put them into the template.')
  }
  const { id, template } = await loadTemplate(instance, identity, sources)
  const pipeline = isJsonObject(template['pipeline']) ? template['pipeline'] : {}
  const own = Object.fromEntries(Object.entries(instance).filter(([name]) => !instanceFields.includes(name)))
  return {
    ...pipeline,
    ...own,
    ...inheritLists(pipeline, instance),
    stages: listOf(pipeline['stages']),
    templateVariables: bindVariables(template, instance),
    source: { type: 'templatedPipeline', id, version: 'v2' },
  }
}

interface LoadedTemplate {
  id: string
  template: JsonObject
}

async function loadTemplate(
  instance: JsonObject,
  headers: Record<string, string>,
  sources: SubmissionSources,
): Promise<LoadedTemplate> {
  const reference = isJsonObject(instance['template']) ? instance['template']['reference'] : undefined
  if (typeof reference !== 'string' || !reference.toLowerCase().startsWith(storePrefix)) {
    throw new ArtifactError(`The pipeline does not say which template it is built on. Refer to it as ${storePrefix}<id>.`)
  }
  const name = reference.slice(storePrefix.length)
  const id = undecorated(name)
  const path = `/v2/pipelineTemplates/${encodeURIComponent(id)}${queryOf(name.slice(id.length))}`
  const { status, body } = await sources.call('front50', { method: 'GET', path, headers })
  if (status === 404) throw new ArtifactError(`There is no pipeline template "${name}".`)
  if (status === 403) throw new ArtifactError(`The pipeline template "${name}" may not be read. ${reasonIn(body)}`)
  if (status !== 200 || !isJsonObject(body)) throw new BackendError(502, `The pipeline template "${name}" could not be read.`)
  return { id, template: body }
}

function reasonIn(body: unknown): string {
  return isJsonObject(body) && typeof body['message'] === 'string' ? body['message'] : ''
}

/** @param decoration Empty, `:tag` or `@digest`. */
function queryOf(decoration: string): string {
  if (decoration === '') return ''
  return `?${decoration.startsWith(':') ? 'tag' : 'digest'}=${encodeURIComponent(decoration.slice(1).replace(/^sha256:/i, ''))}`
}

/** Entries of the instance replace those of the template with the same key, and follow the others. */
function inheritLists(pipeline: JsonObject, instance: JsonObject): JsonObject {
  const excluded = listOf(instance['exclude'])
  const lists: JsonObject = {}
  for (const { field, excludedAs, key } of inherited) {
    const own = listOf(instance[field])
    const keys = new Set(own.map((entry) => keyOf(entry, key)))
    const kept = excluded.includes(excludedAs)
      ? []
      : listOf(pipeline[field]).filter((entry) => !keys.has(keyOf(entry, key) ?? Symbol()))
    lists[field] = [...kept, ...own]
  }
  return lists
}

function keyOf(entry: unknown, key: string): unknown {
  return isJsonObject(entry) ? entry[key] : undefined
}

const typeChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  int: (value) => Number.isInteger(Number(value)) && value !== '' && typeof value !== 'object',
  float: (value) => Number.isFinite(Number(value)) && value !== '' && typeof value !== 'object',
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  list: (value) => Array.isArray(value),
  object: (value) => isJsonObject(value),
}

/** The values of all variables: those of the instance, else the defaults of the template. */
function bindVariables(template: JsonObject, instance: JsonObject): JsonObject {
  const given = isJsonObject(instance['variables']) ? instance['variables'] : {}
  const bound = new Map(Object.entries(given))
  const problems: string[] = []
  for (const variable of listOf(template['variables']).filter(isJsonObject)) {
    const name = String(variable['name'])
    if (!bound.has(name) && variable['defaultValue'] !== undefined) bound.set(name, variable['defaultValue'])
    const problem = findProblem(name, variable, bound.get(name))
    if (problem !== undefined) problems.push(problem)
  }
  if (problems.length > 0) throw new ArtifactError(`The variables of the template are not in order: ${problems.join('; ')}.`)
  return Object.fromEntries(bound)
}

function findProblem(name: string, { type, nullable }: JsonObject, value: unknown): string | undefined {
  if (value === undefined || value === null) return nullable === true ? undefined : `"${name}" has no value`
  // A value that is an expression has its type when it is evaluated.
  if (typeof value === 'string' && value.includes('${')) return undefined
  const check = Object.hasOwn(typeChecks, String(type)) ? typeChecks[String(type)] : undefined
  return check === undefined || check(value) ? undefined : `"${name}" must be of type ${type}`
}
