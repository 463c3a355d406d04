/** What a body is about, wherever it says so: its applications and the definitions that it changes or starts, by id. */
import { decodeDocument, typesOf } from './job-form.ts'
import { isFields } from './upstream-shape.ts'

export interface BodySubjects {
  readonly applications: ReadonlySet<string>
  /** Ids of definitions. One may hide behind an expression, and belongs to no application then. */
  readonly definitions: ReadonlySet<string>
  /** Whether a job changes what belongs to no single application: templates, projects. */
  readonly changesShared: boolean
}

/** Fields that jobs send as base64 of JSON, or as JSON. */
const encodedFields: ReadonlySet<string> = new Set(['application', 'idsToIndices', 'pipeline', 'pipelines', 'pipelineTemplate'])
const changesSharedThings = /^(?:(?:create|update|delete)(?:v2)?pipelinetemplate|(?:upsert|delete)project)$/

/** Looks at any depth: into stages, clusters, jobs, and the definitions that jobs and stages carry. */
export function subjectsIn(body: unknown): BodySubjects {
  const applications = new Set<string>()
  const definitions = new Set<string>(ownIds(body))
  let changesShared = false
  const open = [body]
  while (open.length > 0) {
    const next = open.pop()
    const types = isFields(next) ? typesOf(next) : []
    if (types.some((type) => changesSharedThings.test(type))) changesShared = true
    for (const [key, value] of Object.entries(next ?? {})) {
      const inner = encodedFields.has(key) ? decodeDocument(value) : value
      for (const name of applicationsOf(key, inner)) applications.add(name)
      for (const id of definitionsOf(key, inner, types)) definitions.add(id)
      if (typeof inner === 'object') open.push(inner)
    }
  }
  return { applications, definitions, changesShared }
}

function applicationsOf(key: string, value: unknown): string[] {
  if (key === 'application' && typeof value === 'string') return [value]
  const name = isFields(value) ? { application: value['name'], moniker: value['app'] }[key] : undefined
  return typeof name === 'string' ? [name] : []
}

function definitionsOf(key: string, value: unknown, types: readonly string[]): string[] {
  if ((key === 'pipeline' || key === 'pipelineId') && typeof value === 'string') {
    return types.includes('pipeline') && value !== '' ? [value] : []
  }
  if (key === 'pipeline' || key === 'pipelines') return ownIds(value)
  return key === 'idsToIndices' && isFields(value) ? Object.keys(value) : []
}

/** Ids of a definition, or of each in a list. */
function ownIds(body: unknown): string[] {
  return (Array.isArray(body) ? body : [body]).flatMap((definition) => {
    const id = isFields(definition) ? definition['id'] : undefined
    return typeof id === 'string' && id !== '' ? [id] : []
  })
}
