/** What every login does once it is known who it is: the permission service is told, then asked which accounts are allowed. */
import { setTimeout as wait } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import type { User } from '../http/request-state.ts'
import { type AccountEntry, allowedAccounts } from '../permissions/allowed-accounts.ts'
import type { LoginReport, Permissions } from '../permissions/permissions.ts'
import { findNameObjection, toUserKey } from '../user-name.ts'

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

/** Why a name is refused, to follow the words "the user name". For methods that use it before the user is prepared, too. */
export type ObjectionTo = (name: string) => string | undefined

export interface PreparationOptions {
  objectionTo: ObjectionTo
  permissions: Permissions
  accounts: Accounts
}

/** @see authentication contract, sections 2.0 (steps 3 to 5) and 4.10 */
export function createUserPreparation({ objectionTo, permissions, accounts }: PreparationOptions): PrepareUser {
  return async (user, report) => {
    const objection = objectionTo(user.username)
    if (objection !== undefined) {
      throw new GatewayError('USER_NAME_REFUSED', `The user name ${objection}. Ask an administrator for another name.`)
    }
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

/** @param lowerCaseNames Whether names with other letters are refused, because the provider tells upper from lower case */
export function createNameRule({ lowerCaseNames }: { lowerCaseNames: boolean }): ObjectionTo {
  return (name) => {
    const isRefused = lowerCaseNames && toUserKey(name) !== name
    return findNameObjection(name) ?? (isRefused ? 'holds upper-case letters, which login.lowerCaseNames refuses' : undefined)
  }
}
