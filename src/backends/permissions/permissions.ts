/** The embedded permission service: remembers the roles of users and says what they may do. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Backend, type BackendContext, BackendError } from '../backend.ts'
import { fieldOf } from '../json-values.ts'
import { loadResources, loadServiceAccounts, type Resources } from './resources.ts'
import { toKey, toRoles, UserRoles, userRolesMigrations } from './user-roles.ts'
import { isAllowed, parseResourceType, type ResourceType, toView, type View } from './view.ts'

/** Whoever is not logged in. Has no roles, so sees exactly what is unrestricted. */
const anonymous = 'anonymous'

/** More expanded service accounts than this are refused: each is a whole view. */
const maxExpandedServiceAccounts = 25

export const permissionsBackend: Backend = {
  service: 'fiat',
  migrations: userRolesMigrations,
  open(context) {
    const users = new UserRoles(context.db, context.now)
    return {
      routes(app) {
        mountViews(app, context, users)
        mountRoles(app, context, users)
        app.get('/installedPlugins', () => [])
      },
    }
  },
}

function mountViews(app: FastifyInstance, context: BackendContext, users: UserRoles): void {
  const { adminRoles } = context.settings
  const viewOf = async (request: FastifyRequest): Promise<{ view: View; resources: Resources }> => {
    const resources = await loadResources(context)
    const name = toKey(pathValue(request, 'user'))
    return { view: toView(name, knownRoles(users, resources, name), resources, adminRoles), resources }
  }

  app.get('/authorize/:user', async (request) => (await viewOf(request)).view)

  app.get('/authorize/:user/:type', async (request) => {
    const type = typeOf(request)
    const { view, resources } = await viewOf(request)
    if (type !== 'serviceAccounts' || fieldOf({ ...(request.query as object) }, 'expand') !== 'true') return view[type]
    if (view.serviceAccounts.length > maxExpandedServiceAccounts) {
      throw new BackendError(
        400,
        `The user may use ${view.serviceAccounts.length} service accounts; at most ${maxExpandedServiceAccounts} can be expanded.`,
      )
    }
    return view.serviceAccounts.map(({ name, memberOf }) => toView(toKey(name), memberOf, resources, adminRoles))
  })

  app.get('/authorize/:user/:type/:name', async (request) => {
    const type = typeOf(request)
    const { view } = await viewOf(request)
    const wanted = toKey(pathValue(request, 'name'))
    const found = view[type].find((item) => toKey(item.name) === wanted)
    if (found === undefined) throw new BackendError(404, `${pathValue(request, 'name')} is not among the ${type} of the user.`)
    return found
  })

  app.get('/authorize/:user/:type/:name/:authorization', async (request, reply) => {
    const { view } = await viewOf(request)
    const [name, authorization] = [pathValue(request, 'name'), pathValue(request, 'authorization')]
    if (isAllowed(view, typeOf(request), name, authorization)) return reply.code(200).send()
    throw new BackendError(404, `${view.name} has no ${authorization.toUpperCase()} on ${name}.`)
  })

  // Creation of applications is not restricted; nothing else is created by users.
  app.post('/authorize/:user/:type/create', async (request, reply) => {
    if (typeOf(request) !== 'applications')
      throw new BackendError(400, `Nobody creates ${pathValue(request, 'type')}; only applications are created.`)
    await viewOf(request)
    return reply.code(200).send()
  })
}

/**
 * A user has the roles of the last login, a service account those that it is a member of.
 *
 * @throws {BackendError} 404 when the name is neither.
 */
function knownRoles(users: UserRoles, resources: Resources, name: string): string[] {
  if (name === anonymous) return []
  const roles = users.rolesOf(name) ?? resources.serviceAccounts.find((account) => toKey(account.name) === name)?.memberOf
  if (roles === undefined) throw new BackendError(404, `The user "${name}" is not known; users become known when they log in.`)
  return roles
}

function mountRoles(app: FastifyInstance, context: BackendContext, users: UserRoles): void {
  app.post('/roles/:user', (request, reply) => {
    if (userOf(request) !== anonymous) users.put(userOf(request), [])
    return reply.code(200).send()
  })

  app.put('/roles/:user', (request, reply) => {
    const roles = rolesIn(request)
    if (userOf(request) === anonymous) throw new BackendError(400, 'The anonymous user cannot have roles.')
    users.put(userOf(request), roles)
    return reply.code(200).send()
  })

  app.delete('/roles/:user', (request, reply) => {
    users.remove(userOf(request))
    return reply.code(200).send()
  })

  // Views are computed when asked for, so a refresh only counts whom it concerns.
  app.post('/roles/sync', async (request) => {
    const wanted = request.body === undefined ? [] : toRoles(rolesIn(request))
    const serviceAccounts = await loadServiceAccounts(context)
    const everyone = [...users.everyUser(), ...serviceAccounts.map(({ memberOf }) => memberOf)]
    const concerned = everyone.filter((roles) => wanted.length === 0 || roles.some((role) => wanted.includes(role)))
    if (concerned.length === 0) throw new BackendError(503, 'No user was refreshed: nobody has logged in with these roles.')
    return concerned.length
  })

  app.post('/roles/sync/serviceAccount/:id', (request, reply) => {
    rolesIn(request)
    return reply.code(200).send()
  })
}

/** @throws {BackendError} 400 when the name is blank. */
function userOf(request: FastifyRequest): string {
  const user = toKey(pathValue(request, 'user'))
  if (user === '') throw new BackendError(400, 'The user name is blank.')
  return user
}

/** @throws {BackendError} 400 when the body is not a list of texts. */
function rolesIn(request: FastifyRequest): string[] {
  const body = request.body
  if (!Array.isArray(body) || body.some((role) => typeof role !== 'string')) {
    throw new BackendError(400, 'The body must be a list of role names: ["ops", "dev"].')
  }
  return body
}

/** @throws {BackendError} 400 when no such type exists. */
function typeOf(request: FastifyRequest): ResourceType {
  const type = parseResourceType(pathValue(request, 'type'))
  if (type === undefined) throw new BackendError(400, `"${pathValue(request, 'type')}" is no type of resource.`)
  return type
}

function pathValue(request: FastifyRequest, name: string): string {
  return String(fieldOf(request.params, name) ?? '')
}
