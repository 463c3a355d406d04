/** Who is an administrator, for the operations that are for them alone. */
import { GatewayError } from '../errors.ts'
import type { OperationRequest } from './operation.ts'
import type { Platform } from './platform.ts'

/**
 * Rules for administrators count as soon as anybody has to log in; without a permission service nobody is one.
 *
 * @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE
 */
export async function checkAdmin({ state }: OperationRequest, { login, permissions }: Platform): Promise<void> {
  if (!login.active || (await permissions.isAdmin(state.user))) return
  throw new GatewayError('PERMISSION_DENIED', 'This is for administrators: users with a role that `fiat.admin.roles` names.')
}
