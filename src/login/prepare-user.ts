/** What every login does once it is known who it is: the permission service is told, then asked which accounts are allowed. */
import { setTimeout as wait } from 'node:timers/promises'
import type { User } from '../http/request-state.ts'
import { type AccountEntry, allowedAccounts } from '../permissions/allowed-accounts.ts'
import type { LoginReport, Permissions } from '../permissions/permissions.ts'

/** The cached accounts of the infrastructure. */
export interface Accounts {
  list(): readonly AccountEntry[]
  refresh(): Promise<void>
}

/** The user with accounts. @throws {GatewayError} LOGIN_UNAVAILABLE when the permission service cannot be told */
export type PrepareUser = (user: User, report: LoginReport | undefined) => Promise<User>

/** Just after a start the accounts may not be known yet; a login waits for them, but not for long. */
const maxWaitMs = 3000

/** @see authentication contract, sections 2.0 (steps 3 to 5) and 4.10 */
export function createUserPreparation(permissions: Permissions, accounts: Accounts): PrepareUser {
  return async (user, report) => {
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
