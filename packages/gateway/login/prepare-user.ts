/** Last step of every login: reports the user to fiat, loads the allowed accounts. */

import { createCache, loadOnce } from '@fairlead/base/caches/expiring-cache.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { findNameObjection, toUserKey } from '@fairlead/base/names/user-name.ts'
import { allowedAccounts } from '@fairlead/model/rights/allowed-accounts.ts'
import type { LoginReport, PermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { User } from '../http/request-state.ts'
import type { Permissions } from '../permissions/fiat-permissions.ts'
import type { NameCase } from './login-method.ts'

export interface AccountList {
  list(): readonly PermissionRecord[]
  refresh(): Promise<void>
}

/**
 * The user with accounts. Every login of every method ends here.
 *
 * @param nameCase Whether the identity provider ignores case in user names; `unknown` unless given
 * @throws {GatewayError} USER_NAME_REFUSED; LOGIN_UNAVAILABLE when the permission service is unavailable
 */
export type PrepareUser = (
  user: User,
  report: LoginReport | undefined,
  nameCase?: NameCase,
) => Promise<User>

/** Just after a start the accounts may not be known yet; a login waits for them, but not for long. */
const maxWaitMs = 3000

/** Why a name is refused and what to do, to follow "the user name". For methods that use it before the user is prepared, too. */
export type ObjectionTo = (name: string, nameCase: NameCase) => string | undefined

interface PreparationOptions {
  objectionTo: ObjectionTo
  permissions: Permissions
  accounts: AccountList
}

/** @see docs/contracts/authentication.md#order-of-a-login (steps 3 to 5) and 4.10 */
export function createUserPreparation({
  objectionTo,
  permissions,
  accounts,
}: PreparationOptions): PrepareUser {
  return async (user, report, nameCase = 'unknown') => {
    const objection = objectionTo(user.username, nameCase)
    if (objection !== undefined)
      throw new GatewayError('USER_NAME_REFUSED', `The user name ${objection}.`)
    if (permissions.enabled) {
      if (report !== undefined) await permissions.reportLogin(user, report)
      const view = await permissions.viewOf(user)
      if (view?.legacyFallback !== true)
        return { ...user, allowedAccounts: allowedAccounts(view, [], user.roles) }
    }
    if (accounts.list().length === 0) {
      await within(
        maxWaitMs,
        accounts.refresh().catch(() => {}),
      )
    }
    return { ...user, allowedAccounts: allowedAccounts('off', accounts.list(), user.roles) }
  }
}

/** @param caseInsensitiveNames Whether identity providers ignore case in user names; undefined: those that are known to */
export function createNameRule({
  caseInsensitiveNames,
}: {
  caseInsensitiveNames: boolean | undefined
}): ObjectionTo {
  return (name, nameCase) => {
    const objection = findNameObjection(name)
    if (objection !== undefined) return `${objection}; ask an administrator for another name`
    const lowerCase = toUserKey(name)
    if (name === lowerCase || (caseInsensitiveNames ?? nameCase === 'insensitive')) return undefined
    const problem = `${shorten(name)} has upper-case letters, and ${shorten(lowerCase)} may be another user`
    const change = 'an administrator can change the name to lower case'
    const reason = caseInsensitiveNames === false ? ' (login.caseInsensitiveNames: false)' : ''
    const setting =
      ', or set login.caseInsensitiveNames: true if the identity provider ignores case'
    return `${problem}${reason}; ${change}${reason === '' ? setting : ''}`
  }
}

const cacheMs = 20_000
const maxCached = 1000

/**
 * The user under a key: prepared once for requests that come together, and again when that was a while ago. A failure reaches the
 * waiting requests and is not cached.
 */
export type PrepareOnce = (
  key: string,
  prepare: () => Promise<User>,
  untilMs?: number,
) => Promise<User>

/** @param now Milliseconds since the epoch. */
export function createPreparedUsers(now: () => number): PrepareOnce {
  const users = createCache<Promise<User>>({ maxSize: maxCached, ttlMs: cacheMs, now })
  return (key, prepare, untilMs = now() + cacheMs) => loadOnce(users, key, prepare, untilMs - now())
}
