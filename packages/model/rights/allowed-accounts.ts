/** Accounts that a user may write to, as stored at login. */
import { textsOf } from '@fairlead/base/json/values.ts'
import type { PermissionView } from './permissions.ts'

/** An account as clouddriver reports it, with the fields that matter here. */
export type AccountEntry = Readonly<Record<string, unknown>> & { readonly name: string }

/**
 * @param view What the permission service says; undefined when it does not know the user, `off` when there is no service
 * @see docs/contracts/permissions.md#allowed-accounts
 */
export function allowedAccounts(
  view: PermissionView | undefined | 'off',
  accounts: readonly AccountEntry[],
  roles: readonly string[],
): string[] {
  if (view === undefined) return []
  if (view === 'off' || view.legacyFallback === true) return accountsByRole(accounts, roles)
  return view.accounts
    .filter(({ authorizations }) => authorizations.includes('WRITE'))
    .map(({ name }) => name)
}

/** Accounts without restrictions, and those that name one of the roles. */
function accountsByRole(accounts: readonly AccountEntry[], roles: readonly string[]): string[] {
  const held = new Set(roles.map((role) => role.trim().toLowerCase()))
  return accounts
    .filter((account) => {
      const writers = writersOf(account)
      return writers === undefined || writers.some((role) => held.has(role.trim().toLowerCase()))
    })
    .map(({ name }) => name)
}

/** Roles that may write to the account; undefined when it has no restrictions. */
function writersOf(account: AccountEntry): string[] | undefined {
  const { permissions, requiredGroupMembership } = account
  if (
    typeof permissions === 'object' &&
    permissions !== null &&
    Object.keys(permissions).length > 0
  ) {
    const lists = Object.values(permissions).map(textsOf)
    if (lists.every((list) => list.length === 0)) return undefined
    return textsOf((permissions as Record<string, unknown>)['WRITE'])
  }
  const groups = textsOf(requiredGroupMembership)
  return groups.length === 0 ? undefined : groups
}
