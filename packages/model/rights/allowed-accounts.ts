/** Accounts that a user may write to, as stored at login. */
import { type PermissionRecord, type PermissionView, rolesIn } from './permissions.ts'

/**
 * @param view What the permission service says; undefined when it does not know the user, `off` when there is no service
 * @see docs/contracts/permissions.md#allowed-accounts
 */
export function allowedAccounts(
  view: PermissionView | undefined | 'off',
  accounts: readonly PermissionRecord[],
  roles: readonly string[],
): string[] {
  if (view === undefined) return []
  if (view === 'off' || view.legacyFallback === true) return accountsByRole(accounts, roles)
  return view.accounts
    .filter(({ authorizations }) => authorizations.includes('WRITE'))
    .map(({ name }) => name)
}

/** Accounts without restrictions, and those that name one of the roles. */
function accountsByRole(accounts: readonly PermissionRecord[], roles: readonly string[]): string[] {
  const held = new Set(roles.map((role) => role.trim().toLowerCase()))
  return accounts
    .filter((account) => {
      const writers = writersOf(account)
      return writers === undefined || writers.some((role) => held.has(role.trim().toLowerCase()))
    })
    .map(({ name }) => name)
}

/** Roles that may write to the account; undefined when it has no restrictions. */
function writersOf(account: PermissionRecord): readonly string[] | undefined {
  const roles = rolesIn(account)
  const isOpen = Object.values(roles).every((names) => names.length === 0)
  return isOpen ? undefined : (roles['WRITE'] ?? [])
}
