/** Names and ids in query and body that identify the resource of a change. */
import { fieldOf, isObject, objectsOf } from '@fairlead/base/json/values.ts'
import { concealSecrets } from '@fairlead/base/telemetry/conceal-secrets.ts'
import { queryOf } from './request-target.ts'

const maxLength = 300
/** Who searches for an application must find what was done to it, also where many were changed at once. */
const maxApplicationsLength = 10_000
const moreLength = 20

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
  'reason',
  'reference',
  'region',
  'stageId',
  'tag',
  'username',
])

export function namesInQuery(url: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, value] of queryOf(url)) {
    if (namedByQuery.has(name))
      found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`
  }
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, conceal(value)]))
}

/** What one object or several are named; for a task, also which kinds of jobs it has, and their applications. */
export function namesInBody(body: unknown): Record<string, string> {
  const objects = (Array.isArray(body) ? body : [body]).filter(isObject)
  const jobs = objects.flatMap((one) => objectsOf(one['job']))
  const found: Record<string, string> = {}
  const note = (name: string, values: readonly string[]) => {
    if (values.length > 0)
      found[name] = toList(
        new Set(values),
        name === 'application' ? maxApplicationsLength : maxLength,
      )
  }
  const all = (some: typeof objects, name: string) => some.flatMap((one) => textIn(one, name))
  note('id', all(objects, 'id'))
  note('name', all(objects, 'name'))
  note('username', all(objects, 'username'))
  note('reason', all(objects, 'reason'))
  note('judgment', all(objects, 'judgmentStatus'))
  note('comment', all(objects, 'judgmentComment'))
  note('application', [...objects, ...jobs].flatMap(applicationsOf))
  note('jobs', all(jobs, 'type'))
  note('command', objects.flatMap(commandIn))
  return found
}

/** What a client runs in an instance. */
function commandIn({ command }: Record<string, unknown>): string[] {
  if (!Array.isArray(command)) return []
  const words = command.filter((word) => typeof word === 'string')
  return words.length === 0 ? ['shell'] : [words.join(' ').slice(0, maxLength)]
}

function applicationsOf(object: Record<string, unknown>): string[] {
  const application = fieldOf(object, 'application')
  return isObject(application) ? textIn(application, 'name') : textIn(object, 'application')
}

function toList(names: ReadonlySet<string>, maxCharacters: number): string {
  let text = ''
  let shown = 0
  for (const name of names) {
    const added = `${text === '' ? '' : ', '}${conceal(name)}`
    if (shown > 0 && text.length + added.length > maxCharacters - moreLength) break
    text += added
    shown++
  }
  return shown === names.size ? text : `${text}, and ${names.size - shown} more`
}

function conceal(text: string): string {
  return concealSecrets(text).slice(0, maxLength)
}

function textIn(object: Record<string, unknown>, name: string): string[] {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return typeof value === 'string' && value !== '' ? [value.slice(0, maxLength)] : []
}
