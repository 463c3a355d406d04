/** Applications: their routes, the fields that the store owns, and what disappears together with one. */

import { formatJson } from '@fairlead/base/json/json.ts'
import { entriesOf, isTrue, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { pluginApplication } from '@fairlead/base/names/application-name.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import { parseDocument } from '@fairlead/base/stores/document-store.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import {
  ApplicationAttributes,
  TrafficGuard,
} from '@fairlead/model/environments/application-models.ts'
import { DeclaredEnvironments } from '@fairlead/model/environments/declaration.ts'
import { checkBody, optionalFlagField } from '@fairlead/ports/requests/check-body.ts'
import { pathValue, queryCount } from '@fairlead/ports/requests/request-values.ts'
import { isUnchanged } from '@fairlead/ports/requests/unchanged.ts'
import { mayCreateApplication } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { removeSecretsOf, scopeOf } from '../secrets/secret-store.ts'
import { checkNewName } from './application-names.ts'
import {
  changeDenied,
  checkAdministrator,
  checkWriter,
  type Writer,
  writerOf,
} from './authorization.ts'
import type { Definitions } from './collections.ts'
import { recipientsKey } from './notifications.ts'
import { isRestricted, removedRestrictions } from './permissions.ts'
import { checkStrictly } from './pipeline-rules.ts'
import { removePipeline } from './pipeline-set.ts'
import { optionalTextField, refusal, sendHistory, sendTexts, storedAt } from './requests.ts'
import { compareValues, containment } from './search.ts'

const time = z.union([z.string(), z.number()]).nullish()

const wholeNumber = z
  .union([z.int().min(0), z.string().regex(/^\d{1,9}$/, 'it must be a whole number')])
  .nullish()

/** The attribute may be another one of the same name: only lists of objects are declarations. */
const environments = z.unknown().superRefine((value, { addIssue }) => {
  if (objectsOf(value).length === 0) return
  const { error } = DeclaredEnvironments.safeParse(entriesOf(value))
  for (const issue of error?.issues ?? [])
    addIssue({ code: 'custom', path: issue.path, message: describeIssue(issue) })
})

/** What the API document says, and what clients send besides; the store sets the times. */
const ApplicationFields = ApplicationAttributes.extend({
  name: optionalTextField,
  cloudProviders: z.union([z.string(), z.array(z.string())]).nullish(),
  trafficGuards: z.array(TrafficGuard.extend({ enabled: optionalFlagField }).nullable()).nullish(),
  instancePort: wholeNumber,
  environments: environments.optional(),
  platformHealthOnly: optionalFlagField,
  // A wrong value would be no value, and what the application wants to keep would be deleted.
  retention: z.strictObject({ retentionDays: wholeNumber, kept: wholeNumber }).nullish(),
  createTs: time,
  updateTs: time,
})

/** Broken rules of an application. They have a body of their own (docs/contracts/definitions.md#errors-of-applications). */
export class InvalidApplication extends PortError {
  constructor(errors: string[]) {
    super(400, 'Validation failed', { errors })
  }
}

/** Query parameters of the list that are not attributes to search in. */
const notFilters = new Set(['restricted', 'pageSize'])

export function applicationDefinitionRoutes(app: FastifyInstance, definitions: Definitions): void {
  applicationReads(app, definitions)
  applicationWrites(app, definitions)
}

function applicationReads(app: FastifyInstance, definitions: Definitions): void {
  const { applications, permissions } = definitions

  app.get('/v2/applications', async (request, reply) => {
    const filters = filtersOf(request)
    const count = queryCount(request, 'pageSize')
    if (filters.length > 0) return sendTexts(reply, await search(definitions, filters, count))
    if (isUnchanged(request, reply, `${applications.version()}-${permissions.version()}-${count}`))
      return reply
    return sendTexts(reply, await listApplications(definitions, count))
  })

  app.get('/v2/applications/:name', (request) =>
    withPermissions(definitions, storedAt(request, 'name', applications, 'application')),
  )

  app.get('/v2/applications/:name/history', (_request, reply) =>
    sendHistory(reply, 'name', applications),
  )
}

function applicationWrites(app: FastifyInstance, definitions: Definitions): void {
  app.post('/v2/applications', async (request) =>
    createApplication(definitions, await writerOf(definitions, request), request.body),
  )
  const update = (base: BaseOf) => async (request: FastifyRequest) => {
    const writer = await writerOf(definitions, request)
    return updateApplication(definitions, writer, {
      name: pathValue(request, 'name'),
      given: request.body,
      base,
    })
  }
  app.patch('/v2/applications/:name', update(mergeStored))
  app.put(
    '/v2/applications/:name',
    update(() => ({})),
  )

  app.delete('/v2/applications/:name', async (request, reply) => {
    removeApplication(definitions, await writerOf(definitions, request), pathValue(request, 'name'))
    return reply.code(204).send()
  })
}

export async function createApplication(
  definitions: Definitions,
  writer: Writer,
  given: unknown,
): Promise<JsonObject> {
  const body = checkBody(ApplicationFields, given)
  await checkCreator(definitions, writer, body.name ?? '')
  await checkStrictly(definitions, 'application', body)
  return definitions.write(() => {
    const key = foldName(body.name ?? '')
    if (key !== '' && definitions.applications.has(key))
      throw refusal(`An application named "${body.name}" exists already.`)
    return withPermissions(
      definitions,
      save(definitions, checkRules(toApplication(body, {})), body, writer),
    )
  })
}

/** Fields that stay when the body lacks them. */
type BaseOf = (stored: JsonObject, body: JsonObject) => JsonObject

/** Roles may have been given for the name before; beyond them, the permission service says who creates applications. */
async function checkCreator(definitions: Definitions, writer: Writer, name: string): Promise<void> {
  const { context, applications } = definitions
  const { access } = writer
  const key = foldName(name)
  if (access === undefined || key === '' || applications.has(key)) return
  // Who takes the name of a deleted application takes what has run in it.
  if (removedRestrictions(definitions).some((record) => foldName(String(record['name'])) === key))
    checkWriter(writer, key)
  if (await mayCreateApplication(context, access, name.trim())) return
  throw changeDenied(
    `${access.user} may not create the application ${name.trim()}. An administrator can permit it.`,
  )
}

type ApplicationBody = z.infer<typeof ApplicationFields> & JsonObject

/** Changes or creates the application. */
export async function updateApplication(
  definitions: Definitions,
  writer: Writer,
  {
    name,
    given,
    base = mergeStored,
  }: { readonly name: string; readonly given: unknown; readonly base?: BaseOf },
): Promise<JsonObject> {
  const body = checkBody(ApplicationFields, given)
  const key = foldName(name)
  checkWriter(writer, key)
  if (foldName(body.name ?? '') !== key) {
    throw refusal(`The name in the body, "${body.name ?? ''}", is not that of the path, "${name}".`)
  }
  await checkCreator(definitions, writer, key)
  await checkStrictly(definitions, 'application', body)
  return definitions.write(() => {
    const stored = definitions.applications.get(key) ?? {}
    return withPermissions(
      definitions,
      save(definitions, checkRules(toApplication(body, base(stored, body))), body, writer),
    )
  })
}

/** Free attributes merge one level deep; the three standard ones also stay when the body has null. */
function mergeStored(stored: JsonObject, body: JsonObject): JsonObject {
  const kept: JsonObject = { ...stored }
  for (const field of Object.keys(body))
    if (body[field] != null || !keptWhenNull.includes(field)) delete kept[field]
  return kept
}

const keptWhenNull = ['description', 'email', 'cloudProviders', 'trafficGuards']

/** The document to store: the body over `base`, with the fields of the model in their stored form. */
function toApplication(body: ApplicationBody, base: JsonObject): JsonObject {
  const merged: JsonObject = { ...body, ...base }
  const { permissions: _permissions, ...attributes } = merged
  const providers = merged['cloudProviders']
  const guards = (merged['trafficGuards'] ?? []) as (JsonObject | null)[]
  return {
    ...attributes,
    name: (body.name ?? '').trim().toUpperCase(),
    email: merged['email'] ?? null,
    description: merged['description'] ?? null,
    ...(typeof merged['platformHealthOnly'] === 'string' && {
      platformHealthOnly: isTrue(merged['platformHealthOnly']),
    }),
    cloudProviders: Array.isArray(providers) ? providers.join(',') : (providers ?? null),
    trafficGuards: guards.map(
      (guard) =>
        guard && { ...guard, enabled: guard['enabled'] == null || isTrue(guard['enabled']) },
    ),
  }
}

function checkRules(application: JsonObject): JsonObject {
  const errors: string[] = []
  if (application['name'] === '') errors.push('An application needs a name.')
  if (String(application['email'] ?? '').trim() === '')
    errors.push('An application needs an email address.')
  if (errors.length > 0) throw new InvalidApplication(errors)
  return application
}

/** @throws {PortError} 400 or 403 when no application of that name may be created */
function save(
  { applications }: Definitions,
  application: JsonObject,
  { name }: ApplicationBody,
  writer: Writer,
): JsonObject {
  const key = foldName(String(application['name']))
  if (!applications.has(key)) {
    checkNewName(String(name))
    // It gives rights on all plugins to its first owner.
    if (key === pluginApplication) checkAdministrator(writer)
  }
  return applications.put(key, application, writer.user)
}

/** All applications by name, as they are stored: thousands of them are not parsed to be written again. */
export async function listApplications(
  { applications, permissions }: Definitions,
  count?: number,
): Promise<string[]> {
  const all = [...(await applications.textsByKey())].map(([key, text]) => ({
    key,
    text,
    name: key.toUpperCase(),
  }))
  all.sort((one, other) => compareValues(one.name, other.name))
  const restrictions = await permissions.textsByKey()
  return flatMapInTurns(all.slice(0, count), ({ key, text }) => {
    const record = restrictions.get(key)
    if (record === undefined) return [text]
    const parsed = parseDocument(record)
    return [
      isRestricted(parsed)
        ? `${text.slice(0, -1)},"permissions":${formatJson(parsed['permissions'])}}`
        : text,
    ]
  })
}

/** Permissions are shown on an application only when they restrict it (docs/contracts/definitions.md#applications). */
export function withPermissions({ permissions }: Definitions, application: JsonObject): JsonObject {
  const record = permissions.get(foldName(String(application['name'])))
  return record !== undefined && isRestricted(record)
    ? { ...application, permissions: record['permissions'] }
    : application
}

/**
 * Removes an application and everything that belongs to it, except its permission record.
 * @see docs/contracts/definitions.md#applications
 */
export function removeApplication(definitions: Definitions, writer: Writer, name: string): void {
  checkWriter(writer, name)
  const key = foldName(name)
  definitions.write(() => {
    if (!definitions.applications.remove(key)) return
    for (const project of definitions.projects.all())
      leaveProject(definitions, project, key, writer.user)
    definitions.notifications.remove(recipientsKey(key))
    removeSecretsOf(definitions.context.db, scopeOf('application', key))
    for (const store of [definitions.pipelines, definitions.strategies]) {
      for (const pipeline of store.ofApplication(key)) removePipeline(definitions, store, pipeline)
    }
  })
}

function leaveProject(
  { projects }: Definitions,
  project: JsonObject,
  application: string,
  user: string,
): void {
  const config = project['config'] as
    | { applications?: string[] | null; clusters?: JsonObject[] | null }
    | null
    | undefined
  const isOther = (name: string) => foldName(name) !== application
  const members = config?.applications ?? []
  const clusters = (config?.clusters ?? []).map((cluster) => ({
    ...cluster,
    ...(Array.isArray(cluster['applications'])
      ? { applications: (cluster['applications'] as string[]).filter(isOther) }
      : {}),
  }))
  const left = members.filter(isOther)
  const isNamed = left.length < members.length
  if (!isNamed && formatJson(clusters) === formatJson(config?.clusters ?? [])) return
  const key = foldName(String(project['id']))
  if (isNamed && left.length === 0) projects.remove(key)
  else
    projects.put(
      key,
      { ...project, config: { ...config, ...(isNamed ? { applications: left } : {}), clusters } },
      user,
    )
}

interface Filter {
  attribute: string
  value: string
}

function filtersOf(request: FastifyRequest): Filter[] {
  const query = Object.entries(request.query as Record<string, string | string[]>)
  return query
    .filter(([attribute]) => !notFilters.has(attribute))
    .flatMap(([attribute, values]) => [values].flat().map((value) => ({ attribute, value })))
}

/** The closest ones that match all filters, as JSON. */
async function search(
  definitions: Definitions,
  filters: readonly Filter[],
  count: number | undefined,
): Promise<string[]> {
  const found = await flatMapInTurns(definitions.applications.texts(), (text) => {
    const application = parseDocument(text)
    const score = closeness(application, filters)
    return score === undefined ? [] : [{ application, score }]
  })
  found.sort(
    (a, b) =>
      b.score - a.score ||
      compareValues(String(a.application['name']), String(b.application['name'])),
  )
  return flatMapInTurns(found.slice(0, count), ({ application }) => [
    formatJson(withPermissions(definitions, application)),
  ])
}

/** How closely an application matches all filters; undefined when one of them does not hold. */
function closeness(application: JsonObject, filters: readonly Filter[]): number | undefined {
  let total = 0
  for (const { attribute, value } of filters) {
    const stored = Object.hasOwn(application, attribute) ? application[attribute] : undefined
    if (stored === undefined || stored === null) return undefined
    const match = containment(typeof stored === 'string' ? stored : formatJson(stored), value)
    if (match === undefined) return undefined
    total += match
  }
  return total
}
