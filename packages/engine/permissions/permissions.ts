/** Embedded permission service: it stores the roles of users and reports their permissions. */

import { createCache, loadOnce } from '@fairlead/base/caches/expiring-cache.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { findNameObjection, toUserKey } from '@fairlead/base/names/user-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Backend, BackendContext } from '@fairlead/ports/backend.ts'
import { anonymous } from '@fairlead/ports/caller.ts'
import { pathValue, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { permissionsByRule } from './application-rules.ts'
import { grantedBy } from './authorizations.ts'
import { loadListedServiceAccounts, loadResources, type Resources } from './resources.ts'
import { roleOriginOf } from './role-source.ts'
import { UserRoleSync } from './role-sync.ts'
import { type HeldRole, mergeRoles, toRoleNames } from './roles.ts'
import {
  areRolesBuiltIn,
  builtInAdvice,
  defaultPermissionService,
  isUndecided,
  type PermissionServiceSettings,
} from './settings.ts'
import { UserRoles, userRolesMigrations } from './user-roles.ts'
import {
  isAllowed,
  parseResourceType,
  type ResourceType,
  toPermissionView,
  type View,
  type ViewRules,
} from './view.ts'

const toNamed = shape({ name: textOf })
/** Accounts and what runs change without notice. */
const sharedMs = 500

interface PermissionService {
  context: BackendContext
  settings: PermissionServiceSettings
  users: UserRoles
  sync: UserRoleSync
}

export const permissionsBackend: Backend = {
  service: 'fiat',
  migrations: userRolesMigrations,
  open(context) {
    const settings = context.settings.permissions ?? defaultPermissionService
    const { roleSource, syncDelayMs } = settings
    if (isUndecided(settings, context.isNewData))
      context.log.warn(`every user may change and run everything; ${builtInAdvice}`)
    const users = new UserRoles(context, roleOriginOf(roleSource))
    const sync = new UserRoleSync({ context, users, source: roleSource, delayMs: syncDelayMs })
    const service = { context, settings, users, sync }
    const viewFor = createViews(service)
    return {
      ports: {
        rights: {
          viewOf: async (user) => (await viewFor(user)).view,
          async mayCreateApplication(user, name) {
            const { view } = await viewFor(user)
            return view !== undefined && mayCreate(view, name, settings)
          },
          refreshRoles: async (roles) => void (await refreshRoles(service, toRoleNames(roles))),
        },
      },
      routes(app) {
        mountViews(app, service, viewFor)
        mountRoles(app, service)
        app.get('/installedPlugins', () => [])
      },
      start: () => sync.start(),
      close: () => sync.close(),
    }
  },
}

/** One reading for all who ask between two changes of permissions, and within a moment of each other. */
function shareWhileUnchanged<T>(
  { permissionVersion, now }: BackendContext,
  load: () => Promise<T>,
): () => Promise<T> {
  if (permissionVersion === undefined) return load
  const cache = createCache<Promise<T>>({ maxSize: 1, ttlMs: sharedMs, now })
  return () => loadOnce(cache, String(permissionVersion()), load)
}

type ViewFor = ReturnType<typeof createViews>

/** The view of a user by roles that are supposed, or those that are known; undefined for a user who is not. */
function createViews(service: PermissionService) {
  const { context, settings } = service
  const areBuiltIn = areRolesBuiltIn(settings, context.isNewData)
  const rules: ViewRules = { ...settings, adminRoles: context.settings.adminRoles, areBuiltIn }
  const load = shareWhileUnchanged(context, () => loadResources(context, settings))
  return async (user: string, supposed?: string) => {
    const [resources] = await Promise.all([load(), service.sync.ready])
    const name = toUserKey(user)
    const roles =
      supposed === undefined
        ? knownRoles(service, resources, name)
        : mergeRoles(supposed.split(','), [], undefined)
    return { view: roles && toPermissionView(name, roles, resources, rules), resources, rules }
  }
}

function mountViews(app: FastifyInstance, { settings }: PermissionService, viewFor: ViewFor): void {
  const viewOf = async (request: FastifyRequest) => {
    const name = pathValue(request, 'user')
    const { view, ...found } = await viewFor(name, queryValue(request, 'roles'))
    if (view !== undefined) return { view, ...found }
    throw new PortError(
      404,
      `The user "${toUserKey(name)}" is not known; users become known when they log in.`,
    )
  }

  app.get('/authorize/:user', async (request) => (await viewOf(request)).view)

  app.get('/authorize/:user/:type', async (request) => {
    const type = typeOf(request)
    const { view, resources, rules } = await viewOf(request)
    if (type !== 'serviceAccounts' || queryValue(request, 'expand') !== 'true') return view[type]
    checkExpandable(view, settings)
    return view.serviceAccounts.map(({ name, memberOf }) =>
      toPermissionView(toUserKey(name), mergeRoles(memberOf, [], undefined), resources, rules),
    )
  })

  app.get('/authorize/:user/:type/:name', async (request) => {
    const type = typeOf(request)
    const { view } = await viewOf(request)
    const wanted = foldName(pathValue(request, 'name'))
    const found = view[type].find((item) => foldName(item.name) === wanted)
    if (found === undefined)
      throw new PortError(
        404,
        `${pathValue(request, 'name')} is not among the ${type} of the user.`,
      )
    return found
  })

  app.get('/authorize/:user/:type/:name/:authorization', async (request, reply) => {
    const { view } = await viewOf(request)
    const [name, authorization] = [pathValue(request, 'name'), pathValue(request, 'authorization')]
    if (isAllowed(view, typeOf(request), name, authorization)) return reply.code(200).send()
    throw new PortError(404, `${view.name} has no ${authorization.toUpperCase()} on ${name}.`)
  })

  app.post('/authorize/:user/:type/create', async (request, reply) => {
    if (typeOf(request) !== 'applications')
      throw new PortError(
        400,
        `${pathValue(request, 'type')} cannot be created; only applications can.`,
      )
    const { view } = await viewOf(request)
    if (mayCreate(view, toNamed(request.body).name, settings)) return reply.code(200).send()
    throw new PortError(404, `${view.name} may not create this application.`)
  })
}

/** Each service account is a whole view. @throws {PortError} 400 when there are too many */
function checkExpandable(
  { serviceAccounts: { length } }: View,
  { maxExpandedServiceAccounts: most }: PermissionServiceSettings,
): void {
  if (length > most)
    throw new PortError(
      400,
      `The user may use ${length} service accounts; at most ${most} can be expanded.`,
    )
}

/**
 * The application does not exist yet, so only rules decide. Permissions in the request do not count, or users could grant
 * themselves the right. As in Fiat, a name without a rule is open.
 *
 * @throws {PortError} 400 without a name
 */
function mayCreate(
  view: View,
  name: string | undefined,
  settings: PermissionServiceSettings,
): boolean {
  if (view.admin || (!settings.restrictApplicationCreation && view.readsOnly !== true)) return true
  if (name === undefined)
    throw new PortError(400, 'The body must name the application: {"name": "web"}.')
  const roles = view.roles.map((role) => role.name)
  const rule = permissionsByRule(settings.applicationRules, name)
  if (view.readsOnly === true && Object.keys(rule).length === 0) return false
  return grantedBy(rule, roles).includes('CREATE')
}

/** A user has the roles of the last login and those of the provider, a service account those that it is a member of. */
function knownRoles(
  { users, settings }: PermissionService,
  resources: Resources,
  name: string,
): HeldRole[] | undefined {
  if (name === anonymous) return []
  const roles = users.rolesOf(name)
  if (roles !== undefined) return roles
  const account = resources.serviceAccounts.find((one) => toUserKey(one.name) === name)
  if (account !== undefined) return mergeRoles(account.memberOf, [], undefined)
  return settings.defaultToUnrestrictedUser ? [] : undefined
}

function mountRoles(app: FastifyInstance, service: PermissionService): void {
  const { users, sync } = service

  app.post('/roles/:user', async (request, reply) => {
    if (userOf(request) !== anonymous) await sync.login(userOf(request), [])
    return reply.code(200).send()
  })

  app.put('/roles/:user', async (request, reply) => {
    const roles = rolesIn(request)
    if (userOf(request) === anonymous)
      throw new PortError(400, 'The anonymous user cannot have roles.')
    await sync.login(userOf(request), roles)
    return reply.code(200).send()
  })

  app.delete('/roles/:user', (request, reply) => {
    users.remove(userOf(request))
    return reply.code(200).send()
  })

  app.post('/roles/sync', async (request) => {
    const wanted = request.body === undefined ? [] : toRoleNames(rolesIn(request))
    const count = await refreshRoles(service, wanted)
    // Roles that no user has, or has any more, are no trouble of the service.
    if (count === 0 && wanted.length === 0)
      throw new PortError(503, 'No user was refreshed: none has logged in.')
    return count
  })

  app.post('/roles/sync/serviceAccount/:id', (request, reply) => {
    rolesIn(request)
    return reply.code(200).send()
  })
}

/**
 * Views are computed when asked for, so only the roles of the provider have to be asked for again.
 *
 * @returns how many users and service accounts are concerned
 * @throws {PortError} 503
 */
async function refreshRoles(
  { context, sync }: PermissionService,
  wanted: readonly string[],
): Promise<number> {
  const [serviceAccounts, outcome] = await Promise.all([
    loadListedServiceAccounts(context),
    sync.sync(wanted),
  ])
  if (outcome.problem !== undefined)
    throw new PortError(503, `Roles stay as they were: ${outcome.problem}.`)
  const allRoles = [
    ...[...outcome.users.values()].map((roles) => roles.map(({ name }) => name)),
    ...serviceAccounts.map(({ memberOf }) => memberOf),
  ]
  return allRoles.filter(
    (roles) => wanted.length === 0 || roles.some((role) => wanted.includes(role)),
  ).length
}

/** @throws {PortError} 400 when no user can have the name. */
function userOf(request: FastifyRequest): string {
  const name = pathValue(request, 'user')
  if (toUserKey(name) === anonymous) return anonymous
  const objection = findNameObjection(name)
  if (objection !== undefined) throw new PortError(400, `The user name ${objection}.`)
  return toUserKey(name)
}

/** @throws {PortError} 400 when the body is not a list of texts. */
function rolesIn(request: FastifyRequest): string[] {
  const body = request.body
  if (!Array.isArray(body) || body.some((role) => typeof role !== 'string')) {
    throw new PortError(400, 'The body must be a list of role names: ["ops", "dev"].')
  }
  return body
}

/** @throws {PortError} 400 when no such type exists. */
function typeOf(request: FastifyRequest): ResourceType {
  const type = parseResourceType(pathValue(request, 'type'))
  if (type === undefined)
    throw new PortError(400, `"${pathValue(request, 'type')}" is no type of resource.`)
  return type
}
