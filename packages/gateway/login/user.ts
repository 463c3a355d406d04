/** Users as login methods establish them, and the roles that a login demands. */
import type { User } from '../http/request-state.ts'
import { joinNames, type Trace } from './trace.ts'

/** Without accounts, which are computed at the end of the login. @param known What the method has learnt besides the name */
export function createUser(method: string, username: string, known: Partial<User> = {}): User {
  return {
    username,
    email: null,
    firstName: null,
    lastName: null,
    roles: [],
    allowedAccounts: [],
    method,
    ...known,
  }
}

/** Whether a user has one of the required roles, or none is required. @param key The setting that names them */
export function hasRequiredRole(
  required: readonly string[],
  roles: readonly string[],
  key: string,
  trace?: Trace,
): boolean {
  if (required.length === 0) return true
  const held = required.filter((role) => roles.includes(role))
  trace?.(
    held.length > 0 ? 'yes' : 'no',
    `one of the roles in ${key} (${joinNames(required)}): ${joinNames(held)}`,
  )
  return held.length > 0
}
