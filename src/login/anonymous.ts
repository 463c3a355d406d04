/** The user of all requests while no login is required. */
import type { User } from '../http/request-state.ts'
import { type AccountEntry, allowedAccounts } from '../rights/allowed-accounts.ts'

/**
 * A function that gives the anonymous user. Without a permission service it may use the unrestricted accounts.
 *
 * @param accounts The cached list, replaced and never changed in place
 * @see docs/contracts/authentication.md#no-login-method
 */
export function createAnonymousUser(accounts: () => readonly AccountEntry[], permissionsEnabled: () => boolean): () => User {
  const base = { username: 'anonymous', email: 'anonymous', firstName: null, lastName: null, roles: [], method: 'anonymous' }
  let known: readonly AccountEntry[] | undefined
  let unrestricted: string[] = []
  return () => {
    const list = permissionsEnabled() ? [] : accounts()
    if (list !== known) {
      known = list
      unrestricted = allowedAccounts('off', list, [])
    }
    return { ...base, allowedAccounts: unrestricted }
  }
}
