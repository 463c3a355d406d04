/** Names and ids in query and body that identify the resource of a change. */
import { isObject } from '../json/values.ts'
import { concealSecrets } from '../telemetry/conceal-secrets.ts'

const maxLength = 300
const maxListed = 20

const namedByQuery: ReadonlySet<string> = new Set([
  'account',
  'application',
  'buildNumber',
  'entityId',
  'entityType',
  'executionId',
  'executionType',
  'ids',
  'job',
  'reference',
  'region',
  'stageId',
  'tag',
  'username',
])
const namedByBody = ['application', 'id', 'name'] as const

/** @param url With its query */
export function namesInQuery(url: string): Record<string, string> {
  const mark = url.indexOf('?')
  if (mark === -1) return {}
  const found: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(url.slice(mark))) {
    if (namedByQuery.has(name)) found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`
  }
  return toShown(found)
}

/** Of one object or several; of a task, also which kinds of jobs it has. */
export function namesInBody(body: unknown): Record<string, string> {
  const objects = (Array.isArray(body) ? body.slice(0, maxListed) : [body]).filter(isObject)
  const found: Record<string, string> = {}
  for (const name of namedByBody) {
    const values = new Set(objects.flatMap((one) => textOf(one, name)))
    if (values.size > 0) found[name] = [...values].join(', ')
  }
  const jobs = objects.flatMap((one) => (Array.isArray(one['job']) ? one['job'].slice(0, maxListed) : []))
  const types = new Set(jobs.filter(isObject).flatMap((job) => textOf(job, 'type')))
  if (types.size > 0) found['jobs'] = [...types].join(', ')
  return toShown(found)
}

function toShown(found: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, concealSecrets(value).slice(0, maxLength)]))
}

function textOf(object: Record<string, unknown>, name: string): string[] {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return typeof value === 'string' && value !== '' ? [value.slice(0, maxLength)] : []
}
