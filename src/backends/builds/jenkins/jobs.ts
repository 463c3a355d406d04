/** Jobs of Jenkins: paths of those in folders, their lists and descriptions. */
import { fieldOf, isObject, type JsonObject, objectsOf, textOf, textsOf } from '../../../json/values.ts'
import { encodeSegment } from '../../../net/encode-path.ts'

/** For the list of all jobs: large installations take long. */
export const jobListMs = 60_000
/** Folders within folders that are looked into. */
const maxDepth = 10
const separator = '/job/'

/** Path of a job, whose folders are joined with `/job/`; undefined for any other text. */
export function toJobPath(job: string): string | undefined {
  const names = job.split(separator)
  if (names.some((name) => name === '' || name === '.' || name === '..' || name.includes('/'))) return undefined
  return names.map((name) => `/job/${encodeSegment(name)}`).join('')
}

/** Selects jobs in folders, with fields of each: `jobs[name,…,jobs[…]]`. */
export function jobTree(fields = ''): string {
  let tree = ''
  for (let depth = 0; depth < maxDepth; depth++) tree = `jobs[name${fields}${tree === '' ? '' : `,${tree}`}]`
  return tree
}

export interface LeafJob {
  /** With its folders. */
  readonly name: string
  readonly fields: JsonObject
}

/** Jobs in the order of Jenkins, those of a folder in its place. What has jobs is a folder. */
export function leafJobs(answer: unknown, folder = ''): LeafJob[] {
  return objectsOf(fieldOf(answer, 'jobs')).flatMap((fields) => {
    const name = folder + (textOf(fields['name']) ?? '')
    return Array.isArray(fields['jobs']) ? leafJobs(fields, name + separator) : [{ name, fields }]
  })
}

const parameters = 'parameterDefinitions[name,type,description,defaultParameterValue[name,value],choices]'
const project = 'name,color,url'

export const jobFields = [
  'name,displayName,description,url,buildable,concurrentBuild,color',
  `property[${parameters}]`,
  `actions[${parameters}]`,
  `upstreamProjects[${project}]`,
  `downstreamProjects[${project}]`,
].join(',')

/** Undefined for a folder, which cannot be built. */
export function toJobConfig(answer: unknown): JsonObject | undefined {
  if (!isObject(answer) || answer['buildable'] === undefined) return undefined
  const { name, url, buildable, color, upstreamProjects, downstreamProjects } = answer
  return {
    name,
    displayName: answer['displayName'] ?? null,
    description: answer['description'] ?? null,
    url,
    buildable: buildable === true,
    concurrentBuild: answer['concurrentBuild'] === true,
    ...(color !== undefined && { color }),
    parameterDefinitionList: parametersOf(answer).map(toParameter),
    upstreamProjectList: objectsOf(upstreamProjects).map(toProject),
    downstreamProjectList: objectsOf(downstreamProjects).map(toProject),
  }
}

/** Current versions have them among the properties, old ones among the actions. */
function parametersOf(job: JsonObject): JsonObject[] {
  const places = [job['property'], job['actions']].map((place) =>
    objectsOf(place).flatMap((one) => objectsOf(one['parameterDefinitions'])),
  )
  return places.find((definitions) => definitions.length > 0) ?? []
}

function toParameter({ name, type, description, defaultParameterValue, choices }: JsonObject): JsonObject {
  const value = fieldOf(defaultParameterValue, 'value')
  const defaultValue = value === undefined || value === null ? null : String(value)
  const defaultName = textOf(fieldOf(defaultParameterValue, 'name')) ?? name
  return {
    name,
    type: type ?? null,
    description: description ?? null,
    defaultName,
    defaultValue,
    defaultParameterValue: { name: defaultName, value: defaultValue },
    ...(Array.isArray(choices) && { choices: textsOf(choices) }),
  }
}

function toProject({ name, color, url }: JsonObject): JsonObject {
  return { name, color, url }
}
