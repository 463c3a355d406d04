/** What permissions are about: applications, accounts, build services and service accounts, as their services declare them. */
import { type BackendContext, BackendError } from '../backend.ts'
import { isObject, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../json-values.ts'
import { toRoles } from './user-roles.ts'

export const authorizations = ['READ', 'WRITE', 'EXECUTE', 'CREATE'] as const
export type Authorization = (typeof authorizations)[number]

export interface Resource {
  name: string
  /** Roles that hold each authorization; no entry at all means unrestricted. */
  permissions: Partial<Record<Authorization, string[]>>
}

export interface ServiceAccount {
  name: string
  memberOf: string[]
}

export interface Resources {
  applications: Resource[]
  accounts: Resource[]
  buildServices: Resource[]
  serviceAccounts: ServiceAccount[]
}

/**
 * Reads everything that a view is made of.
 *
 * @throws {BackendError} 503 when the definition store cannot be asked: a view without its restrictions would open
 * every application.
 */
export async function loadResources(context: BackendContext): Promise<Resources> {
  const [applications, serviceAccounts, accounts, buildServices] = await Promise.all([
    loadNeeded(context, '/permissions/applications'),
    loadServiceAccounts(context),
    loadOptional(context, 'clouddriver', '/credentials'),
    loadOptional(context, 'igor', '/buildServices'),
  ])
  return {
    applications: applications.flatMap(toResource).map(withExecute),
    accounts: accounts.flatMap(toResource),
    buildServices: buildServices.flatMap(toResource),
    serviceAccounts,
  }
}

/** @throws {BackendError} 503 when the definition store cannot be asked. */
export async function loadServiceAccounts(context: BackendContext): Promise<ServiceAccount[]> {
  return (await loadNeeded(context, '/serviceAccounts')).flatMap((account) => {
    const name = textOf(account['name'])
    return name === undefined ? [] : [{ name, memberOf: toRoles(textsOf(account['memberOf'])) }]
  })
}

/** Some definition stores have no service accounts and say 404. */
async function loadNeeded(context: BackendContext, path: string): Promise<JsonObject[]> {
  let status = 0
  try {
    const answer = await context.call('front50', { method: 'GET', path })
    if (answer.status === 200) return objectsOf(answer.body)
    if (answer.status === 404) return []
    status = answer.status
  } catch (error) {
    context.log.warn({ err: error, path }, 'The definition store cannot be asked for permissions.')
  }
  throw new BackendError(
    503,
    `Permissions are not known: the definition store ${status === 0 ? 'cannot be reached' : `answered ${status}`}.`,
  )
}

/** What is not listed is not allowed, so a service that does not answer costs rights and never gives any. */
async function loadOptional(context: BackendContext, service: 'clouddriver' | 'igor', path: string): Promise<JsonObject[]> {
  try {
    const answer = await context.call(service, { method: 'GET', path })
    if (answer.status === 200) return objectsOf(answer.body)
    context.log.warn({ service, status: answer.status }, 'A service cannot be asked for permissions.')
  } catch (error) {
    context.log.warn({ err: error, service }, 'A service cannot be asked for permissions.')
  }
  return []
}

function toResource(declared: JsonObject): Resource[] {
  const name = textOf(declared['name'])
  if (name === undefined) return []
  const permissions: Resource['permissions'] = {}
  const legacy = toRoles(textsOf(declared['requiredGroupMembership']))
  if (isObject(declared['permissions'])) {
    const given = objectOf(declared['permissions'])
    for (const authorization of authorizations) {
      const roles = toRoles(textsOf(given[authorization]))
      if (roles.length > 0) permissions[authorization] = roles
    }
  } else if (legacy.length > 0) {
    permissions.READ = legacy
    permissions.WRITE = legacy
  }
  return [{ name, permissions }]
}

/** A restricted application that does not say who may execute lets its readers do so (authentication contract, section 4.1). */
function withExecute(application: Resource): Resource {
  const { READ, EXECUTE } = application.permissions
  if (READ === undefined || EXECUTE !== undefined) return application
  return { ...application, permissions: { ...application.permissions, EXECUTE: READ } }
}
