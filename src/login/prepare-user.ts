/** What every login does once it is known who it is: the permission service is told, then asked which accounts are allowed. */
import { setTimeout as wait } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import type { User } from '../http/request-state.ts'
import { type AccountEntry, allowedAccounts } from '../permissions/allowed-accounts.ts'
import type { LoginReport, Permissions } from '../permissions/permissions.ts'
import { findNameObjection } from '../user-name.ts'

/** The cached accounts of the infrastructure. */
export interface Accounts {
  list(): readonly AccountEntry[]
  refresh(): Promise<void>
}

/**
 * The user with accounts. Every login of every method ends here.
 *
 * @throws {GatewayError} USER_NAME_REFUSED; LOGIN_UNAVAILABLE when the permission service cannot be told
 */
export type PrepareUser = (user: User, report: LoginReport | undefined) => Promise<User>

/** Just after a start the accounts may not be known yet; a login waits for them, but not for long. */
const maxWaitMs = 3000

/** @see authentication contract, sections 2.0 (steps 3 to 5) and 4.10 */
export function createUserPreparation(permissions: Permissions, accounts: Accounts): PrepareUser {
  return async (user, report) => {
    checkUserName(user.username)
    if (permissions.enabled) {
      if (report !== undefined) await permissions.reportLogin(user, report)
      const view = await permissions.viewOf(user)
      if (view?.legacyFallback !== true) return { ...user, allowedAccounts: allowedAccounts(view, [], user.roles) }
    }
    if (accounts.list().length === 0) {
      await Promise.race([accounts.refresh().catch(() => {}), wait(maxWaitMs, undefined, { ref: false })])
    }
    return { ...user, allowedAccounts: allowedAccounts('off', accounts.list(), user.roles) }
  }
}

/** For methods that use the name before the user is prepared, too. @throws {GatewayError} USER_NAME_REFUSED */
export function checkUserName(name: string): void {
  const objection = findNameObjection(name)
  if (objection === undefined) return
  throw new GatewayError('USER_NAME_REFUSED', `The user name ${objection}. Ask an administrator for a plain name.`)
}
