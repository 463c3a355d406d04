/** Expansion of an instance of a pipeline template of the second schema. */
import { shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
} from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  inheritedFields,
  inheritLists,
  pipelineOf,
  referenceOf,
  type StoredTemplate,
  storedTemplate,
} from '@fairlead/model/pipeline-templates/inheritance.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { StageError } from '../machine/failure.ts'

/** What only an instance has. */
const instanceFields = [
  'type',
  'schema',
  'template',
  'variables',
  'exclude',
  'stages',
  ...inheritedFields,
]

export const stagesOfInstance =
  'An instance of a pipeline template has no stages of its own; put them into the template.'

/**
 * The stages are those of the template; the variables stay beside them, and are put in where expressions name them.
 *
 * @param as On whose behalf the template is read
 * @throws {StageError} when there is no such template, or a variable is missing or has the wrong type
 * @throws {PortError} when the definition store fails
 */
export async function expandTemplate(
  instance: JsonObject,
  as: Caller,
  sources: EngineOptions,
): Promise<JsonObject> {
  if (listOf(instance['stages']).length > 0) {
    throw new StageError([stagesOfInstance])
  }
  const { id, template } = await templateOf(instance, as, sources)
  const pipeline = pipelineOf(template)
  const own = Object.fromEntries(
    Object.entries(instance).filter(([name]) => !instanceFields.includes(name)),
  )
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
  wanted: StoredTemplate,
  as: Caller,
  { ports }: EngineOptions,
): Promise<JsonObject> {
  const { name } = wanted
  const template = await ports.definitions.template(wanted, as).catch((error: Error) => {
    const status = error instanceof PortError && error.status < 500 ? error.status : 502
    throw new PortError(status, `The pipeline template "${name}" cannot be read. ${error.message}`)
  })
  if (template === undefined) throw new PortError(400, `There is no pipeline template "${name}".`)
  return template
}

async function templateOf(instance: JsonObject, as: Caller, sources: EngineOptions) {
  const stored = storedTemplate(referenceOf(instance))
  if (stored === undefined) {
    throw new StageError([
      'The pipeline does not say which template it is built on. Refer to it as spinnaker://<id>.',
    ])
  }
  const template = await loadTemplate(stored, as, sources).catch((error: unknown) => {
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
  const problems = describeVariables(template, instance)
  if (problems.length > 0)
    throw new StageError([
      `The variables of the template are not in order: ${problems.join('; ')}.`,
    ])
  return boundVariables(template, instance)
}

const toDeclared = shape({ variables: objectsOf })

export function variablesOf(template: JsonObject): JsonObject[] {
  return toDeclared(template).variables
}

function boundVariables(template: JsonObject, instance: JsonObject): JsonObject {
  const defaults = variablesOf(template).flatMap(({ name, defaultValue }) =>
    defaultValue === undefined ? [] : [[String(name), defaultValue]],
  )
  return { ...Object.fromEntries(defaults), ...objectOf(instance['variables']) }
}

/** Variables of a template that an instance gives no value, or one of a wrong type. */
export function describeVariables(template: JsonObject, instance: JsonObject): string[] {
  const bound = boundVariables(template, instance)
  return variablesOf(template).flatMap((variable) => {
    const name = String(variable['name'])
    return findProblem(name, variable, Object.hasOwn(bound, name) ? bound[name] : undefined) ?? []
  })
}

/** Defaults and types of variables that no instance could use. */
export function describeDeclarations(template: JsonObject): [field: string, message: string][] {
  return variablesOf(template).flatMap((variable, index): [string, string][] => {
    const { name, type, defaultValue } = variable
    const at = `variables[${index}]`
    if (type !== undefined && !Object.hasOwn(typeChecks, String(type)))
      return [
        [
          `${at}.type`,
          describeChoice(String(type), 'a type of variables', Object.keys(typeChecks)),
        ],
      ]
    const problem =
      defaultValue === undefined ? undefined : findProblem(String(name), variable, defaultValue)
    return problem === undefined ? [] : [[`${at}.defaultValue`, `The default of ${problem}.`]]
  })
}

const reference = /templateVariables\??(?:\.(\w+)(?![\w(])|\[(?:'|\\")([^'"\\]+)(?:'|\\")\])/g

/** Variables that stages name and the template does not have: an instance cannot evaluate them. */
export function undeclaredVariables(template: JsonObject): string[] {
  const names = new Set(variablesOf(template).map(({ name }) => String(name)))
  const found = JSON.stringify(pipelineOf(template)).matchAll(reference)
  return [...new Set([...found].map(([, name, key = '']) => name ?? key))].filter(
    (name) => !names.has(name),
  )
}

function findProblem(
  name: string,
  { type, nullable }: JsonObject,
  value: unknown,
): string | undefined {
  if (value === undefined || value === null)
    return nullable === true ? undefined : `"${name}" has no value`
  // A value that is an expression has its type when it is evaluated.
  if (typeof value === 'string' && value.includes('${')) return undefined
  const check = Object.hasOwn(typeChecks, String(type)) ? typeChecks[String(type)] : undefined
  return check === undefined || check(value) ? undefined : `"${name}" must be of type ${type}`
}
