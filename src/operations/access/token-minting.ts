/** The right to create API tokens. */
import type { RequestState } from '../../http/request-state.ts'
import type { Platform } from '../platform.ts'

/**
 * A logged-in user with one of the roles, or an administrator. A token creates no other: that would outlive its end and its
 * limits.
 *
 * @see docs/contracts/authentication.md#api-tokens
 */
export async function mayMintTokens({ user, token }: RequestState, { login, permissions }: Platform): Promise<boolean> {
  if (login.tokens === undefined || user === undefined || token !== undefined) return false
  const { mintingRoles } = login.tokens.settings
  if (mintingRoles === 'all') return true
  const view = permissions.enabled ? await permissions.viewOf(user) : undefined
  const roles = permissions.enabled ? (view?.roles.map(({ name }) => name) ?? []) : user.roles
  return view?.admin === true || roles.some((role) => mintingRoles.includes(role.trim().toLowerCase()))
}
