/** Users of the login form, for administrators. */
import { setImmediate } from 'node:timers/promises'
import { GatewayError } from '@fairlead/base/errors.ts'
import { nothing, TextList } from '@fairlead/base/json/schemas.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { z } from 'zod'
import type { FormUser, FormUsers } from '../../login/form/form-users.ts'
import { operationsWith } from '../declare.ts'
import { adminInPerson } from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const roles = TextList.describe('Lower case, sorted.')

const KnownUser = z
  .object({
    username: z.string(),
    roles,
    isAdmin: z
      .boolean()
      .describe(
        'Whether a role makes the user an administrator of the embedded permission service.',
      ),
    createdAt: z.string().describe('ISO 8601, UTC.'),
    lastUsedAt: z
      .string()
      .optional()
      .describe('Of the newest session, to about a minute; absent without a session.'),
    tokens: z
      .int()
      .optional()
      .describe('Number of API tokens; absent while they are switched off.'),
  })
  .meta({ id: 'FormUser' })

const password = z
  .string()
  .optional()
  .describe('8 to 1,024 characters. Without it, Fairlead generates one.')
const NewUser = z
  .strictObject({ username: z.string(), roles: TextList.default([]), password })
  .meta({ id: 'FormUserCreation' })
const NewPassword = z
  .strictObject({
    password,
    revokeTokens: z.boolean().default(false).describe('Also ends the API tokens of the user.'),
  })
  .meta({ id: 'FormUserPasswordChange' })
const NewRoles = z.strictObject({ roles: TextList }).meta({ id: 'FormUserRoles' })
const ShownPassword = z
  .object({
    username: z.string(),
    password: z.string().optional().describe('Only if it was generated. It is not shown again.'),
  })
  .meta({ id: 'FormUserPassword' })
const Removed = z.object({ revokedTokens: z.int() }).meta({ id: 'RemovedFormUser' })

const usersPerTurn = 25
const path = '/auth/users/{username}'
const forbidden = { 403: 'The caller is no administrator, or sends an API token.' }
const none = {
  ...forbidden,
  404: 'There is no such user, or the login form has no users of its own.',
}

const user = operationsWith({ demands: adminInPerson, errors: none })

export const formUserOperations: Operation[] = [
  user.get('listFormUsersUsingGET', '/auth/users', 'List users of the form', {
    description: 'The users of the login form that Fairlead keeps, by name. For administrators.',
    handle: async (_request, platform) => {
      const users = administered(platform).list()
      const known: z.infer<typeof KnownUser>[] = []
      for (const [index, user] of users.entries()) {
        if (index % usersPerTurn === usersPerTurn - 1) await setImmediate()
        known.push(await toKnownUser(user, platform))
      }
      return known
    },
    answer: z.array(KnownUser),
  }),
  user.post('addFormUserUsingPOST', '/auth/users', 'Add a user', {
    description: 'Adds a user of the login form. Only this response contains a generated password.',
    body: NewUser,
    handle: async (request, platform) => {
      const wanted = request.body as z.infer<typeof NewUser>
      const { username, roles: wantedRoles = [] } = wanted
      const users = administered(platform)
      return toShownPassword(
        username,
        wanted.password,
        await users.add(username, wantedRoles, wanted.password),
      )
    },
    success: 201,
    answer: ShownPassword,
    errors: { ...none, 409: 'The name is taken.' },
  }),
  user.put('setFormUserPasswordUsingPUT', `${path}/password`, 'Set a password', {
    description:
      'Sets the password of a user of the login form, whose sessions end. Only this response contains a generated one.',
    body: NewPassword,
    handle: setPassword,
    answer: ShownPassword,
  }),
  user.put('setFormUserRolesUsingPUT', `${path}/roles`, 'Replace roles', {
    description:
      'Replaces the roles of a user of the login form, whose sessions end. Runs and schedules that act for the user have them at once.',
    body: NewRoles,
    handle: async (request, platform) => {
      const users = administered(platform)
      const username = otherUser(request, 'change your own roles')
      await users.setRoles(username, (request.body as z.infer<typeof NewRoles>).roles)
      return toKnownUser(users.find(username), platform)
    },
    answer: KnownUser,
    errors: { ...none, 409: 'The user is the only administrator.' },
  }),
  user.post('unlockFormUserUsingPOST', `${path}/unlock`, 'Unlock a user', {
    description: 'Resets the count of wrong passwords of a user, who then need not wait.',
    handle: async (request, platform) => {
      const { name } = administered(platform).find(request.path['username'] as string)
      await platform.login.unlock(name)
    },
    success: 204,
    answer: nothing,
  }),
  user.remove('removeFormUserUsingDELETE', path, 'Remove a user', {
    description:
      'Removes a user of the login form, with sessions and API tokens. Runs and schedules that act for the user have no roles any more.',
    handle: async (request, platform) => {
      const users = administered(platform)
      const { name } = users.find(otherUser(request, 'remove yourself'))
      await users.remove(name)
      return { revokedTokens: await revokeTokens(name, request, platform) }
    },
    answer: Removed,
    errors: { ...none, 409: 'The user is the only administrator.' },
  }),
]

function administered({ login }: Platform): FormUsers {
  if (login.users !== undefined) return login.users
  throw new GatewayError(
    'NOT_FOUND',
    'Users come from elsewhere here: the login form of Fairlead is not in use.',
  )
}

function otherUser({ path: { username = '' }, state }: OperationRequest, what: string): string {
  if (toUserKey(username) !== toUserKey(state.user?.username ?? '')) return username
  throw new GatewayError('CONFLICT', `You cannot ${what}. Another administrator can.`)
}

async function setPassword(
  request: OperationRequest,
  platform: Platform,
): Promise<z.infer<typeof ShownPassword>> {
  const users = administered(platform)
  const { name } = users.find(request.path['username'] as string)
  const wanted = request.body as z.infer<typeof NewPassword>
  const set = await users.setPassword(
    name,
    wanted.revokeTokens ? 'withdraw' : 'keep',
    wanted.password,
  )
  if (wanted.revokeTokens) await revokeTokens(name, request, platform)
  return toShownPassword(name, wanted.password, set)
}

async function revokeTokens(
  name: string,
  { state }: OperationRequest,
  { login }: Platform,
): Promise<number> {
  return (
    (await login.tokens?.revokeAllOf({ type: 'USER', id: name }, state.user?.username ?? '')) ?? 0
  )
}

function toShownPassword(
  username: string,
  given: string | undefined,
  set: string,
): z.infer<typeof ShownPassword> {
  return { username: toUserKey(username), ...(given === undefined && { password: set }) }
}

async function toKnownUser(
  { name, roles: held, isAdmin, createdAtMs }: FormUser,
  { login }: Platform,
) {
  const newest = await login.sessions.ofUser(name, { offset: 0, limit: 1 })
  const last = newest.sessions[0]
  const tokens = await login.tokens?.ofPrincipal({ type: 'USER', id: name })
  return {
    username: name,
    roles: [...held],
    isAdmin,
    createdAt: new Date(createdAtMs).toISOString(),
    ...(last !== undefined && { lastUsedAt: new Date(last.lastUseMs).toISOString() }),
    ...(tokens !== undefined && { tokens: tokens.length }),
  }
}
