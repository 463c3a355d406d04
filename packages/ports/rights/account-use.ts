/** Use of the operator's accounts at services outside: sources of artifacts and metrics, and receivers of notifications. */

import { type OutsideAccount, rolesOf } from '@fairlead/base/outside/outside-account.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { type Access, lackingOf } from '../access.ts'
import type { BackendContext } from '../backend.ts'
import { requireAccess } from './access.ts'

/** Users who may run no pipeline use no credentials of the operator either. */
function mayUseAccount(access: Access, account: OutsideAccount): boolean {
  const roles = rolesOf(account)
  return access.isAdmin || (roles === undefined ? access.mayRunSomething : access.hasRole(roles))
}

function checkAccountUse(access: Access, kind: string, account: OutsideAccount): void {
  if (mayUseAccount(access, account)) return
  const user = lackingOf(access, (one) => mayUseAccount(one, account))
  const roles = rolesOf(account)
  const missing =
    roles === undefined
      ? 'has neither EXECUTE nor WRITE on any application. An owner of an application can grant it'
      : `has none of the roles in its permissions.READ. An operator can add a role of ${user}`
  throw new PortError(403, `Access denied to the ${kind} "${account.name}": ${user} ${missing}.`, {
    exception: 'AccessDenied',
  })
}

/** Use of accounts by the caller. */
export interface AccountAccess {
  /** An account without an `OutsideAccount` has nothing of the operator's, or checks itself. */
  mayUse(account: { readonly use?: OutsideAccount }): boolean
  /** @param kind For people: `artifact account` @throws {PortError} 403 */
  check(account: { readonly use?: OutsideAccount }, kind: string): void
}

/** @param user For whom the call acts; undefined: Fairlead itself asks, as its operator has set it @throws {PortError} 503 */
export async function openAccountAccess(
  context: BackendContext,
  user: string | undefined,
): Promise<AccountAccess> {
  if (user === undefined) return { mayUse: () => true, check: () => {} }
  const access = await requireAccess(context, user)
  return {
    mayUse: ({ use }) => use === undefined || mayUseAccount(access, use),
    check: ({ use }, kind) => use && checkAccountUse(access, kind, use),
  }
}
