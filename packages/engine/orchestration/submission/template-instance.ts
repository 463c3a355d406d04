/** Expansion of an instance of a pipeline template of the second schema. */
import { fieldOf, isObject, type JsonObject, listOf, objectOf } from '@fairlead/base/json/values.ts'
import {
  inheritedFields,
  inheritLists,
  pipelineOf,
  referenceOf,
  type StoredTemplate,
  storedTemplate,
} from '@fairlead/model/pipeline-templates/inheritance.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { StageError } from '../machine/failure.ts'

/** What only an instance has. */
const instanceFields = ['type', 'schema', 'template', 'variables', 'exclude', 'stages', ...inheritedFields]

/**
 * The stages are those of the template; the variables stay beside them, and are put in where expressions name them.
 *
 * @param identity Headers that say on whose behalf the template is read.
 * @throws {StageError} when there is no such template, or a variable is missing or has the wrong type
 * @throws {PortError} when the definition store fails
 */
export async function expandTemplate(
  instance: JsonObject,
  identity: Record<string, string>,
  sources: EngineOptions,
): Promise<JsonObject> {
  if (listOf(instance['stages']).length > 0) {
    throw new StageError(['An instance of a pipeline template has no stages of its own; put them into the template.'])
  }
  const { id, template } = await templateOf(instance, identity, sources)
  const pipeline = pipelineOf(template)
  const own = Object.fromEntries(Object.entries(instance).filter(([name]) => !instanceFields.includes(name)))
  return {
    ...pipeline,
    ...own,
    ...inheritLists(template, instance),
    stages: listOf(pipeline['stages']),
    templateVariables: bindVariables(template, instance),
    source: { type: 'templatedPipeline', id, version: 'v2' },
  }
}

/** @throws {PortError} 400 when it does not exist, 403 when the caller may not read it, 502 when the definition store fails */
export async function loadTemplate(
  { name, path }: StoredTemplate,
  headers: Record<string, string>,
  { call }: EngineOptions,
): Promise<JsonObject> {
  const { status, body } = await call('front50', { method: 'GET', path, headers })
  if (status === 200 && isObject(body)) return body
  if (status === 404) throw new PortError(400, `There is no pipeline template "${name}".`)
  const reason = status < 500 ? (fieldOf(body, 'message') ?? '') : `The definition store answered ${status}.`
  const message = `The pipeline template "${name}" cannot be read. ${String(reason)}`.trimEnd()
  throw new PortError(status < 400 || status >= 500 ? 502 : status, message)
}

async function templateOf(instance: JsonObject, headers: Record<string, string>, sources: EngineOptions) {
  const stored = storedTemplate(referenceOf(instance))
  if (stored === undefined) {
    throw new StageError(['The pipeline does not say which template it is built on. Refer to it as spinnaker://<id>.'])
  }
  const template = await loadTemplate(stored, headers, sources).catch((error: unknown) => {
    throw error instanceof PortError && error.status < 500 ? new StageError([error.message]) : error
  })
  return { id: stored.id, template }
}

const typeChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  int: (value) => Number.isInteger(Number(value)) && value !== '' && typeof value !== 'object',
  float: (value) => Number.isFinite(Number(value)) && value !== '' && typeof value !== 'object',
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  list: (value) => Array.isArray(value),
  object: (value) => isObject(value),
}

/** The values of all variables: those of the instance, else the defaults of the template. */
function bindVariables(template: JsonObject, instance: JsonObject): JsonObject {
  const given = objectOf(instance['variables'])
  const bound = new Map(Object.entries(given))
  const problems: string[] = []
  for (const variable of listOf(template['variables']).filter(isObject)) {
    const name = String(variable['name'])
    if (!bound.has(name) && variable['defaultValue'] !== undefined) bound.set(name, variable['defaultValue'])
    const problem = findProblem(name, variable, bound.get(name))
    if (problem !== undefined) problems.push(problem)
  }
  if (problems.length > 0) throw new StageError([`The variables of the template are not in order: ${problems.join('; ')}.`])
  return Object.fromEntries(bound)
}

function findProblem(name: string, { type, nullable }: JsonObject, value: unknown): string | undefined {
  if (value === undefined || value === null) return nullable === true ? undefined : `"${name}" has no value`
  // A value that is an expression has its type when it is evaluated.
  if (typeof value === 'string' && value.includes('${')) return undefined
  const check = Object.hasOwn(typeChecks, String(type)) ? typeChecks[String(type)] : undefined
  return check === undefined || check(value) ? undefined : `"${name}" must be of type ${type}`
}
