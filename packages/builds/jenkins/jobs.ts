/** Jobs of Jenkins: paths of those in folders, their lists and descriptions. */
import {
  asGiven,
  list,
  maybe,
  maybeTexts,
  or,
  type ShapeOf,
  shape,
} from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isTrue,
  type JsonObject,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { encodeSegment } from '@fairlead/base/net/encode-path.ts'
import { toJenkinsBuild } from './builds.ts'

/** For the list of all jobs: large installations take long. */
export const jobListMs = 60_000
/** Folders within folders that are looked into. */
const maxDepth = 10
const separator = '/job/'

/** Path of a job, whose folders are joined with `/job/`; undefined for any other text. */
export function toJobPath(job: string): string | undefined {
  const names = job.split(separator)
  if (names.some((name) => name === '' || name === '.' || name === '..' || name.includes('/')))
    return undefined
  return names.map((name) => `/job/${encodeSegment(name)}`).join('')
}

/** Selects jobs in folders, with fields of each: `jobs[name,…,jobs[…]]`. */
export function jobTree(fields = ''): string {
  let tree = ''
  for (let depth = 0; depth < maxDepth; depth++)
    tree = `jobs[name${fields}${tree === '' ? '' : `,${tree}`}]`
  return tree
}

const toFolder = shape({
  name: or(textOf, ''),
  jobs: maybe(objectsOf),
  lastBuild: maybe(toJenkinsBuild),
})

export interface LeafJob {
  /** Includes its folders. */
  readonly name: string
  readonly lastBuild: ShapeOf<typeof toJenkinsBuild> | undefined
}

/** Jobs in the order of Jenkins, those of a folder in its place. What has jobs is a folder. */
export function leafJobs(answer: unknown, folder = ''): LeafJob[] {
  return (toFolder(answer).jobs ?? []).flatMap((fields) => {
    const { jobs, lastBuild, ...own } = toFolder(fields)
    const name = folder + own.name
    return jobs === undefined ? [{ name, lastBuild }] : leafJobs(fields, name + separator)
  })
}

const parameters =
  'parameterDefinitions[name,type,description,defaultParameterValue[name,value],choices]'
const project = 'name,color,url'

export const jobFields = [
  'name,displayName,description,url,buildable,concurrentBuild,color',
  `property[${parameters}]`,
  `actions[${parameters}]`,
  `upstreamProjects[${project}]`,
  `downstreamProjects[${project}]`,
].join(',')

const toParameter = shape({
  name: textOf,
  type: asGiven,
  description: asGiven,
  given: [shape({ name: textOf, value: maybe(String) }), 'defaultParameterValue'],
  choices: maybeTexts,
})
const toParameters = list(shape({ definitions: [list(toParameter), 'parameterDefinitions'] }))
const toProjects = list(shape({ name: textOf, color: textOf, url: textOf }))

const toJob = shape({
  name: textOf,
  displayName: or(asGiven, null),
  description: or(asGiven, null),
  url: textOf,
  buildable: asGiven,
  concurrentBuild: isTrue,
  color: textOf,
  property: toParameters,
  actions: toParameters,
  upstreamProjectList: [toProjects, 'upstreamProjects'],
  downstreamProjectList: [toProjects, 'downstreamProjects'],
})

/** Undefined for a folder, which cannot be built. */
export function toJobConfig(answer: unknown): JsonObject | undefined {
  const { property, actions, buildable, ...job } = toJob(answer)
  if (buildable === undefined) return undefined
  // Current versions have them among the properties, old ones among the actions.
  const places = [property, actions].map((place) => place.flatMap(({ definitions }) => definitions))
  const parameters = places.find((definitions) => definitions.length > 0) ?? []
  return definedOf({
    ...job,
    buildable: buildable === true,
    parameterDefinitionList: parameters.map(toDefinition),
  })
}

function toDefinition({
  name,
  type = null,
  description = null,
  given,
  choices,
}: ShapeOf<typeof toParameter>): JsonObject {
  const [defaultName, defaultValue] = [given.name ?? name, given.value ?? null]
  const defaultParameterValue = { name: defaultName, value: defaultValue }
  return definedOf({
    name,
    type,
    description,
    defaultName,
    defaultValue,
    defaultParameterValue,
    choices,
  })
}
