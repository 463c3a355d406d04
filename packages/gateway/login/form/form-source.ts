/** Passwords that Fairlead checks itself: of its user store and of the configuration. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { User } from '../../http/request-state.ts'
import type { MethodContext } from '../method-type.ts'
import type { PasswordSource } from '../password-login.ts'
import { joinNames } from '../trace.ts'
import { createUser } from '../user.ts'
import { prepareFirstAdministrator } from './first-administrator.ts'
import { FormUsers } from './form-users.ts'
import { derivePasswordKey } from './password-hash.ts'
import { RoleReports } from './role-reports.ts'
import type { FormSettings } from './settings.ts'
import { openUsers, type StoredUser, type Users } from './users.ts'

/** The one user of the configuration file, as Gate has it: `spring.security.user.*`. */
interface ConfiguredUser {
  readonly name: string
  readonly password: string
}

interface FormSourceOptions {
  users: Users
  configuredUser: ConfiguredUser | undefined
  /** The permission service learns about the configured user, too. */
  learnsRolesFromLogins: boolean
  command: (words: string) => string
}

export async function openFormSource(
  { configuredUser, firstAdmin }: FormSettings,
  {
    dataDir,
    learnsRolesFromLogins,
    adminRoles,
    permissions,
    command,
    log,
    keep,
    now,
  }: MethodContext,
): Promise<PasswordSource> {
  const users = keep(openUsers(dataDir, now))
  const reports = keep(new RoleReports(users, permissions, log))
  const source = {
    ...(await createFormSource({ users, configuredUser, learnsRolesFromLogins, command })),
    users: new FormUsers(users, learnsRolesFromLogins ? adminRoles : [], reports),
  }
  if (configuredUser !== undefined) return source
  const first = {
    ...firstAdmin,
    roles: adminRoles,
    command,
    announce: (text: string) => process.stderr.write(text),
    warn: (text: string) => log.warn(text),
  }
  return { ...source, prepareStart: () => prepareFirstAdministrator(users, first) }
}

async function createFormSource({
  users,
  configuredUser,
  learnsRolesFromLogins,
  command,
}: FormSourceOptions): Promise<PasswordSource> {
  const stamp = configuredUser && (await configuredStamp(configuredUser))
  const isConfigured = (user: User) =>
    configuredUser !== undefined && user.username === configuredUser.name && isUnstored(user)
  const check: PasswordSource['check'] = async ({ username, password }) => {
    if (configuredUser !== undefined && isConfiguredUser(configuredUser, username, password)) {
      return { user: toConfiguredUser(configuredUser), credentialStamp: stamp }
    }
    const stored = await users.verify(username, password)
    return stored && { user: toUser(stored), credentialStamp: stored.stamp }
  }
  return {
    name: 'form',
    refusesOnOpenPaths: true,
    check,
    async explain({ username, password }, trace) {
      const isNamed = configuredUser !== undefined && username === configuredUser.name
      trace(isNamed ? 'yes' : 'no', 'the user of spring.security.user has this name')
      const stored = users.find(username)
      trace(
        stored === undefined ? 'no' : 'yes',
        `there is a user of this name in users.db (${command('user list')})`,
      )
      if (stored !== undefined) trace('note', `roles from users.db: ${joinNames(stored.roles)}`)
      if (password === undefined) {
        if (stored !== undefined) return { user: toUser(stored) }
        return isNamed ? { user: toConfiguredUser(configuredUser) } : undefined
      }
      const known = await check({ username, password })
      trace(known === undefined ? 'no' : 'yes', 'the password is right')
      return known
    },
    reportOf: (user) =>
      isConfigured(user) && !learnsRolesFromLogins ? undefined : { call: 'roles', attempts: 1 },
    stillValid: (user, credentialStamp) =>
      credentialStamp === (isConfigured(user) ? stamp : users.find(user.username)?.stamp),
    changes: () => users.changes,
    currentUser(username) {
      const stored = users.find(username)
      if (stored !== undefined)
        return { user: toUser(stored), stamp: stored.stamp, tokenEra: stored.tokenEra }
      const isConfiguredName =
        configuredUser !== undefined && stamp !== undefined && username === configuredUser.name
      return isConfiguredName ? { user: toConfiguredUser(configuredUser), stamp } : 'gone'
    },
  }
}

/** The configured user carries the one role of Gate's form user, which the store would have written in lower case. */
function isUnstored(user: User): boolean {
  return user.roles.length === 1 && user.roles[0] === 'USER'
}

function toUser({ name, roles }: StoredUser): User {
  return createUser('form', name, { email: name.includes('@') ? name : null, roles: [...roles] })
}

/** Compared as hashes, so that neither content nor length shows in the time that it takes. */
function isConfiguredUser(
  { name, password }: ConfiguredUser,
  givenName: string,
  givenPassword: string,
): boolean {
  const sameName = timingSafeEqual(digest(name), digest(givenName))
  const samePassword = timingSafeEqual(digest(password), digest(givenPassword))
  return sameName && samePassword
}

/**
 * Changes with the password, so that a new one in the file ends the sessions opened with the old one. It is kept with the
 * sessions, hence a slow function: an attacker with the file cannot try passwords quickly.
 */
async function configuredStamp({ name, password }: ConfiguredUser): Promise<string> {
  return (await derivePasswordKey(password, digest(`configured user ${name}`))).toString(
    'base64url',
  )
}

/** @see docs/contracts/authentication.md#configured-user */
function toConfiguredUser({ name }: ConfiguredUser): User {
  return createUser('form', name, { email: name, roles: ['USER'] })
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
